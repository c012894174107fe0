"""Run a causal language model over shared prefixes, and count every token.

The model must use transformers' attention interface and accept token positions as an
argument. When a model is loaded, a test compares logits with and without shared
prefixes. If they differ, the engine is not used.
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
"""Largest allowed difference between logits with and without shared prefixes, in half precision."""
ROPE_BY_LENGTH = ("dynamic", "longrope")
"""Types of rotary embeddings that depend on the longest sequence in a batch.

With them, other sequences in the batch would change an answer.
"""
SMALLEST_PACK = 128
"""Smallest limit on tokens per forward pass; the limit is halved each time memory runs out."""
SMALLEST_SEGMENT = 32
PROBED = 4
"""Number of tokens that `check_written` generates to test the engine."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on the number of tokens in a forward pass and in a segment."""

    pack: int
    """Maximum number of tokens in a forward pass."""
    segment: int
    """Maximum number of tokens in a segment, excluding those that all its sequences share.

    Attention computes scores for every pair of tokens in a segment.
    """

    def halved(self) -> "Budget":
        """Return a budget of half the size, but at least `SMALLEST_PACK` and `SMALLEST_SEGMENT`."""
        pack = max(SMALLEST_PACK, self.pack // 2)
        segment = max(SMALLEST_SEGMENT, self.segment // 2)
        return Budget(pack, segment)

    @classmethod
    def of(cls, device: str) -> "Budget":
        """Return the default budget for a device: as many tokens as it computes efficiently."""
        if device.startswith("cuda"):
            return cls(32768, 512)
        return cls(1024, 256)


class TokenCount:
    """Counts the forward passes of a model and their tokens, with a forward hook."""

    def __init__(self, model: "PreTrainedModel") -> None:
        self.tokens = 0
        self.passes = 0
        self.meter = Meter()
        """The progress meter of the run."""
        self._is_paused = False
        self._handle = model.register_forward_pre_hook(self._count, with_kwargs=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend counting and progress reports inside the block."""
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
        """Count one forward pass over `tokens` tokens."""
        if self._is_paused:
            return
        self.passes += 1
        self.tokens += tokens
        self.meter.tokens += tokens

    def remove(self) -> None:
        """Remove the counting hook from the model."""
        self._handle.remove()


@dataclass(frozen=True, slots=True)
class Counter:
    """Holds the token counts of a model that runs without an `Engine`."""

    count: TokenCount


class Engine:
    """Runs a causal language model, computing the common prefixes of its inputs once."""

    axes = 0
    """Number of coordinates of a token position: 3 for time, height and width; 0 if
    the position is a plain number.
    """

    def __init__(self, model: "PreTrainedModel", rows: int = 0) -> None:
        from .generate import Generator

        self.model = model
        self.usual_attention = attention_of(model)
        self.device = device_of(model)
        is_cuda = self.device.type == "cuda"
        self.budget = Budget.of(str(self.device))
        self.count = TokenCount(model)
        self.rows = rows or (MOST_SLOTS if is_cuda else USUAL_ROWS)
        """Maximum number of answers generated at once."""
        self.room = int(free_bytes(self.device) * (1 - SPARED))
        """Number of bytes for the keys and values of all slots."""
        self.can_capture = is_cuda and _is_on_one_device(model)
        self.eager_because: str | None = None
        """Why decode steps are not captured as a CUDA graph; None if they are."""
        # Weak keys: a cache is freed when no remaining step refers to its prefix.
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
        """Run one forward pass over the tokens, and return the logits at the indices `offsets`."""
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
        """Run one forward pass over the next token of every slot, and return the logits."""
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
        """Compute a shared prefix, and cache its keys and values for later segments.

        Return the logits of the prefix tokens at the indices `offsets`.
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
        """Return the cached prefix that all sequences in this batch share, with at most `before` tokens.

        Return None if too little of it is shared to be useful.
        """
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
        """Drop all cached prefixes, and the slots if no answer is being generated."""
        self._prefixes.clear()
        self._last_prefix = None
        self.generator.drop()

    def release(self) -> None:
        """Free cached prefixes, slots, repacked weights and unused GPU memory."""
        import torch

        self.forget()
        drop_laid_out(self.model)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def halve(self) -> bool:
        """Halve the token limit of a forward pass; return False if it is at its minimum."""
        before = self.budget
        self.budget = before.halved()
        return self.budget != before

    def within_memory(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` and return its result. If memory runs out, halve the token budget and try again."""
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
        """Return the cached keys and values of a prefix; None without a prefix."""
        if prefix_span is None:
            return None
        return self._prefixes[prefix_span]

    def run_segments(
        self,
        subtrees: Sequence[Subtree],
        layouts: Sequence[Layout],
        offsets: Sequence[int],
    ) -> Any:
        """Compute segments in one pass; return the logits of tokens at the indices `offsets`."""
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
        """Group neighbouring segments that have the same prefix and similar lengths.

        Attention pads the segments of a group to the longest one.
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
    """Sort segments by prefix and length, so that they form few groups."""
    prefixes: dict[int, int] = {}
    for subtree in subtrees:
        prefixes.setdefault(id(subtree.prefix), len(prefixes))

    def order(subtree: Subtree) -> tuple[int, int]:
        return prefixes[id(subtree.prefix)], subtree.size

    return sorted(subtrees, key=order)


def _are_similar(size: int, other_size: int) -> bool:
    """Return True if padding the shorter segment to the length of the longer one costs little."""
    short, long = sorted((size, other_size))
    return long <= 1.5 * short + 8


def tolerance_of(dtype: object) -> float:
    """Return the allowed difference between logits with and without shared prefixes."""
    return TOLERANCE.get(str(dtype).removeprefix("torch."), LOOSE)


def why_not(engine: Engine) -> str | None:
    """Return why the engine cannot run a model, or None if it can.

    A few short prompts are computed to find out. `why_not_writing` tests generation
    separately, because a run that only scores does not need it.
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
        return "its `forward` has no `logits_to_keep`"
    rows = probe_rows(model)
    return why_apart(
        model,
        lambda: [plain_logits(model, row)[-1] for row in rows],
        lambda: shared_logits(engine, rows),
    )


def why_not_writing(engine: Engine) -> str | None:
    """Return why the engine cannot generate with a model, or None if it can.

    The test generates a few tokens.
    """
    model, usual = engine.model, engine.usual_attention
    try:
        with engine.count.paused():
            check_written(engine, model, usual)
    except Exception as error:  # noqa: BLE001 - any error of the model's own code is a reason
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
    """Compare logits with and without shared prefixes. Return why they differ, or None if they agree.

    If they agree, `part` keeps the shared-prefix attention, otherwise it gets its usual
    attention back. `check` is called with the name of the usual attention, and may
    raise for further reasons.
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
    except Exception as error:  # noqa: BLE001 - any error of the model's own code is a reason
        reason = _reason(error)
    if reason is not None and usual is not None:
        part.set_attn_implementation(usual)
    return reason


def depends_on_neighbours(config: Any) -> bool:
    """Return True if token positions depend on the length of the longest sequence in a batch."""
    rope = getattr(config, "rope_parameters", None) or {}
    if not isinstance(rope, dict):
        return False
    # Some models have settings for each kind of layer.
    settings = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return any(entry.get("rope_type") in ROPE_BY_LENGTH for entry in settings)


def _reason(error: Exception) -> str:
    """Return the text of an error, with its type unless it is `CannotShare`."""
    if isinstance(error, CannotShare):
        return str(error)
    return f"{type(error).__name__}: {error}"


def attention_of(part: Any) -> str | None:
    """Return the name of the attention implementation that a model uses."""
    name: str | None = getattr(part.config, "_attn_implementation", None)
    return name


def probe_rows(model: "PreTrainedModel") -> list[tuple[int, ...]]:
    """Return three short test sequences: all share a prefix, and two share a longer one."""
    top = int(model.get_input_embeddings().weight.shape[0]) - 1
    start = [(7 * i + 3) % top for i in range(9)]
    ends = ([11, 5, 23], [11, 8], [2, 2, 2, 2])
    return [(*start, *(token % top for token in end)) for end in ends]


def plain_logits(
    model: "PreTrainedModel",
    tokens: Sequence[int],
) -> Any:
    """Return the logits of all tokens from a plain forward pass of the model."""
    import torch

    ids = torch.tensor([list(tokens)], device=device_of(model))
    with torch.inference_mode():
        return model(input_ids=ids, use_cache=False).logits[0].float()


def check_written(
    engine: Engine,
    part: Any,
    usual: str | None,
) -> None:
    """Raise if the engine generates a token that is not the most probable one.

    The generated tokens are computed again in one plain pass, with `usual` as the
    attention of `part`.
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
    """Generate a few tokens after each prompt, and return the finished rows."""
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
    """Return the logits of each row's last token, computing the common prefix once."""
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
