"""Detect a model that gives the same answer to every sample, or none at all, as a badly configured model does.

Its score may look plausible, especially if a judge or a lenient scorer reads such answers, so the notes of the run
mention it. If all targets are the same, the same answer may be right. As soon as two answers differ, nothing more
is computed.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from ...core import Json, Media, Output, Sample, Text, shorten
from ...core.message import Part

LEAST = 10
"""Number of samples with the same answer that cannot be a coincidence."""
LEAST_EMPTY = 2
LEAST_TARGETS = 5
"""Number of samples with the same target that is worth a note."""
NOTHING = frozenset({"", "null", "none"})
"""Texts that mean "no answer", without quotes and in lower case."""


class SameTargets:
    """The target of all samples of a task, as long as no two differ. One answer to everything then scores 1."""

    def __init__(self, can_shuffle: Callable[[Sample], bool] | None = None) -> None:
        self._can_shuffle = can_shuffle
        self._target: Any = None
        self._last: Sample | None = None
        self._samples = 0
        self.may_be = True
        """True if no two targets differed so far."""

    def count(self, sample: Sample) -> None:
        """Count the target of a sample. Call it once for each sample."""
        if sample.target is None or (self._samples and sample.target != self._target):
            self.may_be = False
            return
        self._target, self._last = sample.target, sample
        self._samples += 1

    def lines(self, task: str) -> Iterator[str]:
        """Yield lines for the notes of the run."""
        if not self.may_be or self._samples < LEAST_TARGETS:
            return
        shuffle = ""
        if self._is_shuffled_by_flag():
            shuffle = "; --shuffle_choices draws another order of the options"
        yield (
            f"{task}: all {self._samples} samples have the target {shorten(self._target)}: one answer to everything"
            f" scores 1{shuffle}"
        )

    def _is_shuffled_by_flag(self) -> bool:
        """Return True if --shuffle_choices would be accepted for these samples."""
        if self._last is None or len(self._last.choices) < 2:
            return False
        return self._can_shuffle is None or self._can_shuffle(self._last)


class Sameness:
    """The answer to all samples of one task × model, as long as no two differ."""

    def __init__(self) -> None:
        self.may_be = True
        """True if no two answers differed so far."""
        self._answer: tuple[str, ...] | None = None
        self._text: str | None = None
        """The first answer unchanged, if it is only text."""
        self._shown = ""
        self._targets: set[str] = set()
        self._ids: set[str] = set()

    def count(self, sample: Sample, output: Output) -> None:
        """Count an answer. Failures and likelihoods are ignored."""
        if "exit_code" in output.details and not output.text:
            return  # an agent program may leave files instead of words
        if not self.may_be or output.error is not None or not output.candidates:
            return
        if output.stop_reason == "content_filter":
            return  # counted as a refusal
        for candidate in output.candidates:
            content = candidate.parts
            if (
                len(content) == 1
                and type(content[0]) is Text
                and content[0].text == self._text
            ):
                continue  # equal to the first answer: nothing to compute
            parts = tuple(
                _content(part)
                for part in candidate.parts
                if isinstance(part, (Text, Json, Media))
            )
            answer = parts
            if all(part.strip("\"'` .").lower() in NOTHING for part in parts):
                answer = ()
            if self._answer is None:
                self._answer, self._shown = answer, _shown(output)
                if len(content) == 1 and isinstance(content[0], Text):
                    self._text = content[0].text
                else:
                    self._text = None
            elif answer != self._answer:
                self.may_be = False
                self._targets.clear()
                self._ids.clear()
                return
        self._ids.add(sample.id)
        if len(self._targets) < 2:
            self._targets.add(repr(sample.target))

    @property
    def answers(self) -> int:
        """The number of samples with the same answer; 0 if the data can explain it."""
        if not self.may_be or self._answer is None:
            return 0
        is_empty = not self._answer
        is_asked_for = self._targets != {repr(None)} and len(self._targets) == 1
        if is_asked_for and is_empty:
            [target] = self._targets
            text = target.strip("\"'")
            is_asked_for = text.lower() in NOTHING
        if is_asked_for:
            return 0

        count = len(self._ids)
        least = LEAST_EMPTY if is_empty else LEAST
        return count if count >= least else 0

    def to_plain(self) -> dict[str, int]:
        """Return the count for `summary.json`; empty if answers differ."""
        return {"same_answers": self.answers} if self.answers else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a warning for the notes of the run."""
        if not self.answers:
            return
        if not self._answer:
            yield (
                f"warning: {task}: {model} said nothing ({self._shown}) to any of {self.answers} samples: look at a"
                " prompt and at how the reply is read before trusting the number"
            )
        else:
            yield (
                f"warning: {task}: {model} gave all {self.answers} samples the same answer ({self._shown}), whatever"
                " they ask"
            )


def _content(part: Part) -> str:
    """Return the content of a part as text, for comparison."""
    if isinstance(part, Text):
        return part.text.strip()
    if isinstance(part, Json):
        return json.dumps(part.value, sort_keys=True, default=str)
    if isinstance(part, Media):
        return part.digest
    return repr(part)


def _shown(output: Output) -> str:
    """Return the first answer in a short form."""
    first = output.candidates[0]
    if first.media and not first.text:
        return f"one {first.media[0].kind}"
    return shorten(first.text)
