"""Generate and score with the model's own code, for prompts with media.

`generate` gets similar prompts in one batch, and each sample has its own random
numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core import Likelihood, Output, Request
from ..draws import torch_draws
from ..prompting.fitting import Limits
from ..prompting.pairs import Pair
from ..prompting.weighing import not_finite
from .candidates import Answers, Drawn
from .loading import quiet
from .media_batches import BESIDE, Inputs, handles_padding, join_inputs, length_of
from .media_prompts import move_to_model
from .media_settings import (
    Ending,
    NotFinite,
    Penalties,
    Stopping,
    finite_only,
    room_for,
)
from .sampling import is_greedy
from .shared_likelihoods import Tally
from .text import filler_of


@dataclass
class PlainWriter:
    """Answers prompts with media by calling the model's own `generate`."""

    model: Any
    answers: Answers
    limits: Limits
    settings: Mapping[str, Any]
    opening: int = 0
    """Number of tokens that the model always generates before its answer."""
    can_pad: bool | None = None
    """True if the model handles left padding correctly; `None` until this is tested."""

    def write(
        self,
        requests: Sequence[Request],
        inputs: Sequence[Inputs],
    ) -> list[Output]:
        """Return the answers to similar prompts, given in order of length."""
        first = requests[0]
        try:
            if not self._fits(inputs):
                return self._one_by_one(requests, inputs)
            batch = move_to_model(join_inputs(inputs, self._filler), self.model)
            if is_greedy(first.options):
                draws = 1
            else:
                draws = first.options.n
            draws_of_rows = [self.draw(batch, first, index) for index in range(draws)]
        except _Unclear:
            return self._one_by_one(requests, inputs)
        except NotFinite as error:
            if len(requests) == 1:
                return [not_finite(str(error))]
            return self._one_by_one(requests, inputs)
        outputs = []
        for row, request in enumerate(requests):
            answers = [rows[row] for rows in draws_of_rows]
            outputs.append(self._output(request, answers, length_of(inputs[row])))
        return outputs

    def _output(
        self,
        request: Request,
        answers: Sequence[Drawn],
        length: int,
    ) -> Output:
        candidates = [self.answers.candidate(request, answer) for answer in answers]
        squeezed = self.squeezed(request, length)
        return self.answers.output(request, candidates, length, squeezed)

    def squeezed(self, request: Request, length: int) -> int | None:
        """Return the answer's token limit if the context lowered it; otherwise None.

        `length` is the number of prompt tokens.
        """
        if "max_new_tokens" in self.settings or "max_length" in self.settings:
            return None
        return room_for(request.options, self.limits, length + self.opening)[1]

    def _one_by_one(
        self,
        requests: Sequence[Request],
        inputs: Sequence[Inputs],
    ) -> list[Output]:
        return [
            self.write([request], [tensors])[0]
            for request, tensors in zip(requests, inputs, strict=True)
        ]

    def draw(
        self,
        inputs: Inputs,
        request: Request,
        index: int,
    ) -> list[Drawn]:
        """Generate one answer to each prompt of a batch, with the random numbers of candidate `index`."""
        length = length_of(inputs)
        penalties = Penalties(request.options)
        settings = self.settings_for(request, length, penalties)
        if length:
            ending = None
        else:
            ending = self._watched(settings, inputs)
        with self.drawing(request, index):
            token_rows = self.model.generate(
                **inputs,
                **settings,
            )
        penalties.check()
        if ending is not None and ending.is_unclear:
            raise _Unclear
        if ending is None:
            prompts = inputs["input_ids"].tolist()
        else:
            prompts = []
        answers = []
        for row, tokens in enumerate(token_rows.tolist()):
            ids = self.answers.own(tokens, length, request.options.stop)
            if ending is None:
                answers.append(Drawn(ids, prompt=prompts[row]))
            else:
                has_ended = not ending.reached_limit(row, len(ids))
                answers.append(Drawn(ids, has_ended))
        return answers

    def _watched(
        self,
        settings: dict[str, Any],
        inputs: Inputs,
    ) -> Ending:
        """Add a stopping criterion to `settings` that records where answers end, and return this criterion.

        Speech models remove the end tokens from their answers, so the end cannot be
        seen later.
        """
        tensors = [value for value in inputs.values() if hasattr(value, "shape")]
        ending = Ending(
            rows=len(tensors[0]),
            room=settings["max_new_tokens"],
            ends={*self.answers.ends(), self._filler},
        )
        criteria = settings.setdefault("stopping_criteria", [])
        criteria.append(ending)
        return ending

    def settings_for(
        self,
        request: Request,
        length: int,
        penalties: Penalties,
    ) -> dict[str, Any]:
        """Return the arguments of `generate` for a request with `length` prompt tokens."""
        options = request.options
        room, _ = room_for(options, self.limits, length + self.opening)
        settings: dict[str, Any] = {
            "max_new_tokens": room,
            "do_sample": not is_greedy(options),
            **self.settings,
        }
        if not is_greedy(options):
            for name in ("temperature", "top_p", "top_k", "min_p"):
                value = getattr(options, name)
                if value is not None:
                    settings[name] = value
            settings.setdefault("top_k", 0)
        if penalties.are_asked:
            settings["logits_processor"] = [penalties]
        if options.stop:
            stops = self.answers.stops(options.stop)
            settings["stopping_criteria"] = [Stopping(stops, length)]
        return settings

    @contextmanager
    def drawing(self, request: Request, index: int) -> Iterator[None]:
        """Seed torch for one candidate inside the block, and raise if logits are not finite."""
        import torch

        with (
            torch.inference_mode(),
            torch_draws(request, index),
            quiet(),
            finite_only(self.model),
        ):
            yield

    def _fits(self, group: Sequence[Inputs]) -> bool:
        """Return True if these prompts can be computed in one batch.

        If their lengths differ, the first call tests padding with the shortest and the
        longest prompt.
        """
        short, long = group[0], group[-1]
        if length_of(short) == length_of(long):
            return True
        if self.can_pad is None:
            pair = [move_to_model(short, self.model), move_to_model(long, self.model)]
            with quiet():
                self.can_pad = handles_padding(self.model, pair, self._filler)
        return bool(self.can_pad)

    @property
    def _filler(self) -> int:
        return filler_of(self.answers.tokenizer)


