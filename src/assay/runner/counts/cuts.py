"""Count what was cut: prompts to fit a model's context, answers by the context or by `max_tokens`.

Models report `truncated_tokens` and `answer_room` in the details of an output, and `length` as a stop reason.
Answers from earlier runs count as well.
"""

from collections.abc import Iterator

from ...core import Output
from ...store import Answered

Place = tuple[str, int, int]
"""Sample, epoch and round."""


class Cuts:
    """Cut prompts and answers of one task × model. Each sample, epoch and round counts once."""

    def __init__(self) -> None:
        self._prompts: dict[Place, int] = {}
        self._answers: set[Place] = set()
        self._by_length: dict[Place, int] = {}
        """Candidates that ended because of `max_tokens`."""

    def count(self, place: Place, output: Output) -> None:
        """Count a new answer."""
        reasons = [candidate.stop_reason for candidate in output.candidates]
        if output.details or "length" in reasons:
            details = output.details
            tokens = details.get("truncated_tokens")
            room = details.get("answer_room")
            self._note(place, tokens, room, reasons.count("length"))

    def count_stored(
        self,
        id: str,
        epoch: int,
        round: int,
        answer: Answered,
    ) -> None:
        """Count an answer in the journal."""
        remarks = answer.remarks
        self._note(
            (id, epoch, round),
            remarks.truncated_tokens,
            remarks.answer_room,
            remarks.cut_answers,
        )

    def _note(
        self,
        place: Place,
        tokens: object,
        room: object,
        cut: int,
    ) -> None:
        # A user's model may put anything into its details.
        if isinstance(tokens, int) and tokens > 0:
            self._prompts[place] = tokens
        if isinstance(room, int):
            self._answers.add(place)
        if cut:
            self._by_length[place] = cut

    @property
    def by_length(self) -> int:
        """Answers that ended because of `max_tokens`."""
        return sum(self._by_length.values())

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if nothing was cut."""
        counted = {
            "truncated_prompts": len(self._prompts),
            "truncated_tokens": sum(self._prompts.values()),
            "squeezed_answers": len(self._answers),
            "cut_answers": self.by_length,
        }
        return {name: number for name, number in counted.items() if number}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield lines for the notes of the run."""
        prompts = len(self._prompts)
        if prompts:
            tokens = sum(self._prompts.values())
            were = "prompt was" if prompts == 1 else "prompts were"
            yield (
                f"{task}: {prompts} {were} cut by {tokens:,} tokens in all"
                f" to fit the context of {model}"
            )
        answers = len(self._answers)
        if answers:
            ended = "answer ended" if answers == 1 else "answers ended"
            yield (
                f"{task}: {answers} {ended} early: prompt and max_tokens together"
                f" exceed the context of {model}"
            )
