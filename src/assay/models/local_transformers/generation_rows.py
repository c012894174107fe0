"""Rows: the state of answers that are being generated, and the choice of their next tokens."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ...core import GenerateOptions, Output, Request
from ..draws import generator_for
from .sampling import (
    Choice,
    are_finite,
    choose,
    has_penalties,
    is_greedy,
    repeated,
)

if TYPE_CHECKING:
    from torch import Tensor


class Stops(Protocol):
    """Decides when an answer ends."""

    def __call__(self, tokens: Sequence[int]) -> str | None:
        """Return the reason if the answer ends after these tokens, such as `"stop"`; None if it continues."""
        ...

    def in_last(
        self,
        tokens: Sequence[int],
        count: int,
    ) -> bool:
        """Return False only if none of the last `count` tokens ends the answer."""
        ...


class NeverStop:
    """Lets every answer continue to its token limit."""

    def __call__(self, tokens: Sequence[int]) -> str | None:
        """Return None, because no token ends the answer."""
        return None

    def in_last(
        self,
        tokens: Sequence[int],
        count: int,
    ) -> bool:
        """Return False, because no token ends the answer."""
        return False


@dataclass(slots=True, eq=False)
class Row:
    """One answer that is being generated."""

    prompt: tuple[int, ...]
    """Token ids of the prompt; with media, a key for each token (see `media_engine.Keys`)."""
    options: GenerateOptions
    max_tokens: int
    stops: Stops
    new_draw: Callable[[], random.Random]
    """Returns a new random number generator, seeded for this row."""
    shift: int = 0
    """Difference between a token's position as the model counts it and the token's index in the row."""
    model_penalty: float | None = None
    """Repetition penalty from the model's generation settings.

    Like that of `generate`, it also counts the tokens of the prompt.
    """
    prompt_ids: Sequence[int] | None = None
    """Token ids of the prompt, if `prompt` contains keys instead."""
    written: list[Choice] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    stop_reason: str | None = None
    is_spoilt: bool = False
    """True if the model computed logits that are not finite."""
    failure: Output | None = None
    """The output to report instead of an answer, if the row cannot be generated."""
    draw: random.Random = field(default_factory=random.Random)
    _prompt_array: Any = None

    def __post_init__(self) -> None:
        self.clear()

    @property
    def prompt_array(self) -> Any:
        """The prompt as a numpy array, cached."""
        import numpy as np

        if self._prompt_array is None:
            self._prompt_array = np.asarray(self.prompt, dtype=np.int64)
        return self._prompt_array

    @property
    def is_done(self) -> bool:
        """Return True if no more tokens will be added."""
        ended = self.stop_reason is not None or self.failure is not None
        return ended or self.is_spoilt

    @property
    def is_plain(self) -> bool:
        """Return True for greedy decoding without penalties or log-probabilities."""
        options = self.options
        has_penalty = has_penalties(options) or self.model_penalty is not None
        reports = options.logprobs is not None
        return is_greedy(options) and not has_penalty and not reports

    def clear(self) -> None:
        """Drop all generated tokens, and reset the random numbers."""
        self.written = []
        self.token_ids = []
        self.stop_reason = None
        self.is_spoilt = False
        self.draw = self.new_draw()

    def take(self, choice: Choice | None) -> None:
        """Add one chosen token to the row; None marks the row as failed, because its logits were not finite."""
        if choice is None:
            self.is_spoilt = True
            return
        self.written.append(choice)
        self.token_ids.append(choice.token)
        self.stop_reason = self.stops(self.token_ids)
        if self.stop_reason is None and len(self.token_ids) >= self.max_tokens:
            self.stop_reason = "length"

    def take_all(self, tokens: Sequence[int]) -> None:
        """Add greedy tokens until the row ends. A token of -1 means that the logits were not finite."""
        room = self.max_tokens - len(self.token_ids)
        tokens = tokens[:room]
        every = [*self.token_ids, *tokens]
        if -1 not in tokens and not self.stops.in_last(every, len(tokens)):
            self.token_ids = every
            if len(every) >= self.max_tokens:
                self.stop_reason = "length"
            return
        for token in tokens:
            self.take(None if token < 0 else Choice(token))
            if self.is_done:
                return


def rows_of(
    prompt: tuple[int, ...],
    request: Request,
    max_tokens: int,
    stops: Stops,
    model_penalty: float | None = None,
) -> list[Row]:
    """Return a row for each candidate of a request; a single row if decoding is greedy."""
    options = replace(
        request.options,
        n=1,
        max_tokens=None,
        stop=(),
        seed=None,
    )
    if options.repetition_penalty is not None:
        model_penalty = None
    if is_greedy(options):
        draws = 1
    else:
        draws = request.options.n
    rows = []
    for index in range(draws):

        def new_draw(index: int = index) -> random.Random:
            return generator_for(request, index)

        row = Row(prompt, options, max_tokens, stops, new_draw)
        row.model_penalty = model_penalty
        rows.append(row)
    return rows


def choose_tokens(
    logits: "Tensor",
    rows: Sequence[Row],
) -> list[Choice | None]:
    """Choose the next token of each row; None if its logits are not finite."""
    by_options: dict[GenerateOptions, list[int]] = {}
    for index, row in enumerate(rows):
        members = by_options.setdefault(row.options, [])
        members.append(index)
    choices: list[Choice | None] = [None] * len(rows)
    finite = are_finite(logits)
    lowered = logits
    if any(row.model_penalty is not None for row in rows):
        lowered = _with_model_penalty(logits, rows)
    for options, members in by_options.items():
        is_whole = len(members) == len(rows)
        chosen = choose(
            lowered if is_whole else lowered[members],
            options,
            [rows[index].token_ids for index in members],
            [rows[index].draw for index in members],
            logits if is_whole else logits[members],
        )
        for index, choice in zip(members, chosen, strict=True):
            if finite[index]:
                choices[index] = choice
    return choices


def _with_model_penalty(
    logits: "Tensor",
    rows: Sequence[Row],
) -> "Tensor":
    """Apply each row's repetition penalty to the logits of tokens in its prompt and answer.

    All rows are handled in one operation. On a GPU, one operation per row would take
    longer than the model.
    """
    import numpy as np
    import torch

    lines: list[int] = []
    penalties: list[float] = []
    counts: list[int] = []
    ids: list[Any] = []
    for line, row in enumerate(rows):
        if row.model_penalty is not None:
            lines.append(line)
            penalties.append(row.model_penalty)
            counts.append(len(row.prompt) + len(row.token_ids))
            ids += [row.prompt_array, np.asarray(row.token_ids, dtype=np.int64)]
    device = logits.device
    line_of_id = torch.from_numpy(np.repeat(lines, counts)).to(device)
    penalty_of_id = torch.tensor(np.repeat(penalties, counts)).to(device).float()
    token_ids = torch.from_numpy(np.concatenate(ids)).to(device)
    lowered = logits.float().clone()
    values = lowered[line_of_id, token_ids]
    lowered[line_of_id, token_ids] = repeated(values, penalty_of_id)
    return lowered
