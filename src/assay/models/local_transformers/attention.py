"""Attention over shared prefixes.

Many segments run in one pass, each with its own prefix, without padding or repetition.

transformers lets a model's attention be replaced by name. The replacement follows the *plan* of the running
pass, which knows the visible tokens of each token and where keys and values are stored. Outside such a pass it
is the usual attention.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

NAME = "assay_shared"
_running: ContextVar["Plan | None"] = ContextVar("plan", default=None)
UNKNOWN_ARGUMENTS = ("s_aux", "position_bias", "head_mask")
"""Arguments that some models pass to their attention and that no plan supports."""


class CannotShare(Exception):
    """The model's attention does something that a plan does not support."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one layer attends."""

    scale: float
    window: int | None = None
    softcap: float | None = None


class Plan(Protocol):
    """What the tokens of one pass attend to."""

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        """Attend. Queries, keys, values and the result are heads by tokens by size."""
        ...


@contextmanager
def passing(plan: Plan) -> Iterator[None]:
    """Make passes of the model follow `plan` inside the block."""
    token = _running.set(plan)
    try:
        yield
    finally:
        _running.reset(token)


def register() -> None:
    """Register the attention with transformers. Doing it twice is harmless."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def mask(*args: Any, **kwargs: Any) -> Any:
        return None if _running.get() is not None else sdpa_mask(*args, **kwargs)

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, mask)


def _attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any
) -> tuple[Any, None]:
    plan = _running.get()
    if plan is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        usual: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **kwargs
        )
        return usual
    for name in UNKNOWN_ARGUMENTS:
        if kwargs.get(name) is not None:
            raise CannotShare(f"attention with {name}")
    scale = kwargs.get("scaling")
    style = Style(
        query.shape[-1] ** -0.5 if scale is None else float(scale),
        kwargs.get("sliding_window"),
        kwargs.get("softcap"),
    )
    out = plan.attend(module.layer_idx, query[0], key[0], value[0], style)
    return out.transpose(0, 1)[None], None


def integers(values: Sequence[int] | Sequence[Sequence[int]]) -> Any:
    """Return a tensor of integers, made by way of numpy, which reads a list several times faster."""
    import numpy as np
    import torch

    return torch.from_numpy(np.asarray(values, dtype=np.int64))


def sent(tensor: Any, device: Any) -> Any:
    """Send a tensor to a device. A GPU and the caller continue during the transfer."""
    import torch

    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Once:
    """Tensors that all layers of a pass use, made once and sent to a device once."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def __call__(self, name: Any, device: Any, make: Callable[[], Any]) -> Any:
        """Return the tensor of a name on a device; `None` if it was not made yet."""
        if (name, device) not in self._made:
            tensor = make()
            self._made[name, device] = None if tensor is None else sent(tensor, device)
        return self._made[name, device]


@dataclass(slots=True)
class PrefixCache:
    """The keys and values of a shared prefix, layer by layer."""

    length: int
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)


