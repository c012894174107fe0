"""Rows that are lost on the way are counted and said, by the command line and in scripts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline_cases import OwnEngine
from pipeline_files import make_exam, write_rows

import assay
from assay.cli.pipeline import command
from assay.core import AssayError, UsageError
from assay.dialects.pipeline.evaluator_registry import EvaluatorRegistry
from assay.dialects.pipeline.pipeline_command import register_all
from assay.dialects.protocol import UPSTREAM, following
from assay.models.scripted import Scripted
from assay.runner.options import RunOptions

ASK = ["--dataset", "exam", "--dataset-path", "exam.jsonl", "--evaluator", "exam"]
SCRIPT = """
from pipeline import quick_eval
import register_exam

result = quick_eval("model.py:generate", "exam", "exam.jsonl", "exam")
print(result["metrics"]["total"])
"""


def evaluator(folder: Path, body: str) -> None:
    file = folder / "register_exam.py"
    file.write_text(
        f"{file.read_text()}\n\ndef other(engine, data, **kwargs):\n{body}\n\n"
        "EvaluatorRegistry.register('other', other)\n",
        encoding="utf-8",
    )


def run_other(folder: Path, model: object = None) -> assay.RunResult:
    options = RunOptions(
        tasks=(f"{folder / 'register_exam.py'}:exam/other",),
        data=str(folder / "exam.jsonl"),
        output=str(folder / "run"),
    )
    return assay.run(model=model or Scripted("B"), options=options)


def test_a_script_says_on_stderr_how_many_rows_it_lost(here: Path):
    make_exam(here, 6, too_many=[1])
    (here / "script.py").write_text(SCRIPT, encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-m", "assay", "python", "script.py"],
        cwd=here,
        capture_output=True,
        text=True,
        env={**os.environ},
        check=True,
    )

    assert ran.stdout.strip() == "5"
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("warning:")]
    assert "exam/exam: 1 of 6 rows are not in the numbers (1 data_error" in line


def test_a_script_that_loses_nothing_is_quiet(here: Path):
    make_exam(here, 4)
    (here / "script.py").write_text(SCRIPT, encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-m", "assay", "python", "script.py"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "warning" not in ran.stderr


def test_an_evaluator_that_asks_nothing_is_not_complete(tmp_path: Path):
    make_exam(tmp_path, 4)
    evaluator(tmp_path, "    return {'accuracy': 1.0}")

    result = run_other(tmp_path)

    row = result.results[0]
    assert (row.value, row.n, row.n_expected) == (None, 0, 4)
    assert row.flags == ("the evaluator asked the model nothing",)
    assert (result.status, result.exit_code) == ("failed", 1)


def test_rows_that_an_evaluator_does_not_ask_about_are_not_counted(tmp_path: Path):
    make_exam(tmp_path, 4)
    evaluator(
        tmp_path,
        "    engine.generate_batch([data[0]['prompt']], max_length=3)\n"
        "    return {'accuracy': 1.0}",
    )

    result = run_other(tmp_path)

    assert (result.results[0].n, result.results[0].n_expected) == (1, 4)
    assert result.status == "partial"


def test_prompts_of_the_evaluators_own_count_for_every_row(tmp_path: Path):
    make_exam(tmp_path, 4)
    evaluator(
        tmp_path,
        "    engine.generate_batch(['In short: ' + i['raw']['question'] for i in data], max_length=3)\n"
        "    return {'accuracy': 1.0}",
    )

    result = run_other(tmp_path)

    assert (result.results[0].n, result.status) == (4, "complete")


def test_numbers_without_a_single_answer_are_not_numbers(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    make_exam(here, 5)
    (here / "broken.py").write_text(
        "def generate(prompt):\n    raise RuntimeError('weights missing')\n"
    )

    code = command([*ASK, "--model", "broken.py:generate", "--json"])

    document = json.loads(capsys.readouterr().out)
    row = document["results"][0]
    assert code == 1
    assert (row["value"], row["n"], row["n_expected"]) == (None, 0, 5)
    assert row["outcomes"] == {"model_error": 5}
    assert any("weights missing" in note for note in document["notes"])


def test_a_registration_file_with_a_syntax_error_is_reported(here: Path):
    make_exam(here, 2)
    (here / "register_other.py").write_text(
        "from dataset_registry import DatasetRegistry\n\ndef load(:\n"
    )

    with pytest.raises(UsageError, match=r"register_other.py:3: not valid Python"):
        command([*ASK, "--model", "model.py:generate"])


def test_a_broken_file_that_names_no_registry_is_mentioned(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    make_exam(here, 2)
    (here / "register_voters.py").write_text("def count(:\n")

    assert command([*ASK, "--model", "model.py:generate"]) == 0
    assert "note: register_voters.py is not valid Python" in capsys.readouterr().err


def test_an_evaluator_of_the_user_can_be_asked_for_as_upstream(here: Path):
    make_exam(here, 2)
    evaluator(
        here,
        "    engine.generate_batch([row['prompt'] for row in data], max_length=3)\n"
        "    return {'accuracy': 1.0}",
    )
    options = RunOptions(
        tasks=(f"{here / 'register_exam.py'}:exam/other@upstream",),
        data=str(here / "exam.jsonl"),
        output=str(here / "run"),
    )

    result = assay.run(model=Scripted("B"), options=options)

    assert result.results[0].protocol == "exam/other@upstream"


def test_rows_beyond_the_number_of_own_prompts_are_not_counted(here: Path):
    make_exam(here, 5)
    evaluator(
        here,
        "    engine.generate_batch(['unrelated'], max_length=3)\n"
        "    return {'accuracy': 1.0}",
    )

    result = run_other(here)

    assert (result.results[0].n, result.status) == (1, "partial")


def test_a_file_is_measured_as_upstream_does(here: Path):
    make_exam(here, 2)
    write_rows(
        here / "exam.jsonl",
        [{"question": "q", "options": ["a"], "answer": 0, "reference": "B"}],
    )

    from assay.cli.main import main

    assert (
        main(
            [
                "run",
                "register_exam.py@upstream",
                "--data",
                "exam.jsonl",
                "--model",
                "model.py:generate",
                "-o",
                "up",
            ]
        )
        == 0
    )
    assert (
        main(
            [
                "run",
                "register_exam.py",
                "--data",
                "exam.jsonl",
                "--model",
                "model.py:generate",
                "-o",
                "ours",
            ]
        )
        == 0
    )

    results = {
        name: json.loads((here / name / "summary.json").read_text())["results"][0]
        for name in ("up", "ours")
    }
    assert (results["up"]["protocol"], results["up"]["value"]) == (
        "exam/exam@upstream",
        1.0,
    )
    assert results["ours"]["value"] == 0.0


@pytest.mark.parametrize("protocol", [UPSTREAM, "assay"])
def test_rows_without_a_target_reach_a_users_own_engine(protocol: str):
    pytest.importorskip("torch", reason="the engine of rwkv-benchmark needs torch")
    engine = OwnEngine()
    batches: list[int] = []
    forward = engine.model.forward_batch

    def counted(tokens, *args, **kwargs):
        batches.append(len(tokens))
        return forward(tokens, *args, **kwargs)

    engine.model.forward_batch = counted
    texts = ["a b", "alone", "c d e"]
    data = [{"prompt": t, "reference": "", "raw": {"text": t}} for t in texts]

    with following("pipeline", protocol):
        if protocol == UPSTREAM:
            made = EvaluatorRegistry.evaluate("perplexity", engine, data)
        else:
            with pytest.warns(UserWarning, match="left out"):
                made = EvaluatorRegistry.evaluate("perplexity", engine, data)

    assert batches == [3]
    assert made["total"] == (3 if protocol == UPSTREAM else 2)


def test_a_broken_registration_file_beside_a_named_one_is_a_note(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    good = REGISTRATION.format(name="voters")
    (here / "register_other.py").write_text(
        good.replace("prompt_template=", "prompt_templat=")
    )
    (here / "register_voters.py").write_text(good)

    assert register_all(["register_voters.py"], here)

    note = capsys.readouterr().err
    assert note.startswith("note: not registered: ") and "register_other.py:" in note
    with pytest.raises(UsageError, match="prompt_templat"):
        register_all([], here)


REGISTRATION = """
from dataset_registry import DatasetRegistry
DatasetRegistry.register(name="{name}", loader=lambda path: [], prompt_template=str)
"""


WHOLE_FILE = """from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry
def load(path):
    {load}
def prompt(item):
    {prompt}
def judge(engine, data, **options):
    return {{"accuracy": 1.0}}
DatasetRegistry.register(name="mine", loader=load, prompt_template=prompt)
EvaluatorRegistry.register(name="mine", evaluator=judge, metrics=["accuracy"])
"""
ROW = {"load": "return [{'text': 'a'}]", "prompt": "return item['text']"}


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("load", "pass"),
        ("load", "return {'a': 1}"),
        ("prompt", "pass"),
        ("prompt", "return 3"),
        ("prompt", "return item['txt']"),
    ],
)
def test_a_wrong_registration_is_named_with_its_line(
    part: str, body: str, here: Path, capsys: pytest.CaptureFixture[str]
):
    text = WHOLE_FILE.format(**{**ROW, part: body})
    (here / "register_mine.py").write_text(text)
    (here / "model.py").write_text("def generate(prompt):\n    return '4'\n")
    (here / "rows.jsonl").write_text("{}\n")
    words = ["--dataset", "mine", "--dataset-path", "rows.jsonl", "--evaluator", "mine"]

    with pytest.raises(AssayError, match=r"register_mine.py:\d"):
        command([*words, "--model", "model.py:generate"])
