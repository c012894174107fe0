"""Upstream's own results for our inputs, held against ours; `tools/guest_fixtures_vlmeval.py` makes them."""

import json
import sys
from functools import cache
from pathlib import Path

import pytest

from assay.dialects import protocol
from assay.dialects.vlmeval import era
from assay.dialects.vlmeval.facade.config import supported_VLM
from assay.dialects.vlmeval.loading import load_guest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "kits"))
from differential import run_case  # noqa: E402

FILES = {
    "cases_seed": protocol.DOCUMENTED,
    **dict.fromkeys(("cases_choice", "cases_datasets", "cases_models"), protocol.UPSTREAM),
}


@cache
def expected(cases: str) -> dict[str, object]:
    return json.loads((HERE / "upstream" / f"{cases}.json").read_text(encoding="utf-8"))["results"]


@pytest.fixture(autouse=True)
def upstream(request, monkeypatch):
    protocol.choose("vlmeval", FILES[request.node.callspec.params["cases"]])
    monkeypatch.setattr(era, "_used", {"newest"})  # unless the protocol says otherwise
    yield
    protocol.choose("vlmeval", protocol.OURS)
    supported_VLM.clear()


@pytest.mark.parametrize(("cases", "name"), [(cases, name) for cases in FILES for name in expected(cases)])
def test_a_case_gives_what_upstream_gives(cases, name, tmp_path):
    function = load_guest(HERE / "upstream" / f"{cases}.py").cases[name]

    assert run_case(function, tmp_path / "case") == expected(cases)[name]
