"""Likelihoods after prompts with images and clips: what a prompt begins with is computed once for all that follows.

Where a medium's tokens lie and which positions they get is known to each model's own code alone. So the model is asked
to go on from what it keeps of a prompt, and only with text: from the prompt to its continuations, and from one prompt
to the next about the same media. Whether it goes on rightly is tried on the model itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Output, Request
from .engine import tolerance_of
from .fitting import too_long
from .likelihood import Pair, Tally
from .media_batches import BESIDE
from .prefix import MIN_SAVED, common
from .sampling import are_finite
from .text import Limits, weighed_output

MEDIA_TOKENS = tuple(
    f"{kind}_token_{part}"
    for kind in ("image", "video", "audio")
    for part in ("id", "index")
)
"""How configurations name the token that stands for a piece of a medium."""
CANNOT = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)
"""What a model raises that keeps nothing, or not as others do."""


@dataclass(slots=True)
class Kept:
    """A prompt that went through the model, with what it keeps of it."""

    inputs: Mapping[str, Any]
    tokens: tuple[int, ...]
    cache: Any
    last: Any
    """The logits of the prompt's last token."""
    media_end: int
    """No medium has a token from here on; 0 without media."""


@dataclass
class Weigher:
    """Weighs continuations with one model."""

    model: Any
    limits: Limits
    keeps: bool | None = None
    """Whether the model goes on rightly from what it keeps of a prompt; `None` before that was tried."""
    _kept: Kept | None = None

    def weigh(
        self,
        request: Request,
        inputs: dict[str, Any],
        continuations: Sequence[tuple[int, ...]],
    ) -> Output:
        """The likelihoods of one request's continuations, after tensors on the model's device."""
        context = tuple(inputs["input_ids"][0].tolist())
        pairs = [Pair((*context, *more), len(context)) for more in continuations]
        longest = max(len(pair.computed) for pair in pairs)
        if longest > self.limits.context:
            return too_long(longest, self.limits.context, has_media=True)
        tally = Tally(pairs)
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, pair in enumerate(pairs):
            alike.setdefault(pair.computed[len(context) :], []).append(row)
        first = len(context) - 1
        for more, logits in self._after(inputs, context, list(alike)):
            predicted = range(first, first + 1 + len(more))
            tally.add(
                logits,
                [(at - first, row, at) for row in alike[more] for at in predicted],
            )
        return weighed_output(request, pairs, tally.results(), None)

    def forget(self) -> None:
        """Lets go of the last prompt."""
        self._kept = None

    def _after(
        self,
        inputs: dict[str, Any],
        context: tuple[int, ...],
        ways: Sequence[tuple[int, ...]],
    ) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Each way to go on after a prompt, with the logits from the prompt's last token on."""
        import torch

        last = len(context) - 1
        if self.keeps is False:
            yield from ((more, self.logits(inputs, more)[last:]) for more in ways)
            return
        state = self._gone_on(inputs, context) or self._begun(inputs, context)
        for more in ways:
            logits = state.last
            if more:
                try:
                    logits = torch.cat([logits, self._further(state.cache, more)])
                    state.cache.crop(-len(more))
                except CANNOT:
                    self.keeps = False
                if self.keeps is None:
                    self.keeps = _are_close(self.logits(inputs, more)[last:], logits)
                if self.keeps is False:
                    logits = self.logits(inputs, more)[last:]
            yield more, logits
        self._kept = None if self.keeps is False else state

    def _begun(self, inputs: dict[str, Any], context: tuple[int, ...]) -> Kept:
        import torch

        self._kept = None
        with torch.inference_mode():
            out = self.model(**inputs, use_cache=True)
        return Kept(
            inputs,
            context,
            out.past_key_values,
            out.logits[0, -1:],
            self._media_end(inputs, context),
        )

    def _media_end(self, inputs: Mapping[str, Any], context: Sequence[int]) -> int:
        """Where the last token of a medium lies; the whole prompt where the configuration does not name such tokens."""
        if not _media_of(inputs):
            return 0
        marks = {getattr(self.model.config, name, None) for name in MEDIA_TOKENS}
        return max(
            (at + 1 for at, token in enumerate(context) if token in marks),
            default=len(context),
        )

    def _gone_on(self, inputs: dict[str, Any], context: tuple[int, ...]) -> Kept | None:
        """The prompt from what is kept of the one before, where both begin with the same media and enough text."""
        state, self._kept = self._kept, None
        if state is None:
            return None
        # At least one token is left to compute: its logits begin every continuation.
        shared = min(common(state.tokens, context), len(context) - 1)
        if shared < (state.media_end or MIN_SAVED) or not _same_media(
            state.inputs, inputs
        ):
            return None
        try:
            if shared < len(state.tokens):
                state.cache.crop(shared - len(state.tokens))
            logits = self._further(state.cache, context[shared:])
        except CANNOT:
            self.keeps = False
            return None
        if self.keeps is None:
            self.keeps = _are_close(self.logits(inputs, ())[shared:], logits)
        if not self.keeps:
            return None
        return Kept(inputs, context, state.cache, logits[-1:], state.media_end)

    def _further(self, cache: Any, more: Sequence[int]) -> Any:
        """Logits of further tokens after what a cache holds, which grows by them."""
        import torch

        ids = torch.tensor([list(more)], device=self.model.device)
        with torch.inference_mode():
            out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return out.logits[0]

    def logits(self, inputs: Mapping[str, Any], more: Sequence[int]) -> Any:
        """Logits of a whole prompt and what follows it."""
        import torch

        arguments = dict(inputs)
        if more:
            ids = arguments["input_ids"]
            arguments["input_ids"] = torch.cat(
                [ids, torch.tensor([list(more)], device=ids.device)], 1
            )
            for name in BESIDE:
                if name in arguments:
                    filler = arguments[name].new_full(
                        (1, len(more)), 1 if name == "attention_mask" else 0
                    )
                    arguments[name] = torch.cat([arguments[name], filler], 1)
        with torch.inference_mode():
            return self.model(**arguments, use_cache=False).logits[0]


def _are_close(one: Any, other: Any) -> bool | None:
    """Whether a model computes the same in two ways; `None` where the usual way gives no numbers to compare."""
    if not all(are_finite(one)):
        return None
    return bool((one - other).abs().max() <= tolerance_of(one.dtype))


def _media_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in inputs.items()
        if name != "input_ids" and name not in BESIDE
    }


def _same_media(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two prompts carry the very same media, tensor by tensor."""
    import torch

    mine, yours = _media_of(one), _media_of(other)
    return mine.keys() == yours.keys() and all(
        isinstance(value, torch.Tensor) and torch.equal(value, yours[name])
        for name, value in mine.items()
    )
