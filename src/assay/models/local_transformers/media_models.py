"""Models with image or audio input: vision-language, audio-language and speech-to-text.

Common prefixes, including media, are computed once if a test on the model shows that
this is correct. Otherwise the model's own `generate` answers each prompt, or a batch of
similar prompts if decoding is greedy. The batch size does not change answers, except for
rounding in half precision.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core import Output, Prompt, Request
from ..answers import failure, is_out_of_memory
from ..prompting.fitting import Limits, too_long
from ..prompting.pairs import Pair, windows
from ..prompting.weighing import weigh_planned, weighed_output
from .attention import CannotShare
from .candidates import Answers
from .drawing import draw
from .engine import Counter, TokenCount
from .few_rows import hasten
from .generation_rows import rows_of
from .media_batches import group_requests, length_of
from .media_engine import in_full_precision
from .media_plain import PlainWriter, Weigher
from .media_prompts import MediaRenderer, audio_too_long, move_to_model
from .media_settings import more_settings, room_for
from .media_sharing import Marked, Sharing
from .sampling import check_options
from .text import weigh_words

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CANNOT = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)
"""Errors of a model's own code if the media of a prompt cannot be separated."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The requests of a batch, with the model inputs or the failure of each, by index."""

    requests: Sequence[Request]
    inputs: dict[int, dict[str, Any]]
    failed: dict[int, Output]
    marked: dict[int, Marked] = field(default_factory=dict)
    """Prompts with separated media, by request index. Prompts that cannot share a prefix are missing."""
    pairs: dict[int, list[Pair]] = field(default_factory=dict)
    """Continuations to score, by request index.

    For a text that is scored from its first token (always without media), these are the
    pieces of the text.
    """

    def without(self, outputs: Mapping[int, Output]) -> dict[int, dict[str, Any]]:
        """Return the model inputs of the requests that have no output in `outputs`."""
        unanswered = {}
        for index, inputs in self.inputs.items():
            if index not in outputs:
                unanswered[index] = inputs
        return unanswered


Answer = Callable[[Sequence[int], Prepared], dict[int, Output]]
"""Type of a function that answers the requests at some indices, and returns their outputs by index."""


