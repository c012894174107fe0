"""What a model that sees or hears has written: where it ends, and what of it is the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Candidate, Output, Request, Text, Usage
from .fitting import cut_details
from .prompts import special_ids


@dataclass(frozen=True, slots=True)
class Drawn:
    """Token ids of one answer."""

    ids: Sequence[int]
    has_ended: bool | None = None
    """`None` where its last token says so."""


class Answers:
    """Token ids of one model as candidates."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    def ends(self, strings: Sequence[str] = ()) -> set[int]:
        """Tokens after which the model is done, and those of the stop strings that are one special token."""
        found = getattr(self.model.generation_config, "eos_token_id", None)
        ends = set(found) if isinstance(found, (list, tuple)) else {found}
        known = {end for end in (*ends, self.tokenizer.eos_token_id) if end is not None}
        return known | special_ids(self.tokenizer, strings)

    def stops(self, strings: Sequence[str]) -> Callable[[Sequence[int]], str | None]:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        ends = self.ends(strings)

        def stops(written: Sequence[int]) -> str | None:
            text = self.tokenizer.decode(list(written), skip_special_tokens=True) if strings else ""
            return "stop" if written[-1] in ends or any(string in text for string in strings) else None

        return stops

    def own(self, row: Sequence[int], length: int, strings: Sequence[str] = ()) -> list[int]:
        """What was written after a prompt of so many tokens, the filling after the end token left out."""
        own = list(row[length:])
        ends = self.ends(strings)
        return own[: next((at + 1 for at, token in enumerate(own) if token in ends), len(own))]

    def candidate(self, request: Request, drawn: Drawn) -> Candidate:
        """One answer, up to its end or its first stop string."""
        ids = drawn.ids
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        places = [at for stop in request.options.stop if (at := text.find(stop)) >= 0]
        stops = request.options.stop
        has_ended = bool(ids) and ids[-1] in self.ends(stops) if drawn.has_ended is None else drawn.has_ended
        ended = bool(places) or has_ended
        text = text[: min(places)] if places else text
        return Candidate((Text(text),), "stop" if ended else "length", (), tuple(ids))

    def output(self, request: Request, drawn: Sequence[Drawn], length: int, squeezed: int | None) -> Output:
        """All answers to a prompt of so many tokens; one that was not drawn stands for as many as were asked for."""
        candidates = tuple(self.candidate(request, one) for one in drawn)
        return answered(candidates * (request.options.n // len(drawn)), length, squeezed)


def answered(candidates: Sequence[Candidate], length: int, squeezed: int | None) -> Output:
    """The output of candidates after so many tokens; `squeezed` is their room where they were to have more."""
    usage = Usage(length, sum(len(candidate.token_ids) for candidate in candidates))
    ended_early = any(candidate.stop_reason == "length" for candidate in candidates)
    return Output(tuple(candidates), usage=usage, details=cut_details(None, squeezed if ended_early else None))


def not_finite(what: str) -> Output:
    """The failure of an answer whose numbers are none."""
    return Output.failed("non_finite", what, retryable=False)
