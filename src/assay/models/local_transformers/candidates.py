"""What a model has written: where it ends, and what of it is the answer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Candidate, Output, Request, Text, Token, Usage
from .fitting import cut_details
from .generate import NOT_FINITE, Row, Stops
from .prompts import special_ids


@dataclass(frozen=True, slots=True)
class Drawn:
    """Token ids of one answer."""

    ids: Sequence[int]
    has_ended: bool | None = None
    """`None` where its last token says so."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Token ids of one model as candidates."""

    model: Any
    tokenizer: Any
    turn_ends: Collection[int] = ()
    """Tokens with which the chat template closes an answer."""

    def ends(self, strings: Sequence[str] = ()) -> set[int]:
        """Tokens after which the model is done, and those of the stop strings that are one special token."""
        found = getattr(
            getattr(self.model, "generation_config", None), "eos_token_id", None
        )
        ends = found if isinstance(found, (list, tuple)) else (found,)
        every = {
            end
            for end in (*ends, getattr(self.tokenizer, "eos_token_id", None))
            if end is not None
        }
        return {*every, *self.turn_ends, *special_ids(self.tokenizer, strings)}

    def stops(self, strings: Sequence[str]) -> Stops:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        decode, ends = self.tokenizer.decode, self.ends(strings)
        # A character may take several tokens; only the end of the text can hold a stop string that is new.
        window = 4 * max((len(stop) for stop in strings), default=0) + 8

        def has_stop(tokens: Sequence[int]) -> bool:
            text = decode(list(tokens), skip_special_tokens=True)
            return any(stop in text for stop in strings)

        def stops(tokens: Sequence[int]) -> str | None:
            if tokens[-1] in ends:
                return "stop"
            return (
                "stop"
                if strings and has_stop(tokens[-window:]) and has_stop(tokens)
                else None
            )

        return stops

    def own(
        self, row: Sequence[int], length: int, strings: Sequence[str] = ()
    ) -> list[int]:
        """What was written after a prompt of so many tokens, the filling after the end token left out."""
        tokens, ends = list(row[length:]), self.ends(strings)
        return tokens[
            : next(
                (at + 1 for at, token in enumerate(tokens) if token in ends),
                len(tokens),
            )
        ]

    def candidate(
        self, request: Request, answer: Drawn, tokens: tuple[Token, ...] = ()
    ) -> Candidate:
        """One answer, up to its end or its first stop string."""
        stops = request.options.stop
        ends = self.ends(stops if answer.has_ended is None else ())
        text = self.tokenizer.decode(
            [token for token in answer.ids if token not in ends],
            skip_special_tokens=True,
        )
        places = [at for stop in stops if (at := text.find(stop)) >= 0]
        has_ended = (
            bool(answer.ids) and answer.ids[-1] in ends
            if answer.has_ended is None
            else answer.has_ended
        )
        text = text[: min(places)] if places else text
        return Candidate(
            (Text(text),),
            "stop" if places or has_ended else "length",
            tokens,
            tuple(answer.ids),
        )

    def output(
        self,
        request: Request,
        candidates: Sequence[Candidate],
        length: int,
        squeezed: int | None,
        cut: int = 0,
    ) -> Output:
        """All answers to a prompt of so many tokens; one that was not drawn stands for as many as were asked for.

        `squeezed` is their room where they were to have more, `cut` the tokens left out of the prompt.
        """
        every = tuple(candidates) * (request.options.n // len(candidates))
        usage = Usage(length, sum(len(candidate.token_ids) for candidate in every))
        ended_early = any(candidate.stop_reason == "length" for candidate in every)
        return Output(
            every,
            usage=usage,
            details=cut_details(cut, squeezed if ended_early else None),
        )

    def of_rows(
        self,
        request: Request,
        rows: Sequence[Row],
        length: int,
        squeezed: int | None,
        cut: int = 0,
    ) -> Output:
        """The answers that rows have written; a failure where one of them could not go on."""
        if any(row.is_spoilt for row in rows):
            return not_finite()
        candidates = [
            self.candidate(
                request,
                Drawn(row.token_ids, row.stop_reason == "stop"),
                self._tokens(request, row),
            )
            for row in rows
        ]
        return self.output(request, candidates, length, squeezed, cut)

    def _tokens(self, request: Request, row: Row) -> tuple[Token, ...]:
        if request.options.logprobs is None:
            return ()
        decode = self.tokenizer.decode
        return tuple(
            Token(
                decode([one.token]),
                one.logprob or 0.0,
                tuple((decode([i]), value) for i, value in one.top),
            )
            for one in row.written
        )


def not_finite(what: str = NOT_FINITE) -> Output:
    """The failure of an answer whose numbers are none."""
    return Output.failed("non_finite", what, retryable=False)
