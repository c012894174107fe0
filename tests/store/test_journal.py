"""The journal: checked lines, torn tails, damaged blocks."""

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.core import DiskFull
from assay.store import Index, open_journal
from assay.store.journal import (
    SYNC_LINES,
    SYNC_SECONDS,
    OutputLine,
    Repair,
    ScoreLine,
    decode_output,
    is_whole,
    read_lines,
    seal,
)


def write_records(path: Path, count: int) -> None:
    journal, _ = open_journal(path)
    for number in range(count):
        output = {"candidates": [{"text": f"answer {number}"}]}
        journal.append(
            OutputLine("t", "m", f"s{number}", f"key{number}", output=output)
        )
        journal.append(
            ScoreLine("t", "m", f"s{number}", "exact", "d", {"exact": 1.0}, "scored")
        )
    journal.close()


def test_a_line_is_plain_json_with_its_checksum():
    line = seal({"kind": "output", "id": "a"})

    assert json.loads(line)["id"] == "a"
    assert is_whole(line[:-1])


def test_one_changed_byte_is_seen():
    line = bytearray(seal({"kind": "output", "id": "abc"})[:-1])
    for position in range(len(line)):
        changed = bytearray(line)
        changed[position] ^= 1

        assert not is_whole(bytes(changed)), position


def test_lone_surrogates_and_huge_integers_survive():
    line = OutputLine(
        "t",
        "m",
        "a\ud800",
        "k",
        output={"candidates": [{"text": "x\udc80"}]},
        target=10**4000,
    )

    read = decode_output(seal(line)[:-1])

    assert read.id == "a\ud800"
    assert read.output["candidates"][0]["text"] == "x\udc80"
    assert read.target == 10**4000


def test_append_returns_the_offset_of_the_line(tmp_path: Path):
    journal, _ = open_journal(tmp_path / "j")
    offsets = [
        journal.append({"kind": "output", "id": str(number)}) for number in range(20)
    ]
    journal.close()

    assert [offset for offset, _ in read_lines(tmp_path / "j")] == offsets


def test_a_journal_cut_at_any_byte_of_its_last_lines_opens_and_loses_only_the_torn_one(
    tmp_path: Path,
):
    whole = tmp_path / "whole"
    write_records(whole, 30)
    data = whole.read_bytes()
    for cut in range(max(0, len(data) - 4096), len(data)):
        torn = tmp_path / "torn"
        torn.write_bytes(data[:cut])
        complete = data[:cut].count(b"\n")

        journal, repair = open_journal(torn)
        journal.close()

        assert sum(1 for _, line in read_lines(torn) if line is not None) == complete
        assert bool(repair.torn_bytes) == (not data[:cut].endswith(b"\n"))


@pytest.mark.faults
def test_zeroed_blocks_lose_only_the_lines_they_touch(tmp_path: Path):
    whole = tmp_path / "whole"
    write_records(whole, 200)
    data = whole.read_bytes()
    lines = data.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    rng = random.Random(7)
    for _ in range(100):
        start = rng.randrange(0, len(data) - 512)
        path = tmp_path / "damaged"
        path.write_bytes(data[:start] + b"\0" * 512 + data[start + 512 :])
        # A line that begins right behind the block has lost the line end before it.
        kept = [
            line
            for at, line in zip(starts, lines, strict=True)
            if at + len(line) <= start or at > start + 512
        ]

        journal, repair = open_journal(path)
        journal.close()
        index = Index(path)

        assert [
            line + b"\n" for _, line in read_lines(path) if line is not None
        ] == kept
        said = str(Repair(repair.torn_bytes, index.damaged, index.damaged_range))
        if repair.torn_bytes:
            assert len(data) - repair.torn_bytes <= start and "was cut off" in said
        else:
            first, end = index.damaged_range or (0, 0)
            assert index.damaged >= 1 and first <= start and start + 512 <= end
            assert said.startswith(f"{index.damaged} damaged line") and said.endswith(
                f"(bytes {first} to {end})"
            )


def test_damage_in_two_places_is_one_range(tmp_path: Path):
    write_records(tmp_path / "j", 20)
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    lines[3] = b"x" * (len(lines[3]) - 1) + b"\n"
    lines[9] = b"y" * (len(lines[9]) - 1) + b"\n"
    (tmp_path / "j").write_bytes(b"".join(lines))

    index = Index(tmp_path / "j")

    assert index.damaged == 2
    assert index.damaged_range == (len(b"".join(lines[:3])), len(b"".join(lines[:10])))


def test_a_disk_that_takes_part_of_a_block_leaves_whole_lines_and_says_so(
    tmp_path: Path, monkeypatch
):
    import os

    journal, _ = open_journal(tmp_path / "j")
    journal.append({"kind": "output", "id": "first"})
    journal.flush()
    real = os.write
    monkeypatch.setattr(
        os, "write", lambda handle, block: real(handle, block[: len(block) - 7])
    )
    for number in range(3):
        journal.append({"kind": "output", "id": f"later{number}"})

    with pytest.raises(DiskFull, match="disk is full"):
        journal.flush()

    monkeypatch.undo()
    lines = [line for _, line in read_lines(tmp_path / "j")]
    assert len(lines) == 3
    assert all(line is not None for line in lines)


@pytest.mark.parametrize(
    ("lines", "seconds", "syncs"),
    [
        (SYNC_LINES - 1, 0.0, 0),
        (SYNC_LINES, 0.0, 1),
        (1, SYNC_SECONDS - 0.01, 0),
        (1, SYNC_SECONDS, 1),
    ],
)
def test_lines_are_synced_in_groups_by_number_or_by_time(
    tmp_path: Path, monkeypatch, lines, seconds, syncs
):
    synced, now = [], [100.0]
    monkeypatch.setattr("assay.store.journal.time.monotonic", lambda: now[0])
    monkeypatch.setattr("assay.store.journal.os.fdatasync", synced.append)
    journal, _ = open_journal(tmp_path / "j")
    now[0] += seconds
    for number in range(lines):
        journal.append({"kind": "output", "id": str(number)})
        journal.flush()
    if journal._syncer is not None:
        journal._syncer.join()

    assert len(synced) == syncs
    journal.close()
    assert len(synced) == syncs + 1  # what is left is synced at the end


def test_lines_of_several_threads_are_at_the_returned_offsets(
    tmp_path: Path,
):
    journal, _ = open_journal(tmp_path / "j")
    offsets: dict[str, int] = {}
    switching = sys.getswitchinterval()

    def write(thread: int) -> None:
        for number in range(400):
            id = f"{thread}-{number}"
            offsets[id] = journal.append(
                OutputLine("t", "m", id, id, output={"candidates": []})
            )
            journal.flush()

    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
    finally:
        sys.setswitchinterval(switching)
    journal.close()

    found = {
        decode_output(line).id: offset
        for offset, line in read_lines(tmp_path / "j")
        if line is not None
    }
    assert found == offsets and len(found) == 8 * 400


def test_a_later_line_replaces_an_earlier_one(tmp_path: Path):
    journal, _ = open_journal(tmp_path / "j")
    journal.append(
        OutputLine("t", "m", "a", "k1", output={"error": {"kind": "timeout"}})
    )
    journal.append(
        OutputLine("t", "m", "a", "k1", output={"candidates": [{"text": "yes"}]})
    )
    journal.close()

    answer = Index(tmp_path / "j").cell("t", "m").answers["a", 0][0]

    assert answer is not None
    assert not answer.failed
