"""Slots: fixed-size tensors with the keys and values of the answers being generated.

A slot holds all tokens of one answer, including its prompt. If a prompt shares a prefix
with one in another slot, that part is copied, and only the rest is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .attention import Once, Style, attend_by_hand, integers, sdpa
from .cuda_kernels import attend_slots, can_attend, fits_kernel

if TYPE_CHECKING:
    from torch import Tensor

FLASH_HEAD = 256
"""Largest head size that flash attention supports."""


@dataclass(slots=True)
class SlotCache:
    """A key-value cache: per layer, tensors of the shape (slots, tokens, heads, head size)."""

    count: int
    length: int
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def store(
        self,
        layer: int,
        slots: "Tensor",
        positions: "Tensor",
        key: "Tensor",
        value: "Tensor",
    ) -> None:
        """Store keys and values, of the shape (heads, tokens, head size), in these slots."""
        for tensors, line in ((self.keys, key), (self.values, value)):
            if layer not in tensors:
                heads, _, size = line.shape
                shape = (self.count, self.length, heads, size)
                tensors[layer] = zeros(shape, line)
            tensor = tensors[layer]
            tensor[slots, positions] = line.transpose(0, 1)

    def copy(
        self,
        source: int | list[int],
        targets: list[int],
        length: int,
    ) -> None:
        """Copy the first `length` tokens of each source slot to its target.

        A single source is copied to all targets.
        """
        for tensor in self._tensors():
            tensor[targets, :length] = tensor[source, :length]

    def clear(self, slot: int) -> None:
        """Fill a slot with zeros, because even masked NaN values would affect results."""
        for tensor in self._tensors():
            tensor[slot] = 0

    def resize(self, count: int, length: int) -> None:
        """Change the number and length of slots, keeping their contents.

        Layers are resized one at a time, so that only one of them is in memory twice.
        """
        slots = slice(min(count, self.count))
        tokens = slice(min(length, self.length))
        for tensors in (self.keys, self.values):
            for layer, old in tensors.items():
                heads_and_size = old.shape[2:]
                new = zeros((count, length, *heads_and_size), old)
                new[slots, tokens] = old[slots, tokens]
                tensors[layer] = new
        self.count = count
        self.length = length

    def _tensors(self) -> list[Any]:
        return [*self.keys.values(), *self.values.values()]


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of a prompt to compute: `size` tokens of a slot, starting at index `start`."""

    slot: int
    start: int
    size: int

    @property
    def stop(self) -> int:
        """Return the index after the last token of the segment."""
        return self.start + self.size


class PrefillPlan:
    """The plan of a forward pass over parts of prompts. Attention is causal and stays within each slot."""

    def __init__(
        self,
        cache: SlotCache,
        segments: Sequence[Segment],
    ) -> None:
        self.cache = cache
        self.segments = segments
        positions: list[int] = []
        for part in segments:
            positions += range(part.start, part.stop)
        self.positions = integers(positions)
        self._once = Once()

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
        import torch

        once = self._once
        device = query.device
        slots = once("slots", device, self._slots)
        positions = once("positions", device, lambda: self.positions)
        self.cache.store(layer, slots, positions, key, value)
        keys = self.cache.keys[layer]
        values = self.cache.values[layer]
        sizes = [part.size for part in self.segments]
        if takes_flash(query, keys, values, style):
            starts = once("starts", device, self._starts)
            key_starts = once("keys", device, self._key_starts)
            lengths = once("lengths", device, self._lengths)
            out = flash(
                query.transpose(0, 1),
                keys,
                values,
                starts,
                key_starts,
                lengths,
                max(sizes),
                style,
            )
            return out.transpose(0, 1)
        parts = []
        for line, segment in zip(query.split(sizes, 1), self.segments, strict=True):
            part = self._attend_segment(line, segment, keys, values, style)
            parts.append(part)
        return torch.cat(parts, 1)

    def _attend_segment(
        self,
        query: "Tensor",
        part: Segment,
        keys: "Tensor",
        values: "Tensor",
        style: Style,
    ) -> Any:
        """Compute the attention of one segment without flash attention."""
        tokens = slice(part.stop)
        key = keys[part.slot, tokens].transpose(0, 1)[None]
        value = values[part.slot, tokens].transpose(0, 1)[None]
        query = query[None]
        window = style.window
        if window is not None and part.stop <= window:
            window = None
        mask = None
        is_causal = part.start == 0 and window is None
        if not is_causal or style.softcap is not None:
            mask = self._once(
                (part.start, part.size, window),
                query.device,
                lambda: self._mask(part, window),
            )
            mask = mask.to(query.dtype)
        if style.softcap is not None:
            return attend_by_hand(query, key, value, mask, style)[0]
        return sdpa(query, key, value, mask, style.scale)[0]

    def _mask(
        self,
        part: Segment,
        window: int | None,
    ) -> Any:
        import torch

        queries = torch.arange(part.start, part.stop)[:, None]
        keys = torch.arange(part.stop)[None]
        hidden = keys > queries
        if window is not None:
            hidden |= queries - keys >= window
        mask = torch.zeros(hidden.shape)
        return mask.masked_fill_(hidden, float("-inf"))

    def _slots(self) -> Any:
        slots: list[int] = []
        for part in self.segments:
            slots += [part.slot] * part.size
        return integers(slots)

    def _starts(self) -> Any:
        """Return the start of each segment in the pass, and the end of the last one."""
        starts = [0]
        for part in self.segments:
            starts.append(starts[-1] + part.size)
        return integers(starts).int()

    def _key_starts(self) -> Any:
        slots = [part.slot for part in self.segments]
        return (integers([*slots, slots[-1] + 1]) * self.cache.length).int()

    def _lengths(self) -> Any:
        return integers([part.stop for part in self.segments]).int()


