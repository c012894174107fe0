"""The engine: passes of a causal model over prefixes, segments and rows. Every token is counted.

The engine can run a model whose attention goes through transformers' interface and whose positions are
arguments. At load a trial on the model itself decides: both ways must give the same numbers.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ...core import GenerateOptions, Meter
from .attention import (
    NAME,
    CannotShare,
    Group,
    PackedPlan,
    Plan,
    PrefixCache,
    integers,
    passing,
    register,
    sent,
)
from .few_rows import drop_laid_out
from .generation_rows import NeverStop, Row
from .media_settings import text_settings
from .memory import MOST_SLOTS, SPARED, USUAL_ROWS, bytes_of_answer, free_bytes
from .prefix import MIN_SAVED, Layout, Node, PrefixSpan, Subtree, common, grow, lay_out

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

T = TypeVar("T")
TOLERANCE = {"float32": 1e-3, "float64": 1e-6}
LOOSE = 0.25
"""Largest allowed difference in half precision between logits computed with and without shared prefixes."""
ROPE_BY_LENGTH = ("dynamic", "longrope")
"""Types of position embeddings that depend on the longest sequence of a pass, so that other rows change an answer."""
SMALLEST_PACK = 128
"""Smallest number of tokens in one pass. The number is halved each time memory runs out."""
SMALLEST_SEGMENT = 32
PROBED = 4
"""Number of tokens that the engine generates in a test, to compare them with the model's own most probable ones."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens to compute at once."""

    pack: int
    """Maximum number of tokens in one pass."""
    segment: int
    """Largest number of tokens in one segment after its prefix.

    Attention compares each of them with the whole segment.
    """

    def halved(self) -> "Budget":
        """Return a budget of half the size, but at least `SMALLEST_PACK` and `SMALLEST_SEGMENT`."""
        pack = max(SMALLEST_PACK, self.pack // 2)
        segment = max(SMALLEST_SEGMENT, self.segment // 2)
        return Budget(pack, segment)

    @classmethod
    def of(cls, device: str) -> "Budget":
        """Return the usual budget of a kind of device: large enough to fill it, small enough for its caches."""
        if device.startswith("cuda"):
            return cls(32768, 512)
        return cls(1024, 256)


class TokenCount:
    """Counts the tokens and passes of a model, with a hook on the model itself."""

    def __init__(self, model: "PreTrainedModel") -> None:
        self.tokens = 0
        self.passes = 0
        self.meter = Meter()
        """The progress meter of the run."""
        self._is_paused = False
        self._handle = model.register_forward_pre_hook(self._count, with_kwargs=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing inside the block, and report no progress."""
        meter = self.meter
        self.meter = Meter()
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False
            self.meter = meter

    def _count(
        self,
        _: object,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        ids = kwargs.get("input_ids")
        if ids is None and args:
            ids = args[0]
        if ids is None and kwargs.get("inputs_embeds") is not None:
            ids = kwargs["inputs_embeds"][..., 0]
        self.add(0 if ids is None else int(ids.numel()))

    def add(self, tokens: int) -> None:
        """Add one pass over `tokens` tokens to the counts."""
        if self._is_paused:
            return
        self.passes += 1
        self.tokens += tokens
        self.meter.tokens += tokens

    def remove(self) -> None:
        """Remove the hook that counts from the model."""
        self._handle.remove()


@dataclass(frozen=True, slots=True)
class Counter:
    """Holds the token counts of a model that runs without an `Engine`, which has the same attribute."""

    count: TokenCount


class Engine:
    """A loaded causal language model that shares prefixes."""

    axes = 0
    """Number of coordinates of a token's position (3 for time, height and width); 0 if positions are plain numbers."""

    def __init__(self, model: "PreTrainedModel", rows: int = 0) -> None:
        from .generate import Generator

        self.model = model
        self.usual_attention = attention_of(model)
        self.device = device_of(model)
        is_cuda = self.device.type == "cuda"
        self.budget = Budget.of(str(self.device))
        self.count = TokenCount(model)
        self.rows = rows or (MOST_SLOTS if is_cuda else USUAL_ROWS)
        """Maximum number of answers written at the same time."""
        self.room = int(free_bytes(self.device) * (1 - SPARED))
        """Number of bytes for the keys and values of all slots."""
        self.can_capture = is_cuda and _is_on_one_device(model)
        self.eager_because: str | None = None
        """Why decode steps are not captured as a CUDA graph; None if they are."""
        # A prefix is freed as soon as nothing that is still to be computed names it.
        self._prefixes: WeakKeyDictionary[PrefixSpan, PrefixCache] = WeakKeyDictionary()
        self._last_prefix: tuple[PrefixSpan, tuple[int, ...]] | None = None
        self.generator = Generator(self)

    def run(
        self,
        tokens: Sequence[int],
        positions: "Tensor",
        plan: Plan,
        offsets: Sequence[int],
    ) -> Any:
        """Run one pass over tokens at given positions; return the logits of the tokens with the indices `offsets`."""
        import torch

        with torch.inference_mode(), passing(plan):
            out = self.model(
                input_ids=sent(integers(tokens)[None], self.device),
                position_ids=sent(positions[None], self.device),
                use_cache=False,
                logits_to_keep=sent(integers(offsets or [0]), self.device),
            )
        return out.logits[0, : len(offsets)]

    def decode(
        self,
        tokens: Any,
        positions: "Tensor",
        plan: Plan,
    ) -> Any:
        """Run one pass over the next token of every slot; return the logits of each."""
        with passing(plan):
            out = self.model(
                input_ids=tokens[None],
                position_ids=positions[None],
                use_cache=False,
            )
        return out.logits[0]

    def slots_of(self, length: int) -> int:
        """Return how many slots of `length` tokens fit into memory."""
        each = bytes_of_answer(self.model, length)
        return max(1, min(self.rows, self.room // each))

    def compute_prefix(
        self,
        prefix_span: PrefixSpan,
        sequences: Sequence[Sequence[int]],
        offsets: Sequence[int] = (),
    ) -> Any:
        """Compute a shared prefix and cache its keys and values for the segments that follow it.

        Return the logits of its own tokens with the indices `offsets`.
        """
        import torch

        parent = self.prefix(prefix_span.parent)
        start, stop = prefix_span.start, prefix_span.stop
        cache = PrefixCache(stop)

        def store(
            layer: int,
            key: "Tensor",
            value: "Tensor",
        ) -> None:
            if parent is not None:
                key = torch.cat([parent.keys[layer], key], 1)
                value = torch.cat([parent.values[layer], value], 1)
            cache.keys[layer] = key.contiguous()
            cache.values[layer] = value.contiguous()

        size = stop - start
        group = Group(parent, [(0, size)], [[size] * size])
        positions = torch.arange(start, stop)
        plan = PackedPlan([group], positions, store)
        sequence = sequences[prefix_span.row]
        logits = self.run(sequence[start:stop], positions, plan, offsets)
        self._prefixes[prefix_span] = cache
        if len(prefix_span.rows) == len(sequences):
            self._last_prefix = (prefix_span, tuple(sequence[:stop]))
        return logits

    def cached_prefix(
        self,
        root: Node,
        sequences: Sequence[Sequence[int]],
        before: int,
    ) -> PrefixSpan | None:
        """Return the cached prefix shared by every sequence in this batch, cut to `before` tokens."""
        if self._last_prefix is None:
            return None
        whole, tokens = self._last_prefix
        shared_tokens = tuple(sequences[root.row][: root.stop])
        length = min(before, common(tokens, shared_tokens))
        if length < MIN_SAVED:
            return None
        if length == whole.stop:
            return whole
        part = PrefixSpan(root.row, 0, length, None, ())
        self._prefixes[part] = self._prefixes[whole].cut(length)
        return part

    def forget(self) -> None:
        """Drop the prefixes that are kept for the next batch."""
        self._prefixes.clear()
        self._last_prefix = None
        self.generator.drop()

    def release(self) -> None:
        """Free all memory that can be freed."""
        import torch

        self.forget()
        drop_laid_out(self.model)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def halve(self) -> bool:
        """Halve the number of tokens in one pass; return False if it is already the smallest."""
        before = self.budget
        self.budget = before.halved()
        return self.budget != before

    def within_memory(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` and return its result. Each time memory runs out, halve the budget and try again."""
        import torch

        ended = self.count.meter.ended
        while True:
            self.count.meter.ended = ended
            try:
                return attempt()
            except (MemoryError, torch.OutOfMemoryError):
                had_slots = self.generator.drop()
                if not had_slots and not self.halve():
                    raise
                self.release()

    def prefix(self, prefix_span: PrefixSpan | None) -> PrefixCache | None:
        """Return the cached keys and values of a prefix that was computed."""
        if prefix_span is None:
            return None
        return self._prefixes[prefix_span]

    def run_segments(
        self,
        subtrees: Sequence[Subtree],
        layouts: Sequence[Layout],
        offsets: Sequence[int],
    ) -> Any:
        """Compute many segments in one pass, and return the logits of the tokens with the indices `offsets`."""
        tokens: list[int] = []
        token_positions: list[int] = []
        for layout in layouts:
            tokens += layout.tokens
            token_positions += layout.positions
        positions = integers(token_positions)
        plan = PackedPlan(self.groups(subtrees, layouts), positions)
        return self.run(tokens, positions, plan, offsets)

    def groups(
        self,
        subtrees: Sequence[Subtree],
        layouts: Sequence[Layout],
    ) -> list[Group]:
        """Group neighbouring segments with the same prefix and similar lengths.

        Attention pads the segments of a group to the longest.
        """
        groups: list[Group] = []
        last: Subtree | None = None
        first_size = 0
        start = 0
        for subtree, layout in zip(subtrees, layouts, strict=True):
            size = len(layout.tokens)
            has_same_prefix = last is not None and subtree.prefix is last.prefix
            if not has_same_prefix or not _are_similar(size, first_size):
                prefix = self.prefix(subtree.prefix)
                groups.append(Group(prefix, [], []))
                first_size = size
            group = groups[-1]
            group.spans.append((start, start + size))
            group.ends.append(layout.ends)
            last = subtree
            start += size
        return groups


def in_order(subtrees: Sequence[Subtree]) -> list[Subtree]:
    """Sort segments into as few groups as possible: by prefix, then by length."""
    prefixes: dict[int, int] = {}
    for subtree in subtrees:
        prefixes.setdefault(id(subtree.prefix), len(prefixes))

    def order(subtree: Subtree) -> tuple[int, int]:
        return prefixes[id(subtree.prefix)], subtree.size

    return sorted(subtrees, key=order)


def _are_similar(size: int, other_size: int) -> bool:
    """Return True if padding the shorter length to the longer one costs little."""
    short, long = sorted((size, other_size))
    return long <= 1.5 * short + 8


def tolerance_of(dtype: object) -> float:
    """Return the largest allowed difference between logits computed with and without shared prefixes, by precision."""
    return TOLERANCE.get(str(dtype).removeprefix("torch."), LOOSE)


def why_not(engine: Engine) -> str | None:
    """Return why the engine cannot run a model, or None. A few prompts are computed to find out.

    Generation is checked by `why_not_writing` before the first answer: a run that only scores does not need it.
    """
    import inspect

    from transformers import GenerationMixin

    model = engine.model
    if getattr(model.config, "is_encoder_decoder", False):
        return "it has an encoder and a decoder"
    if getattr(type(model), "generate", None) is not GenerationMixin.generate:
        return "it has its own `generate`"
    if settings := text_settings(model):
        return f"its generation settings have {', '.join(settings)}"
    if not getattr(model, "_supports_attention_backend", False):
        return "its attention cannot be replaced"
    if "logits_to_keep" not in inspect.signature(model.forward).parameters:
        return "it cannot leave out logits"
    rows = probe_rows(model)
    return why_apart(
        model,
        lambda: [plain_logits(model, row)[-1] for row in rows],
        lambda: shared_logits(engine, rows),
    )


def why_not_writing(engine: Engine) -> str | None:
    """Return why the engine cannot generate a model's answers, or None. It generates a few tokens to find out."""
    model, usual = engine.model, engine.usual_attention
    try:
        with engine.count.paused():
            check_written(engine, model, usual)
    except Exception as error:  # noqa: BLE001 - what a model's own code raises is the reason
        if usual is not None:
            model.set_attn_implementation(usual)
        return _reason(error)
    return None


def why_apart(
    part: Any,
    plainly: Callable[[], Sequence[Any]],
    shared: Callable[[], Sequence[Any]],
    check: Callable[[str | None], None] = lambda usual: None,
) -> str | None:
    """Return why passes with shared prefixes and plain passes give different results, or None if they agree.

    If they agree, `part` uses the shared attention from now on, otherwise its usual one. `check` is called with the
    name of the usual attention, and may raise for further reasons.
    """
    if depends_on_neighbours(part.config):
        return "its positions depend on the longest neighbour"
    usual = attention_of(part)
    register()
    reason = None
    try:
        expected = plainly()
        part.set_attn_implementation(NAME)
        for logits, others in zip(expected, shared(), strict=True):
            difference = float((logits - others).abs().max())
            if not difference <= tolerance_of(part.dtype):
                raise CannotShare(f"shared and plain logits are {difference:.2g} apart")
        check(usual)
    except Exception as error:  # noqa: BLE001 - what a model's own code raises is the reason
        reason = _reason(error)
    if reason is not None and usual is not None:
        part.set_attn_implementation(usual)
    return reason


def depends_on_neighbours(config: Any) -> bool:
    """Return True if the positions of a token depend on the length of the longest sequence in its batch."""
    rope = getattr(config, "rope_parameters", None) or {}
    if not isinstance(rope, dict):
        return False
    # Some models have settings for each kind of layer.
    settings = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return any(entry.get("rope_type") in ROPE_BY_LENGTH for entry in settings)


def _reason(error: Exception) -> str:
    """Return the text of an error, with its type if the model's own code raised it."""
    if isinstance(error, CannotShare):
        return str(error)
    return f"{type(error).__name__}: {error}"


def attention_of(part: Any) -> str | None:
    """Return the name of the attention implementation that a model uses."""
    name: str | None = getattr(part.config, "_attn_implementation", None)
    return name


def probe_rows(model: "PreTrainedModel") -> list[tuple[int, ...]]:
    """Return three short sequences with a common prefix, two of which share a longer one."""
    top = int(model.get_input_embeddings().weight.shape[0]) - 1
    start = [(7 * i + 3) % top for i in range(9)]
    ends = ([11, 5, 23], [11, 8], [2, 2, 2, 2])
    return [(*start, *(token % top for token in end)) for end in ends]


def plain_logits(
    model: "PreTrainedModel",
    tokens: Sequence[int],
) -> Any:
    """Return the logits of all tokens, as the model itself computes them."""
    import torch

    ids = torch.tensor([list(tokens)], device=device_of(model))
    with torch.inference_mode():
        return model(input_ids=ids, use_cache=False).logits[0].float()


def check_written(
    engine: Engine,
    part: Any,
    usual: str | None,
) -> None:
    """Raise if a token that the engine generates is not the most probable one.

    The generated tokens are computed again in one pass, by the attention `usual` of `part`.
    """
    rows = probe_answers(engine, probe_rows(engine.model))
    if usual is not None:
        part.set_attn_implementation(usual)
    tolerance = tolerance_of(engine.model.dtype)
    for row in rows:
        if row.is_spoilt:
            raise CannotShare("it computed logits that are not finite")
        logits = plain_logits(engine.model, (*row.prompt, *row.token_ids))
        before = len(row.prompt) - 1
        for index, token in enumerate(row.token_ids, before):
            below_best = float(logits[index].max() - logits[index, token])
            if not below_best <= tolerance:
                raise CannotShare("written and recomputed tokens differ")
    part.set_attn_implementation(NAME)


def probe_answers(
    engine: Engine,
    prompts: Sequence[tuple[int, ...]],
) -> list[Row]:
    """Generate a few tokens after each prompt, and return the rows that contain them."""
    options = GenerateOptions()
    rows = [
        Row(prompt, options, PROBED, NeverStop(), random.Random) for prompt in prompts
    ]
    engine.generator.submit(rows)
    engine.generator.finish(rows)
    engine.forget()
    return rows


def shared_logits(
    engine: Engine,
    rows: Sequence[Sequence[int]],
) -> list[Any]:
    """Return the logits of each row's last token. The common prefix is computed once."""
    root = grow(rows)
    every_row = tuple(range(len(rows)))
    prefix = PrefixSpan(0, 0, root.stop, None, every_row)
    engine.compute_prefix(prefix, rows)
    subtrees = [Subtree(child, prefix) for child in root.children]
    layouts = [lay_out(subtree, rows) for subtree in subtrees]
    last_tokens = [0] * len(rows)
    start = 0
    for layout in layouts:
        for row in layout.paths:
            last_position = len(rows[row]) - 1
            last_tokens[row] = start + layout.offset_of(row, last_position)
        start += len(layout.tokens)
    logits = engine.run_segments(subtrees, layouts, last_tokens)
    engine.forget()
    return [line.float() for line in logits]


def device_of(model: "PreTrainedModel") -> Any:
    """Return the device on which the model expects token ids."""
    return model.get_input_embeddings().weight.device


def _is_on_one_device(model: "PreTrainedModel") -> bool:
    return len({weight.device for weight in model.parameters()}) == 1
