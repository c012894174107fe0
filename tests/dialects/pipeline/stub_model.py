"""The little model as a model of assay: it writes, weighs and reports token by token what `stub_lm` says."""

from collections.abc import Sequence

import stub_lm

from assay.core import (
    Abilities,
    Candidate,
    Likelihood,
    Output,
    Request,
    Text,
    Token,
    Usage,
)


class StubModel:
    """A user's model with a tokenizer of its own."""

    name = "stub"
    abilities = Abilities(likelihood=True, logprobs=True, tokens=True, roles="free")
    identity = {"model": "stub"}  # noqa: RUF012 - read only

    def __init__(self) -> None:
        self.tokenizer = stub_lm.Tokenizer()

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """An answer to each."""
        return [self._written(one) for one in requests]

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """How probable each continuation is."""
        return [self._weighed(one) for one in requests]

    def _written(self, request: Request) -> Output:
        history = self.tokenizer.encode(request.prompt.text)
        start, tokens = len(history), []
        for _ in range(request.options.max_tokens or 16):
            row = stub_lm.log_softmax(stub_lm.logits_after(tuple(history)))
            chosen = stub_lm.greedy(tuple(history))
            best = sorted(range(len(row)), key=lambda token: -row[token])[
                : request.options.logprobs or 1
            ]
            top = {self._text(token): row[token] for token in best}
            tokens.append(Token(self._text(chosen), row[chosen], tuple(top.items())))
            history.append(chosen)
        ids = tuple(history[start:])
        text = self.tokenizer.decode(ids, "ignore")
        candidate = Candidate((Text(text),), tokens=tuple(tokens), token_ids=ids)
        return Output((candidate,), usage=Usage(start, len(ids)), seconds=0.01)

    def _weighed(self, request: Request) -> Output:
        history = self.tokenizer.encode(request.prompt.text)
        made = []
        for continuation in request.prompt.continuations:
            seen, total, greedy = list(history), 0.0, True
            ids = self.tokenizer.encode(continuation)
            for token in ids:
                total += stub_lm.log_softmax(stub_lm.logits_after(tuple(seen)))[token]
                greedy = greedy and stub_lm.greedy(tuple(seen)) == token
                seen.append(token)
            made.append(Likelihood(total, greedy, len(ids)))
        return Output(
            likelihoods=tuple(made), usage=Usage(len(history), 0), seconds=0.01
        )

    def _text(self, token: int) -> str:
        return self.tokenizer.decode([token], "ignore")
