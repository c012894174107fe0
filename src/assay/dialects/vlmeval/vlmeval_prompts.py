"""Build prompts: VLMEvalKit's own for TSVs without a class, and those that a user's `build_prompt` returns."""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import (
    EMPTY,
    DataError,
    Json,
    Media,
    Message,
    Part,
    Prompt,
    Sample,
    TemplateError,
    Text,
)
from ...datasets.cells import looks_like_list
from ...datasets.tsv_images import is_blank
from ..kits.message_lists import message_turns
from ..parameters import parameters_of
from ..shapes import Fields
from .dataset_facts import Kind
from .vlmeval_rows import LineRow

IMAGE_LIST = "image_list"
"""Key in a prompt's details: its images form a list. Early model classes then get them through `multi_generate`."""
SELECT = "Please select the correct answer from the options above. \n"


def question_with_options(row: Fields) -> str:
    """Return a row's hint, question, options and the instruction to choose one, in VLMEvalKit's wording."""
    lines = [f"Question: {row['question']}"]
    if not is_blank(row.get("hint")):
        lines.insert(0, f"Hint: {row['hint']}")
    options = options_of(row)
    if options:
        listed = [f"{letter}. {text}" for letter, text in options.items()]
        lines += ["Options:", *listed, SELECT]
    return "\n".join(lines)


def documented_question(row: Fields) -> str:
    """Return a row's question in the wording of VLMEvalKit's documented revision.

    It has hint, question, options A to E and, even without options, the instruction to
    choose one.
    """
    lines = [f"Question: {row['question']}", "Options:"]
    if not _is_absent(row, "hint"):
        lines.insert(0, f"Hint: {row['hint']}")
    for letter in "ABCDE":
        if not _is_absent(row, letter):
            lines.append(f"{letter}. {row[letter]}")
    lines.append(SELECT)
    return "\n".join(lines)


def _is_absent(row: Fields, name: str) -> bool:
    if name not in row:
        return True
    return row[name] != "" and is_blank(row[name])


def options_of(row: Fields) -> dict[str, str]:
    """Return the texts of a row's options by letter, without empty ones."""
    return {
        letter: str(row[letter])
        for letter in string.ascii_uppercase
        if not is_blank(row.get(letter))
    }


class TsvPrompt:
    """The template for a TSV without a class: a row's images, then its question."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.source = f"vlmeval {kind}"

    def __repr__(self) -> str:
        return f"TsvPrompt({self.kind})"

    def __call__(self, sample: Sample) -> Prompt:
        row = sample.fields
        if self.kind == "MCQ":
            text = question_with_options(row)
        else:
            text = str(row["question"])
        cell = row.get("image")
        if is_blank(cell):
            cell = row.get("image_path")
        details: Fields = EMPTY
        if looks_like_list(cell):
            details = {IMAGE_LIST: True}
        media: tuple[Any, ...] = sample.media
        turn = Message("user", (*media, Text(text)))
        return checked(Prompt((turn,), details=details), sample)


class GuestPrompt:
    """The template that calls the user's `build_prompt`."""

    def __init__(
        self,
        dataset: Any,
        name: str,
        code: str,
    ) -> None:
        self._dataset = dataset
        self._name = name
        self._takes_dataset = "dataset" in parameters_of(dataset.build_prompt)
        self.source = f"vlmeval {name} {code}"
        """Text that identifies these prompts in digests: the name and the digest of the user's file."""

    def __repr__(self) -> str:
        return f"{type(self._dataset).__name__}.build_prompt"

    def __call__(self, sample: Sample) -> Prompt:
        row = sample.fields
        line: object = row
        media: Mapping[str, Media] = EMPTY
        if isinstance(row, LineRow):
            line, media = row.line, row.source.dumped
        if self._takes_dataset:
            message = self._dataset.build_prompt(line, dataset=self._name)
        else:
            message = self._dataset.build_prompt(line)
        turns = message_turns(message, media)
        return checked(Prompt(turns, details=list_details(message)), sample)


