"""Prompts with media, what they begin with computed once: read, weighed and written.

Whether a model can be run this way is tried when it is loaded, with media made for it: both ways must give the same
numbers. Where they do not, the reason is kept and the model is asked plainly.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Image, Likelihood, Media, Message, Prompt
from ...media import audio_from
from .engine import why_apart
from .generate import Row, Writer, write
from .likelihood import Pair, weigh
from .media_engine import MediaEngine, check_given
from .media_pieces import Piece, marks_of, pieces_of
from .media_prompts import MediaRenderer, placed
from .prefix import Bush, Node, Stretch, grow, lay_out

Plainly = Callable[[Mapping[str, Any], Sequence[int]], Any]
"""The logits of a prompt's tensors and further tokens, as the model itself computes them."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A prompt with its media apart."""

    ids: tuple[int, ...]
    pieces: Sequence[Piece]
    positions: Any
    """Axes by tokens; `None` where they are counted plainly."""

    @property
    def shift(self) -> int:
        """By how much positions after the prompt lie off the plain count."""
        return (
            0
            if self.positions is None
            else int(self.positions.max()) + 1 - len(self.ids)
        )


@dataclass(frozen=True, slots=True)
class Keyed(Pair):
    """A continuation to weigh whose context holds media."""

    keys: tuple[int, ...] = ()

    @property
    def computed(self) -> tuple[int, ...]:
        """What must go through the model, as keys."""
        return self.keys[:-1]


@dataclass(slots=True)
class MediaRow(Row):
    """One answer being written after a prompt of keys."""

    ids: tuple[int, ...] = ()
    """The prompt as token ids."""
    shift: int = 0
    """By how much the positions of what is written lie off the plain count."""

    def words(self) -> Sequence[int]:
        """The prompt as what can be written; the marks of media stand for them."""
        return self.ids


class MediaWriter(Writer):
    """Writes answers after prompts of keys."""

    engine: MediaEngine

    def _step(self) -> None:
        try:
            Writer._step(self)
        finally:
            self.engine.shifts = ()

    def _drafts(self) -> list[list[int]]:
        drafts = Writer._drafts(self)
        self.engine.shifts = [
            getattr(active.row, "shift", 0)
            for active, draft in zip(self.active, drafts, strict=True)
            for _ in range(1 + len(draft))
        ]
        return drafts


