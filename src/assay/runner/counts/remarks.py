"""Notes about the answers of one task × model in addition to scores: cut texts, missing media, identical answers.

Prompts are cut to fit a model's context, and answers by the context or by `max_tokens`. Models report
`truncated_tokens` and `answer_room` in the details of an output, and `length` as a stop reason. Answers from earlier
runs count as well.

A badly configured model may give the same answer to every sample, or none at all. Its score may look plausible,
especially if a judge or a lenient scorer reads such answers, so the notes of the run mention it. If all targets are the
same, the same answer may be right. As soon as two answers differ, nothing more is computed.
"""

import json
from collections.abc import Callable, Iterator, Sequence

from ...core import Candidate, Json, Media, Output, Sample, Text, shorten
from ...core.errors import plural
from ...core.message import Part
from ...core.protocols import Template
from ...core.reasoning import unread_marks_of
from ...datasets.choice_order import weighs_texts
from ...store import Answered
from ..scoring.scoring import Scoring
from .leaks import Leaks
from .spelling import Spelling

Place = tuple[str, int, int]
"""Identifies an answer: sample, epoch and round."""


class Cuts:
    """Counts the truncated prompts and answers of one task × model. Each sample, epoch and round counts once."""

    def __init__(self) -> None:
        self._prompts: dict[Place, int] = {}
        self._answers: set[Place] = set()
        self._by_length: dict[Place, int] = {}
        """Number of candidates that ended because of `max_tokens`, by sample, epoch and round."""

    def count(self, place: Place, output: Output) -> None:
        """Count a new answer if it or its prompt was truncated."""
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
        """Count an answer in the journal if it or its prompt was truncated."""
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
        """Number of answers that ended because of `max_tokens`."""
        return sum(self._by_length.values())

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if nothing was truncated."""
        counted = {
            "truncated_prompts": len(self._prompts),
            "truncated_tokens": sum(self._prompts.values()),
            "squeezed_answers": len(self._answers),
            "cut_answers": self.by_length,
        }
        return {name: number for name, number in counted.items() if number}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield notes with the numbers of truncated prompts and answers."""
        if self._prompts:
            prompts = plural(len(self._prompts), "prompt was", "prompts were")
            tokens = sum(self._prompts.values())
            yield (
                f"{task}: {prompts} cut by {tokens:,} tokens in all"
                f" to fit the context of {model}"
            )
        if self._answers:
            answers = plural(len(self._answers), "answer")
            yield (
                f"{task}: {answers} ended early: prompt and max_tokens together"
                f" exceed the context of {model}"
            )


LEAST = 10
"""Minimum number of samples for which identical answers cannot be a coincidence."""
LEAST_EMPTY = 2
LEAST_TARGETS = 5
"""Minimum number of samples for which identical targets are reported."""
NOTHING = frozenset({"", "null", "none"})
"""Texts that mean "no answer", in lower case and without quotes."""


class SameTargets:
    """Checks whether all samples of a task have the same target, so that one answer to everything scores 1.

    `can_shuffle` says whether `--shuffle_choices` would be accepted for a sample.
    """

    def __init__(
        self,
        can_shuffle: Callable[[Sample], bool],
        template: Template,
    ) -> None:
        self._can_shuffle = can_shuffle
        self._template = template
        self._last: Sample | None = None
        self._samples = 0
        self.may_be = True
        """True as long as all targets so far are equal."""

    def count(self, sample: Sample) -> None:
        """Count the target of a sample. Call it once for each sample."""
        last = self._last
        if sample.target is None or (last and sample.target != last.target):
            self.may_be = False
            return
        self._last = sample
        self._samples += 1

    def lines(self, task: str) -> Iterator[str]:
        """Yield a note if all samples have the same target."""
        last = self._last
        if last is None or not self.may_be or self._samples < LEAST_TARGETS:
            return
        if weighs_texts(self._template, last):
            return
        shuffle = ""
        if len(last.choices) > 1 and self._can_shuffle(last):
            shuffle = "; --shuffle_choices draws another order of the options"
        yield (
            f"{task}: all {self._samples} samples have the target {shorten(last.target)}: one answer to everything"
            f" scores 1{shuffle}"
        )


class Sameness:
    """Checks whether a model gives the same answer to every sample of a task."""

    def __init__(self) -> None:
        self.may_be = True
        """True as long as all answers so far are equal."""
        self._answer: tuple[str, ...] | None = None
        self._text: str | None = None
        """The text of the first answer; None if it has parts other than text."""
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
                self._answer = answer
                self._shown = _format_answer(output)
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
        """The number of samples if all have the same answer; 0 if answers differ, or if equal targets explain it.

        Also 0 if there are too few samples.
        """
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
        """Return the number of identical answers for `summary.json`; empty if answers differ."""
        return {"same_answers": self.answers} if self.answers else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a warning if all answers are the same."""
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
        return json.dumps(
            part.value,
            sort_keys=True,
            default=str,
        )
    if isinstance(part, Media):
        return part.digest
    return repr(part)


def _format_answer(output: Output) -> str:
    """Return the first answer shortened for a note."""
    first = output.candidates[0]
    if first.media and not first.text:
        return f"one {first.media[0].kind}"
    return shorten(first.text)


MOST_NOTES = 50
MOST_MARKS = 3
"""Maximum number of different notes that are counted for one task × model."""


class MissingKinds:
    """Counts answers without a required kind of medium, as from a model that never speaks or draws."""

    def __init__(self, produces: Sequence[str] = ("text",)) -> None:
        media = ("image", "audio", "video")
        self._kinds = tuple(kind for kind in produces if kind in media)
        self._counts: dict[str, int] = {}
        self._answers = 0

    def count(self, output: Output) -> None:
        """Count an answer without a required kind of medium. Failures are ignored."""
        if not self._kinds or output.error is not None or not output.candidates:
            return
        self._answers += 1
        for kind in self._kinds:
            if not all(_has_medium(each, kind) for each in output.candidates):
                self._counts[kind] = self._counts.get(kind, 0) + 1

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if every answer has all required kinds."""
        return {
            f"answers_without_{kind}": count for kind, count in self._counts.items()
        }

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a warning for each kind of medium that is missing in answers."""
        for kind, count in self._counts.items():
            lacking = f"{count} of {self._answers} answers of {model} have no {kind}"
            yield f"warning: {task}: {lacking}, which the task asks for"


class ReplyNotes:
    """Counts the notes in the details of answers, by the text of the note."""

    def __init__(self) -> None:
        self._places: dict[str, set[tuple[str, int, int]]] = {}

    def count(
        self,
        place: tuple[str, int, int],
        notes: object,
    ) -> None:
        """Count the notes of one answer. Its details may contain anything."""
        if not isinstance(notes, (list, tuple)):
            return
        for note in notes:
            if isinstance(note, str) and (
                note in self._places or len(self._places) < MOST_NOTES
            ):
                self._places.setdefault(note, set()).add(place)

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a line for each note with the number of its answers."""
        for note, places in self._places.items():
            answers = plural(len(places), "answer")
            yield f"{task}: {answers} of {model}: {note}"


