"""A run on disk. One writer can open it, and any number of readers."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..core import (
    UNRESOLVED,
    DiskFull,
    Output,
    OutputRecord,
    Result,
    ScoreRecord,
    Text,
    UnusablePath,
)
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
    signed,
    summary_damage,
)
from .journal import Journal, OutputLine, Repair, ScoreLine, open_journal, read_lines
from .layout import (
    Layout,
    disk_error,
    fault_of_manifest,
    read_json,
    read_run_json,
    why_no_run,
    write_json,
)
from .ownership import FINISHED, NEW_RUN, FolderLock, is_draft, refuse_foreign
from .stored_secrets import Redactor

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class View:
    """The samples and epochs that are counted in a summary.

    The journal may have more, for example from a run with another limit.
    """

    ids: frozenset[str] | None = None
    """The ids of the samples that were counted; None for all."""
    epochs: int = 0
    """The number of epochs that were counted; 0 for all."""
    rounds: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """The number of rounds that were counted, for samples and epochs with more rounds in the journal."""

    def __contains__(self, place: tuple[str, int]) -> bool:
        id, epoch = place
        return (self.ids is None or id in self.ids) and (
            not self.epochs or epoch < self.epochs
        )

    @classmethod
    def from_plain(cls, entry: Mapping[str, Any]) -> "View":
        """Return a view from an entry of the member `counted` of `summary.json`."""
        rounds = {(id, epoch): count for id, epoch, count in entry.get("rounds", ())}
        return cls(frozenset(entry["ids"]), entry["epochs"], rounds)


class RunReader:
    """A run folder opened for reading."""

    def __init__(self, folder: str | Path) -> None:
        layout = Layout(Path(folder))
        self.layout = layout
        if not layout.manifest.exists() and not layout.journal.exists():
            problem, fix = why_no_run(layout.folder)
            raise UnusablePath(
                problem,
                where=str(folder),
                fix=fix,
            )
        self.blobs = Blobs(layout.media)
        self._views: dict[tuple[str, str], View] | None = None
        self._counted: dict[tuple[str, str], frozenset[str]] | None = None

    @cached_property
    def index(self) -> Index:
        """The index of the journal: its samples, and the locations of their lines."""
        return Index(self.layout.journal)

    @property
    def source(self) -> Path:
        """The path that the user named: the run folder, or the other tool's results from which it was converted."""
        imported = self.manifest_if_any.get("imported")
        if isinstance(imported, Mapping) and isinstance(imported.get("path"), str):
            return Path(imported["path"])
        return self.layout.folder

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The pairs of task and model in the journal."""
        return list(self.index.cells)

    @property
    def manifest(self) -> dict[str, Any]:
        """The content of `run.json`: what was run."""
        return read_run_json(self.layout.manifest)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`; empty before the run is finished, or if the file was changed afterwards."""
        manifest = self.manifest_if_any
        if is_vouched(manifest):
            is_own = not summary_damage(self.layout, manifest)
        else:
            is_old = manifest.get("format") == 1 and manifest.get("status") in FINISHED
            is_own = is_old and self.layout.summary.exists()
        if is_own:
            return read_json(self.layout.summary)
        return {}

    @property
    def is_unverified(self) -> bool:
        """True for a finished run of assay's first version, which recorded no digests."""
        manifest = self.manifest_if_any
        return manifest.get("format") == 1 and manifest.get("status") in FINISHED

    @property
    def is_finished(self) -> bool:
        """True if the run ended, successfully or not, and its results were written."""
        return self.is_unverified or is_vouched(self.manifest_if_any)

    @cached_property
    def damage(self) -> tuple[str, ...]:
        """Every difference from the state at the end of the run, one line each."""
        manifest = self.manifest_if_any
        if is_vouched(manifest):
            # If the digest matches, damaged lines are those that the run itself met and repaired.
            changed = journal_damage(self.layout, manifest)
            lines = [
                changed and (self.index.damage or changed),
                summary_damage(self.layout, manifest),
            ]
        else:
            lines = [self.index.damage]
        if self.layout.media.exists() or manifest.get(
            "media", True
        ):  # Otherwise no answer of the run names a medium.
            lines.append(media_damage(self.index, broken_media(self.index, self.blobs)))
        return tuple(line for line in lines if line)

    def damage_lines(self) -> list[str]:
        """Return one message for each fault in the run folder, with a fix.

        For a run of assay's first version, a message is added that it cannot be
        checked.
        """
        lines = [
            f"damaged: {line}; fix: `assay run` the same command again"
            for line in self.damage
        ]
        if self.is_unverified:
            lines.append(
                "unverified: the run was written by the first version, which recorded no digests"
            )
        return lines

    @property
    def manifest_if_any(self) -> dict[str, Any]:
        """The content of `run.json`; empty if it is missing in a damaged folder."""
        if self.layout.manifest.exists():
            return self.manifest
        return {}

    @cached_property
    def results(self) -> list[Result]:
        """The rows of the results table. Fields that this version of assay does not have are left out."""
        fields = Result.__dataclass_fields__
        rows = self.summary.get("results", ())
        rebuilt = []
        for row in rows:
            rebuilt.append(
                result_from_plain(
                    {name: value for name, value in row.items() if name in fields}
                )
            )
        return rebuilt

    def outputs(
        self,
        task: str | None = None,
        model: str | None = None,
    ) -> Iterator[OutputRecord]:
        """Yield the output records by sample id and round. `prompt` and `output` are plain data, as in the journal."""
        for (own_task, own_model), cell in self.index.cells.items():
            if task not in (None, own_task) or model not in (None, own_model):
                continue
            for key in sorted(cell.answers):
                for answer in cell.answers[key]:
                    if answer is not None:
                        yield self.index.output(answer)

    def scores(
        self,
        task: str,
        model: str,
        scorer: str,
    ) -> Scores:
        """Return the score records of one scorer in the last summary, in the order of the samples' ids."""
        scored = self.index.cell(task, model).scores.get(scorer)
        if scored is None:
            return Scores(self.index, [])
        view = self.view(task, model)
        counts_all = view == View()
        offsets = []
        for key, offset in sorted(scored.located()):
            if counts_all or key in view:
                offsets.append(offset)
        return Scores(self.index, offsets)

    def counted_scores(
        self,
        task: str,
        model: str,
        scorer: str,
    ) -> Sequence[ScoreRecord]:
        """Return the score records from which the results table was computed.

        `assay score` leaves out scores whose answers were lost, although the journal
        still has these scores.
        """
        records = self.scores(task, model, scorer)
        answers = self.index.cell(task, model).answers
        is_known_damage = bool(self.index.damage) and not journal_damage(
            self.layout, self.manifest_if_any
        )
        if not is_known_damage or not len(answers):
            return records
        counted = []
        for record in records:
            if (record.id, record.epoch) in answers or record.outcome in UNRESOLVED:
                counted.append(record)
        return counted

    def lost_answers(self) -> int:
        """Return the number of samples with a verdict in the journal but without an
        answer, because its line was damaged.
        """
        lost: set[tuple[str, str, str, int]] = set()
        if not self.index.damage:
            return 0
        for (task, model), cell in self.index.cells.items():
            if not len(cell.answers):
                continue
            for scorer in self.scorers(task, model):
                for record in self.scores(task, model, scorer):
                    key = (record.id, record.epoch)
                    if key not in cell.answers and record.outcome not in UNRESOLVED:
                        lost.add((task, model, *key))
        return len(lost)

    def view(self, task: str, model: str) -> "View":
        """Return the samples and epochs of a task × model that are counted in the last summary."""
        if self._views is None:
            entries = self.summary.get("counted", ())
            self._views = {
                (entry["task"], entry["model"]): View.from_plain(entry)
                for entry in entries
            }
        return self._views.get((task, model), View())

    def rounds(
        self,
        task: str,
        model: str,
        place: tuple[str, int],
    ) -> list[OutputRecord]:
        """Return the rounds of a sample and epoch that are counted in the last summary."""
        stored = self.index.cell(task, model).answers.get(place, ())
        counted = stored[: self.view(task, model).rounds.get(place)]
        return [self.index.output(answer) for answer in counted if answer is not None]

    def scorers(self, task: str, model: str) -> list[str]:
        """Return the scorers with results in the last summary. The journal may also have scores of other scorers."""
        spoken = list(self.index.cell(task, model).scores)
        named = self._named_scorers().get((task, model))
        if named:
            return [scorer for scorer in spoken if scorer in named]
        return spoken

    def sample_values(
        self,
        result: Result,
        model: str = "",
    ) -> tuple[dict[str, float], dict[str, Hashable]]:
        """Return the value of a metric for each sample id, and the group of each sample.

        Repeated answers are combined by the reducer of `result`. By default the model
        is that of `result`; `model` selects another one. The group is the sample's
        cluster if there is one, otherwise its `group`, otherwise the sample itself.
        Both mappings are empty if the journal does not have the values.
        """
        from ..summarizers.attempts import Attempts
        from ..summarizers.mean import UNREAD_LEFT_OUT
        from ..summarizers.units import value_reader, values_by_sample

        task = result.task
        model = model or result.model
        scorers = []
        for s in self.scorers(task, model):
            if result.metric == s or result.metric.startswith(f"{s}."):
                scorers.append(s)
        records = (
            record
            for scorer in scorers
            for record in Attempts(self.counted_scores(task, model, scorer))
        )
        if UNREAD_LEFT_OUT in result.flags:
            unread = None
        else:
            unread = float(result.details.get("unread_counts_as", 0.0))
        try:
            return values_by_sample(
                records,
                value_reader(result.metric, unread),
                result.reducer,
            )
        except ValueError:
            return {}, {}

    def frame(self) -> "pandas.DataFrame":
        """Return a pandas data frame with one row for each sample, epoch and scorer in the last summary."""
        from .export import COLUMNS, data_frame, rows_of

        return data_frame(rows_of(self), COLUMNS)

    def is_counted(self, task: str, model: str) -> bool:
        """Return True if this task × model is in the last summary. The journal may have others."""
        cells = self._named_scorers()
        return not cells or (task, model) in cells

    def _named_scorers(self) -> dict[tuple[str, str], frozenset[str]]:
        """Return the scorers of each task × model in the last run. A model that computes its own scores has none."""
        if self._counted is not None:
            return self._counted
        counted: dict[tuple[str, str], frozenset[str]] = {}
        for cell in self.manifest_if_any.get("cells", ()):
            is_complete = (
                isinstance(cell, Mapping) and "task" in cell and "model" in cell
            )
            if not is_complete:
                continue
            key = (cell["task"], cell["model"])
            scorers = cell.get("scorers") or ()
            counted[key] = frozenset(scorers)
        for result in self.results:
            key = (result.task, result.model)
            counted.setdefault(key, frozenset())
        self._counted = counted
        return counted