class DecodePlan:
    """The plan of a decode step: one forward pass over the next token of each of the first `width` slots."""

    def __init__(
        self,
        cache: SlotCache,
        width: int,
        positions: "Tensor",
    ) -> None:
        import torch

        self.cache = cache
        self.width = width
        self.positions = positions
        """The position of the next token in each slot. It changes from pass to pass."""
        self.lengths = torch.ones(
            width,
            dtype=torch.int32,
            device=positions.device,
        )
        """For each slot, the number of tokens that its next token attends to, itself included."""
        self.longest = cache.length
        self.shared = 0
        """Length of the prefix that all rows share, which attention reads from one slot."""
        self.shared_slot = 0
        edges = torch.arange(
            width + 1,
            dtype=torch.int32,
            device=positions.device,
        )
        self._starts = edges
        self._key_starts = edges * cache.length
        self._masks: dict[Any, Any] = {}

    def begin(self) -> None:
        """Prepare for a new pass by dropping the cached attention masks of the previous one."""
        self._masks = {}

    def attend(
        self,
        layer: int,
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        style: Style,
    ) -> Any:
        """Return the attention output of one layer for the next token of every slot.

        Inputs and output have the shape (heads, slots, head size).
        """
        device = query.device
        positions = self.positions.to(device)
        cache = self.cache
        if self._takes_kernel(query, key, value, style):
            out = attend_slots(
                query,
                key,
                value,
                cache.keys[layer],
                cache.values[layer],
                positions,
                self.lengths.to(device),
                style,
            )
            return out.transpose(0, 1)
        slots = self._starts[: self.width].to(device)
        cache.store(layer, slots, positions, key, value)
        keys = cache.keys[layer]
        values = cache.values[layer]
        if takes_flash(query, keys, values, style):
            out = flash(
                query.transpose(0, 1),
                keys,
                values,
                self._starts.to(device),
                self._key_starts.to(device),
                self.lengths.to(device),
                1,
                style,
            )
            return out.transpose(0, 1)
        out = self._attend_plainly(query, keys, values, style)
        return out.flatten(1, 2).transpose(0, 1)

    def _attend_plainly(
        self,
        query: "Tensor",
        keys: "Tensor",
        values: "Tensor",
        style: Style,
    ) -> Any:
        """Compute attention without CUDA kernels for slots.

        The result has the shape (slots, key heads, query heads per key head, head
        size).
        """
        # Treat query heads that share a key head as the tokens of one short query.
        heads = keys.shape[2]
        queries = query.transpose(0, 1).unflatten(1, (heads, -1))
        has_one_size = keys.shape[-1] == values.shape[-1]
        can_share = has_one_size and self._can_share(style, query.device)
        first = self.shared if can_share else 0
        slots = slice(self.width)
        tokens = slice(first, self.longest)
        near_keys = keys[slots, tokens].transpose(1, 2)
        near_values = values[slots, tokens].transpose(1, 2)
        mask = self._mask(style.window, first, query)
        if first:
            return self._in_two_parts(
                queries,
                keys,
                values,
                near_keys,
                near_values,
                mask,
                style,
            )
        if style.softcap is not None:
            return attend_by_hand(queries, near_keys, near_values, mask, style)
        return sdpa(queries, near_keys, near_values, mask, style.scale)

    def _takes_kernel(
        self,
        query: "Tensor",
        key: "Tensor",
        value: "Tensor",
        style: Style,
    ) -> bool:
        is_half = takes_flash(query, key, value, style)
        return is_half and fits_kernel(query, key, value) and can_attend()

    def _can_share(self, style: Style, device: Any) -> bool:
        is_plain = style.softcap is None and style.window is None
        return is_plain and device.type == "cpu"

    def _in_two_parts(
        self,
        queries: "Tensor",
        keys: "Tensor",
        values: "Tensor",
        near_keys: "Tensor",
        near_values: "Tensor",
        mask: "Tensor",
        style: Style,
    ) -> Any:
        """Compute attention to the shared prefix once for all slots, and combine it with the rest."""
        import torch

        look = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        scale = style.scale
        width, heads, groups, size = queries.shape
        far_keys = keys[self.shared_slot, : self.shared].transpose(0, 1)[None]
        far_values = values[self.shared_slot, : self.shared].transpose(0, 1)[None]
        together = queries.transpose(0, 1).reshape(1, heads, width * groups, size)
        far, far_sum = look(together, far_keys, far_values, scale=scale)
        shape = (width, groups)
        far = far[0].unflatten(1, shape).transpose(0, 1)
        far_sum = far_sum[0].unflatten(1, shape).transpose(0, 1)
        near, near_sum = look(
            queries,
            near_keys,
            near_values,
            attn_mask=mask,
            scale=scale,
        )
        share = torch.sigmoid(far_sum - near_sum)[..., None].to(near.dtype)
        return near + (far - near) * share

    def _mask(
        self,
        window: int | None,
        first: int,
        query: "Tensor",
    ) -> Any:
        """Return the additive attention mask for the keys from index `first` on, in the shape (slots, 1, 1, keys)."""
        import torch

        name = (window, first, query.device)
        if name not in self._masks:
            positions = torch.arange(first, self.longest, device=query.device)
            lengths = self.lengths.to(query.device)[:, None]
            hidden = positions >= lengths
            if window is not None:
                hidden |= lengths - 1 - positions >= window
            added = torch.zeros(
                hidden.shape,
                dtype=query.dtype,
                device=query.device,
            )
            added = added.masked_fill_(hidden, float("-inf"))
            self._masks[name] = added[:, None, None]
        return self._masks[name]


