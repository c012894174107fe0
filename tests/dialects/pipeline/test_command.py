"""`assay pipeline`: the documented command line."""

import json
from pathlib import Path

import pytest
from pipeline_files import make_exam, write_rows

from assay.cli.pipeline import command
from assay.core import AssayError, UsageError
from assay.dialects import protocol
from assay.dialects.pipeline.driver import is_cost

ASK = ["--dataset", "exam", "--dataset-path", "exam.jsonl", "--evaluator", "exam"]
MODEL = ["--model", "model.py:generate"]


def test_the_documented_command_finds_the_register_file_prints_and_saves(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    make_exam(here)

    code = command([*ASK, "--batch-size", "64", *MODEL])

    printed = capsys.readouterr().out
    assert code == 0
    assert (
        "accuracy" in printed
        and "0.500" in printed
        and "result file: eval_results/exam_exam_" in printed
    )
    [file] = (here / "eval_results").glob("*.json")
    saved = json.loads(file.read_text())
    assert {
        name: saved["metrics"][name] for name in ("accuracy", "correct", "total")
    } == {
        "accuracy": 0.5,
        "correct": 5,
        "total": 10,
    }
    assert saved["config"]["batch_size"] == 64


def test_all_options_reach_the_evaluator(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    make_exam(here)
    options = [
        "--max-length",
        "3",
        "--limit",
        "4",
        "--output-dir",
        "out",
        "--seed",
        "7",
        "--inferoutput",
        "a.jsonl",
    ]

    code = command([*ASK, *MODEL, *options, "--json"])

    document = json.loads(capsys.readouterr().out)
    assert code == 0 and document["results"][0]["n"] == 4
    [file] = (here / "out").glob("*.json")
    saved = json.loads(file.read_text())
    assert saved["config"] == {
        "batch_size": 4,
        "max_length": 3,
        "inferoutput": "a.jsonl",
    }
    assert (saved["seed"], saved["dataset"]["limit"]) == (7, 4)


def test_numbers_of_numpy_are_numbers_in_the_result_file(here: Path):
    pytest.importorskip("numpy")
    make_exam(here)
    (here / "register_count.py").write_text(
        "import numpy as np\nfrom evaluator_registry import EvaluatorRegistry\n"
        "def count(engine, data, batch_size=2, **kwargs):\n"
        "    tokens, _ = engine.generate_batch([item['prompt'] for item in data])\n"
        "    return {'n': np.int64(len(data)), 'by': {np.int64(1): np.float32(0.5)}}\n"
        "EvaluatorRegistry.register('计数', count)\n",
        encoding="utf-8",
    )

    command(
        [
            "--dataset",
            "exam",
            "--dataset-path",
            "exam.jsonl",
            "--evaluator",
            "计数",
            *MODEL,
        ]
    )

    [file] = (here / "eval_results").glob("exam_计数_*.json")
    metrics = json.loads(file.read_text())["metrics"]
    assert metrics["n"] == 10 and metrics["by"] == {"1": 0.5}


def test_rows_that_fail_make_the_run_partial(here: Path):
    make_exam(here, 6, too_many=(2,))

    assert command([*ASK, *MODEL]) == 3


def test_a_register_file_elsewhere_is_named(
    here: Path, tmp_path_factory: pytest.TempPathFactory
):
    elsewhere = make_exam(tmp_path_factory.mktemp("elsewhere"))
    path = [
        "--dataset",
        "exam",
        "--dataset-path",
        str(elsewhere / "exam.jsonl"),
        "--evaluator",
        "exam",
    ]
    model = ["--model-path", f"{elsewhere / 'model.py'}:generate"]

    assert (
        command([*path, *model, "--register", str(elsewhere / "register_exam.py")]) == 0
    )


def test_a_name_alone_runs_the_script_of_that_name(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    rows = [{"question": "?", "options": ["w", "x"], "answer": "B"}]
    write_rows(here / "mmlu_pro.jsonl", rows)
    make_exam(here)

    plain = command(
        [
            "mmlu_pro",
            "--dataset-path",
            "mmlu_pro.jsonl",
            "--batch-size",
            "64",
            "--limit",
            "100",
            *MODEL,
        ]
    )
    reasoned = command(
        ["mmlu_pro", "--cot", "--dataset-path", "mmlu_pro.jsonl", *MODEL, "--json"]
    )

    assert (plain, reasoned) == (0, 0)
    files = sorted(file.name for file in (here / "eval_results").glob("*.json"))
    assert files[0].startswith("mmlu_pro_cot_mmlu_pro_") and files[1].startswith(
        "mmlu_pro_mmlu_pro_"
    )


def test_the_model_may_come_from_the_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    make_exam(here)
    monkeypatch.setenv("MODEL_PATH", "model.py:generate")

    assert command(ASK) == 0


def test_list_prints_what_ships_and_what_the_folder_registers(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    make_exam(here)

    command(["--list"])

    lines = capsys.readouterr().out.splitlines()
    assert ["exam", "an", "exam"] in [line.split() for line in lines]
    assert [line.split()[0] for line in lines if line.startswith("  ")][:5] == [
        "lambada",
        "qa",
        "completion",
        "cot",
        "math",
    ]


def test_all_missing_options_are_reported_at_once(here: Path):
    with pytest.raises(
        UsageError,
        match="--dataset-path, --evaluator missing; fix: `assay pipeline --list`",
    ):
        command(["--dataset", "qa"])


def test_a_register_file_that_cannot_be_loaded_stops_it(here: Path):
    (here / "register_bad.py").write_text(
        "from dataset_registry import DatasetRegistry\nimport nowhere_to_be_found\n"
    )

    with pytest.raises(
        AssayError, match=r"register_bad.py:2: imports 'nowhere_to_be_found'"
    ):
        command(["--list"])


def test_files_of_other_systems_called_register_are_left_alone(here: Path):
    (here / "register_users.py").write_text("raise SystemExit('was run')\n")

    assert command(["--list"]) == 0


@pytest.fixture
def ours_again():
    yield
    protocol.choose("pipeline", protocol.OURS)


def test_as_upstream_the_result_is_upstreams_and_the_numbers_end_the_output(
    here: Path, ours_again: None, capsys: pytest.CaptureFixture[str]
):
    make_exam(here)

    command([*ASK, *MODEL, "--upstream"])

    printed = capsys.readouterr().out
    assert "Final Results:\n  accuracy: 0.5000\n  correct: 5\n  total: 10\n" in printed
    [file] = (here / "eval_results").glob("*.json")
    assert list(json.loads(file.read_text())) == [
        "timestamp",
        "dataset",
        "evaluator",
        "config",
        "metrics",
    ]


def test_lower_perplexity_and_time_are_better_and_speeds_come_after_the_numbers(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    write_rows(here / "l.jsonl", [{"text": "the cat and the dog"}])
    stub = Path(__file__).parent / "stub_model.py"
    options = [
        "--dataset",
        "lambada",
        "--dataset-path",
        "l.jsonl",
        "--evaluator",
        "perplexity",
    ]

    command([*options, "--model", f"{stub}:StubModel", "--json"])

    results = {
        one["metric"]: one for one in json.loads(capsys.readouterr().out)["results"]
    }
    assert not results["perplexity"]["higher_is_better"] and results["accuracy"].get(
        "higher_is_better", True
    )
    [file] = (here / "eval_results").glob("*.json")
    names = list(json.loads(file.read_text())["metrics"])
    assert names[-4:] == [
        "forward_tps",
        "full_tps",
        "step_forward_ms_p50",
        "step_full_ms_p50",
    ]


@pytest.mark.parametrize(
    ("name", "is_less_better"),
    [
        ("perplexity", True),
        ("total_time", True),
        ("loss", True),
        ("step_full_ms_p50", True),
        ("WER", True),
        ("accuracy", False),
        ("total", False),
        ("throughput", False),
        ("times_right", False),
        ("powers", False),
        ("subject_accuracies.time management", False),
    ],
)
def test_the_direction_of_a_number_is_read_off_its_name(
    name: str, is_less_better: bool
):
    assert is_cost(name) is is_less_better
