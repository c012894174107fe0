"""`--mode eval` after `--mode infer`: rows without an answer stay in the count, and foreign files are noticed."""

import json

import pytest

from assay.cli.main import main
from assay.core import UsageError

FAILS_TWICE = """    def generate_once(self, audio, **kwargs):
        if kwargs["query"] in ("say 1", "say 3"):
            raise RuntimeError("weights missing")
        return {"pred": kwargs["query"]}
"""


def five_rows(project):
    rows = [
        {"key": f"q{n}", "query": f"say {n}", "answer": f"say {n}"} for n in range(5)
    ]
    project.rows(*rows)


def second_task(project, **changes):
    args = {**project.args["infer_task"], **changes}
    project.entry("infer_task", "other", "src.config.InferTaskCfg", args)


@pytest.mark.parametrize("upstream", [False, True])
def test_rows_that_inference_could_not_answer_stay_in_the_count(project, upstream):
    five_rows(project)
    project.model(FAILS_TWICE)
    project.televal("infer", upstream=upstream)

    result, _ = project.televal("eval", upstream=upstream)

    row = result.results[0]
    assert (row.n, row.n_expected, row.outcomes["model_error"]) == (3, 5, 2)
    assert (result.status, result.exit_code) == ("partial", 3)
    assert any("weights missing" in note for note in result.notes)


def test_a_row_whose_audio_is_missing_stays_a_data_error(project):
    project.wav("audio/a.wav")
    project.rows(
        {"key": "a", "audio": "audio/a.wav", "query": "", "answer": "x"},
        {"key": "b", "audio": "audio/gone.wav", "query": "", "answer": "x"},
    )
    heard = [{"role": "user", "content": {"audio": "{{audio}}"}}]
    project.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": heard}
    )
    project.model(
        "    def generate_once(self, audio, **kw):\n        return {'pred': 'x'}\n"
    )
    project.televal("infer")

    result, _ = project.televal("eval")

    assert result.results[0].n_expected == 2
    assert result.results[0].outcomes == {"scored": 1, "data_error": 1}


def test_rows_answered_later_by_hand_are_not_missing(project):
    five_rows(project)
    project.model(FAILS_TWICE)
    project.televal("infer")
    file = project.root / "save/prediction/echo/task.jsonl"
    added = [{"key": f"q{n}", "pred": "no", "ref": f"say {n}"} for n in (1, 3)]
    text = "".join(json.dumps(line) + "\n" for line in added)
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")

    result, _ = project.televal("eval")

    assert (result.results[0].value, result.results[0].n) == (0.6, 5)
    assert result.status == "complete"


def test_a_resumed_inference_is_judged_whole(project):
    five_rows(project)
    project.model(FAILS_TWICE)
    project.televal("infer")
    project.televal("eval")
    project.model(
        "    def generate_once(self, audio, **kw):\n        return {'pred': kw['query']}\n"
    )
    project.televal("infer")

    result, _ = project.televal("eval")

    assert (result.results[0].n, result.results[0].n_expected) == (5, 5)
    assert result.status == "complete"


def test_scoring_the_eval_run_again_keeps_the_unanswered_rows(project, capsys):
    five_rows(project)
    project.model(FAILS_TWICE)
    project.televal("infer")
    project.televal("eval")

    main(["score", str(project.root / "save/run/echo/task_judge"), "--json"])

    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["n"], row["n_expected"]) == (3, 5)


def test_the_file_of_predictions_is_named(project):
    project.televal("infer")

    result, _ = project.televal("eval")

    assert any("prediction/echo/task.jsonl" in note for note in result.notes)


def test_a_file_that_another_task_wrote_here_is_refused(project):
    second_task(project)
    project.televal("infer", upstream=True)

    with pytest.raises(UsageError, match="predictions of infer_task 'task'"):
        project.televal("eval", "other")


def test_a_file_of_a_shared_dataset_is_read_with_a_warning(project):
    second_task(project)
    project.rows(
        {"key": "a", "pred": "1949", "ref": "1949"},
        file="save/prediction/echo/data.jsonl",
    )

    result, _ = project.televal("eval", "other")

    (note,) = [note for note in result.notes if "data.jsonl" in note]
    assert note.startswith("warning:")
    assert "other, task share" in note


def test_a_file_with_the_lines_of_another_one_is_read_with_a_warning(project):
    second_task(project)
    project.televal("infer")
    folder = project.root / "save/prediction/echo"
    (folder / "other.jsonl").write_bytes((folder / "task.jsonl").read_bytes())

    result, _ = project.televal("eval", "other")

    (note,) = [note for note in result.notes if "other.jsonl" in note]
    assert note.startswith("warning:") and "task.jsonl has the same lines" in note


