"""Upstream's own results for our inputs, held against ours; `tools/guest_fixtures_ulmeval.py` makes them."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.dialects import protocol
from assay.dialects.ulmeval.loading import load_guest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "kits"))
from differential import run_case  # noqa: E402

PATCHED = (
    "geneval",
    "dpgbench",
    "wise",
    "genai_bench",
    "utils.judge_util",
    "utils.geneval",
)
CLASSES = (
    "GenEval",
    "DPGBench",
    "WISE",
    "ImagineBench",
    "GenEvalPP",
    "GenAI_Bench",
    "OmniContext",
    "T2ICompBench",
)


@contextmanager
def upstream() -> Iterator[None]:
    """Upstream's rules; what cases put into modules and classes is taken out again."""
    protocol.choose("ulmeval", protocol.UPSTREAM)
    facade = "assay.dialects.ulmeval.facade.dataset"
    modules = [importlib.import_module(f"{facade}.{module}") for module in PATCHED]
    before = [dict(vars(module)) for module in modules]
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            patch.setattr(module, "__patched__", True, raising=False)
        for name in CLASSES:
            cls = getattr(importlib.import_module(facade), name)
            patch.setattr(cls, "DATASET_MD5", cls.DATASET_MD5)
            patch.setattr(cls, "DATASET_URL", cls.DATASET_URL)
        try:
            yield
        finally:
            for module, names in zip(modules, before, strict=True):
                vars(module).update(names)
            protocol.choose("ulmeval", protocol.OURS)


@pytest.mark.parametrize("cases", ["cases_benchmarks", "cases_classes"])
def test_every_case_gives_what_upstream_gives(cases, tmp_path):
    results = json.loads((HERE / "upstream" / f"{cases}.json").read_text("utf-8"))[
        "results"
    ]
    wrong = {}
    with upstream():
        functions = load_guest(HERE / "upstream" / f"{cases}.py").module.cases
    for number, (name, result) in enumerate(results.items()):
        with upstream():
            found = run_case(functions[name], tmp_path / str(number))
        if found != result:
            wrong[name] = found

    assert wrong == {}
