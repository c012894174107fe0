"""Evaluations from Python: `quick_eval`, `EvaluationPipeline`, `PipelineBuilder`, and scripts that use them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pipeline_files import make_exam, write_rows

import assay
from assay.core import UsageError
from assay.dialects.guest import Guest
from assay.dialects.pipeline.claims import NAMES
from assay.dialects.pipeline.evaluator_registry import EvaluatorRegistry
from assay.dialects.pipeline.pipeline_launch import model_name
from assay.dialects.pipeline.script_names import (
    EvaluationPipeline,
    PipelineBuilder,
    quick_eval,
)
from assay.models.scripted import Scripted


def test_a_script_that_imports_its_register_file_and_quick_eval_runs_unchanged(
    here: Path,
):
    make_exam(here)
    (here / "script.py").write_text(
        "from register_exam import exam_evaluator\nfrom pipeline import quick_eval\n\n"
        "results = quick_eval(\n    model_path='model.py:generate',\n    dataset_name='exam',\n"
        "    dataset_path='exam.jsonl',\n    evaluator_name='exam'\n)\n"
    )

    scope = Guest("pipeline", NAMES, here).run_script(here / "script.py")

    results = scope["results"]
    assert {"timestamp", "dataset", "evaluator", "config", "metrics"} <= set(results)
    assert results["dataset"] == {
        "name": "exam",
        "path": "exam.jsonl",
        "size": 10,
        "limit": None,
    }
    assert results["config"] == {"batch_size": 4, "max_length": 10}
    assert (
        results["metrics"]["accuracy"],
        results["metrics"]["correct"],
        results["metrics"]["total"],
    ) == (0.5, 5, 10)
    [file] = (here / "eval_results").glob("exam_exam_????????_??????.json")
    assert json.loads(file.read_text()) == results


def test_a_run_started_from_python_is_scored_again_from_its_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    make_exam(here)
    Guest("pipeline", NAMES, here).load(here / "register_exam.py")
    results = quick_eval(
        "model.py:generate", "exam", "exam.jsonl", "exam", batch_size=2
    )
    folder = (here / results["run"]).resolve()
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")

    again = assay.score(folder)

    assert again.value("accuracy") == 0.5


def test_metrics_are_kept_whole_with_the_speed_beside_them(here: Path):
    path = write_rows(here / "rows.jsonl", [{"question": "q", "answer": "a"}])
    EvaluatorRegistry.register(
        "odd", lambda engine, data, **kwargs: _odd(engine, data, kwargs)
    )

    results = quick_eval(
        Scripted("x"), "qa", str(path), "odd", noise=0.5, words=["a", "b"]
    )

    metrics = results["metrics"]
    assert metrics["given"] == {
        "batch_size": 128,
        "max_length": 100,
        "noise": 0.5,
        "words": ["a", "b"],
    }
    assert metrics["note"] == "text stays"
    assert {
        "forward_tps",
        "full_tps",
        "step_forward_ms_p50",
        "step_full_ms_p50",
    } <= set(metrics)
    assert results["config"] == {
        "batch_size": 128,
        "max_length": 100,
        "noise": 0.5,
        "words": ["a", "b"],
    }
    assert (results["model"], results["seed"], results["status"]) == (
        "Scripted",
        42,
        "complete",
    )


def _odd(engine: Any, data: Any, given: Any) -> dict[str, Any]:
    engine.generate_batch([item["prompt"] for item in data], max_length=2)
    return {"n": len(data), "note": "text stays", "given": given}


def test_the_same_evaluation_again_asks_nothing_and_says_the_same(here: Path):
    path = write_rows(
        here / "rows.jsonl", [{"question": f"q{n}", "answer": "x"} for n in range(5)]
    )
    model = Scripted("x")

    first = quick_eval(model, "qa", str(path), "exact_match", batch_size=2)
    second = quick_eval(model, "qa", str(path), "exact_match", batch_size=3)

    assert len(model.calls) == 5
    assert first["metrics"] == second["metrics"]
    assert len(list((here / "eval_results").glob("qa_exact_match_*.json"))) == 2


def test_several_tasks_have_a_summary(here: Path):
    path = str(write_rows(here / "rows.jsonl", [{"question": "q", "answer": "x"}]))

    results = (
        PipelineBuilder(Scripted("x"), output_dir="out")
        .add_task("qa", path, "exact_match")
        .add_task("cot", path, "exact_match", limit=1)
        .run()
    )

    [file] = (here / "out").glob("summary_*.json")
    summary = json.loads(file.read_text())
    assert (summary["total_tasks"], summary["results"]) == (2, results)
    assert [r["dataset"]["name"] for r in results] == ["qa", "cot"]


def test_results_need_not_be_saved(here: Path):
    path = str(write_rows(here / "rows.jsonl", [{"question": "q", "answer": "x"}]))

    EvaluationPipeline(Scripted("x"), output_dir="out").run(
        "qa", path, "exact_match", save_results=False
    )

    assert list((here / "out").glob("*.json")) == []


def test_failed_rows_are_in_the_result_with_their_traceback(here: Path):
    path = str(
        write_rows(
            here / "rows.jsonl", [{"question": "q", "answer": "x"}, {"answer": "x"}]
        )
    )

    results = quick_eval(Scripted("x"), "qa", path, "exact_match")

    [failed] = results["failed"]
    assert (
        results["status"],
        results["dataset"]["size"],
        results["metrics"]["total"],
    ) == ("partial", 2, 1)
    assert failed["id"] == "row-2" and "KeyError: 'question'" in failed["traceback"]


def test_paths_are_models(tmp_path: Path):
    (tmp_path / "weights").mkdir()

    assert model_name(str(tmp_path / "weights")) == f"hf/{tmp_path / 'weights'}"
    assert model_name(str(tmp_path / "small.gguf")) == f"gguf/{tmp_path / 'small.gguf'}"
    assert model_name("openai/gpt-x") == "openai/gpt-x"
    with pytest.raises(
        UsageError,
        match=r"assay has no engine for RWKV .pth weights; fix: convert them to GGUF",
    ):
        model_name("rwkv7.pth")


def test_unknown_names_are_errors_with_the_nearest(here: Path):
    with pytest.raises(
        UsageError, match="unknown dataset 'lambda'; fix: did you mean 'lambada'"
    ):
        quick_eval(Scripted("x"), "lambda", "x.jsonl", "perplexity")
