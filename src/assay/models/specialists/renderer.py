"""Renderer: draws the text of the prompt with Pillow.

It is a baseline, not a model: an image generator cannot write more legibly than this.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Output, Request
from ...media import image_from
from .base import DRAWS, Ranges, Specialist, only_text

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont


QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
MARGIN = 16


@dataclass
class Renderer(Specialist):
    """Draws black letters on white: the quoted part of the prompt, or all of it."""

    abilities = DRAWS
    label: ClassVar[str] = "renderer"
    ranges: ClassVar[Ranges] = {"letter_pixels": (6, 200), "letters_per_line": (1, 200)}
    letter_pixels: int = 32
    letters_per_line: int = 28

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the version of Pillow, which also contains the font."""
        return {
            "renderer": f"pillow {metadata.version('pillow')}",
            "letter_pixels": self.letter_pixels,
            "letters_per_line": self.letters_per_line,
        }

    def _start(self) -> "FreeTypeFont | ImageFont":
        """Load the font included in Pillow."""
        from PIL import ImageFont

        return ImageFont.load_default(size=self.letter_pixels)

    def _answer(self, request: Request, index: int) -> Output:
        """Draw the quoted text of the prompt, or all of it, black on white."""
        import textwrap

        from PIL import Image, ImageDraw

        prompt_text = only_text(request)
        quoted = QUOTED.findall(prompt_text)
        lines = [
            line
            for text in quoted or [prompt_text]
            for line in textwrap.wrap(text, self.letters_per_line)
        ]
        text = "\n".join(lines)
        left, top, right, bottom = ImageDraw.Draw(
            Image.new("L", (1, 1))
        ).multiline_textbbox(
            (0, 0),
            text,
            self._engine,
        )
        size = (int(right - left) + 2 * MARGIN, int(bottom - top) + 2 * MARGIN)
        image = Image.new("L", size, 255)
        ImageDraw.Draw(image).multiline_text(
            (MARGIN - left, MARGIN - top),
            text,
            fill=0,
            font=self._engine,
        )
        return Output.of(image_from(image))
