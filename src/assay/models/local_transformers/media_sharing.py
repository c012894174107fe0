"""Prompts with media and shared prefixes: read, score and write them.

A trial with generated media decides at load: both ways must give the same numbers. Otherwise the reason is
recorded and the model runs without sharing.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Image, Likelihood, Media, Message, Prompt
from ...media import audio_from
from ..prompting.pairs import Pair
from .engine import check_written, why_apart
from .likelihood import weigh
from .media_engine import MediaEngine, check_given
from .media_pieces import Piece, marks_of, pieces_of
from .media_prompts import MediaRenderer, placed
from .prefix import Node, PrefixSpan, Subtree, grow, lay_out
from .rows import Row

Plainly = Callable[[Mapping[str, Any], Sequence[int]], Any]
"""Returns the logits of a prompt's tensors and further tokens, as the model itself computes them."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A prompt with its media separated."""

    ids: tuple[int, ...]
    pieces: Sequence[Piece]
    positions: Any
    """Positions, axes by tokens; `None` for plain positions."""

    @property
    def shift(self) -> int:
        """The shift of positions after the prompt."""
        return (
            0
            if self.positions is None
            else int(self.positions.max()) + 1 - len(self.ids)
        )


@dataclass(frozen=True, slots=True)
class Keyed(Pair):
    """A continuation to score whose context has media."""

    keys: tuple[int, ...] = ()

    @property
    def computed(self) -> tuple[int, ...]:
        """The keys to compute."""
        return self.keys[:-1]


class Sharing:
    """A model with media input whose common prefixes are computed once."""

    def __init__(
        self, model: Any, renderer: MediaRenderer, rows: int, plainly: Plainly
    ) -> None:
        self.model = model
        self.renderer = renderer
        self.marks = marks_of(model.config)
        self.engine = MediaEngine(model, rows)
        self.plain_because = self._why_not(plainly)
        """Why prefixes are not shared; `None` if they are."""

    def read(self, inputs: Mapping[str, Any]) -> Marked:
        """Separate a prompt's tensors. No device is needed."""
        pieces = pieces_of(inputs, self.marks)
        positions = _positions(self.model, inputs) if pieces else None
        return Marked(tuple(inputs["input_ids"][0].tolist()), pieces, positions)

    def weigh(
        self, prompts: Sequence[Marked], texts: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[Likelihood]]:
        """Return the likelihoods of each prompt's continuations, given as token ids."""
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

    def write(self, prompts: Sequence[Marked], rows: Sequence[Sequence[Row]]) -> None:
        """Write the rows of each prompt."""
        with self._handling(prompts):
            every: list[Row] = []
            for prompt, rows_of_prompt in zip(prompts, rows, strict=True):
                keys = self._keys(prompt)
                for row in rows_of_prompt:
                    row.prompt = keys
                    row.prompt_ids = prompt.ids
                    row.shift = prompt.shift
                    every.append(row)
            self.engine.generator.submit(every)
            self.engine.generator.finish(every)

    def _handling(self, prompts: Sequence[Marked]) -> Any:
        return self.engine.handling(
            [piece for prompt in prompts for piece in prompt.pieces]
        )

    def _keys(self, prompt: Marked) -> tuple[int, ...]:
        return self.engine.keys.of(prompt.ids, prompt.pieces, prompt.positions)

    def _after(self, prompt: Marked, ids: Sequence[int]) -> tuple[int, ...]:
        return self.engine.keys.after(ids, prompt.shift)

    def _why_not(self, plainly: Plainly) -> str | None:
        """Return why the model cannot share prefixes, or `None`, from a trial with each kind of media."""
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
            lambda usual: check_written(self.engine, self.engine.decoder, usual),
        )

    def _trials(self) -> Iterator[Prompt]:
        """Return three prompts for each kind of media: two share a medium, and all of them the words before it."""
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
        """Return the logits of the last token of each prompt and its continuation.

        Every common prefix is computed once.
        """
        engine = self.engine
        with self._handling(prompts):
            rows = [
                (*self._keys(prompt), *self._after(prompt, ids))
                for prompt, ids in zip(prompts, more, strict=True)
            ]
            subtrees: list[Subtree] = []
            stack: list[tuple[Node, PrefixSpan | None]] = [(grow(rows), None)]
            while stack:
                node, prefix = stack.pop()
                if not node.children:
                    subtrees.append(Subtree(node, prefix))
                    continue
                if node.stop > node.start:
                    prefix = PrefixSpan(
                        node.row, node.start, node.stop, prefix, tuple(node.rows())
                    )
                    engine.compute_prefix(prefix, rows)
                stack += [(child, prefix) for child in node.children]
            found: dict[int, Any] = {}
            for subtree in subtrees:
                layout = lay_out(subtree, rows)
                logits = engine.run_segments(
                    [subtree], [layout], [len(layout.tokens) - 1]
                )
                found |= {row: logits[0].float() for row in layout.paths}
        engine.forget()
        return [found[row] for row in range(len(rows))]


def _positions(model: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the positions of a prompt with media, as the model's own code counts; `None` for plain ones."""
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
