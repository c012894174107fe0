"""Render prompts with images and audio clips as tensors, with the model's own processor."""

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ...core import (
    AssayError,
    Audio,
    Image,
    Media,
    Message,
    Output,
    Prompt,
    Text,
    UsageError,
    Video,
)
from ...media import decode_audio, decode_frames, decode_image, inspect_video
from ..answers import failure
from ..prompting.pairs import Pair
from ..prompting.renderer import MARKS, PromptFault, Renderer, seam
from .media_batches import BESIDE

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin

REMEMBERED = 16
"""Maximum number of decoded images and clips in the cache."""
MOST_FRAMES = 32
"""Maximum number of frames of a video, if the model's processor does not choose them."""
NOT_FOR_SAMPLING = (
    "input_data_format",
    "do_convert_rgb",
    "do_sample_frames",
    "device",
    "video_metadata",
)
"""Settings of a video processor that its `sample_frames` method does not accept."""

_WINDOWS = ("frame_length", "win_length", "n_fft")
"""Attributes in which feature extractors store the number of samples in a window."""


@dataclass(frozen=True, slots=True)
class Film:
    """The decoded frames of a video, with metadata for the processor."""

    frames: Any
    metadata: Mapping[str, Any]


class MediaRenderer(Renderer):
    """Renders prompts with media to the token ids and tensors that the model receives."""

    def __init__(
        self,
        processor: "ProcessorMixin",
        *,
        chat_template: str | None = None,
        where: str = "",
        tool_syntax: str | None = None,
        video_args: Mapping[str, Any] | None = None,
    ) -> None:
        template = chat_template or getattr(processor, "chat_template", None)
        super().__init__(
            processor.tokenizer,
            chat_template=template,
            where=where,
            tool_syntax=tool_syntax,
        )
        self.processor = processor
        self.video_args = video_args or {}
        self._last: OrderedDict[str, Any] = OrderedDict()
        self._marks: dict[str, str] = {}
        self._last_film: tuple[str, Film] | None = None
        self._turns: dict[str, str] = {}

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Return the token ids and media tensors of a prompt."""
        text = self.text(prompt)
        images = []
        clips = []
        films = []
        for part in prompt.media:
            if isinstance(part, Image):
                images.append(self._decoded(part))
            elif isinstance(part, Audio):
                clips.append(self._decoded(part))
            elif isinstance(part, Video):
                films.append(self._film(part))
        arguments: dict[str, Any] = {"text": [text], "return_tensors": "pt"}
        if images:
            arguments["images"] = images
        if clips:
            arguments["audio"] = clips
            arguments["sampling_rate"] = self.rate
        if films:
            arguments["videos"] = [film.frames for film in films]
            arguments["videos_kwargs"] = {
                **self.video_args,
                "do_sample_frames": False,
                "video_metadata": [dict(film.metadata) for film in films],
            }
        return dict(
            self.processor(
                **arguments,
                **self.how(text),
            )
        )

    def weighed(self, prompt: Prompt) -> tuple[dict[str, Any], list[Pair]]:
        """Return the tensors of a prompt, and the token ids of its continuations.

        Each continuation is encoded together with the context: a tokenizer may add a
        space before text that is encoded alone, or join the end of the context and the
        start of the continuation in one token. Such a token belongs to the
        continuation.
        """
        inputs = self.inputs(prompt)
        text = self.text(prompt)
        encode = partial(self.tokenizer.encode, add_special_tokens=False)
        continuations = prompt.continuations or ()
        context = tuple(encode(text))
        wholes = [tuple(encode(text + more)) for more in continuations]
        start = len(context)
        for whole, more in zip(wholes, continuations, strict=True):
            start = min(start, seam(context, whole, is_empty=not more))
        endings = [whole[start:] for whole in wholes]
        moved = list(context[start:])
        if moved and inputs["input_ids"][0, -len(moved) :].tolist() != moved:
            # The processor adds an end token, so no token spans the context's end.
            endings = [tuple(encode(more)) for more in continuations]
        elif moved:
            for name in ("input_ids", *BESIDE):
                if name in inputs:
                    inputs[name] = inputs[name][:, : -len(moved)]
        ids = tuple(inputs["input_ids"][0].tolist())
        return inputs, [Pair((*ids, *ending), len(ids)) for ending in endings]

    def check_audio(
        self,
        prompt: Prompt,
        inputs: Mapping[str, Any],
    ) -> Output | None:
        """Return a failure if an audio clip in the prompt was cut short when it was
        converted to tensors; otherwise None.
        """
        clips = [part for part in prompt.media if isinstance(part, Audio)]
        if not clips:
            return None
        try:
            lengths = [len(self._decoded(clip)) for clip in clips]
            limit = audio_limit(self.extractor, inputs, lengths)
        except Exception as error:  # noqa: BLE001 - tensors of unknown shape fail their sample alone
            return failure(error, self.where)
        if limit is None:
            return None
        return audio_too_long(max(lengths) / self.rate, limit / self.rate)

    def how(self, text: str) -> dict[str, Any]:
        """Return the arguments for encoding a text.

        A text that already has a beginning-of-sequence token gets no second one.
        """
        bos = getattr(self.tokenizer, "bos_token", None)
        if bos and text.startswith(bos):
            return {"add_special_tokens": False}
        return {}

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the token ids of a prompt, including placeholders of media."""
        try:
            return tuple(self.inputs(prompt)["input_ids"][0].tolist())
        except AssayError:
            raise
        except Exception as error:
            # The processor may be the model's own code: report its error for this prompt.
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(
                f"the model's processor refuses this prompt: {reason}",
                where=self.where,
            ) from error

    def shown(self, prompt: Prompt) -> str:
        """Return the prompt as text, as the model reads it.

        Repeated placeholders are written with their count: `<image>×576`.
        """
        text = super().shown(prompt)
        for mark in {self._token(part.kind) for part in prompt.media}:
            text = _with_repeats_counted(text, mark)
        return text

    def text(self, prompt: Prompt) -> str:
        """Return the prompt as text, with the processor's placeholders for media."""
        if not prompt.is_chat or not self.has_template:
            messages = tuple(map(self._with_marks, prompt.messages))
            prompt = replace(prompt, messages=messages)
        return super().text(prompt)

    def _templated(
        self,
        messages: Sequence[dict[str, Any]],
        opens: bool = True,
        tools: Sequence[dict[str, Any]] = (),
    ) -> str:
        messages = list(map(self._for_template, messages))
        return super()._templated(messages, opens, tools)

    def _for_template(self, message: dict[str, Any]) -> dict[str, Any]:
        """Convert a message's content to the form that the chat template accepts.

        This is a list of parts, or one text with placeholders for media.
        """
        content = message["content"]
        if isinstance(content, list) and self._reads_parts:
            return {**message, "content": list(map(self._part_for_template, content))}
        if content is None or isinstance(content, str) != self._reads_parts:
            return message
        if self._reads_parts:
            part = {"type": "text", "text": content}
            return {**message, "content": [part]}
        text = ""
        for part in content:
            is_text = part["type"] == "text"
            text += part["text"] if is_text else self._mark(part["type"])
        return {**message, "content": text}

    def _part_for_template(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a message part, or a placeholder text if the template would leave the part out."""
        kind = part["type"]
        if kind == "text" or self._writes(kind):
            return part
        return {"type": "text", "text": self._token(kind)}

    def _writes(self, kind: str) -> bool:
        """Return True if the chat template writes a placeholder for this kind of media.

        Older templates support images but no videos.
        """
        return self._between(kind) != self._between("")

    def _between(self, kind: str) -> str:
        """Render a user turn with two marker words and a medium between them.

        If `kind` is empty, render the two words alone.
        """
        if kind not in self._turns:
            content = [
                {"type": "text", "text": MARKS[0]},
                {"type": kind},
                {"type": "text", "text": MARKS[1]},
            ]
            if not kind:
                del content[1]
            turn = {"role": "user", "content": content}
            try:
                self._turns[kind] = super()._templated([turn])
            except AssayError:
                self._turns[kind] = ""
        return self._turns[kind]

    @cached_property
    def _reads_parts(self) -> bool:
        """Return True if the template reads content as a list of parts.

        Other templates print the list in Python syntax.
        """
        word = MARKS[0]
        part = {"type": "text", "text": word}
        try:
            text = super()._templated([{"role": "user", "content": [part]}])
        except AssayError:
            return False
        printed = re.search(rf"""["']text["']: ?["']{word}""", text)
        return word in text and not printed

    def _with_marks(self, message: Message) -> Message:
        """Return a message with placeholders in place of its media."""
        if message.parts is None:
            return message
        parts = []
        for part in message.parts:
            is_medium = isinstance(part, Media)
            parts.append(Text(self._mark(part.kind)) if is_medium else part)
        return Message(message.role, tuple(parts))

    def _mark(self, kind: str) -> str:
        """Return the placeholder for a kind of media, from the chat template or the processor."""
        if kind not in self._marks:
            self._marks[kind] = self._written_mark(kind) or self._token(kind)
        return self._marks[kind]

    def _token(self, kind: str) -> str:
        """Return the processor's placeholder for a kind of media; by default `<image>` and so on."""
        token = getattr(self.processor, f"{kind}_token", None)
        if isinstance(token, str):
            return token
        return f"<{kind}>"

    def _written_mark(self, kind: str) -> str:
        """Return the text that the chat template writes for a medium; empty if it
        does not write it in its position.
        """
        if not self.has_template or not self._reads_parts:
            return ""
        _, _, rest = self._between(kind).partition(MARKS[0])
        # A template that puts all media first writes nothing between the words.
        between, is_ordered, _ = rest.partition(MARKS[1])
        if not is_ordered or self._token(kind) not in between:
            return ""
        return between.strip()

    def _decoded(self, part: Image | Audio) -> Any:
        """Return a decoded image, or the samples of an audio clip. Recently used ones are cached."""
        cache = self._last
        if part.digest not in cache:
            if isinstance(part, Image):
                cache[part.digest] = decode_image(part)
            else:
                audio = decode_audio(
                    part,
                    rate=self.rate,
                    channels=1,
                )
                cache[part.digest] = audio.samples
        cache.move_to_end(part.digest)
        if len(cache) > REMEMBERED:
            cache.popitem(last=False)
        return cache[part.digest]

    def _film(self, video: Video) -> Film:
        """Decode the frames of a video that the processor chooses; only the last video is cached."""
        if self._last_film is not None and self._last_film[0] == video.digest:
            return self._last_film[1]
        facts = inspect_video(video)
        metadata = {
            "total_num_frames": facts.frames,
            "fps": facts.rate,
            "duration": facts.seconds,
            "width": facts.width,
            "height": facts.height,
        }
        numbers = self._frames_to_take(metadata)
        frames = decode_frames(video, numbers)
        film = Film(frames, {**metadata, "frames_indices": numbers})
        self._last_film = (video.digest, film)
        return film

    def _frames_to_take(self, metadata: Mapping[str, Any]) -> list[int]:
        """Return the indices of the video frames to decode.

        The processor chooses them if its configuration or the user requires it; otherwise
        they are evenly spaced.
        """
        from transformers.video_utils import VideoMetadata

        chooser = self.processor.video_processor
        settings = {
            name: getattr(chooser, name, None)
            for name in chooser.valid_kwargs.__annotations__
            if name not in NOT_FOR_SAMPLING
        }
        is_chosen = "fps" in self.video_args or "num_frames" in self.video_args
        if is_chosen or chooser.do_sample_frames:
            settings |= self.video_args
            numbers = chooser.sample_frames(VideoMetadata(**metadata), **settings)
            return [int(number) for number in numbers]
        total = metadata["total_num_frames"]
        count = min(total, MOST_FRAMES)
        return [index * total // count for index in range(count)]

    @property
    def extractor(self) -> Any:
        """Return the processor's feature extractor for audio clips; `None` if it has none."""
        for name in ("feature_extractor", "audio_processor"):
            extractor = getattr(self.processor, name, None)
            if extractor is not None:
                return extractor
        return None

    @property
    def rate(self) -> int:
        """Sampling rate of the model's audio input."""
        return int(getattr(self.extractor, "sampling_rate", 16000))


class SpeechRenderer(MediaRenderer):
    """Renders prompts of speech-to-text models: one audio clip. Text is not sent to the model."""

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Return the tensors of the audio clip; a long one is transcribed with timestamps."""
        audio = decode_audio(
            self._audio(prompt),
            rate=self.rate,
            channels=1,
        )
        extractor = self.extractor
        limit = getattr(extractor, "chunk_length", None)
        arguments: dict[str, Any] = {"sampling_rate": self.rate, "return_tensors": "pt"}
        if not limit or audio.seconds <= float(limit):
            return dict(extractor(audio.samples, **arguments))
        # Longer than one window: the model writes timestamps, and continues from them.
        arguments["truncation"] = False
        arguments["padding"] = "longest"
        arguments["return_attention_mask"] = True
        inputs = extractor(audio.samples, **arguments)
        return {**inputs, "return_timestamps": True}

    def text(self, prompt: Prompt) -> str:
        """Return the placeholder of the audio clip, because the model reads no text."""
        return self._mark(self._audio(prompt).kind)

    def shown(self, prompt: Prompt) -> str:
        """Return the placeholder of the audio clip, because the model reads no text."""
        return self.text(prompt)

    def preflight(
        self,
        prompt: Prompt,
        stops: Sequence[str] = (),
    ) -> list[PromptFault]:
        """Return no faults, because no text is rendered."""
        return []

    def _audio(self, prompt: Prompt) -> Audio:
        clips = [part for part in prompt.media if isinstance(part, Audio)]
        if len(clips) != 1:
            raise UsageError(
                f"a speech model takes one audio clip, this prompt has {len(clips)}",
                where=self.where,
            )
        return clips[0]


def move_to_model(
    inputs: Mapping[str, Any],
    model: "PreTrainedModel",
) -> dict[str, Any]:
    """Move tensors to the model's device, and convert floating-point ones to its dtype."""
    import torch

    arguments: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            value = value.to(model.device)
            if value.is_floating_point():
                value = value.to(model.dtype)
        arguments[name] = value
    return arguments


def _with_repeats_counted(text: str, mark: str) -> str:
    """Replace a run of placeholders with one placeholder and a count: `<image><image> -> <image>×2`."""

    def count(match: re.Match[str]) -> str:
        return f"{mark}×{len(match[0]) // len(mark)}"

    return re.sub(f"(?:{re.escape(mark)}){{2,}}", count, text)


def audio_limit(
    extractor: object,
    inputs: Mapping[str, Any],
    lengths: Sequence[int],
) -> int | None:
    """Return the model's limit in audio samples if a clip is longer, or else `None`.

    Feature extractors cut longer clips without warning. A processor that splits clips
    is not affected.
    """
    features = inputs.get("input_features")
    hop = getattr(extractor, "hop_length", None)
    if hop is None or features is None or features.ndim != 3:
        return None
    rows, frames, bands = features.shape
    if bands != getattr(extractor, "feature_size", None):
        frames = bands  # frames are last, as in Whisper
    limit = int(frames) * int(hop)
    # An uncut clip may be longer than its frames by up to one hop or window.
    slack = 0
    for name in ("hop_length", *_WINDOWS):
        slack = max(slack, int(getattr(extractor, name, None) or 0))
    if not limit or max(lengths) <= limit + slack:
        return None
    pieces = sum(math.ceil(length / (limit + slack)) for length in lengths)
    return limit if rows < pieces else None


def audio_too_long(
    seconds: float,
    at_once: float,
    why: str = "",
) -> Output:
    """Return the failure for an audio clip that the model would cut."""
    return Output.failed(
        "context",
        f"a clip lasts {seconds:.1f} s and the model hears {at_once:.1f} s at once{why}"
        "; fix: shorter clips, or a model that hears longer ones",
        retryable=False,
    )
