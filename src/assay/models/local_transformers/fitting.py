"""Fitting: how much of a prompt stays where it does not fit, and how much room its answer has.

With `refuse` nothing is cut. With `left` and `middle` a prompt is cut as far as its answer needs room: as many tokens
as the task or the user asked for, though at most three quarters of the context; where nobody asked, what the model
takes by itself, at most half of it. So a limit that is merely generous never costs the whole prompt.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import EMPTY, Output
from .likelihood import Pair

POLICIES = ("refuse", "left", "middle")


def fit(
    length: int, context: int, max_tokens: int | None, usual: int, policy: str
) -> tuple[int, int]:
    """How many tokens of a prompt are kept, and how many its answer may have, of `max_tokens` or else `usual`."""
    wanted = usual if max_tokens is None else max_tokens
    most = context // 2 if max_tokens is None else context * 3 // 4
    size = length if policy == "refuse" else min(length, context - min(wanted, most))
    return size, min(wanted, context - size)


def fitted(
    pairs: Sequence[Pair],
    longest: int,
    policy: str,
    refuse: Callable[[int, int], Output],
) -> tuple[list[Pair], int] | Output:
    """Pairs whose contexts were cut to fit, and by how many tokens at most; or the failure where they cannot."""
    over = max((len(pair.computed) - longest for pair in pairs), default=0)
    if over <= 0:
        return list(pairs), 0
    if policy == "refuse":
        return refuse(over + longest, longest)
    # One token must stand before the continuation, whose last token is only predicted.
    needed = max(len(pair.tokens) - pair.start for pair in pairs)
    if needed > longest:
        what = f"a continuation has {needed} tokens and the model takes {longest}"
        return Output.failed(
            "context",
            f"{what}; fix: shorter continuations, or a larger context",
            retryable=False,
        )
    return [cut_pair(pair, longest, policy) for pair in pairs], over


def cut_pair(pair: Pair, longest: int, policy: str = "left") -> Pair:
    """The pair with as much of its context as fits; at least one token stays before the rest."""
    drop = min(len(pair.computed) - longest, pair.start - 1)
    if drop <= 0:
        return pair
    context = shortened(pair.tokens[: pair.start], pair.start - drop, policy)
    return Pair((*context, *pair.tokens[pair.start :]), len(context))


def shortened(tokens: Sequence[int], length: int, policy: str) -> tuple[int, ...]:
    """So many of the tokens: the last ones, or with `middle` both ends alike."""
    if len(tokens) <= length:
        return tuple(tokens)
    head = length // 2 if policy == "middle" else 0
    return (*tokens[:head], *tokens[len(tokens) - (length - head) :])


def too_long(length: int, context: int, *, has_media: bool = False) -> Output:
    """The failure of a prompt that does not fit; one of a model that sees or hears is never cut."""
    what = f"the prompt has {length} tokens and the model takes {context}"
    fix = "truncate=left or middle, or fewer examples"
    if has_media:
        fix = "fewer or smaller images and audio clips, or fewer examples; `truncate` cuts prompts of text models only"
    return Output.failed("context", f"{what}; fix: {fix}", retryable=False)


def cut_details(cut: int | None, squeezed: int | None = None) -> Mapping[str, Any]:
    """What a record says of it: tokens left out of the prompt, and the room of an answer that ended for want of it."""
    details = {}
    if cut:
        details["truncated_tokens"] = cut
    if squeezed is not None:
        details["answer_room"] = squeezed
    return details or EMPTY
