"""Options of models arrive with the type that the model's annotation asks for."""

import json

import pytest

from assay.cli.arguments import key_values
from assay.cli.main import main

MODEL = """
import json
from typing import Optional

class Model:
    def __init__(self, revision: str = "main", branch: Optional[str] = None, heat: float = 1.0, beams: int = 1,
                 untyped=0.5, loose=None, fast: bool = False):
        self.seen = [revision, branch, heat, beams, untyped, loose, fast]

    def generate(self, messages):
        return json.dumps(self.seen)


def plain(messages, revision: str = "", heat: "float | None" = None, **rest):
    return json.dumps([revision, heat, rest])
"""


def answer(tmp_path, reference, *options):
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "d.jsonl").write_text('{"id": "0", "question": "?", "answer": "x"}\n')
    arguments = [word for option in options for word in ("-a", option)]
    model = f"{tmp_path}/m.py:{reference}"
    out = str(tmp_path / f"run-{reference}")
    main(["run", str(tmp_path / "d.jsonl"), "--model", model, *arguments, "-o", out])
    lines = (tmp_path / f"run-{reference}" / "records.jsonl").read_text().splitlines()
    first = next(r for r in map(json.loads, lines) if r["kind"] == "output")
    return json.loads(first["output"]["candidates"][0]["text"])


@pytest.mark.parametrize(
    "revision", ["12e4567", "0012", "nan", "1e5", "12", "1.10", "-0", "0x10", "1_000"]
)
def test_a_revision_arrives_as_it_was_typed(tmp_path, revision):
    seen = answer(tmp_path, "Model", f"revision={revision}", f"branch={revision}")

    assert seen[:2] == [revision, revision]


def test_the_annotation_or_the_default_makes_a_number_of_a_text(tmp_path):
    seen = answer(tmp_path, "Model", "heat=1e-5,beams=004,untyped=0.50")

    assert seen[2:5] == [1e-5, 4, 0.5]


@pytest.mark.parametrize(
    ("typed", "value"),
    [("12", 12), ("-0.5", -0.5), ("0012", "0012"), ("1e5", "1e5"), ("nan", "nan"), ("1.10", "1.10"),
     ("true", True), ("none", None), ("[1,2]", [1, 2])],
)  # fmt: skip
def test_an_option_that_nothing_types_is_a_number_only_in_plain_form(
    tmp_path, typed, value
):
    assert answer(tmp_path, "Model", f"loose={typed}")[5] == value
    assert answer(tmp_path, "plain", f"extra={typed}")[2] == {"extra": value}


@pytest.mark.parametrize(
    ("typed", "value"),
    [("yes", True), ("on", True), ("1", True), ("TRUE", True), ("no", False), ("off", False), ("0", False),
     ("False", False)],
)  # fmt: skip
def test_a_word_for_true_or_false_is_a_truth_value_where_one_is_asked_for(
    tmp_path, typed, value
):
    assert answer(tmp_path, "Model", f"fast={typed}")[6] is value


@pytest.mark.parametrize("typed", ["maybe", "2", "none"])
def test_another_word_where_a_truth_value_is_asked_for_is_refused(
    tmp_path, typed, capsys
):
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "d.jsonl").write_text('{"id": "0", "question": "?", "answer": "x"}\n')

    code = main(
        [
            "run",
            str(tmp_path / "d.jsonl"),
            "--model",
            f"{tmp_path}/m.py:Model",
            "-a",
            f"fast={typed}",
            "-o",
            str(tmp_path / "out"),
        ]
    )

    assert code == 2
    assert "fast=true or fast=false" in capsys.readouterr().err


def test_options_of_a_function_are_typed_by_its_annotations(tmp_path):
    seen = answer(tmp_path, "plain", "revision=7", "heat=1e-3")

    assert seen[:2] == ["7", 1e-3]


def test_prices_and_generation_options_stay_numbers(tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text('{"id": "0", "question": "?", "answer": "x"}\n')
    arguments = [
        "run",
        str(tmp_path / "d.jsonl"),
        "--model",
        "scripted",
        "-a",
        "answers=x,price_input=0.50,price_output=1e1",
        "--gen_kwargs",
        "temperature=1e-1",
        "--dry_run",
    ]

    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "cost:" in printed and "temperature=0.1" in printed


def test_none_stays_text_for_an_option_that_takes_text_only(tmp_path, capsys):
    (tmp_path / "d.jsonl").write_text('{"id": "0", "question": "?", "answer": "x"}\n')
    arguments = ["run", str(tmp_path / "d.jsonl"), "--model", "scripted"]
    arguments += ["-a", "answers=x", "--scorer", "wer:normalize=none"]

    assert main([*arguments, "-o", str(tmp_path / "run")]) == 0
    assert "wer[none]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('rounds=["a, x=5", {"k": "1, y=2"}],n=3', {"rounds": ["a, x=5", {"k": "1, y=2"}], "n": 3}),
        ('n=3,body={"a": [1, 2]}', {"n": 3, "body": {"a": [1, 2]}}),
        ("a=x,y,b=[1", {"a": "x,y", "b": "[1"}),
        ("a=[x, y],b=2", {"a": "[x, y]", "b": 2}),
    ],
)  # fmt: skip
def test_commas_and_equal_signs_inside_json_belong_to_the_value(text, values):
    assert key_values(text, option="-a") == values
