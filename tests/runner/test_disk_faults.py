"""Whatever step of writing fails, or is the last before a kill: the next run of the same command finishes the work."""

import errno
import json
import os
from pathlib import Path
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, DiskFull, Image, Output, StoreError
from assay.store import journal as journal_module
from assay.store.journal import read_lines

ROWS = [{"id": str(n), "question": f"q{n}", "answer": f"a{n}"} for n in range(6)]
STEPS = ("write", "fdatasync", "fsync", "replace")


@pytest.fixture(autouse=True)
def synced_at_the_end(monkeypatch):
    """How often a journal is synced would depend on how long a run takes."""
    monkeypatch.setattr(journal_module, "SYNC_SECONDS", 1e9)


class Killed(BaseException):
    """Ends a run as a kill would: no handler of an error sees it."""


class Drawing:
    """Answers with words and a picture, so that media are written too."""

    abilities = Abilities()
    identity: ClassVar = {"drawing": 1}

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, requests):
        self.asked += [request.id for request in requests]
        return [
            Output.of(
                assay.Text(f"a{r.id}"), Image(b"\x89PNG\r\n\x1a\n" + r.id.encode())
            )
            for r in requests
        ]


def run(folder: Path, model: Drawing):
    task = assay.Task("t", dataset=ROWS, scorers="exact_match")
    return assay.run(task, model, output=str(folder / "run"), batch_size=1)


class Faulty:
    """A function of `os` that counts its calls, and at one of them does something else."""

    def __init__(self, patch, step: str, at: int, fault: BaseException) -> None:
        self.calls, self.real = 0, getattr(os, step)
        self.at, self.fault = at, fault
        patch.setattr(os, step, self)

    def __call__(self, *values, **more):
        self.calls += 1
        if self.calls == self.at:
            raise self.fault
        return self.real(*values, **more)


def how_often(tmp_path: Path, step: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        counting = Faulty(patch, step, 0, Killed())
        run(tmp_path / "counted", Drawing())
    return counting.calls


def check_whole(folder: Path) -> None:
    journal = folder / "run" / "records.jsonl"
    assert (
        all(line is not None for _, line in read_lines(journal))
        if journal.exists()
        else True
    )
    for name in ("run.json", "summary.json"):
        if (folder / "run" / name).exists():
            json.loads((folder / "run" / name).read_bytes())


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_kill_at_any_step_of_writing_loses_nothing(tmp_path, step):
    undisturbed = run(tmp_path / "clean", Drawing())
    times = how_often(tmp_path, step)
    assert times >= 3
    for at in range(1, times + 1):
        folder, model = tmp_path / f"{step}{at}", Drawing()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            Faulty(patch, step, at, Killed())
            run(folder, model)
        check_whole(folder)

        result = run(folder, model)

        assert result.status == "complete"
        assert [(r.metric, r.value, r.n) for r in result] == [
            (r.metric, r.value, r.n) for r in undisturbed
        ]
        assert (
            len(model.asked) <= len(ROWS) + 2
        )  # what was in flight: the one at work, and the one handed over


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, StoreError)],
)
def test_a_disk_that_fails_at_any_step_is_one_line_and_the_run_can_go_on(
    tmp_path, step, code, kind
):
    times = how_often(tmp_path, step)
    for at in sorted({1, (times + 1) // 2, times} - {0}):
        folder = tmp_path / f"{step}{at}"
        with pytest.MonkeyPatch.context() as patch, pytest.raises(kind) as caught:
            Faulty(patch, step, at, OSError(code, os.strerror(code)))
            run(folder, Drawing())
        said = str(caught.value)
        assert "\n" not in said and f"cannot write: {os.strerror(code)}" in said
        assert ("check the disk" if code == errno.EIO else "free some space") in said
        check_whole(folder)

        assert run(folder, Drawing()).status == "complete"


def test_a_sync_that_fails_behind_the_scenes_ends_the_run_and_it_can_go_on(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(journal_module, "SYNC_LINES", 1)
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(StoreError, match="cannot write: Input/output error"),
    ):
        Faulty(patch, "fdatasync", 1, OSError(errno.EIO, os.strerror(errno.EIO)))
        run(tmp_path, Drawing())
    check_whole(tmp_path)

    assert run(tmp_path, Drawing()).status == "complete"
