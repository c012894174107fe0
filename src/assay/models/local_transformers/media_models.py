"""Models that see or hear, in memory: vision-language, audio-language, and speech to text.

What prompts begin with is computed once, media and all, where that was tried on the model; else prompts that are alike
go through the model's own `generate` together when nothing is drawn. How many came together never changes an answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from ...core import EMPTY, Candidate, Output, Prompt, Request, Text, Usage
from ..function import failure
from .attention import CannotShare
from .drawing import draw, prepare
from .engine import TokenCount
from .likelihood import Pair, windows
from .loading import quiet
from .media_batches import alike, fills_rightly, joined, length_of
from .media_engine import in_full_precision
from .media_likelihood import CANNOT, Weigher
from .media_prompts import Reader, SpeechReader, placed
from .media_settings import more_settings, settings_of, stopper
from .media_sharing import Marked, MediaRow, Sharing
from .plain import weigh_plainly
from .prompts import Renderer
from .sampling import check_options, generator_for, is_greedy
from .text import Limits, too_long, weighed_output


@dataclass(frozen=True, slots=True)
class _Counter:
    count: TokenCount


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests ready for the device, by their place; those that cannot be asked, with why."""

    requests: Sequence[Request]
    inputs: dict[int, dict[str, Any]]
    failed: dict[int, Output]
    marked: dict[int, Marked] = field(default_factory=dict)
    """Those whose beginnings can be shared."""
    whole: dict[int, list[Pair]] = field(default_factory=dict)
    """Texts to weigh from their first token, as pieces."""


