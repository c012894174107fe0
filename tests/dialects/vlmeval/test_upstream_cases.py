"""Upstream's own results for our inputs, held against ours; `tools/guest_fixtures_vlmeval.py` makes them."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from assay.dialects import protocol
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT, supported_VLM

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "kits"))
from differential import run_case  # noqa: E402

FILES = {
    "cases_seed": protocol.DOCUMENTED,
    **dict.fromkeys(
        ("cases_choice", "cases_datasets", "cases_models"), protocol.UPSTREAM
    ),
}


@cache
def expected(cases: str) -> dict[str, object]:
    return json.loads(
        (HERE / "upstream" / f"{cases}.json").read_text(encoding="utf-8")
    )["results"]


@contextmanager
def rules_of(cases: str) -> Iterator[None]:
    """The protocol of a file of cases; what a case leaves behind is taken away."""
    protocol.choose("vlmeval", FILES[cases])
    try:
        yield
    finally:
        protocol.choose("vlmeval", protocol.OURS)
        supported_VLM.clear()


@pytest.mark.parametrize("cases", FILES)
def test_every_case_gives_what_upstream_gives(cases, tmp_path):
    wrong = {}
    with rules_of(cases):
        functions = TOOLKIT.load(HERE / "upstream" / f"{cases}.py").module.cases
    for number, (name, result) in enumerate(expected(cases).items()):
        with rules_of(cases):
            found = run_case(functions[name], tmp_path / str(number))
        if found != result:
            wrong[name] = found

    assert wrong == {}
