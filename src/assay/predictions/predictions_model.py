"""Predictions as a model: `predictions/FILE` answers each sample with the row of the file that has its id.

A sample without a row is a `model_error`, which does not count against the error
budget. The request key contains the sample's row, not the whole file, so that after an
edit only changed rows are read again.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ..code.userfiles import file_digest
from ..core import (
    Abilities,
    Candidate,
    DataError,
    Json,
    Media,
    Output,
    Part,
    Request,
    Text,
    UsageError,
    as_part,
    digest_of,
    shorten,
)
from ..core.output import MISSING
from ..datasets.faults import RowFault
from ..datasets.hub import refuse_url
from ..datasets.reach import Reach
from ..datasets.row_media import KINDS, SUFFIXES, URLS, medium_of
from ..imports.chat_turns import answer_of
from ..media.checks import check_media
from .prediction_table import ROUND, Named, Row, Table, is_message, read_table

ANY = frozenset({"text", *KINDS})
SCHEME = "predictions"
PREDICTION = "prediction"
LONGEST_NAME = 1024


@dataclass
class Predictions:
    """A file of predictions: JSONL, JSON, CSV, TSV or Parquet, with the columns `id` and `prediction`.

    Result files of other tools are accepted if `assay show` supports them.
    """

    reference: ClassVar[str] = "file"

    file: str
    id: str = "id"
    """The column with the ids of samples."""
    prediction: str = PREDICTION
    """The column with the answers: text, a list of candidates, or the path of a medium."""
    image: str | None = None
    """The column of images (default: `image`, `images` or `image_path`, if there is one)."""
    audio: str | None = None
    """The column of audio (default: `audio` and similar names, if there is one)."""
    video: str | None = None
    """The column of videos (default: `video` and similar names, if there is one)."""
    task: str | None = None
    """The task whose answers are used, if the file is the results of another tool with several tasks."""
    media_root: str | None = None
    """The folder with the media (default: the folder of the file)."""
    _table: Table | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        self._path = _find_file(self.file)
        if self.media_root is None:
            root = None
        else:
            root = Path(self.media_root).expanduser()
        self._reach = Reach(self._path.parent, root)

    @property
    def abilities(self) -> Abilities:
        """Return what this model supports: any prompt and any generated answer, but no likelihoods."""
        return Abilities(
            accepts=ANY,
            produces=ANY,
            tools=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Values that identify the predictions: the digest and the columns of the file,
        and the modification times of the media files that it names.
        """
        columns = {"id": self.id, PREDICTION: self.prediction, **self._named_media()}
        if self.task is not None:
            columns["task"] = self.task
        return {
            SCHEME: file_digest(self._path),
            "columns": columns,
            "media": self._media_times(),
        }

    key_identity: ClassVar[Mapping[str, Any]] = {SCHEME: "by id"}

    def hints_of(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> Mapping[str, Any]:
        """Return the file's row for the sample, on which the answer depends besides the prompt."""
        row = self._row(id, epoch, round)
        if row is None:
            digest = None
        else:
            digest = digest_of([row.digest, *map(file_digest, self._named_files(row))])[
                :16
            ]
        return {"sample": id, ROUND: round, PREDICTION: digest}

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._path

    def texts_of(self, id: str) -> list[str]:
        """Return all predictions for a sample as texts: of every epoch, with all candidates."""
        texts: list[str] = []
        for row in self._read().rows.get((id, 0), ()):
            texts += map(str, row.candidates or ())
        return texts

    def ids(self) -> Mapping[str, int]:
        """Return the sample ids in the order of the file, each with its number of predictions."""
        return self._read().ids

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return, for each request, the prediction for its sample."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        round = int(request.hints.get(ROUND, 0))
        row = self._row(request.id, request.repeat, round)
        if row is None:
            return Output.failed(
                MISSING,
                self._missing(request.id, request.repeat, round),
                retryable=False,
            )
        try:
            candidates = tuple(
                self._candidate(cell, row, request)
                for cell in row.candidates or (None,)
            )
            return Output(candidates)
        except (RowFault, DataError) as fault:
            message = f"{self._path.name}, row {row.number}: {_describe_fault(fault)}"
            return Output.failed(MISSING, message, retryable=False)

    def _missing(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> str:
        if round and self._row(id, epoch, 0) is not None:
            return f"{self._path.name} has no answer of {id!r} in round {round}; fix: a column `round`, counted from 0"
        if epoch:
            again = f", time {epoch + 1}"
        else:
            again = ""
        return f"{self._path.name} has no prediction for {id!r}{again}"

    def _candidate(
        self,
        cell: object,
        row: Row,
        request: Request,
    ) -> Candidate:
        media = self._column_media(row)
        produces = request.prompt.produces
        kind = next((kind for kind in produces if kind in KINDS), None)
        if (
            kind is not None
            and "text" not in produces
            and not media
            and isinstance(cell, (str, bytes, Mapping))
        ):
            media = [self._medium(cell, KINDS[kind], self.prediction)]
            cell = None
        for medium in media:
            check_media(medium)
            medium.hold()
        parts: list[Part] = [] if cell is None else _text_parts(cell)
        return Candidate((*parts, *map(as_part, media)))

    def _column_media(self, row: Row) -> list[Media]:
        """Return the media in the media columns of a row, in order."""
        table = self._read()
        column_media = []
        for column, kind in table.media:
            cell = row.media.get(column)
            if cell not in (None, "", []):
                if isinstance(cell, (list, tuple)):
                    pieces = cell
                else:
                    pieces = (cell,)
                for piece in pieces:
                    column_media.append(self._medium(piece, kind, column))
        return column_media

    def _medium(
        self,
        cell: object,
        kind: type[Media],
        column: str,
    ) -> Media:
        if isinstance(cell, str) and cell.startswith(URLS):
            fix = "download the files and name them"
            raise RowFault(
                f"the {kind.kind} is a URL, which is not fetched",
                column=column,
                got=cell,
                fix=fix,
            )
        return medium_of(cell, kind, column, self._reach)

    def _named_files(self, row: Row) -> list[Path]:
        """Return the media files named in a row. Wrong names are reported later, with the answer to the sample."""
        columns = [row.media.get(column) for column, _ in self._read().media]
        media = [
            piece
            for cell in columns
            for piece in (cell if isinstance(cell, (list, tuple)) else (cell,))
        ]
        paths = []
        for cell in (*row.candidates, *media):
            if (
                isinstance(cell, str)
                and cell.rpartition(".")[2].lower() in SUFFIXES
                and len(cell) <= LONGEST_NAME
            ):
                with suppress(RowFault):
                    paths.append(self._reach.file(cell, "media", self.prediction))
        return [path for path in paths if path.is_file()]

    def _media_times(self) -> str | None:
        """Return a digest of the sizes and times of all media files named in rows; None if there are none."""
        files = [
            path
            for rows in self._read().rows.values()
            for row in rows
            for path in self._named_files(row)
        ]
        times = [
            [path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files
        ]
        if times:
            return digest_of(times)[:16]
        return None

    def _named_media(self) -> dict[str, str]:
        return {
            kind: column
            for kind in KINDS
            if (column := getattr(self, kind)) is not None
        }

    def _row(
        self,
        id: str,
        epoch: int,
        round: int,
    ) -> Row | None:
        rows = self._read().rows.get((id, round), ())
        if epoch < len(rows):
            row = rows[epoch]
        else:
            row = None
        if row is None or row.is_empty:
            return None
        return row

    def _read(self) -> Table:
        if self._table is None:
            columns = self.id, self.prediction, self._named_media()
            are_usual = columns == ("id", PREDICTION, {})
            named = Named(
                *columns,
                task=self.task,
                are_usual=are_usual,
            )
            self._table = read_table(self._path, named)
        return self._table


def _find_file(file: str) -> Path:
    """Return the path of a predictions file. The folder `predictions` may be left out.

    Raise if both `FILE` and `predictions/FILE` exist, because either could be meant.
    """
    refuse_url(file)
    path = Path(file).expanduser()
    inner = Path(SCHEME) / file
    if not path.exists() and inner.is_file():
        return inner
    is_plain = not file.startswith(".") and not path.is_absolute()
    if is_plain and _are_two_files(path, inner):
        raise UsageError(
            f"there are two files of predictions: {path} and {inner}",
            where=f"{SCHEME}/{file}",
            fix=f"{SCHEME}/./{path} or {SCHEME}/./{inner}",
        )
    if path.exists() and not path.is_file():
        raise UsageError(
            "no predictions: a folder, not a file",
            where=str(path),
            fix="name one file",
        )
    return path


def _are_two_files(path: Path, other: Path) -> bool:
    """Return True if both paths are files and the contents differ."""
    if not path.is_file() or not other.is_file():
        return False
    return file_digest(path) != file_digest(other)


def _text_parts(cell: object) -> list[Part]:
    """Return a prediction as parts of an answer.

    Text stays unchanged. A number becomes its text, and a chat message its content. Any
    other object becomes its JSON text and a structured part.
    """
    if isinstance(cell, str):
        return [Text(cell)]
    if isinstance(cell, Mapping) and is_message(cell):
        return list(answer_of(cell).parts)
    if isinstance(cell, bytes):
        try:
            return [Text(cell.decode())]
        except UnicodeDecodeError as error:
            raise RowFault(
                "the prediction is bytes that are not UTF-8",
                got=cell,
                fix="write it as text",
            ) from error
    if isinstance(cell, (Mapping, list)):
        return [Text(msgspec.json.encode(cell).decode()), Json(cell)]
    return [Text(str(cell).lower() if isinstance(cell, bool) else str(cell))]


def _describe_fault(fault: RowFault | DataError) -> str:
    """Return an error message for a faulty row, with a fix that names options of this model."""
    if isinstance(fault, RowFault) and fault.got is not None:
        got = f", got {shorten(fault.got)}"
    else:
        got = ""
    if not fault.fix:
        fix = ""
    else:
        fix = f"; fix: {fault.fix.replace('--media_root DIR', '-a media_root=DIR')}"
    return f"{fault.what}{got}{fix}"
