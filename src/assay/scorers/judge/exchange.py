"""Exchanges: an answer together with the conversation that led to it, as judges see it.

The last answer of a dialogue is hard to judge without the turns before it. The judge
sees the same conversation as the model: the sample's input, then every earlier answer
(or its reference) and each turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...core import Audio, Media, Output, Sample, as_messages
from ...core.sample import REFERENCE_COLUMNS
from ..answers import shown

Turn = tuple[str, str]
"""The role and the text of one turn."""
Rounds = Literal["last", "all"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer, the conversation before it, and its references."""

    turns: tuple[Turn, ...]
    """All turns before the answer. The last one is the question."""
    output: Output
    references: tuple[str, ...] = ()
    """A reference for each round up to this one; empty texts for rounds without one."""
    number: int = 1
    """The number of the round, from 1."""
    answer_places: tuple[int, ...] = ()
    """The indexes in `turns` of the model's earlier answers."""

    @property
    def is_dialogue(self) -> bool:
        """True if there are turns before the question."""
        return len(self.turns) > 1

    @property
    def question(self) -> str:
        """The question, or in a dialogue the whole conversation with its roles."""
        if self.is_dialogue:
            return conversation(self.turns)
        return self.turns[-1][1]

    @property
    def reference(self) -> str:
        """The reference of this round."""
        if self.references:
            return self.references[-1]
        return ""

    def answered_by(self, answers: Sequence[str]) -> "Exchange":
        """Return this exchange with other answers in the earlier rounds, such as those
        of the model it is compared with.
        """
        turns = list(self.turns)
        for index, answer in zip(self.answer_places, answers, strict=False):
            role, _ = turns[index]
            turns[index] = (role, answer)
        return Exchange(
            turns=tuple(turns),
            output=self.output,
            references=self.references,
            number=self.number,
            answer_places=self.answer_places,
        )


def exchanges(
    sample: Sample,
    output: Output,
    rounds: Rounds = "last",
) -> list[Exchange]:
    """Return the exchange of the last answer, or one exchange for the answer of each round."""
    opening = _opening(sample)
    if not output.rounds:
        return [Exchange(opening, output, _references(sample, 1))]
    first = len(output.rounds[0].asked)
    count = len(output.rounds)
    references = _references(sample, count)
    answer_places = [
        len(opening) + len(round_.asked) - first for round_ in output.rounds
    ]
    result = []
    first_round = count - 1
    if rounds == "all":
        first_round = 0
    for index in range(first_round, count):
        round_ = output.rounds[index]
        if index == count - 1:
            answer = output
        else:
            answer = round_.output
        turns = (*opening, *round_.asked[first:])
        # The answers of earlier rounds follow the prompts of their rounds.
        result.append(
            Exchange(
                turns,
                answer,
                references[: index + 1],
                index + 1,
                tuple(answer_places[:index]),
            )
        )
    return result


def question_of(sample: Sample) -> str:
    """Return the text of the sample's input messages. If there are several, each is preceded by its role."""
    turns = _opening(sample)
    if len(turns) > 1:
        return conversation(turns)
    return turns[-1][1]


def conversation(turns: Sequence[Turn]) -> str:
    """Return the turns as one text, each after its role."""
    return "\n".join(f"{role}: {text}" for role, text in turns)


def question_media(sample: Sample) -> tuple[Media, ...]:
    """Return the media in the sample's input and in the later user turns that the sample prescribes."""
    later = (
        message
        for turn in sample.turns
        if not isinstance(turn, str)
        for message in as_messages(turn)
    )
    return (*sample.media, *(medium for message in later for medium in message.media))


def shown_media(output: Output) -> tuple[Media, ...]:
    """Return the media of an answer that a judge must see or hear. Audio is left out if the answer has text."""
    return tuple(
        m for m in output.media if not isinstance(m, Audio) or not output.text.strip()
    )


def _opening(sample: Sample) -> tuple[Turn, ...]:
    """Return role and text of each message in the sample's input."""
    if isinstance(sample.input, str):
        return (("user", sample.input),)
    turns = tuple(
        (message.role, message.text)
        for message in sample.input
        if message.parts is not None
    )
    return turns or (("user", ""),)


def _references(sample: Sample, rounds: int) -> tuple[str, ...]:
    """Return one reference for each round; an empty text for a round without one.

    They are in a column, or in the targets if there is one for each round. Otherwise
    the target is the reference of the last round.
    """
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
    if not sample.targets or any(
        isinstance(target, Media) for target in sample.targets
    ):
        return ("",) * rounds
    return (*[""] * (rounds - 1), "\nor\n".join(shown(sample)))


def _is_list(cell: object) -> bool:
    return isinstance(cell, (list, tuple)) and not any(
        isinstance(entry, (Mapping, list, tuple)) for entry in cell
    )
