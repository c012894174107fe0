"""A text model in memory: requests become token ids, pairs and rows; what comes back becomes outputs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...core import EMPTY, Candidate, Likelihood, Output, Request, Text, Token, Usage
from .engine import Engine, why_not
from .generate import Row, Writer
from .likelihood import Pair, weigh, windows
from .plain import weigh_plainly, write_plainly
from .prompts import Renderer
from .sampling import check_options, generator_for

T = TypeVar("T")
PLAIN_BATCH = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """How long prompts and answers may be, and how many are written at once."""

    context: int
    max_tokens: int
    truncate: str
    rows: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """Requests as pairs of token ids, ready for the device."""

    requests: Sequence[Request]
    pairs: list[Pair]
    spans: list[tuple[int, int]]
    """Which pairs are those of each request."""
    refused: dict[int, Output]
    cut: dict[int, int]
    """Tokens left out of a request's context."""


@dataclass(frozen=True, slots=True)
class Answering:
    """One request as rows to write, ready for the device."""

    request: Request
    rows: list[Row]
    cut: int = 0
    """Tokens left out of the prompt."""


class TextModel:
    """A causal language model with its tokenizer."""

    def __init__(self, model: Any, renderer: Renderer, limits: Limits, where: str, drafts: bool = True) -> None:
        self.model = model
        self.renderer = renderer
        self.limits = limits
        self.where = where
        self.plain_because = why_not(model)
        """Why beginnings are not shared; `None` where they are."""
        self.engine = Engine(model)
        if not drafts:
            self.engine.budget = replace(self.engine.budget, step=0)
        self.rows = limits.rows
        self.eos = _end_tokens(model, renderer)

    def prepare_likelihood(self, requests: Sequence[Request]) -> Weighing:
        """Everything that needs no device."""
        made = Weighing(requests, [], [], {}, {})
        for at, request in enumerate(requests):
            start = len(made.pairs)
            own = self._pairs_of(request)
            over = max((len(pair.computed) - self.limits.context for pair in own), default=0)
            if over > 0 and self.limits.truncate == "refuse":
                made.refused[at], own = too_long(over + self.limits.context, self.limits.context), []
            elif over > 0:
                own = [cut_pair(pair, self.limits.context, self.limits.truncate) for pair in own]
                made.cut[at] = over
            made.pairs.extend(own)
            made.spans.append((start, len(made.pairs)))
        return made

    def likelihood(self, made: Weighing) -> list[Output]:
        """Weighs the continuations of all requests together."""
        weighed = self._weigh(made.pairs)
        return [
            made.refused[at]
            if at in made.refused
            else weighed_output(request, made.pairs[start:stop], weighed[start:stop], made.cut.get(at))
            for at, (request, (start, stop)) in enumerate(zip(made.requests, made.spans, strict=True))
        ]

    def _pairs_of(self, request: Request) -> list[Pair]:
        if request.prompt.rolling:
            first, tokens = self.renderer.whole_text(request.prompt)
            return windows(tokens, first, self.limits.context)
        return self.renderer.pairs(request.prompt)

    def _weigh(self, pairs: Sequence[Pair]) -> list[Likelihood]:
        if self.plain_because is not None:
            return weigh_plainly(self.model, pairs, PLAIN_BATCH)
        return self._within_memory(lambda: weigh(self.engine, pairs))

    def prepare_generate(self, requests: Sequence[Request]) -> list[Output | Answering]:
        """Everything that needs no device."""
        return [self._answering(request) for request in requests]

    def generate(self, made: Sequence[Output | Answering]) -> list[Output]:
        """Writes the answers of all requests together."""
        rows = [row for entry in made if isinstance(entry, Answering) for row in entry.rows]
        if rows:
            self._write(rows)
        return [self._written(entry) if isinstance(entry, Answering) else entry for entry in made]

    def _answering(self, request: Request) -> Output | Answering:
        check_options(request.options, self.where)
        prompt = self.renderer.encode(request.prompt)
        if not prompt:
            return Output.failed("exception", "the prompt has no tokens", retryable=False)
        wanted = self.limits.max_tokens if request.options.max_tokens is None else request.options.max_tokens
        length = len(prompt)
        if length >= self.limits.context:
            if self.limits.truncate == "refuse":
                return too_long(length, self.limits.context)
            prompt = shortened(prompt, max(1, self.limits.context - wanted), self.limits.truncate)
        room = min(wanted, self.limits.context - len(prompt))
        stops = self._stops(request.options.stop)
        options = replace(request.options, n=1, max_tokens=None, stop=(), seed=None)
        key = request.key or _key_of(prompt)
        draws = [
            generator_for(request.options, request.seed, key, request.repeat, index)
            for index in range(request.options.n)
        ]
        rows = [Row(prompt, options, max(1, room), stops, draw) for draw in draws]
        return Answering(request, rows, length - len(prompt))

    def _stops(self, strings: Sequence[str]) -> Callable[[Sequence[int]], str | None]:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        decode = self.renderer.tokenizer.decode
        # A character may take several tokens; only the end of the text can hold a stop string that is new.
        window = 4 * max((len(stop) for stop in strings), default=0) + 8

        def stops(written: Sequence[int]) -> str | None:
            if written[-1] in self.eos:
                return "stop"
            if strings:
                tail = decode(list(written[-window:]), skip_special_tokens=True)
                if any(stop in tail for stop in strings):
                    whole = decode(list(written), skip_special_tokens=True)
                    if any(stop in whole for stop in strings):
                        return "stop"
            return None

        return stops

    def _write(self, rows: Sequence[Row]) -> None:
        if self.plain_because is not None:
            write_plainly(self.model, rows, PLAIN_BATCH)
            return

        def attempt() -> None:
            for row in rows:
                row.clear()
            Writer(self.engine, rows, self.rows).run()

        self._within_memory(attempt)

    def _within_memory(self, attempt: Callable[[], T]) -> T:
        """Tries with half as much at once when memory runs out; what does not fit then is the scheduler's to halve."""
        import torch

        while True:
            try:
                return attempt()
            except (MemoryError, torch.OutOfMemoryError):
                if self.engine.budget.is_least and self.rows == 1:
                    raise
                self.rows = max(1, self.rows // 2)
                self.engine.budget = self.engine.budget.halved()
                self.engine.release()

    def _written(self, made: Answering) -> Output:
        rows = made.rows
        failed = next((row.error for row in rows if row.error), None)
        if failed is not None:
            return Output.failed("non_finite", failed, retryable=False)
        candidates = tuple(self._candidate(made.request, row) for row in rows)
        usage = Usage(len(rows[0].prompt), sum(len(row.written) for row in rows))
        return Output(candidates, usage=usage, details={"truncated_tokens": made.cut} if made.cut else EMPTY)

    def _candidate(self, request: Request, row: Row) -> Candidate:
        tokenizer = self.renderer.tokenizer
        ids = row.token_ids
        text = tokenizer.decode([i for i in ids if i not in self.eos], skip_special_tokens=True)
        places = [at for stop in request.options.stop if (at := text.find(stop)) >= 0]
        if places:
            text = text[: min(places)]
        tokens: tuple[Token, ...] = ()
        if request.options.logprobs is not None:
            tokens = tuple(
                Token(
                    tokenizer.decode([choice.token]),
                    choice.logprob or 0.0,
                    tuple((tokenizer.decode([i]), value) for i, value in choice.top),
                )
                for choice in row.written
            )
        return Candidate((Text(text),), row.stop_reason, tokens, tuple(ids))


def _end_tokens(model: Any, renderer: Renderer) -> set[int]:
    ends = set(renderer.turn_ends())
    config = getattr(model, "generation_config", None)
    for found in (getattr(config, "eos_token_id", None), getattr(renderer.tokenizer, "eos_token_id", None)):
        if found is not None:
            ends |= set(found) if isinstance(found, (list, tuple)) else {int(found)}
    return ends


def cut_pair(pair: Pair, longest: int, policy: str = "left") -> Pair:
    """The pair with as much of its context as fits; at least one token stays before the rest."""
    drop = min(len(pair.computed) - longest, pair.start - 1)
    if drop <= 0:
        return pair
    kept = shortened(pair.tokens[: pair.start], pair.start - drop, policy)
    return Pair((*kept, *pair.tokens[pair.start :]), len(kept))


def shortened(tokens: Sequence[int], length: int, policy: str) -> tuple[int, ...]:
    """So many of the tokens: the last ones, or with `middle` both ends alike."""
    if len(tokens) <= length:
        return tuple(tokens)
    head = length // 2 if policy == "middle" else 0
    return (*tokens[:head], *tokens[len(tokens) - (length - head) :])


def too_long(length: int, context: int) -> Output:
    """The failure of a prompt that does not fit."""
    what = f"the prompt has {length} tokens and the model takes {context}"
    return Output.failed("context", f"{what}; fix: truncate=left or middle, or fewer examples", retryable=False)


def weighed_output(request: Request, pairs: Sequence[Pair], found: Sequence[Likelihood], cut: int | None) -> Output:
    """The output of one request from the likelihoods of its pairs."""
    if not all(math.isfinite(value.logprob) for value in found):
        return Output.failed("non_finite", "the model computed logits that are not finite", retryable=False)
    if request.prompt.rolling:
        total = sum(value.logprob for value in found)
        found = [Likelihood(total, all(v.greedy for v in found), sum(v.tokens or 0 for v in found))]
    usage = Usage(max((pair.start for pair in pairs), default=0), 0)
    return Output(likelihoods=tuple(found), usage=usage, details={"truncated_tokens": cut} if cut else EMPTY)


def _key_of(prompt: Sequence[int]) -> str:
    return ",".join(map(str, prompt))
