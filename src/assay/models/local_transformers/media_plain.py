"""Answers by a model's own `generate`: prompts that are alike together, each draw with random numbers of its own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core import Output, Request
from ..draws import torch_draws
from .candidates import Answers, Drawn, not_finite
from .loading import quiet
from .media_batches import Inputs, fills_rightly, joined, length_of
from .media_prompts import placed
from .media_settings import (
    Ending,
    NotFinite,
    Penalties,
    Stopping,
    finite_only,
    room_for,
    settings_of,
)
from .sampling import is_greedy
from .text import Limits


@dataclass
class PlainWriter:
    """Writes answers with one model."""

    model: Any
    answers: Answers
    limits: Limits
    settings: Mapping[str, Any]
    opening: int = 0
    """Tokens the model writes before its answer on its own account."""
    fills: bool | None = None
    """Whether the model takes prompts that are filled up in front; `None` before that was tried."""

    def write(
        self, requests: Sequence[Request], inputs: Sequence[Inputs]
    ) -> list[Output]:
        """Answers to prompts that are alike, in ascending order of length."""
        first = requests[0]
        try:
            if not self._fits(inputs):
                return self._one_by_one(requests, inputs)
            batch = placed(joined(inputs, self._filler), self.model)
            draws = 1 if is_greedy(first.options) else first.options.n
            draws_of_rows = [self.draw(batch, first, index) for index in range(draws)]
        except _Unclear:
            return self._one_by_one(requests, inputs)
        except NotFinite as error:
            return (
                [not_finite(str(error))]
                if len(requests) == 1
                else self._one_by_one(requests, inputs)
            )
        return [
            self._output(
                request,
                [rows[place] for rows in draws_of_rows],
                length_of(inputs[place]),
            )
            for place, request in enumerate(requests)
        ]

    def _output(
        self, request: Request, answers: Sequence[Drawn], length: int
    ) -> Output:
        candidates = [self.answers.candidate(request, one) for one in answers]
        return self.answers.output(
            request, candidates, length, self.squeezed(request, length)
        )

    def squeezed(self, request: Request, length: int) -> int | None:
        """The room of an answer after a prompt of so many tokens, where it was to have more."""
        if "max_new_tokens" in self.settings or "max_length" in self.settings:
            return None
        return room_for(request.options, self.limits, length + self.opening)[1]

    def _one_by_one(
        self, requests: Sequence[Request], inputs: Sequence[Inputs]
    ) -> list[Output]:
        return [
            self.write([request], [tensors])[0]
            for request, tensors in zip(requests, inputs, strict=True)
        ]

    def draw(self, inputs: Inputs, request: Request, index: int) -> list[Drawn]:
        """What each row of one draw wrote, up to and with the end token."""
        length = length_of(inputs)
        penalties = Penalties(request.options)
        settings = self.settings_for(request, length, penalties)
        ending = None if length else self._watched(settings, inputs)
        with self.drawing(request, index):
            token_rows = self.model.generate(**inputs, **settings)
        penalties.check()
        answers = [
            self.answers.own(row, length, request.options.stop)
            for row in token_rows.tolist()
        ]
        if ending is None:
            return [Drawn(ids) for ids in answers]
        if ending.is_unclear:
            raise _Unclear
        return [
            Drawn(ids, not ending.took_all(row, len(ids)))
            for row, ids in enumerate(answers)
        ]

    def _watched(self, settings: dict[str, Any], inputs: Inputs) -> Ending:
        """Has it watched where answers from audio clips alone end; models of speech take their end tokens away."""
        rows = next(len(value) for value in inputs.values() if hasattr(value, "shape"))
        ending = Ending(
            rows, settings["max_new_tokens"], {*self.answers.ends(), self._filler}
        )
        settings["stopping_criteria"] = [*settings.get("stopping_criteria", ()), ending]
        return ending

    def settings_for(
        self, request: Request, length: int, penalties: Penalties
    ) -> dict[str, Any]:
        """A request's options as `generate` takes them, after a prompt of so many tokens."""
        settings = settings_of(
            request.options, self.limits, length + self.opening, self.settings
        )
        if penalties.are_asked:
            settings["logits_processor"] = [penalties]
        if request.options.stop:
            settings["stopping_criteria"] = [
                Stopping(self.answers.stops(request.options.stop), length)
            ]
        return settings

    @contextmanager
    def drawing(self, request: Request, index: int) -> Iterator[None]:
        """Random numbers of one candidate's own, for as long as it is drawn; what is no number ends it."""
        import torch

        with (
            torch.inference_mode(),
            torch_draws(request, index),
            quiet(),
            finite_only(self.model),
        ):
            yield

    def _fits(self, group: Sequence[Inputs]) -> bool:
        """Whether prompts can go through together; where they differ in length, that is tried on the first two."""
        short, long = group[0], group[-1]
        if length_of(short) == length_of(long):
            return True
        if self.fills is None:
            with quiet():
                self.fills = fills_rightly(
                    self.model,
                    [placed(one, self.model) for one in (short, long)],
                    self._filler,
                )
        return bool(self.fills)

    @property
    def _filler(self) -> int:
        tokenizer = self.answers.tokenizer
        found = (
            tokenizer.eos_token_id
            if tokenizer.pad_token_id is None
            else tokenizer.pad_token_id
        )
        return int(found or 0)


class _Unclear(Exception):
    """Raised where an answer took all its room and nobody can say which of several."""
