"""Keys and values of rows that are being written, and a pass over the next tokens of each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from .attention import Once, Style, Trunk, capped, integers


@dataclass(slots=True)
class Slots:
    """Keys and values of the rows' own tokens, layer by layer."""

    count: int
    room: int
    keys: dict[int, Any] = field(default_factory=dict)
    """Slots by heads by size by tokens: as the product with a row's query reads them fastest."""
    values: dict[int, Any] = field(default_factory=dict)
    """Slots by heads by tokens by size."""

    def store(self, layer: int, slots: Any, places: Any, key: Any, value: Any) -> None:
        """Puts tokens in their places in their slots; keys and values come as heads by tokens by size."""
        if layer not in self.keys:
            self.keys[layer] = key.new_zeros(
                self.count, key.shape[0], key.shape[-1], self.room
            )
            self.values[layer] = value.new_zeros(
                self.count, value.shape[0], self.room, value.shape[-1]
            )
        self.keys[layer][slots, :, :, places] = key.transpose(0, 1)
        self.values[layer][slots, :, places] = value.transpose(0, 1)

    def empty(self, first: int, stop: int, place: int = 0) -> None:
        """Forgets what stands in some slots from a place on: it may be no number, and no mask hides that."""
        for layer in self.keys:
            self.keys[layer][first:stop, :, :, place:] = 0
            self.values[layer][first:stop, :, place:] = 0

    def move(self, source: int, target: int) -> None:
        """Copies one slot over another."""
        for store in (self.keys, self.values):
            for tensor in store.values():
                tensor[target] = tensor[source]

    def grow(self, room: int) -> None:
        """Makes room for longer rows."""
        from torch.nn.functional import pad

        more = room - self.room
        self.keys = {
            layer: pad(tensor, (0, more)) for layer, tensor in self.keys.items()
        }
        self.values = {
            layer: pad(tensor, (0, 0, 0, more)) for layer, tensor in self.values.items()
        }
        self.room = room


@dataclass(frozen=True, slots=True)
class Seen:
    """What queries found among some of their tokens; finds among others can be joined to it."""

    found: Any
    """Values by weight, their weights not summing to one."""
    total: Any
    """The sum of the weights."""
    top: Any
    """The highest score, which the weights are relative to."""

    def over(self, change: Any) -> "Seen":
        """The same in another order."""
        return Seen(change(self.found), change(self.total), change(self.top))

    def joined(self, other: "Seen") -> "Seen":
        """Among the tokens of both."""
        top = self.top.maximum(other.top)
        near, far = (self.top - top).exp_(), (other.top - top).exp_()
        found = (self.found * near).addcmul_(other.found, far)
        return Seen(found, (self.total * near).addcmul_(other.total, far), top)


def look(scores: Any, values: Any) -> Seen:
    """Values by the weights of their scores, which are used up."""
    import torch

    scores = scores.float()
    # Where all is hidden the highest score is minus infinity, and nothing can be relative to that.
    top = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
    weights = scores.sub_(top).exp_()
    return Seen(
        torch.matmul(weights.to(values.dtype), values),
        weights.sum(-1, keepdim=True),
        top,
    )


