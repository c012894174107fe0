"""Models that see or hear, in memory: vision-language, audio-language, and speech to text.

Prompts that are alike go through the model's own `generate` together when nothing is drawn; how many came together
never changes an answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core import EMPTY, Candidate, Output, Prompt, Request, Text, Usage
from ..function import failure
from .drawing import draw, prepare
from .engine import TokenCount
from .loading import quiet
from .media_batches import alike, fills_rightly, joined, length_of
from .media_likelihood import Weigher
from .media_prompts import Reader, SpeechReader, placed
from .prompts import Renderer
from .sampling import check_options, generator_for, is_greedy
from .text import Limits, too_long


@dataclass(frozen=True, slots=True)
class _Counter:
    count: TokenCount


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests ready for the device, by their place; those that cannot be asked, with why."""

    requests: Sequence[Request]
    inputs: dict[int, dict[str, Any]]
    failed: dict[int, Output]


class MediaModel:
    """A model that takes pictures or sounds among the words, and writes text."""

    reads: type[Reader] = Reader
    opening = 0
    """Tokens the model writes before its answer on its own account."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        template: str | None,
        limits: Limits,
        where: str,
        settings: Mapping[str, Any] = EMPTY,
    ) -> None:
        self.model = model
        self.processor = processor
        self.limits = limits
        self.where = where
        self.renderer = Renderer(processor.tokenizer, where=where)
        template = template or getattr(processor, "chat_template", None) or processor.tokenizer.chat_template
        self.reader = self.reads(processor, template, self.renderer)
        self.weigher = Weigher(model, self.renderer, limits)
        self.engine = _Counter(TokenCount(model))
        self.settings = settings
        self.fills: bool | None = None
        """Whether the model takes prompts that are filled up in front; `None` before that was tried."""

    def prepare_generate(self, requests: Sequence[Request]) -> Prepared:
        """Prompts as tensors, media decoded: everything that needs no device."""
        made = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            check_options(request.options, self.where)
            try:
                if "image" not in request.prompt.produces:
                    made.inputs[at] = self.reader.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - a picture or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
                continue
            length = length_of(made.inputs[at]) if at in made.inputs else 0
            if length >= self.limits.context:
                made.failed[at] = too_long(length, self.limits.context)
                del made.inputs[at]
        return made

    def generate(self, made: Prepared) -> list[Output]:
        """Answers, those of like prompts together."""
        outputs = dict(made.failed)
        for at, request in enumerate(made.requests):
            if "image" in request.prompt.produces:
                outputs[at] = self._drawn(request)
        for group in alike(made.requests, made.inputs, self.limits, self.fills is not False):
            outputs.update(self._tried(group, made))
        return [outputs[at] for at in range(len(made.requests))]

    def _fits(self, group: Sequence[Mapping[str, Any]]) -> bool:
        """Whether prompts can go through together; where they differ in length, that is tried on the first two."""
        short, long = group[0], group[-1]
        if length_of(short) == length_of(long):
            return True
        if self.fills is None:
            pair = [placed(short, self.model), placed(long, self.model)]
            with quiet():
                self.fills = fills_rightly(self.model, pair, self._filler)
        return self.fills

    @property
    def _filler(self) -> int:
        tokenizer = self.renderer.tokenizer
        found = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        return int(found or 0)

    def _drawn(self, request: Request) -> Output:
        try:
            prepare(self.model, self.renderer.tokenizer)
            return draw(self.model, self.processor, self.reader.text(request.prompt), request, self.settings)
        except Exception as error:  # noqa: BLE001 - a template that cannot be used fails its sample
            return failure(error, self.where)

    def _tried(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Answers of a group; one that cannot be answered fails alone."""
        import torch

        try:
            return self._answered(group, made.requests, made.inputs)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one prompt is that sample's failure
            if len(group) == 1:
                return {group[0]: failure(error, self.where)}
            return {at: output for one in group for at, output in self._tried([one], made).items()}

    def _answered(
        self, group: Sequence[int], requests: Sequence[Request], inputs: Mapping[int, Any]
    ) -> dict[int, Output]:
        some = [inputs[at] for at in group]
        if not self._fits(some):
            return {at: output for one in group for at, output in self._answered([one], requests, inputs).items()}
        first = requests[group[0]]
        batch = placed(joined(some, self._filler), self.model)
        draws = 1 if is_greedy(first.options) else first.options.n
        drawn = [self._draw(batch, first, index, length_of(batch)) for index in range(draws)]
        outputs = {}
        for place, at in enumerate(group):
            candidates = tuple(self._candidate(requests[at], rows[place]) for rows in drawn)
            if is_greedy(first.options) and first.options.n > 1:
                candidates *= first.options.n
            written = sum(len(candidate.token_ids) for candidate in candidates)
            outputs[at] = Output(candidates, usage=Usage(length_of(inputs[at]), written))
        return outputs

    def _draw(self, inputs: Mapping[str, Any], request: Request, index: int, length: int) -> list[list[int]]:
        """Token ids of each row of one draw, up to and with the end token."""
        with self._drawing(request, index), quiet():
            written = self.model.generate(**inputs, **self._settings(request, length))
        return [self._own(row, length) for row in written.tolist()]

    def _settings(self, request: Request, length: int) -> dict[str, Any]:
        """A request's options as `generate` takes them, after a prompt of so many tokens."""
        options = request.options
        room = self.limits.max_tokens if options.max_tokens is None else options.max_tokens
        room = max(1, min(room, self.limits.context - length - self.opening))
        settings: dict[str, Any] = {"max_new_tokens": room, "do_sample": not is_greedy(options), **self.settings}
        if not is_greedy(options):
            names = ("temperature", "top_p", "top_k", "min_p")
            settings |= {name: value for name in names if (value := getattr(options, name)) is not None}
            settings.setdefault("top_k", 0)
        if options.repetition_penalty:
            settings["repetition_penalty"] = options.repetition_penalty
        if options.stop:
            settings["stopping_criteria"] = [_stopper(self.renderer.tokenizer, options.stop, length)]
        return settings

    @contextmanager
    def _drawing(self, request: Request, index: int) -> Iterator[None]:
        """Random numbers of one candidate's own, for as long as it is drawn."""
        import torch

        key = request.key or "\0".join([request.prompt.text, *(medium.digest for medium in request.prompt.media)])
        seed = generator_for(request.options, request.seed, key, request.repeat, index)
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(seed.getrandbits(63))
            yield

    def _own(self, row: list[int], length: int) -> list[int]:
        """What was written: the prompt and the filling after the end token left out."""
        own = row[length:]
        ends = self._ends()
        for at, token in enumerate(own):
            if token in ends:
                return own[: at + 1]
        return own

    def _ends(self) -> set[int]:
        found = getattr(self.model.generation_config, "eos_token_id", None)
        ends = set(found) if isinstance(found, (list, tuple)) else {found}
        return {end for end in (*ends, self.renderer.tokenizer.eos_token_id) if end is not None}

    def _candidate(self, request: Request, ids: Sequence[int]) -> Candidate:
        text = self.renderer.tokenizer.decode(list(ids), skip_special_tokens=True)
        places = [at for stop in request.options.stop if (at := text.find(stop)) >= 0]
        ended = bool(places) or (bool(ids) and ids[-1] in self._ends())
        text = text[: min(places)] if places else text
        return Candidate((Text(text),), "stop" if ended else "length", (), tuple(ids))

    def prepare_likelihood(self, requests: Sequence[Request]) -> Prepared:
        """Prompts as tensors, media decoded: everything that needs no device."""
        made = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            try:
                made.inputs[at] = self.reader.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - a picture or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
        return made

    def likelihood(self, made: Prepared) -> list[Output]:
        """Weighs continuations after prompts with media: the prompt is computed once, then what follows it."""
        outputs = dict(made.failed)
        # Those about the same media one after the other: what they begin with is then computed once.
        order = sorted(made.inputs, key=lambda at: _beginning(made.requests[at].prompt, made.inputs[at]))
        # What a model keeps is also in itself, and answers of another hand-over may have changed it.
        self.weigher.forget()
        for at in order:
            outputs[at] = self.weigher.weigh(made.requests[at], placed(made.inputs[at], self.model))
        self.weigher.forget()
        return [outputs[at] for at in range(len(made.requests))]


class SpeechModel(MediaModel):
    """Speech to text: one sound in, its words out."""

    reads = SpeechReader
    opening = 4
    """Start, language, task and whether there are time stamps."""

    def _own(self, row: list[int], length: int) -> list[int]:
        return super()._own(row, 0)


def _beginning(prompt: Prompt, inputs: Mapping[str, Any]) -> tuple[tuple[str, ...], list[int]]:
    """What prompts are sorted by, so that those that begin alike are neighbours."""
    return tuple(medium.digest for medium in prompt.media), inputs["input_ids"][0].tolist()


def _stopper(tokenizer: Any, stops: Sequence[str], length: int) -> Callable[..., Any]:
    """Ends generation when a stop string was written."""
    from transformers import StoppingCriteria

    class _AtString(StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
            import torch

            texts = [tokenizer.decode(row[length:], skip_special_tokens=True) for row in input_ids.tolist()]
            done = [any(stop in text for stop in stops) for text in texts]
            return torch.tensor(done, device=input_ids.device)

    made: Callable[..., Any] = _AtString()
    return made
