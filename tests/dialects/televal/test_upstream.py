"""The dialect's names beside TELEVAL's own code: the same inputs give the same, where upstream's rule was chosen."""

import json
import os
from pathlib import Path

import pytest

from assay.dialects.guest import Guest
from assay.dialects.protocol import OURS, UPSTREAM, choose
from assay.dialects.televal.claims import NAMES

from .reference_cases import FAMILIES, Side, outcome

GIVEN = Path(__file__).parent / "upstream"


def outcomes(era: str, family: str, folder: Path) -> dict:
    """What the dialect gives for the inputs of one family; the era is known from the tree, as for a user's."""
    if era == "seed":
        dataset = folder / "registry" / "dataset" / "old.yaml"
        dataset.parent.mkdir(parents=True)
        dataset.write_text("old: {class: src.dataset.BatchLoader, args: {file: a/b, is_local: True}}")
    before = os.getcwd()
    os.chdir(folder)
    choose("televal", UPSTREAM)
    try:
        side = Side(Guest("televal", NAMES, folder).module, era, folder)
        return {f"{family}.{name}": outcome(thunk, folder) for name, thunk in FAMILIES[family](side)}
    finally:
        choose("televal", OURS)
        os.chdir(before)


@pytest.mark.parametrize("era", ["newest", "seed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_name_gives_what_upstreams_own_code_gave(era, family, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.dialects.televal.facade.evaluator.llm.PAUSE_SECONDS", 0)
    given = json.loads((GIVEN / f"{era}.json").read_text(encoding="utf-8"))
    wanted = {name: value for name, value in given.items() if name.split(".")[0] == family}

    made = json.loads(json.dumps(outcomes(era, family, tmp_path)))

    differing = {name: (made.get(name), value) for name, value in wanted.items() if made.get(name) != value}
    assert not differing, f"{len(differing)} of {len(wanted)}: {json.dumps(differing, ensure_ascii=False)[:3000]}"
    assert made.keys() == wanted.keys()