class MediaModel:
    """A model that takes pictures or sounds among the words, and writes text."""

    reads: type[Reader] = Reader
    sharing: Sharing | None = None
    plain_because: str | None = "its words are not shown to the model"
    """Why beginnings are not shared; `None` where they are."""
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
        self.settings = settings
        self.engine: Any = self._engine()
        self.apart_because: str | None = None
        """Why a hand-over could not go through as one, the last time that was so."""
        self.asks_for_more = more_settings(model, settings)
        """What is asked of the model's own `generate`, by the user or by the model's settings, and only it can do."""
        self.fills: bool | None = None
        """Whether the model takes prompts that are filled up in front; `None` before that was tried."""

    def _engine(self) -> Any:
        """What counts the tokens that are computed; beginnings are shared from here on where the model can."""
        try:
            with in_full_precision():
                self.sharing = Sharing(self.model, self.reader, self.limits.rows, self.weigher.logits)
        except (AttributeError, NotImplementedError) as error:
            self.plain_because = f"{type(error).__name__}: {error}"
            return _Counter(TokenCount(self.model))
        self.plain_because = self.sharing.plain_because
        return self.sharing.engine

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
            elif at in made.inputs and self._shares_writing(request):
                self._mark(made, at)
        return made

    def _mark(self, made: Prepared, at: int) -> None:
        if self.sharing is None or self.plain_because is not None:
            return
        try:
            made.marked[at] = self.sharing.read(made.inputs[at])
        except (CannotShare, *CANNOT):
            # This one is asked plainly.
            return

    def _shares_writing(self, request: Request) -> bool:
        """Whether an answer to a request is written here and not by the model's own `generate`."""
        return not self.asks_for_more

    def generate(self, made: Prepared) -> list[Output]:
        """Answers, those of like prompts together."""
        with in_full_precision():
            return self._generate(made)

    def _generate(self, made: Prepared) -> list[Output]:
        outputs = dict(made.failed)
        for at, request in enumerate(made.requests):
            if "image" in request.prompt.produces:
                outputs[at] = self._drawn(request)
        outputs.update(self._shared(list(made.marked), made, self._written))
        plain = {at: inputs for at, inputs in made.inputs.items() if at not in outputs}
        for group in alike(made.requests, plain, self.limits, self.fills is not False):
            outputs.update(self._tried(group, made))
        return [outputs[at] for at in range(len(made.requests))]

    def _shared(
        self, group: Sequence[int], made: Prepared, answered: Callable[[Sequence[int], Prepared], dict[int, Output]]
    ) -> dict[int, Output]:
        """Answers of requests that share beginnings; one that cannot be answered so is left to be asked plainly."""
        import torch

        if not group:
            return {}
        try:
            return answered(group, made)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one prompt is that sample's failure
            self.apart_because = f"{type(error).__name__}: {error}"
            if len(group) == 1:
                return {}
            return {at: output for one in group for at, output in self._shared([one], made, answered).items()}

    def _written(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Answers written token by token, all prompts together."""
        rows = {at: self._rows(made.requests[at], made.marked[at]) for at in group}
        self._sharing.write([made.marked[at] for at in group], list(rows.values()))
        outputs = {}
        for at, own in rows.items():
            request = made.requests[at]
            wrong = next((row.error for row in own if row.error), None)
            if wrong is not None:
                outputs[at] = Output.failed("non_finite", wrong, retryable=False)
                continue
            candidates = tuple(self._candidate(request, row.token_ids) for row in own)
            candidates *= request.options.n // len(own)
            written = sum(len(candidate.token_ids) for candidate in candidates)
            outputs[at] = Output(candidates, usage=Usage(len(made.marked[at].ids), written))
        return outputs

    def _rows(self, request: Request, prompt: Marked) -> list[MediaRow]:
        """What is to be written for a request: once where nothing is drawn."""
        wanted = self.limits.max_tokens if request.options.max_tokens is None else request.options.max_tokens
        room = max(1, min(wanted, self.limits.context - len(prompt.ids)))
        options = replace(request.options, n=1, max_tokens=None, stop=(), seed=None, logprobs=None)
        stops = self._stops(request.options.stop)
        draws = 1 if is_greedy(options) else request.options.n
        return [MediaRow((), options, room, stops, self._generator(request, index)) for index in range(draws)]

    def _stops(self, strings: Sequence[str]) -> Callable[[Sequence[int]], str | None]:
        """Why to stop after what was written: an end token, or a stop string in the text."""
        ends = self._ends()

        def stops(written: Sequence[int]) -> str | None:
            text = self.renderer.tokenizer.decode(list(written), skip_special_tokens=True) if strings else ""
            return "stop" if written[-1] in ends or any(string in text for string in strings) else None

        return stops

    @property
    def _sharing(self) -> Sharing:
        if self.sharing is None:
            raise CannotShare(str(self.plain_because))
        return self.sharing

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
        made = settings_of(request.options, self.limits, length + self.opening, self.settings)
        if request.options.stop:
            made["stopping_criteria"] = [stopper(self.renderer.tokenizer, request.options.stop, length)]
        return made

    @contextmanager
    def _drawing(self, request: Request, index: int) -> Iterator[None]:
        """Random numbers of one candidate's own, for as long as it is drawn."""
        import torch

        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(self._generator(request, index).getrandbits(63))
            yield

    def _generator(self, request: Request, index: int) -> Random:
        key = request.key or "\0".join([request.prompt.text, *(medium.digest for medium in request.prompt.media)])
        return generator_for(request.options, request.seed, key, request.repeat, index)

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
            if request.prompt.rolling and not request.prompt.media:
                first, tokens = self.renderer.whole_text(request.prompt)
                made.whole[at] = windows(tokens, first, self.limits.context)
                continue
            try:
                if request.prompt.rolling:
                    raise ValueError("a prompt with media has no whole text to weigh: give continuations after it")
                made.inputs[at] = self.reader.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - a picture or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
                continue
            self._mark(made, at)
        return made

    def likelihood(self, made: Prepared) -> list[Output]:
        """Weighs continuations after prompts with media: what prompts begin with is computed once."""
        with in_full_precision():
            return self._likelihood(made)

    def _likelihood(self, made: Prepared) -> list[Output]:
        outputs = dict(made.failed)
        outputs.update(self._whole(made))
        outputs.update(self._shared(list(made.marked), made, self._weighed))
        plain = {at: inputs for at, inputs in made.inputs.items() if at not in outputs}
        # Those about the same media one after the other: what they begin with is then computed once.
        order = sorted(plain, key=lambda at: _beginning(made.requests[at].prompt, made.inputs[at]))
        # What a model keeps is also in itself, and answers of another hand-over may have changed it.
        self.weigher.forget()
        for at in order:
            outputs[at] = self._weighed_alone(made.requests[at], made.inputs[at])
        self.weigher.forget()
        return [outputs[at] for at in range(len(made.requests))]

    def _weighed_alone(self, request: Request, inputs: Mapping[str, Any]) -> Output:
        import torch

        try:
            return self.weigher.weigh(request, placed(inputs, self.model))
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one prompt is that sample's failure
            return failure(error, self.where)

    def _whole(self, made: Prepared) -> dict[int, Output]:
        """Texts without media, weighed from their first token."""
        pairs = [pair for own in made.whole.values() for pair in own]
        if self.plain_because is None:
            found = iter(self._sharing.weigh_words(pairs))
        else:
            found = iter(weigh_plainly(self.model, pairs, 1))
        return {
            at: weighed_output(made.requests[at], own, [next(found) for _ in own], None)
            for at, own in made.whole.items()
        }

    def _weighed(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Likelihoods of all continuations, weighed together."""
        pairs = {at: self.weigher.pairs(made.requests[at], made.marked[at].ids) for at in group}
        longest = {at: max((len(pair.computed) for pair in own), default=0) for at, own in pairs.items()}
        limit = self.limits.context
        outputs = {at: too_long(length, limit) for at, length in longest.items() if length > limit}
        fits = [at for at in group if at not in outputs]
        texts = [[pair.tokens[pair.start :] for pair in pairs[at]] for at in fits]
        found = self._sharing.weigh([made.marked[at] for at in fits], texts) if fits else []
        for at, likelihoods in zip(fits, found, strict=True):
            outputs[at] = weighed_output(made.requests[at], pairs[at], likelihoods, None)
        return outputs


class SpeechModel(MediaModel):
    """Speech to text: one sound in, its words out."""

    reads = SpeechReader
    opening = 4
    """Start, language, task and whether there are time stamps."""

    def _engine(self) -> Any:
        return _Counter(TokenCount(self.model))

    def _own(self, row: list[int], length: int) -> list[int]:
        return super()._own(row, 0)


def _beginning(prompt: Prompt, inputs: Mapping[str, Any]) -> tuple[tuple[str, ...], list[int]]:
    """What prompts are sorted by, so that those that begin alike are neighbours."""
    return tuple(medium.digest for medium in prompt.media), inputs["input_ids"][0].tolist()
