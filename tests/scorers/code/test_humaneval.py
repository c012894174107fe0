"""HumanEval: verdicts from a file, and whether code can be parsed; what is run is tried in test_runs.py."""

import asyncio
import json

import pytest

from assay.core import DataError, Outcome, Output, Sample, UsageError
from assay.scorers.code.code_text import cut
from assay.scorers.code.humaneval import HumanEval, PythonSyntax

SAMPLE = Sample("HumanEval/0", fields={"prompt": "def f():\n", "entry_point": "f"})


def written(path, *rows) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def scored(scorer, text):
    return asyncio.run(scorer(SAMPLE, Output.of(text)))


def test_a_sandbox_is_needed_unless_there_are_verdicts(tmp_path):
    file = written(
        tmp_path / "r.jsonl",
        {"task_id": "HumanEval/0", "completion": "x", "passed": True},
    )

    assert (HumanEval().needs, HumanEval(verdicts=file).needs) == (("sandbox",), ())


def test_a_verdict_is_found_by_task_and_completion(tmp_path):
    file = written(
        tmp_path / "results.jsonl",
        {"task_id": "HumanEval/0", "completion": "    return 1", "passed": True},
        {"task_id": "HumanEval/0", "completion": "    return 2", "passed": False},
    )
    scorer = HumanEval(verdicts=file)

    assert scored(scorer, "    return 1").value == 1.0
    assert scored(scorer, "    return 2\ndef g(): pass").value == 0.0


def test_a_completion_without_a_verdict_is_unresolved_rather_than_wrong(tmp_path):
    file = written(
        tmp_path / "r.jsonl",
        {"task_id": "HumanEval/0", "completion": "x", "passed": True},
    )

    score = scored(HumanEval(verdicts=file), "y")

    assert (score.value, score.outcome) == (None, Outcome.JUDGE_ERROR)


def test_verdicts_that_contradict_each_other_are_an_error(tmp_path):
    row = {"task_id": "HumanEval/0", "completion": "x", "passed": True}
    file = written(tmp_path / "r.jsonl", row, {**row, "passed": False})

    with pytest.raises(
        DataError,
        match=r"r\.jsonl:2:passed: a completion of HumanEval/0 has passed and failed",
    ):
        HumanEval(verdicts=file)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"task_id": "a"}',
        "[]",
        '{"task_id": "a", "completion": "x", "passed": "yes"}',
    ],
)
def test_a_line_that_is_not_a_verdict_is_named(tmp_path, line):
    file = written(tmp_path / "r.jsonl", line)

    with pytest.raises(DataError, match=r"r\.jsonl:1: not a verdict"):
        HumanEval(verdicts=file)


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot read the verdicts"):
        HumanEval(verdicts=str(tmp_path / "none.jsonl"))


def test_other_verdicts_under_the_same_name_are_another_scorer(tmp_path):
    row = {"task_id": "HumanEval/0", "completion": "x", "passed": True}
    before = HumanEval(verdicts=written(tmp_path / "r.jsonl", row))
    after = HumanEval(verdicts=written(tmp_path / "r.jsonl", {**row, "passed": False}))

    assert before != after


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ("    return 1\n", 1.0),
        ("    return 1\nprint(f())", 1.0),
        ("    return (", 0.0),
        ("return 1", 0.0),
        ("    return " + "(" * 5000, 0.0),
        ("    return '\0'", 0.0),
    ],
)
def test_a_completion_must_parse_and_define_the_function(completion, value):
    assert PythonSyntax()(SAMPLE, Output.of(completion)).value == value


def test_an_empty_completion_is_not_a_function_although_signature_and_docstring_parse():
    sample = Sample(
        "a", fields={"prompt": 'def f():\n    """One."""\n', "entry_point": "f"}
    )

    assert PythonSyntax()(sample, Output.of("  \n")).value == 0.0
    assert (
        PythonSyntax()(sample, Output.of("", stop_reason="length")).outcome
        == Outcome.TRUNCATED
    )


def test_the_body_ends_at_the_first_stop():
    assert cut("    a\n\n# note\ndef g") == "    a\n"
