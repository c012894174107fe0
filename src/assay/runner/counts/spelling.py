"""Count answers that differ from their target only in spelling, and targets that are lists written as text.

Text scorers ignore only invisible characters (`scorers.plain_text`). If case,
punctuation or the form of a number decides between right and wrong, a note at the end
of the run says so. Scorers with an official rule, such as BLEU and ANLS, compare
characters unchanged. For these, answers in another Unicode form than their target are
counted.
"""

import ast
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from ...core import Output, Sample
from ...core.errors import plural
from ...scorers.answers import accepted, without_reasoning
from ...scorers.plain_text import plain_text
from ...scorers.text.normalize_text import squad_words
from ..scoring.scoring import Scoring

LONGEST_NUMBER = 40
_TYPOGRAPHIC = str.maketrans("‘’‚“”„«»‐‑‒–—−", '\'\'\'"""""------')
"""Translates typographic quotation marks, hyphens, dashes and the minus sign to ASCII."""


class Spelling:
    """Counts answers that a scorer for exact text rejects only because of spelling, such as case or punctuation."""

    def __init__(self, scorings: Sequence[Scoring] = ()) -> None:
        names = [
            scoring.name
            for scoring in scorings
            if getattr(scoring.scorer, "compares_text", False)
        ]
        self._scorer = names[0] if names else ""
        """Name of the first scorer that compares text; empty if there is none."""
        official = [
            scoring.name
            for scoring in scorings
            if getattr(scoring.scorer, "keeps_unicode_form", False)
        ]
        self._official = official[0] if official else ""
        """Name of the first scorer whose official rule compares characters unchanged; empty if there is none."""
        self._other_forms = 0
        self._loose = 0
        self._unicode = 0
        self._wide = 0
        self._numbers = 0
        self._listed = 0
        self._reasoned_targets = 0
        self._example = ""

    def count(self, sample: Sample, output: Output) -> None:
        """Count an answer that differs from its target only in spelling."""
        if output.error is not None or sample.turns:
            return
        if self._official:
            self._count_form(sample, output.text)
        if self._scorer:
            self._count_equal(sample, output.text.strip())

    def _count_form(self, sample: Sample, answer: str) -> None:
        """Count an answer if it is in plain Unicode form and a target is not, or the reverse."""
        is_plain = plain_text(answer) == answer
        targets = accepted(sample)
        are_plain = all(plain_text(text) == text for text in targets)
        if targets and is_plain != are_plain:
            self._other_forms += 1

    def _count_equal(self, sample: Sample, answer: str) -> None:
        """Count an answer that equals a target except for its spelling."""
        if answer == sample.target or not answer:
            return
        targets = [target.strip() for target in accepted(sample)]
        if answer in targets:
            return
        plain = plain_text(answer)
        plain_targets = [plain_text(target) for target in targets]
        if plain in plain_targets:
            self._unicode += 1
        elif _narrow(plain) in map(_narrow, plain_targets):
            self._wide += 1
        elif any(are_equal_numbers(plain, target) for target in plain_targets):
            self._numbers += 1
        elif self._scorer == "exact_match" and _is_loosely_equal(plain, plain_targets):
            self._loose += 1

    def count_target(self, sample: Sample) -> None:
        """Count a target that is a list written as text, or that has reasoning before the answer."""
        target = sample.target
        if isinstance(target, str) and without_reasoning(target) != target:
            self._reasoned_targets += 1
        if self._scorer and isinstance(target, str) and is_list_text(target):
            self._listed += 1
            self._example = self._example or target

    def to_plain(self) -> dict[str, int]:
        """Return the counts for `summary.json`; empty if there is nothing to report."""
        counts = {
            "answers_in_another_unicode_form": self._unicode,
            "answers_in_another_width": self._wide,
            "answers_equal_as_numbers": self._numbers,
            "answers_equal_but_for_case_or_punctuation": self._loose,
            "answers_in_another_unicode_form_than_targets": self._other_forms,
            "targets_that_are_lists_in_text": self._listed,
            "targets_with_reasoning": self._reasoned_targets,
        }
        return {name: count for name, count in counts.items() if count}

    def lines(self, task: str) -> Iterator[str]:
        """Yield notes on answers that are wrong only because of their spelling."""
        if self._unicode:
            yield (
                f"{task}: {_answers(self._unicode)} a target only in another Unicode form (NFC, zero-width or"
                " no-break characters); scorers of text count that as equal"
            )
        if self._wide:
            yield (
                f"{task}: {_answers(self._wide)} a target but for full-width, typographic or other"
                f" compatibility forms (NFKC), which {self._scorer} counts as different"
            )
        if self._numbers:
            yield (
                f"{task}: {_answers(self._numbers)} a target as numbers but not as text (3 and 3.0);"
                " the scorer `number` compares numbers"
            )
        if self._loose:
            yield (
                f"{task}: {_answers(self._loose)} a target but for case, punctuation or articles, which exact_match"
                " counts as different; the scorer `quasi_exact` ignores them"
            )
        if self._other_forms:
            answers = plural(self._other_forms, "answer is", "answers are")
            yield (
                f"{task}: {answers} in another Unicode form than the target (NFD, zero-width or no-break characters),"
                f" which the official rule of {self._official} counts as different"
            )
        if self._listed:
            targets = plural(self._listed, "target is", "targets are")
            example = self._example[:60]
            yield (
                f"{task}: {targets} a list written as text ({example}), which counts as one answer;"
                " a JSON list accepts each of its entries"
            )
        if self._reasoned_targets:
            targets = plural(self._reasoned_targets, "target has", "targets have")
            yield (
                f"{task}: {targets} reasoning before the answer, as in <think>…</think>, which is not compared"
            )


def are_equal_numbers(answer: str, target: str) -> bool:
    """Return True if two texts are plain numbers with the same value, such as `3` and `3.0`."""
    if len(answer) > LONGEST_NUMBER or len(target) > LONGEST_NUMBER:
        return False
    try:
        answer_number = Decimal(answer.replace(",", ""))
        target_number = Decimal(target.replace(",", ""))
        return answer_number == target_number
    except InvalidOperation:
        return False


def _is_loosely_equal(
    answer: str,
    targets: Sequence[str],
) -> bool:
    """Return True if an answer equals a target except for case, punctuation and articles."""
    words = squad_words(answer)
    has_target = any(words == squad_words(target) for target in targets)
    return bool(words) and has_target


def is_list_text(target: str) -> bool:
    """Return True if a text is a list of texts or numbers, such as `['x', 'y']`."""
    text = target.strip()
    has_brackets = text.startswith("[") and text.endswith("]")
    if len(text) > 2000 or not has_brackets:
        return False
    try:
        entries = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return bool(entries) and all(isinstance(entry, str) for entry in entries)


def _narrow(text: str) -> str:
    """Replace typographic marks, full-width characters and other compatibility forms in a text (NFKC)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHIC)


def _answers(count: int) -> str:
    """Return the beginning of a note: `1 answer equals` or `5 answers equal`."""
    return plural(count, "answer equals", "answers equal")
