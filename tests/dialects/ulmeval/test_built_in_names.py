"""Benchmarks under ULMEvalKit's own names, base classes beside their subclasses, and upstream's rules by a flag."""

import json

import pytest

from assay.cli.ulmeval import command
from assay.core import UsageError
from assay.dialects import protocol

PAINTER = """
from PIL import Image
from ulmeval.ulm.base import BaseModel

class P(BaseModel):
    def generate_inner(self, message, dataset=None):
        return Image.new('RGB', (8, 8), 'red')
"""
TABLE = (
    "index\tquestion\ttag\tinclude_class\tinclude_count\tinclude_color\tinclude_position\texclude_class\texclude_count\n"
    "0\ta cat\tsingle_object\tcat\t1\t\t\t\t\n"
    "1\ttwo dogs\tcounting\tdog\t2\t\t\tdog\t3\n"
    "2\ta red car left of a bench\tposition\tbench, car\t1, 1\t, red\t, left of; 0\t\t\n"
)


@pytest.fixture(autouse=True)
def ours_again():
    yield
    protocol.choose("ulmeval", protocol.OURS)


def test_geneval_by_upstreams_name_says_what_it_needs_before_anything_is_drawn(
    place, capsys
):
    (place.data / "GenEval.tsv").write_text(TABLE)
    model = place.write("um.py", PAINTER) + ":P"

    code = command(["--data", "GenEval", "--model", model])

    assert code != 0
    assert (
        "needs a model as 'detector'; fix: --judge detector=MODEL"
        in capsys.readouterr().err
    )
    assert not list(place.folder.glob("outputs/P/*.run/media"))


def test_geneval_by_upstreams_name_and_upstreams_table_is_scored(place, capsys):
    (place.data / "GenEval.tsv").write_text(TABLE)
    model = place.write("um.py", PAINTER) + ":P"
    found = {"cat": [[0, 0, 5, 5, 0.9]], "dog": [[0, 0, 5, 5, 0.95]]}
    detector = (
        place.write(
            "det.py",
            f"import json\ndef det(request):\n    return json.dumps({found!r})\n",
        )
        + ":det"
    )

    code = command(
        [
            "--data",
            "GenEval",
            "--model",
            model,
            "--judge",
            f"detector={detector}",
            "--json",
        ]
    )

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    values = {result["metric"]: result["value"] for result in run["results"]}
    assert code == 0 and values["geneval"] == pytest.approx(1 / 3)


JUDGED = """
from ..smp import *
from .text_base import TextBaseDataset
from .utils.judge_util import build_judge

class GenEvalPP(TextBaseDataset):
    DATASET_URL = {'GenEvalPP': ''}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        judge = build_judge(model=judge_kwargs['model'])
        right = sum(judge.generate('right?') == 'yes' for _ in data['index'])
        return {'accuracy': right / len(data), 'total': len(data)}
"""


@pytest.fixture
def checkout(place, monkeypatch):
    package = place.folder / "ULMEvalKit" / "ulmeval"
    (package / "dataset").mkdir(parents=True)
    (package / "config.py").write_text("supported_ULM = {}\n")
    (package / "dataset/geneval_pp.py").write_text(JUDGED)
    (place.data / "GenEvalPP.tsv").write_text("index\tquestion\n0\ta cat\n1\tb\n")
    monkeypatch.chdir(package.parent)


def test_with_upstreams_rules_the_class_of_the_checkout_judges_by_its_own_judge(
    place, capsys, checkout
):
    model = place.write("um.py", PAINTER) + ":P"
    judge = place.write("j.py", "def judge(request):\n    return 'yes'\n") + ":judge"
    names = ["--data", "GenEvalPP", "--model", model, "--judge", judge]

    code = command([*names, "--upstream", "--json"])

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    values = {result["metric"]: result["value"] for result in run["results"]}
    assert code == 0
    assert values["evaluate.accuracy"] == 1.0
    assert values["evaluate.total"] == 2.0
    assert run["results"][0]["protocol"] == "GenEvalPP@upstream"


def test_upstreams_evaluation_without_a_checkout_is_refused_with_what_to_do(place):
    model = place.write("um.py", PAINTER) + ":P"

    with pytest.raises(UsageError, match="run in a checkout of ULMEvalKit"):
        command(["--data", "GenEvalPP", "--model", model, "--upstream"])


def test_scripts_build_the_datasets_of_the_checkout_around_the_working_folder(
    checkout,
):
    from assay.dialects.ulmeval.drawing_datasets import build_dataset

    assert len(build_dataset("GenEvalPP").data) == 2


TWO = """
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.smp import *

class Base(TextBaseDataset):
    DATASET_URL = {'toy': ''}
    DATASET_MD5 = {'toy': None}

    def build_prompt(self, line):
        return [dict(type='text', value=line['prompt'])]

class Mine(Base):
    def evaluate(self, eval_file, **kw):
        return {'n': len(load(eval_file))}
"""


@pytest.mark.parametrize("how", ["file", "class", "registered"])
def test_of_a_base_class_and_its_subclass_in_one_file_the_subclass_is_meant(
    place, capsys, how
):
    (place.data / "toy.tsv").write_text("index\tprompt\n1\ta ball\n")
    dataset, model = place.write("two.py", TWO), place.write("um.py", PAINTER) + ":P"
    data = {
        "file": [dataset],
        "class": [f"{dataset}:Mine"],
        "registered": ["toy", "--register", dataset],
    }[how]

    code = command(["--data", *data, "--model", model, "--json"])

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (
        code == 0
        and {r["metric"]: r["value"] for r in run["results"]}["evaluate.n"] == 1.0
    )


def test_a_base_class_that_is_named_is_meant(place, capsys):
    (place.data / "toy.tsv").write_text("index\tprompt\n1\ta ball\n")
    dataset, model = place.write("two.py", TWO), place.write("um.py", PAINTER) + ":P"

    command(["--data", f"{dataset}:Base", "--model", model, "--json"])

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert [result["metric"] for result in run["results"]] == ["images"]
