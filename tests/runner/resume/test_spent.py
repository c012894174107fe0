"""What earlier runs in a folder have spent."""

import os
from dataclasses import replace

import pytest

import assay
from assay.core import Output, Usage
from assay.runner.options import RunOptions
from assay.runner.resume.spent import SECONDS, seconds_before, spent_before
from assay.store import RunWriter

ROWS = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(10)]


def counting(text):
    return replace(Output.of("y"), usage=Usage(90, 10))


def test_every_answer_in_the_journal_counts_and_cached_ones_do_not(tmp_path):
    task = assay.Task("sums", dataset=ROWS, scorers="exact_match")
    cache = str(tmp_path / "cache")
    assay.run(task, counting, output=str(tmp_path / "first"), cache=cache)
    assay.run(task, counting, output=str(tmp_path / "second"), cache=cache)
    priced = RunOptions(model_args={"price_input": 10.0, "price_output": 100.0})

    with RunWriter(tmp_path / "first") as writer:
        first = spent_before(writer, writer.read_manifest(), priced)
    with RunWriter(tmp_path / "second") as writer:
        second = spent_before(writer, writer.read_manifest(), priced)

    assert (first["tokens"], first["usd"]) == (
        1000,
        pytest.approx(10 * (90 * 10 + 10 * 100) / 1e6),
    )
    assert (second["tokens"], second["usd"]) == (0, 0)


def test_a_killed_run_took_until_its_last_line(tmp_path):
    with RunWriter(tmp_path / "run") as writer:
        os.utime(writer.layout.journal, (1_000_100, 1_000_100))
        killed = {
            "status": "running",
            "started": "1970-01-12T13:46:40+0000",
            SECONDS: 7.5,
        }

        assert seconds_before(writer, killed) == pytest.approx(107.5)
        assert seconds_before(writer, {**killed, "status": "partial"}) == 7.5
        assert seconds_before(writer, {**killed, "started": "long ago"}) == 7.5
        assert seconds_before(writer, {}) == 0