@dataclass
class Group:
    """Segments of one pass with the same prefix."""

    prefix: PrefixCache | None
    spans: list[tuple[int, int]]
    """Start and end of each segment in the pass. Segments follow each other without gaps."""
    ends: list[list[int]]
    """For each segment and token, the end of the tokens that attend to it, counted from the segment's start."""
    _made: dict[Any, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of tokens of the prefix."""
        return 0 if self.prefix is None else self.prefix.length

    @cached_property
    def longest(self) -> int:
        """Number of tokens of the longest segment."""
        return max(stop - start for start, stop in self.spans)

    @cached_property
    def is_plain(self) -> bool:
        """True if nothing branches and there is no prefix: a causal mask is enough."""
        return self.prefix is None and all(min(ends) == len(ends) for ends in self.ends)

    @cached_property
    def is_even(self) -> bool:
        """True if all segments have the same length, so that no token needs to be gathered."""
        return all(stop - start == self.longest for start, stop in self.spans)

    def index(self, device: Any) -> tuple[Any, Any]:
        """Return the indices of each segment's tokens, and a mask of the real ones.

        Short segments are padded.
        """
        if ("index", device) not in self._made:
            import torch

            starts = integers([start for start, _ in self.spans])
            sizes = integers([stop - start for start, stop in self.spans])
            steps = torch.arange(self.longest)
            real = steps[None] < sizes[:, None]
            at = torch.where(real, starts[:, None] + steps[None], starts[:, None])
            self._made["index", device] = (
                sent(at, device),
                sent(real.flatten().nonzero()[:, 0], device),
            )
        found: tuple[Any, Any] = self._made["index", device]
        return found

    def mask(self, positions: Any, window: int | None, dtype: Any, device: Any) -> Any:
        """Return what is added to the scores: segments by 1 by tokens by (prefix and tokens)."""
        if (window, dtype, device) not in self._made:
            import torch

            size = self.longest
            # Made where it is used: what is sent there is the ends alone.
            filled = [[*ends, *[0] * (size - len(ends))] for ends in self.ends]
            limits = sent(integers(filled), device)
            step = torch.arange(size, device=device)
            visible = (step[None, None] <= step[None, :, None]) & (
                step[None, :, None] < limits[:, None]
            )
            # What fills up a short segment looks at itself: the softmax of nothing is not a number.
            itself = torch.eye(size, dtype=torch.bool, device=device)[None]
            hidden = torch.zeros(
                len(self.ends),
                size,
                self.length + size,
                dtype=torch.bool,
                device=device,
            )
            hidden[..., self.length :] = ~(visible | itself)
            if window is not None:
                at = sent(positions, device)[self.index(device)[0]]
                keys = torch.cat(
                    [
                        torch.arange(self.length, device=device)[None].expand(
                            len(at), -1
                        ),
                        at,
                    ],
                    1,
                )
                hidden |= at[:, :, None] - keys[:, None] >= window
                hidden[..., self.length :] &= ~itself
            added = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(
                hidden, float("-inf")
            )
            self._made[window, dtype, device] = added[:, None]
        return self._made[window, dtype, device]


@dataclass(frozen=True, slots=True)
class PackedPlan:
    """A pass over many segments, each a small tree after its prefix. It can store the keys and values it computes."""

    groups: Sequence[Group]
    """The groups cover the pass from start to end, in order."""
    positions: Any
    keep: Callable[[int, Any, Any], None] | None = None
    """Called with the layer, and the keys and values of every token."""

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        import torch

        if self.keep is not None:
            self.keep(layer, key, value)
        # Tokens first: a token's heads lie together in memory and are gathered in one piece.
        lines = tuple(x.transpose(0, 1) for x in (query, key, value))
        parts = [self._looked(layer, group, lines, style) for group in self.groups]
        out = parts[0] if len(parts) == 1 else torch.cat(parts)
        return out.transpose(0, 1)

    def _looked(
        self, layer: int, group: Group, lines: Sequence[Any], style: Style
    ) -> Any:
        """Attend for the segments of one group: tokens by heads by size in and out."""
        if group.is_even:
            start, stop = group.spans[0][0], group.spans[-1][1]
            shape = (len(group.spans), group.longest)
            query, key, value = (
                x[start:stop].unflatten(0, shape).transpose(1, 2) for x in lines
            )
            return (
                self._look(layer, group, query, key, value, style)
                .transpose(1, 2)
                .flatten(0, 1)
            )
        index, real = group.index(lines[0].device)
        query, key, value = (
            x.index_select(0, index.flatten()).unflatten(0, index.shape).transpose(1, 2)
            for x in lines
        )
        values = self._look(layer, group, query, key, value, style)
        return values.transpose(1, 2).flatten(0, 1).index_select(0, real)

    def _look(
        self, layer: int, group: Group, query: Any, key: Any, value: Any, style: Style
    ) -> Any:
        import torch

        if (
            group.is_plain
            and style.softcap is None
            and (style.window is None or group.longest <= style.window)
        ):
            return sdpa(query, key, value, None, style.scale)
        if group.prefix is not None:
            size = len(query)
            key = torch.cat(
                [group.prefix.keys[layer][None].expand(size, -1, -1, -1), key], 2
            )
            value = torch.cat(
                [group.prefix.values[layer][None].expand(size, -1, -1, -1), value], 2
            )
        mask = group.mask(self.positions, style.window, query.dtype, query.device)
        if style.softcap is not None:
            return attend_by_hand(query, key, value, mask, style)
        return sdpa(query, key, value, mask, style.scale)


def sdpa(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Attend with torch's kernels; with a causal mask if none is given."""
    from torch.nn.functional import scaled_dot_product_attention

    groups = query.shape[1] // key.shape[1]
    if groups > 1 and query.is_cuda and (mask is not None or query.element_size() > 2):
        # With a mask or in full precision, CUDA's fast kernels do not take fewer key heads than query heads.
        key, value = (
            key.repeat_interleave(groups, 1),
            value.repeat_interleave(groups, 1),
        )
        groups = 1
    return scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        is_causal=mask is None,
        scale=scale,
        enable_gqa=groups > 1,
    )


def attend_by_hand(query: Any, key: Any, value: Any, mask: Any, style: Style) -> Any:
    """Attend with soft-capped scores, which torch's kernels do not support."""
    import torch

    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = (
        capped(torch.matmul(query, key.transpose(-1, -2)) * style.scale, style.softcap)
        + mask
    )
    return torch.matmul(torch.softmax(scores.float(), -1).to(value.dtype), value)


def capped(scores: Any, softcap: float | None) -> Any:
    """Cap scores softly, as some models are trained."""
    return scores if softcap is None else (scores / softcap).tanh() * softcap
