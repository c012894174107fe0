"""Fit prompts and answers into the context of a model.

The policy `refuse` truncates nothing. With `left` and `middle`, a prompt is truncated
to leave space for its answer: the requested number of tokens, but at most three
quarters of the context. If no number was requested, the space is the model's default,
but at most half of the context. So a high limit never removes the whole prompt.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import EMPTY, Output
from .pairs import Pair

POLICIES = ("refuse", "left", "middle")


@dataclass(frozen=True, slots=True)
class Limits:
    """Length limits of prompts and answers, and the number of answers generated at once."""

    context: int
    max_tokens: int
    truncate: str
    rows: int


def fit(
    length: int,
    context: int,
    max_tokens: int | None,
    usual: int,
    policy: str,
) -> tuple[int, int]:
    """Return how many prompt tokens to keep, and how many tokens the answer may have.

    `usual` is the answer's limit if neither the task nor the user set one.
    """
    if max_tokens is None:
        requested = usual
        reserved = context // 2
    else:
        requested = max_tokens
        reserved = context * 3 // 4
    size = length
    if policy != "refuse":
        size = min(length, context - min(requested, reserved))
    return size, min(requested, context - size)


def fitted(
    pairs: Sequence[Pair],
    longest: int,
    policy: str,
    refuse: Callable[[int, int], Output],
) -> tuple[list[Pair], int] | Output:
    """Truncate contexts so that each pair has at most `longest` tokens to compute.

    Return the pairs and the largest number of tokens that were cut from one of them. If
    a context cannot be cut enough, return a failed output.
    """
    over = max((len(pair.computed) - longest for pair in pairs), default=0)
    if over <= 0:
        return list(pairs), 0
    if policy == "refuse":
        return refuse(over + longest, longest)
    # At least one token must precede the continuation, whose last token is only predicted.
    needed = max(len(pair.tokens) - pair.start for pair in pairs)
    if needed > longest:
        return Output.failed(
            "context",
            f"a continuation has {needed} tokens and the model takes {longest}; "
            "fix: shorter continuations, or a larger context",
            retryable=False,
        )
    return [cut_pair(pair, longest, policy) for pair in pairs], over


def cut_pair(
    pair: Pair,
    longest: int,
    policy: str = "left",
) -> Pair:
    """Truncate the context of a pair so that at most `longest` tokens are computed.

    Keep at least one context token.
    """
    drop = min(len(pair.computed) - longest, pair.start - 1)
    if drop <= 0:
        return pair
    context = shortened(pair.tokens[: pair.start], pair.start - drop, policy)
    return Pair((*context, *pair.tokens[pair.start :]), len(context))


def shortened(
    tokens: Sequence[int],
    length: int,
    policy: str,
) -> tuple[int, ...]:
    """Return `length` of the tokens: the last ones, or with the policy `middle` half from each end."""
    if len(tokens) <= length:
        return tuple(tokens)
    if policy == "middle":
        head = length // 2
    else:
        head = 0
    tail = length - head
    return (*tokens[:head], *tokens[len(tokens) - tail :])


def too_long(
    length: int,
    context: int,
    *,
    has_media: bool = False,
) -> Output:
    """Return the failure of a prompt that does not fit. Prompts of models with media input are never truncated."""
    message = f"the prompt has {length} tokens and the model takes {context}"
    fix = "truncate=left or middle, or fewer examples"
    if has_media:
        fix = "fewer or smaller images and audio clips, or fewer examples; `truncate` cuts prompts of text models only"
    return Output.failed("context", f"{message}; fix: {fix}", retryable=False)


def cut_details(
    cut: int | None,
    squeezed: int | None = None,
) -> Mapping[str, Any]:
    """Return output details for the tokens cut from a prompt, and for an answer's limit that the context lowered."""
    details = {}
    if cut:
        details["truncated_tokens"] = cut
    if squeezed is not None:
        details["answer_room"] = squeezed
    return details or EMPTY
