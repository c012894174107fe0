"""Read, score and answer prompts with media, computing common prefixes once.

When a model is loaded, a test with generated images and tones compares logits with and
without sharing. If they differ, the reason is recorded, and the model runs without
sharing.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...core import Image, Likelihood, Media, Message, Prompt
from ...media import audio_from
from ..prompting.pairs import Pair
from .engine import check_written, shared_logits, why_apart
from .generation_rows import Row
from .media_engine import MediaEngine, check_given
from .media_pieces import Piece, marks_of, separate_media
from .media_prompts import MediaRenderer, move_to_model
from .shared_likelihoods import weigh

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Plainly = Callable[[Mapping[str, Any], Sequence[int]], Any]
"""Type of a function that computes logits with the model's own code, for a prompt followed by further tokens."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A prompt with its images and clips as separate pieces. The engine can share prefixes of such prompts."""

    ids: tuple[int, ...]
    pieces: Sequence[Piece]
    positions: Any
    """Token positions in the shape (axes, tokens); `None` if they are 0, 1, 2, …."""

    @property
    def shift(self) -> int:
        """The position after the last prompt token, minus the number of prompt tokens."""
        if self.positions is None:
            return 0
        return int(self.positions.max()) + 1 - len(self.ids)


@dataclass(frozen=True, slots=True)
class Keyed(Pair):
    """A continuation to score after a prompt with media, with the key of each token."""

    keys: tuple[int, ...] = ()

    @property
    def computed(self) -> tuple[int, ...]:
        """The keys of all tokens except the last, which is predicted but is never an input."""
        return self.keys[:-1]


class Sharing:
    """Generates and scores with one model, computing the common prefixes of prompts with media once."""

    def __init__(
        self,
        model: "PreTrainedModel",
        renderer: MediaRenderer,
        rows: int,
        plainly: Plainly,
    ) -> None:
        self.model = model
        self.renderer = renderer
        self.marks = marks_of(model.config)
        self.engine = MediaEngine(model, rows)
        self.plain_because = self._why_not(plainly)
        """Why common prefixes are not computed once; `None` if they are."""

    def read(self, inputs: Mapping[str, Any]) -> Marked:
        """Separate the media in a prompt's tensors. No GPU is used."""
        pieces = separate_media(inputs, self.marks)
        if pieces:
            positions = _positions(self.model, inputs)
        else:
            positions = None
        return Marked(tuple(inputs["input_ids"][0].tolist()), pieces, positions)

    def weigh(
        self,
        prompts: Sequence[Marked],
        pairs: Sequence[Sequence[Pair]],
    ) -> list[list[Likelihood]]:
        """Return the likelihoods of the continuations of each prompt."""
        engine = self.engine
        with self._handling(prompts):
            keyed: list[Keyed] = []
            for prompt, pairs_of_prompt in zip(prompts, pairs, strict=True):
                keys = self._keys(prompt)
                for pair in pairs_of_prompt:
                    further_keys = self._after(prompt, pair.tokens[pair.start :])
                    keyed.append(Keyed(pair.tokens, pair.start, (*keys, *further_keys)))
            likelihoods = iter(engine.within_memory(lambda: weigh(engine, keyed)))
        return [list(islice(likelihoods, len(members))) for members in pairs]

    def write(
        self,
        prompts: Sequence[Marked],
        rows: Sequence[Sequence[Row]],
    ) -> None:
        """Generate the answers to each prompt, one in each of its rows."""
        with self._handling(prompts):
            submitted: list[Row] = []
            for prompt, rows_of_prompt in zip(prompts, rows, strict=True):
                keys = self._keys(prompt)
                for row in rows_of_prompt:
                    row.prompt = keys
                    row.prompt_ids = prompt.ids
                    row.shift = prompt.shift
                submitted += rows_of_prompt
            self.engine.generator.submit(submitted)
            self.engine.generator.finish(submitted)

    def _handling(self, prompts: Sequence[Marked]) -> Any:
        pieces = [piece for prompt in prompts for piece in prompt.pieces]
        return self.engine.handling(pieces)

    def _keys(self, prompt: Marked) -> tuple[int, ...]:
        return self.engine.keys.of(prompt.ids, prompt.pieces, prompt.positions)

    def _after(
        self,
        prompt: Marked,
        ids: Sequence[int],
    ) -> tuple[int, ...]:
        return self.engine.keys.after(ids, prompt.shift)

    def _why_not(self, plainly: Plainly) -> str | None:
        """Test each kind of media, and return why the model cannot share prefixes; `None` if it can."""
        if not self.marks:
            return "its configuration has no token for images or audio clips"
        inputs: list[Mapping[str, Any]] = []
        count = 3 * len(self.marks)
        endings = [[3 + index, 5] for index in range(count)]

        def plain() -> list[Any]:
            expected = []
            with self.engine.watched() as calls:
                for prompt, ending in zip(self._trials(), endings, strict=True):
                    tensors = self.renderer.inputs(prompt)
                    inputs.append(tensors)
                    logits = plainly(move_to_model(tensors, self.model), ending)
                    expected.append(logits[-1].float())
            for arguments in calls:
                check_given(arguments)
            return expected

        def shared() -> list[Any]:
            prompts = [self.read(tensors) for tensors in inputs]
            rows = []
            with self._handling(prompts):
                for prompt, ending in zip(prompts, endings, strict=True):
                    keys = self._keys(prompt)
                    further_keys = self._after(prompt, ending)
                    rows.append((*keys, *further_keys))
                return shared_logits(self.engine, rows)

        def check(usual: str | None) -> None:
            check_written(self.engine, self.engine.decoder, usual)

        return why_apart(self.engine.decoder, plain, shared, check)

    def _trials(self) -> Iterator[Prompt]:
        """Yield three test prompts for each kind of media.

        All start with the same words, and two contain the same image or clip.
        """
        role = "user" if self.renderer.has_template else ""
        for kind in self.marks:
            first, second = _trial_media(kind, self.renderer.rate)
            questions = (
                (first, "What is it?"),
                (first, "Who?"),
                (second, "What is it?"),
            )
            for medium, words in questions:
                message = Message.of(role, "Look and listen. ", medium, words)
                yield Prompt((message,))


