"""Likelihoods of individual tokens: from logits, and as the lists of tokens that evaluators receive.

Evaluators read logits from `engine.model`, but no model of assay returns logits for its
whole vocabulary. Evaluators need only the probability of each following token. A row of
logits made here therefore has the exact log-probability of the following token. The
rest of the probability is spread over all tokens if the following token is the model's
first choice; otherwise it is on the end-of-text token. Rows are computed on access.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import Likelihood, ModalityMismatch, Output
from ..shapes import Record

END_OF_TEXT = 0


def target_likelihoods(
    engine: Any,
    contexts: Sequence[str],
    targets: Sequence[str],
    *,
    pad_eod: bool = True,
) -> Iterator[Likelihood]:
    """Yield the likelihood of each target after its context.

    One batch computes all of them, from the logits of a user's engine.
    """
    encode = engine.tokenizer.encode
    start = [END_OF_TEXT] if pad_eod else []
    all_before = [[*start, *encode(context)] for context in contexts]
    all_after = [list(encode(target)) for target in targets]
    rows = engine.model.forward_batch(
        [before + after for before, after in zip(all_before, all_after, strict=True)],
        engine.model.generate_zero_state(len(all_before)),
        full_output=True,
    )
    for row, before, after in zip(rows, all_before, all_after, strict=True):
        logprob, is_greedy = 0.0, True
        for position, token in enumerate(after, start=len(before) - 1):
            logits = row[position]
            chances = logits.tolist() if hasattr(logits, "tolist") else list(logits)
            highest = max(chances)
            total = math.log(sum(math.exp(value - highest) for value in chances))
            logprob += chances[token] - highest - total
            is_greedy = is_greedy and chances.index(highest) == token
        yield Likelihood(logprob, is_greedy, len(after))


if TYPE_CHECKING:
    from .pipeline_engine import Engine

LARGEST_VOCABULARY = 65536


class LikelihoodModel:
    """The object `engine.model`, with the methods that evaluators call to compute likelihoods."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def generate_zero_state(self, bsz: int) -> list[None]:
        """Return a list of None as the state of an RWKV model.

        The state is never used, because each request has its whole context.
        """
        return [None] * bsz

    def forward_batch(
        self,
        tokens: Sequence[Sequence[int]],
        state: object = None,
        full_output: bool = False,
    ) -> object:
        """Return logits for each list of token ids. Their shape is `(length, vocabulary)`."""
        problem = "forward_batch: this model cannot weigh given tokens"
        self._engine.check_likelihood(problem, "an evaluator that only generates")
        if not full_output:
            raise ModalityMismatch(
                "forward_batch(full_output=False) asks for the logits of the next token, which no model of assay gives",
                fix="generate with generate_batch, or weigh given tokens with full_output=True",
            )
        return [self._engine.logits(list(ids)) for ids in tokens]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the model of the pipeline dialect has no {name!r}")


class Logits:
    """Logits for a list of token ids: row i is for the token after id i. The last row is unknown."""

    def __init__(
        self,
        engine: "Engine",
        tokens: Sequence[int],
    ) -> None:
        self._engine = engine
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, position: int | slice) -> object:
        positions = range(len(self))[
            position
        ]  # Handles negative positions, and checks the bounds.
        if isinstance(positions, range):
            return [self[index] for index in positions]
        if positions == len(self) - 1:
            raise ModalityMismatch(
                "forward_batch: the logits after the last token are not known, only those of given tokens",
                fix="generate with generate_batch",
            )
        return self._row(positions)

    def _row(self, position: int) -> object:
        tokens = self._tokens
        decode = self._engine.tokenizer.decode
        padding = (0, self._engine.tokenizer.end)
        start = next(
            (index for index, token in enumerate(tokens) if token not in padding),
            position + 1,
        )
        context = decode(tokens[start : position + 1])
        continued = decode(tokens[start : position + 2])
        piece = continued[len(context) :]
        if piece:
            [weighed] = self._engine.weigh([context], [piece], [context])
            if weighed is None:
                raise ModalityMismatch("forward_batch: the model gave no answer")
        else:
            # A token with only the start of a character has no text: the token that completes it has all of it.
            weighed = Likelihood(0.0, True)
        row = _logits_row(weighed, int(tokens[position + 1]))
        torch = sys.modules.get("torch")  # Code that imported torch expects tensors.
        return row if torch is None else torch.from_numpy(row)


def _logits_row(weighed: Likelihood, token: int) -> object:
    """Return a row of logits in which `token` has the probability given by `weighed`.

    The token has the highest logit only if it was the model's first choice.
    """
    import numpy

    share = math.exp(weighed.logprob)
    rest = max(1.0 - share, 0.0)
    log_rest = math.log(rest) if rest > 0 else -math.inf
    if weighed.greedy:
        # Enough other tokens that none of them is more probable than this one.
        others = (1.0 - share) / share if share > 0 else 0.0
        size = int(min(max(token + 2, others + 3), LARGEST_VOCABULARY))
        row = numpy.full(size, log_rest - math.log(size - 1), dtype=numpy.float64)
    else:
        row = numpy.full(token + 2, -math.inf, dtype=numpy.float64)
        row[END_OF_TEXT] = log_rest
    row[token] = weighed.logprob
    return row


class TokenLogprob(NamedTuple):
    """A token of a prompt or an answer, with its id, its text and its log-probability."""

    id: int
    text: str
    logprob: float
    top: dict[str, float]
    """The model's most probable tokens at this position, each with its log-probability."""


def answer_tokens(engine: "Engine", output: Output) -> Iterator[TokenLogprob]:
    """Yield the tokens of an answer with their ids and log-probabilities, as the model reported them."""
    if not output.candidates:
        return
    candidate = output.candidates[0]
    ids: Sequence[int | None] = candidate.token_ids
    if len(ids) != len(candidate.tokens):
        ids = [None] * len(candidate.tokens)
    for token_id, token in zip(ids, candidate.tokens, strict=True):
        if token_id is None:
            token_id = engine.first_id(token.text)
        top = dict(token.top)
        if not top:
            top = {token.text: token.logprob}
        yield TokenLogprob(token_id, token.text, token.logprob, top)


def prompt_tokens(engine: "Engine", prompt: str, top: int) -> Iterator[TokenLogprob]:
    """Yield the tokens of a prompt with their log-probabilities and the model's most probable tokens there."""
    decode = engine.tokenizer.decode
    ids = engine.tokenizer.encode(prompt)
    for position, token in enumerate(ids):
        text = decode([token])
        if position == 0:
            yield TokenLogprob(token, text, 0.0, {})
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
        yield TokenLogprob(token, text, logprob, likely)


def as_record(tokens: Iterable[TokenLogprob]) -> Record:
    """Return tokens as the dictionary that evaluators receive: a list for each property, and the text."""
    columns = [list(column) for column in zip(*tokens, strict=True)]
    ids, texts, logprobs, top = columns or ([], [], [], [])
    return {
        "tokens": ids,
        "token_strs": texts,
        "logprobs": logprobs,
        "top_logprobs": top,
        "text": "".join(texts),
    }
