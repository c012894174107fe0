"""Attention over shared beginnings: many segments in one pass, each over its own trunk, nothing padded or repeated.

transformers lets a model's attention be replaced by name. Here it is handed to the *plan* of the running pass, which
knows what each token may look at and where keys and values are kept; outside a pass of ours it is the usual one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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


def _attention(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any) -> tuple[Any, None]:
    plan = _running.get()
    if plan is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        usual: tuple[Any, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
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


@dataclass(slots=True)
class Trunk:
    """Keys and values of a shared beginning, layer by layer."""

    length: int
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """Segments of one pass that hang on the same trunk."""

    trunk: Trunk | None
    spans: list[tuple[int, int]]
    """Where each segment stands in the pass."""
    ends: list[list[int]]
    """For each segment and token, where the part that may look at it ends, counted from the segment's start."""
    _made: dict[Any, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Tokens of the trunk."""
        return 0 if self.trunk is None else self.trunk.length

    @property
    def longest(self) -> int:
        """Tokens of the longest segment."""
        if "longest" not in self._made:
            self._made["longest"] = max(stop - start for start, stop in self.spans)
        return int(self._made["longest"])

    @property
    def is_plain(self) -> bool:
        """Whether nothing branches and there is no trunk: a causal mask says it all."""
        if "plain" not in self._made:
            self._made["plain"] = self.trunk is None and all(min(own) == len(own) for own in self.ends)
        return bool(self._made["plain"])

    def index(self, device: Any) -> tuple[Any, Any, Any]:
        """Where to gather each segment's tokens from (short ones filled up), which are real, and where those stand."""
        if ("index", device) not in self._made:
            import torch

            starts = torch.tensor([start for start, _ in self.spans])
            sizes = torch.tensor([stop - start for start, stop in self.spans])
            steps = torch.arange(self.longest)
            real = steps[None] < sizes[:, None]
            at = torch.where(real, starts[:, None] + steps[None], starts[:, None])
            self._made["index", device] = at.to(device), real.flatten().nonzero()[:, 0].to(device), at[real].to(device)
        made: tuple[Any, Any, Any] = self._made["index", device]
        return made

    def mask(self, positions: Any, window: int | None, dtype: Any, device: Any) -> Any:
        """What is added to the scores: segments by 1 by tokens by (trunk and tokens)."""
        if (window, dtype, device) not in self._made:
            import torch

            size = self.longest
            own = torch.zeros(len(self.ends), size, dtype=torch.long)
            for row, ends in enumerate(self.ends):
                own[row, : len(ends)] = torch.tensor(ends)
            step = torch.arange(size)
            seen = (step[None, None] <= step[None, :, None]) & (step[None, :, None] < own[:, None])
            # What fills up a short segment looks at itself: the softmax of nothing is not a number.
            seen |= torch.eye(size, dtype=torch.bool)[None]
            whole = torch.cat([torch.ones(len(self.ends), size, self.length, dtype=torch.bool), seen], 2)
            if window is not None:
                at = positions.cpu()[self.index("cpu")[0]]
                keys = torch.cat([torch.arange(self.length)[None].expand(len(at), -1), at], 1)
                near = at[:, :, None] - keys[:, None] < window
                whole &= near
                whole[:, :, self.length :] |= torch.eye(size, dtype=torch.bool)[None]
            added = torch.zeros(whole.shape, dtype=dtype).masked_fill_(~whole, float("-inf"))
            self._made[window, dtype, device] = added[:, None].to(device)
        return self._made[window, dtype, device]


class PackedPlan:
    """A pass over many segments, each a small tree over its trunk; may keep the keys and values it computes."""

    def __init__(self, groups: Sequence[Group], positions: Any, keep: Any = None) -> None:
        self.groups = groups
        self.positions = positions
        self.keep = keep
        """A function of (layer, key, value), called with those of every token."""

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        import torch

        if self.keep is not None:
            self.keep(layer, key, value)
        out = torch.empty(*query.shape[:2], value.shape[-1], dtype=query.dtype, device=query.device)
        for group in self.groups:
            if len(group.spans) == 1:
                start, stop = group.spans[0]
                own = (query[None, :, start:stop], key[None, :, start:stop], value[None, :, start:stop])
                out[:, start:stop] = self._look(layer, group, *own, style)[0]
            else:
                index, real, places = group.index(query.device)
                flat = index.flatten()
                own = tuple(
                    x.index_select(1, flat).unflatten(1, index.shape).transpose(0, 1) for x in (query, key, value)
                )
                seen = self._look(layer, group, *own, style).transpose(0, 1).flatten(1, 2)
                out.index_copy_(1, places, seen.index_select(1, real))
        return out

    def _look(self, layer: int, group: Group, query: Any, key: Any, value: Any, style: Style) -> Any:
        import torch

        if group.is_plain and style.softcap is None and (style.window is None or group.longest <= style.window):
            return _sdpa(query, key, value, None, style.scale)
        if group.trunk is not None:
            size = len(query)
            key = torch.cat([group.trunk.keys[layer][None].expand(size, -1, -1, -1), key], 2)
            value = torch.cat([group.trunk.values[layer][None].expand(size, -1, -1, -1), value], 2)
        mask = group.mask(self.positions, style.window, query.dtype, query.device)
        if style.softcap is not None:
            return _by_hand(query, key, value, mask, style)
        return _sdpa(query, key, value, mask, style.scale)


def _sdpa(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    from torch.nn.functional import scaled_dot_product_attention

    groups = query.shape[1] // key.shape[1]
    if groups > 1 and mask is not None and query.is_cuda:
        # With a mask, CUDA's fast kernels do not take fewer key heads than query heads.
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        groups = 1
    return scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=groups > 1
    )


def _by_hand(query: Any, key: Any, value: Any, mask: Any, style: Style) -> Any:
    import torch

    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = capped(torch.matmul(query, key.transpose(-1, -2)) * style.scale, style.softcap) + mask
    return torch.matmul(torch.softmax(scores.float(), -1).to(value.dtype), value)


def capped(scores: Any, softcap: float | None) -> Any:
    """Scores kept softly below a bound, as some models train them."""
    return scores if softcap is None else (scores / softcap).tanh() * softcap
