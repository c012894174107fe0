"""Rows with audio clips: how the rows of a speech benchmark become samples.

Columns: `key`, `audio` (a path beside the file, bytes, base64, or Hugging Face's own audio), `query` (what is said in
it), `ref` or `answer` (a text; a list, of which any will do; `{"__tuple__": true, "items": […]}`, all of it wanted),
options `A`, `B`, … or a list in `choices`. Dialogues have `user_audio1`, `user_text1`, `bot_text1`, and so on by round.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import EMPTY, AllOf, Audio, DataSource, Media, Sample
from ...datasets import Samples, open_dataset
from ...datasets.choices import letter_of
from ...datasets.faults import RowFault
from ...datasets.files import open_files
from ...datasets.media import media_of
from ..vision.tables import options_of

RowOf = Mapping[str, Any]
IDS = ("key", "id", "index", "idx", "uid")
AUDIO_COLUMNS = ("audio", "audio_path", "context", "wav")
QUERIES = ("query", "question", "instruction", "prompt")
TARGETS = ("ref", "answer", "answers", "reference", "target", "text")
TRANSCRIPTS = ("ref", "text", "sentence", "transcription", "transcript", "answer")
ROUNDS = "rounds"
"""The field of a dialogue's sample that has what the user says in each round."""


@dataclass(frozen=True)
class Spoken:
    """A `DataSource.read`: from the file or hub name that was found to samples."""

    target: tuple[str, ...] = TARGETS
    """Columns that may hold the answer, the first that is there."""
    query: tuple[str, ...] = QUERIES
    options: bool = False
    """Whether rows have options; the target is then a letter."""
    letters: str = ""
    """The letters of options that stand in the question itself, `ABCD`: their texts are not known apart."""
    rounds: bool = False
    """Whether rows are dialogues."""
    tags: tuple[str, ...] = ()
    """Columns to break the result down by, where a row has them."""
    cluster: str = ""
    """A column that says which rows are not independent: one speaker, one sentence."""
    repeats: bool = False
    """Whether several rows may have one id, as readings of one sentence do in FLEURS."""
    aliases: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Columns of the hub's copy by the names they have here: `{"choices": "option_list"}`."""

    def __call__(self, found: str | Path) -> Samples:
        folder: Path | None = None
        if str(found).startswith(("hub:", "hf://")):
            shards = open_dataset(found).shards
        else:
            path = Path(found)
            shards, _ = open_files(path, None, str(path))
            folder = path if path.is_dir() else path.parent
        return Samples(
            shards,
            on_duplicate="suffix" if self.repeats else "error",
            to_sample=ToSample(self, folder),
            where=str(found),
        )


def source_of(name: str, mini: str, read: Spoken, **hub: str) -> DataSource:
    """Where the rows of a benchmark lie: in a file or a folder of its name, or on the hub."""
    files = (f"{name}.jsonl", f"{name}.parquet", name)
    return DataSource(
        local=files, mini=f"benchmarks/data/speech/{mini}.jsonl", read=read, **hub
    )


@dataclass(frozen=True)
class ToSample:
    """One row as a sample."""

    read: Spoken
    folder: Path | None
    """What relative paths of audio clips are relative to."""

    def __call__(self, row: RowOf) -> Sample:
        read = self.read
        row = {
            **row,
            **{
                name: row[there] for name, there in read.aliases.items() if there in row
            },
        }
        texts, clips = self._rounds(row) if read.rounds else self._single(row)
        if not clips:
            raise RowFault(
                "the row has no audio",
                column=AUDIO_COLUMNS[0],
                fix="give it a path or bytes in `audio`",
            )
        options = options_of(row) if read.options else tuple(read.letters)
        if read.options and not options:
            raise RowFault(
                "the row has no options",
                column="A",
                fix="give columns A, B, … or a list in `choices`",
            )
        answer = first_of(row, read.target)
        if options and answer is not None:
            target: Any = letter_of(answer, options, (), "answer", is_index=False)
        else:
            target = reference_of(answer)
        key = first_of(row, IDS)
        return Sample(
            id="" if key is None else str(key),
            input="\n".join(texts),
            target=target,
            choices=options,
            fields={**row, ROUNDS: texts} if read.rounds else row,
            media=clips,
            tags={
                name: str(row[name])
                for name in read.tags
                if row.get(name) not in (None, "")
            },
            cluster=str(row[read.cluster])
            if read.cluster and row.get(read.cluster) is not None
            else None,
        )

    def _single(self, row: RowOf) -> tuple[list[str], tuple[Media, ...]]:
        query = first_of(row, self.read.query)
        column = next(
            (name for name in AUDIO_COLUMNS if row.get(name) not in (None, "")), None
        )
        clips = () if column is None else media_of(row, ((column, Audio),), self.folder)
        return [] if query is None else [str(query)], clips

    def _rounds(self, row: RowOf) -> tuple[list[str], tuple[Media, ...]]:
        texts: list[str] = []
        columns: list[tuple[str, type[Media]]] = []
        number = 1
        while f"user_audio{number}" in row or f"user_text{number}" in row:
            texts.append(str(row.get(f"user_text{number}") or ""))
            columns.append((f"user_audio{number}", Audio))
            number += 1
        if number < 3:
            raise RowFault(
                "the dialogue has fewer than two rounds", column="user_audio2"
            )
        clips = media_of(row, columns, self.folder)
        if clips and len(clips) != len(texts):
            raise RowFault(
                "some rounds of the dialogue have audio and some have none",
                column="user_audio1",
            )
        return texts, clips


def first_of(row: RowOf, names: Sequence[str]) -> Any:
    """The first of some columns that has something in it."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def reference_of(cell: Any) -> Any:
    """An answer as a target: a list means any of its entries, a marked tuple all of them, in any nesting."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        try:
            return reference_of(json.loads(cell))
        except json.JSONDecodeError:
            return cell
    if isinstance(cell, Mapping) and cell.get("__tuple__") is True:
        return AllOf(tuple(reference_of(entry) for entry in cell["items"]))
    if isinstance(cell, tuple):
        return AllOf(tuple(reference_of(entry) for entry in cell))
    if isinstance(cell, list):
        return tuple(reference_of(entry) for entry in cell)
    return str(cell) if isinstance(cell, (int, float)) else cell