@dataclass
class StepPlan:
    """A pass over one token or a few of each row."""

    slots: Slots
    lengths: Sequence[int]
    """Own tokens of each row before this pass."""
    widths: Sequence[int]
    """Tokens of each row in this pass."""
    trunks: Sequence[tuple[Trunk | None, Sequence[int]]]
    """Each trunk with the rows that hang on it."""

    def __post_init__(self) -> None:
        self.widest = max(self.widths)
        self.longest = max(
            length + width
            for length, width in zip(self.lengths, self.widths, strict=True)
        )
        self._once = Once()

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        """Own tokens of all rows at once; then each trunk with its rows, as one product."""
        import torch

        device = query.device
        slots, places = self._once("places", device, self._places)
        self.slots.store(layer, slots, places, key, value)
        heads, count, size = query.shape
        shared = key.shape[0]
        queries = (query * style.scale).view(shared, heads // shared, count, size)
        rows = len(self.lengths)
        keys = self.slots.keys[layer][:rows, ..., : self.longest]
        values = self.slots.values[layer][:rows, :, : self.longest]
        scores = capped(
            torch.matmul(self._by_row(queries.permute(2, 0, 1, 3)), keys), style.softcap
        )
        mask = self._once(
            ("mask", style.window),
            device,
            lambda: self._mask(style.window, len(queries[0])),
        )
        near = look(scores + mask.to(scores.dtype), values).over(self._by_token)
        found = torch.empty(
            count, *near.found.shape[1:], dtype=query.dtype, device=device
        )
        for trunk, rows_of_it in self.trunks:
            at = self._once(
                ("members", id(trunk)), device, partial(self._members, rows_of_it)
            )
            some = near if at is None else near.over(itemgetter(at))
            if trunk is not None:
                some = some.joined(
                    self._far(
                        layer,
                        trunk,
                        queries if at is None else queries[:, :, at],
                        at,
                        style,
                    )
                )
            answer = (some.found / some.total).to(query.dtype)
            if at is None:
                found = answer
            else:
                found[at] = answer
        return found.permute(1, 2, 0, 3).reshape(heads, count, -1)

    def _far(
        self, layer: int, trunk: Trunk, queries: Any, members: Any, style: Style
    ) -> Seen:
        """What rows see of their trunk: key heads by groups by tokens by size in, tokens by heads by groups out."""
        import torch

        shared, groups, count, size = queries.shape
        flat = queries.reshape(shared, groups * count, size)
        scores = capped(
            torch.matmul(flat, trunk.keys[layer].transpose(-1, -2)), style.softcap
        )
        if style.window is not None:
            window = style.window
            mask = self._once(
                ("far", id(trunk), window),
                queries.device,
                lambda: self._far_mask(trunk.length, members, window),
            )
            scores = (
                scores.view(shared, groups, count, -1) + mask.to(scores.dtype)
            ).view(scores.shape)
        return look(scores, trunk.values[layer]).over(
            lambda x: x.view(shared, groups, count, -1).permute(2, 0, 1, 3)
        )

    def _by_row(self, line: Any) -> Any:
        """Tokens by heads by groups as rows by heads by (steps and groups); rows with fewer tokens are filled up."""
        if self.widest == 1:
            return line
        at = self._once("table", line.device, self._table)
        table = line.new_zeros(len(self.lengths) * self.widest, *line.shape[1:])
        table[at] = line
        return table.unflatten(0, (-1, self.widest)).transpose(1, 2).flatten(2, 3)

    def _by_token(self, table: Any) -> Any:
        """The other way round."""
        if self.widest == 1:
            return table
        at = self._once("table", table.device, self._table)
        return table.unflatten(2, (self.widest, -1)).transpose(1, 2).flatten(0, 1)[at]

    def _line(self) -> tuple[Any, Any]:
        """Row and step of each token."""
        import torch

        widths = integers(self.widths)
        rows = torch.arange(len(self.widths)).repeat_interleave(widths)
        starts = widths.cumsum(0) - widths
        return rows, torch.arange(len(rows)) - starts[rows]

    def _places(self) -> Any:
        """Slots of all tokens, and their places there."""
        import torch

        rows, steps = self._line()
        return torch.stack([rows, integers(self.lengths)[rows] + steps])

    def _table(self) -> Any:
        rows, steps = self._line()
        return rows * self.widest + steps

    def _members(self, rows: Sequence[int]) -> Any:
        """The tokens of some rows; `None` for all."""
        import torch

        if len(rows) == len(self.lengths):
            return None
        return torch.isin(self._line()[0], integers(rows)).nonzero()[:, 0]

    def _mask(self, window: int | None, groups: int) -> Any:
        """What is added to the scores of own tokens: rows by 1 by (steps and groups) by tokens."""
        import torch

        ends = integers(self.lengths)[:, None] + torch.arange(self.widest)[None]
        tokens = torch.arange(self.longest)
        hidden = tokens > ends[..., None]
        if window is not None:
            hidden |= ends[..., None] - tokens >= window
        mask = torch.zeros(hidden.shape).masked_fill_(hidden, float("-inf"))
        return mask.repeat_interleave(groups, 1)[:, None]

    def _far_mask(self, length: int, members: Any, window: int) -> Any:
        import torch

        places = self._places()[1]
        if members is not None:
            places = places[members.cpu()]
        hidden = length + places[:, None] - torch.arange(length)[None] >= window
        return torch.zeros(hidden.shape).masked_fill_(hidden, float("-inf"))
