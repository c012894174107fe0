"""Attention over shared prefixes: one forward pass computes many segments, each after its own prefix.

transformers can replace a model's attention function by name. The replacement uses the
*plan* of the current forward pass: which tokens attend to which, and where keys and
values are stored. Outside such a pass, it is torch's usual attention.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

NAME = "assay_shared"
_running: ContextVar["RunningPass | None"] = ContextVar("running_pass", default=None)
UNKNOWN_ARGUMENTS = ("s_aux", "position_bias", "head_mask")
"""Arguments that some models pass to their attention function and that no plan supports."""


class CannotShare(Exception):
    """Raised if a model's attention does something that a plan does not support."""


@dataclass(frozen=True, slots=True)
class Style:
    """Attention settings of one layer; `window` and `softcap` are None if it has none."""

    scale: float
    window: int | None = None
    softcap: float | None = None


class Plan(Protocol):
    """The plan of one forward pass: decides which tokens attend to which, and computes the attention."""

    def attend(
        self,
        layer: int,
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        style: Style,
    ) -> Any:
        """Return the attention output of one layer.

        Inputs and output have the shape (heads, tokens, head size).
        """
        ...


@dataclass(slots=True)
class RunningPass:
    """The plan of the current forward pass, and the model's sliding windows.

    A model may pass a window size to its attention function, to its mask function, or
    to both. The plan replaces the masks, so the two must agree.
    """

    plan: Plan
    masks: set[int | None] = field(default_factory=set)
    """Window sizes of the attention masks that the model requested; None stands for a mask without a window."""
    used: set[int | None] = field(default_factory=set)
    """Window sizes that the model's layers used; None stands for a layer without a window."""

    def note_mask(self, settings: Mapping[str, Any]) -> None:
        """Record the window size of a mask that the model requested.

        Raise `CannotShare` if plans do not support the mask.
        """
        window = settings.get("local_size")
        config = settings.get("config")
        if settings.get("use_vmap"):
            raise CannotShare("it builds its own masks")
        if window is not None and window != getattr(config, "sliding_window", None):
            raise CannotShare("it attends in chunks")
        self.masks.add(window)

    def window_of(self, argument: int | None) -> int | None:
        """Return the window size to use in a layer.

        This is `argument`, unless it contradicts the only mask that the model
        requested; then it is the mask's.
        """
        window = argument
        if self.masks and window not in self.masks:
            if len(self.masks) > 1:
                raise CannotShare("the windows of its masks and of its layers differ")
            [window] = self.masks
        self.used.add(window)
        return window

    def check_masks(self) -> None:
        """Raise `CannotShare` if the model requested a windowed mask but no layer used that window."""
        unused = self.masks - self.used - {None}
        if self.used and unused:
            raise CannotShare("it is unknown which of its layers have a window")


@contextmanager
def passing(plan: Plan) -> Iterator[None]:
    """Make the model's attention use `plan` inside the `with` block."""
    running = RunningPass(plan)
    token = _running.set(running)
    try:
        yield
    finally:
        _running.reset(token)
    running.check_masks()


