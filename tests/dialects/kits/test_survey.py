"""The survey of small checkouts like VLMEvalKit's and ULMEvalKit's: files load, datasets run to a number."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

from tools.guest_worlds import ulmeval, vlmeval
from tools.guest_worlds.outcome import State

pytest.importorskip("pandas")
pytest.importorskip("openpyxl")
pytestmark = pytest.mark.costly

JUDGED = """
from ..smp import *
from .image_base import ImageBaseDataset
from .utils import build_judge


class Judged(ImageBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'Judged': ''}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        judge = build_judge(**judge_kwargs)
        assert judge.working()
        hits = []
        for answer, colour in zip(data['prediction'], data['colour']):
            hits.append(len(judge.generate(f'{answer} or {colour}?')) > 0)
        return {'accuracy': float(np.mean(hits))}
"""
DRAWN = """
from ..smp import *
from .image_base import ImageBaseDataset


class Drawn(ImageBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'Drawn': ''}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type='text', value=line['question'])]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        return {'images': float(sum(len(images) for images in data['prediction']))}
"""
MODEL = """
from .base import BaseModel


class Any(BaseModel):
    def generate_inner(self, message, dataset=None):
        return 'yes'
"""


def write(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GUEST_WORLD_CACHE", str(tmp_path / "cache.json"))


def outcomes(survey, folder):
    return {
        (outcome.kind, outcome.name): (outcome.state, outcome.detail)
        for outcome in survey(folder)
    }


def test_a_survey_runs_the_datasets_of_a_vlmevalkit_checkout(tmp_path):
    write(tmp_path, "vlmeval/dataset/__init__.py", "raise RuntimeError('run')\n")
    write(tmp_path, "vlmeval/dataset/judged.py", JUDGED)
    write(tmp_path, "vlmeval/dataset/needs.py", "import a_package_that_is_missing\n")
    write(tmp_path, "vlmeval/vlm/any.py", MODEL)
    write(tmp_path, "vlmeval/vlm/broken.py", "class Broken(:\n")

    assert vlmeval.is_checkout(tmp_path)
    found = outcomes(vlmeval.survey, tmp_path)

    assert found["dataset", "judged"] == (
        State.RUNS,
        "Judged@Judged evaluate.accuracy=1",
    )
    assert found["dataset", "needs"] == (State.PACKAGE, "a_package_that_is_missing")
    assert found["model", "any"][0] is State.LOADS
    assert found["model", "broken"][0] is State.FAILS


def test_a_survey_runs_the_datasets_of_an_ulmevalkit_checkout(tmp_path):
    write(tmp_path, "ulmeval/dataset/drawn.py", DRAWN)
    write(tmp_path, "ulmeval/ulm/any.py", MODEL)

    assert ulmeval.is_checkout(tmp_path)
    found = outcomes(ulmeval.survey, tmp_path)

    assert found["dataset", "drawn"][0] is State.RUNS
    assert found["model", "any"][0] is State.LOADS
