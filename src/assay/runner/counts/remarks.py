"""Notes about the answers of one task × model in addition to scores: cut texts, missing media, identical answers.

A run calls `Remarks.count` for each new answer and `count_stored` for each answer in the journal. `Remarks` passes the
answer to one counter for each kind of note. At the end of the run, `Remarks.lines` yields their notes, and `to_plain`
returns their counts for `summary.json`:

    qa: 3 prompts were cut by 1,204 tokens in all to fit the context of m        Cuts
    qa: 10 answers of m had reasoning, which is kept apart and not scored        ReasonedAnswers
    warning: qa: m gave all 10 samples the same answer ('A'), whatever they ask  Sameness

A badly configured model may give the same answer to every sample, or none at all. Its score may look plausible,
especially if a judge or a lenient scorer reads such answers, so the notes of the run mention it. If all targets are the
same, the same answer may be right. As soon as two answers differ, nothing more is compared.
"""

import json
from collections.abc import Callable, Iterator, Sequence

from ...core import Candidate, Json, Media, Output, Sample, Text, shorten
from ...core.errors import plural
from ...core.protocols import Template
from ...core.reasoning import unread_marks_of
from ...datasets.choice_order import weighs_texts
from ...store import Answered
from ..scoring.scoring import Scoring
from .leaks import Leaks
from .spelling import Spelling

AnswerKey = tuple[str, int, int]
"""Identifies an answer: the id of its sample, epoch and round."""
LEAST_SAME_ANSWERS = 10
"""With fewer samples, identical answers may be a coincidence and are not reported."""
LEAST_EMPTY_ANSWERS = 2
"""With fewer samples, a model that never answers is not reported."""
LEAST_TARGETS = 5
"""With fewer samples, identical targets are not reported."""
MOST_NOTES = 50
"""Maximum number of different notes that are counted for one task × model."""
MOST_MARKS = 3
"""At most this many notes mention marks in answers that look like unknown reasoning marks."""
NOTHING = frozenset({"", "null", "none"})
"""Texts that mean "no answer", in lower case and without quotes."""


class Remarks:
    """Collects all notes about the answers of a task × model, from one counter per kind of note."""

    def __init__(
        self,
        leaks: Leaks | None = None,
        missing: "MissingKinds | None" = None,
        targets: "SameTargets | None" = None,
        spelling: Spelling | None = None,
    ) -> None:
        self._cuts = Cuts()
        self._reasoned = ReasonedAnswers()
        self._sameness = Sameness()
        self._targets = targets
        self.leaks = leaks or Leaks()
        self._missing = missing or MissingKinds()
        self._notes = ReplyNotes()
        self._spelling = spelling or Spelling()

    @classmethod
    def of(
        cls,
        scorings: Sequence[Scoring],
        produces: Sequence[str],
        targets: "SameTargets | None" = None,
    ) -> "Remarks":
        """Create the counters for a task with these scorers.

        `produces` names the kinds of media that answers need.
        """
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
        """Count an answer from the journal. Its text is only read while all answers so far are equal."""
        key = (sample.id, epoch, round)
        self._cuts.count_stored(key, answer)
        self._notes.count(key, answer.remarks.notes)
        self._reasoned.count_stored(key, answer)
        if self._sameness.all_equal and not answer.failed:
            self._sameness.count(sample, read(answer))
        self._count_target(sample, epoch, round)

    def _count_target(
        self,
        sample: Sample,
        epoch: int,
        round: int,
    ) -> None:
        """Count the target of a sample at its first answer. Repeats and later rounds have the same target."""
        if epoch > 0 or round > 0:
            return
        self._spelling.count_target(sample)
        if self._targets is not None and self._targets.all_equal:
            self._targets.count(sample)

    @property
    def cut_answers(self) -> int:
        """Number of answers that ended because of `max_tokens`."""
        return self._cuts.by_length

    @property
    def reads_answers(self) -> bool:
        """True while all answers so far are equal. The texts of journaled answers are needed only then."""
        return self._sameness.all_equal

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
        if self._targets is not None:
            yield from self._targets.lines(task)
        yield from self.leaks.lines(task)
        yield from self._missing.lines(task, model)
        yield from self._notes.lines(task, model)
        yield from self._spelling.lines(task)


