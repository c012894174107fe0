"""A run on disk: opened by one writer, read by anybody."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from ..core import DiskFull, Output, OutputRecord, Result, StoreError, Text
from ..core.record import output_to_plain, result_from_plain
from ..media import described
from .blobs import Blobs
from .cell_index import Answered, CellIndex
from .index import Index, Scores, made_media
from .integrity import (
    broken_media,
    file_digest,
    is_vouched,
    journal_damage,
    journal_note,
    media_damage,
    summary_damage,
)
from .journal import Journal, OutputLine, Repair, ScoreLine, open_journal, read_lines
from .layout import Layout, disk_error, write_whole
from .lock import FolderLock
from .ownership import FINISHED, NEW_RUN, is_draft, refuse_foreign
from .places import Place
from .secrets import Redactor
from .signature import signed


@dataclass(frozen=True, slots=True)
class View:
    """The samples and epochs that a summary counted; the journal may hold more, as of a run with another limit."""

    ids: frozenset[str] | None = None
    """`None`: all there are."""
    epochs: int = 0
    """0: as many as there are."""
    rounds: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """How many rounds of a dialogue count, where the journal holds more of it, as of one that has become shorter."""

    def __contains__(self, place: tuple[str, int]) -> bool:
        id, epoch = place
        return (self.ids is None or id in self.ids) and (
            not self.epochs or epoch < self.epochs
        )

    @classmethod
    def from_plain(cls, entry: Mapping[str, Any]) -> "View":
        """As an entry of `counted` in `summary.json` has it."""
        rounds = {(id, epoch): count for id, epoch, count in entry.get("rounds", ())}
        return cls(frozenset(entry["ids"]), entry["epochs"], rounds)


class RunReader:
    """A run folder as anybody may read it."""

    def __init__(self, folder: str | Path) -> None:
        self.layout = Layout(Path(folder))
        if not self.layout.manifest.exists() and not self.layout.journal.exists():
            raise StoreError(
                "not a run folder: no run.json",
                where=str(folder),
                fix="`assay run` makes one",
            )
        self.blobs = Blobs(self.layout.media)
        self._views: dict[tuple[str, str], View] | None = None
        self._counted: dict[tuple[str, str], frozenset[str]] | None = None

    @cached_property
    def index(self) -> Index:
        """What the journal holds, and where."""
        return Index(self.layout.journal)

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run."""
        return read_json(self.layout.manifest)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers of the run; none while it is not finished, or where the file is not the one that it wrote."""
        manifest = self.manifest_if_any
        if is_vouched(manifest):
            is_own = not summary_damage(self.layout, manifest)
        else:
            is_old = manifest.get("format") == 1 and manifest.get("status") in FINISHED
            is_own = is_old and self.layout.summary.exists()
        return read_json(self.layout.summary) if is_own else {}

    @property
    def is_unverified(self) -> bool:
        """Whether a finished run noted no digests, as those of the first version."""
        manifest = self.manifest_if_any
        return manifest.get("format") == 1 and manifest.get("status") in FINISHED

    @property
    def is_finished(self) -> bool:
        """Whether the run came to an end, well or not, and its numbers were written."""
        return self.is_unverified or is_vouched(self.manifest_if_any)

    @cached_property
    def damage(self) -> tuple[str, ...]:
        """All that is not as the run left it, each in one line."""
        manifest = self.manifest_if_any
        if is_vouched(manifest):
            # With the digest that was noted, damaged lines are those that the run itself has met and mended.
            changed = journal_damage(self.layout, manifest)
            lines = [
                changed and (self.index.damage or changed),
                summary_damage(self.layout, manifest),
            ]
        else:
            lines = [self.index.damage]
        if self.layout.media.exists() or manifest.get(
            "media", True
        ):  # else no answer of the run named any
            lines.append(media_damage(self.index, broken_media(self.index, self.blobs)))
        return tuple(line for line in lines if line)

    def damage_lines(self) -> list[str]:
        """The damage for people, with how to mend it; and that it cannot be told, of a run of the first version."""
        lines = [
            f"damaged: {line}; fix: `assay run` the same command again"
            for line in self.damage
        ]
        if self.is_unverified:
            lines.append(
                "unverified: the run was written by the first version, which noted no digests"
            )
        return lines

    @property
    def manifest_if_any(self) -> dict[str, Any]:
        """What was run; empty where a damaged folder has lost it."""
        return self.manifest if self.layout.manifest.exists() else {}

    @cached_property
    def results(self) -> list[Result]:
        """The numbers of the table; what another version noted beside them is left out."""
        fields, rows = Result.__dataclass_fields__, self.summary.get("results", ())
        return [
            result_from_plain(
                {name: value for name, value in row.items() if name in fields}
            )
            for row in rows
        ]

    def outputs(
        self, task: str | None = None, model: str | None = None
    ) -> Iterator[OutputRecord]:
        """The output records, in the order of their samples' ids, rounds in order."""
        for (own_task, own_model), cell in self.index.cells.items():
            if task in (None, own_task) and model in (None, own_model):
                for place in sorted(cell.answers):
                    yield from (
                        self.index.output(a)
                        for a in cell.answers[place]
                        if a is not None
                    )

    def scores(self, task: str, model: str, scorer: str) -> Scores:
        """The score records of one scorer that the last summary counted, in the order of the samples' ids."""
        places: Mapping[Place, tuple[int, str]] = self.index.cell(
            task, model
        ).scores.get(scorer, {})
        view = self.view(task, model)
        return Scores(
            self.index, [places[place][0] for place in sorted(places) if place in view]
        )

    def view(self, task: str, model: str) -> "View":
        """Which samples of a cell the last summary is about."""
        if self._views is None:
            entries = self.summary.get("counted", ())
            self._views = {
                (entry["task"], entry["model"]): View.from_plain(entry)
                for entry in entries
            }
        return self._views.get((task, model), View())

    def rounds(
        self, task: str, model: str, place: tuple[str, int]
    ) -> list[OutputRecord]:
        """What was asked and answered at a sample and epoch, as far as the last summary counted it."""
        stored = self.index.cell(task, model).answers.get(place, ())
        counted = stored[: self.view(task, model).rounds.get(place)]
        return [self.index.output(answer) for answer in counted if answer is not None]

    def scorers(self, task: str, model: str) -> list[str]:
        """Which scorers have spoken, of those the last summary is about: a run may have been scored by others."""
        spoken = list(self.index.cell(task, model).scores)
        named = self._named_scorers().get((task, model))
        return [scorer for scorer in spoken if scorer in named] if named else spoken

    def sample_values(
        self, result: Result, model: str = ""
    ) -> tuple[dict[str, float], dict[str, Hashable]]:
        """One value for each sample id, reduced as a result says, of its model or another; and what each goes right or
        wrong together with: its cluster, else its group, else itself. Empty where the journal does not have them."""
        from ..summarizers.attempts import Attempts
        from ..summarizers.mean import UNREAD_LEFT_OUT
        from ..summarizers.sample_values import value_reader, values_by_sample

        task, model = result.task, model or result.model
        scorers = [
            s
            for s in self.scorers(task, model)
            if result.metric == s or result.metric.startswith(f"{s}.")
        ]
        records = (
            record
            for scorer in scorers
            for record in Attempts(self.scores(task, model, scorer))
        )
        unread = (
            None
            if UNREAD_LEFT_OUT in result.flags
            else float(result.details.get("unread_counts_as", 0.0))
        )
        try:
            return values_by_sample(
                records, value_reader(result.metric, unread), result.reducer
            )
        except ValueError:
            return {}, {}

    def frame(self) -> Any:
        """A pandas data frame, one row for each sample, epoch and scorer that the last summary counted."""
        from .export import COLUMNS, data_frame, rows_of

        return data_frame(rows_of(self), COLUMNS)

    def is_counted(self, task: str, model: str) -> bool:
        """Whether the last summary is about a cell; the journal may hold others, as of a run with another model."""
        cells = self._named_scorers()
        return not cells or (task, model) in cells

    def _named_scorers(self) -> dict[tuple[str, str], frozenset[str]]:
        """The scorers of each cell of the last run; of one that judged by itself none are named."""
        if self._counted is None:
            cells = self.manifest_if_any.get("cells", ())
            described = [
                cell
                for cell in cells
                if isinstance(cell, Mapping) and "task" in cell and "model" in cell
            ]
            self._counted = {
                (c["task"], c["model"]): frozenset(c.get("scorers") or ())
                for c in described
            }
            for result in self.results:
                self._counted.setdefault((result.task, result.model), frozenset())
        return self._counted


