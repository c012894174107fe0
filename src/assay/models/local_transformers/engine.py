"""The engine: passes of a causal model over trunks, segments and rows, with every token counted.

A model can be run this way when its attention goes through transformers' interface and positions are given as such.
Whether it really can is tried on the loaded model itself: both ways must give the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ...core import Meter
from .attention import (
    NAME,
    Group,
    PackedPlan,
    Plan,
    Trunk,
    integers,
    passing,
    register,
    sent,
)
from .few_rows import drop_laid_out, hasten
from .prefix import MIN_SAVED, Bush, Layout, Node, Stretch, common, grow, lay_out

T = TypeVar("T")
TOLERANCE = {"float32": 1e-3, "float64": 1e-6}
LOOSE = 0.25
"""How far logits of half precision may lie apart when both ways are right."""
ROPE_BY_LENGTH = ("dynamic", "longrope")
"""Position codes that depend on the longest sequence of a pass: a neighbour would change the answer."""
SMALLEST_PACK = 128
"""Tokens of a pass that is not made smaller when memory runs out."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens to compute at once."""

    pack: int
    """In one pass."""
    segment: int
    """That branch off inside one segment: all of them are scored against all of it."""
    step: int
    """In a step of generation: up to here drafts cost little, as weights are read once for all rows."""

    def halved(self) -> "Budget":
        """Half as much at once."""
        return Budget(
            max(SMALLEST_PACK, self.pack // 2),
            max(32, self.segment // 2),
            self.step // 2,
        )

    @classmethod
    def of(cls, device: str) -> "Budget":
        """What suits a kind of device: enough rows to fill it, few enough for its caches."""
        return cls(32768, 512, 256) if device.startswith("cuda") else cls(1024, 256, 48)


class TokenCount:
    """Tokens and passes that went through a model, counted by a hook on the model itself."""

    def __init__(self, model: Any) -> None:
        self.tokens = 0
        self.passes = 0
        self.meter = Meter()
        """Whoever watches the run reads it."""
        self._handle = model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensor = next(
            (x for x in (kwargs.get("input_ids"), *args[:1]) if x is not None), None
        )
        if tensor is None and kwargs.get("inputs_embeds") is not None:
            tensor = kwargs["inputs_embeds"][..., 0]
        self.passes += 1
        count = 0 if tensor is None else int(tensor.numel())
        self.tokens += count
        self.meter.tokens += count

    def remove(self) -> None:
        """Takes the hook off."""
        self._handle.remove()


@dataclass(frozen=True, slots=True)
class Counter:
    """Stands for an engine where the model is asked plainly."""

    count: TokenCount


class Engine:
    """A loaded causal language model that shares beginnings."""

    def __init__(self, model: Any, budget: Budget | None = None) -> None:
        self.model = model
        self.device = model.get_input_embeddings().weight.device
        self.budget = budget or Budget.of(str(self.device))
        self.count = TokenCount(model)
        self.rows = 1
        """Answers written at the same time."""
        self.wrong_drafts = 0
        """Tokens that went through the model in case they would be written, and were not."""
        hasten(model)
        # A trunk is freed as soon as nothing that is still to be computed names it.
        self._trunks: WeakKeyDictionary[Stretch, Trunk] = WeakKeyDictionary()
        self._kept: tuple[Stretch, tuple[int, ...]] | None = None

    def run(
        self, tokens: Sequence[int], positions: Any, plan: Plan, wanted: Sequence[int]
    ) -> Any:
        """One pass over tokens at positions, a tensor; the logits of the wanted places."""
        import torch

        with torch.inference_mode(), passing(plan):
            out = self.model(
                input_ids=sent(integers(tokens)[None], self.device),
                position_ids=sent(positions[None], self.device),
                use_cache=False,
                logits_to_keep=sent(integers(wanted or [0]), self.device),
            )
        return out.logits[0, : len(wanted)]

    def grow_trunk(
        self,
        stretch: Stretch,
        sequences: Sequence[Sequence[int]],
        wanted: Sequence[int] = (),
    ) -> Any:
        """Computes a trunk and keeps it for what hangs on it; the logits of the wanted places of its own tokens."""
        import torch

        parent = self.trunk(stretch.parent)
        grown = Trunk(stretch.stop)

        def keep(layer: int, key: Any, value: Any) -> None:
            joined = (
                (key, value)
                if parent is None
                else (
                    torch.cat([parent.keys[layer], key], 1),
                    torch.cat([parent.values[layer], value], 1),
                )
            )
            grown.keys[layer], grown.values[layer] = (x.contiguous() for x in joined)

        size = stretch.stop - stretch.start
        group = Group(parent, [(0, size)], [[size] * size])
        positions = torch.arange(stretch.start, stretch.stop)
        plan = PackedPlan([group], positions, keep)
        logits = self.run(
            sequences[stretch.row][stretch.start : stretch.stop],
            positions,
            plan,
            wanted,
        )
        self._trunks[stretch] = grown
        if len(stretch.rows) == len(sequences):
            self._kept = stretch, tuple(sequences[stretch.row][: stretch.stop])
        return logits

    def kept(
        self, root: Node, sequences: Sequence[Sequence[int]], before: int
    ) -> Stretch | None:
        """As much of what the hand-over before began with as all of this one do too, at most `before` tokens."""
        if self._kept is None:
            return None
        whole, tokens = self._kept
        length = min(before, common(tokens, sequences[root.row][: root.stop]))
        if length < MIN_SAVED:
            return None
        if length == whole.stop:
            return whole
        trunk = self._trunks[whole]
        part = Stretch(root.row, 0, length, None, ())
        self._trunks[part] = Trunk(
            length,
            {layer: key[:, :length] for layer, key in trunk.keys.items()},
            {layer: value[:, :length] for layer, value in trunk.values.items()},
        )
        return part

    def forget(self) -> None:
        """Lets go of the beginnings that are kept in case the next hand-over begins alike."""
        self._trunks.clear()
        self._kept = None

    def release(self) -> None:
        """Gives memory back that is only held in case."""
        import torch

        self.forget()
        drop_laid_out(self.model)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def within_memory(self, attempt: Callable[[], T]) -> T:
        """Tries with half as much at once when memory runs out; what does not fit then is the scheduler's to halve."""
        import torch

        ended = self.count.meter.ended
        while True:
            self.count.meter.ended = ended
            try:
                return attempt()
            except (MemoryError, torch.OutOfMemoryError):
                if self.budget.pack <= SMALLEST_PACK and self.rows == 1:
                    raise
                self.rows = max(1, self.rows // 2)
                self.budget = self.budget.halved()
                self.release()

    def trunk(self, stretch: Stretch | None) -> Trunk | None:
        """The keys and values of a trunk that was computed."""
        return None if stretch is None else self._trunks[stretch]

    def run_segments(
        self, bushes: Sequence[Bush], layouts: Sequence[Layout], wanted: Sequence[int]
    ) -> Any:
        """Many segments in one pass; the logits of the wanted places of the whole line."""
        tokens = [token for layout in layouts for token in layout.tokens]
        positions = integers([at for layout in layouts for at in layout.positions])
        return self.run(
            tokens,
            positions,
            PackedPlan(self.groups(bushes, layouts), positions),
            wanted,
        )

    def groups(self, bushes: Sequence[Bush], layouts: Sequence[Layout]) -> list[Group]:
        """Neighbouring segments of one trunk and of like length: attention fills up a short one to the longest."""
        groups: list[Group] = []
        last: Stretch | None = None
        at = 0
        for bush, layout in zip(bushes, layouts, strict=True):
            group = groups[-1] if groups else None
            size = len(layout.tokens)
            if (
                group is None
                or bush.trunk is not last
                or not _are_alike(size, len(group.ends[0]))
            ):
                group = Group(self.trunk(bush.trunk), [], [])
                groups.append(group)
                last = bush.trunk
            group.spans.append((at, at + size))
            group.ends.append(layout.ends)
            at += size
        return groups


def in_order(bushes: Sequence[Bush]) -> list[Bush]:
    """Segments as they make the fewest groups: trunk by trunk, and by length within a trunk."""
    trunks: dict[int, int] = {}
    for bush in bushes:
        trunks.setdefault(id(bush.trunk), len(trunks))
    return sorted(bushes, key=lambda bush: (trunks[id(bush.trunk)], bush.size))


def _are_alike(one: int, other: int) -> bool:
    short, long = sorted((one, other))
    return long <= 1.5 * short + 8


def tolerance_of(dtype: Any) -> float:
    """How far logits of a precision may lie apart when both ways are right."""
    return TOLERANCE.get(str(dtype).removeprefix("torch."), LOOSE)


def why_not(model: Any) -> str | None:
    """Why a model cannot share beginnings, or `None`; tried on the model with a few tokens."""
    import inspect

    if not getattr(model, "_supports_attention_backend", False):
        return "its attention cannot be replaced"
    if "logits_to_keep" not in inspect.signature(model.forward).parameters:
        return "it cannot leave out logits"
    rows = _probe(model)
    return why_apart(
        model,
        lambda: [_plainly(model, row) for row in rows],
        lambda: _shared(model, rows),
    )


def why_apart(
    part: Any, plainly: Callable[[], Sequence[Any]], shared: Callable[[], Sequence[Any]]
) -> str | None:
    """Why the part that reads and writes does not compute the same logits in both ways, or `None`.

    It attends in the shared way from here on where it does, else as before.
    """
    rope = getattr(part.config, "rope_parameters", None) or {}
    if isinstance(rope, dict) and rope.get("rope_type") in ROPE_BY_LENGTH:
        return "its positions depend on the longest neighbour"
    usual = getattr(part.config, "_attn_implementation", None)
    register()
    try:
        expected = plainly()
        part.set_attn_implementation(NAME)
        found = shared()
        apart = max(
            float((a - b).abs().max()) for a, b in zip(expected, found, strict=True)
        )
        reason = (
            None
            if apart <= tolerance_of(part.dtype)
            else f"shared and plain logits lie {apart:.2g} apart"
        )
    except Exception as error:  # noqa: BLE001 - what a model's own code makes of the trial is the reason
        reason = f"{type(error).__name__}: {error}"
    if reason is not None and usual is not None:
        part.set_attn_implementation(usual)
    return reason


def _probe(model: Any) -> list[list[int]]:
    """Three short sequences with a common beginning; two of them share more."""
    top = int(model.get_input_embeddings().weight.shape[0]) - 1
    begin = [(7 * i + 3) % top for i in range(9)]
    ends = ([11, 5, 23], [11, 8], [2, 2, 2, 2])
    return [[*begin, *(token % top for token in end)] for end in ends]


def _plainly(model: Any, row: Sequence[int]) -> Any:
    import torch

    device = model.get_input_embeddings().weight.device
    with torch.inference_mode():
        return (
            model(input_ids=torch.tensor([list(row)], device=device), use_cache=False)
            .logits[0, -1]
            .float()
        )


def _shared(model: Any, rows: Sequence[Sequence[int]]) -> list[Any]:
    engine = Engine(model)
    try:
        root = grow(rows)
        trunk = Stretch(0, 0, root.stop, None, tuple(range(len(rows))))
        engine.grow_trunk(trunk, rows)
        bushes = [Bush(child, trunk) for child in root.children]
        layouts = [lay_out(bush, rows) for bush in bushes]
        wanted, offset = [0] * len(rows), 0
        for layout in layouts:
            for row in layout.paths:
                wanted[row] = offset + layout.place(row, len(rows[row]) - 1)
            offset += len(layout.tokens)
        return [
            logits.float() for logits in engine.run_segments(bushes, layouts, wanted)
        ]
    finally:
        engine.count.remove()
