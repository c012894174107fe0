"""Answers by a model's own `generate`: similar prompts in one batch, each sample with its own random numbers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core import Output, Request
from ..draws import torch_draws
from ..prompting.fitting import Limits
from ..prompting.weighing import not_finite
from .candidates import Answers, Drawn
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


@dataclass
class PlainWriter:
    """Writes answers with one model."""

    model: Any
    answers: Answers
    limits: Limits
    settings: Mapping[str, Any]
    opening: int = 0
    """Number of tokens that the model writes before its answer by itself."""
    fills: bool | None = None
    """Whether the model handles padding on the left; `None` before the test."""

    def write(
        self, requests: Sequence[Request], inputs: Sequence[Inputs]
    ) -> list[Output]:
        """Return the answers to similar prompts, sorted by length."""
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
        """Return the tokens for an answer after a prompt of so many tokens, if it was to have more."""
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
        """Return what each row of one batch wrote, including the end token."""
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
            prompts = inputs["input_ids"].tolist()
            return [
                Drawn(ids, prompt=prompt)
                for ids, prompt in zip(answers, prompts, strict=True)
            ]
        if ending.is_unclear:
            raise _Unclear
        return [
            Drawn(ids, not ending.took_all(row, len(ids)))
            for row, ids in enumerate(answers)
        ]

    def _watched(self, settings: dict[str, Any], inputs: Inputs) -> Ending:
        """Watch where answers to audio clips end, because speech models remove their end tokens."""
        rows = next(len(value) for value in inputs.values() if hasattr(value, "shape"))
        ending = Ending(
            rows, settings["max_new_tokens"], {*self.answers.ends(), self._filler}
        )
        settings["stopping_criteria"] = [*settings.get("stopping_criteria", ()), ending]
        return ending

    def settings_for(
        self, request: Request, length: int, penalties: Penalties
    ) -> dict[str, Any]:
        """Return the arguments of `generate` for a request after a prompt of so many tokens."""
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
        """Use the random numbers of one candidate inside the block. Raise for logits that are not numbers."""
        import torch

        with (
            torch.inference_mode(),
            torch_draws(request, index),
            quiet(),
            finite_only(self.model),
        ):
            yield

    def _fits(self, group: Sequence[Inputs]) -> bool:
        """Return True if prompts can be computed together. For different lengths the first two are tested."""
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
    """Raised if an answer reached its limit and it is unknown which."""