class Sharing:
    """One model that sees or hears, with what its prompts have in common computed once."""

    def __init__(
        self, model: Any, renderer: MediaRenderer, rows: int, plainly: Plainly
    ) -> None:
        self.model = model
        self.renderer = renderer
        self.marks = marks_of(model.config)
        self.engine = MediaEngine(model)
        self.engine.rows = rows
        self.plain_because = self._why_not(plainly)
        """Why beginnings are not shared; `None` where they are."""

    def read(self, inputs: Mapping[str, Any]) -> Marked:
        """A prompt's tensors taken apart; needs no device."""
        pieces = pieces_of(inputs, self.marks)
        positions = _positions(self.model, inputs) if pieces else None
        return Marked(tuple(inputs["input_ids"][0].tolist()), pieces, positions)

    def weigh(
        self, prompts: Sequence[Marked], texts: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[Likelihood]]:
        """The likelihoods of the continuations of each prompt, given as token ids."""
        with self._handling(prompts):
            pairs = [
                Keyed(
                    (*prompt.ids, *ids),
                    len(prompt.ids),
                    (*keys, *self._after(prompt, ids)),
                )
                for prompt, continuations in zip(prompts, texts, strict=True)
                for keys in [self._keys(prompt)]
                for ids in continuations
            ]
            found = iter(self.engine.within_memory(lambda: weigh(self.engine, pairs)))
        return [[next(found) for _ in continuations] for continuations in texts]

    def write(
        self, prompts: Sequence[Marked], rows: Sequence[Sequence[MediaRow]]
    ) -> None:
        """Writes the rows of each prompt."""
        with self._handling(prompts):
            every: list[MediaRow] = []
            for prompt, rows_of_prompt in zip(prompts, rows, strict=True):
                keys = self._keys(prompt)
                for row in rows_of_prompt:
                    row.prompt, row.ids, row.shift = keys, prompt.ids, prompt.shift
                    every.append(row)
            write(self.engine, every, MediaWriter)

    def _handling(self, prompts: Sequence[Marked]) -> Any:
        return self.engine.handling(
            [piece for prompt in prompts for piece in prompt.pieces]
        )

    def _keys(self, prompt: Marked) -> tuple[int, ...]:
        return self.engine.keys.of(prompt.ids, prompt.pieces, prompt.positions)

    def _after(self, prompt: Marked, ids: Sequence[int]) -> tuple[int, ...]:
        return self.engine.keys.after(ids, prompt.shift)

    def _why_not(self, plainly: Plainly) -> str | None:
        """Why the model cannot share beginnings, or `None`; tried on the model with media of each kind it takes."""
        if not self.marks:
            return "its configuration names no token that stands for an image or an audio clip"
        inputs: list[Mapping[str, Any]] = []
        more = [[3 + at, 5] for at in range(3 * len(self.marks))]

        def plain() -> list[Any]:
            inputs.extend(self.renderer.inputs(prompt) for prompt in self._trials())
            with self.engine.watched() as calls:
                expected = [
                    plainly(placed(one, self.model), ids)[-1].float()
                    for one, ids in zip(inputs, more, strict=True)
                ]
            for one in calls:
                check_given(one)
            return expected

        return why_apart(
            self.engine.decoder,
            plain,
            lambda: self._tried([self.read(one) for one in inputs], more),
        )

    def _trials(self) -> Iterator[Prompt]:
        """Three prompts for each kind of medium: two share a medium, all of them the words before it."""
        role = "user" if self.renderer.has_template else ""
        for kind in self.marks:
            one, other = _trial_media(kind, self.renderer.rate)
            for medium, words in (
                (one, "What is it?"),
                (one, "Who?"),
                (other, "What is it?"),
            ):
                yield Prompt((Message.of(role, "Look and listen. ", medium, words),))

    def _tried(
        self, prompts: Sequence[Marked], more: Sequence[Sequence[int]]
    ) -> list[Any]:
        """The logits of the last token of each prompt and what follows it, every common beginning a trunk."""
        engine = self.engine
        with self._handling(prompts):
            rows = [
                (*self._keys(prompt), *self._after(prompt, ids))
                for prompt, ids in zip(prompts, more, strict=True)
            ]
            bushes: list[Bush] = []
            stack: list[tuple[Node, Stretch | None]] = [(grow(rows), None)]
            while stack:
                node, trunk = stack.pop()
                if not node.children:
                    bushes.append(Bush(node, trunk))
                    continue
                if node.stop > node.start:
                    trunk = Stretch(
                        node.row, node.start, node.stop, trunk, tuple(node.rows())
                    )
                    engine.grow_trunk(trunk, rows)
                stack += [(child, trunk) for child in node.children]
            found: dict[int, Any] = {}
            for bush in bushes:
                layout = lay_out(bush, rows)
                logits = engine.run_segments([bush], [layout], [len(layout.tokens) - 1])
                found |= {row: logits[0].float() for row in layout.paths}
        engine.forget()
        return [found[row] for row in range(len(rows))]


def _positions(model: Any, inputs: Mapping[str, Any]) -> Any:
    """Where the tokens of a prompt with media stand, as the model's own code counts; `None` where that is plainly."""
    import torch

    count = getattr(model, "get_rope_index", None) or getattr(
        getattr(model, "model", None), "get_rope_index", None
    )
    if count is None:
        return None
    heard = inputs.get("feature_attention_mask")
    arguments = {
        "mm_token_type_ids": torch.zeros_like(inputs["input_ids"]),
        "audio_seqlens": None if heard is None else heard.sum(-1),
        **inputs,
    }
    names = inspect.signature(count).parameters
    positions, _ = count(
        **{name: value for name, value in arguments.items() if name in names}
    )
    return positions[:, 0].cpu().numpy()


def _trial_media(kind: str, rate: int) -> tuple[Media, Media]:
    import numpy as np

    if kind == "image":
        from PIL import Image as pillow

        across = np.linspace(0, 255, 64, dtype=np.uint8)[None].repeat(64, 0)
        pixels = np.stack([across, across.T, 255 - across], 2)
        return Image(pillow.fromarray(pixels)), Image(
            pillow.fromarray(pixels[::-1, ::-1].copy())
        )
    seconds = np.arange(rate // 2) / rate
    low, high = (
        audio_from(np.sin(2 * math.pi * hertz * seconds).astype(np.float32), rate)
        for hertz in (330, 1200)
    )
    return low, high