def _has_medium(candidate: Candidate, kind: str) -> bool:
    return any(medium.kind == kind for medium in candidate.media)


class ReasonedAnswers:
    """Counts answers that contain reasoning, which is not scored. Each answer counts once."""

    def __init__(self) -> None:
        self._answers: set[Place] = set()
        self._unread: dict[tuple[str, str], set[Place]] = {}
        """Answers that begin with unknown marks that may be those of reasoning, by the marks."""

    def count(
        self,
        key: Place,
        output: Output,
    ) -> None:
        """Count a new answer, identified by sample, epoch and round, if it has reasoning or marks that look like it."""
        for candidate in output.candidates:
            if candidate.has_reasoning:
                self._answers.add(key)
            if candidate.verbatim:
                continue
            marks = unread_marks_of(candidate.text)
            if marks is not None:
                self._unread.setdefault(marks, set()).add(key)

    def count_stored(
        self,
        key: Place,
        answer: Answered,
    ) -> None:
        """Count an answer in the journal if it has reasoning."""
        if answer.remarks.has_reasoning:
            self._answers.add(key)

    def to_plain(self) -> dict[str, int]:
        """Return the number of answers with reasoning for `summary.json`; empty if there are none."""
        count = len(self._answers)
        return {"answers_with_reasoning": count} if count else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a note with the number of answers with reasoning."""
        if self._answers:
            answers = plural(len(self._answers), "answer")
            yield f"{task}: {answers} of {model} had reasoning, which is kept apart and not scored"
        for (opening, closing), keys in list(self._unread.items())[:MOST_MARKS]:
            answers = plural(len(keys), "answer begins", "answers begin")
            yield (
                f"{task}: {answers} with {opening}…{closing}, which is scored with the rest;"
                f" if it is reasoning: -a 'think_tags={opening},{closing}'"
            )


class Remarks:
    """All notes about the answers: cuts, reasoning, leaked targets, missing media, identical answers, spelling."""

    def __init__(
        self,
        leaks: Leaks | None = None,
        missing: MissingKinds | None = None,
        targets: SameTargets | None = None,
        spelling: Spelling | None = None,
    ) -> None:
        self.leaks = leaks or Leaks()
        self._missing = missing or MissingKinds()
        self._spelling = spelling or Spelling()
        self._cuts = Cuts()
        self._notes = ReplyNotes()
        self._reasoned = ReasonedAnswers()
        self._sameness = Sameness()
        self._targets = targets

    @classmethod
    def of(
        cls,
        scorings: Sequence[Scoring],
        produces: Sequence[str],
        targets: SameTargets | None = None,
    ) -> "Remarks":
        """Create the notes for the scorers of a task and the kinds of media that its answers should have."""
        return cls(
            Leaks(scorings, produces),
            MissingKinds(produces),
            targets,
            Spelling(scorings),
        )

    def count(
        self,
        sample: Sample,
        epoch: int,
        round: int,
        output: Output,
    ) -> None:
        """Count a new answer in all notes."""
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
        """Count an answer in the journal. Its text is read only as long as all answers so far are equal."""
        self._cuts.count_stored(sample.id, epoch, round, answer)
        self._notes.count((sample.id, epoch, round), answer.remarks.notes)
        self._reasoned.count_stored((sample.id, epoch, round), answer)
        if self._sameness.may_be and not answer.failed:
            self._sameness.count(sample, read(answer))
        self._count_target(sample, epoch, round)

    def _count_target(
        self,
        sample: Sample,
        epoch: int,
        round: int,
    ) -> None:
        """Count the target of a sample, once."""
        if epoch or round:
            return
        self._spelling.count_target(sample)
        if self._targets and self._targets.may_be:
            self._targets.count(sample)

    @property
    def cut_answers(self) -> int:
        """Number of answers that ended because of `max_tokens`."""
        return self._cuts.by_length

    @property
    def reads_answers(self) -> bool:
        """True as long as all answers so far are equal, so that the text of journaled answers must be read."""
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
        """Yield all notes about the answers, for the end of the run."""
        yield from self._cuts.lines(task, model)
        yield from self._reasoned.lines(task, model)
        yield from self._sameness.lines(task, model)
        if self._targets:
            yield from self._targets.lines(task)
        yield from self.leaks.lines(task)
        yield from self._missing.lines(task, model)
        yield from self._notes.lines(task, model)
        yield from self._spelling.lines(task)