def zeros(
    shape: Sequence[int],
    like: Any,
) -> Any:
    """Return zeros with the dtype and device of `like`.

    On a CPU, they occupy memory only once they are written to.
    """
    import numpy as np
    import torch

    if like.device.type != "cpu":
        return like.new_zeros(shape)
    size = int(np.prod(shape)) * like.element_size()
    memory = torch.from_numpy(np.zeros(size, np.uint8))
    return memory.view(like.dtype).view(*shape)


def takes_flash(
    query: "Tensor",
    keys: "Tensor",
    values: "Tensor",
    style: Style,
) -> bool:
    """Return True if flash attention supports these tensors: half precision on CUDA."""
    size = query.shape[-1]
    is_usual = size == values.shape[-1] and size <= FLASH_HEAD and size % 8 == 0
    is_half = query.is_cuda and query.element_size() == 2
    return is_half and is_usual and style.softcap is None


def flash(
    query: "Tensor",
    keys: "Tensor",
    values: "Tensor",
    starts: "Tensor",
    key_starts: "Tensor",
    lengths: "Tensor",
    longest: int,
    style: Style,
) -> Any:
    """Compute attention over slots with flash attention, without padding.

    Queries and result have the shape (tokens, heads, head size). `starts` and
    `key_starts` are the offsets of the queries and keys of each slot, and `lengths` is
    its number of keys. The GPU does not wait for the CPU.
    """
    import torch

    is_causal = longest > 1
    if style.window is None:
        left = -1
    else:
        left = style.window - 1
    out = torch.ops.aten._flash_attention_forward(
        query,
        keys.flatten(0, 1),
        values.flatten(0, 1),
        starts,
        key_starts,
        longest,
        keys.shape[1],
        0.0,
        is_causal,
        False,
        scale=style.scale,
        window_size_left=left,
        window_size_right=0 if is_causal or left >= 0 else -1,
        seqused_k=lengths,
    )
    return out[0]