class DialoguePrompt(GuestPrompt):
    """The template for dialogues. The user's `build_prompt` returns a whole dialogue with reference answers.

    Each turn is sent after the model's own answer to the previous one.
    """

    def __call__(self, sample: Sample) -> Prompt:
        return checked(Prompt(self._turns(sample)[0]), sample)

    def next(
        self,
        sample: Sample,
        history: Sequence[Message],
    ) -> tuple[Message, ...] | None:
        """Return the next turn of a dialogue; None after the last one."""
        number = sum(message.role == "user" for message in history)
        turns = self._turns(sample)
        if number < len(turns):
            return turns[number]
        return None

    def _turns(self, sample: Sample) -> list[tuple[Message, ...]]:
        """Return the user's turns, each with the system messages before it.

        The assistant's turns, which contain reference answers, are dropped.
        """
        turns: list[tuple[Message, ...]] = []
        before: tuple[Message, ...] = ()
        for message in super().__call__(sample).messages:
            if message.role == "user":
                turns.append((*before, message))
                before = ()
            elif message.role != "assistant":
                before = (*before, message)
        if not turns:
            raise TemplateError(
                "the dialogue has no turn of the user", where=f"sample {sample.id!r}"
            )
        return turns


class VideoPrompt(GuestPrompt):
    """The template for videos, which calls `build_prompt(line, video_llm)`: the video as images of frames, or whole."""

    def __init__(
        self,
        dataset: Any,
        name: str,
        code: str,
    ) -> None:
        super().__init__(dataset, name, code)
        accepted = parameters_of(dataset.build_prompt)
        self._takes_video_llm = "video_llm" in accepted or "**" in accepted
        self._row_numbers: dict[str, int] | None = None

    def __call__(
        self,
        sample: Sample,
        *,
        whole: bool = False,
    ) -> Prompt:
        if self._takes_video_llm:
            more = {"video_llm": whole}
        else:
            more = {}
        message = self._dataset.build_prompt(self._row_number(sample), **more)
        return checked(Prompt(message_turns(message)), sample)

    def _row_number(self, sample: Sample) -> int:
        """Return the position of a sample's row in the data frame, which `build_prompt` expects in place of the row."""
        numbers = self._row_numbers
        if numbers is None:
            numbers = self._row_numbers = {
                str(index): number
                for number, index in enumerate(self._dataset.data["index"])
            }
        return numbers[sample.id]


def list_details(message: object) -> Fields:
    """Return prompt details that mark the images as a list, even of one image, if `build_prompt` returned a list."""
    is_list = isinstance(message, Mapping) and isinstance(
        message.get("image"), (list, tuple)
    )
    if is_list:
        return {IMAGE_LIST: True}
    return EMPTY


def with_names_for_unreadable(turns: Sequence[Message]) -> tuple[Message, ...]:
    """Replace each unreadable image in the messages with the file name that the model class gave for it.

    The model class interprets such a name itself: it may load or generate the image.
    """
    return tuple(
        turn
        if turn.parts is None
        else Message(turn.role, tuple(map(_readable_or_name, turn.parts)))
        for turn in turns
    )


def _readable_or_name(part: Part) -> Part:
    if not isinstance(part, Media):
        return part
    try:
        _ = part.digest
    except DataError:
        return Json({"type": part.kind, "value": str(part.source)})
    return part


def checked(prompt: Prompt, sample: Sample) -> Prompt:
    """Return the prompt if its media can be read. Otherwise raise an error for its row before the model is called."""
    try:
        for medium in prompt.media:
            _ = medium.digest
    except DataError as error:
        where = f"sample {sample.id!r}, {error.where or 'image'}"
        raise TemplateError(
            error.what,
            where=where,
            fix=error.fix,
        ) from error
    return prompt