class RunWriter:
    """A run folder opened for writing. A lock keeps other writers out."""

    def __init__(
        self,
        folder: str | Path,
        *,
        fresh: bool = False,
        redactor: Redactor | None = None,
        signs: bool = True,
    ) -> None:
        """Open a folder for a run.

        With `signs`, `run.json` is signed as this user's own. Without it, the settings
        are from another user.
        """
        self.layout = Layout(Path(folder))
        self._signs = signs
        self.redactor = redactor or Redactor()
        self._fresh = fresh
        refuse_foreign(self.layout.folder)
        try:
            self.layout.folder.mkdir(
                parents=True,
                exist_ok=True,
            )
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
            )  # Check again under the lock: from now on no other process writes a run here.
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
        """Remove all files of the run, but no files of the user. The caller must hold the lock.

        The journal is removed last, because it lists the media that belong to the run.
        """
        try:
            if self.layout.journal.exists():
                for _, line in read_lines(self.layout.journal):
                    for digest in made_media(line or b""):
                        self.blobs.remove(digest)
            self.layout.summary.unlink(missing_ok=True)
            self.layout.batches.unlink(missing_ok=True)
            self.layout.journal.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error(error, self.layout.folder) from error

    def _remove_drafts(self) -> None:
        """Remove the temporary files of a writer that was killed."""
        try:
            for draft in filter(is_draft, self.layout.folder.iterdir()):
                draft.unlink(missing_ok=True)
            self.blobs.remove_drafts()
        except OSError as error:
            raise disk_error(error, self.layout.folder) from error

    def plain_output(self, output: Output) -> dict[str, Any]:
        """Return a model's output as it is stored in a journal line.

        Media from the model are stored in the run folder. Media of the prompt stay in
        the dataset, and only their digests are in the line.
        """
        for candidate in output.candidates:
            if len(candidate.parts) > 1 or (
                candidate.parts and type(candidate.parts[0]) is not Text
            ):
                for medium in candidate.media:
                    self.blobs.put(medium)
                    medium.facts = described(medium)
        return output_to_plain(output)

    def write(self, line: OutputLine | ScoreLine) -> int:
        """Append an output or a score, and return the offset of its line."""
        return self.journal.append(line)

    def reload(self) -> None:
        """Read the journal again, so that the index includes the lines written since."""
        self.journal.flush()
        self._check_in_place()
        if self._index is not None:
            self._index.close()
        self._index = Index(self.layout.journal)

    @property
    def index(self) -> Index:
        """The index of the journal at its last reading."""
        if self._index is None:
            self._check_in_place()
            self._index = Index(self.layout.journal)
        return self._index

    @property
    def repair(self) -> Repair:
        """The faults found when the journal was opened."""
        return Repair(self._torn_bytes, self.index.damaged, self.index.damaged_range)

    def scores_at(self, offsets: Sequence[int]) -> Scores:
        """Return the score records whose lines are at `offsets`."""
        self.journal.flush()
        self._check_in_place()
        return Scores(self.index, offsets)

    def cell(self, task: str, model: str) -> CellIndex:
        """Return the index of one task × model."""
        return self.index.cell(task, model)

    def read_output(self, answer: Answered) -> OutputRecord:
        """Return the output record of an answer."""
        try:
            return self.index.output(answer)
        except FileNotFoundError:
            self._check_in_place()
            raise

    def damage(self, manifest: Mapping[str, Any]) -> list[str]:
        """Return the differences between the folder and its state at the end of an earlier run.

        Answers whose media are broken are removed from the index.
        """
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
        """Return `summary.json` of an earlier run in this folder; empty if there is none."""
        if self.layout.summary.exists():
            return read_json(self.layout.summary)
        return {}

    def finish(
        self,
        manifest: Mapping[str, Any],
        summary: Mapping[str, Any],
    ) -> None:
        """Write the results, then mark the run as ended.

        If the process is killed between the two, the run is unfinished.
        """
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
        """Replace `run.json`."""
        self._check_in_place()
        plain = self.redactor.plain(manifest)
        write_json(self.layout.manifest, signed(plain) if self._signs else plain)

    def _check_in_place(self) -> None:
        """Raise if the folder was moved or removed since it was opened: the open journal would be written elsewhere."""
        if not self.layout.journal.exists():
            raise DiskFull(
                "the run folder was moved or removed while the run wrote to it",
                where=str(self.layout.folder),
                fix="run the same command again, with -o and its new path if it was moved",
            )

    def read_manifest(self) -> dict[str, Any]:
        """Return `run.json` of an earlier run in this folder; empty if there is none."""
        is_there = self.layout.manifest.exists()
        if is_there:
            manifest = read_json(self.layout.manifest)
        else:
            manifest = {}
        # A run writes a new manifest, so an invalid one is treated as empty.
        return {} if fault_of_manifest(manifest) else manifest
