"""Exchanges: an answer as a judge is shown it, with everything that was said before.

The last answer of a dialogue means little without the turns before it. A judge sees the conversation as it was put to
the model: the sample's input, then every earlier answer (or the reference that stood in its place) and each turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...core import Audio, Media, Output, Sample, as_messages
from ...core.sample import REFERENCE_COLUMNS
from ..answers import shown

Turn = tuple[str, str]
"""Role and text."""
Rounds = Literal["last", "all"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer, what was said before it, and what it is held against."""

    turns: tuple[Turn, ...]
    """Everything before the answer, the question last."""
    output: Output
    references: tuple[str, ...] = ()
    """A reference for each round up to this one; empty texts where a round has none."""
    number: int = 1
    """The round, from 1."""
    answer_places: tuple[int, ...] = ()
    """Where in `turns` the earlier answers stand."""

    @property
    def is_dialogue(self) -> bool:
        """Whether the question alone does not say what was asked."""
        return len(self.turns) > 1

    @property
    def question(self) -> str:
        """What was asked: the question, or the whole conversation with its roles."""
        return conversation(self.turns) if self.is_dialogue else self.turns[-1][1]

    @property
    def reference(self) -> str:
        """The reference of this round."""
        return self.references[-1] if self.references else ""

    def answered_by(self, answers: Sequence[str]) -> "Exchange":
        """The same conversation with another model's earlier answers."""
        turns = list(self.turns)
        for place, answer in zip(self.answer_places, answers, strict=False):
            turns[place] = (turns[place][0], answer)
        return Exchange(
            tuple(turns), self.output, self.references, self.number, self.answer_places
        )


def exchanges(
    sample: Sample, output: Output, rounds: Rounds = "last"
) -> list[Exchange]:
    """The last answer, or those of all rounds, each with what came before it."""
    opening = _opening(sample)
    if not output.rounds:
        return [Exchange(opening, output, _references(sample, 1))]
    first, count = len(output.rounds[0].asked), len(output.rounds)
    references = _references(sample, count)
    places = [len(opening) + len(one.asked) - first for one in output.rounds]
    found = []
    for index in range(count) if rounds == "all" else [count - 1]:
        one = output.rounds[index]
        answer = output if index == count - 1 else one.output
        turns = (*opening, *one.asked[first:])
        # An answer stands right after the prompt of its own round.
        found.append(
            Exchange(
                turns, answer, references[: index + 1], index + 1, tuple(places[:index])
            )
        )
    return found


def question_of(sample: Sample) -> str:
    """The first question as a judge reads it: the text of its messages, with their roles where there are several."""
    turns = _opening(sample)
    return conversation(turns) if len(turns) > 1 else turns[-1][1]


def conversation(turns: Sequence[Turn]) -> str:
    """Turns as text, each with its role."""
    return "\n".join(f"{role}: {text}" for role, text in turns)


def question_media(sample: Sample) -> tuple[Media, ...]:
    """The media of the question and of the turns that the sample scripts."""
    later = (
        message
        for turn in sample.turns
        if not isinstance(turn, str)
        for message in as_messages(turn)
    )
    return (*sample.media, *(medium for message in later for medium in message.media))


def shown_media(output: Output) -> tuple[Media, ...]:
    """What a judge must see or hear of an answer: its images and videos always, its audio where no text says it."""
    return tuple(
        m for m in output.media if not isinstance(m, Audio) or not output.text.strip()
    )


def _opening(sample: Sample) -> tuple[Turn, ...]:
    if isinstance(sample.input, str):
        return (("user", sample.input),)
    turns = tuple(
        (message.role, message.text)
        for message in sample.input
        if message.parts is not None
    )
    return turns or (("user", ""),)


def _references(sample: Sample, rounds: int) -> tuple[str, ...]:
    """A reference for each round: a column with one a round, else as many targets as rounds, else the last round's."""
    if rounds > 1:
        column = next(
            (
                cell
                for name in REFERENCE_COLUMNS
                if _is_list(cell := sample.fields.get(name))
            ),
            None,
        )
        if column is None and len(sample.targets) == rounds:
            column = shown(sample)
        if column is not None:
            texts = ["" if cell is None else str(cell) for cell in column[:rounds]]
            return (*texts, *[""] * (rounds - len(texts)))
    # A recording is not a text to compare with.
    if not sample.targets or any(isinstance(one, Media) for one in sample.targets):
        return ("",) * rounds
    return (*[""] * (rounds - 1), "\nor\n".join(shown(sample)))


def _is_list(cell: Any) -> bool:
    return isinstance(cell, (list, tuple)) and not any(
        isinstance(one, (Mapping, list, tuple)) for one in cell
    )
