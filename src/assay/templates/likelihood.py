"""Templates that score the likelihood of given texts: options, a last word, a whole
document, or letters after a prompt.

The prompt before the scored text (the context) is a completion, with role `""`. Each
scored text starts with the space that separates it from the context, as tokenizers of
causal models expect.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..core import (
    Message,
    Prompt,
    Sample,
    TemplateError,
    Text,
    UsageError,
    generation_role,
    shorten,
    without_letters,
)
from ..core.errors import UnfitTemplate
from ..registry import templates
from .build import build_template
from .built import BuiltTemplate, target_text, turn
from .choices import check_layout, labels_for, list_options, target_index
from .jinja import LETTERS
from .plain import question_text


@templates.register("choice_likelihood")
@dataclass(frozen=True)
class ChoiceLikelihood:
    """Compares options by likelihood: their letters after a list of the options, or their texts after the question."""

    continuation: Literal["letter", "text"] = "letter"
    layout: str = "lines"
    show_choices: bool | None = None
    """Whether the context lists the options. By default it does so only for letters."""
    question_prefix: str = "Question: "
    answer_prefix: str = "Answer:"
    """The end of the context. With `""` each option continues the question itself, as in sentence completion."""
    letters: str | Sequence[str] = LETTERS

    def __post_init__(self) -> None:
        check_layout(self.layout, "template 'choice_likelihood'")
        object.__setattr__(self, "letters", tuple(self.letters))
        _check_weighed(
            self.continuation,
            ("letter", "text"),
            "template 'choice_likelihood', key `continuation`",
        )

    def __call__(self, sample: Sample) -> Prompt:
        labels = labels_for(sample, self.letters)
        pieces = [f"{self.question_prefix}{question_text(sample)}"]
        if (
            self.continuation == "letter"
            if self.show_choices is None
            else self.show_choices
        ):
            pieces.append(list_options(self.layout, labels, sample.choices))
        if self.answer_prefix:
            pieces.append(self.answer_prefix)
        if self.continuation == "letter":
            weighed = labels
        else:
            weighed = without_letters(sample.choices)
        return _weigh(sample, "\n".join(pieces), weighed)

    def solution(self, sample: Sample) -> str:
        """Return the answer that ends a solved example: the letter or text of the right option, as scored."""
        index = target_index(sample)
        if self.continuation == "text":
            return without_letters(sample.choices)[index]
        return labels_for(sample, self.letters)[index]


@templates.register("likelihood_of")
@dataclass(frozen=True)
class LikelihoodOf:
    """Scores the likelihood of one text: the last word of a passage (LAMBADA), or the target after the question."""

    what: Literal["last_word", "target"] = "last_word"
    column: str | None = None
    """The column with the text; the question by default."""

    def __post_init__(self) -> None:
        _check_weighed(
            self.what,
            ("last_word", "target"),
            "template 'likelihood_of', key `what`",
        )

    def __call__(self, sample: Sample) -> Prompt:
        text = text_of(sample, self.column).rstrip()
        if self.what == "target":
            return _weigh(sample, text, [str(target_text(sample))])
        pieces = text.rsplit(maxsplit=1)
        if len(pieces) < 2:
            raise TemplateError(
                f"a text of one word has no context to weigh its last word in: {shorten(text)}",
                where=f"sample {sample.id!r}",
            )
        return _weigh(sample, pieces[0], [pieces[1]])

    def solution(self, sample: Sample) -> str:
        """Return the answer that ends a solved example: the continuation that would be scored."""
        (continuation,) = self(sample).continuations or ("",)
        return continuation.strip()


@templates.register("rolling")
@dataclass(frozen=True)
class Rolling:
    """Scores the likelihood of a whole text from its first token, for perplexity."""

    column: str | None = None
    """The column with the text; the question by default."""

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt(
            (Message("", (Text(text_of(sample, self.column)),)),), rolling=True
        )


def text_of(
    sample: Sample,
    column: str | None,
) -> str:
    """Return the text in a column of the row; the question if no column is named."""
    if column is None:
        return question_text(sample)
    value: Any = sample.fields.get(column)
    if isinstance(value, str):
        return value
    names = ", ".join(sorted(map(str, sample.fields))) or "none"
    raise TemplateError(
        f"the column {column!r} has no text"
        if column in sample.fields
        else f"there is no column {column!r}",
        where=f"sample {sample.id!r}",
        fix=f"the row has the columns: {names}",
    )


def _check_weighed(
    what: str,
    allowed: tuple[str, str],
    where: str,
) -> None:
    if what not in allowed:
        raise UsageError(
            f"cannot weigh {what!r}",
            where=where,
            fix=f"use {allowed[0]!r} or {allowed[1]!r}",
        )


def _weigh(
    sample: Sample,
    context: str,
    texts: Sequence[str],
) -> Prompt:
    continuations = tuple(text if text[:1].isspace() else f" {text}" for text in texts)
    return Prompt((turn("", sample, context),), continuations=continuations)


@templates.register("weighed_letters")
@dataclass(frozen=True)
class WeighedLetters:
    """Lets another template write the prompt, and then scores the letter of each option by likelihood.

    The task's own text, turns, system text and media are kept. The letter is scored
    where the model would write it: in the model's turn of the chat template, after the
    given beginning of its answer, or at the end of a text to continue.
    """

    of: Any = None
    """The template of the question. By default it is that of `choice_likelihood`, or a
    chat turn for rows with media.
    """
    _inner: BuiltTemplate = field(
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        inner = build_template(
            self.of,
            kind="choice",
            where="template 'weighed_letters', key `of`",
        )
        object.__setattr__(self, "_inner", inner)

    @property
    def source(self) -> str:
        """A text with everything that determines the prompts of the inner template."""
        return self._inner.source

    def __call__(self, sample: Sample) -> Prompt:
        """Return the prompt of the inner template with a continuation for each letter."""
        if self.of is None and not sample.media:
            return _COMPLETION(sample)
        prompt = self._inner.bare(sample)
        if prompt.continuations is not None:
            return prompt  # It has its own continuations.
        labels = self._labels(sample)
        _check_shown(sample, prompt, labels)
        blank = " " if _continues(prompt) else ""
        return replace(
            prompt, continuations=tuple(f"{blank}{label}" for label in labels)
        )

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example: the letter of the right option."""
        return self._labels(sample)[target_index(sample)]

    def _labels(self, sample: Sample) -> Sequence[str]:
        labels = getattr(self._inner.make, "labels", None)
        return labels(sample) if callable(labels) else labels_for(sample, LETTERS)


def _continues(prompt: Prompt) -> bool:
    """Return True if the letter must be separated by a space.

    This is so if it continues a completion or the beginning of an answer, and that text
    does not end with white space.
    """
    last = prompt.messages[-1]
    if last.parts is None or last.role not in ("", generation_role(prompt.messages)):
        return False
    return not last.text[-1:].isspace()


def _check_shown(
    sample: Sample,
    prompt: Prompt,
    labels: Sequence[str],
) -> None:
    """Raise if the prompt does not show the options, without which letters have no meaning."""
    text = "\n".join(
        message.text for message in prompt.messages if message.parts is not None
    )
    lettered = all(
        re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) for label in labels
    )
    if not lettered and not all(choice in text for choice in sample.choices):
        raise UnfitTemplate(
            "the prompt does not show the options, so their letters cannot be weighed after it",
            where=f"sample {sample.id!r}",
            fix="show them, as in `{{ letters[0] }}. {{ choices[0] }}`, or take --template choice_likelihood",
        )


_COMPLETION = ChoiceLikelihood()
