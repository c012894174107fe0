"""Likelihood of letters after an unchanged prompt: the task's own text, turns, system text and media are kept.

The letter comes where the model would write it: after the chat template's opening of its turn, after an answer that
was begun for it, or at the end of a text to continue.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import Prompt, Sample, generation_role
from ..core.errors import UnfitTemplate
from ..registry import templates
from .build import build_template
from .built import BuiltTemplate
from .choices import labels_for, target_index
from .jinja import LETTERS
from .likelihood import ChoiceLikelihood


@templates.register("weighed_letters")
@dataclass(frozen=True)
class WeighedLetters:
    """Another template's prompt, after which the letter of each option is scored by likelihood."""

    of: Any = None
    """The template of the question. `None` uses the one of `choice_likelihood`, or a chat turn for rows with media."""
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
        """The data on which the prompts of the inner template depend."""
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
        """Return the end of a solved example: the letter of the right option."""
        return self._labels(sample)[target_index(sample)]

    def _labels(self, sample: Sample) -> Sequence[str]:
        labels = getattr(self._inner.make, "labels", None)
        return labels(sample) if callable(labels) else labels_for(sample, LETTERS)


def _continues(prompt: Prompt) -> bool:
    """Return True if the letter continues a text without a space at its end: a completion or a begun answer."""
    last = prompt.messages[-1]
    if last.parts is None or last.role not in ("", generation_role(prompt.messages)):
        return False
    return not last.text[-1:].isspace()


def _check_shown(
    sample: Sample,
    prompt: Prompt,
    labels: Sequence[str],
) -> None:
    """Raise if the prompt does not show the options, because letters would then mean nothing."""
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
