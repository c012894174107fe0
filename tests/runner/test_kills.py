"""Kills at every stage of a run: nothing that was answered is lost, and nothing of it is asked again."""

import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import COUNTS, drawn
from long_runs import LongRun

pytestmark = pytest.mark.faults
IN_FLIGHT = {
    "one_by_one": 8,  # as many as are asked at once
    "in_batches": 2
    * 64,  # a hand-over of about 20 ms, and one more whose answers were not written yet
}


@pytest.mark.parametrize("way", IN_FLIGHT)
def test_kills_lose_nothing_and_repeat_at_most_what_was_in_flight(
    tmp_path: Path, way: str
):
    count = COUNTS.samples_of_killed_runs
    at_once = {"one_by_one": ["--concurrency", "8"], "in_batches": []}[way]
    long = LongRun(tmp_path / "killed", count, way, *at_once)
    clean = LongRun(tmp_path / "clean", count, way)
    repeated_before = 0
    # Points lie apart, so that each process is killed at its work and not on its way there.
    for point in drawn(f"kills {way}", range(20, count - 100, 20), COUNTS.kills):
        kept, before = long.kept(), len(long.calls())
        process = long.started_until(point)
        process.kill()
        process.communicate()

        calls = long.calls()
        assert not kept & set(calls[before:]), (
            "an answer that was in the journal was asked for again"
        )
        repeated = len(calls) - len(set(calls))
        assert repeated - repeated_before <= IN_FLIGHT[way]
        repeated_before = repeated

    assert long.finish() == clean.finish()
    assert len(long.kept()) == count and len(set(long.calls())) == count
    assert long.records() == clean.records()


def killed_at(long: LongRun, module: str, name: str, call: int) -> int:
    """The exit code of the command, killed at the `call`th call of a function of its own process."""
    script = [
        sys.executable,
        str(Path(__file__).with_name("killed_at.py")),
        module,
        name,
        str(call),
    ]
    done = subprocess.run(
        [*script, "--", *long.arguments],
        env=long.environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode


# The steps of writing `run.json` at the start, `run.json` and `summary.json` at the end, each from its draft to its
# place, and the journal's own.
STEPS = [
    *[("os", "replace", call) for call in (1, 2, 3)],
    *[("os", "fsync", call) for call in (1, 2, 3, 4, 5, 6)],
    *[("assay.store.layout", "new_draft", call) for call in (1, 2, 3)],
    *[("os", "fdatasync", 1), ("os", "ftruncate", 1)],
    *[("os", "write", call) for call in (1, 2, 3, 4, 5, 6)],
]


@pytest.mark.parametrize(
    ("module", "name", "call"), drawn("summary", STEPS, COUNTS.kills_while_summing)
)
def test_a_kill_at_a_step_of_writing_loses_nothing(
    tmp_path: Path, module: str, name: str, call: int
):
    long = LongRun(tmp_path, 60, "in_batches", "--batch_size", "8")

    code = killed_at(long, module, name, call)
    kept, before = long.kept(), len(long.calls())
    after = long.finish()

    assert code == -9
    assert not kept & set(long.calls()[before:])
    assert after[0] == ("exact_match", pytest.approx(40 / 60), 60)
    assert sorted(path.name for path in long.run.iterdir()) == [
        ".lock",
        "records.jsonl",
        "run.json",
        "summary.json",
    ]


@pytest.mark.parametrize(
    "call", drawn("index", range(1, 60), COUNTS.kills_while_indexing)
)
def test_a_kill_while_the_journal_is_read_changes_nothing(tmp_path: Path, call: int):
    long = LongRun(tmp_path, 60, "in_batches")
    undisturbed = long.finish()
    (long.run / "summary.json").unlink()
    journal = (long.run / "records.jsonl").read_bytes()

    code = killed_at(long, "assay.store.index:Index", "_add_output", call)

    assert code == -9 and (long.run / "records.jsonl").read_bytes() == journal
    assert long.finish() == undisturbed and len(long.calls()) == 60
