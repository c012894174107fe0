"""Models that see or hear, in memory: vision-language, audio-language, and speech to text.

What prompts begin with is computed once, media and all, where that was tried on the model; else prompts that are alike
go through the model's own `generate` together when nothing is drawn. How many came together never changes an answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import EMPTY, Output, Prompt, Request
from ..answers import failure
from ..draws import generator_for
from .attention import CannotShare
from .drawing import draw, prepare
from .engine import TokenCount
from .fitting import too_long
from .hearing import not_heard
from .likelihood import Pair, windows
from .media_answers import Answers, Drawn, not_finite
from .media_batches import alike, length_of
from .media_engine import in_full_precision
from .media_likelihood import CANNOT, Weigher
from .media_plain import PlainWriter
from .media_prompts import MediaRenderer, SpeechRenderer, placed
from .media_settings import more_settings, room_for
from .media_sharing import Marked, MediaRow, Sharing
from .plain import weigh_plainly
from .sampling import check_options, is_greedy
from .text import Limits, weighed_output


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
    continuations: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """What is weighed behind each prompt, as token ids."""


class MediaModel:
    """A model that takes images or audio clips among the words, and writes text."""

    renders: type[MediaRenderer] = MediaRenderer
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
        self.renderer = self.renders(processor, chat_template=template, where=where)
        self.weigher = Weigher(model, limits)
        self.settings = settings
        self.engine: Any = self._engine()
        self.apart_because: str | None = None
        """Why a hand-over could not go through as one, the last time that was so."""
        self.asks_for_more = more_settings(model, settings)
        """What is asked of the model's own `generate`, by the user or by the model's settings, and only it can do."""
        self.answers = Answers(model, processor.tokenizer)
        self.plain = PlainWriter(model, self.answers, limits, settings, self.opening)

    def _engine(self) -> Any:
        """What counts the tokens that are computed; beginnings are shared from here on where the model can."""
        try:
            with in_full_precision():
                self.sharing = Sharing(self.model, self.renderer, self.limits.rows, self.weigher.logits)
        except (AttributeError, NotImplementedError) as error:
            self.plain_because = f"{type(error).__name__}: {error}"
            return _Counter(TokenCount(self.model))
        self.plain_because = self.sharing.plain_because
        return self.sharing.engine

    def prepare_generate(self, requests: Sequence[Request]) -> Prepared:
        """Prompts as tensors, media decoded: everything that needs no device."""
        made = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            check_options(request.options, self.where, reports=False)
            try:
                if "image" not in request.prompt.produces:
                    made.inputs[at] = self.renderer.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - an image or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
                continue
            if self._is_unheard(made, at):
                continue
            length = length_of(made.inputs[at]) if at in made.inputs else 0
            if length >= self.limits.context:
                made.failed[at] = too_long(length, self.limits.context, has_media=True)
                del made.inputs[at]
            elif at in made.inputs and self._shares_writing(request):
                self._mark(made, at)
        return made

    def _is_unheard(self, made: Prepared, at: int) -> bool:
        """Whether a request has an audio clip that the model would not hear to its end: it is then not asked."""
        failed = self._unheard(made.requests[at].prompt, made.inputs[at]) if at in made.inputs else None
        if failed is not None:
            made.failed[at] = failed
            del made.inputs[at]
        return failed is not None

    def _unheard(self, prompt: Prompt, inputs: Mapping[str, Any]) -> Output | None:
        return self.renderer.unheard(prompt, inputs)

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
        for group in alike(made.requests, plain, self.limits, self.plain.fills is not False):
            outputs.update(self._tried(group, made))
            self.engine.count.meter.advance(len(group) / len(made.requests))
        return [outputs[at] for at in range(len(made.requests))]

    def _shared(
        self, group: Sequence[int], made: Prepared, answered: Callable[[Sequence[int], Prepared], dict[int, Output]]
    ) -> dict[int, Output]:
        """Answers of requests that share beginnings; one that cannot be answered so is left to be asked plainly."""
        import torch

        if not group:
            return {}
        try:
            outputs = answered(group, made)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one prompt is that sample's failure
            self.apart_because = f"{type(error).__name__}: {error}"
            if len(group) == 1:
                return {}
            return {at: output for one in group for at, output in self._shared([one], made, answered).items()}
        # What is no number spoils what is computed beside it.
        spoilt = [at for at, output in outputs.items() if output.error and output.error.kind == "non_finite"]
        for one in spoilt if len(group) > 1 else ():
            outputs |= self._shared([one], made, answered)
        return outputs

    def _written(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Answers written token by token, all prompts together."""
        rows = {at: self._rows(made.requests[at], made.marked[at]) for at in group}
        self._sharing.write([made.marked[at] for at in group], list(rows.values()))
        outputs = {}
        for at, own in rows.items():
            request = made.requests[at]
            wrong = next((row.error for row in own if row.error), None)
            if wrong is not None:
                outputs[at] = not_finite(wrong)
            else:
                drawn = [Drawn(row.token_ids) for row in own]
                length = len(made.marked[at].ids)
                outputs[at] = self.answers.output(request, drawn, length, self.plain.squeezed(request, length))
        return outputs

    def _rows(self, request: Request, prompt: Marked) -> list[MediaRow]:
        """What is to be written for a request: once where nothing is drawn."""
        room, _ = room_for(request.options, self.limits, len(prompt.ids))
        options = replace(request.options, n=1, max_tokens=None, stop=(), seed=None, logprobs=None)
        stops = self.answers.stops(request.options.stop)
        draws = 1 if is_greedy(options) else request.options.n
        return [MediaRow((), options, room, stops, generator_for(request, index)) for index in range(draws)]

    @property
    def _sharing(self) -> Sharing:
        if self.sharing is None:
            raise CannotShare(str(self.plain_because))
        return self.sharing

    def _drawn(self, request: Request) -> Output:
        if request.prompt.media:
            what = "the model draws from words alone, and the prompt has media"
            return Output.failed("data", f"{what}; fix: leave them out, or choose a model that edits", retryable=False)
        try:
            prepare(self.model, self.renderer.tokenizer)
            text = self.renderer.text(request.prompt)
            how = self.renderer.how(text)
            inputs = self.processor(text=[text], generation_mode="image", return_tensors="pt", **how)
            return draw(self.model, self.processor.image_processor, inputs, request, self.settings)
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
        outputs = self.plain.write([requests[at] for at in group], [inputs[at] for at in group])
        return dict(zip(group, outputs, strict=True))

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
                weighed = self.renderer.weighed(request.prompt)
                made.inputs[at], made.continuations[at] = weighed.inputs, weighed.continuations
            except Exception as error:  # noqa: BLE001 - an image or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
                continue
            if not self._is_unheard(made, at):
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
            outputs[at] = self._weighed_alone(made, at)
            self.engine.count.meter.advance(1 / len(made.requests))
        self.weigher.forget()
        return [outputs[at] for at in range(len(made.requests))]

    def _weighed_alone(self, made: Prepared, at: int) -> Output:
        import torch

        try:
            inputs = placed(made.inputs[at], self.model)
            return self.weigher.weigh(made.requests[at], inputs, made.continuations[at])
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
            found = iter(weigh_plainly(self.model, pairs, 1, self.engine.count.meter))
        return {
            at: weighed_output(made.requests[at], own, [next(found) for _ in own], None)
            for at, own in made.whole.items()
        }

    def _weighed(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Likelihoods of all continuations, weighed together."""
        pairs = {
            at: [Pair((*ids, *more), len(ids)) for ids in [made.marked[at].ids] for more in made.continuations[at]]
            for at in group
        }
        longest = {at: max((len(pair.computed) for pair in own), default=0) for at, own in pairs.items()}
        limit = self.limits.context
        outputs = {at: too_long(length, limit, has_media=True) for at, length in longest.items() if length > limit}
        fits = [at for at in group if at not in outputs]
        texts = [[pair.tokens[pair.start :] for pair in pairs[at]] for at in fits]
        found = self._sharing.weigh([made.marked[at] for at in fits], texts) if fits else []
        for at, likelihoods in zip(fits, found, strict=True):
            outputs[at] = weighed_output(made.requests[at], pairs[at], likelihoods, None)
        return outputs


class SpeechModel(MediaModel):
    """Speech to text: one audio clip in, its words out."""

    renders = SpeechRenderer
    opening = 4
    """Start, language, task and whether there are time stamps."""

    def _unheard(self, prompt: Prompt, inputs: Mapping[str, Any]) -> Output | None:
        """A long audio clip is gone through by time stamps, which not every model knows."""
        if "return_timestamps" not in inputs or getattr(self.model.generation_config, "no_timestamps_token_id", None):
            return None
        extractor = self.processor.feature_extractor
        seconds = inputs["input_features"].shape[-1] * extractor.hop_length / extractor.sampling_rate
        why = ", and its settings name no time stamps by which to go on"
        return not_heard(seconds, extractor.chunk_length, why)

    def _engine(self) -> Any:
        return _Counter(TokenCount(self.model))


def _beginning(prompt: Prompt, inputs: Mapping[str, Any]) -> tuple[tuple[str, ...], list[int]]:
    """What prompts are sorted by, so that those that begin alike are neighbours."""
    return tuple(medium.digest for medium in prompt.media), inputs["input_ids"][0].tolist()
