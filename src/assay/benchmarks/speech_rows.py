"""Read the rows of speech benchmarks as samples, and build prompts with their audio clips.

Columns: `key`, `audio` (a path relative to the file, bytes, base64, or Hugging Face's
own audio), `query` (its words), `ref` or `answer` (a text; a list, of which any entry
is right; `{"__tuple__": true, "items": […]}`, of which all are required), options `A`,
`B`, … or a list in `choices`. Dialogues have `user_audio1`, `user_text1`, `bot_text1`,
and so on by round.

A benchmark has several input modes: audio, audio with a written instruction, and text.
The mode is part of the protocol id, because values of different modes are different
measurements: `webq@audio`, `webq@audio+text`, `webq@text`. The text mode is for text
models, and is the upper bound of the spoken modes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..catalogue.benchmark_names import SUFFIXES
from ..core import (
    EMPTY,
    AllOf,
    Audio,
    Media,
    Message,
    Part,
    Prompt,
    Sample,
    Task,
    TemplateError,
    Text,
)
from ..datasets import Samples, open_dataset
from ..datasets.choices import letter_of
from ..datasets.faults import RowFault
from ..datasets.files import open_files
from ..datasets.row_media import media_of
from .vision_rows import options_of

RowOf = Mapping[str, Any]
IDS = ("key", "id", "index", "idx", "uid")
AUDIO_COLUMNS = ("audio", "audio_path", "context", "wav")
QUERIES = ("query", "question", "instruction", "prompt")
TARGETS = ("ref", "answer", "answers", "reference", "target", "text")
ROUNDS = "rounds"
"""The sample field that contains the user's words for each round of a dialogue."""


@dataclass(frozen=True)
class Spoken:
    """Opens a file or a hub dataset of a speech benchmark, and returns its samples. A value for `DataSource.read`."""

    target: tuple[str, ...] = TARGETS
    """Columns in which to look for the answer. The first column that exists is used."""
    query: tuple[str, ...] = QUERIES
    options: bool = False
    """True if rows have options, so that the target is a letter."""
    letters: str = ""
    """The option letters, such as `ABCD`, if the options are only spoken in the
    question and their texts are unknown.
    """
    rounds: bool = False
    """True if rows are dialogues."""
    tags: tuple[str, ...] = ()
    """Columns to break the result down by, if a row has them."""
    cluster: str = ""
    """Column that identifies dependent rows: all rows of one speaker or sentence have the same value in it."""
    repeats: bool = False
    """True if several rows may share an id. In FLEURS, for example, a sentence is read several times."""
    aliases: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Maps a column name to its name in the hub's copy of the data.

    `{"choices": "option_list"}` reads `choices` from `option_list`.
    """

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
            to_sample=SpokenSample(self, folder),
            where=str(found),
        )


@dataclass(frozen=True)
class SpokenSample:
    """Converts one row to a sample."""

    read: Spoken
    folder: Path | None
    """The folder to which paths of audio clips are relative."""

    def __call__(self, row: RowOf) -> Sample:
        read = self.read
        row = {
            **row,
            **{
                name: row[there] for name, there in read.aliases.items() if there in row
            },
        }
        if read.rounds:
            texts, clips = self._rounds(row)
        else:
            texts, clips = self._single(row)
        if not clips:
            raise RowFault(
                "the row has no audio",
                column=AUDIO_COLUMNS[0],
                fix="give it a path or bytes in `audio`",
            )
        if read.options:
            options = options_of(row)
        else:
            options = tuple(read.letters)
        if read.options and not options:
            raise RowFault(
                "the row has no options",
                column="A",
                fix="give columns A, B, … or a list in `choices`",
            )
        answer = first_of(row, read.target)
        if options and answer is not None:
            target: Any = letter_of(answer, options, (), "answer")
        else:
            target = reference_of(answer)
        key = first_of(row, IDS)
        fields = {**row, ROUNDS: texts} if read.rounds else row
        tags = {}
        for name in read.tags:
            if row.get(name) not in (None, ""):
                tags[name] = str(row[name])
        cluster = row.get(read.cluster) if read.cluster else None
        return Sample(
            id="" if key is None else str(key),
            input="\n".join(texts),
            target=target,
            choices=options,
            fields=fields,
            media=clips,
            tags=tags,
            cluster=None if cluster is None else str(cluster),
        )

    def _single(self, row: RowOf) -> tuple[list[str], tuple[Media, ...]]:
        """Return the question's text and the audio clips of a row with a single turn."""
        query = first_of(row, self.read.query)
        texts = [] if query is None else [str(query)]
        for column in AUDIO_COLUMNS:
            is_filled = row.get(column) not in (None, "")
            if is_filled:
                clips = media_of(row, ((column, Audio),), self.folder)
                return texts, clips
        return texts, ()

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