def _positions(
    model: "PreTrainedModel",
    inputs: Mapping[str, Any],
) -> Any:
    """Return the token positions according to the model's own code; `None` if they are 0, 1, 2, …."""
    import torch

    inner = getattr(model, "model", None)
    count = getattr(model, "get_rope_index", None)
    count = count or getattr(inner, "get_rope_index", None)
    if count is None:
        return None
    audio_mask = inputs.get("feature_attention_mask")
    available = {
        "mm_token_type_ids": torch.zeros_like(inputs["input_ids"]),
        "audio_seqlens": None if audio_mask is None else audio_mask.sum(-1),
        **inputs,
    }
    arguments = {}
    for name in inspect.signature(count).parameters:
        if name in available:
            arguments[name] = available[name]
    positions, _ = count(**arguments)
    return positions[:, 0].cpu().numpy()


def _trial_media(kind: str, rate: int) -> tuple[Media, Media]:
    """Return two different test images (color gradients) or audio clips (tones)."""
    import numpy as np

    if kind == "image":
        from PIL import Image as pillow

        ramp = np.linspace(0, 255, 64, dtype=np.uint8)
        across = ramp[None].repeat(64, 0)
        pixels = np.stack([across, across.T, 255 - across], 2)
        turned = pixels[::-1, ::-1].copy()
        return Image(pillow.fromarray(pixels)), Image(pillow.fromarray(turned))
    seconds = np.arange(rate // 2) / rate
    clips = []
    for hertz in (330, 1200):
        samples = np.sin(2 * math.pi * hertz * seconds)
        clips.append(audio_from(samples.astype(np.float32), rate))
    return clips[0], clips[1]