class Cuts:
    """Counts the truncated prompts and answers of one task × model. Each answer is counted once.

    Prompts are cut to fit a model's context, and answers by the context or by `max_tokens`. Models report
    `truncated_tokens` and `answer_room` in the details of an output, and `length` as a stop reason.
    """

    def __init__(self) -> None:
        self._prompts: dict[AnswerKey, int] = {}
        """Number of tokens that were cut from each truncated prompt."""
        self._squeezed: set[AnswerKey] = set()
        """Answers that the model's context ended before `max_tokens`."""
        self._by_length: dict[AnswerKey, int] = {}
        """Number of candidates of an answer that ended because of `max_tokens`."""

    def count(self, key: AnswerKey, output: Output) -> None:
        """Count a new answer if it or its prompt was truncated."""
        reasons = [candidate.stop_reason for candidate in output.candidates]
        if output.details or "length" in reasons:
            details = output.details
            tokens = details.get("truncated_tokens")
            room = details.get("answer_room")
            self._note(key, tokens, room, reasons.count("length"))

    def count_stored(
        self,
        key: AnswerKey,
        answer: Answered,
    ) -> None:
        """Count an answer in the journal if it or its prompt was truncated."""
        remarks = answer.remarks
        self._note(
            key,
            remarks.truncated_tokens,
            remarks.answer_room,
            remarks.cut_answers,
        )

    def _note(
        self,
        key: AnswerKey,
        tokens: object,
        room: object,
        cut: int,
    ) -> None:
        # A user's model may put anything into its details.
        if isinstance(tokens, int) and tokens > 0:
            self._prompts[key] = tokens
        if isinstance(room, int):
            self._squeezed.add(key)
        if cut:
            self._by_length[key] = cut

    @property
    def by_length(self) -> int:
        """Number of answers that ended because of `max_tokens`."""
        return sum(self._by_length.values())

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if nothing was truncated."""
        counted = {
            "truncated_prompts": len(self._prompts),
            "truncated_tokens": sum(self._prompts.values()),
            "squeezed_answers": len(self._squeezed),
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
        if self._squeezed:
            answers = plural(len(self._squeezed), "answer")
            yield (
                f"{task}: {answers} ended early: prompt and max_tokens together"
                f" exceed the context of {model}"
            )


class ReasonedAnswers:
    """Counts answers that contain reasoning, which is not scored. Each answer is counted once."""

    def __init__(self) -> None:
        self._answers: set[AnswerKey] = set()
        self._unread: dict[tuple[str, str], set[AnswerKey]] = {}
        """Answers that begin with unknown marks that may be those of reasoning, by the marks."""

    def count(
        self,
        key: AnswerKey,
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
        key: AnswerKey,
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


class Sameness:
    """Checks whether a model gives the same answer to every sample of a task."""

    def __init__(self) -> None:
        self.all_equal = True
        """True as long as all answers so far are equal."""
        self._first: tuple[str, ...] | None = None
        """Content of the first answer, with which all others are compared; empty if it means "no answer"."""
        self._first_text: str | None = None
        """The unchanged text of the first answer; None if it has parts other than text."""
        self._first_label = ""
        """The first answer as notes show it."""
        self._targets: set[str] = set()
        """The first two different targets of the samples."""
        self._ids: set[str] = set()

    def count(self, sample: Sample, output: Output) -> None:
        """Count an answer. Failures, refusals and likelihoods are ignored."""
        if not self.all_equal or not _is_answer(output):
            return
        for candidate in output.candidates:
            if (
                self._first_text is not None
                and _only_text(candidate) == self._first_text
            ):
                continue
            content = _content(candidate)
            if self._first is None:
                self._first = content
                self._first_text = _only_text(candidate)
                self._first_label = _format_answer(output)
            elif content != self._first:
                self.all_equal = False
                self._targets.clear()
                self._ids.clear()
                return
        self._ids.add(sample.id)
        if len(self._targets) < 2:
            self._targets.add(repr(sample.target))

    @property
    def answers(self) -> int:
        """Number of samples, if all answers are the same and there are enough to be suspicious; otherwise 0."""
        if not self.all_equal or self._first is None or self._is_explained_by_targets():
            return 0
        least = LEAST_SAME_ANSWERS if self._first else LEAST_EMPTY_ANSWERS
        count = len(self._ids)
        return count if count >= least else 0

    def _is_explained_by_targets(self) -> bool:
        """Return True if all samples have the same target, so that the same answer to all may be right.

        Empty answers may only be right if that target means "no answer".
        """
        if len(self._targets) != 1 or self._targets == {repr(None)}:
            return False
        if self._first:
            return True
        [target] = self._targets
        return target.strip("\"'").lower() in NOTHING

    def to_plain(self) -> dict[str, int]:
        """Return the number of identical answers for `summary.json`; empty if answers differ."""
        return {"same_answers": self.answers} if self.answers else {}

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a warning if all answers are the same."""
        count = self.answers
        if not count:
            return
        if not self._first:
            yield (
                f"warning: {task}: {model} said nothing ({self._first_label}) to any of {count} samples: look at a"
                " prompt and at how the reply is read before trusting the number"
            )
        else:
            yield (
                f"warning: {task}: {model} gave all {count} samples the same answer ({self._first_label}), whatever"
                " they ask"
            )


