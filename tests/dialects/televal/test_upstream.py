"""The dialect's names beside TELEVAL's own code: the same inputs give the same, where upstream's rule was chosen."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.dialects.guest import Guest
from assay.dialects.option_tables import truth
from assay.dialects.protocol import OURS, UPSTREAM, choose
from assay.dialects.televal.claims import NAMES
from assay.dialects.televal.televal_command import CommandLine, execute
from assay.runner.events import Silent
from assay.runner.options import RunOptions

sys.path.insert(0, str(Path(__file__).parent))

from reference_cases import FAMILIES, Side, as_json, outcome
from reference_project import pipeline

GIVEN = Path(__file__).parent / "upstream"
NEED_TORCH = {"model.inference_mode"}


class Dialect(Side):
    """The dialect's commands, with upstream's rules chosen."""

    def stage(self, mode, task, save_dir, **options):
        """`assay televal --upstream --mode …`, in the project's folder."""
        given = {name: value for name, value in options.items() if value is not None}
        if "save_pred_audio" in given:
            given["save_pred_audio"] = truth(given["save_pred_audio"])
        if "bsz" in given:
            given["bsz"] = int(given["bsz"])
        asked = CommandLine(
            mode,
            task,
            "registry",
            save_dir=save_dir,
            era=self.era,
            upstream=True,
            **given,
        )
        execute(asked, RunOptions(), Silent())

    def table(self, save_dir):
        return (self.folder / save_dir / "results.csv").read_text(encoding="utf-8")


def outcomes(era: str, family: str, folder: Path) -> dict:
    """What the dialect gives for the inputs of one family; the era is known from the tree, as for a user's."""
    if era == "seed":
        dataset = folder / "registry" / "dataset" / "old.yaml"
        dataset.parent.mkdir(parents=True)
        dataset.write_text(
            "old: {class: src.dataset.BatchLoader, args: {file: a/b, is_local: True}}"
        )
    before = os.getcwd()
    os.chdir(folder)
    choose("televal", UPSTREAM)
    try:
        side = Side(Guest("televal", NAMES, folder).module, era, folder)
        return {
            f"{family}.{name}": outcome(thunk, folder)
            for name, thunk in FAMILIES[family](side)
        }
    finally:
        choose("televal", OURS)
        os.chdir(before)


@pytest.mark.parametrize("era", ["newest", "seed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_name_gives_what_upstreams_own_code_gave(era, family, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.dialects.televal.judge_evaluators.PAUSE_SECONDS", 0)
    given = json.loads((GIVEN / f"{era}.json").read_text(encoding="utf-8"))
    left_out = NEED_TORCH if find_spec("torch") is None else set()
    wanted = {
        name: value
        for name, value in given.items()
        if name.split(".")[0] == family and name not in left_out
    }

    made = json.loads(json.dumps(outcomes(era, family, tmp_path)))

    differing = {
        name: (made.get(name), value)
        for name, value in wanted.items()
        if made.get(name) != value
    }
    assert not differing, (
        f"{len(differing)} of {len(wanted)}: {json.dumps(differing, ensure_ascii=False)[:3000]}"
    )
    assert made.keys() - left_out == wanted.keys()


@pytest.mark.parametrize("era", ["newest", "seed"])
def test_a_whole_run_leaves_the_files_that_upstreams_own_code_left(
    era, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    given = json.loads((GIVEN / f"{era}.json").read_text(encoding="utf-8"))
    wanted = {
        name: value for name, value in given.items() if name.startswith("pipeline.")
    }
    # A run that upstream ends at a bad row goes on here.
    ended = {
        name
        for name, value in wanted.items()
        if isinstance(value, dict) and "raises" in value
    }
    cases = {
        f"pipeline.{name}": thunk
        for name, thunk in pipeline(Dialect(None, era, tmp_path))
    }

    made = {
        name: json.loads(json.dumps(as_json(cases[name](), tmp_path)))
        for name in cases.keys() - ended
    }

    assert [name for name in sorted(made) if made[name] != wanted[name]] == []
    assert cases.keys() == wanted.keys() and len(made) > 55
