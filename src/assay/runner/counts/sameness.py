"""Sameness: a model that gives every sample the same answer, or says nothing to any, as one does that is wired wrongly.

Its number may look like one, above all where a judge or a lenient scorer reads such answers; so a run says it. Where
all targets are the same, the same answer may be right. It costs nothing once two answers differ.
"""

import json
from collections.abc import Iterator
from typing import Any

from ...core import Json, Media, Output, Sample, Text, shorten

LEAST = 10
"""Samples with one and the same answer that are no coincidence."""
LEAST_EMPTY = 2
LEAST_TARGETS = 5
"""Samples with one and the same target that are worth a line."""
NOTHING = frozenset({"", "null", "none"})
"""What stands where an answer should be; without quotes and case."""


class SameTargets:
    """The one target of all samples of a cell, as long as there is but one: then one answer to everything scores 1."""

    def __init__(self) -> None:
        self._target: Any = None
        self._has_choices = False
        self._samples = 0
        self.may_be = True
        """Whether no two targets differed so far."""

    def count(self, sample: Sample) -> None:
        """Notes the target of a sample; each is to be noted once."""
        if sample.target is None or (self._samples and sample.target != self._target):
            self.may_be = False
            return
        self._target, self._has_choices = sample.target, bool(sample.choices)
        self._samples += 1

    def lines(self, task: str) -> Iterator[str]:
        """For people."""
        if not self.may_be or self._samples < LEAST_TARGETS:
            return
        shuffle = (
            "; --shuffle_choices draws another order of the options"
            if self._has_choices
            else ""
        )
        yield (
            f"{task}: all {self._samples} samples have the target {shorten(self._target)}: one answer to everything"
            f" scores 1{shuffle}"
        )


class Sameness:
    """The one answer to all samples of a cell, as long as there is but one."""

    def __init__(self) -> None:
        self.may_be = True
        """Whether no two answers differed so far."""
        self._answer: tuple[str, ...] | None = None
        self._text: str | None = None
        """The first answer as it came, where it is nothing but text."""
        self._shown = ""
        self._targets: set[str] = set()
        self._ids: set[str] = set()

    def count(self, sample: Sample, output: Output) -> None:
        """Notes an answer; what is no answer, or only weights, says nothing."""
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
                continue  # word for word the first answer: nothing to work out
            parts = tuple(
                _content(part)
                for part in candidate.parts
                if isinstance(part, (Text, Json, Media))
            )
            answer = (
                ()
                if all(part.strip("\"'` .").lower() in NOTHING for part in parts)
                else parts
            )
            if self._answer is None:
                self._answer, self._shown = answer, _shown(output)
                self._text = (
                    content[0].text
                    if len(content) == 1 and isinstance(content[0], Text)
                    else None
                )
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
        """Samples that were given the same answer; 0 where that is no sign of a fault."""
        if not self.may_be or self._answer is None:
            return 0
        is_empty = not self._answer
        least = LEAST_EMPTY if is_empty else LEAST
        is_asked_for = self._targets != {repr(None)} and len(self._targets) == 1
        if is_asked_for and is_empty:
            [target] = self._targets
            is_asked_for = target.strip("\"'").lower() in NOTHING
        return 0 if is_asked_for or len(self._ids) < least else len(self._ids)

    def to_plain(self) -> dict[str, int]:
        """For `summary.json`; empty where answers differ."""
        return {"same_answers": self.answers} if self.answers else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """For people."""
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


def _content(part: Any) -> str:
    if isinstance(part, Text):
        return part.text.strip()
    if isinstance(part, Json):
        return json.dumps(part.value, sort_keys=True, default=str)
    return str(part.digest)


def _shown(output: Output) -> str:
    first = output.candidates[0]
    return (
        f"one {first.media[0].kind}"
        if first.media and not first.text
        else shorten(first.text)
    )
