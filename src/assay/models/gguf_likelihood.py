"""Likelihoods from llama.cpp, which reports log-probabilities only for tokens that it generates.

A grammar of token ids forces it to generate the continuation; the reported log-probabilities are those before
the grammar. They depend a little on whether a token is computed alone or in a batch, so every continuation is
computed the same way: the context first, without generating, and then the continuation from the cache.
llama.cpp never reports a token that is a part of a character. A continuation with such tokens is computed token
by token, from the list of the most probable alternatives.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Likelihood
from .chat_format import Malformed
from .gguf_engine import ServerTokenizer
from .prompting.pairs import Pair

Complete = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Sends a body to llama.cpp. Raises if it answers with an error."""
LISTED = (256, 4096, 1_000_000)
"""How many of the most probable tokens to request, in turn, to find a token that is not reported by itself.

The last number is the size of the vocabulary.
"""
FORCED = 1e6
"""A bias that leaves only one token. Reported values are those before the bias."""


class Weigher:
    """Computes likelihoods of continuations one after another, and remembers what is in the cache."""

    def __init__(self, complete: Complete, vocabulary: ServerTokenizer) -> None:
        self._complete = complete
        self._vocabulary = vocabulary
        self._context: tuple[int, ...] | None = None
        """The last context in the cache; `None` if other calls may have used the cache since."""

    def forget(self) -> None:
        """Note that another call uses the cache."""
        self._context = None

    def weigh(self, pairs: Sequence[Pair]) -> tuple[list[Likelihood], int]:
        """Return the likelihood of each pair, and the number of context tokens that came from the cache."""
        cached = 0
        likelihoods = [Likelihood(0.0, True, 0)] * len(pairs)
        # Continuations of one context follow each other. Rarely, one of them begins
        # within the last token of the context of the others.
        contexts = [pair.tokens[: pair.start] for pair in pairs]
        for index in sorted(range(len(pairs)), key=contexts.__getitem__):
            context = contexts[index]
            continuation = pairs[index].tokens[len(context) :]
            if not continuation:
                continue
            if context != self._context:
                cached += self._put_in(context)
            if all(map(self._vocabulary.is_whole, continuation)):
                likelihoods[index] = self._forced(context, continuation)
            else:
                likelihoods[index] = self._spelled(context, continuation)
        return likelihoods, cached

    def _put_in(self, context: tuple[int, ...]) -> int:
        """Compute a context, and return how many of its tokens came from the cache."""
        # Tokens that were computed together can be reused; written tokens, and the one before them, cannot.
        last = self._context
        may_reuse = last is not None and context[: len(last)] != last
        body = {"prompt": list(context), "max_tokens": 0, "cache_prompt": may_reuse}
        self._context = None
        usage = self._complete(body).get("usage") or {}
        self._context = context
        return int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)

    def _forced(
        self,
        context: tuple[int, ...],
        continuation: tuple[int, ...],
    ) -> Likelihood:
        body = {
            "prompt": list(context),
            "max_tokens": len(continuation),
            "temperature": 0.0,
            "logprobs": 1,
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in continuation),
            "cache_prompt": True,
        }
        tokens = _reported(self._complete(body))
        if tuple(token["id"] for token in tokens) != continuation:
            raise Malformed(
                f"llama.cpp wrote {len(tokens)} of the {len(continuation)} tokens it was to weigh"
            )
        greedy = all(token["top_logprobs"][0]["id"] == token["id"] for token in tokens)
        return Likelihood(
            math.fsum(token["logprob"] for token in tokens),
            greedy,
            len(tokens),
        )

    def _spelled(
        self,
        context: tuple[int, ...],
        continuation: tuple[int, ...],
    ) -> Likelihood:
        """Return the likelihood of a continuation that is computed token by token."""
        logprobs = []
        is_greedy = True
        before = context
        for token in continuation:
            logprob, is_best = self._next(before, token)
            logprobs.append(logprob)
            is_greedy = is_greedy and is_best
            before = (*before, token)
        return Likelihood(math.fsum(logprobs), is_greedy, len(logprobs))

    def _next(self, before: tuple[int, ...], token: int) -> tuple[float, bool]:
        """Return the log-probability of one token, and whether no token had a higher one."""
        is_whole = self._vocabulary.is_whole(token)
        for listed in (1,) if is_whole else LISTED:
            body = {
                "prompt": list(before),
                "max_tokens": 1,
                "temperature": 0.0,
                "logprobs": listed,
                "logit_bias": [[token if is_whole else self._vocabulary.plain, FORCED]],
                "cache_prompt": True,
            }
            for report in _reported(self._complete(body)):
                likely = report["top_logprobs"]
                for entry in (report, *likely):
                    if entry["id"] == token:
                        is_best = likely[0]["id"] == token
                        return float(entry["logprob"]), is_best
        raise Malformed(
            "llama.cpp did not say how probable a token is that it was to weigh"
        )


def _reported(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    try:
        reported: Sequence[Mapping[str, Any]] = answer["choices"][0]["logprobs"][
            "content"
        ]
    except (KeyError, IndexError, TypeError) as error:
        raise Malformed(
            "llama.cpp reported no log-probabilities; fix: pip install -U xllamacpp"
        ) from error
    return reported
