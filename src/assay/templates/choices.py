"""Lettered choices: a question with its options, in the layouts of well-known benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import (
    Prompt,
    Sample,
    TemplateError,
    UsageError,
    nearest,
    without_letters,
)
from ..registry import templates
from .built import target_text, turn
from .jinja import LETTERS, compiled
from .plain import Question, question_text

DIRECT = "Answer with the letter of the correct option only."
STEP_BY_STEP = 'Think step by step. Then write the letter of the correct option on the last line, as "{prefix} X".'


Layout = Callable[[Sequence[str], Sequence[str]], str]
"""A function that formats option letters and option texts as one text."""


def _lettered(
    before: str,
    after: str,
    *,
    between: str = "\n",
    head: str = "",
) -> Layout:
    def layout(
        letters: Sequence[str],
        options: Sequence[str],
    ) -> str:
        pairs = zip(letters, options, strict=False)
        return head + between.join(
            [f"{before}{letter}{after}{option}" for letter, option in pairs]
        )

    return layout


LAYOUTS: Mapping[str, Layout] = {
    "lines": _lettered("", ". "),
    "parentheses": _lettered("(", ") "),
    "brackets": _lettered("", ") "),
    "colons": _lettered("", ": "),
    "inline": _lettered("(", ") ", between=" "),
    "options_block": _lettered("", ". ", head="Options:\n"),
    "bullets": lambda letters, options: "\n".join(
        [f"- {option}" for option in options]
    ),
}
"""Layouts of options by name.

Options are written as `A. x`, `(A) x`, `A) x` or `A: x` on separate lines, in one line,
after the heading `Options:`, or as bullets without letters.
"""


@templates.register("choices")
@dataclass(frozen=True)
class Choices:
    """A question with lettered options, as one user turn. Media come first."""

    layout: str = "lines"
    instruction: str | None = None
    """Text after the options. By default it requests the letter; with `cot`, steps and then the letter."""
    letters: str | Sequence[str] = LETTERS
    """The letters or labels shown before the options. The target stays `A`, `B`, …; the
    scorer translates the model's label.
    """
    cot: bool = False
    answer_prefix: str = "Answer:"
    """The text before the letter in a worked answer. It ends the prompt if `complete` is set."""
    question_prefix: str = ""
    hint: str | None = None
    """A column whose text is shown before the question, if the row has it."""
    complete: bool = False
    """Whether the prompt is a completion that ends with `answer_prefix`, without chat
    template, instead of a user turn.
    """
    answer: str | None = None
    """Jinja text of the answer that ends a solved example; by default the letter."""

    def __post_init__(self) -> None:
        check_layout(self.layout, "template 'choices'")
        object.__setattr__(self, "letters", tuple(self.letters))
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    def __call__(self, sample: Sample) -> Prompt:
        pieces = [
            self._question(sample),
            list_options(self.layout, self.labels(sample), sample.choices),
        ]
        if self.complete:
            pieces.append(self.answer_prefix)
        elif instruction := self._instruction():
            pieces.append(instruction)
        text = "\n".join([piece for piece in pieces if piece])
        return Prompt((turn("" if self.complete else "user", sample, text),))

    def solution(self, sample: Sample) -> str:
        """Return the answer at the end of a solved example: the letter. With `cot`, the
        answer prefix comes before it.
        """
        if self.answer is not None:
            return compiled(self.answer, "template, key `answer`")(sample)
        letter = self.labels(sample)[target_index(sample)]
        if self.cot and not self.complete:
            return f"{self.answer_prefix} {letter}"
        return letter

    def labels(self, sample: Sample) -> Sequence[str]:
        """Return one label per option."""
        return labels_for(sample, self.letters)

    def _question(self, sample: Sample) -> str:
        text = f"{self.question_prefix}{question_text(sample)}"
        if self.hint:
            hint = sample.fields.get(self.hint)
        else:
            hint = None
        if isinstance(hint, str) and hint.strip():
            return f"Hint: {hint}\n{text}"
        return text

    def _instruction(self) -> str:
        if self.instruction is not None:
            return self.instruction
        if self.cot:
            return STEP_BY_STEP.format(prefix=self.answer_prefix)
        return DIRECT


def list_options(
    layout: str,
    labels: Sequence[str],
    options: Sequence[str],
) -> str:
    """Return options as text in a layout. If the layout adds letters, those in options such as `A.

    Paris` are removed.
    """
    if layout != "bullets":
        options = without_letters(options)
    return LAYOUTS[layout](labels, options)


def check_layout(layout: str, where: str) -> None:
    """Raise if a layout does not exist."""
    if layout not in LAYOUTS:
        close = nearest(layout, LAYOUTS)
        hint = f"did you mean {close!r}? " if close else ""
        fix = f"{hint}known layouts: {', '.join(LAYOUTS)}"
        raise UsageError(
            f"unknown layout {layout!r}",
            where=where,
            fix=fix,
        )


def labels_for(
    sample: Sample,
    letters: Sequence[str],
) -> Sequence[str]:
    """Return one label per option of the sample. Raise if there are no options or too many."""
    count = len(sample.choices)
    if not count:
        raise TemplateError(
            "the sample has no choices",
            where=f"sample {sample.id!r}",
            fix="name the columns that hold them, as in `columns: {choices: options}`",
        )
    if count > len(letters):
        raise TemplateError(
            f"{count} choices but only {len(letters)} letters",
            where=f"sample {sample.id!r}",
            fix="give the template more `letters`",
        )
    return letters[:count]


def target_index(sample: Sample) -> int:
    """Return the index of the right option. The target is a letter or the text of an option."""
    target: Any = target_text(sample)
    if isinstance(target, str):
        answer = target.strip()
        letters = list(LETTERS[: len(sample.choices)])
        if answer.upper() in letters:
            return letters.index(answer.upper())
        if answer in sample.choices:
            return sample.choices.index(answer)
    raise TemplateError(
        f"the target {target!r} is none of the {len(sample.choices)} choices",
        where=f"sample {sample.id!r}",
        fix="the target of a choice question is a letter from A on",
    )


@templates.register("by_row")
@dataclass(frozen=True)
class ByRow:
    """A question with lettered options, or the question alone if the row has no options."""

    def __call__(self, sample: Sample) -> Prompt:
        return (_CHOICES if sample.choices else _QUESTION)(sample)

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example: the letter if the row has options, otherwise the target."""
        return (_CHOICES if sample.choices else _QUESTION).solution(sample)


_CHOICES, _QUESTION = Choices(), Question()
