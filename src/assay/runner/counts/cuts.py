"""Cuts: prompts that lost tokens to fit a model's context, and answers that ended for want of room.

Models say so in the details of an output: `truncated_tokens` and `answer_room`. A run counts them, also those of
answers that an earlier run has written.
"""

from collections.abc import Iterator
from typing import Any

from ...core import Output
from ...store import Answered

Place = tuple[str, int, int]
"""Sample, epoch and round."""


class Cuts:
    """What was cut in one cell; each place counts once, however often it is met."""

    def __init__(self) -> None:
        self._prompts: dict[Place, int] = {}
        self._answers: set[Place] = set()

    def count(self, place: Place, output: Output) -> None:
        """Notes an answer that has just come."""
        if output.details:
            self._note(
                place,
                output.details.get("truncated_tokens"),
                output.details.get("answer_room"),
            )

    def count_stored(self, id: str, epoch: int, round: int, answer: Answered) -> None:
        """Notes an answer in the journal."""
        if answer.truncated_tokens is not None or answer.answer_room is not None:
            self._note((id, epoch, round), answer.truncated_tokens, answer.answer_room)

    def _note(self, place: Place, tokens: Any, room: Any) -> None:
        if (
            isinstance(tokens, int) and tokens > 0
        ):  # a user's model may put anything there
            self._prompts[place] = tokens
        if isinstance(room, int):
            self._answers.add(place)

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where nothing was cut."""
        counted = {
            "truncated_prompts": len(self._prompts),
            "truncated_tokens": sum(self._prompts.values()),
            "squeezed_answers": len(self._answers),
        }
        return {name: number for name, number in counted.items() if number}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """For people."""
        if count := len(self._prompts):
            tokens = sum(self._prompts.values())
            were = "prompt was" if count == 1 else "prompts were"
            yield f"{task}: {count} {were} cut by {tokens:,} tokens in all to fit the context of {model}"
        if count := len(self._answers):
            ended = "answer ended" if count == 1 else "answers ended"
            yield f"{task}: {count} {ended} early: prompt and max_tokens together exceed the context of {model}"
