"""A complete run is complete, in folders that have the numbers of an earlier run.

Whatever step is the last before a kill or a full disk, the folder then has the new numbers, or a run that is not
finished; never the old numbers as the new.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from fault_counts import COUNTS, drawn

import assay
from assay.core import Abilities, Output, StoreError
from assay.runner.run import score
from assay.store import RunReader
from assay.store import journal as journal_module

ROWS = [{"id": str(n), "question": f"q{n}", "answer": f"a{n}"} for n in range(4)]
STEPS = (
    "open",
    "write",
    "pwrite",
    "replace",
    "fsync",
    "fdatasync",
    "ftruncate",
    "unlink",
)


@pytest.fixture(autouse=True)
def synced_at_the_end(monkeypatch):
    """How often a journal is synced would depend on how long a run takes."""
    monkeypatch.setattr(journal_module, "SYNC_SECONDS", 1e9)


class Killed(BaseException):
    """Ends a run as a kill would: no handler of an error sees it."""


@dataclass(frozen=True)
class Echo:
    """Answers the first `right` questions rightly."""

    right: int = 2
    abilities: ClassVar = Abilities()

    @property
    def identity(self):
        return {"echo": self.right}

    def generate(self, requests):
        return [
            Output.of(f"a{r.id}" if int(r.id) < self.right else "no") for r in requests
        ]


@dataclass(frozen=True)
class Edited:
    """A scorer whose code was edited, as its digest sees it."""

    worth: float = 1.0

    def __call__(self, sample, output):
        return self.worth * (output.text == sample.target)


def run(folder: Path, model: Echo | None = None, worth: float = 1.0, **more):
    task = assay.Task("t", dataset=ROWS, scorers=(Edited(worth),))
    return assay.run(
        task, model or Echo(), output=str(folder / "run"), batch_size=1, **more
    )


def rescored(folder: Path, worth: float):
    task = assay.Task("t", dataset=ROWS, scorers=(Edited(worth),))
    return score(folder / "run", tasks=(task,))


@dataclass(frozen=True)
class Change:
    """What was run before, what is run now, and their numbers."""

    before: Callable[[Path], object]
    now: Callable[[Path], object]
    old: tuple[float, int]
    new: tuple[float, int]


CHANGES = {
    "larger limit": Change(lambda f: run(f, limit=2), run, (1.0, 2), (0.5, 4)),
    "smaller limit": Change(run, lambda f: run(f, limit=2), (0.5, 4), (1.0, 2)),
    "edited scorer": Change(run, lambda f: run(f, worth=0.5), (0.5, 4), (0.25, 4)),
    "other model": Change(
        lambda f: run(f, Echo(1)), lambda f: run(f, Echo(3)), (0.25, 4), (0.75, 4)
    ),
    "fresh": Change(run, lambda f: run(f, worth=0.5, fresh=True), (0.5, 4), (0.25, 4)),
    "score": Change(run, lambda f: rescored(f, 0.5), (0.5, 4), (0.25, 4)),
}


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


def numbers(folder: Path) -> tuple[float, int] | None:
    """The numbers the folder shows as those of its run; `None` where it shows none."""
    rows = RunReader(folder / "run").summary.get("results", ())
    return (rows[0]["value"], rows[0]["n"]) if rows else None


@pytest.mark.parametrize("change", CHANGES)
def test_a_fault_at_any_step_leaves_the_new_numbers_or_an_unfinished_run(
    tmp_path, change
):
    what, folder, kept = CHANGES[change], tmp_path / "folder", tmp_path / "kept"
    what.before(folder)
    shutil.copytree(folder, kept)
    before = (folder / "run" / "run.json").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        counting = {step: Faulty(patch, step, 0, Killed()) for step in STEPS}
        what.now(folder)
    assert numbers(folder) == what.new

    for step, at, fault in faults(
        change, {step: counted.calls for step, counted in counting.items()}
    ):
        place = f"{fault!r} at call {at} of {step}"
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        with (
            pytest.MonkeyPatch.context() as patch,
            pytest.raises((Killed, StoreError, OSError)),
        ):
            Faulty(patch, step, at, fault)
            what.now(folder)

        is_as_before = (folder / "run" / "run.json").read_bytes() == before
        assert numbers(folder) in ((what.old,) if is_as_before else (what.new, None)), (
            place
        )
        what.now(folder)
        assert numbers(folder) == what.new, place


def faults(
    change: str, calls: dict[str, int]
) -> Iterator[tuple[str, int, BaseException]]:
    """Which function of `os` fails, at which of its calls, and how."""
    for step, count in calls.items():
        for at in drawn(
            f"{change}, {step}", range(1, count + 1), COUNTS.steps_of_writing
        ):
            yield step, at, Killed()
            if step in ("write", "replace", "fsync"):
                yield step, at, OSError(errno.ENOSPC, "No space left on device")


def test_the_summary_is_written_before_the_run_is_called_complete(
    tmp_path, monkeypatch
):
    order = []
    real = os.replace
    monkeypatch.setattr(
        os,
        "replace",
        lambda one, other: (order.append(Path(other).name), real(one, other))[1],
    )

    run(tmp_path)

    assert order[-2:] == ["summary.json", "run.json"]


def test_scoring_that_fails_before_its_first_verdict_leaves_the_run_as_it_was(tmp_path):
    run(tmp_path)
    before = (tmp_path / "run" / "run.json").read_bytes()

    with pytest.raises(assay.core.AssayError):
        score(tmp_path / "run", scorers=("no_such_scorer",))

    assert (tmp_path / "run" / "run.json").read_bytes() == before and numbers(
        tmp_path
    ) == (0.5, 4)


def test_a_run_of_the_first_version_is_read_as_unverified_and_made_anew_by_its_command(
    tmp_path,
):
    import json

    run(tmp_path)
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    size = (tmp_path / "run" / "records.jsonl").stat().st_size
    for name in ("journal", "summary", "media"):
        del manifest[name]
    (tmp_path / "run" / "run.json").write_text(
        json.dumps({**manifest, "format": 1, "journal_bytes": size})
    )

    first = RunReader(tmp_path / "run")
    assert first.is_unverified and first.damage == () and numbers(tmp_path) == (0.5, 4)
    again = run(tmp_path)

    assert (
        again.usage["t/Echo"]["asked"] == 0
        and not RunReader(tmp_path / "run").is_unverified
    )


def test_an_answer_from_before_is_judged_anew_where_another_was_judged_since(tmp_path):
    asked = []

    def first_letter(messages):
        asked.append(messages[-1]["content"])
        return messages[-1]["content"][0]

    def by(template):
        task = assay.Task(
            "t",
            dataset=[{"question": "?", "answer": "A"}],
            template=template,
            scorers="exact_match",
        )
        return assay.run(task, first_letter, output=str(tmp_path / "run"))[0].value

    values = [
        by("A {{question}}"),
        by("B {{question}}"),
        by("A {{question}}"),
        by("A {{question}}"),
    ]

    assert values == [1.0, 0.0, 1.0, 1.0] and asked == ["A ?", "B ?"]


def test_a_verdict_on_a_failed_request_is_not_used_for_a_later_answer(
    tmp_path, monkeypatch
):
    task = assay.Task("t", dataset=ROWS[:1], scorers="exact_match")

    def fails(messages):
        raise ConnectionError("no route")

    def answers(messages):
        return "a0"

    answers.__name__ = fails.__name__ = "model"
    monkeypatch.setattr(
        type(assay.models.adapt_model(fails)), "identity", {"model": 1}, raising=False
    )
    assay.run(task, fails, output=str(tmp_path / "run"), on_error="continue")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(
            "assay.runner.flow.verdicts.Verdicts.write",
            lambda *_: (_ for _ in ()).throw(Killed()),
        )
        assay.run(task, answers, output=str(tmp_path / "run"))

    result = assay.run(task, answers, output=str(tmp_path / "run"))

    assert (result[0].value, result[0].n, result.status) == (1.0, 1, "complete")
