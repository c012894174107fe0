"""A text model in memory: requests become token ids, pairs and rows; what comes back becomes outputs.

Models whose attention cannot be shared are asked plainly, as transformers itself would. Nothing is padded then:
sequences of one length go through together, so that a neighbour never changes an answer.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...core import Likelihood, Meter, Output, Request, TemplateError, Usage
from .candidates import Answers, not_finite
from .engine import Engine, why_not
from .fitting import cut_details, fit, fitted, shortened, too_long
from .generate import Row, Writer, chosen, rows_of, write
from .likelihood import Pair, Tally, weigh, windows
from .prompts import Renderer
from .sampling import check_options

T = TypeVar("T")
PLAIN_BATCH = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """How long prompts and answers may be, and how many are written at once."""

    context: int
    max_tokens: int
    truncate: str
    rows: int


Planned = tuple[list[Pair], int] | Output
"""What to weigh of a request, and how many tokens were left out of its context; or why it cannot be weighed."""


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

    def __init__(
        self,
        model: Any,
        renderer: Renderer,
        limits: Limits,
        where: str,
        drafts: bool = True,
    ) -> None:
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
        self.answers = Answers(model, renderer.tokenizer, renderer.turn_ends())

    def prepare_likelihood(
        self, requests: Sequence[Request]
    ) -> list[tuple[Request, Planned]]:
        """Everything that needs no device."""
        limits = self.limits
        return [
            (one, plan_pairs(self.renderer, one, limits.context, limits.truncate))
            for one in requests
        ]

    def likelihood(self, prepared: Sequence[tuple[Request, Planned]]) -> list[Output]:
        """Weighs the continuations of all requests together."""
        return weigh_planned(
            prepared, lambda pairs: weigh_words(self, pairs, PLAIN_BATCH)
        )

    def prepare_generate(self, requests: Sequence[Request]) -> list[Output | Answering]:
        """Everything that needs no device."""
        return [self._answering(request) for request in requests]

    def generate(self, prepared: Sequence[Output | Answering]) -> list[Output]:
        """Writes the answers of all requests together."""
        rows = [
            row
            for entry in prepared
            if isinstance(entry, Answering)
            for row in entry.rows
        ]
        if rows and self.plain_because is not None:
            write_plainly(self.model, rows, PLAIN_BATCH, self.engine.count.meter)
        elif rows:
            write(self.engine, rows, Writer)
        return [
            self._written(entry) if isinstance(entry, Answering) else entry
            for entry in prepared
        ]

    def _written(self, entry: Answering) -> Output:
        return self.answers.of_rows(
            entry.request,
            entry.rows,
            len(entry.rows[0].prompt),
            entry.squeezed,
            entry.cut,
        )

    def _answering(self, request: Request) -> Output | Answering:
        check_options(request.options, self.where)
        try:
            whole = self.renderer.encode(request.prompt)
        except TemplateError as error:
            return refused_prompt(error)
        if not whole:
            return Output.failed(
                "exception", "the prompt has no tokens", retryable=False
            )
        limits = self.limits
        if len(whole) >= limits.context and limits.truncate == "refuse":
            return too_long(len(whole), limits.context)
        max_tokens = request.options.max_tokens
        size, room = fit(
            len(whole), limits.context, max_tokens, limits.max_tokens, limits.truncate
        )
        prompt = shortened(whole, size, limits.truncate)
        stops = self.answers.stops(request.options.stop)
        rows = rows_of(Row, prompt, request, room, stops)
        is_squeezed = room < (limits.max_tokens if max_tokens is None else max_tokens)
        return Answering(
            request, rows, len(whole) - size, room if is_squeezed else None
        )


def refused_prompt(error: TemplateError) -> Output:
    """The failure of a sample whose messages the model's chat template does not take."""
    return Output.failed("chat_template", str(error), retryable=False)


def weighed_output(
    request: Request,
    pairs: Sequence[Pair],
    found: Sequence[Likelihood],
    cut: int | None,
) -> Output:
    """The output of one request from the likelihoods of its pairs."""
    if not all(math.isfinite(value.logprob) for value in found):
        return not_finite()
    if request.prompt.rolling:
        total = sum(value.logprob for value in found)
        found = [
            Likelihood(
                total, all(v.greedy for v in found), sum(v.tokens or 0 for v in found)
            )
        ]
    usage = Usage(max((pair.start for pair in pairs), default=0), 0)
    return Output(likelihoods=tuple(found), usage=usage, details=cut_details(cut))


