"""Runs for other tools: every verdict once, no cell a spreadsheet would evaluate, lm-eval's keys."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import assay
from assay.core import Message, Output, Prompt, Text, UsageError
from assay.core.record import output_to_plain, prompt_to_plain
from assay.exports.lm_eval_json import LmEvalJson, lm_eval_document
from assay.store import OutputLine, RunReader, RunWriter, ScoreLine
from assay.store.export import (
    COLUMNS,
    plain_cell,
    prompt_text,
    rows_of,
    safe_cell,
    write_csv,
    write_parquet,
)

QUESTION = Prompt((Message("user", (Text("2+2?"),)),))


def output_line(model: str, id: str, key: str, text: str, **more) -> OutputLine:
    output = output_to_plain(Output.of(text))
    return OutputLine(
        "sums", model, id, key, prompt=prompt_to_plain(QUESTION), output=output, **more
    )


def answer(writer: RunWriter, id: str, text: str) -> None:
    writer.write(output_line("m", id, f"key-{id}", text, target="4"))


def verdict(
    writer: RunWriter,
    id: str,
    scorer: str,
    values: dict,
    outcome: str = "scored",
    **more,
) -> None:
    writer.write(ScoreLine("sums", "m", id, scorer, "digest", values, outcome, **more))


MANIFEST = {"format": 2, "status": "complete", "config": {}, "started": "", "cells": []}


@pytest.fixture
def reader(tmp_path: Path) -> RunReader:
    with RunWriter(tmp_path / "run") as writer:
        writer.write_manifest(MANIFEST)
        answer(writer, "a", "=4+cmd|' /C calc'!A0")
        answer(writer, "b", "\udcff\x00 line\nbreak")
        verdict(
            writer, "a", "exact", {"exact": 0.0}, answer="-4", tags={"level": "@easy"}
        )
        verdict(writer, "a", "graded", {"graded.x": -1.5, "graded.y": 2.0})
        verdict(writer, "b", "exact", {"exact": 1.0})
        verdict(
            writer, "c", "exact", {}, "data_error", details={"error": "no question"}
        )
    return RunReader(tmp_path / "run")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_has_a_row_for_each_sample_and_scorer(reader, tmp_path):
    count = write_csv(reader, tmp_path / "x.csv")

    rows = read_csv(tmp_path / "x.csv")
    assert count == len(rows) == 4
    assert [(r["id"], r["scorer"], r["outcome"], r["value"]) for r in rows] == [
        ("a", "exact", "scored", "0.0"),
        ("a", "graded", "scored", "-1.5"),
        ("b", "exact", "scored", "1.0"),
        ("c", "exact", "data_error", ""),
    ]
    assert json.loads(rows[1]["values"]) == {"graded.x": -1.5, "graded.y": 2.0}
    assert rows[3]["error"] == "no question" and rows[3]["prompt"] == ""


def test_what_a_model_wrote_is_not_a_formula(reader, tmp_path):
    write_csv(reader, tmp_path / "x.csv")

    row = read_csv(tmp_path / "x.csv")[0]
    assert row["answer"] == "'=4+cmd|' /C calc'!A0" and row["extracted"] == "'-4"
    assert plain_cell(row["answer"]) == "=4+cmd|' /C calc'!A0"


@given(st.text())
def test_a_cell_starts_with_nothing_dangerous_and_can_be_read_back(text):
    cell = safe_cell(text)

    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert plain_cell(cell) == text


def test_parquet_keeps_text_as_it_is_and_numbers_as_numbers(reader, tmp_path):
    count = write_parquet(reader, tmp_path / "x.parquet")

    table = parquet.read_table(tmp_path / "x.parquet")
    rows = table.to_pylist()
    assert count == 4 and tuple(table.column_names) == COLUMNS
    assert (
        rows[0]["answer"] == "=4+cmd|' /C calc'!A0"
        and rows[1]["value"] == -1.5
        and rows[3]["value"] is None
    )
    assert "line\nbreak" in rows[2]["answer"]


def test_an_answer_without_a_score_is_exported_too(tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        writer.write_manifest(MANIFEST)
        answer(writer, "a", "4")

    write_csv(RunReader(tmp_path / "run"), tmp_path / "x.csv")

    assert [
        (r["id"], r["answer"], r["scorer"]) for r in read_csv(tmp_path / "x.csv")
    ] == [("a", "4", "")]


def test_a_prompt_of_several_turns_names_its_roles_and_its_media():
    turns = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "image", "sha256": "0123456789abcdef"},
                {"type": "text", "text": "What?"},
            ],
        },
    ]

    assert prompt_text(turns) == "system: Be brief.\nuser: [image 0123456789ab]What?"


@pytest.fixture
def finished(tmp_path: Path) -> RunReader:
    row = {
        "task": "sums",
        "protocol": "sums@v2",
        "model": "m",
        "value": 0.5,
        "stderr": 0.1,
        "n": 9,
        "n_expected": 10,
    }
    cell = {
        "task": "sums",
        "model": "m",
        "num_fewshot": 5,
        "options": {"max_tokens": 8},
        "data_sha256": "abc",
    }
    with RunWriter(tmp_path / "run") as writer:
        ran = {
            "cells": [cell],
            "started": "2026-01-01T00:00:00+0000",
            "config": {"tasks": ["sums"]},
        }
        writer.finish(
            ran,
            {
                "results": [
                    {**row, "metric": "acc", "higher_is_better": True},
                    {**row, "metric": "wer", "higher_is_better": False, "stderr": None},
                ]
            },
        )
    return RunReader(tmp_path / "run")


def test_the_results_file_has_the_keys_of_lm_eval(finished, tmp_path):
    LmEvalJson().write(finished, tmp_path / "x.json", None)

    document = json.loads((tmp_path / "x.json").read_text())
    assert document["results"] == {
        "sums": {
            "alias": "sums",
            "acc,none": 0.5,
            "acc_stderr,none": 0.1,
            "wer,none": 0.5,
            "wer_stderr,none": "N/A",
        }
    }
    assert document["configs"]["sums"]["generation_kwargs"] == {"max_tokens": 8}
    assert document["versions"] == {"sums": "sums@v2"} and document["n-shot"] == {
        "sums": 5
    }
    assert document["higher_is_better"] == {"sums": {"acc": True, "wer": False}}
    assert document["n-samples"] == {"sums": {"original": 10, "effective": 9}}
    assert document["date"] == 1767225600.0


def test_a_model_the_run_does_not_have_is_refused(finished):
    with pytest.raises(UsageError, match="no model 'other'"):
        lm_eval_document(finished, "other")


def test_a_run_without_results_is_refused(reader):
    with pytest.raises(UsageError, match="no results yet"):
        lm_eval_document(reader)


def test_samples_come_in_the_order_of_their_numbers(tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        writer.write_manifest(MANIFEST)
        for id in ("s10", "s2", "s1"):
            answer(writer, id, "4")

    write_csv(RunReader(tmp_path / "run"), tmp_path / "x.csv")

    assert [r["id"] for r in read_csv(tmp_path / "x.csv")] == ["s1", "s2", "s10"]


def test_only_samples_of_the_last_summary_are_exported(reader, tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        verdict(writer, "a", "exact", {"exact": 1.0}, epoch=1)
        writer.finish(
            MANIFEST,
            {
                "counted": [
                    {"task": "sums", "model": "m", "epochs": 1, "ids": ["a", "c"]}
                ]
            },
        )
    again = RunReader(tmp_path / "run")

    write_csv(again, tmp_path / "part.csv")

    rows = read_csv(tmp_path / "part.csv")
    assert [(row["id"], row["epoch"], row["scorer"]) for row in rows] == [
        ("a", "0", "exact"),
        ("a", "0", "graded"),
        ("c", "0", "exact"),
    ]
    assert [record.id for record in again.scores("sums", "m", "exact")] == ["a", "c"]


def test_only_scorers_and_cells_of_the_last_summary_are_exported(reader, tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        writer.write(output_line("other", "a", "key", "4"))
        writer.write_manifest(
            {
                **MANIFEST,
                "cells": [
                    {"task": "sums", "model": "m", "scorers": {"graded": "digest"}}
                ],
            }
        )

    write_csv(RunReader(tmp_path / "run"), tmp_path / "out.csv")

    rows = [
        (row["model"], row["id"], row["scorer"])
        for row in read_csv(tmp_path / "out.csv")
    ]
    assert rows == [("m", "a", "graded"), ("m", "b", "")]


def test_a_run_scored_by_another_scorer_exports_that_one_alone(tmp_path):
    rows = [{"id": "1", "question": "q", "answer": "x"}]
    folder = str(tmp_path / "run")
    data = tmp_path / "d.jsonl"
    data.write_text(json.dumps(rows[0]))
    (tmp_path / "m.py").write_text("def generate(text):\n    return 'x'\n")
    assay.run(
        str(data),
        f"{tmp_path / 'm.py'}:generate",
        scorers=("exact_match",),
        output=folder,
    )

    assay.score(folder, scorers=("includes",))

    assert [row["scorer"] for row in rows_of(RunReader(folder))] == ["includes"]
