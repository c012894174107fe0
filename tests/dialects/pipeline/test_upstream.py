"""What upstream counts otherwise, as protocols of their own; and rows and follow-ups under their own ids."""

import json
from math import exp
from pathlib import Path

import pytest
from pipeline_files import exam_rows, make_exam, write_rows

import assay
from assay.cli.main import main
from assay.models.scripted import Scripted
from assay.store import RunReader

DIALOGUE = """
import json
from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry

def load(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]

def talk(engine, data, batch_size=64, **kwargs):
    for item in data:
        tokens, _ = engine.generate_batch([item["prompt"]], max_length=8)
        said = engine.decode_tokens(tokens)[0]
        engine.generate_batch([f"{item['prompt']}\\n{said}\\nReally?"], max_length=8)
    engine.generate_batch(["something else"], max_length=8)
    return {"accuracy": 1.0}

DatasetRegistry.register(name="talk", loader=load, prompt_template=lambda item: item["question"])
EvaluatorRegistry.register(name="talk", evaluator=talk)
"""
FALSY = """
import json
from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry

def load(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]

def kept(engine, data, batch_size=64, **kwargs):
    engine.generate_batch([item["prompt"] for item in data], max_length=4)
    return {"kept": sum(item["reference"] == item["raw"]["answer"] for item in data) / len(data)}

DatasetRegistry.register(name="falsy", loader=load, prompt_template=lambda item: item["question"])
EvaluatorRegistry.register(name="falsy", evaluator=kept)
"""


class Even:
    """Weighs everything alike."""

    identity = {"name": "even"}  # noqa: RUF012 - as models declare it
    abilities = assay.core.Abilities(likelihood=True)

    def generate(self, requests):
        return [assay.Output.of("x") for _ in requests]

    def likelihood(self, requests):
        weighed = assay.core.Likelihood(-2.0, False, 1)
        return [assay.Output(likelihoods=(weighed,)) for _ in requests]


def run_file(
    folder: Path,
    file: str,
    text: str,
    rows: list,
    model: object,
    suffix: str = "",
    **settings,
):
    (folder / file).write_text(text, encoding="utf-8")
    data = write_rows(folder / "rows.jsonl", rows)
    return assay.run(
        f"{folder / file}{suffix}",
        model,
        data=str(data),
        output=str(folder / "run"),
        **settings,
    )


def test_rows_that_fail_keep_the_id_of_their_row(tmp_path: Path):
    make_exam(tmp_path)
    rows = [
        {"index": f"q{n}", **row} for n, row in enumerate(exam_rows(4, too_many=(2,)))
    ]
    write_rows(tmp_path / "exam.jsonl", rows)

    assay.run(
        str(tmp_path / "register_exam.py"),
        Scripted("B"),
        data=str(tmp_path / "exam.jsonl"),
        output=str(tmp_path / "run"),
    )

    reader = RunReader(tmp_path / "run")
    assert [
        record.id for record in reader.scores("exam/exam", "Scripted", "exam/exam")
    ] == ["q2"]
    assert [record.id for record in reader.outputs()] == ["q0", "q1", "q3"]


def test_further_questions_of_an_evaluator_belong_to_the_row_they_continue(
    tmp_path: Path, capsys
):
    rows = [
        {"id": "a", "question": "Who?"},
        {"id": "b", "question": "Who? Me?"},
        {"id": "c", "question": "Why?"},
    ]

    run_file(tmp_path, "register_talk.py", DIALOGUE, rows, Scripted("I"))
    main(["show", str(tmp_path / "run"), "--sample", "b"])

    rounds: dict[str, list[str]] = {}
    for record in RunReader(tmp_path / "run").outputs():
        rounds.setdefault(record.id, []).append(record.prompt[-1]["content"])
    assert rounds == {
        "a": ["Who?", "Who?\nI\nReally?"],
        "b": ["Who? Me?", "Who? Me?\nI\nReally?"],
        "c": ["Why?", "Why?\nI\nReally?"],
        "call-000006": ["something else"],
    }
    assert "Really?" in capsys.readouterr().out


def test_a_follow_up_of_rows_with_the_same_prompt_is_a_call_of_its_own(tmp_path: Path):
    rows = [{"id": "a", "question": "Who?"}, {"id": "b", "question": "Who?"}]

    run_file(tmp_path, "register_talk.py", DIALOGUE, rows, Scripted("I"))

    ids = [record.id for record in RunReader(tmp_path / "run").outputs()]
    assert sorted(ids) == ["a", "b", "call-000001", "call-000003", "call-000004"]


def test_upstream_takes_zero_and_false_for_no_answer(tmp_path: Path):
    rows = [
        {"question": "q", "answer": 0, "reference": "r"},
        {"question": "r", "answer": "yes"},
    ]

    ours = run_file(tmp_path, "register_falsy.py", FALSY, rows, Scripted("x"))
    theirs = run_file(
        tmp_path,
        "register_falsy.py",
        FALSY,
        rows,
        Scripted("x"),
        "@upstream",
        fresh=True,
    )

    assert (ours.value("kept"), ours[0].protocol) == (1.0, "falsy/falsy")
    assert (theirs.value("kept"), theirs[0].protocol) == (0.5, "falsy/falsy@upstream")
    assert assay.score(tmp_path / "run").value("kept") == 0.5


def test_upstream_reads_any_text_column_as_lambada_and_a_text_of_one_word_as_right(
    tmp_path: Path,
):
    rows = [
        {"question": "q", "answer": "a", "text": "the cat"},
        {"question": "r", "answer": "b", "text": "alone"},
    ]
    data = write_rows(tmp_path / "rows.jsonl", rows)
    settings = {"dialect": "pipeline", "data": str(data)}

    ours = assay.run("qa/perplexity", Even(), output=str(tmp_path / "ours"), **settings)
    theirs = assay.run(
        "qa/perplexity@upstream", Even(), output=str(tmp_path / "theirs"), **settings
    )

    assert (
        ours.value("perplexity") == pytest.approx(exp(2))
        and ours[0].protocol == "qa/perplexity@reference"
    )
    assert (
        theirs.value("perplexity") == pytest.approx(exp(1))
        and theirs.value("accuracy") == 0.5
    )
    assert theirs[0].protocol == "qa/perplexity@upstream"
    weighed = [
        record.continuations for record in RunReader(tmp_path / "theirs").outputs()
    ]
    assert [list(texts) for texts in weighed] == [[" cat"]]


def test_the_documented_command_takes_an_upstream_evaluator(
    tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    make_exam(tmp_path, 0)
    rows = [{"question": "1", "options": ["a", "b", "c"], "answer": "C"}]
    data = write_rows(tmp_path / "rows.jsonl", rows)
    (tmp_path / "says.py").write_text(
        "def generate(messages):\n    return 'The answer is C'\n"
    )

    asked = [
        "--dataset",
        "mmlu_pro",
        "--dataset-path",
        str(data),
        "--evaluator",
        "mmlu_pro@upstream",
    ]
    main(["pipeline", *asked, "--model", "says.py:generate", "--json"])

    assert json.loads(capsys.readouterr().out)["results"][0]["value"] == 0.0