def register() -> None:
    """Register the shared-prefix attention with transformers; calling this again is harmless."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    def mask(*args: object, **kwargs: object) -> Any:
        running = _running.get()
        if running is None:
            return sdpa_mask(*args, **kwargs)
        running.note_mask(kwargs)
        return None

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, mask)


def _attention(
    module: Any,
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    attention_mask: "Tensor",
    **kwargs: Any,
) -> tuple[Any, None]:
    running = _running.get()
    if running is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        usual: tuple[Any, None] = sdpa_attention_forward(
            module,
            query,
            key,
            value,
            attention_mask,
            **kwargs,
        )
        return usual
    for name in UNKNOWN_ARGUMENTS:
        if kwargs.get(name) is not None:
            raise CannotShare(f"attention with {name}")
    scale = kwargs.get("scaling")
    style = Style(
        query.shape[-1] ** -0.5 if scale is None else float(scale),
        running.window_of(kwargs.get("sliding_window")),
        kwargs.get("softcap"),
    )
    out = running.plan.attend(module.layer_idx, query[0], key[0], value[0], style)
    return out.transpose(0, 1)[None], None


def integers(values: Sequence[int] | Sequence[Sequence[int]]) -> Any:
    """Convert a list of integers to a tensor, through numpy because that is several times faster."""
    import numpy as np
    import torch

    return torch.from_numpy(np.asarray(values, dtype=np.int64))


def sent(tensor: "Tensor", device: object) -> Any:
    """Copy a tensor to a device; copies to a GPU run in the background."""
    import torch

    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Once:
    """Cache of tensors that all layers of a forward pass use, such as masks. There is one copy per device."""

    def __init__(self) -> None:
        self._tensors: dict[Any, Any] = {}

    def __call__(
        self,
        name: object,
        device: object,
        make: Callable[[], Any],
    ) -> Any:
        """Return the named tensor on a device; the first call creates it with `make`."""
        key = (name, device)
        if key not in self._tensors:
            self._tensors[key] = sent(make(), device)
        return self._tensors[key]


@dataclass(slots=True)
class PrefixCache:
    """The keys and values of a shared prefix, layer by layer."""

    length: int
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def cut(self, length: int) -> "PrefixCache":
        """Return the cache of the first `length` tokens, without copying memory."""
        keys = {layer: key[:, :length] for layer, key in self.keys.items()}
        values = {layer: value[:, :length] for layer, value in self.values.items()}
        return PrefixCache(length, keys, values)


@dataclass
class Group:
    """Segments of one forward pass that all have the same prefix."""

    prefix: PrefixCache | None
    spans: list[tuple[int, int]]
    """Start and end of each segment in the pass; segments are contiguous."""
    ends: list[list[int]]
    """For each token of each segment, the end of the range of tokens that may attend to it."""
    _tensors: Once = field(default_factory=Once)
    _masks: dict[Any, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of tokens of the shared prefix."""
        if self.prefix is None:
            return 0
        return self.prefix.length

    @cached_property
    def longest(self) -> int:
        """Number of tokens in the longest segment."""
        return max(stop - start for start, stop in self.spans)

    @cached_property
    def is_plain(self) -> bool:
        """True if a causal mask is enough: no segment branches or has a prefix."""
        return self.prefix is None and all(min(ends) == len(ends) for ends in self.ends)

    @cached_property
    def is_even(self) -> bool:
        """True if all segments have the same length, so that they need no padding."""
        return all(stop - start == self.longest for start, stop in self.spans)

    def index(self, device: object) -> tuple[Any, Any]:
        """Return token indices of segments padded to equal length, and which are real.

        The first tensor has the shape (segments, tokens of the longest segment) and
        contains indices in the pass; short segments repeat their first token. The
        second one has the flat indices of the real tokens in the first.
        """
        indices = self._tensors("index", device, self._padded_indices)
        real = self._tensors("real", device, self._real_indices)
        return indices, real

    def _padded_indices(self) -> Any:
        starts = integers([start for start, _ in self.spans])[:, None]
        steps, is_real = self._steps()
        padded = starts + steps * is_real
        return padded

    def _real_indices(self) -> Any:
        _, is_real = self._steps()
        return is_real.flatten().nonzero()[:, 0]

    def _steps(self) -> tuple[Any, Any]:
        """Return the offsets 0, 1, 2, … up to the longest segment, and a mask of the offsets inside each segment."""
        import torch

        sizes = integers([stop - start for start, stop in self.spans])[:, None]
        steps = torch.arange(self.longest)[None]
        return steps, steps < sizes

    def mask(
        self,
        positions: "Tensor",
        window: int | None,
        dtype: object,
        device: object,
    ) -> Any:
        """Return the additive attention mask, in the shape (segments, 1, tokens, prefix + tokens)."""
        import torch

        name = (window, dtype, device)
        if name not in self._masks:
            hidden = self._hidden(positions, window, device)
            added = torch.zeros(
                hidden.shape,
                dtype=dtype,
                device=device,
            )
            added.masked_fill_(hidden, float("-inf"))
            self._masks[name] = added[:, None]
        return self._masks[name]

    def _hidden(
        self,
        positions: "Tensor",
        window: int | None,
        device: object,
    ) -> Any:
        """Return a boolean mask of the tokens that each token must not attend to.

        Its shape is (segments, tokens, prefix + tokens).
        """
        import torch

        size = self.longest
        # Computed on the device, so that only the ends are copied to it.
        padded_ends = [[*ends, *[0] * (size - len(ends))] for ends in self.ends]
        limits = sent(integers(padded_ends), device)[:, None]
        step = torch.arange(size, device=device)
        keys = step[None, None]
        queries = step[None, :, None]
        visible = (keys <= queries) & (queries < limits)
        # Padding attends to itself: the softmax of an empty row would be NaN.
        itself = torch.eye(
            size,
            dtype=torch.bool,
            device=device,
        )[None]
        shape = (len(self.ends), size, self.length + size)
        hidden = torch.zeros(
            shape,
            dtype=torch.bool,
            device=device,
        )
        hidden[..., self.length :] = ~(visible | itself)
        if window is not None:
            hidden |= self._beyond(window, positions, device)
            hidden[..., self.length :] &= ~itself
        return hidden

    def _beyond(
        self,
        window: int,
        positions: "Tensor",
        device: object,
    ) -> Any:
        """Return a boolean mask of the tokens that lie before a token's sliding window."""
        import torch

        indices, _ = self.index(device)
        queries = sent(positions, device)[indices]
        prefix = torch.arange(self.length, device=device)
        prefixes = prefix[None].expand(len(queries), -1)
        keys = torch.cat([prefixes, queries], 1)
        return queries[:, :, None] - keys[:, None] >= window


