"""What upstream's own code gave for our inputs, held against ours: `tools/guest_fixtures_ulmeval.py` makes the results."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from assay.dialects import protocol
from assay.dialects.ulmeval.loading import load_guest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "kits"))
from differential import run_case  # noqa: E402

RESULTS = json.loads((HERE / "upstream" / "cases.json").read_text(encoding="utf-8"))["results"]
PATCHED = ("geneval", "dpgbench", "wise", "genai_bench", "utils.judge_util", "utils.geneval")
CLASSES = ("GenEval", "DPGBench", "WISE", "ImagineBench", "GenEvalPP", "GenAI_Bench", "OmniContext", "T2ICompBench")


@pytest.fixture(autouse=True)
def upstream(monkeypatch):
    """Upstream's rules; what cases put into modules and classes is taken out again."""
    protocol.choose("ulmeval", protocol.UPSTREAM)
    facade = "assay.dialects.ulmeval.facade.dataset"
    for module in PATCHED:
        monkeypatch.setattr(importlib.import_module(f"{facade}.{module}"), "__patched__", True, raising=False)
    before = {module: dict(vars(importlib.import_module(f"{facade}.{module}"))) for module in PATCHED}
    for name in CLASSES:
        cls = getattr(importlib.import_module(facade), name)
        monkeypatch.setattr(cls, "DATASET_MD5", cls.DATASET_MD5)
        monkeypatch.setattr(cls, "DATASET_URL", cls.DATASET_URL)
    yield
    for module, names in before.items():
        vars(importlib.import_module(f"{facade}.{module}")).update(names)
    protocol.choose("ulmeval", protocol.OURS)


@pytest.mark.parametrize("name", RESULTS)
def test_a_case_gives_what_upstream_gives(name, tmp_path):
    function = load_guest(HERE / "upstream" / "cases.py").module.cases[name]

    assert run_case(function, tmp_path / "case") == RESULTS[name]
