"""Notes about the answers of one task × model besides their scores, counted as answers arrive.

Answers from earlier runs count as well.
"""

from collections.abc import Callable, Iterator, Sequence

from ...core import Candidate, Output, Sample
from ...store import Answered
from ..scoring.scoring import Scoring
from .cuts import Cuts
from .leaks import Leaks
from .sameness import Sameness, SameTargets
from .spelling import Spelling

MOST_NOTES = 50
"""Most different notes for one task × model."""


class MissingKinds:
    """Counts answers that lack a kind of medium, as those of a model that never speaks or draws."""

    def __init__(self, produces: Sequence[str] = ("text",)) -> None:
        media = ("image", "audio", "video")
        self._kinds = tuple(kind for kind in produces if kind in media)
        self._counts: dict[str, int] = {}
        self._answers = 0

    def count(self, output: Output) -> None:
        """Count an answer. Failures are ignored."""
        if not self._kinds or output.error is not None or not output.candidates:
            return
        self._answers += 1
        for kind in self._kinds:
            if not all(_has_medium(each, kind) for each in output.candidates):
                self._counts[kind] = self._counts.get(kind, 0) + 1

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if every answer has all kinds."""
        return {
            f"answers_without_{kind}": count for kind, count in self._counts.items()
        }

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield warnings for the notes of the run."""
        for kind, count in self._counts.items():
            lacking = f"{count} of {self._answers} answers of {model} have no {kind}"
            yield f"warning: {task}: {lacking}, which the task asks for"


class ReplyNotes:
    """Counts the notes of models in the details of their answers, by their text."""

    def __init__(self) -> None:
        self._places: dict[str, set[tuple[str, int, int]]] = {}

    def count(self, place: tuple[str, int, int], notes: object) -> None:
        """Count the notes of one answer. Its details may contain anything."""
        if not isinstance(notes, (list, tuple)):
            return
        for note in notes:
            if isinstance(note, str) and (
                note in self._places or len(self._places) < MOST_NOTES
            ):
                self._places.setdefault(note, set()).add(place)

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a line for each note, with how many answers have it."""
        for note, places in self._places.items():
            count = len(places)
            answers = "1 answer" if count == 1 else f"{count} answers"
            yield f"{task}: {answers} of {model}: {note}"


def _has_medium(candidate: Candidate, kind: str) -> bool:
    return any(medium.kind == kind for medium in candidate.media)


class ReasonedAnswers:
    """Counts the answers with reasoning, which is not scored; each counts once."""

    def __init__(self) -> None:
        self._answers: set[tuple[str, int, int]] = set()

    def count(self, key: tuple[str, int, int], output: Output) -> None:
        """Note an answer by its sample, epoch and round."""
        if any(candidate.has_reasoning for candidate in output.candidates):
            self._answers.add(key)

    def count_stored(self, key: tuple[str, int, int], answer: Answered) -> None:
        """Note an answer in the journal."""
        if answer.remarks.has_reasoning:
            self._answers.add(key)

    def to_plain(self) -> dict[str, int]:
        """Return the count for `summary.json`; empty without reasoning."""
        count = len(self._answers)
        return {"answers_with_reasoning": count} if count else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a line for the notes of the run."""
        count = len(self._answers)
        if count:
            answers = "1 answer" if count == 1 else f"{count} answers"
            yield f"{task}: {answers} of {model} had reasoning, which is kept apart and not scored"


class Remarks:
    """All notes: cuts, reasoning, leaked targets, missing media, identical answers, spelling."""

    def __init__(
        self,
        leaks: Leaks | None = None,
        missing: MissingKinds | None = None,
        can_shuffle: Callable[[Sample], bool] | None = None,
        spelling: Spelling | None = None,
    ) -> None:
        self.leaks = leaks or Leaks()
        self._missing = missing or MissingKinds()
        self._spelling = spelling or Spelling()
        self._cuts = Cuts()
        self._notes = ReplyNotes()
        self._reasoned = ReasonedAnswers()
        self._sameness = Sameness()
        self._targets = SameTargets(can_shuffle)

    @classmethod
    def of(
        cls,
        scorings: Sequence[Scoring],
        produces: Sequence[str],
        can_shuffle: Callable[[Sample], bool] | None = None,
    ) -> "Remarks":
        """Return the notes for given scorers, kinds of media that answers should have, and option order."""
        return cls(
            Leaks(scorings, produces),
            MissingKinds(produces),
            can_shuffle,
            Spelling(scorings),
        )

    def count(
        self,
        sample: Sample,
        epoch: int,
        round: int,
        output: Output,
    ) -> None:
        """Count a new answer."""
        key = (sample.id, epoch, round)
        self._cuts.count(key, output)
        self._reasoned.count(key, output)
        if output.details:
            self._notes.count(key, output.details.get("notes"))
        self._missing.count(output)
        self._sameness.count(sample, output)
        self._spelling.count(sample, output)
        self._count_target(sample, epoch, round)

    def count_stored(
        self,
        sample: Sample,
        epoch: int,
        round: int,
        answer: Answered,
        read: Callable[[Answered], Output],
    ) -> None:
        """Count an answer in the journal. It is read only as long as its text matters."""
        self._cuts.count_stored(sample.id, epoch, round, answer)
        self._notes.count((sample.id, epoch, round), answer.remarks.notes)
        self._reasoned.count_stored((sample.id, epoch, round), answer)
        if self._sameness.may_be and not answer.failed:
            self._sameness.count(sample, read(answer))
        self._count_target(sample, epoch, round)

    def _count_target(self, sample: Sample, epoch: int, round: int) -> None:
        """Count the target of a sample, once."""
        if epoch or round:
            return
        self._spelling.count_target(sample)
        if self._targets.may_be:
            self._targets.count(sample)

    @property
    def cut_answers(self) -> int:
        """Answers that ended because of `max_tokens`."""
        return self._cuts.by_length

    @property
    def reads_answers(self) -> bool:
        """True if answers in the journal still have to be read, because no two of them differed so far."""
        return self._sameness.may_be

    def to_plain(self) -> dict[str, int]:
        """Return all counts for `summary.json`; empty if there is nothing to note."""
        return {
            **self._cuts.to_plain(),
            **self._reasoned.to_plain(),
            **self._sameness.to_plain(),
            **self.leaks.to_plain(),
            **self._missing.to_plain(),
            **self._spelling.to_plain(),
        }

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield lines for the notes of the run."""
        yield from self._cuts.lines(task, model)
        yield from self._reasoned.lines(task, model)
        yield from self._sameness.lines(task, model)
        yield from self._targets.lines(task)
        yield from self.leaks.lines(task)
        yield from self._missing.lines(task, model)
        yield from self._notes.lines(task, model)
        yield from self._spelling.lines(task)
