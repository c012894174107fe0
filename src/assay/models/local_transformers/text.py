"""A text model in memory: requests become token ids, pairs and rows; what comes back becomes outputs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core import Candidate, Likelihood, Output, Request, TemplateError, Text, Token, Usage
from ..draws import generator_for
from .engine import Engine, why_not
from .fitting import cut_details, fit, fitted, shortened
from .fitting import too_long as too_long
from .generate import Row, Writer
from .likelihood import Pair, weigh, windows
from .plain import weigh_plainly, write_plainly
from .prompts import Renderer, special_ids
from .sampling import check_options

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
    squeezed: int | None = None
    """Room of an answer that was to have more."""


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
        self.engine.rows = limits.rows
        self.eos = _end_tokens(model, renderer)

    def prepare_likelihood(self, requests: Sequence[Request]) -> Weighing:
        """Everything that needs no device."""
        made = Weighing(requests, [], [], {}, {})
        for at, request in enumerate(requests):
            start = len(made.pairs)
            own = self._pairs_of(request)
            if isinstance(own, Output):
                made.refused[at], own = own, ([], 0)
            made.cut[at] = own[1]
            made.pairs.extend(own[0])
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

    def _pairs_of(self, request: Request) -> tuple[list[Pair], int] | Output:
        """What to weigh, and how many tokens were left out of its context."""
        if request.prompt.rolling:
            first, tokens = self.renderer.whole_text(request.prompt)
            return windows(tokens, first, self.limits.context), 0
        try:
            pairs = self.renderer.pairs(request.prompt)
        except TemplateError as error:
            return refused_prompt(error)
        return fitted(pairs, self.limits.context, self.limits.truncate)

    def _weigh(self, pairs: Sequence[Pair]) -> list[Likelihood]:
        if self.plain_because is not None:
            return weigh_plainly(self.model, pairs, PLAIN_BATCH, self.engine.count.meter)
        return self.engine.within_memory(lambda: weigh(self.engine, pairs))

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
        try:
            whole = self.renderer.encode(request.prompt)
        except TemplateError as error:
            return refused_prompt(error)
        if not whole:
            return Output.failed("exception", "the prompt has no tokens", retryable=False)
        limits = self.limits
        if len(whole) >= limits.context and limits.truncate == "refuse":
            return too_long(len(whole), limits.context)
        asked = request.options.max_tokens
        kept, room = fit(len(whole), limits.context, asked, limits.max_tokens, limits.truncate)
        prompt = shortened(whole, kept, limits.truncate)
        stops = self._stops(request.options.stop)
        options = replace(request.options, n=1, max_tokens=None, stop=(), seed=None)
        draws = [generator_for(request, index) for index in range(request.options.n)]
        rows = [Row(prompt, options, room, stops, draw) for draw in draws]
        is_squeezed = room < (limits.max_tokens if asked is None else asked)
        return Answering(request, rows, len(whole) - kept, room if is_squeezed else None)

    def _stops(self, strings: Sequence[str]) -> Callable[[Sequence[int]], str | None]:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        tokenizer = self.renderer.tokenizer
        decode, ends = tokenizer.decode, self.eos | special_ids(tokenizer, strings)
        # A character may take several tokens; only the end of the text can hold a stop string that is new.
        window = 4 * max((len(stop) for stop in strings), default=0) + 8

        def stops(written: Sequence[int]) -> str | None:
            if written[-1] in ends:
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
            write_plainly(self.model, rows, PLAIN_BATCH, self.engine.count.meter)
            return

        def attempt() -> None:
            for row in rows:
                row.clear()
            Writer(self.engine, rows, self.engine.rows).run()

        self.engine.within_memory(attempt)

    def _written(self, made: Answering) -> Output:
        rows = made.rows
        failed = next((row.error for row in rows if row.error), None)
        if failed is not None:
            return Output.failed("non_finite", failed, retryable=False)
        candidates = tuple(self._candidate(made.request, row) for row in rows)
        usage = Usage(len(rows[0].prompt), sum(len(row.written) for row in rows))
        ended_early = any(row.stop_reason == "length" for row in rows)
        return Output(candidates, usage=usage, details=cut_details(made.cut, made.squeezed if ended_early else None))

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


def refused_prompt(error: TemplateError) -> Output:
    """The failure of a sample whose messages the model's chat template does not take."""
    return Output.failed("chat_template", str(error), retryable=False)


def weighed_output(request: Request, pairs: Sequence[Pair], found: Sequence[Likelihood], cut: int | None) -> Output:
    """The output of one request from the likelihoods of its pairs."""
    if not all(math.isfinite(value.logprob) for value in found):
        return Output.failed("non_finite", "the model computed logits that are not finite", retryable=False)
    if request.prompt.rolling:
        total = sum(value.logprob for value in found)
        found = [Likelihood(total, all(v.greedy for v in found), sum(v.tokens or 0 for v in found))]
    usage = Usage(max((pair.start for pair in pairs), default=0), 0)
    return Output(likelihoods=tuple(found), usage=usage, details=cut_details(cut))
