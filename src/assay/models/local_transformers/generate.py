"""Generate many answers at once, each in its slot of the key-value cache.

Callers queue rows (answers to generate) and then run the generator in turns, so rows of
one batch start while those of the previous batch are still being generated. On CUDA,
the forward pass over the next token of every slot is a captured CUDA graph, which runs
several times between checks for finished rows. On other devices it runs eagerly, with a
check after every token.
"""

import threading
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Output
from .generation_rows import Row, choose_tokens
from .prefix import MIN_SAVED, common
from .slots import DecodePlan, PrefillPlan, Segment, SlotCache

if TYPE_CHECKING:
    from .engine import Engine

WINDOW = 8
"""Number of tokens per row that a CUDA graph generates between checks for finished rows."""
LENGTHS = 64
"""Slot lengths are rounded up to a multiple of this many tokens."""
FEWEST = 8
"""Smallest number of slots in a captured CUDA graph."""
TOO_LARGE = "one prompt and its answer do not fit into the device's memory"


class Generator:
    """Generates the answers of one model, each as a row in a slot of the key-value cache."""

    def __init__(self, engine: "Engine") -> None:
        self.engine = engine
        self.is_cuda = engine.can_capture
        self.cache: SlotCache | None = None
        self.rows: list[Row | None] = []
        """The row in each slot; None for a free slot."""
        self._arrived: list[Row] = []
        self._arrivals = threading.Lock()
        self._waiting: list[Row] = []
        self._prompts: list[tuple[tuple[int, ...], int]] = []
        """Sorted (prompt, slot) pairs. Prompts stay after their row is done, to be copied."""
        self._steps: dict[Any, DecodeStep] = {}

    def submit(self, rows: Sequence[Row]) -> None:
        """Queue rows to generate; safe to call while another thread is generating."""
        with self._arrivals:
            self._arrived += rows

    def finish(self, rows: Sequence[Row]) -> None:
        """Generate until all of these rows are done. Other queued rows are generated in the same passes."""
        import torch

        with torch.inference_mode():
            try:
                while not all(row.is_done for row in rows):
                    self._advance(rows)
            except BaseException:
                self._give_up(rows)
                raise

    def _advance(self, current: Sequence[Row]) -> None:
        import torch

        before = _count_done(current)
        try:
            self._admit()
            self._decode()
        except (MemoryError, torch.OutOfMemoryError):
            self._shrink()  # rows start again, so progress is negative
        progress = (_count_done(current) - before) / len(current)
        self.engine.count.meter.advance(progress)

    # Admission

    def _admit(self) -> None:
        """Start waiting rows in free slots, computing their prompts together."""
        with self._arrivals:
            fresh, self._arrived = self._arrived, []
        if fresh:
            self._waiting += fresh
            self._waiting.sort(key=lambda row: row.prompt)
        if not self._waiting:
            return
        self._make_room()
        while self._waiting:
            wave = self._next_wave()
            if not wave:
                return
            self._prefill(wave)

    def _make_room(self) -> None:
        """Create slots, or enlarge them, as the waiting rows need and memory allows."""
        active = [row for row in self.rows if row is not None]
        rows = [*active, *self._waiting]
        longest = max(_total(row) for row in rows) + WINDOW + 1
        length = _round_up(longest, LENGTHS)
        cache = self.cache
        if cache is not None:
            length = max(length, cache.length)
        limit = self.engine.slots_of(length)
        count = min(limit, self._rounded(len(rows)))
        if cache is None:
            self.cache = SlotCache(count, length)
            self.rows = [None] * count
            return
        if length == cache.length and count <= cache.count:
            return
        if length > cache.length and len(active) > limit:
            return  # longer rows wait until enough of the others are done
        self._resize(cache, max(count, len(active)), length)

    def _resize(
        self,
        cache: SlotCache,
        count: int,
        length: int,
    ) -> None:
        if count < cache.count:
            self._close_gaps(count)
        self._steps.clear()
        cache.resize(count, length)
        del self.rows[count:]
        while len(self.rows) < count:
            self.rows.append(None)
        remaining = []
        for prompt, slot in self._prompts:
            if slot < count:
                remaining.append((prompt, slot))
        self._prompts = remaining

    def _rounded(self, count: int) -> int:
        """Return how many slots to compute for `count` rows: on CUDA, a power of two."""
        if not self.is_cuda:
            return count
        # Graphs are captured for few sizes only.
        return max(FEWEST, 1 << (count - 1).bit_length())

    def _next_wave(self) -> list[tuple[Row, Segment]]:
        """Assign free slots to waiting rows. Return these rows with the prompt parts left to compute.

        Prefixes in other slots are copied. A row that shares a longer prefix with a row of this wave waits for the
        next wave, to copy it then.
        """
        assert self.cache is not None
        free = [slot for slot, row in enumerate(self.rows) if row is None]
        copies: dict[tuple[int, int], list[int]] = {}
        wave: list[tuple[Row, Segment]] = []
        left: list[Row] = []
        tokens = 0
        for number, row in enumerate(self._waiting):
            if not free or tokens >= self.engine.budget.pack:
                left += self._waiting[number:]
                break
            shared, source = self._resident(row.prompt)
            is_too_long = _total(row) + WINDOW >= self.cache.length
            if is_too_long or _shares_more(row, wave, shared):
                left.append(row)
                continue
            slot = self._free_slot(free, source, copies)
            if slot is None:
                left += self._waiting[number:]
                break
            self._forget_slot(slot)
            if shared and source != slot:
                targets = copies.setdefault((source, shared), [])
                targets.append(slot)
            segment = Segment(slot, shared, len(row.prompt) - shared)
            wave.append((row, segment))
            tokens += segment.size
        self._waiting = left
        for (source, length), targets in copies.items():
            self.cache.copy(source, targets, length)
        return wave

    def _free_slot(
        self,
        free: list[int],
        source: int,
        copies: dict[tuple[int, int], list[int]],
    ) -> int | None:
        """Take a slot from `free` that no other new row copies from; None if there is none.

        The slot that this row copies from, `source`, is taken only as a last resort.
        """
        sources = {source for source, _ in copies}
        usable = [slot for slot in free if slot not in sources]
        if not usable:
            return None
        slot = usable[0]
        if slot == source and len(usable) > 1:
            slot = usable[1]
        free.remove(slot)
        return slot

    def _resident(self, prompt: tuple[int, ...]) -> tuple[int, int]:
        """Return how much of a prompt's beginning a slot already holds: (number of tokens, slot) of the best
        match.
        """
        best = (0, 0)
        index = bisect_left(self._prompts, (prompt, 0))
        neighbours = self._prompts[max(0, index - 1) : index + 1]
        # Always compute the last token: its logits give the answer's first token.
        most = len(prompt) - 1
        for resident_prompt, slot in neighbours:
            shared = min(common(resident_prompt, prompt), most)
            if shared >= MIN_SAVED:
                best = max(best, (shared, slot))
        return best

    def _forget_slot(self, slot: int) -> None:
        self._prompts = [entry for entry in self._prompts if entry[1] != slot]

    def _prefill(self, wave: Sequence[tuple[Row, Segment]]) -> None:
        """Compute the prompts of rows that start together, and choose their first tokens."""
        assert self.cache is not None
        parts = []
        for row, segment in wave:
            self.rows[segment.slot] = row
        for row, segment in wave:
            last_segment = self._run_all_but_last(row, segment)
            parts.append((row, last_segment))
        parts.sort(key=lambda part: part[1].size)
        ends: list[int] = []
        computed = 0
        for _, segment in parts:
            computed += segment.size
            ends.append(computed - 1)
        logits = self._run(parts, ends)
        for row, segment in parts:
            insort(self._prompts, (row.prompt, segment.slot))
        rows = [row for row, _ in parts]
        choices = choose_tokens(logits, rows)
        for row, choice in zip(rows, choices, strict=True):
            row.take(choice)
        self._retire()

    def _run_all_but_last(self, row: Row, segment: Segment) -> Segment:
        """Compute a long prompt in pieces, except the last piece, which is returned."""
        pack = self.engine.budget.pack
        while segment.size > pack:
            piece = Segment(segment.slot, segment.start, pack)
            self._run([(row, piece)], [])
            segment = Segment(segment.slot, piece.stop, segment.size - pack)
        return segment

    def _run(
        self,
        parts: Sequence[tuple[Row, Segment]],
        positions: Sequence[int],
    ) -> Any:
        """Compute parts of prompts in one pass; return the logits of the tokens at `positions`."""
        assert self.cache is not None
        tokens: list[int] = []
        for row, segment in parts:
            tokens += row.prompt[segment.start : segment.stop]
        plan = PrefillPlan(self.cache, [segment for _, segment in parts])
        return self.engine.run(tokens, plan.positions, plan, positions)

    # Decoding

    def _decode(self) -> None:
        """Generate the next token of every row, or several tokens if a graph is captured."""
        count = len(self._active())
        if not count:
            return
        step = self._step(self._width(count))
        active = self._active()
        step.load(active, self._shared_prefix(active))
        if all(row.is_plain for _, row in active):
            self._write_greedy(active, step)
        else:
            self._write_chosen(active, step)
        self._retire()

    def _active(self) -> list[tuple[int, Row]]:
        """Return the slots in use, each with its row."""
        return [(slot, row) for slot, row in enumerate(self.rows) if row is not None]

    def _write_greedy(
        self,
        active: Sequence[tuple[int, Row]],
        step: "DecodeStep",
    ) -> None:
        """Add the most probable token to each row. If a graph is captured, add several tokens at once."""
        count = 1
        if step.is_captured:
            left = max(row.max_tokens - len(row.token_ids) for _, row in active)
            count = min(WINDOW, left)
        passes = step.run(count)
        for slot, row in active:
            row.take_all([tokens[slot] for tokens in passes])

    def _write_chosen(
        self,
        active: Sequence[tuple[int, Row]],
        step: "DecodeStep",
    ) -> None:
        """Add one token to each row, chosen by the row's own options."""
        step.run(1)
        slots = [slot for slot, _ in active]
        rows = [row for _, row in active]
        choices = choose_tokens(step.logits[slots], rows)
        for row, choice in zip(rows, choices, strict=True):
            row.take(choice)

    def _width(self, count: int) -> int:
        """Return how many slots the next pass computes. If few rows are left, move them to the first slots."""
        width = min(self._rounded(count), len(self.rows))
        rows_beyond = [row for row in self.rows[width:] if row is not None]
        if not rows_beyond:
            return width
        if self._waiting and self.is_cuda:
            return len(self.rows)
        self._close_gaps(width)
        return width

    def _close_gaps(self, width: int) -> None:
        """Move rows from slots at or above `width` to free slots below it."""
        assert self.cache is not None
        free = [slot for slot, row in enumerate(self.rows[:width]) if row is None]
        sources: list[int] = []
        targets: list[int] = []
        longest = 0
        for source, row in self._active():
            if source < width:
                continue
            target = free.pop(0)
            sources.append(source)
            targets.append(target)
            longest = max(longest, len(row.prompt) + len(row.token_ids))
            self.rows[target] = row
            self.rows[source] = None
            self._forget_slot(target)
            insort(self._prompts, (row.prompt, target))
        if targets:
            self.cache.copy(sources, targets, longest)

    def _shared_prefix(self, active: Sequence[tuple[int, Row]]) -> int:
        """Return the length of the prefix common to all rows, whose keys and values attention then reads once.

        It is 0 on CUDA, for a single row, and if the prefix is too short to matter.
        """
        if self.is_cuda or len(active) < 2:
            return 0
        prompts = [row.prompt for _, row in active]
        shared = common(min(prompts), max(prompts))
        return shared if shared >= MIN_SAVED else 0

    def _step(self, width: int) -> "DecodeStep":
        name = (width, self.engine.axes)
        if name not in self._steps:
            assert self.cache is not None
            if not self.is_cuda:
                self._steps.clear()
            captures = self.engine.can_capture
            pools = [step.pool for step in self._steps.values()]
            pool = next((pool for pool in pools if pool is not None), None)
            step = DecodeStep(self.engine, self.cache, width, captures, pool)
            self._steps[name] = step
        return self._steps[name]

    def _retire(self) -> None:
        """Free the slots of finished rows, and clear slots with values that are not finite."""
        for slot, row in enumerate(self.rows):
            if row is not None and row.is_done:
                self.rows[slot] = None
                if row.is_spoilt:
                    assert self.cache is not None
                    self.cache.clear(slot)
                    self._forget_slot(slot)

    # Memory and failures

    def drop(self) -> bool:
        """Free all slots if no row is being generated; return True if memory was freed."""
        if self.cache is None or any(row is not None for row in self.rows):
            return False
        self._clear()
        return True

    def _clear(self) -> None:
        self.cache = None
        self.rows = []
        self._prompts = []
        self._steps.clear()

    def _shrink(self) -> None:
        """Restart all rows with half as many slots; if that is impossible, the longest row fails."""
        count = len(self.rows)
        begun = [row for _, row in self._active()]
        for row in begun:
            row.clear()
        self._waiting += begun
        self._waiting.sort(key=lambda row: row.prompt)
        self._clear()
        self.engine.release()
        can_halve = self.engine.halve()
        if count > 1:
            self.engine.rows = count // 2
        elif not can_halve:
            longest = max(self._waiting, key=_total)
            longest.failure = _too_large(longest)
            self._waiting.remove(longest)

    def _give_up(self, current: Sequence[Row]) -> None:
        """After an error, drop the rows of the caller that met it, and queue all other unfinished rows again."""
        dropped = {id(row) for row in current}
        begun = [row for _, row in self._active()]
        unfinished = [*begun, *self._waiting]
        self._clear()
        self._waiting = []
        for row in unfinished:
            if id(row) in dropped or row.is_done:
                continue
            row.clear()
            self._waiting.append(row)
        with self._arrivals:
            self._arrived = [row for row in self._arrived if id(row) not in dropped]


