"""Runs of `assay televal` found again: scored without the model, from anywhere, whatever their tasks are called."""

import json

import pytest

from assay.cli.main import main
from assay.core import UsageError
from assay.dialects.televal.televal_command import Stage
from assay.runner.run import run, score


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working folder that has nothing to do with the project."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)


def ask_no_more(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        raise RuntimeError('asked')\n"
    )


def test_the_eval_run_is_scored_again_without_the_model(project, elsewhere, capsys):
    project.televal("infer")
    project.televal("eval")
    ask_no_more(project)
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n        return [{'key': i['key'], 'score': 0.25} for i in infos]\n",  # noqa: E501
    )

    code = main(["score", str(project.root / "save/run/echo/task_judge"), "--json"])

    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (code, result["task"], result["value"], result["n"]) == (
        0,
        "task_judge",
        0.25,
        2,
    )


def test_the_infer_run_is_scored_by_any_scorer(project, elsewhere):
    project.rows(
        {"key": "a", "query": "1949", "answer": "echo 1949"},
        {"key": "b", "query": "null", "answer": "no"},
    )
    project.televal("infer")
    ask_no_more(project)

    plain = score(project.root / "save/run/echo/task")
    matched = score(project.root / "save/run/echo/task", scorers=("exact_match",))

    assert (plain.results[0].metric, plain.results[0].value) == ("answered", 1.0)
    assert (matched.results[0].metric, matched.results[0].value) == ("exact_match", 0.5)


def test_every_dataset_of_a_task_is_found_again(project, elsewhere):
    project.entry(
        "dataset",
        "more",
        "src.dataset.BatchLoader",
        {**project.args["dataset"], "file": "data/more.jsonl"},
    )
    project.rows({"key": "a", "query": "q", "answer": "q"}, file="data/more.jsonl")
    project.change("infer_task", "task", dataset=["data", "more"])
    project.televal("infer")
    project.televal("eval")

    result = score(project.root / "save/run/echo/task_judge")

    assert {row.task: row.value for row in result.results} == {
        "task.data_judge": 0.5,
        "task.more_judge": 1.0,
    }


def test_the_options_of_the_command_line_are_part_of_what_is_found_again(
    project, elsewhere
):
    project.entry(
        "eval_task",
        "match",
        "src.config.EvalTaskCfg",
        {"evaluator": "exists", "summarizer": "avg"},
    )
    project.entry("evaluator", "exists", "src.evaluator.base.ExistMatch", {})
    project.televal("infer")
    project.televal("eval", eval_task="match")

    result = score(project.root / "save/run/echo/task_match")

    assert (result.results[0].task, result.results[0].metric) == (
        "task_match",
        "exists",
    )


def test_a_task_called_like_a_shipped_benchmark_is_the_registrys_own(
    project, elsewhere
):
    project.entry(
        "infer_task", "gsm8k", "src.config.InferTaskCfg", project.args["infer_task"]
    )

    by_folder = run([str(project.registry), "gsm8k"], output=str(project.root / "out"))
    again = score(project.root / "out")
    project.televal("infer", "gsm8k")
    asked = score(project.root / "save/run/echo/gsm8k")

    for result in (by_folder, again, asked):
        assert {(row.task, row.model, row.n) for row in result.results} == {
            ("gsm8k", "echo", 2)
        }


def test_a_shipped_benchmark_can_still_be_named_beside_a_registry(project, elsewhere):
    tasks = [str(project.registry), "task", "quickstart_facts"]

    result = run(tasks, f"{judge(project)}:generate", output="out", limit=2)

    assert {row.task for row in result.results} == {"task", "quickstart_facts"}


def judge(project):
    return project.write(
        "mine.py", "def generate(messages):\n    return 'it is 1949'\n"
    )


def test_a_reference_that_names_no_stage_says_what_one_looks_like():
    with pytest.raises(UsageError, match=r"no such stage.*REGISTRY#infer/TASK"):
        Stage.parse("registry#ask/task")


def test_failing_rows_and_lines_keep_their_own_key(project):
    project.change("dataset", "data", key_col="name")
    project.rows(
        {"name": "first", "query": "is it 1949?", "answer": "1949"},
        {"name": "second", "answer": "no question"},
    )
    project.rows(
        {"key": "x", "pred": "7", "ref": "7"},
        {"key": "y", "ref": "8"},
        file="save/prediction/him/task.jsonl",
    )

    project.run("task")
    project.televal("eval", model="him")

    assert [
        r["id"] for r in project.records(kind="score") if r["outcome"] == "data_error"
    ] == ["second"]
    lines = project.records("save/run/him/task_judge", kind="score")
    assert [r["id"] for r in lines if r["outcome"] == "data_error"] == ["y"]