def _is_answer(output: Output) -> bool:
    """Return True if an output is a real answer: no failure, no refusal, and not only files of an agent program."""
    if output.error is not None or not output.candidates:
        return False
    if output.stop_reason == "content_filter":
        return False  # counted as a refusal
    # An agent program may leave files instead of words.
    return "exit_code" not in output.details or bool(output.text)


def _only_text(candidate: Candidate) -> str | None:
    """Return the text of a candidate that has a single text part; None for any other."""
    if len(candidate.parts) == 1 and type(candidate.parts[0]) is Text:
        return candidate.parts[0].text
    return None


def _content(candidate: Candidate) -> tuple[str, ...]:
    """Return the parts of a candidate as texts, for comparison; empty if they mean "no answer".

    Reasoning is not part of an answer.
    """
    texts = []
    for part in candidate.parts:
        if isinstance(part, Text):
            texts.append(part.text.strip())
        elif isinstance(part, Json):
            texts.append(json.dumps(part.value, sort_keys=True, default=str))
        elif isinstance(part, Media):
            texts.append(part.digest)
    if all(text.strip("\"'` .").lower() in NOTHING for text in texts):
        return ()
    return tuple(texts)


def _format_answer(output: Output) -> str:
    """Return the first answer shortened for a note."""
    first = output.candidates[0]
    if first.media and not first.text:
        return f"one {first.media[0].kind}"
    return shorten(first.text)


class SameTargets:
    """Checks whether all samples of a task have the same target, so that one constant answer would score 1.

    `can_shuffle` returns True if `--shuffle_choices` works for a sample, so that the
    note can suggest it.
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
        self.all_equal = True
        """True as long as all targets so far are equal."""

    def count(self, sample: Sample) -> None:
        """Count the target of a sample. Call it once for each sample."""
        last = self._last
        if sample.target is None or (last and sample.target != last.target):
            self.all_equal = False
            return
        self._last = sample
        self._samples += 1

    def lines(self, task: str) -> Iterator[str]:
        """Yield a note if all samples have the same target."""
        last = self._last
        if last is None or not self.all_equal or self._samples < LEAST_TARGETS:
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


class MissingKinds:
    """Counts answers that lack a required kind of medium, for example if a model never draws."""

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


def _has_medium(candidate: Candidate, kind: str) -> bool:
    return any(medium.kind == kind for medium in candidate.media)


class ReplyNotes:
    """Counts the notes in the details of answers, by the text of the note."""

    def __init__(self) -> None:
        self._answers: dict[str, set[AnswerKey]] = {}

    def count(
        self,
        key: AnswerKey,
        notes: object,
    ) -> None:
        """Count the notes in the details of one answer. Values that are not a list of texts are ignored."""
        if not isinstance(notes, (list, tuple)):
            return
        for note in notes:
            if isinstance(note, str) and (
                note in self._answers or len(self._answers) < MOST_NOTES
            ):
                self._answers.setdefault(note, set()).add(key)

    def lines(self, task: str, model: str) -> Iterator[str]:
        """Yield a line for each note with the number of its answers."""
        for note, keys in self._answers.items():
            answers = plural(len(keys), "answer")
            yield f"{task}: {answers} of {model}: {note}"