class MediaModel:
    """A model that takes text with images or audio clips, and generates text."""

    sharing: Sharing | None = None
    plain_because: str | None = "the model reads no text"
    """Why common prefixes are not computed once for all prompts; `None` if they are."""
    opening = 0
    """Number of tokens that the model always generates before its answer."""

    def __init__(
        self,
        model: "PreTrainedModel",
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
        self.weigher = Weigher(model)
        self.settings = settings
        self.engine: Any = self._engine()
        self.apart_because: str | None = None
        """Why requests of the last batch were answered one by one; `None` if they were not."""
        self.asks_for_more = more_settings(model, settings)
        """Generation settings of the user or the model that only the model's own `generate` supports."""
        self.answers = Answers(model, renderer.tokenizer)
        self.plain = PlainWriter(model, self.answers, limits, settings, self.opening)

    def _engine(self) -> Any:
        """Create the engine. If the engine does not support the model, create only a token counter.

        Set `sharing` and `plain_because`.
        """
        try:
            with in_full_precision():
                self.sharing = Sharing(
                    self.model,
                    self.renderer,
                    self.limits.rows,
                    self.weigher.logits,
                )
        except (AttributeError, NotImplementedError) as error:
            self.plain_because = f"{type(error).__name__}: {error}"
            return Counter(TokenCount(self.model))
        self.plain_because = self.sharing.plain_because
        hasten(self.model)
        return self.sharing.engine

    def prepare_generate(self, requests: Sequence[Request]) -> Prepared:
        """Convert prompts to tensors, with decoded media. No GPU is used."""
        prepared = Prepared(requests, {}, {})
        for index, request in enumerate(requests):
            check_options(request.options, self.where, reports=False)
            if "image" in request.prompt.produces:
                continue
            is_read = self._read(prepared, index)
            if is_read and self._shares_writing(request):
                self._mark(prepared, index)
        return prepared

    def _read(self, prepared: Prepared, index: int) -> bool:
        """Add a prompt's tensors to `prepared` and return True, or add its failure and return False.

        A prompt fails if it cannot be rendered, is too long, or has an audio clip that
        the model would cut.
        """
        prompt = prepared.requests[index].prompt
        try:
            if prompt.rolling:
                raise ValueError(
                    "a prompt with media has no whole text to weigh: give continuations after it"
                )
            limit = self.limits.context
            if prompt.continuations is None:
                inputs = self.renderer.inputs(prompt)
                length = length_of(inputs)
                limit -= 1  # leave room for one token of the answer
            else:
                inputs, pairs = self.renderer.weighed(prompt)
                length = max((len(pair.computed) for pair in pairs), default=0)
                prepared.pairs[index] = pairs
            failed = self._check_audio(prompt, inputs)
            if failed is None and length > limit:
                failed = too_long(length, self.limits.context, has_media=True)
        except Exception as error:  # noqa: BLE001 - an unusable image or template fails only this sample
            failed = failure(error, self.where)
        if failed is not None:
            prepared.failed[index] = failed
            return False
        prepared.inputs[index] = inputs
        return True

    def _check_audio(
        self,
        prompt: Prompt,
        inputs: Mapping[str, Any],
    ) -> Output | None:
        return self.renderer.check_audio(prompt, inputs)

    def _mark(self, prepared: Prepared, index: int) -> None:
        """Separate the media of a prompt and store the result in `prepared.marked`, if prefixes are shared."""
        if self.sharing is None or self.plain_because is not None:
            return
        # If media cannot be separated, the model's own `generate` answers.
        with suppress(CannotShare, *CANNOT):
            prepared.marked[index] = self.sharing.read(prepared.inputs[index])

    def _shares_writing(self, request: Request) -> bool:
        """Return True to generate with shared prefixes, or False to use the model's own `generate`."""
        return not self.asks_for_more

    @in_full_precision()
    def generate(self, prepared: Prepared) -> list[Output]:
        """Generate the answers to prepared requests, in batches of similar prompts."""
        requests = prepared.requests
        outputs = dict(prepared.failed)
        for index, request in enumerate(requests):
            if "image" in request.prompt.produces:
                outputs[index] = self._drawn(request)
        outputs |= self._shared(prepared, self._written)
        unanswered = prepared.without(outputs)
        can_pad = self.plain.can_pad is not False
        groups = group_requests(requests, unanswered, self.limits, can_pad)
        for group in groups:
            answers = self._tried(group, prepared, self._answered)
            outputs.update(answers)
            share = len(group) / len(requests)
            self.engine.count.meter.advance(share)
        return [outputs[index] for index in range(len(requests))]

    def _shared(self, prepared: Prepared, answer: Answer) -> dict[int, Output]:
        """Answer requests with shared prefixes. Leave out requests for which this does not work."""
        group = list(prepared.marked)
        if not group:
            return {}
        outputs = self._tried(group, prepared, answer, is_last=False)
        for index, output in list(outputs.items()):
            is_spoilt = output.error is not None and output.error.kind == "non_finite"
            if is_spoilt and len(group) > 1:
                # Logits that are not finite spoil other answers of the same pass.
                outputs |= self._tried([index], prepared, answer, is_last=False)
        return outputs

    def _written(
        self,
        group: Sequence[int],
        prepared: Prepared,
    ) -> dict[int, Output]:
        """Generate the answers to a group of requests, computing common prefixes once."""
        prompts = [prepared.marked[index] for index in group]
        requests = [prepared.requests[index] for index in group]
        rows_of_prompts = []
        for request, prompt in zip(requests, prompts, strict=True):
            room, _ = room_for(request.options, self.limits, len(prompt.ids))
            stops = self.answers.stops(request.options.stop)
            rows_of_prompts.append(rows_of((), request, room, stops))
        self._sharing.write(prompts, rows_of_prompts)
        outputs = {}
        for number, index in enumerate(group):
            request = requests[number]
            length = len(prompts[number].ids)
            outputs[index] = self.answers.of_rows(
                request,
                rows_of_prompts[number],
                length,
                self.plain.squeezed(request, length),
            )
        return outputs

    @property
    def _sharing(self) -> Sharing:
        if self.sharing is None:
            raise CannotShare(str(self.plain_because))
        return self.sharing

    def _drawn(self, request: Request) -> Output:
        """Generate the images of a request."""
        if request.prompt.media:
            return Output.failed(
                "data",
                "the model draws from words alone, and the prompt has media; "
                "fix: leave them out, or choose a model that edits",
                retryable=False,
            )
        try:
            text = self.renderer.text(request.prompt)
            how = self.renderer.how(text)
            return draw(self.model, self.processor, text, how, request, self.settings)
        except Exception as error:  # noqa: BLE001 - an unusable template fails only this sample
            return failure(error, self.where)

    def _tried(
        self,
        group: Sequence[int],
        prepared: Prepared,
        answer: Answer,
        *,
        is_last: bool = True,
    ) -> dict[int, Output]:
        """Answer a group of requests. If that raises, answer each request of the group alone.

        A request that also raises alone gets a failed output. With `is_last=False` it
        gets no output, so that the caller can answer it in another way.
        """
        try:
            return answer(group, prepared)
        except Exception as error:  # fails only this sample
            if is_out_of_memory(error):
                raise
            if not is_last:
                self.apart_because = f"{type(error).__name__}: {error}"
            if len(group) == 1:
                if is_last:
                    return {group[0]: failure(error, self.where)}
                return {}
            outputs: dict[int, Output] = {}
            for index in group:
                outputs |= self._tried([index], prepared, answer, is_last=is_last)
            return outputs

    def _answered(
        self,
        group: Sequence[int],
        prepared: Prepared,
    ) -> dict[int, Output]:
        """Answer a group of similar requests with the model's own `generate`."""
        requests = [prepared.requests[index] for index in group]
        inputs = [prepared.inputs[index] for index in group]
        outputs = self.plain.write(requests, inputs)
        return dict(zip(group, outputs, strict=True))

    def prepare_likelihood(self, requests: Sequence[Request]) -> Prepared:
        """Convert prompts and continuations to tensors, with decoded media. No GPU is used."""
        prepared = Prepared(requests, {}, {})
        for index, request in enumerate(requests):
            if request.prompt.rolling and not request.prompt.media:
                first, tokens = self.renderer.whole_text(request.prompt)
                pieces = windows(tokens, first, self.limits.context)
                prepared.pairs[index] = pieces
            elif self._read(prepared, index):
                self._mark(prepared, index)
        return prepared

    @in_full_precision()
    def likelihood(self, prepared: Prepared) -> list[Output]:
        """Score continuations after prompts with media, computing common prefixes once."""
        count = len(prepared.requests)
        outputs = dict(prepared.failed)
        outputs |= self._whole(prepared)
        outputs |= self._shared(prepared, self._weighed)
        unanswered = prepared.without(outputs)
        for index in unanswered:
            answers = self._tried([index], prepared, self._weighed_alone)
            outputs.update(answers)
            self.engine.count.meter.advance(1 / count)
        return [outputs[index] for index in range(count)]

    def _weighed_alone(
        self,
        group: Sequence[int],
        prepared: Prepared,
    ) -> dict[int, Output]:
        """Score a single request's continuations with the model's own forward pass.

        `group` has one index.
        """
        [index] = group
        inputs = move_to_model(prepared.inputs[index], self.model)
        pairs = prepared.pairs[index]
        likelihoods = self.weigher.weigh(inputs, pairs)
        return {
            index: weighed_output(prepared.requests[index], pairs, likelihoods, None)
        }

    def _whole(self, prepared: Prepared) -> dict[int, Output]:
        """Score the texts that have no media and are scored from their first token."""
        group = []
        planned = []
        for index, request in enumerate(prepared.requests):
            if request.prompt.rolling and index in prepared.pairs:
                group.append(index)
                planned.append((request, (prepared.pairs[index], 0)))
        outputs = weigh_planned(planned, lambda pairs: weigh_words(self, pairs))
        return dict(zip(group, outputs, strict=True))

    def _weighed(
        self,
        group: Sequence[int],
        prepared: Prepared,
    ) -> dict[int, Output]:
        """Score the continuations of a group of requests, computing common prefixes once."""
        prompts = [prepared.marked[index] for index in group]
        pairs = [prepared.pairs[index] for index in group]
        likelihoods = self._sharing.weigh(prompts, pairs)
        outputs = {}
        for number, index in enumerate(group):
            request = prepared.requests[index]
            outputs[index] = weighed_output(
                request, pairs[number], likelihoods[number], None
            )
        return outputs


class SpeechModel(MediaModel):
    """A speech-to-text model: the prompt is one audio clip, the answer is its transcript."""

    opening = 4

    def _check_audio(
        self,
        prompt: Prompt,
        inputs: Mapping[str, Any],
    ) -> Output | None:
        """Return a failure for a clip that is too long for a model without timestamps, otherwise None.

        A model with timestamps reads a long clip in several turns.
        """
        settings = self.model.generation_config
        if getattr(settings, "no_timestamps_token_id", None):
            return None
        if "return_timestamps" not in inputs:
            return None
        extractor = self.processor.feature_extractor
        samples = inputs["input_features"].shape[-1] * extractor.hop_length
        seconds = samples / extractor.sampling_rate
        why = ", and its settings have no timestamps to continue from"
        return audio_too_long(seconds, extractor.chunk_length, why)

    def _engine(self) -> Any:
        return Counter(TokenCount(self.model))
