"""Choose the next token, greedily or by sampling with temperature and filters.

Each answer draws its own random numbers on the CPU, so it depends neither on other
answers nor on the device.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core import GenerateOptions, UsageError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen token, with its log-probability and the top alternatives, if requested."""

    token: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


def is_greedy(options: GenerateOptions) -> bool:
    """Return True for greedy decoding: the temperature is 0 or not set."""
    return not options.temperature


def has_penalties(options: GenerateOptions) -> bool:
    """Return True if a repetition, frequency or presence penalty is set."""
    return bool(
        options.repetition_penalty
        or options.frequency_penalty
        or options.presence_penalty
    )


def check_options(
    options: GenerateOptions,
    where: str,
    *,
    reports: bool = True,
) -> None:
    """Raise for options that no local model supports.

    If `reports` is False, this includes log-probabilities.
    """
    for name in ("reasoning_effort", "response_format"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"a local transformers model has no generation option {name!r}",
                where=where,
            )
    if options.logprobs is not None and not reports:
        raise UsageError(
            "a local model that sees, hears or speaks reports no log-probabilities "
            "of what it writes",
            where=where,
            fix="leave logprobs out, or weigh continuations",
        )


def are_finite(logits: "Tensor") -> list[bool]:
    """Return True for each row from whose logits a token can be chosen.

    Only the largest logit must be finite: excluded tokens may have minus infinity.
    """
    finite: list[bool] = logits.amax(-1).isfinite().tolist()
    return finite


def choose(
    logits: "Tensor",
    options: GenerateOptions,
    previous: Sequence[Sequence[int]],
    draws: Sequence[random.Random],
    reported: "Tensor | None" = None,
) -> list[Choice]:
    """Choose the next token of each row. All rows have the same options.

    `previous` has the tokens of each row so far. Reported log-probabilities are
    computed from `reported` if given, otherwise from `logits`.
    """
    import torch

    shaped = penalised(logits.float(), options, previous)
    if is_greedy(options):
        tokens = shaped.argmax(-1)
    else:
        tokens = _drawn(shaped, options, draws)
    token_ids = tokens.tolist()
    if options.logprobs is None:
        return [Choice(token) for token in token_ids]
    basis = logits if reported is None else reported
    raw = torch.log_softmax(basis.float(), -1)
    logprobs = raw.gather(1, tokens[:, None])[:, 0].tolist()
    tops: list[tuple[tuple[int, float], ...]] = [()] * len(token_ids)
    if options.logprobs:
        values, ids = raw.topk(min(options.logprobs, raw.shape[-1]), -1)
        for row, top_ids in enumerate(ids.tolist()):
            tops[row] = tuple(zip(top_ids, values[row].tolist(), strict=True))
    return list(map(Choice, token_ids, logprobs, tops))


def penalised(
    logits: "Tensor",
    options: GenerateOptions,
    previous: Sequence[Sequence[int]],
) -> Any:
    """Apply the penalties of the options to the tokens that each row has generated so far."""
    if not has_penalties(options):
        return logits
    import torch

    logits = logits.clone()
    for row, tokens in enumerate(previous):
        if not tokens:
            continue
        earlier = torch.tensor(list(tokens), device=logits.device)
        ids, counts = earlier.unique(return_counts=True)
        values = logits[row, ids]
        if options.repetition_penalty:
            values = repeated(values, options.repetition_penalty)
        values = values - (options.frequency_penalty or 0.0) * counts
        values = values - (options.presence_penalty or 0.0)
        logits[row, ids] = values
    return logits


def repeated(logits: "Tensor", penalty: "float | Tensor") -> Any:
    """Apply a repetition penalty to the logits of tokens that occurred before."""
    import torch

    return torch.where(logits > 0, logits / penalty, logits * penalty)


def _drawn(
    logits: "Tensor",
    options: GenerateOptions,
    draws: Sequence[random.Random],
) -> Any:
    """Sample a token for each row, after applying temperature, top-k, min-p and top-p."""
    import torch

    heated = logits / float(options.temperature or 1.0)
    ordered, ids = heated.sort(
        dim=-1,
        descending=True,
        stable=True,
    )
    chances = torch.softmax(ordered, -1)
    is_choice = torch.ones_like(chances, dtype=torch.bool)
    if options.top_k:
        is_choice[:, options.top_k :] = False
    if options.min_p:
        is_choice &= chances >= options.min_p * chances[:, :1]
    if options.top_p is not None and options.top_p < 1.0:
        # Keep the token that crosses the limit: those before it do not reach `top_p`.
        is_choice &= chances.cumsum(-1) - chances < options.top_p
    is_choice[:, 0] = True
    mass = (chances * is_choice).cumsum(-1)
    numbers = torch.tensor(
        [[draw.random()] for draw in draws],
        dtype=mass.dtype,
        device=mass.device,
    )
    ranks = torch.searchsorted(mass, numbers * mass[:, -1:])
    ranks = ranks.clamp(max=mass.shape[-1] - 1)
    return ids.gather(1, ranks)[:, 0]