def first_of(
    row: RowOf,
    names: Sequence[str],
) -> object:
    """Return the first non-empty value of the named columns."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def reference_of(cell: object) -> Any:
    """Return a cell's answer as a target.

    In a list, any item is a right answer. In a tuple (`{"__tuple__": true, "items":
    […]}`), all items are required. Lists and tuples may be nested.
    """
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
    if isinstance(cell, (int, float)):
        return str(cell)
    return cell


MODES = AUDIO, BOTH, TEXT = tuple(SUFFIXES)


@dataclass(frozen=True)
class Heard:
    """Prompt template for a question with an audio clip.

    The mode decides whether the model gets the audio, the audio with a written
    instruction, or the text only.
    """

    mode: str = AUDIO
    instruction: str = ""
    lists_options: bool = False
    """True if options are written after the question in the mode `text`. In an audio clip they are spoken."""

    def __call__(self, sample: Sample) -> Prompt:
        text = str(sample.input)
        if self.lists_options and text:
            text = "\n".join(
                [
                    text,
                    *(
                        f"{chr(65 + n)}. {option}"
                        for n, option in enumerate(sample.choices)
                    ),
                ]
            )
        audio = sample.media[0] if sample.media else None
        return Prompt((user_turn(self, sample, text, audio),))


@dataclass(frozen=True)
class HeardRounds:
    """Prompt template for dialogues. Each user turn is an audio clip or its text.

    The first turn contains the instruction.
    """

    mode: str = AUDIO
    instruction: str = ""

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt((self._turn(sample, 0),))

    def next(
        self,
        sample: Sample,
        turns: Sequence[Message],
    ) -> Message | None:
        """Return the user's next turn, or `None` after the last."""
        done = sum(message.role == "user" for message in turns)
        if done < len(sample.fields[ROUNDS]):
            return self._turn(sample, done)
        return None

    def _turn(self, sample: Sample, place: int) -> Message:
        if place == 0:
            template = self
        else:
            template = replace(self, instruction="")
        audio = sample.media[place] if sample.media else None
        return user_turn(template, sample, sample.fields[ROUNDS][place], audio)


@dataclass(frozen=True)
class Blind:
    """Removes the audio from another template's prompts, to measure how often answers
    can be guessed from the text alone.
    """

    template: Any

    def __call__(self, sample: Sample) -> object:
        return self.template(replace(sample, media=()))


def user_turn(
    template: Heard | HeardRounds,
    sample: Sample,
    text: str,
    audio: object,
) -> Message:
    """Build a user turn from audio or text, depending on the template's mode."""
    if template.mode == TEXT:
        if not text:
            raise TemplateError(
                "the row has no text of the speech",
                where=f"sample {sample.id!r}",
                fix="give a column `query`",
            )
        return Message(
            "user",
            (
                Text(
                    f"{text}\n\n{template.instruction}"
                    if template.instruction
                    else text
                ),
            ),
        )
    if not isinstance(audio, Audio):
        raise TemplateError(
            "the row has no audio",
            where=f"sample {sample.id!r}",
            fix="give a column `audio`",
        )
    parts: tuple[Part, ...] = (audio,)
    if template.mode == BOTH and template.instruction:
        parts = (audio, Text(template.instruction))
    return Message("user", parts)


def heard(
    instruction: str,
    *modes: str,
    lists_options: bool = False,
) -> dict[str, Heard]:
    """Return a template for each of the given input modes. Without `modes`, return one for each of the three."""
    heard_modes = {}
    for mode in modes or MODES:
        heard_modes[mode] = Heard(
            mode,
            "" if mode == AUDIO else instruction,
            lists_options and mode == TEXT,
        )
    return heard_modes


def in_modes(
    task: Task,
    templates: Mapping[str, Any],
    checked: str,
    version: str = "",
) -> tuple[Task, ...]:
    """Return one task for each mode: `webq`, `webq_audio_text`, `webq_text`.

    The task of the first mode has no suffix. The description of a task contains its
    mode and `checked`. If the scoring of a task has changed, `version` is appended to
    its protocol ids to keep old and new values apart.
    """
    first = next(iter(templates))
    tasks = []
    for mode, template in templates.items():
        suffix = "" if mode == first else SUFFIXES[mode]
        if mode == TEXT:
            needs = task.needs
        else:
            needs = task.needs | {"audio"}
        task_in_mode = task.but(
            name=task.name + suffix,
            template=template,
            protocol=f"{task.name}@{mode}{version}",
            needs=needs,
            description=f"{task.description}, {mode} ({checked})",
        )
        tasks.append(task_in_mode)
    return tuple(tasks)
