"""Models with image or audio input in this process: vision-language, audio-language, and speech to text.

Common prefixes, media included, are computed once if a trial on the model shows that this is correct. Otherwise
similar prompts go through the model's own `generate` together if nothing is sampled. The batch size does not
change an answer, except for rounding in half precision.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import Output, Prompt, Request
from ..answers import failure, is_out_of_memory
from ..prompting.fitting import Limits, too_long
from ..prompting.pairs import Pair, windows
from ..prompting.weighing import weigh_planned, weighed_output
from .attention import CannotShare
from .candidates import Answers
from .drawing import draw, prepare
from .engine import Counter, TokenCount
from .few_rows import hasten
from .media_batches import alike, length_of
from .media_engine import in_full_precision
from .media_likelihood import CANNOT, Weigher
from .media_plain import PlainWriter
from .media_prompts import MediaRenderer, not_heard, placed
from .media_settings import more_settings, room_for
from .media_sharing import Marked, Sharing
from .rows import Row, rows_of
from .sampling import check_options
from .text import weigh_words


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests ready for the device, by index, and the failures of the others."""

    requests: Sequence[Request]
    inputs: dict[int, dict[str, Any]]
    failed: dict[int, Output]
    marked: dict[int, Marked] = field(default_factory=dict)
    """Requests whose prefixes can be shared."""
    whole: dict[int, list[Pair]] = field(default_factory=dict)
    """Texts to score from their first token, as pieces."""
    continuations: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """The continuations of each prompt, as token ids."""


