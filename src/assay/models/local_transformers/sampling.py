"""Choose the next token: the most probable one, or one drawn from a shaped distribution.

A row draws its own random numbers on the CPU, so its answer depends neither on other rows nor on the device.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core import GenerateOptions, UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """The next token of a row, with the reported values."""

    token: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


def is_greedy(options: GenerateOptions) -> bool:
    """Return True if the most probable token is taken."""
    return not options.temperature


def has_penalties(options: GenerateOptions) -> bool:
    """Return True if earlier tokens change the choice of the next one."""
    return bool(
        options.repetition_penalty
        or options.frequency_penalty
        or options.presence_penalty
    )


def check_options(
    options: GenerateOptions, where: str, *, reports: bool = True
) -> None:
    """Raise for options that no local model supports, and for log-probabilities of a model without them."""
    for name in ("reasoning_effort", "response_format"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"a local transformers model has no generation option {name!r}",
                where=where,
            )
    if options.logprobs is not None and not reports:
        what = "a local model that sees, hears or speaks reports no log-probabilities of what it writes"
        raise UsageError(
            what, where=where, fix="leave logprobs out, or weigh continuations"
        )


def are_finite(logits: Any) -> list[bool]:
    """Return for each row whether a token can be chosen from it. Excluded tokens may have minus infinity."""
    found: list[bool] = logits.amax(-1).isfinite().tolist()
    return found


def choose(
    logits: Any,
    options: GenerateOptions,
    previous: Sequence[Sequence[int]],
    draws: Sequence[random.Random],
) -> list[Choice]:
    """Return the next token of rows with the same options. `previous` has what each row wrote so far."""
    import torch

    shaped = penalised(logits.float(), options, previous)
    if is_greedy(options):
        tokens = shaped.argmax(-1)
    else:
        tokens = _drawn(shaped, options, draws)
    if options.logprobs is None:
        return [Choice(token) for token in tokens.tolist()]
    raw = torch.log_softmax(logits.float(), -1)
    logprobs = raw.gather(1, tokens[:, None])[:, 0].tolist()
    if not options.logprobs:
        return [
            Choice(token, value)
            for token, value in zip(tokens.tolist(), logprobs, strict=True)
        ]
    values, ids = raw.topk(min(options.logprobs, raw.shape[-1]), -1)
    tops = [
        tuple(zip(i, v, strict=True))
        for i, v in zip(ids.tolist(), values.tolist(), strict=True)
    ]
    return [
        Choice(*entry) for entry in zip(tokens.tolist(), logprobs, tops, strict=True)
    ]


def penalised(
    logits: Any, options: GenerateOptions, previous: Sequence[Sequence[int]]
) -> Any:
    if not has_penalties(options):
        return logits
    import torch

    logits = logits.clone()
    for row, tokens in enumerate(previous):
        if not tokens:
            continue
        ids, counts = torch.tensor(list(tokens), device=logits.device).unique(
            return_counts=True
        )
        values = logits[row, ids]
        if options.repetition_penalty:
            penalty = options.repetition_penalty
            values = torch.where(values > 0, values / penalty, values * penalty)
        values = (
            values
            - (options.frequency_penalty or 0.0) * counts
            - (options.presence_penalty or 0.0)
        )
        logits[row, ids] = values
    return logits


def _drawn(
    logits: Any, options: GenerateOptions, draws: Sequence[random.Random]
) -> Any:
    import torch

    ordered, ids = (logits / float(options.temperature or 1.0)).sort(
        dim=-1, descending=True, stable=True
    )
    chances = torch.softmax(ordered, -1)
    is_choice = torch.ones_like(chances, dtype=torch.bool)
    if options.top_k:
        is_choice[:, options.top_k :] = False
    if options.min_p:
        is_choice &= chances >= options.min_p * chances[:, :1]
    if options.top_p is not None and options.top_p < 1.0:
        # The token that crosses the line is kept: the rest would fall short of it.
        is_choice &= chances.cumsum(-1) - chances < options.top_p
    is_choice[:, 0] = True
    mass = (chances * is_choice).cumsum(-1)
    numbers = torch.tensor(
        [[draw.random()] for draw in draws], dtype=mass.dtype, device=mass.device
    )
    at = torch.searchsorted(mass, numbers * mass[:, -1:]).clamp(max=mass.shape[-1] - 1)
    return ids.gather(1, at)[:, 0]
