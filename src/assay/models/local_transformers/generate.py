"""Generation: rows that hang on shared trunks, written token by token, each leaving when it is done.

Rows stand in slots. A row that ends gives its slot to the next one, or to the last row when none waits, so no step
computes a finished row. The trunk's keys and values are looked at where they lie, never copied to the rows.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeVar

from ...core import GenerateOptions, Request
from ..draws import generator_for
from .attention import Once, PackedPlan, integers
from .drafts import Drafter, can_draft
from .engine import Engine, in_order
from .prefix import Bush, Node, Stretch, chains, grow, lay_out
from .sampling import Choice, are_finite, choose, is_greedy
from .slots import Slots, StepPlan

Stops = Callable[[Sequence[int]], str | None]
"""Given what was written, why to stop now; `None` to go on."""
NOT_FINITE = "the model computed logits that are not finite"
GROWTH = 64
"""Tokens by which the room of all rows grows at least."""


@dataclass(slots=True)
class Row:
    """One answer being written."""

    prompt: tuple[int, ...]
    options: GenerateOptions
    max_tokens: int
    stops: Stops
    draw: random.Random
    written: list[Choice] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    """The tokens of what was written."""
    stop_reason: str | None = None
    is_spoilt: bool = False
    """Whether no token could be chosen."""

    def words(self) -> Sequence[int]:
        """The prompt as what can be written: token ids."""
        return self.prompt

    def clear(self) -> None:
        """Back to the start."""
        self.written, self.token_ids, self.stop_reason, self.is_spoilt = (
            [],
            [],
            None,
            False,
        )

    def take(self, choice: Choice | None) -> bool:
        """Writes one token, or notes that none could be chosen; whether the row is done."""
        if choice is None:
            self.is_spoilt = True
            return True
        self.written.append(choice)
        self.token_ids.append(choice.token)
        self.stop_reason = self.stops(self.token_ids)
        if self.stop_reason is None and len(self.written) >= self.max_tokens:
            self.stop_reason = "length"
        return self.stop_reason is not None


R = TypeVar("R", bound=Row)


@dataclass(slots=True)
class Active:
    """A row in its slot."""

    row: Row
    trunk: Stretch | None
    own: int
    """Tokens after the trunk that went through the model."""
    drafter: Drafter | None


class Writer:
    """Writes the answers of many rows, `slots` of them at a time."""

    def __init__(self, engine: Engine, rows: Sequence[Row], slots: int) -> None:
        self.engine = engine
        self.rows = rows
        self.prompts = [row.prompt for row in rows]
        self.waiting = self._in_order()
        self.size = min(slots, len(rows))
        self.active: list[Active] = []
        """The rows of the slots in use."""
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
            while (
                len(self.active) + len(fresh) < self.size
                and tokens < self.engine.budget.pack
            ):
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
        sizes = [len(layout.tokens) for layout in layouts]
        self._make_room(max(sizes))
        first = len(self.active)
        self.slots.empty(first, first + len(fresh))
        places = integers(
            [
                [
                    first + offset
                    for offset, size in enumerate(sizes)
                    for _ in range(size)
                ],
                [place for size in sizes for place in range(size)],
            ]
        )
        once = Once()

        def keep(layer: int, key: Any, value: Any) -> None:
            slots, inside = once("places", key.device, lambda: places)
            self.slots.store(layer, slots, inside, key, value)

        positions = integers([at for layout in layouts for at in layout.positions])
        plan = PackedPlan(self.engine.groups(bushes, layouts), positions, keep)
        tokens = [token for layout in layouts for token in layout.tokens]
        logits = self.engine.run(
            tokens, positions, plan, [stop - 1 for stop in accumulate(sizes)]
        )
        # A row's last token is counted when what follows it is read.
        self.active += [
            Active(row, trunk, size - 1, self._drafter(row))
            for (row, trunk), size in zip(fresh, sizes, strict=True)
        ]
        self._write(logits, [[]] * len(fresh))

    def _drafter(self, row: Row) -> Drafter | None:
        return (
            Drafter(row.words())
            if self.engine.budget.step and can_draft(row.options)
            else None
        )

    def _step(self) -> None:
        drafts = self._drafts()
        lengths = [active.own for active in self.active]
        self._make_room(
            max(
                length + len(draft)
                for length, draft in zip(lengths, drafts, strict=True)
            )
            + 1
        )
        by_trunk: dict[int, tuple[Stretch | None, list[int]]] = {}
        for at, active in enumerate(self.active):
            by_trunk.setdefault(id(active.trunk), (active.trunk, []))[1].append(at)
        trunks = [
            (self.engine.trunk(trunk), members) for trunk, members in by_trunk.values()
        ]
        plan = StepPlan(
            self.slots, lengths, [1 + len(draft) for draft in drafts], trunks
        )
        tokens: list[int] = []
        positions: list[int] = []
        for active, draft in zip(self.active, drafts, strict=True):
            tokens += [active.row.token_ids[-1], *draft]
            first = _length(active.trunk) + active.own
            positions += range(first, first + 1 + len(draft))
        logits = self.engine.run(tokens, integers(positions), plan, range(len(tokens)))
        self._write(logits, drafts)

    def _drafts(self) -> list[list[int]]:
        """What each row may write next, as much of it as a pass takes at little cost."""
        most = (self.engine.budget.step - len(self.active)) // len(self.active)
        return [
            []
            if active.drafter is None or most < 1
            else active.drafter.draft(
                min(most, active.row.max_tokens - len(active.row.token_ids) - 1)
            )
            for active in self.active
        ]

    def _write(self, logits: Any, drafts: Sequence[Sequence[int]]) -> None:
        """The next tokens of the last rows, whose drafts went through the model; those that are done leave."""
        first = len(self.active) - len(drafts)
        owners = [
            active.row
            for active, draft in zip(self.active[first:], drafts, strict=True)
            for _ in range(1 + len(draft))
        ]
        choices = chosen(logits, owners)
        done: list[int] = []
        at = 0
        for slot, draft in enumerate(drafts, first):
            if self._take(slot, draft, choices[at : at + 1 + len(draft)]):
                done.append(slot)
            at += 1 + len(draft)
        for slot in reversed(done):
            last = len(self.active) - 1
            if slot != last:
                self.slots.move(last, slot)
                self.active[slot] = self.active[last]
            self.active.pop()

    def _take(
        self, slot: int, draft: Sequence[int], choices: Sequence[Choice | None]
    ) -> bool:
        """Writes one token and what follows it in the draft as long as that is right; whether the row is done."""
        active, count, done = self.active[slot], 0, False
        for choice, drafted in zip(choices, (*draft, None), strict=True):
            if choice is None and drafted is not None:
                break
            count += 1
            done = active.row.take(choice)
            if done or active.row.token_ids[-1] != drafted:
                break
        active.own += count
        # A row that ends early was as much of the batch as one that wrote all it may.
        worked_off = (
            active.row.max_tokens - len(active.row.token_ids) + count if done else count
        )
        self.engine.count.meter.advance(
            worked_off / active.row.max_tokens / len(self.rows)
        )
        self.engine.wrong_drafts += len(choices) - count
        if None in choices[count:]:
            # What is no number spoils the tokens before it too: the row goes on from the last good one without drafts.
            active.drafter = None
            self.slots.empty(slot, slot + 1, active.own)
        if active.drafter is not None and not done:
            active.drafter.learn(active.row.token_ids[-count:], len(draft))
        return done

    def _make_room(self, needed: int) -> None:
        if needed > self.slots.room:
            self.slots.grow(max(needed, self.slots.room + GROWTH))


def rows_of(
    kind: type[R], prompt: tuple[int, ...], request: Request, room: int, stops: Stops
) -> list[R]:
    """What is to be written for a request: once where nothing is drawn."""
    options = replace(request.options, n=1, max_tokens=None, stop=(), seed=None)
    draws = 1 if is_greedy(options) else request.options.n
    return [
        kind(prompt, options, room, stops, generator_for(request, index))
        for index in range(draws)
    ]


def write(engine: Engine, rows: Sequence[Row], writer: type[Writer]) -> None:
    """Writes the answers of rows, fewer of them at once where memory runs out."""

    def attempt() -> None:
        for row in rows:
            row.clear()
        writer(engine, rows, engine.rows).run()

    engine.within_memory(attempt)


def chosen(logits: Any, owners: Sequence[Row]) -> list[Choice | None]:
    """The token that each line of logits chooses for the row it belongs to; none where no token can be chosen."""
    by_options: dict[GenerateOptions, list[int]] = {}
    for at, row in enumerate(owners):
        by_options.setdefault(row.options, []).append(at)
    found: list[Choice | None] = [None] * len(owners)
    finite = are_finite(logits)
    for options, members in by_options.items():
        rows = [owners[at] for at in members]
        some = logits if len(members) == len(logits) else logits[members]
        choices = choose(
            some, options, [row.token_ids for row in rows], [row.draw for row in rows]
        )
        for at, choice in zip(members, choices, strict=True):
            found[at] = choice if finite[at] else None
    return found


def _length(trunk: Stretch | None) -> int:
    return 0 if trunk is None else trunk.stop
