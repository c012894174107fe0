"""A user's registry, run unchanged: by `assay run`, and by the guest's own two stages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core import UnknownName, UsageError
from assay.dialects.televal.televal_files import Folder
from assay.runner.run import score


def test_a_registry_runs_with_the_model_its_yaml_names(project):
    result = project.run("task")

    (row,) = result.results
    assert (row.task, row.model, row.metric, row.value, row.n) == (
        "task",
        "echo",
        "contains",
        0.5,
        2,
    )
    assert row.ci is not None
    assert row.details["statistic"] == {"score": "AVG: 50.00%"}


def test_all_infer_tasks_run_where_none_is_named(project):
    project.entry(
        "infer_task", "other", "src.config.InferTaskCfg", project.args["infer_task"]
    )

    result = project.run()

    assert {row.task for row in result.results} == {"task", "other"}


def test_a_task_name_that_the_registry_lacks_is_answered_with_the_nearest(project):
    with pytest.raises(UnknownName, match="did you mean 'task'"):
        project.run("tusk")


def test_the_same_command_again_asks_nothing(project):
    project.run("task")

    again = project.run("task")

    assert again.usage["task/echo"]["asked"] == 0


def test_a_run_is_scored_again_without_the_model(project):
    project.run("task")
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        raise RuntimeError('asked')\n"
    )

    result = score(project.root / "out")

    assert result.results[0].value == 0.5


def test_a_model_on_the_command_line_wins_over_the_yaml(project):
    project.write(
        "src/models/loud.py",
        "class Loud:\n    def generate_once(self, audio, **kwargs):\n        return {'pred': 'no'}\n",
    )
    project.entry("model", "loud", "src.models.loud.Loud", {})

    result = project.run("task", models=("loud",))

    assert (result.results[0].model, result.results[0].value) == ("loud", 0.5)
    assert {
        record["output"]["candidates"][0]["text"] for record in project.records()
    } == {"no"}


def test_a_model_of_assay_itself_takes_part_in_a_registry(project):
    project.write("mine.py", "def generate(messages):\n    return 'it is 1949'\n")

    result = project.run("task", models=(f"{project.root / 'mine.py'}:generate",))

    assert result.results[0].value == 0.5


def test_a_text_that_looks_like_json_stays_text(project):
    project.rows(
        {"key": "a", "query": "1949", "answer": "x"},
        {"key": "b", "query": "null", "answer": "x"},
        {"key": "c", "query": "[1]", "answer": "x"},
    )

    project.run("task")

    asked = {
        record["id"]: record["prompt"][0]["content"] for record in project.records()
    }
    assert asked == {"a": "1949", "b": "null", "c": "[1]"}


def test_infer_then_eval_leave_the_files_the_document_promises(project):
    project.change("dataset", "data", extra_col=["topic"])
    project.rows(
        {"key": "a", "query": "is it 1949?", "answer": "1949", "topic": "history"}
    )

    project.televal("infer")
    _, files = project.televal("eval")

    assert project.lines("save/prediction/echo/task.jsonl") == [
        {
            "key": "a",
            "query": "is it 1949?",
            "ref": "1949",
            "pred": "echo is it 1949?",
            "topic": "history",
        }
    ]
    (result,) = project.lines("save/result/echo/task_judge.jsonl")
    assert (result["key"], result["score"], result["topic"]) == ("a", 1, "history")
    assert project.lines("save/summary/echo/task_judge.jsonl") == [
        {"score": "AVG: 100.00%"}
    ]
    assert (
        project.root / "save/results.csv"
    ).read_text() == ",echo\ntask_judge,AVG: 100.00% \n"
    assert {file.name for file in files} == {"task_judge.jsonl", "results.csv"}


def test_two_infer_tasks_on_one_dataset_do_not_overwrite_each_other(project):
    project.entry(
        "infer_task", "other", "src.config.InferTaskCfg", project.args["infer_task"]
    )

    project.televal("infer", "task")
    project.televal("infer", "other")

    assert (project.root / "save/prediction/echo/task.jsonl").is_file()
    assert (project.root / "save/prediction/echo/other.jsonl").is_file()


def test_several_datasets_of_one_task_keep_their_own_files(project):
    project.entry(
        "dataset",
        "more",
        "src.dataset.BatchLoader",
        {**project.args["dataset"], "file": "data/more.jsonl"},
    )
    project.rows({"key": "a", "query": "q", "answer": "q"}, file="data/more.jsonl")
    project.change("infer_task", "task", dataset=["data", "more"])

    project.televal("infer")
    result, _ = project.televal("eval")

    assert len(project.lines("save/prediction/echo/task.more.jsonl")) == 1
    assert {row.task: row.value for row in result.results} == {
        "task.data_judge": 0.5,
        "task.more_judge": 1.0,
    }


def test_the_eval_task_of_the_command_line_names_the_files(project):
    project.entry(
        "eval_task",
        "match",
        "src.config.EvalTaskCfg",
        {"evaluator": "exists", "summarizer": "avg"},
    )
    project.entry(
        "evaluator",
        "exists",
        "src.evaluator.base.ExistMatch",
        {"keep_punc": False, "max_workers": 1},
    )
    project.televal("infer")

    result, _ = project.televal("eval", eval_task="match")

    assert result.results[0].metric == "exists"
    assert (project.root / "save/summary/echo/task_match.jsonl").is_file()


def test_predictions_of_others_are_judged_without_any_model(project):
    project.model(
        "    def generate_once(self, audio, **kwargs):\n        raise RuntimeError('asked')\n"
    )
    project.rows(
        {"key": "x", "pred": "so 7", "ref": "7"},
        {"key": "y", "pred": "eight", "ref": "8"},
        file="save/prediction/someone/task.jsonl",
    )

    result, _ = project.televal("eval", model="someone")

    assert result.results[0].value == 0.5
    assert [
        line["score"] for line in project.lines("save/result/someone/task_judge.jsonl")
    ] == [1, 0]


def test_a_prediction_line_without_pred_is_a_fault_of_that_line(project):
    project.rows(
        {"key": "x", "pred": "so 7", "ref": "7"},
        {"key": "y", "ref": "8"},
        file="save/prediction/echo/task.jsonl",
    )

    result, _ = project.televal("eval")

    assert (result.results[0].value, result.results[0].outcomes["data_error"]) == (
        1.0,
        1,
    )


def test_eval_without_predictions_says_where_they_are_expected(project):
    with pytest.raises(
        UsageError, match=r"prediction/echo/task.jsonl.*--mode infer first"
    ):
        project.televal("eval")


def test_the_evaluators_own_fields_win_in_result_lines(project):
    evaluator = "class Contains:\n    def evaluate(self, preds, refs, infos):\n        return [{'key': i['key'], 'score': 1, 'topic': 'judged'} for i in infos]\n"  # noqa: E501
    project.write("src/evaluator/contains.py", evaluator)
    project.rows(
        {"key": "x", "pred": "p", "ref": "r", "topic": "data"},
        file="save/prediction/echo/task.jsonl",
    )

    project.televal("eval")

    assert project.lines("save/result/echo/task_judge.jsonl")[0]["topic"] == "judged"


def test_keep_meta_info_false_leaves_the_evaluators_words_only(project):
    project.rows(
        {"key": "x", "pred": "p", "ref": "r", "topic": "data"},
        file="save/prediction/echo/task.jsonl",
    )

    project.televal("eval", keep_meta_info=False)

    assert "topic" not in project.lines("save/result/echo/task_judge.jsonl")[0]


def test_it_works_inside_a_checkout_that_has_a_src_of_its_own(project):
    checkout = Path(__file__).parents[3]
    code = "import sys; from assay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        str(project.registry),
        "--tasks",
        "task",
        "--json",
        "--dialect",
        "televal",
    ]

    done = subprocess.run(
        [*command, "-o", str(project.root / "out")],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["value"] == 0.5


def test_table_shows_a_summary_with_a_line_separator(tmp_path):
    folder = Folder(tmp_path, "m")
    folder.write("summary", "task", [{"score": "one\u2028two"}])

    table = folder.write_table()

    assert table.read_text(encoding="utf-8") == ",m\ntask,one\u2028two \n"