def test_upstreams_shared_file_is_judged_with_a_warning(project):
    second_task(project)
    five_rows(project)
    project.televal("infer", upstream=True)

    result, _ = project.televal("eval", "other", upstream=True)

    assert result.results[0].n == 5
    assert any(
        note.startswith("warning:") and "other, task share" in note
        for note in result.notes
    )


@pytest.mark.parametrize("upstream", [False, True])
def test_no_old_summary_remains_beside_results_that_cannot_be_summed_up(
    project, upstream
):
    name = "data_judge" if upstream else "task_judge"
    project.televal("infer", upstream=upstream)
    project.televal("eval", upstream=upstream)
    summary = project.root / f"save/summary/echo/{name}.jsonl"
    assert summary.is_file()
    project.write(
        "src/evaluator/contains.py",
        "class Contains:\n    def evaluate(self, preds, refs, infos):\n"
        "        return [{'key': i['key'], 'score': 'banana'} for i in infos]\n",
    )

    result, _ = project.televal("eval", upstream=upstream)

    assert result.exit_code == 1
    assert not summary.exists()
    assert "AVG" not in (project.root / "save/results.csv").read_text("utf-8")


def test_a_misspelt_reference_column_is_refused_before_anything_is_asked(project):
    project.change("dataset", "data", ref_col="anwser")

    with pytest.raises(UsageError, match=r"data.yaml:\d+: .*'anwser'.*'answer'"):
        project.televal("infer")
    assert not (project.root / "save").exists()
    with pytest.raises(UsageError, match="'anwser'"):
        project.run("task")


def test_a_misspelt_query_column_is_a_warning(project):
    project.change("dataset", "data", query_col="qeury")

    with pytest.warns(UserWarning, match="'qeury' is not a column"):
        project.televal("infer")


def test_transcription_result_lines_have_the_fields_that_televal_writes(project):
    project.entry("evaluator", "contains", "src.evaluator.asr_eval.ASR", {"model": "m"})
    project.entry("summarizer", "avg", "src.summarizer.summarizer.AvgWER", {})
    project.wav("a.wav")
    project.write(
        "ear.py",
        "from assay import Output\n\n\nclass Ear:\n    name = 'ear'\n\n"
        "    def generate(self, requests):\n"
        "        return [Output.of('今天好') for _ in requests]\n",
    )
    line = {"key": "a", "pred": "今天很好", "ref": "x", "pred_audio": "a.wav"}
    project.rows(line, file="save/prediction/echo/task.jsonl")
    from assay.runner.options import RunOptions

    options = RunOptions(judges={"asr": f"{project.root / 'ear.py'}:Ear"})
    (project.root / "save/a.wav").write_bytes((project.root / "a.wav").read_bytes())

    project.televal("eval", base=options)

    (result,) = project.lines("save/result/echo/task_judge.jsonl")
    assert (result["clean_trans"], result["clean_text"]) == ("今 天 好", "今 天 很 好")
    assert result["score"]["wer"] == 0.25
    assert result["score"]["ref_len"] == 4
    assert result["pred"] == "今天很好"


@pytest.mark.parametrize("upstream", [False, True])
def test_rows_whose_line_was_removed_from_the_file_stay_in_the_count(project, upstream):
    five_rows(project)
    project.televal("infer", upstream=upstream)
    (file,) = (project.root / "save/prediction/echo").glob("*.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:2]), encoding="utf-8")

    result, _ = project.televal("eval", upstream=upstream)

    row = result.results[0]
    assert (row.n, row.n_expected, row.outcomes["model_error"]) == (2, 5, 3)
    assert any("3 rows of --mode infer have no prediction" in n for n in result.notes)


def test_a_file_with_keys_of_other_data_is_judged_as_it_is(project):
    five_rows(project)
    project.televal("infer")
    line = {"key": "mine", "pred": "yes", "ref": "yes"}
    project.rows(line, file="save/prediction/echo/task.jsonl")

    result, _ = project.televal("eval")

    assert (result.results[0].value, result.results[0].n_expected) == (1.0, 1)


def test_a_misspelt_key_column_is_noticed(project):
    project.change("dataset", "data", key_col="kye")

    with pytest.warns(UserWarning, match="key_col 'kye' is not a column"):
        project.televal("infer")