class DecodeStep:
    """The forward pass over the next token of every slot below `width`, and its input tensors."""

    def __init__(
        self,
        engine: "Engine",
        cache: SlotCache,
        width: int,
        captures: bool,
        pool: Any,
    ) -> None:
        import torch

        self.engine = engine
        self.tokens = torch.zeros(
            width,
            dtype=torch.long,
            device=engine.device,
        )
        self.positions = torch.zeros_like(self.tokens)
        self.shifts = torch.zeros_like(self.tokens)
        self.advances = torch.zeros_like(self.tokens)
        """Increment of each slot's position per pass: 1 for a slot with a row, or else 0."""
        self.plan = DecodePlan(cache, width, self.positions)
        self.logits: Any = None
        self.best: Any = None
        """The most probable token of each slot; -1 where logits are not finite."""
        self.active = 0
        self._captures = captures
        self._pool = pool
        """Memory pool shared with another captured graph; the two graphs never run at the same time."""
        self._graph: Any = None

    @property
    def is_captured(self) -> bool:
        """Return True if the pass uses a CUDA graph. The first run captures the graph."""
        return self._captures

    @property
    def pool(self) -> Any:
        """Return the memory pool of the captured CUDA graph, so that other graphs can share it."""
        if self._graph is None:
            return None
        return self._graph.pool()

    def load(
        self,
        active: Sequence[tuple[int, Row]],
        shared: int,
    ) -> None:
        """Set the input tensors from the active rows, which share the first `shared` tokens."""
        import torch

        width = len(self.tokens)
        # Slots without a row write to their last position, which no row reads.
        scratch = self.plan.cache.length - 1
        tokens = [0] * width
        positions = [scratch] * width
        shifts = [0] * width
        advances = [0] * width
        lengths = [1] * width
        for slot, row in active:
            length = len(row.prompt) + len(row.token_ids)
            tokens[slot] = row.token_ids[-1]
            positions[slot] = length - 1
            shifts[slot] = row.shift
            advances[slot] = 1
            lengths[slot] = length
        lines = torch.tensor([tokens, positions, shifts, advances, lengths])
        lines = lines.to(self.tokens.device)
        self.tokens.copy_(lines[0])
        self.positions.copy_(lines[1])
        self.shifts.copy_(lines[2])
        self.advances.copy_(lines[3])
        self.plan.lengths.copy_(lines[4])
        self.plan.shared = shared
        self.plan.shared_slot = active[0][0]
        if not self._captures:
            self.plan.longest = max(lengths)
        self.active = len(active)

    def run(self, count: int) -> list[list[int]]:
        """Run the pass `count` times; return the most probable tokens of all slots, pass by pass."""
        import torch

        if self._captures and self._graph is None:
            self._capture()
        best_tokens = []
        for _ in range(count):
            if self._graph is None:
                self._pass()
            else:
                self._graph.replay()
                self.engine.count.add(self.active)
            best_tokens.append(self.best.clone() if count > 1 else self.best)
        tokens: list[list[int]] = torch.stack(best_tokens).tolist()
        return tokens

    def _pass(self) -> None:
        """Compute one token for every slot, and make it the input of the next pass."""
        import torch

        plan = self.plan
        plan.begin()
        positions = self.positions + self.shifts
        logits = self.engine.decode(self.tokens, positions, plan)
        is_finite = logits.amax(-1).isfinite()
        best = torch.where(is_finite, logits.argmax(-1), -1)
        self.logits = logits
        self.best = best.to(self.tokens.device)
        self.tokens.copy_(self.best.clamp(min=0))
        self.positions.add_(self.advances)
        plan.lengths.add_(self.advances)

    def _capture(self) -> None:
        """Capture the pass as a CUDA graph; if that fails, run it eagerly from now on."""
        import torch

        state = (self.tokens, self.positions, self.plan.lengths)
        before = [tensor.clone() for tensor in state]
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._pass()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                self._pass()
            self._graph = graph
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a model that cannot be captured still runs eagerly
            self.engine.eager_because = f"{type(error).__name__}: {error}"
            self._captures = self.engine.can_capture = False
        for tensor, value in zip(state, before, strict=True):
            tensor.copy_(value)


