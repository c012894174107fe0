"""Answers and prompts token by token, with log-probabilities of each token and of the most probable alternatives."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...core import Output
from ..shapes import Record

if TYPE_CHECKING:
    from .pipeline_engine import Engine


class Weighed(NamedTuple):
    """One token of a prompt or an answer."""

    id: int
    text: str
    logprob: float
    top: dict[str, float]
    """The model's most probable tokens at this position, each with its log-probability."""


def weigh_answer(engine: "Engine", output: Output) -> Iterator[Weighed]:
    """Yield the tokens of an answer, as the model reported them."""
    for candidate in output.candidates[:1]:
        reported = candidate.token_ids
        has_ids = len(reported) == len(candidate.tokens)
        for position, token in enumerate(candidate.tokens):
            token_id = reported[position] if has_ids else None
            if token_id is None:
                token_id = engine.first_id(token.text)
            top = dict(token.top) or {token.text: token.logprob}
            yield Weighed(token_id, token.text, token.logprob, top)


def weigh_prompt(engine: "Engine", prompt: str, top: int) -> Iterator[Weighed]:
    """Yield the tokens of a prompt with their log-probability and the model's own most probable tokens there."""
    decode = engine.tokenizer.decode
    ids = engine.tokenizer.encode(prompt)
    for position, token in enumerate(ids):
        text = decode([token])
        if position == 0:
            yield Weighed(token, text, 0.0, {})
            continue

        before = decode(ids[:position])
        [answer] = engine.generate_with_logprobs(
            [before],
            max_length=1,
            top_logprobs=top,
        )
        alternatives = answer["top_logprobs"]
        likely: dict[str, float] = alternatives[0] if alternatives else {}

        piece = decode(ids[: position + 1])[len(before) :]
        logprob = likely.get(piece) if piece else 0.0
        if logprob is None:
            [weighed] = engine.weigh([before], [piece], [prompt])
            logprob = float("-inf") if weighed is None else weighed.logprob
        yield Weighed(token, text, logprob, likely)


def as_record(tokens: Iterable[Weighed]) -> Record:
    """Return tokens as the record that evaluators receive: one list for each property, and the whole text."""
    columns = [list(column) for column in zip(*tokens, strict=True)]
    ids, texts, logprobs, top = columns or ([], [], [], [])
    return {
        "tokens": ids,
        "token_strs": texts,
        "logprobs": logprobs,
        "top_logprobs": top,
        "text": "".join(texts),
    }
