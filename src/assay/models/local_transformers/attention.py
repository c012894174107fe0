"""Attention over shared beginnings: many segments in one pass, each over its own trunk, nothing padded or repeated.

transformers lets a model's attention be replaced by name. Here it is handed to the *plan* of the running pass, which
knows what each token may look at and where keys and values are kept; outside a pass of ours it is the usual one.
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
"""What some models pass to their attention and no plan can follow."""


class CannotShare(Exception):
    """The model's attention does something a plan does not know."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one layer attends."""

    scale: float
    window: int | None = None
    softcap: float | None = None


class Plan(Protocol):
    """What the tokens of one pass look at."""

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        """Heads by tokens by size in; the same for what was looked up."""
        ...


@contextmanager
def passing(plan: Plan) -> Iterator[None]:
    """Passes of the model inside follow `plan`."""
    token = _running.set(plan)
    try:
        yield
    finally:
        _running.reset(token)


def register() -> None:
    """Makes the name known to transformers; harmless when done twice."""
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
    """A tensor of whole numbers; by way of numpy, which reads a list several times faster."""
    import numpy as np
    import torch

    return torch.from_numpy(np.asarray(values, dtype=np.int64))


def sent(tensor: Any, device: Any) -> Any:
    """A tensor on its way to a device; a GPU goes on with what it does meanwhile, and so does whoever feeds it."""
    import torch

    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Once:
    """Tensors that all layers of a pass use, made and brought to a device once."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def __call__(self, name: Any, device: Any, make: Callable[[], Any]) -> Any:
        """What is known by a name on a device; `None` where none was made."""
        if (name, device) not in self._made:
            tensor = make()
            self._made[name, device] = None if tensor is None else sent(tensor, device)
        return self._made[name, device]


@dataclass(slots=True)
class Trunk:
    """Keys and values of a shared beginning, layer by layer."""

    length: int
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)


@dataclass
class Group:
    """Segments of one pass that hang on the same trunk."""

    trunk: Trunk | None
    spans: list[tuple[int, int]]
    """Where each segment stands in the pass, one right after the other."""
    ends: list[list[int]]
    """For each segment and token, where the part that may look at it ends, counted from the segment's start."""
    _made: dict[Any, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Tokens of the trunk."""
        return 0 if self.trunk is None else self.trunk.length

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest segment."""
        return max(stop - start for start, stop in self.spans)

    @cached_property
    def is_plain(self) -> bool:
        """Whether nothing branches and there is no trunk: a causal mask says it all."""
        return self.trunk is None and all(min(ends) == len(ends) for ends in self.ends)

    @cached_property
    def is_even(self) -> bool:
        """Whether all segments are of one length: they can be looked at where they stand."""
        return all(stop - start == self.longest for start, stop in self.spans)

    def index(self, device: Any) -> tuple[Any, Any]:
        """Where to gather each segment's tokens from, short ones filled up, and which of what is gathered are real."""
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
        """What is added to the scores: segments by 1 by tokens by (trunk and tokens)."""
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
    """A pass over many segments, each a small tree over its trunk; may keep the keys and values it computes."""

    groups: Sequence[Group]
    """They cover the pass from its start to its end, in order."""
    positions: Any
    keep: Callable[[int, Any, Any], None] | None = None
    """Called with the layer, the keys and the values of every token."""

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
        """Segments of one group: tokens by heads by size in and out."""
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
            return _sdpa(query, key, value, None, style.scale)
        if group.trunk is not None:
            size = len(query)
            key = torch.cat(
                [group.trunk.keys[layer][None].expand(size, -1, -1, -1), key], 2
            )
            value = torch.cat(
                [group.trunk.values[layer][None].expand(size, -1, -1, -1), value], 2
            )
        mask = group.mask(self.positions, style.window, query.dtype, query.device)
        if style.softcap is not None:
            return _by_hand(query, key, value, mask, style)
        return _sdpa(query, key, value, mask, style.scale)


def _sdpa(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
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


def _by_hand(query: Any, key: Any, value: Any, mask: Any, style: Style) -> Any:
    import torch

    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = (
        capped(torch.matmul(query, key.transpose(-1, -2)) * style.scale, style.softcap)
        + mask
    )
    return torch.matmul(torch.softmax(scores.float(), -1).to(value.dtype), value)


def capped(scores: Any, softcap: float | None) -> Any:
    """Scores kept softly below a bound, as some models train them."""
    return scores if softcap is None else (scores / softcap).tanh() * softcap
