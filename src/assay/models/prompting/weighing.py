"""Pair continuations with their contexts for scoring, and convert the likelihoods to outputs."""

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ...core import Likelihood, Output, Request, TemplateError, Usage
from .fitting import cut_details, fitted, too_long
from .pairs import Pair, windows

if TYPE_CHECKING:
    from .renderer import Renderer

NOT_FINITE = "the model computed logits that are not finite"


Planned = tuple[list[Pair], int] | Output
"""The context-continuation pairs of a request with the number of tokens cut from the context, or a failed output."""


def not_finite(what: str = NOT_FINITE) -> Output:
    """Return the failed output for logits with infinite or NaN values."""
    return Output.failed("non_finite", what, retryable=False)


def refused_prompt(error: TemplateError) -> Output:
    """Return the failure of a sample whose messages the chat template rejects."""
    return Output.failed("chat_template", str(error), retryable=False)


def plan_pairs(
    renderer: "Renderer",
    request: Request,
    longest: int,
    policy: str,
    refuse: Callable[[int, int], Output] = too_long,
) -> Planned:
    """Return a request's pairs of context and continuation, or the pieces of its whole text.

    Contexts are truncated to the model's context length.
    """
    if request.prompt.rolling:
        first, tokens = renderer.whole_text(request.prompt)
        return windows(tokens, first, longest), 0
    try:
        pairs = renderer.pairs(request.prompt)
    except TemplateError as error:
        return refused_prompt(error)
    return fitted(pairs, longest, policy, refuse)


def weighed_output(
    request: Request,
    pairs: Sequence[Pair],
    likelihoods: Sequence[Likelihood],
    cut: int | None,
) -> Output:
    """Build the output of one request from the likelihoods of its pairs.

    The likelihoods of a whole text's pieces are added up. `cut` is the number of tokens
    that were cut from contexts.
    """
    if not all(math.isfinite(likelihood.logprob) for likelihood in likelihoods):
        return not_finite()
    if request.prompt.rolling:
        whole = Likelihood(
            logprob=sum(likelihood.logprob for likelihood in likelihoods),
            greedy=all(likelihood.greedy for likelihood in likelihoods),
            tokens=sum(likelihood.tokens or 0 for likelihood in likelihoods),
        )
        likelihoods = [whole]
    return Output(
        likelihoods=tuple(likelihoods),
        usage=Usage(max((pair.start for pair in pairs), default=0), 0),
        details=cut_details(cut),
    )


def weigh_planned(
    planned: Sequence[tuple[Request, Planned]],
    weigh: Callable[[Sequence[Pair]], Sequence[Likelihood]],
) -> list[Output]:
    """Score the pairs of all requests in one call to `weigh`, and return one output per request."""
    all_pairs: list[Pair] = []
    for _, plan in planned:
        if not isinstance(plan, Output):
            all_pairs += plan[0]
    likelihoods = iter(weigh(all_pairs))
    outputs = []
    for request, plan in planned:
        if isinstance(plan, Output):
            outputs.append(plan)
            continue
        pairs, cut = plan
        likelihoods_of_pairs = list(islice(likelihoods, len(pairs)))
        outputs.append(weighed_output(request, pairs, likelihoods_of_pairs, cut))
    return outputs
