"""A run whose rows have nothing to compare with is refused before a model is asked."""

import json

import pytest
from each_row import each

from assay.cli.main import main
from assay.core import MissingExtra, Outcome, Output, Sample
from assay.registry import scorers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "typo.csv").write_text("question,answr\n1+1?,2\n2+2?,4\n")
    (tmp_path / "four.py").write_text(
        "from pathlib import Path\n"
        "def generate(messages):\n    Path('asked').touch()\n    return '4'\n"
        "def words(sample, output):\n    return float(len(output.text.split()))\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*more):
    return main(["run", "typo.csv", "--model", "four.py", "-o", "out", *more])


def test_a_misspelled_answer_column_is_refused_before_a_model_is_asked(folder, capsys):
    code = run()

    said = capsys.readouterr().err
    assert (
        code == 2 and not (folder / "asked").exists() and not (folder / "out").exists()
    )
    assert (
        "the columns are question, answr" in said
        and "exact_match and includes need one" in said
    )
    assert "--columns target=answr" in said


def test_the_column_that_was_proposed_is_the_remedy(folder, capsys):
    assert run("--columns", "target=answr") == 0
    assert "2 / 2" in capsys.readouterr().out


def test_a_scorer_of_ones_own_may_need_no_target(folder):
    assert run("--scorer", "four.py:words") == 0


def test_one_row_with_a_target_is_enough_to_start(folder, capsys):
    rows = [{"question": "1+1?"}, {"question": "2+2?", "answer": "4"}]
    (folder / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    main(["run", "some.jsonl", "--model", "four.py", "-o", "out"])

    assert (folder / "asked").exists() and "1 data_error" in capsys.readouterr().out


COMPARING = [
    name
    for name in scorers.names()
    if name != "asked" and "target" in scorers.get(name).reads
]


@each("name", COMPARING)
def test_what_is_said_to_compare_has_no_verdict_without_a_target(name):
    try:
        scorer = scorers.build(name)
    except MissingExtra as error:
        pytest.skip(str(error))

    score = scorer(Sample("a", "q"), Output.of("x", stop_reason="stop"))

    assert (
        score.outcome is Outcome.DATA_ERROR
        and "has no target" in score.details["reason"]
    )


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ question.__class__ }}", "uses something that no template may use"),
        ("{{ question.translate({}) }}", "uses something that no template may use"),
        (
            "{% include 'other.txt' %}",
            "a template cannot include or import other files",
        ),
        (
            "{% import 'other.txt' as other %}",
            "a template cannot include or import other files",
        ),
    ],
)
@pytest.mark.parametrize("more", [(), ("--dry_run",)])
def test_a_forbidden_template_is_refused_before_a_model_is_asked(
    folder, capsys, template, said, more
):
    code = run("--columns", "target=answr", "--template", template, *more)

    errors = capsys.readouterr().err
    assert (
        code == 2 and not (folder / "asked").exists() and not (folder / "out").exists()
    )
    assert said in errors and "; fix: " in errors and errors.count("\n") == 1
