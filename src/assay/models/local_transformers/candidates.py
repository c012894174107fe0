"""Find the end of a generated sequence, and convert its tokens to a candidate."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import Candidate, Output, Request, Text, Token, Usage
from ..prompting.fitting import cut_details
from ..prompting.renderer import special_ids
from ..prompting.weighing import not_finite
from ..reasoning_marks import decode_with_marks, mark_tokens, opening_mark
from .generation_rows import Row


@dataclass(frozen=True, slots=True)
class Drawn:
    """The generated token ids of one answer."""

    ids: Sequence[int]
    has_ended: bool | None = None
    """True if the answer ended before its token limit.

    If None, it did if its last token is an end token.
    """
    prompt: Sequence[int] = ()
    """Token ids of the prompt; empty if unknown."""


@dataclass(frozen=True, slots=True)
class StopCheck:
    """Checks after each token whether the answer ends there: at an end token or after a stop string."""

    tokenizer: Any
    ends: frozenset[int]
    strings: tuple[str, ...]

    def __call__(self, tokens: Sequence[int]) -> str | None:
        """Return `"stop"` if the answer ends after these tokens; None if it continues."""
        if tokens[-1] in self.ends:
            return "stop"
        may_stop = self.strings and self._has_stop(tokens[-self._window :])
        if may_stop and self._has_stop(tokens):
            return "stop"
        return None

    def in_last(
        self,
        tokens: Sequence[int],
        count: int,
    ) -> bool:
        """Return False only if none of the last `count` tokens ends the answer."""
        if not self.ends.isdisjoint(tokens[-count:]):
            return True
        return bool(self.strings) and self._has_stop(tokens[-self._window - count :])

    @property
    def _window(self) -> int:
        """Return how many tokens at the end may hold a stop string, at up to four tokens per character."""
        return 4 * max(len(string) for string in self.strings) + 8

    def _has_stop(self, tokens: Sequence[int]) -> bool:
        text = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return any(string in text for string in self.strings)


@dataclass(frozen=True, slots=True)
class Answers:
    """Converts the token ids that one model generates to candidates and outputs."""

    model: Any
    tokenizer: Any
    turn_ends: Collection[int] = ()
    """Ids of the tokens with which the chat template ends an assistant turn."""
    marks: Mapping[int, str] = field(init=False)
    """Text of each special token that delimits reasoning, by token id."""
    tool_marks: Mapping[int, str] = field(init=False)
    """Text of each special token that delimits reasoning or tool calls, by token id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", mark_tokens(self.tokenizer))
        tool_marks = mark_tokens(self.tokenizer, with_tools=True)
        object.__setattr__(self, "tool_marks", tool_marks)

    def ends(self, strings: Sequence[str] = ()) -> set[int]:
        """Return the ids of end tokens, and of stop strings that are one special token.

        End tokens come from the generation settings, the tokenizer and the chat
        template.
        """
        ends: set[Any] = set(self.turn_ends)
        config = getattr(self.model, "generation_config", None)
        end = getattr(config, "eos_token_id", None)
        if isinstance(end, (list, tuple)):
            ends.update(end)
        else:
            ends.add(end)
        ends.add(getattr(self.tokenizer, "eos_token_id", None))
        ends.discard(None)
        ends.update(special_ids(self.tokenizer, strings))
        return ends

    def stops(self, strings: Sequence[str]) -> "StopCheck":
        """Return a check for end tokens and these stop strings."""
        return StopCheck(self.tokenizer, frozenset(self.ends(strings)), tuple(strings))

    def own(
        self,
        row: Sequence[int],
        length: int,
        strings: Sequence[str] = (),
    ) -> list[int]:
        """Return the generated tokens of a sequence: from index `length` to the first end token, inclusive."""
        ends = self.ends(strings)
        tokens = []
        for token in row[length:]:
            tokens.append(token)
            if token in ends:
                break
        return tokens

    def candidate(
        self,
        request: Request,
        answer: Drawn,
        tokens: tuple[Token, ...] = (),
    ) -> Candidate:
        """Convert an answer to a candidate, whose text ends before the first stop string."""
        stops = request.options.stop
        ends = self.ends(stops if answer.has_ended is None else ())
        ids = [token for token in answer.ids if token not in ends]
        if request.prompt.tools:
            marks = self.tool_marks
        else:
            marks = self.marks
        text = decode_with_marks(self.tokenizer, ids, marks)
        has_ended = answer.has_ended
        if has_ended is None:
            if answer.ids:
                has_ended = answer.ids[-1] in ends
            else:
                has_ended = False
        end = min(_indices(text, stops), default=None)
        if end is not None:
            text = text[:end]
            has_ended = True
        if answer.prompt and request.think_tags is not False:
            text = opening_mark(self.tokenizer, answer.prompt) + text
        stop_reason = "stop" if has_ended else "length"
        return Candidate((Text(text),), stop_reason, tokens, tuple(answer.ids))

    def output(
        self,
        request: Request,
        candidates: Sequence[Candidate],
        length: int,
        squeezed: int | None,
        cut: int = 0,
    ) -> Output:
        """Return the output with all candidates for a prompt of `length` tokens.

        A single greedy candidate is repeated `n` times. `squeezed` is the answer's
        token limit if the context lowered it, otherwise None. `cut` is the number of
        tokens cut from the prompt.
        """
        repeats = request.options.n // len(candidates)
        repeated = tuple(candidates) * repeats
        output_tokens = sum(len(candidate.token_ids) for candidate in repeated)
        ended_early = any(candidate.stop_reason == "length" for candidate in repeated)
        details = cut_details(cut, squeezed if ended_early else None)
        return Output(
            repeated,
            usage=Usage(length, output_tokens),
            details=details,
        )

    def of_rows(
        self,
        request: Request,
        rows: Sequence[Row],
        length: int,
        squeezed: int | None,
        cut: int = 0,
    ) -> Output:
        """Return the output of a request from its finished rows (one per candidate).

        If a row failed, return its failure.
        """
        for row in rows:
            if row.failure is not None:
                return row.failure
            if row.is_spoilt:
                return not_finite()
        candidates = []
        for row in rows:
            prompt = row.prompt if row.prompt_ids is None else row.prompt_ids
            answer = Drawn(row.token_ids, row.stop_reason == "stop", prompt)
            tokens = self._tokens(request, row)
            candidates.append(self.candidate(request, answer, tokens))
        return self.output(request, candidates, length, squeezed, cut)

    def _tokens(self, request: Request, row: Row) -> tuple[Token, ...]:
        """Return the answer's tokens with log-probabilities; empty if none were requested."""
        if request.options.logprobs is None:
            return ()
        decode = self.tokenizer.decode
        tokens = []
        for choice in row.written:
            top = tuple((decode([token]), value) for token, value in choice.top)
            logprob = choice.logprob or 0.0
            tokens.append(Token(decode([choice.token]), logprob, top))
        return tuple(tokens)


def _indices(
    text: str,
    strings: Sequence[str],
) -> Iterator[int]:
    """Yield the index of the first occurrence of each string, for strings that occur."""
    for string in strings:
        index = text.find(string)
        if index >= 0:
            yield index