class RunWriter:
    """A run folder open for writing; nobody else may write while it is."""

    def __init__(
        self,
        folder: str | Path,
        *,
        fresh: bool = False,
        redactor: Redactor | None = None,
        signs: bool = True,
    ) -> None:
        """`signs` says whether `run.json` is marked as this user's own: not where its settings are somebody else's."""
        self.layout = Layout(Path(folder))
        self._signs = signs
        self.redactor = redactor or Redactor()
        self._fresh = fresh
        refuse_foreign(self.layout.folder)
        try:
            self.layout.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, self.layout.folder) from error
        self._lock = FolderLock(self.layout.lock)
        self.blobs = Blobs(
            self.layout.media, may_replace=lambda digest: digest in self.index.media
        )

    def __enter__(self) -> "RunWriter":
        self._lock.__enter__()
        try:
            refuse_foreign(
                self.layout.folder
            )  # again: nobody else writes a run here from now on
            if self._fresh or not self.layout.manifest.exists():
                write_json(self.layout.manifest, NEW_RUN)
            if self._fresh:
                self._forget()
            self._remove_drafts()
            self.journal: Journal
            self.journal, repair = open_journal(self.layout.journal, self.redactor)
            self._index: Index | None = None
            self._torn_bytes = repair.torn_bytes
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._index is not None:
                self._index.close()
            self.journal.close()
        finally:
            self._lock.__exit__(kind, error, trace)

    def _forget(self) -> None:
        """Removes what `run.json` and the journal vouch for, and nothing else; only the holder of the lock may.

        The journal comes last: as long as it is there, it says which media are the run's.
        """
        try:
            if self.layout.journal.exists():
                for _, line in read_lines(self.layout.journal):
                    for digest in made_media(line or b""):
                        self.blobs.remove(digest)
            self.layout.summary.unlink(missing_ok=True)
            self.layout.journal.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error(error, self.layout.folder) from error

    def _remove_drafts(self) -> None:
        """What a killed writer of a derived file left behind."""
        try:
            for draft in filter(is_draft, self.layout.folder.iterdir()):
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error(error, self.layout.folder) from error

    def plain_output(self, output: Output) -> dict[str, Any]:
        """What a model answered, as a line has it. Media that it made go to the blobs; those of the prompt lie in the
        dataset and are known by their digest."""
        for candidate in output.candidates:
            if len(candidate.parts) > 1 or (
                candidate.parts and type(candidate.parts[0]) is not Text
            ):
                for medium in candidate.media:
                    self.blobs.put(medium)
                    medium.facts = described(medium)
        return output_to_plain(output)

    def write(self, line: OutputLine | ScoreLine) -> int:
        """Adds what a model answered or a scorer said; returns where the line lies."""
        return self.journal.append(line)

    def reload(self) -> None:
        """Reads the journal anew, so that the index knows what was written since it was opened."""
        self.journal.flush()
        self._check_in_place()
        if self._index is not None:
            self._index.close()
        self._index = Index(self.layout.journal)

    @property
    def index(self) -> Index:
        """What the journal held when it was first looked into."""
        if self._index is None:
            self._check_in_place()
            self._index = Index(self.layout.journal)
        return self._index

    @property
    def repair(self) -> Repair:
        """What was wrong with the journal."""
        return Repair(self._torn_bytes, self.index.damaged, self.index.damaged_range)

    def scores_at(self, offsets: Sequence[int]) -> Scores:
        """The score records whose lines lie at `offsets`."""
        self.journal.flush()
        self._check_in_place()
        return Scores(self.index, offsets)

    def cell(self, task: str, model: str) -> CellIndex:
        """What is known of one task and model."""
        return self.index.cell(task, model)

    def read_output(self, answer: Answered) -> OutputRecord:
        """The output record of an answer."""
        try:
            return self.index.output(answer)
        except FileNotFoundError:
            self._check_in_place()
            raise

    def damage(self, manifest: Mapping[str, Any]) -> list[str]:
        """What is not as an earlier run left it, each in one line; answers whose media are broken are forgotten."""
        lines = []
        if is_vouched(manifest):
            lines += [
                journal_damage(self.layout, manifest),
                summary_damage(self.layout, manifest),
            ]
        if self.layout.media.exists() or manifest.get("media"):
            broken = broken_media(self.index, self.blobs)
            lines.append(media_damage(self.index, broken))
            for digest in broken:
                self.index.drop(digest)
        return [line for line in lines if line]

    def read_summary(self) -> dict[str, Any]:
        """`summary.json` of an earlier run in this folder; empty if there is none."""
        return read_json(self.layout.summary) if self.layout.summary.exists() else {}

    def finish(self, manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Writes the numbers, then that the run has ended with them: a kill in between leaves it unfinished."""
        self.journal.flush()
        self._check_in_place()
        write_json(self.layout.summary, self.redactor.plain(summary))
        vouched = {
            "journal": journal_note(self.layout),
            "summary": {"sha256": file_digest(self.layout.summary)},
            "media": self.layout.media.exists(),
        }
        self.write_manifest({**manifest, **vouched})

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces `run.json`."""
        self._check_in_place()
        plain = self.redactor.plain(manifest)
        write_json(self.layout.manifest, signed(plain) if self._signs else plain)

    def _check_in_place(self) -> None:
        """Raises where the folder was moved or removed since it was opened: the journal goes on wherever it is now."""
        if not self.layout.journal.exists():
            raise DiskFull(
                "the run folder was moved or removed while the run wrote to it",
                where=str(self.layout.folder),
                fix="run the same command again, with -o and the place it has now if it was moved",
            )

    def read_manifest(self) -> dict[str, Any]:
        """`run.json` of an earlier run in this folder; empty if there is none."""
        return read_json(self.layout.manifest) if self.layout.manifest.exists() else {}


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    again = "move it away, then `assay run` the same command again: the journal is enough to write it anew"
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise StoreError(
            f"not valid JSON: {error}", where=str(path), fix=again
        ) from error
    if not isinstance(value, dict):
        raise StoreError("expected a JSON object", where=str(path), fix=again)
    return value


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """A JSON object to a file, whole or not at all."""
    write_whole(
        path,
        (json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n").encode(
            "utf-8", "replace"
        ),
    )