@dataclass(frozen=True, slots=True)
class PackedPlan:
    """The plan of a forward pass over many segments, which can also store keys and values."""

    groups: Sequence[Group]
    """Groups of segments with a common prefix. Together they cover the pass, in order."""
    positions: Any
    keep: Callable[[int, Any, Any], None] | None = None
    """Optional callback for each layer: receives the layer's number, and the keys and values of all tokens."""

    def attend(
        self,
        layer: int,
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        style: Style,
    ) -> Any:
        import torch

        if self.keep is not None:
            self.keep(layer, key, value)
        # Tokens first: the heads of a token are adjacent in memory and are gathered in one piece.
        lines = [tensor.transpose(0, 1) for tensor in (query, key, value)]
        parts = []
        for group in self.groups:
            part = self._attend_group(layer, group, lines, style)
            parts.append(part)
        if len(parts) == 1:
            out = parts[0]
        else:
            out = torch.cat(parts)
        return out.transpose(0, 1)

    def _attend_group(
        self,
        layer: int,
        group: Group,
        lines: Sequence[Any],
        style: Style,
    ) -> Any:
        """Return the attention output for the segments of a group.

        Inputs and output have the shape (tokens, heads, head size).
        """
        if group.is_even:
            start = group.spans[0][0]
            stop = group.spans[-1][1]
            shape = (len(group.spans), group.longest)
            segments = [line[start:stop].unflatten(0, shape) for line in lines]
            real = None
        else:
            index, real = group.index(lines[0].device)
            segments = []
            for line in lines:
                gathered = line.index_select(0, index.flatten())
                segments.append(gathered.unflatten(0, index.shape))
        query, key, value = (segment.transpose(1, 2) for segment in segments)
        out = self._attend_segments(layer, group, query, key, value, style)
        tokens = out.transpose(1, 2).flatten(0, 1)
        if real is None:
            return tokens
        return tokens.index_select(0, real)

    def _attend_segments(
        self,
        layer: int,
        group: Group,
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        style: Style,
    ) -> Any:
        """Compute the attention of segments to their prefix and to their own tokens.

        Inputs and output have the shape (segments, heads, tokens, head size).
        """
        import torch

        fits_window = style.window is None or group.longest <= style.window
        if group.is_plain and style.softcap is None and fits_window:
            return sdpa(query, key, value, None, style.scale)
        prefix = group.prefix
        if prefix is not None:
            shape = (len(query), -1, -1, -1)
            prefix_key = prefix.keys[layer].expand(shape)
            prefix_value = prefix.values[layer].expand(shape)
            key = torch.cat([prefix_key, key], 2)
            value = torch.cat([prefix_value, value], 2)
        mask = group.mask(self.positions, style.window, query.dtype, query.device)
        if style.softcap is not None:
            return attend_by_hand(query, key, value, mask, style)
        return sdpa(query, key, value, mask, style.scale)


def sdpa(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    mask: "Tensor",
    scale: float,
) -> Any:
    """Compute attention with torch's fused kernels; `mask=None` means a causal mask."""
    from torch.nn.functional import scaled_dot_product_attention

    groups = query.shape[1] // key.shape[1]
    # With a mask or in full precision, CUDA's fast kernels need as many key heads as query heads.
    is_full = query.element_size() > 2
    if groups > 1 and query.is_cuda and (mask is not None or is_full):
        key = key.repeat_interleave(groups, 1)
        value = value.repeat_interleave(groups, 1)
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


def attend_by_hand(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    mask: "Tensor",
    style: Style,
) -> Any:
    """Compute attention with soft-capped scores, which torch's fused kernels do not support."""
    import torch

    groups = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(groups, 1)
    value = value.repeat_interleave(groups, 1)
    products = torch.matmul(query, key.transpose(-1, -2)) * style.scale
    scores = capped(products, style.softcap)
    scores = scores + mask
    weights = torch.softmax(scores.float(), -1)
    weights = weights.to(value.dtype)
    return torch.matmul(weights, value)


def capped(
    scores: "Tensor",
    softcap: float | None,
) -> Any:
    """Apply a soft cap to attention scores: `softcap * tanh(scores / softcap)`."""
    if softcap is None:
        return scores
    return (scores / softcap).tanh() * softcap
