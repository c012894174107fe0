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


def test_with_upstreams_rules_the_shipped_class_is_asked_for_its_own_judge(
    place, capsys, monkeypatch
):
    from assay.dialects.ulmeval.facade.dataset import GenEvalPP

    monkeypatch.setattr(GenEvalPP, "DATASET_MD5", {"GenEvalPP": None})
    (place.data / "GenEvalPP.tsv").write_text(
        "index\tquestion\tinclude\n0\ta cat\t[{'class': 'cat'}]\n1\tb\t[]\n"
    )
    model = place.write("um.py", PAINTER) + ":P"
    judge = (
        place.write("j.py", "def judge(request):\n    return '{\"correct\": 1}'\n")
        + ":judge"
    )

    code = command(
        [
            "--data",
            "GenEvalPP",
            "--model",
            model,
            "--judge",
            judge,
            "--upstream",
            "--json",
        ]
    )

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    values = {result["metric"]: result["value"] for result in run["results"]}
    assert (
        code == 0
        and values["evaluate.accuracy"] == 1.0
        and values["evaluate.total"] == 2.0
    )
    assert run["results"][0]["protocol"] == "GenEvalPP@upstream"


def test_t2icompbench_of_upstream_is_refused_with_what_to_do():
    from assay.dialects.ulmeval.facade.dataset import T2ICompBench

    with pytest.raises(
        UsageError, match=r"checkout of ULMEvalKit.*assay run t2i_compbench"
    ):
        T2ICompBench.evaluate(None, "m.pkl")


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