def _count_done(rows: Sequence[Row]) -> float:
    """Return how many rows are done. A row in progress counts as a fraction: generated tokens / token limit."""
    total = 0.0
    for row in rows:
        total += 1.0 if row.is_done else len(row.token_ids) / row.max_tokens
    return total


def _total(row: Row) -> int:
    """Return the maximum number of tokens of a row, including its prompt."""
    return len(row.prompt) + row.max_tokens


def _round_up(count: int, step: int) -> int:
    """Round up to a multiple of `step`."""
    missing = -count % step
    return count + missing


def _shares_more(
    row: Row,
    wave: Sequence[tuple[Row, Segment]],
    shared: int,
) -> bool:
    """Return True if the row should wait: the wave's last row shares more of its prompt than `shared` tokens."""
    if not wave:
        return False
    neighbour, _ = wave[-1]
    later = min(common(neighbour.prompt, row.prompt), len(row.prompt) - 1)
    return later >= shared + MIN_SAVED


def _too_large(row: Row) -> Output:
    message = f"{TOO_LARGE}: {len(row.prompt)} + {row.max_tokens} tokens"
    fix = "fix: a smaller max_tokens, a shorter prompt, or a smaller dtype"
    return Output.failed("oom", f"{message}; {fix}", retryable=False)
