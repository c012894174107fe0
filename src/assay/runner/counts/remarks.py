"""Remarks: what is to be said of the answers of a cell besides their scores, counted as they come.

Answers that an earlier run has written count as well.
"""

from collections.abc import Callable, Iterator, Sequence

from ...core import Output, Sample
from ...store import Answered
from ..scoring.scoring import Scoring
from .cuts import Cuts
from .leaks import Leaks
from .sameness import Sameness, SameTargets


class MissingKinds:
    """Counts, by kind, the answers of a cell that lack it, as of a model that never speaks or draws."""

    def __init__(self, produces: Sequence[str] = ("text",)) -> None:
        self._wanted = tuple(
            kind for kind in produces if kind in ("image", "audio", "video")
        )
        self._counts: dict[str, int] = {}
        self._answers = 0

    def count(self, output: Output) -> None:
        """Notes an answer; what is no answer says nothing."""
        if not self._wanted or output.error is not None or not output.candidates:
            return
        self._answers += 1
        for kind in self._wanted:
            if any(
                all(medium.kind != kind for medium in candidate.media)
                for candidate in output.candidates
            ):
                self._counts[kind] = self._counts.get(kind, 0) + 1

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where every answer has all kinds."""
        return {
            f"answers_without_{kind}": count for kind, count in self._counts.items()
        }

    def lines(self, task: str, model: str) -> Iterator[str]:
        """For people."""
        for kind, count in self._counts.items():
            lacking = f"{count} of {self._answers} answers of {model} have no {kind}"
            yield f"warning: {task}: {lacking}, which the task asks for"


class Remarks:
    """What was cut in one cell, which prompts tell their target, what answers lack, whether all are one."""

    def __init__(
        self, leaks: Leaks | None = None, missing: MissingKinds | None = None
    ) -> None:
        self.leaks = leaks or Leaks()
        self._missing = missing or MissingKinds()
        self._cuts = Cuts()
        self._sameness = Sameness()
        self._targets = SameTargets()

    @classmethod
    def of(cls, scorings: Sequence[Scoring], produces: Sequence[str]) -> "Remarks":
        """Those of a cell, by how its answers are scored and what they should hold."""
        return cls(Leaks(scorings, produces), MissingKinds(produces))

    def count(self, sample: Sample, epoch: int, round: int, output: Output) -> None:
        """Notes an answer that is at hand."""
        self._cuts.count((sample.id, epoch, round), output)
        self._missing.count(output)
        self._sameness.count(sample, output)
        if self._targets.may_be and epoch == 0 and round == 0:
            self._targets.count(sample)

    def count_stored(
        self,
        sample: Sample,
        epoch: int,
        round: int,
        answer: Answered,
        read: Callable[[Answered], Output],
    ) -> None:
        """Notes an answer in the journal; it is read only as long as what it says matters."""
        self._cuts.count_stored(sample.id, epoch, round, answer)
        if self._sameness.may_be and not answer.failed:
            self._sameness.count(sample, read(answer))
        if self._targets.may_be and epoch == 0 and round == 0:
            self._targets.count(sample)

    @property
    def reads_answers(self) -> bool:
        """Whether answers in the journal still have to be read, as no two of them differed so far."""
        return self._sameness.may_be

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where there is nothing to remark."""
        counted = (self._cuts, self._sameness, self.leaks, self._missing)
        return {
            name: count for one in counted for name, count in one.to_plain().items()
        }

    def lines(self, task: str, model: str) -> Iterator[str]:
        """For people."""
        yield from self._cuts.lines(task, model)
        yield from self._sameness.lines(task, model)
        yield from self._targets.lines(task)
        yield from self.leaks.lines(task)
        yield from self._missing.lines(task, model)
