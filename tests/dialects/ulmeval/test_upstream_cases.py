"""Upstream's own results for our inputs, held against ours; `tools/guest_fixtures_ulmeval.py` makes them."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.dialects import protocol
from assay.dialects.ulmeval.ulmeval_toolkit import TOOLKIT

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "kits"))
from differential import run_case  # noqa: E402


@contextmanager
def upstream() -> Iterator[None]:
    protocol.choose("ulmeval", protocol.UPSTREAM)
    try:
        yield
    finally:
        protocol.choose("ulmeval", protocol.OURS)


def test_every_case_gives_what_upstream_gives(tmp_path):
    recorded = (HERE / "upstream" / "cases_classes.json").read_text("utf-8")
    results = json.loads(recorded)["results"]
    wrong = {}
    with upstream():
        functions = TOOLKIT.load(HERE / "upstream" / "cases_classes.py").module.cases
    for number, (name, result) in enumerate(results.items()):
        with upstream():
            outcome = run_case(functions[name], tmp_path / str(number))
        if outcome != result:
            wrong[name] = outcome

    assert wrong == {}