@dataclass
class Weigher:
    """Scores continuations of a prompt with the model's own forward pass."""

    model: Any

    def weigh(
        self,
        inputs: Mapping[str, Any],
        pairs: Sequence[Pair],
    ) -> list[Likelihood]:
        """Return the likelihood of each continuation of one prompt.

        `inputs` are on the model's device. Continuations of one token share a single
        forward pass, because the pass predicts this token and does not need it as
        input.
        """
        tally = Tally(pairs)
        numbers_of: dict[tuple[int, ...], list[int]] = {}
        for number, pair in enumerate(pairs):
            numbers_of.setdefault(pair.computed, []).append(number)
        for computed, numbers in numbers_of.items():
            start = pairs[numbers[0]].start
            logits = self.logits(inputs, computed[start:])
            # A model may expand each placeholder to several tokens.
            more = len(logits) - len(computed)
            predictions = []
            for number in numbers:
                for index in range(start - 1, len(computed)):
                    predictions.append((index + more, number, index))
            tally.add(logits, predictions)
        return tally.results()

    def logits(
        self,
        inputs: Mapping[str, Any],
        more: Sequence[int],
    ) -> Any:
        """Return the logits of a prompt followed by the tokens `more`."""
        import torch

        arguments = dict(inputs)
        if more:
            ids = arguments["input_ids"]
            tokens = torch.tensor([list(more)], device=ids.device)
            arguments["input_ids"] = torch.cat([ids, tokens], 1)
            for name in BESIDE:
                if name in arguments:
                    beside = arguments[name]
                    value = 1 if name == "attention_mask" else 0
                    filler = beside.new_full((1, len(more)), value)
                    arguments[name] = torch.cat([beside, filler], 1)
        with torch.inference_mode():
            return self.model(**arguments, use_cache=False).logits[0]


class _Unclear(Exception):
    """Raised if it cannot be determined which answer of a batch reached its token limit."""
