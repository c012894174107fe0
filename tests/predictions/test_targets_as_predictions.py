"""A file whose target column is given as the predictions is refused: its score would always be perfect."""

import json
import shutil
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.core import AssayError

ROWS = [
    {"id": str(n), "question": f"{n}?", "answer": f"a{n}", "mine": f"m{n}"}
    for n in range(5)
]


def write(name, rows=ROWS):
    path = Path(name)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        import pyarrow as arrow
        from pyarrow import parquet

        parquet.write_table(arrow.Table.from_pylist(list(rows)), path)
    else:
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(task, model, column):
    return assay.run(
        task, f"predictions/{model}", model_args={"prediction": column}, output="run"
    )


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
@pytest.mark.parametrize("is_copy", [False, True])
def test_the_target_column_of_the_same_data_is_refused(name, is_copy):
    write(name)
    model = name
    if is_copy:
        model = f"copy-{name}"
        shutil.copy(name, model)

    with pytest.raises(AssayError, match="the predictions are the targets"):
        run(name, model, "answer")
    assert not Path("run").exists()


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_another_column_of_the_same_data_is_scored(name):
    write(name)

    assert run(name, name, "mine").value("exact_match") == 0.0


def test_a_mapped_target_column_is_refused():
    write("d.jsonl")
    Path("t.yaml").write_text("dataset: d.jsonl\ncolumns: {target: mine}\n")

    with pytest.raises(AssayError, match="the predictions are the targets"):
        run("t.yaml", "d.jsonl", "mine")
    assert run("t.yaml", "d.jsonl", "answer").value("exact_match") == 0.0


def test_targets_that_a_function_takes_from_the_row_are_refused():
    write("d.jsonl")
    Path("t.py").write_text(
        "from assay import Sample, Task\n"
        "def read(row): return Sample(row['id'], row['question'], row['mine'])\n"
        "task = Task('t', dataset='d.jsonl', to_sample=read)\n"
    )

    with pytest.raises(AssayError, match="the predictions are the targets"):
        run("t.py", "d.jsonl", "mine")


def test_right_predictions_in_a_file_of_their_own_are_scored():
    write("d.jsonl")
    write("out.jsonl", [{"id": row["id"], "answer": row["answer"]} for row in ROWS])

    assert run("d.jsonl", "out.jsonl", "answer").value("exact_match") == 1.0


def test_predictions_that_all_equal_their_targets_are_noted(capsys):
    write("d.jsonl")
    write("other.csv")

    arguments = [
        "run",
        "d.jsonl",
        "--model",
        "predictions/other.csv",
        "-a",
        "prediction=answer",
    ]
    assert main([*arguments, "-o", "run"]) == 0

    printed = capsys.readouterr().out
    assert "all 5 predictions equal their targets, character by character" in printed
    assert "does column 'answer' hold the outputs of a model?" in printed


def test_outputs_in_the_answer_column_can_be_judged_without_a_target(capsys):
    write("d.jsonl")
    Path("judge.py").write_text(
        "def generate(messages):\n    return '{\"score\": 3}'\n"
    )
    arguments = [
        "run",
        "d.jsonl",
        "--model",
        "predictions/d.jsonl",
        "-a",
        "prediction=answer",
        "-o",
        "run",
    ]
    arguments += ["--scorer", "judge", "--judge", "judge.py:generate"]

    assert main(arguments) == 2
    assert "--columns target= says so" in capsys.readouterr().err
    assert main([*arguments, "--columns", "target="]) == 0


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.csv"])
def test_a_zero_character_in_a_prediction_does_not_refuse_the_file(name):
    write("d.jsonl")
    rows = [{"id": row["id"], "prediction": row["answer"]} for row in ROWS]
    rows[2]["prediction"] = "a\0b"
    if name == "out.json":
        Path(name).write_text(json.dumps(rows))
    else:
        write(name, rows)

    result = run("d.jsonl", name, "prediction")

    assert result.value("exact_match") == 0.8 and result.status == "complete"


def test_repeats_that_differ_from_the_target_are_not_called_equal_to_it():
    write("d.jsonl")
    rows = [{"id": row["id"], "prediction": row["answer"]} for row in ROWS]
    write("alike.jsonl", rows + rows)
    write("mixed.jsonl", [*rows, *rows[:4], {"id": "4", "prediction": "b"}])

    alike, mixed = (
        assay.run("d.jsonl", f"predictions/{name}.jsonl", output=name, epochs=2)
        for name in ("alike", "mixed")
    )

    note = "all 5 predictions equal their targets"
    assert [note in str(run.notes) for run in (alike, mixed)] == [True, False]
