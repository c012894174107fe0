"""Rendered text: whether the requested text can be read in an image by a recogniser with the role `ocr`.

The number depends on the recogniser, so name it with the number. `ocr_text` scores text that is already recognised.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...core import (
    Image,
    Message,
    ModelError,
    Outcome,
    Output,
    Part,
    Prompt,
    Sample,
    Score,
    Text,
)
from ...registry import scorers
from ..answers import accepted, no_target, no_verdict
from ..given_models import GivenModels, ask_model
from .ocr_text import edit_similarity


@scorers.register("rendered_text")
@dataclass(frozen=True)
class RenderedText(GivenModels):
    """`exact`: the text in the image is the target, apart from case and blanks; `ned`: how similar they are, 0 to 1."""

    instruction: str = ""
    """An instruction to the recogniser, sent with the image, if it needs one."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("ocr",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        image = next(
            (medium for medium in output.media if isinstance(medium, Image)), None
        )
        if image is None:
            nothing = {"exact": 0.0, "ned": 0.0}
            return Score(
                nothing,
                Outcome.UNPARSED,
                details={"reason": "no image in the output"},
            )
        parts: tuple[Part, ...] = (image,)
        if self.instruction:
            parts = (image, Text(self.instruction))
        try:
            reply = await ask_model(
                self.models,
                "ocr",
                Prompt((Message("user", parts),)),
            )
        except ModelError as error:
            return no_verdict(str(error))
        return read_score(targets, reply.text)


@scorers.register("read_text")
@dataclass(frozen=True)
class ReadText:
    """The same two numbers for a model that reads images itself, from its answer and the text in the image."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if targets:
            return read_score(targets, output.text)
        return no_target(sample)


def read_score(targets: tuple[str, ...], text: str) -> Score:
    """Return the score against the nearest target.

    Recognisers disagree on blanks and line ends, so neither counts.
    """
    letters = _letters(text)
    expected = [_letters(target) for target in targets]
    similar = max(edit_similarity(target, letters) for target in expected)
    return Score(
        {"exact": float(letters in expected), "ned": similar},
        answer=" ".join(text.split()),
    )


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()
