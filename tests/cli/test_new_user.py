"""What somebody meets in the first hour: slips of the hand, files of the wrong kind, and what reports say then."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import display
from assay.cli.main import main
from assay.cli.score import _other_fix
from assay.core import Result, StoreError
from assay.report import LineProgress
from assay.runner.result import RunResult

FOUR = ("--model", "four.py")


def finished(status="complete", notes=(), results=()):
    return RunResult(status, Path("out"), tuple(results), tuple(notes), {})


def test_a_scorer_file_without_a_name_is_taken_by_its_score(assay, folder):
    (folder / "mine.py").write_text(
        "def score(sample, output):\n    return float(output.text == sample.target)\n"
    )
    (folder / "task.yaml").write_text("dataset: sums.jsonl\nscorers: [mine.py]\n")

    by_flag = assay(
        "run", "sums.jsonl", *FOUR, "--scorer", "mine.py", "-o", "a", "--json"
    )
    by_yaml = assay("run", "task.yaml", *FOUR, "-o", "b", "--json")

    for said in (by_flag, by_yaml):
        assert [(row["metric"], row["n"]) for row in said.json["results"]] == [
            ("score", 3)
        ]


def test_a_scorer_file_that_names_no_scorer_is_refused_before_a_model_is_asked(
    assay, folder
):
    (folder / "two.py").write_text(
        "def one(sample, output):\n    return 1\ndef two(sample, output):\n    return 1\n"
    )

    said = assay("run", "sums.jsonl", *FOUR, "--scorer", "two.py", "-o", "out")

    assert (
        said.code == 2
        and "it defines one, two" in said.err
        and not (folder / "out").exists()
    )


def test_breakdowns_of_two_models_are_kept_separate(assay, folder):
    (folder / "tags.yaml").write_text("dataset: rows.csv\ntags: [words]\n")
    (folder / "rows.csv").write_text("question,answer,words\n2+2?,4,3\n3+3?,6,4\n")

    said = assay(
        "run",
        "tags.yaml",
        *FOUR,
        "--model",
        "adder.py",
        "-o",
        "out",
        "--scorer",
        "exact_match",
    )

    assert "\nfour.py\n  words  n  exact_match\n  3      1  1.000" in said.out
    assert "\nadder.py\n  words  n  exact_match\n  3      1  1.000" in said.out


def test_a_summarizer_that_fails_leaves_the_mean_and_says_so_once(assay, folder):
    (folder / "bad.py").write_text(
        "def summarize(records):\n    raise ValueError('oops')\n"
    )
    (folder / "task.yaml").write_text("dataset: sums.jsonl\nsummarizers: [bad.py]\n")

    said = assay("run", "task.yaml", *FOUR, "-o", "out", "--json")

    assert [row["metric"] for row in said.json["results"]] == [
        "exact_match",
        "includes",
    ]
    assert (
        said.json["status"] == "partial"
        and sum("oops" in note for note in said.json["notes"]) == 1
    )


def test_check_finds_a_summarizer_that_fails(assay, folder):
    (folder / "bad.py").write_text(
        "def summarize(records):\n    raise ValueError('oops')\n"
    )
    (folder / "fine.py").write_text(
        "def summarize(records):\n    return {'share': len(records) / 3}\n"
    )
    (folder / "task.yaml").write_text("dataset: sums.jsonl\nsummarizers: [bad.py]\n")
    (folder / "good.yaml").write_text("dataset: sums.jsonl\nsummarizers: [fine.py]\n")

    bad, good = assay("check", "task.yaml"), assay("check", "good.yaml")

    assert bad.code == 1 and "ValueError: oops" in bad.err
    assert good.code == 0 and "on exact_match: share 1.000 for the targets" in good.out


def test_printed_notes_are_not_repeated_in_the_same_place(tmp_path, monkeypatch):
    watching = LineProgress(io.StringIO())
    watching.say("the judge is gone")
    result = finished(notes=("the judge is gone", "2 data_error"))
    with (tmp_path / "log").open("w") as log, (tmp_path / "errors").open("w") as errors:
        monkeypatch.setattr(sys, "stderr", log)
        display.finish(result, log, False, watching=watching)
        monkeypatch.setattr(sys, "stderr", errors)
        with (tmp_path / "table").open("w") as table:
            display.finish(result, table, False, watching=watching)

    assert "note: the judge" not in (tmp_path / "log").read_text()
    assert "note: 2 data_error" in (tmp_path / "log").read_text()
    assert "note: the judge is gone" in (tmp_path / "table").read_text()


def test_advice_on_epochs_says_of_which_model():
    results = [
        Result(
            "t",
            model,
            "m",
            0.5,
            2,
            n_expected=2,
            details={"epochs": {"advice": "add questions"}},
        )
        for model in ("a.py", "b.py")
    ]
    out = io.StringIO()

    display.finish(finished(results=results), out, False)

    assert (
        "t.m (a.py): add questions" in out.getvalue()
        and "t.m (b.py): add questions" in out.getvalue()
    )


def test_an_interrupted_run_says_how_to_go_on():
    out = io.StringIO()

    display.finish(finished("interrupted"), out, False)

    assert (
        "interrupted: out\n  the same command again continues where it stopped\n"
        in out.getvalue()
    )


def test_the_report_mentions_judge_canaries(assay, folder):
    (folder / "judge.py").write_text(
        'def generate(messages):\n    return \'{"score": 1, "reason": "no"}\'\n'
    )

    said = assay(
        "run",
        "sums.jsonl",
        *FOUR,
        "--scorer",
        "judge",
        "--judge",
        "judge.py",
        "-o",
        "out",
    )

    assert (
        "sums: trying judge 'judge.py' on answers that demand the best mark" in said.err
    )


def test_one_request_is_singular(assay):
    assert (
        "\n1 request in all"
        in assay("run", "sums.jsonl", *FOUR, "--limit", "1", "--dry_run").out
    )


SLIPS = {
    "run sums": "unknown task 'sums'; fix: did you mean sums.jsonl?",
    "run sums.jsonl scripted": "fix: --model scripted names a model",
    "run sums.jsonl model=hf/x": "fix: --model hf/x names a model",
    "run hf/x": "fix: --model hf/x names a model",
    "run sums.jsonl --model four:generate": "did you mean four.py:generate?",
    "run sums.jsonl --model none.gguf": "fix: check the path",
    "run sums.jsonl --model scripted --out x": "fix: did you mean --output?",
    "run sums.jsonl --model scripted --temperature hot": "not a number: 'hot'",
    "run sums.jsonl --model scripted --samples 3": "fix: --limit N takes",
    "show runs/fist": "it does not exist; fix: did you mean runs/first?",
    "compare first runs/first": "first: not a run folder: it does not exist; fix: did you mean runs/first?",
    "verify runs": "runs: not a run folder, but a folder of runs; fix: name one of them: runs/first",
    "gate runs/first": "missing: run; fix: write assay gate POLICY RUN;",
    "parity": "missing: -M/--model; fix: `assay parity --help`",
}
"""Commands that a tired user types, and a part of the line that helps."""


@pytest.mark.parametrize("words", SLIPS)
def test_a_mistyped_command_gets_advice_on_the_right_one(assay, words):
    if "first" in words or "runs" in words:
        assay("run", "sums.jsonl", "--model", "scripted", "-o", "runs/first")

    said = assay(*words.split())

    assert said.code == 2 and said.err.count("\n") == 1
    assert SLIPS[words] in said.err


def test_help_with_a_verb_is_the_help_of_the_verb(assay):
    with pytest.raises(SystemExit) as end:
        assay("help", "run")

    assert end.value.code == 0


def test_the_names_of_an_expression_are_listed_once(assay, folder):
    (folder / "own.py").write_text(
        "dataset = 'sums.jsonl'\ndef score(sample, output):\n    return 1.0\n"
    )
    assay("run", "own.py", "--model", "scripted", "-o", "runs/own")

    said = assay("show", "runs/own", "--where", "foo > 1")

    assert said.code == 2 and said.err.count(" score,") == 1


def test_types_of_options_are_shown_without_their_modules(assay):
    said = assay("show", "openai")

    assert "headers: Mapping[str, str]" in said.out


def test_a_file_in_place_of_the_run_folder_is_reported(assay):
    said = assay("run", "sums.jsonl", *FOUR, "-o", "four.py")

    assert (
        said.err
        == "assay: four.py: a run needs a folder, and this is a file; fix: choose a folder with -o\n"
    )


def test_a_run_that_cannot_be_written_to_is_scored_as_a_copy():
    fixed = _other_fix(
        StoreError("cannot write", fix="choose another folder with -o"), "my run"
    )

    assert fixed == "score a copy of it: cp -r 'my run' COPY, then `assay score COPY`"
    assert (
        _other_fix(StoreError("lost", fix="check the path"), "run") == "check the path"
    )


def test_a_dataset_of_the_hub_is_a_task(assay, monkeypatch):
    from assay.runner.options import RunOptions
    from assay.runner.tasks.resolve import resolve_tasks

    [task] = resolve_tasks("hf://org/name@config#test", RunOptions())

    assert (task.name, task.dataset) == ("name", "hf://org/name@config#test")


def test_rows_of_json_in_a_table_are_recognised(assay, folder):
    (folder / "rows.csv").write_text('{"question": "q", "answer": "a"}\n')

    said = assay("run", "rows.csv", *FOUR, "-o", "out")

    assert (
        "rows.csv:1:1: this is one JSON object a line, not a table; fix: name the file .jsonl"
        in said.err
    )


def test_a_single_object_is_shown_where_rows_were_expected(assay, folder):
    (folder / "single.json").write_text('{"question": "q", "answer": "a"}')

    assert (
        """got '{"question": "q", "answer": "a"}'"""
        in assay("run", "single.json", *FOUR, "-o", "out").err
    )


def test_a_url_that_is_not_fetched_names_the_flag(assay, folder):
    (folder / "rows.csv").write_text(
        "question,answer,image\nq,a,https://example.org/x.png\n"
    )

    assert "--allow_urls" in assay("run", "rows.csv", *FOUR, "-o", "out").err


def test_an_export_goes_to_stdout(folder):
    main(["run", "sums.jsonl", *FOUR, "-o", "out"])
    command = [sys.executable, "-m", "assay", "export", "out", "--to", "csv", "-o", "-"]

    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ}, timeout=120
    )

    assert (
        done.stdout.startswith("task,model,id,") and len(done.stdout.splitlines()) == 7
    )
    assert not (folder / "-").exists()


def test_an_unreadable_file_is_one_line(assay, monkeypatch):
    def refuse(*arguments, **more):
        raise PermissionError(13, "Permission denied", "four.py")

    monkeypatch.setattr("assay.runner.plan.models.build_model", refuse)

    said = assay("run", "sums.jsonl", *FOUR, "-o", "out")

    assert (said.code, said.err) == (
        2,
        "assay: four.py: Permission denied; fix: check who may read it\n",
    )


@pytest.mark.parametrize("order", [("four.py", "openai/x"), ("openai/x", "four.py")])
def test_an_endpoint_beside_a_file_gets_the_url(assay, order):
    models = [part for name in order for part in ("--model", name)]

    said = assay(
        "run", "sums.jsonl", *models, "--base_url", "http://localhost:9/v1", "--dry_run"
    )

    assert said.code == 0 and "6 requests in all" in said.out
