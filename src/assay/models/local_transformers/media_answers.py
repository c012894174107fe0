"""What a model that sees or hears has written: where it ends, and what of it is the answer."""

from collections.abc import Callable, Sequence
from typing import Any

from ...core import Candidate, Output, Request, Text, Usage


class Answers:
    """Token ids of one model as candidates."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    def ends(self) -> set[int]:
        """Tokens after which the model is done."""
        found = getattr(self.model.generation_config, "eos_token_id", None)
        ends = set(found) if isinstance(found, (list, tuple)) else {found}
        return {end for end in (*ends, self.tokenizer.eos_token_id) if end is not None}

    def stops(self, strings: Sequence[str]) -> Callable[[Sequence[int]], str | None]:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        ends = self.ends()

        def stops(written: Sequence[int]) -> str | None:
            text = self.tokenizer.decode(list(written), skip_special_tokens=True) if strings else ""
            return "stop" if written[-1] in ends or any(string in text for string in strings) else None

        return stops

    def own(self, row: Sequence[int], length: int) -> list[int]:
        """What was written after a prompt of so many tokens, the filling after the end token left out."""
        own = list(row[length:])
        ends = self.ends()
        return own[: next((at + 1 for at, token in enumerate(own) if token in ends), len(own))]

    def candidate(self, request: Request, ids: Sequence[int]) -> Candidate:
        """One answer, up to its end or its first stop string."""
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        places = [at for stop in request.options.stop if (at := text.find(stop)) >= 0]
        ended = bool(places) or (bool(ids) and ids[-1] in self.ends())
        text = text[: min(places)] if places else text
        return Candidate((Text(text),), "stop" if ended else "length", (), tuple(ids))

    def output(self, request: Request, drawn: Sequence[Sequence[int]], length: int) -> Output:
        """All answers to a prompt of so many tokens; one that was not drawn stands for as many as were asked for."""
        candidates = tuple(self.candidate(request, ids) for ids in drawn)
        candidates *= request.options.n // len(drawn)
        return Output(candidates, usage=Usage(length, sum(len(candidate.token_ids) for candidate in candidates)))


def not_finite(what: str) -> Output:
    """The failure of an answer whose numbers are none."""
    return Output.failed("non_finite", what, retryable=False)
