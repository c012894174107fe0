"""Answers and prompts token by token, with log-probabilities of each token and of the most probable alternatives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...core import Output
from ..shapes import Record

if TYPE_CHECKING:
    from .pipeline_engine import Engine


@dataclass(frozen=True, slots=True)
class Weighed:
    """One token of a prompt or an answer."""

    id: int
    text: str
    logprob: float
    top: dict[str, float] = field(default_factory=dict)


def written(engine: "Engine", output: Output) -> Iterator[Weighed]:
    """Yield the tokens of an answer, as the model reported them."""
    if not output.candidates:
        return
    candidate = output.candidates[0]
    ids: Sequence[int | None] = candidate.token_ids
    if len(ids) != len(candidate.tokens):
        ids = [None] * len(candidate.tokens)
    for token_id, token in zip(ids, candidate.tokens, strict=True):
        if token_id is not None:
            number = token_id
        else:
            number = (engine.tokenizer.encode(token.text) or [0])[0]
        yield Weighed(
            number,
            token.text,
            token.logprob,
            dict(token.top) or {token.text: token.logprob},
        )


def echoed(
    engine: "Engine",
    prompt: str,
    top: int,
) -> Iterator[Weighed]:
    """Yield the tokens of a prompt with their log-probability and the model's own most probable tokens there."""
    decode = engine.tokenizer.decode
    ids = engine.tokenizer.encode(prompt)
    for position, token in enumerate(ids):
        text = decode([token])
        if position == 0:
            yield Weighed(token, text, 0.0)
            continue

        before = decode(ids[:position])
        [answer] = engine.generate_with_logprobs(
            [before],
            max_length=1,
            top_logprobs=top,
        )
        alternatives = answer["top_logprobs"]
        likely: dict[str, float] = alternatives[0] if alternatives else {}

        through = decode(ids[: position + 1])
        piece = through[len(before) :]
        if piece:
            logprob = likely.get(piece)
        else:
            logprob = 0.0
        if logprob is None:
            [weighed] = engine.weigh([before], [piece], [prompt])
            if weighed is not None:
                logprob = weighed.logprob
            else:
                logprob = float("-inf")
        yield Weighed(token, text, logprob, likely)


def joined(tokens: Sequence[Weighed]) -> Record:
    """Return tokens as the record that evaluators receive: one list for each property, and the whole text."""
    texts = [token.text for token in tokens]
    return {
        "tokens": [token.id for token in tokens],
        "token_strs": texts,
        "logprobs": [token.logprob for token in tokens],
        "top_logprobs": [token.top for token in tokens],
        "text": "".join(texts),
    }
