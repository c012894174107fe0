"""Resume a run: decide which results and answers of an earlier run in the same folder can be used.

A complete run with the same settings is not repeated: its table is printed. Otherwise
the digests in its `run.json` are compared. If they are equal, finished samples are
recognised by id; if not, every request is compared by its key.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.record import result_from_plain
from ...store import RunWriter
from ...store.integrity import is_vouched
from ..plan.planned_task import PlannedTask
from ..result import RunResult


class EarlierRun:
    """Results and answers that an earlier run left in the folder. A new folder has none."""

    def __init__(self, writer: RunWriter) -> None:
        manifest = writer.read_manifest()
        self.manifest: Mapping[str, Any] = manifest if _is_readable(manifest) else {}
        self.damage = writer.damage(self.manifest)
        """Files that changed after the earlier run wrote them, one line each."""
        self._writer = writer

    def mark_unchecked(self, planned_tasks: Sequence[PlannedTask]) -> None:
        """Mark the planned tasks whose answers in the journal may belong to other questions."""
        for planned in planned_tasks:
            planned.unchecked = self.has_answers(planned) and self._is_unchecked(
                planned
            )

    def has_answers(self, planned: PlannedTask) -> bool:
        """Return True if the journal has answers for a task × model."""
        return bool(self._writer.cell(planned.task.name, planned.model_name).answers)

    def changes(self, planned: PlannedTask) -> list[str] | None:
        """Return which digests differ from those of the earlier run; None if that
        run did not have this task × model.
        """
        described = self._described(planned)
        if described is None:
            return None
        then = described.get("digests", {})
        changed = []
        for name, value in planned.digests.items():
            if then.get(name) != value:
                changed.append(name)
        return changed

    def has_edited_data(self, planned: PlannedTask) -> bool:
        """Return True if the task reads files with the same names as the earlier run, but with other content."""
        file_names = [Path(path).name for path in planned.samples.files]
        described = self._described(planned) or {}
        earlier_names = [Path(path).name for path in described.get("data", ())]
        is_same_source = bool(file_names) and file_names == earlier_names
        return is_same_source and "data" in (self.changes(planned) or ())

    def expected(self, planned: PlannedTask) -> int | None:
        """Return the earlier run's number of samples if nothing has changed since; otherwise None."""
        if self.changes(planned) != [] or self._had_another_rule(planned):
            return None
        return (self._described(planned) or {}).get("n_expected") or None

    def taken(self, planned: PlannedTask) -> int | None:
        """Return the earlier run's number of rows if `--until` ended it early; otherwise None."""
        rows = self._writer.read_summary().get("results", ())
        task_rows = [
            row
            for row in rows
            if (row.get("task"), row.get("model"))
            == (planned.task.name, planned.model_name)
        ]
        rules = [row.get("details", {}).get("until", {}) for row in task_rows]
        count = (self._described(planned) or {}).get("n_expected")
        if (
            self.manifest.get("status") != "complete"
            or not any(rule.get("stopped") for rule in rules)
            or not count
        ):
            return None
        return int(count) // planned.task.epochs

    def results(
        self,
        planned_tasks: Sequence[PlannedTask],
        whisper: Callable[[str], None],
    ) -> RunResult | None:
        """Return the earlier run's results if it is complete and nothing has changed since; otherwise None."""
        before = self.manifest
        if (
            self.damage
            or before.get("status") != "complete"
            or len(before.get("cells", ())) != len(planned_tasks)
        ):
            return None
        if not is_vouched(before):
            whisper(
                "the run has no digests, as the first version wrote it: its numbers are computed again"
            )
            return None
        summary = self._writer.read_summary()
        if summary.get("status") != "complete" or any(
            self._differs(planned) for planned in planned_tasks
        ):
            return None
        try:
            results = tuple(result_from_plain(row) for row in summary["results"])
            usage = dict(_reused(summary["usage"]))
        except (AttributeError, KeyError, TypeError):
            return None  # the summary of another version: the numbers are computed again from the journal
        return RunResult(
            "complete",
            self._writer.layout.folder,
            results,
            tuple(summary.get("notes", ())),
            usage,
        )

    def _described(self, planned: PlannedTask) -> Mapping[str, Any] | None:
        """Return the manifest entry of the earlier run for a task × model, or None."""
        names = planned.task.name, planned.model_name
        entries: Sequence[Mapping[str, Any]] = self.manifest.get("cells", ())
        return next(
            (
                entry
                for entry in entries
                if (entry.get("task"), entry.get("model")) == names
            ),
            None,
        )

    def _is_unchecked(self, planned: PlannedTask) -> bool:
        """Return True if stored answers must be compared with the requests of this run by key."""
        return self.changes(planned) != [] or bool(
            (self._described(planned) or {}).get("unchecked")
        )

    def _differs(self, planned: PlannedTask) -> bool:
        """Return True if something has changed that affects the results."""
        described = self._described(planned)
        if (
            planned.makes_rows
            or described is None
            or self._is_unchecked(planned)
            or self._had_another_rule(planned)
        ):
            return True
        scorers = {scoring.name: scoring.digest for scoring in planned.scorings}
        return bool(
            described.get("scorers") != scorers
            or described.get("summarizers") != planned.summarizer_digest
        )

    def _had_another_rule(self, planned: PlannedTask) -> bool:
        """Return True if the earlier run had a different `--until` rule, so that it
        may have ended at another sample.
        """
        config = self.manifest.get("config")
        if isinstance(config, Mapping):
            then = config.get("until")
        else:
            then = None
        return bool(then != planned.run.until)


def _is_readable(manifest: Mapping[str, Any]) -> bool:
    """Return True if the manifest has the expected structure. Otherwise it is ignored."""
    entries = manifest.get("cells", [])
    if not isinstance(entries, list) or not all(
        isinstance(entry, Mapping) for entry in entries
    ):
        return False
    return all(isinstance(entry.get("digests", {}), Mapping) for entry in entries)


def _reused(
    usage: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the usage of a complete run by name, with its requests counted as reused instead of sent."""
    for name, spent in usage.items():
        yield name, {**spent, "asked": 0, "reused": spent["asked"] + spent["reused"]}
