"""Generation: rows that hang on shared trunks, written token by token, each leaving when it is done.

Rows stand in slots. A row that ends gives its slot to the next one, or to the last row when none waits, so no step
computes a finished row. The trunk's keys and values are looked at where they lie, never copied to the rows.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import GenerateOptions
from .attention import PackedPlan, Style, Trunk, capped, integers, sent
from .engine import Engine, in_order
from .prefix import Bush, Node, Stretch, chains, grow, lay_out
from .sampling import Choice, are_finite, choose

GROWTH = 64
"""Tokens by which the room of all rows grows at least."""


@dataclass(slots=True)
class Row:
    """One answer being written."""

    prompt: tuple[int, ...]
    options: GenerateOptions
    max_tokens: int
    stops: "Callable[[Sequence[int]], str | None]"
    """Given what was written, why to stop now; `None` to go on."""
    draw: random.Random
    written: list[Choice] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    """The tokens of what was written."""
    stop_reason: str | None = None
    error: str | None = None

    def clear(self) -> None:
        """Back to the start."""
        self.written, self.token_ids, self.stop_reason, self.error = [], [], None, None

    def take(self, choice: Choice) -> bool:
        """Writes one token; whether the row is done."""
        self.written.append(choice)
        self.token_ids.append(choice.token)
        self.stop_reason = self.stops(self.token_ids)
        if self.stop_reason is None and len(self.written) >= self.max_tokens:
            self.stop_reason = "length"
        return self.stop_reason is not None


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
        """Puts one token of each of some slots in its place; keys and values come as heads by tokens by size."""
        self._open(layer, key, value)
        self.keys[layer][slots, :, :, places] = key.transpose(0, 1)
        self.values[layer][slots, :, places] = value.transpose(0, 1)

    def fill(self, layer: int, spans: Sequence[tuple[int, int, int]], key: Any, value: Any) -> None:
        """Puts stretches of a pass into slots: (slot, start, stop)."""
        self._open(layer, key, value)
        keys, values = self.keys[layer], self.values[layer]
        for slot, start, stop in spans:
            size = stop - start
            keys[slot, :, :, :size] = key[:, start:stop].transpose(1, 2)
            values[slot, :, :size] = value[:, start:stop]
            # What the row before left may be no number, and no mask hides that.
            keys[slot, :, :, size:] = 0
            values[slot, :, size:] = 0

    def _open(self, layer: int, key: Any, value: Any) -> None:
        if layer not in self.keys:
            self.keys[layer] = key.new_zeros(self.count, key.shape[0], key.shape[-1], self.room)
            self.values[layer] = value.new_zeros(self.count, value.shape[0], self.room, value.shape[-1])

    def move(self, source: int, target: int) -> None:
        """Copies one slot over another."""
        for store in (self.keys, self.values):
            for tensor in store.values():
                tensor[target] = tensor[source]

    def grow(self, room: int) -> None:
        """Makes room for longer rows."""
        from torch.nn.functional import pad

        more = room - self.room
        self.keys = {layer: pad(tensor, (0, more)) for layer, tensor in self.keys.items()}
        self.values = {layer: pad(tensor, (0, 0, 0, more)) for layer, tensor in self.values.items()}
        self.room = room


class StepPlan:
    """A pass over one new token of each row."""

    def __init__(self, slots: Slots, lengths: Any, trunks: Sequence[tuple[Trunk | None, Any]]) -> None:
        import torch

        self.slots = slots
        self.lengths = lengths
        """Own tokens of each row before this one."""
        self.trunks = trunks
        """Each trunk with the rows that hang on it; `None` for the rows means all."""
        self.longest = int(lengths.max()) + 1
        self.rows = torch.arange(len(lengths))
        self._made: dict[Any, Any] = {}

    def attend(self, layer: int, query: Any, key: Any, value: Any, style: Style) -> Any:
        """Own tokens of all rows at once; then each trunk with its rows, as one product."""
        import torch

        self.slots.store(layer, *self._places(key.device), key, value)
        heads, count, size = query.shape
        shared = key.shape[0]
        keys = self.slots.keys[layer][:count, ..., : self.longest]
        values = self.slots.values[layer][:count, :, : self.longest]
        grouped = query.view(shared, heads // shared, count, size)
        grouped = grouped * style.scale
        own = torch.matmul(grouped.permute(2, 0, 1, 3), keys)
        own = capped(own, style.softcap) + self._mask(style.window, own.dtype, own.device)
        out = torch.empty(count, shared, heads // shared, value.shape[-1], dtype=query.dtype, device=query.device)
        for trunk, members in self.trunks:
            if members is None:
                out = self._looked(layer, trunk, grouped, own, values, None, style)
            else:
                at = self._members(members, query.device)
                out[at] = self._looked(layer, trunk, grouped[:, :, at], own[at], values[at], at, style)
        return out.permute(1, 2, 0, 3).reshape(heads, count, -1)

    def _looked(
        self, layer: int, trunk: Trunk | None, query: Any, own: Any, values: Any, members: Any, style: Style
    ) -> Any:
        """Rows of one trunk: key heads by groups by rows by size in, rows by key heads by groups by size out."""
        import torch

        if trunk is None:
            return torch.matmul(torch.softmax(own, -1, dtype=torch.float32).to(values.dtype), values)
        shared, groups, count, size = query.shape
        flat = query.reshape(shared, groups * count, size)
        far = torch.matmul(flat, trunk.keys[layer].transpose(-1, -2))
        far = capped(far, style.softcap).view(shared, groups, count, trunk.length).permute(2, 0, 1, 3)
        if style.window is not None:
            far = far + self._far_mask(trunk.length, members, style.window, far.dtype, far.device)
        chances = torch.softmax(torch.cat([far, own], -1), -1, dtype=torch.float32).to(values.dtype)
        near = torch.matmul(chances[..., trunk.length :], values)
        far = chances[..., : trunk.length].permute(1, 2, 0, 3).reshape(shared, groups * count, trunk.length)
        seen = torch.matmul(far, trunk.values[layer]).view(shared, groups, count, -1)
        return near + seen.permute(2, 0, 1, 3)

    def _members(self, members: Any, device: Any) -> Any:
        if (id(members), device) not in self._made:
            self._made[id(members), device] = sent(members, device)
        return self._made[id(members), device]

    def _places(self, device: Any) -> tuple[Any, Any]:
        """Slots and places of the new tokens, brought to a device once and not for every layer."""
        if device not in self._made:
            self._made[device] = sent(self.rows, device), sent(self.lengths, device)
        places: tuple[Any, Any] = self._made[device]
        return places

    def _mask(self, window: int | None, dtype: Any, device: Any) -> Any:
        if (window, device) not in self._made:
            import torch

            step = torch.arange(self.longest)
            hidden = step[None] > self.lengths[:, None]
            if window is not None:
                hidden |= self.lengths[:, None] - step[None] >= window
            mask = torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, float("-inf"))
            self._made[window, device] = sent(mask[:, None, None], device)
        return self._made[window, device]

    def _far_mask(self, length: int, members: Any, window: int, dtype: Any, device: Any) -> Any:
        import torch

        lengths = self.lengths if members is None else self.lengths[members.cpu()]
        hidden = length + lengths[:, None] - torch.arange(length)[None] >= window
        return torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, float("-inf"))[:, None, None].to(device)


class Writer:
    """Writes the answers of many rows, `slots` of them at a time."""

    def __init__(self, engine: Engine, rows: Sequence[Row], slots: int) -> None:
        self.engine = engine
        self.rows = rows
        self.prompts = [row.prompt for row in rows]
        self.waiting = self._in_order()
        self.size = min(slots, len(rows))
        self.active: list[tuple[Row, Stretch | None, int]] = []
        """Row, trunk and own tokens so far of each slot in use."""
        self.slots = Slots(self.size, 0)

    def run(self) -> None:
        """Until every row is done."""
        import torch

        with torch.inference_mode():
            while True:
                self._fill()
                if not self.active:
                    return
                self._step()

    def _in_order(self) -> Iterator[tuple[Row, Stretch | None]]:
        """Rows by what they share; a trunk is computed when the first row that hangs on it is due."""
        # The last token of a prompt always belongs to the row: its logits begin the answer.
        root = grow([prompt[:-1] for prompt in self.prompts])
        trunk = self.engine.kept(root, self.prompts, root.stop)
        for item in chains(root, pack=self.engine.budget.pack, trunk=trunk):
            if isinstance(item, Stretch):
                self.engine.grow_trunk(item, self.prompts)
            else:
                row, trunk = item
                yield self.rows[row], trunk

    def _fill(self) -> None:
        """Gives free slots to waiting rows, whose prompts go through the model together."""
        while len(self.active) < self.size:
            fresh: list[tuple[Row, Stretch | None]] = []
            tokens = 0
            while len(self.active) + len(fresh) < self.size and tokens < self.engine.budget.pack:
                item = next(self.waiting, None)
                if item is None:
                    break
                fresh.append(item)
                tokens += len(item[0].prompt) - _length(item[1])
            if not fresh:
                break
            self._begin(fresh)

    def _begin(self, fresh: Sequence[tuple[Row, Stretch | None]]) -> None:
        prompts = [row.prompt for row, _ in fresh]
        bushes = in_order(
            [
                Bush(Node(_length(trunk), len(row.prompt), index, [], [index]), trunk)
                for index, (row, trunk) in enumerate(fresh)
            ]
        )
        fresh = [fresh[bush.node.row] for bush in bushes]
        layouts = [lay_out(bush, prompts) for bush in bushes]
        spans, at = [], 0
        for offset, layout in enumerate(layouts):
            spans.append((len(self.active) + offset, at, at + len(layout.tokens)))
            at += len(layout.tokens)
        self._make_room(max(stop - start for _, start, stop in spans))
        positions = integers([at for layout in layouts for at in layout.positions])
        plan = PackedPlan(
            self.engine.groups(bushes, layouts),
            positions,
            lambda layer, key, value: self.slots.fill(layer, spans, key, value),
        )
        tokens = [token for layout in layouts for token in layout.tokens]
        logits = self.engine.run(tokens, positions, plan, [stop - 1 for _, _, stop in spans])
        self.active += [(row, trunk, stop - start) for (row, trunk), (_, start, stop) in zip(fresh, spans, strict=True)]
        self._write(logits, len(self.active) - len(fresh))

    def _step(self) -> None:
        lengths = integers([own for _, _, own in self.active])
        self._make_room(int(lengths.max()) + 1)
        by_trunk: dict[int, tuple[Stretch | None, list[int]]] = {}
        for at, (_, trunk, _) in enumerate(self.active):
            by_trunk.setdefault(id(trunk), (trunk, []))[1].append(at)
        trunks = [
            (self.engine.trunk(trunk), None if len(by_trunk) == 1 else integers(members))
            for trunk, members in by_trunk.values()
        ]
        plan = StepPlan(self.slots, lengths, trunks)
        tokens = [row.written[-1].token for row, _, _ in self.active]
        positions = integers([_length(trunk) + own for _, trunk, own in self.active])
        logits = self.engine.run(tokens, positions, plan, range(len(tokens)))
        self.active = [(row, trunk, own + 1) for row, trunk, own in self.active]
        self._write(logits, 0)

    def _write(self, logits: Any, first: int) -> None:
        """The next token of all rows from `first` on; those that are done leave."""
        by_options: dict[GenerateOptions, list[int]] = {}
        for at, (row, _, _) in enumerate(self.active[first:]):
            by_options.setdefault(row.options, []).append(at)
        finite = are_finite(logits)
        done: list[int] = []
        for options, members in by_options.items():
            rows = [self.active[first + at][0] for at in members]
            some = logits if len(members) == len(logits) else logits[members]
            written = [row.token_ids for row in rows]
            for at, row, choice in zip(
                members, rows, choose(some, options, written, [row.draw for row in rows]), strict=True
            ):
                if not finite[at]:
                    row.error = "the model computed logits that are not finite"
                    done.append(first + at)
                elif row.take(choice):
                    done.append(first + at)
        for at in sorted(done, reverse=True):
            last = len(self.active) - 1
            if at != last:
                self.slots.move(last, at)
                self.active[at] = self.active[last]
            self.active.pop()

    def _make_room(self, needed: int) -> None:
        if needed > self.slots.room:
            self.slots.grow(max(needed, self.slots.room + GROWTH))


def _length(trunk: Stretch | None) -> int:
    return 0 if trunk is None else trunk.stop