class MediaModel:
    """A model that takes images or audio clips among the words, and writes text."""

    sharing: Sharing | None = None
    plain_because: str | None = "its words are not shown to the model"
    """Why prefixes are not shared; `None` if they are."""
    opening = 0
    """Number of tokens that the model writes before its answer by itself."""

    def __init__(
        self,
        model: Any,
        renderer: Any,
        limits: Limits,
        where: str,
        settings: Mapping[str, Any],
    ) -> None:
        self.model = model
        self.renderer: MediaRenderer = renderer
        self.processor = renderer.processor
        self.limits = limits
        self.where = where
        self.weigher = Weigher(model, limits)
        self.settings = settings
        self.engine: Any = self._engine()
        self.apart_because: str | None = None
        """Why the last batch could not be computed as one."""
        self.asks_for_more = more_settings(model, settings)
        """Settings of the user or the model that only the model's own `generate` supports."""
        self.answers = Answers(model, renderer.tokenizer)
        self.plain = PlainWriter(model, self.answers, limits, settings, self.opening)

    def _engine(self) -> Any:
        """Return the token counter. Prefixes are shared from here on if the model allows it."""
        try:
            with in_full_precision():
                self.sharing = Sharing(
                    self.model, self.renderer, self.limits.rows, self.weigher.logits
                )
        except (AttributeError, NotImplementedError) as error:
            self.plain_because = f"{type(error).__name__}: {error}"
            return Counter(TokenCount(self.model))
        self.plain_because = self.sharing.plain_because
        hasten(self.model)
        return self.sharing.engine

    def prepare_generate(self, requests: Sequence[Request]) -> Prepared:
        """Prepare prompts as tensors with decoded media. No device is needed."""
        prepared = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            check_options(request.options, self.where, reports=False)
            if "image" in request.prompt.produces or not self._read(prepared, at):
                continue
            length = length_of(prepared.inputs[at])
            if length >= self.limits.context:
                prepared.failed[at] = too_long(
                    length, self.limits.context, has_media=True
                )
                del prepared.inputs[at]
            elif self._shares_writing(request):
                self._mark(prepared, at)
        return prepared

    def _read(self, prepared: Prepared, at: int) -> bool:
        """Return a prompt as tensors.

        Raise if it is empty, or if the model would not hear an audio clip to its end.
        """
        prompt = prepared.requests[at].prompt
        try:
            if prompt.rolling:
                raise ValueError(
                    "a prompt with media has no whole text to weigh: give continuations after it"
                )
            if prompt.continuations is None:
                inputs = self.renderer.inputs(prompt)
            else:
                weighed = self.renderer.weighed(prompt)
                inputs, prepared.continuations[at] = (
                    weighed.inputs,
                    weighed.continuations,
                )
            failed = self._unheard(prompt, inputs)
        except Exception as error:  # noqa: BLE001 - an image or a template that cannot be used fails its sample
            failed = failure(error, self.where)
        if failed is not None:
            prepared.failed[at] = failed
        else:
            prepared.inputs[at] = inputs
        return failed is None

    def _unheard(self, prompt: Prompt, inputs: Mapping[str, Any]) -> Output | None:
        return self.renderer.unheard(prompt, inputs)

    def _mark(self, prepared: Prepared, at: int) -> None:
        if self.sharing is None or self.plain_because is not None:
            return
        try:
            prepared.marked[at] = self.sharing.read(prepared.inputs[at])
        except (CannotShare, *CANNOT):
            # This one is asked plainly.
            return

    def _shares_writing(self, request: Request) -> bool:
        """Return True if the engine writes the answer to a request, False if the model's own `generate` does."""
        return not self.asks_for_more

    @in_full_precision()
    def generate(self, prepared: Prepared) -> list[Output]:
        """Generate answers, similar prompts together."""
        outputs = dict(prepared.failed)
        for at, request in enumerate(prepared.requests):
            if "image" in request.prompt.produces:
                outputs[at] = self._drawn(request)
        outputs.update(self._shared(list(prepared.marked), prepared, self._written))
        plain = {
            at: inputs for at, inputs in prepared.inputs.items() if at not in outputs
        }
        for group in alike(
            prepared.requests, plain, self.limits, self.plain.fills is not False
        ):
            outputs.update(
                self._tried(
                    group,
                    lambda some: self._answered(
                        some, prepared.requests, prepared.inputs
                    ),
                )
            )
            self.engine.count.meter.advance(len(group) / len(prepared.requests))
        return [outputs[at] for at in range(len(prepared.requests))]

    def _shared(
        self,
        group: Sequence[int],
        prepared: Prepared,
        answered: Callable[[Sequence[int], Prepared], dict[int, Output]],
    ) -> dict[int, Output]:
        """Answer requests with shared prefixes. Requests that cannot be answered this way are left for `generate`."""
        outputs = (
            self._tried(group, lambda some: answered(some, prepared), is_last=False)
            if group
            else {}
        )
        # What is no number spoils what is computed beside it.
        spoilt = [
            at
            for at, output in outputs.items()
            if output.error and output.error.kind == "non_finite"
        ]
        for one in spoilt if len(group) > 1 else ():
            outputs |= self._shared([one], prepared, answered)
        return outputs

    def _written(self, group: Sequence[int], prepared: Prepared) -> dict[int, Output]:
        """Write answers token by token, all prompts together."""
        rows = {
            at: self._rows(prepared.requests[at], prepared.marked[at]) for at in group
        }
        self._sharing.write([prepared.marked[at] for at in group], list(rows.values()))
        outputs = {}
        for at, answers in rows.items():
            request, length = prepared.requests[at], len(prepared.marked[at].ids)
            outputs[at] = self.answers.of_rows(
                request, answers, length, self.plain.squeezed(request, length)
            )
        return outputs

    def _rows(self, request: Request, prompt: Marked) -> list[Row]:
        room, _ = room_for(request.options, self.limits, len(prompt.ids))
        stops = self.answers.stops(request.options.stop)
        return rows_of((), request, room, stops)

    @property
    def _sharing(self) -> Sharing:
        if self.sharing is None:
            raise CannotShare(str(self.plain_because))
        return self.sharing

    def _drawn(self, request: Request) -> Output:
        if request.prompt.media:
            what = "the model draws from words alone, and the prompt has media"
            return Output.failed(
                "data",
                f"{what}; fix: leave them out, or choose a model that edits",
                retryable=False,
            )
        try:
            prepare(self.model, self.renderer.tokenizer)
            text = self.renderer.text(request.prompt)
            how = self.renderer.how(text)
            inputs = self.processor(
                text=[text], generation_mode="image", return_tensors="pt", **how
            )
            return draw(
                self.model,
                self.processor.image_processor,
                inputs,
                request,
                self.settings,
            )
        except Exception as error:  # noqa: BLE001 - a template that cannot be used fails its sample
            return failure(error, self.where)

    def _tried(
        self,
        group: Sequence[int],
        ask: Callable[[Sequence[int]], dict[int, Output]],
        *,
        is_last: bool = True,
    ) -> dict[int, Output]:
        """Answer a group. A request that fails is left out if there is another way, and otherwise fails alone."""
        try:
            return ask(group)
        except Exception as error:  # what a model's own code makes of one prompt is that sample's failure
            if is_out_of_memory(error):
                raise
            if not is_last:
                self.apart_because = f"{type(error).__name__}: {error}"
            if len(group) > 1:
                return {
                    at: one
                    for alone in group
                    for at, one in self._tried([alone], ask, is_last=is_last).items()
                }
            return {group[0]: failure(error, self.where)} if is_last else {}

    def _answered(
        self,
        group: Sequence[int],
        requests: Sequence[Request],
        inputs: Mapping[int, Any],
    ) -> dict[int, Output]:
        outputs = self.plain.write(
            [requests[at] for at in group], [inputs[at] for at in group]
        )
        return dict(zip(group, outputs, strict=True))

    def prepare_likelihood(self, requests: Sequence[Request]) -> Prepared:
        """Prepare prompts as tensors with decoded media. No device is needed."""
        prepared = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            if request.prompt.rolling and not request.prompt.media:
                first, tokens = self.renderer.whole_text(request.prompt)
                prepared.whole[at] = windows(tokens, first, self.limits.context)
                continue
            if self._read(prepared, at):
                self._mark(prepared, at)
        return prepared

    @in_full_precision()
    def likelihood(self, prepared: Prepared) -> list[Output]:
        """Compute likelihoods of continuations after prompts with media. Common prefixes are computed once."""
        outputs = dict(prepared.failed)
        outputs.update(self._whole(prepared))
        outputs.update(self._shared(list(prepared.marked), prepared, self._weighed))
        plain = {
            at: inputs for at, inputs in prepared.inputs.items() if at not in outputs
        }
        for at in plain:
            outputs |= self._tried(
                [at], lambda some: self._weighed_alone(some, prepared)
            )
            self.engine.count.meter.advance(1 / len(prepared.requests))
        return [outputs[at] for at in range(len(prepared.requests))]

    def _weighed_alone(
        self, group: Sequence[int], prepared: Prepared
    ) -> dict[int, Output]:
        """Return the likelihoods after one prompt, as the model itself computes them."""
        [at] = group
        inputs = placed(prepared.inputs[at], self.model)
        return {
            at: self.weigher.weigh(
                prepared.requests[at], inputs, prepared.continuations[at]
            )
        }

    def _whole(self, prepared: Prepared) -> dict[int, Output]:
        """Return the likelihoods of texts without media from their first token."""
        planned = [
            (prepared.requests[at], (pairs, 0)) for at, pairs in prepared.whole.items()
        ]
        return dict(
            zip(
                prepared.whole,
                weigh_planned(planned, lambda pairs: weigh_words(self, pairs)),
                strict=True,
            )
        )

    def _weighed(self, group: Sequence[int], prepared: Prepared) -> dict[int, Output]:
        """Compute the likelihoods of all continuations together."""
        context = {at: prepared.marked[at].ids for at in group}
        pairs = {
            at: [
                Pair((*context[at], *more), len(context[at]))
                for more in prepared.continuations[at]
            ]
            for at in group
        }
        longest = {
            at: max((len(pair.computed) for pair in some), default=0)
            for at, some in pairs.items()
        }
        limit = self.limits.context
        outputs = {
            at: too_long(length, limit, has_media=True)
            for at, length in longest.items()
            if length > limit
        }
        fits = [at for at in group if at not in outputs]
        texts = [[pair.tokens[pair.start :] for pair in pairs[at]] for at in fits]
        found = (
            self._sharing.weigh([prepared.marked[at] for at in fits], texts)
            if fits
            else []
        )
        for at, likelihoods in zip(fits, found, strict=True):
            outputs[at] = weighed_output(
                prepared.requests[at], pairs[at], likelihoods, None
            )
        return outputs


class SpeechModel(MediaModel):
    """Speech to text: one audio clip in, its words out."""

    opening = 4
    """Tokens for start, language, task and timestamps."""

    def _unheard(self, prompt: Prompt, inputs: Mapping[str, Any]) -> Output | None:
        """Check for long audio clips, which need timestamps that not every model supports."""
        if "return_timestamps" not in inputs or getattr(
            self.model.generation_config, "no_timestamps_token_id", None
        ):
            return None
        extractor = self.processor.feature_extractor
        seconds = (
            inputs["input_features"].shape[-1]
            * extractor.hop_length
            / extractor.sampling_rate
        )
        why = ", and its settings name no time stamps by which to go on"
        return not_heard(seconds, extractor.chunk_length, why)

    def _engine(self) -> Any:
        return Counter(TokenCount(self.model))