def plan_pairs(
    renderer: Renderer,
    request: Request,
    longest: int,
    policy: str,
    refuse: Callable[[int, int], Output] = too_long,
) -> Planned:
    """The continuations of a request, or its whole text, behind as much context as fits."""
    if request.prompt.rolling:
        first, tokens = renderer.whole_text(request.prompt)
        return windows(tokens, first, longest), 0
    try:
        pairs = renderer.pairs(request.prompt)
    except TemplateError as error:
        return refused_prompt(error)
    return fitted(pairs, longest, policy, refuse)


def weigh_words(loaded: Any, pairs: Sequence[Pair], batch: int) -> list[Likelihood]:
    """The likelihoods of continuations after words alone; `batch` of them together where beginnings are not shared."""
    if loaded.plain_because is not None:
        return weigh_plainly(loaded.model, pairs, batch, loaded.engine.count.meter)
    found: list[Likelihood] = loaded.engine.within_memory(
        lambda: weigh(loaded.engine, pairs)
    )
    return found


def weigh_planned(
    planned: Sequence[tuple[Request, Planned]],
    weigh: Callable[[Sequence[Pair]], Sequence[Likelihood]],
) -> list[Output]:
    """The outputs of requests whose pairs are weighed together."""
    found = iter(
        weigh(
            [
                pair
                for _, plan in planned
                if not isinstance(plan, Output)
                for pair in plan[0]
            ]
        )
    )
    return [
        plan
        if isinstance(plan, Output)
        else weighed_output(request, plan[0], [next(found) for _ in plan[0]], plan[1])
        for request, plan in planned
    ]


def weigh_plainly(
    model: Any, pairs: Sequence[Pair], batch: int, meter: Meter
) -> list[Likelihood]:
    """The likelihood of each pair's continuation, equal sequences computed once."""
    import torch

    tally = Tally(pairs)
    alike: dict[tuple[int, ...], list[int]] = {}
    for row, pair in enumerate(pairs):
        alike.setdefault(pair.computed, []).append(row)
    device = model.get_input_embeddings().weight.device
    for some in _same_length([sequence for sequence in alike if sequence], len, batch):
        with torch.inference_mode():
            logits = model(
                input_ids=torch.tensor([list(s) for s in some], device=device),
                use_cache=False,
            ).logits
        for at, sequence in enumerate(some):
            for row in alike[sequence]:
                first = pairs[row].start - 1
                found = [(place, row, place) for place in range(first, len(sequence))]
                if found:
                    tally.add(logits[at], found)
        meter.advance(sum(len(alike[sequence]) for sequence in some) / len(pairs))
    return tally.results()


def write_plainly(model: Any, rows: Sequence[Row], batch: int, meter: Meter) -> None:
    """Writes the answer of every row, with the model's own cache."""
    import torch

    device = model.get_input_embeddings().weight.device
    for some in _same_length(rows, lambda row: len(row.prompt), batch):
        with torch.inference_mode():
            _write_together(model, some, device)
        meter.advance(len(some) / len(rows))


def _write_together(model: Any, rows: Sequence[Row], device: Any) -> None:
    import torch

    ids = torch.tensor([list(row.prompt) for row in rows], device=device)
    out = model(input_ids=ids, use_cache=True)
    done = [False] * len(rows)
    while True:
        logits = out.logits[:, -1]
        tokens = []
        for at, row in enumerate(rows):
            if done[at]:
                tokens.append(row.written[-1].token if row.written else 0)
                continue
            choice = chosen(logits[at : at + 1], [row])[0]
            done[at] = row.take(choice)
            tokens.append(0 if choice is None else choice.token)
        if all(done):
            return
        nxt = torch.tensor(tokens, device=device)[:, None]
        # Recurrent models keep their state under another name than attention does.
        cache = {
            name: out[name]
            for name in ("past_key_values", "cache_params")
            if name in out
        }
        out = model(input_ids=nxt, use_cache=True, **cache)


def _same_length(
    items: Sequence[T], length: Callable[[T], int], batch: int
) -> Iterator[list[T]]:
    by_length: dict[int, list[T]] = {}
    for item in items:
        by_length.setdefault(length(item), []).append(item)
    for same in by_length.values():
        for start in range(0, len(same), batch):
            yield same[start : start + batch]
