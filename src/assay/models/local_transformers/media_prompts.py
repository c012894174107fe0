"""Prompts with images and audio clips as tensors, made by the model's own processor from decoded media."""

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

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
)
from ...media import decode_audio, decode_image
from ..answers import failure
from ..prompting.renderer import MARKS, PromptFault, Renderer, seam
from .media_batches import BESIDE

REMEMBERED = 16
"""Number of decoded media in the cache."""

_WINDOWS = ("frame_length", "win_length", "n_fft")
"""Names that extractors have for the samples of one frame."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A prompt as tensors, and its continuations as token ids."""

    inputs: dict[str, Any]
    continuations: tuple[tuple[int, ...], ...]


class MediaRenderer(Renderer):
    """Renders prompts for one processor. What is shown, checked and sent are the same token ids."""

    def __init__(
        self,
        processor: Any,
        *,
        chat_template: str | None = None,
        where: str = "",
        tool_syntax: str | None = None,
    ) -> None:
        template = chat_template or getattr(processor, "chat_template", None)
        super().__init__(
            processor.tokenizer,
            chat_template=template,
            where=where,
            tool_syntax=tool_syntax,
        )
        self.processor = processor
        self._last: OrderedDict[str, Any] = OrderedDict()
        self._marks: dict[str, str] = {}

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Return token ids and media tensors of one prompt."""
        text = self.text(prompt)
        images = [
            self._decoded(part) for part in prompt.media if isinstance(part, Image)
        ]
        clips = [
            self._decoded(part) for part in prompt.media if isinstance(part, Audio)
        ]
        arguments: dict[str, Any] = {"text": [text], "return_tensors": "pt"}
        if images:
            arguments["images"] = images
        if clips:
            arguments |= {"audio": clips, "sampling_rate": self.rate}
        return dict(self.processor(**arguments, **self.how(text)))

    def weighed(self, prompt: Prompt) -> Weighed:
        """Return the tensors of a prompt, and each of its continuations as token ids.

        Both are encoded together, so that tokens at the boundary are those of the model: a text alone may begin
        with an extra blank, and the end of the context may be one token with it. Such an end is then part of
        the continuation.
        """
        inputs, text = self.inputs(prompt), self.text(prompt)
        encode = partial(self.tokenizer.encode, add_special_tokens=False)
        continuations = prompt.continuations or ()
        context, wholes = (
            tuple(encode(text)),
            [tuple(encode(text + more)) for more in continuations],
        )
        seams = (
            seam(context, whole, is_empty=not more)
            for whole, more in zip(wholes, continuations, strict=True)
        )
        start = min(seams, default=len(context))
        ending = list(context[start:])
        if ending and inputs["input_ids"][0, -len(ending) :].tolist() != ending:
            # The processor writes an end of its own, behind which nothing grows together.
            return Weighed(inputs, tuple(tuple(encode(more)) for more in continuations))
        if ending:
            inputs |= {
                name: inputs[name][:, : -len(ending)]
                for name in ("input_ids", *BESIDE)
                if name in inputs
            }
        return Weighed(inputs, tuple(whole[start:] for whole in wholes))

    def unheard(self, prompt: Prompt, inputs: Mapping[str, Any]) -> Output | None:
        """Return the failure of a prompt whose tensors do not contain an audio clip to its end."""
        try:
            lengths = [
                len(self._decoded(part))
                for part in prompt.media
                if isinstance(part, Audio)
            ]
            most = heard_at_once(self.extractor, inputs, lengths) if lengths else None
        except Exception as error:  # noqa: BLE001 - tensors of a shape nobody knows fail their sample alone
            return failure(error, self.where)
        return (
            None
            if most is None
            else not_heard(max(lengths) / self.rate, most / self.rate)
        )

    def how(self, text: str) -> dict[str, Any]:
        """Return how to encode a text. A beginning that the template already wrote must not be added again."""
        bos = getattr(self.tokenizer, "bos_token", None)
        return {"add_special_tokens": False} if bos and text.startswith(bos) else {}

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the token ids of a prompt, placeholders of media included."""
        try:
            return tuple(self.inputs(prompt)["input_ids"][0].tolist())
        except AssayError:
            raise
        except Exception as error:
            # A processor is somebody's program: what it raises is about this prompt.
            what = f"the model's processor refuses this prompt: {type(error).__name__}: {error}"
            raise UsageError(what, where=self.where) from error

    def shown(self, prompt: Prompt) -> str:
        """Return the prompt as the model reads it. Repeated placeholders are counted: `<image>×576`."""
        text = super().shown(prompt)
        for mark in {self._token(part.kind) for part in prompt.media}:
            repeated = re.compile(f"(?:{re.escape(mark)}){{2,}}")
            for match in reversed(list(repeated.finditer(text))):
                counted = f"{mark}×{len(match[0]) // len(mark)}"
                text = text[: match.start()] + counted + text[match.end() :]
        return text

    def text(self, prompt: Prompt) -> str:
        """Return the prompt as text, with the processor's placeholder for each medium."""
        if not (prompt.is_chat and self.has_template):
            prompt = replace(
                prompt,
                messages=tuple(self._marked(message) for message in prompt.messages),
            )
        return super().text(prompt)

    def _templated(
        self,
        messages: Sequence[dict[str, Any]],
        opens: bool = True,
        tools: Sequence[dict[str, Any]] = (),
    ) -> str:
        return super()._templated(
            [self._for_template(message) for message in messages], opens, tools
        )

    def _for_template(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message in the form that the template reads: a list of parts, or one text with placeholders."""
        content = message["content"]
        if content is None or isinstance(content, str) != self._reads_parts:
            return message
        if self._reads_parts:
            return {**message, "content": [{"type": "text", "text": content}]}
        texts = (
            part["text"] if part["type"] == "text" else self._mark(part["type"])
            for part in content
        )
        return {**message, "content": "".join(texts)}

    @cached_property
    def _reads_parts(self) -> bool:
        """Return True if the template reads parts. Other templates would print a list as Python does."""
        word = MARKS[0]
        try:
            text = super()._templated(
                [{"role": "user", "content": [{"type": "text", "text": word}]}]
            )
        except AssayError:
            return False
        return word in text and not re.search(rf"""["']text["']: ?["']{word}""", text)

    def _marked(self, message: Message) -> Message:
        if message.parts is None:
            return message
        parts = (
            Text(self._mark(part.kind)) if isinstance(part, Media) else part
            for part in message.parts
        )
        return Message(message.role, tuple(parts))

    def _mark(self, kind: str) -> str:
        """Return the placeholder of a medium: the one of the chat template, or else the processor's token."""
        if kind not in self._marks:
            self._marks[kind] = self._written_mark(kind) or self._token(kind)
        return self._marks[kind]

    def _token(self, kind: str) -> str:
        found = getattr(self.processor, f"{kind}_token", None)
        return str(found if isinstance(found, str) else f"<{kind}>")

    def _written_mark(self, kind: str) -> str:
        """Return a medium between two words as the template writes it, with the text around it."""
        if not self.has_template or not self._reads_parts:
            return ""
        before, after = MARKS[0], MARKS[1]
        words = ({"type": "text", "text": word} for word in (before, after))
        content = [next(words), {"type": kind}, next(words)]
        try:
            text = super()._templated([{"role": "user", "content": content}])
        except AssayError:
            return ""
        first, last = text.find(before), text.find(after)
        between = text[first + len(before) : last] if 0 <= first < last else ""
        # A template that puts all media first writes nothing between the words.
        return between.strip() if self._token(kind) in between else ""

    def _decoded(self, part: Image | Audio) -> Any:
        """Return a decoded image, or the samples of an audio clip. Media of few-shot examples are cached."""
        if part.digest not in self._last:
            if isinstance(part, Image):
                self._last[part.digest] = decode_image(part)
            else:
                self._last[part.digest] = decode_audio(
                    part, rate=self.rate, channels=1
                ).samples
        self._last.move_to_end(part.digest)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return self._last[part.digest]

    @property
    def extractor(self) -> Any:
        """Return what makes tensors of audio clips, under either name; `None` if a processor does everything."""
        found = getattr(self.processor, "feature_extractor", None)
        return (
            found
            if found is not None
            else getattr(self.processor, "audio_processor", None)
        )

    @property
    def rate(self) -> int:
        """Sampling rate of the model's audio."""
        return int(getattr(self.extractor, "sampling_rate", 16000))


class SpeechRenderer(MediaRenderer):
    """Renders the only audio clip of a prompt. The model does not see words."""

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        audio = decode_audio(self._audio(prompt), rate=self.rate, channels=1)
        extractor = self.extractor
        arguments: dict[str, Any] = {"sampling_rate": self.rate, "return_tensors": "pt"}
        if audio.seconds > float(
            getattr(extractor, "chunk_length", None) or audio.seconds
        ):
            # Longer than the model hears at once: it goes on by its own time stamps.
            arguments |= {
                "truncation": False,
                "padding": "longest",
                "return_attention_mask": True,
            }
            return {**extractor(audio.samples, **arguments), "return_timestamps": True}
        return dict(extractor(audio.samples, **arguments))

    def text(self, prompt: Prompt) -> str:
        """Return the placeholder of the audio."""
        return self._mark(self._audio(prompt).kind)

    def shown(self, prompt: Prompt) -> str:
        """Return the placeholder of the audio."""
        return self.text(prompt)

    def preflight(self, prompt: Prompt, stops: Sequence[str] = ()) -> list[PromptFault]:
        """Check nothing, because no words are rendered."""
        return []

    def _audio(self, prompt: Prompt) -> Audio:
        clips = [part for part in prompt.media if isinstance(part, Audio)]
        if len(clips) != 1:
            raise UsageError(
                f"a speech model takes one audio clip, this prompt has {len(clips)}",
                where=self.where,
            )
        return clips[0]


def placed(inputs: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Move tensors to the model's device, media in its precision. Other values stay."""
    import torch

    found: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            value = value.to(model.device)
            value = value.to(model.dtype) if value.is_floating_point() else value
        found[name] = value
    return found


def heard_at_once(
    extractor: Any, inputs: Mapping[str, Any], lengths: Sequence[int]
) -> int | None:
    """Return the samples that a model hears at once, if an audio clip is longer; `None` if none is.

    Feature extractors cut longer clips silently. A processor that splits clips is not affected.
    """
    features, hop = inputs.get("input_features"), getattr(extractor, "hop_length", None)
    if hop is None or features is None or features.ndim != 3:
        return None
    bands = getattr(extractor, "feature_size", None)
    rows, frames = (
        features.shape[0],
        features.shape[1 if features.shape[2] == bands else 2],
    )
    most = int(frames) * int(hop)
    # The last frame may be shorter than the others; and it may end, not begin, where the audio does.
    slack = max(
        int(getattr(extractor, name, None) or 0) for name in ("hop_length", *_WINDOWS)
    )
    if not most or max(lengths) <= most + slack:
        return None
    return (
        most
        if rows < sum(math.ceil(length / (most + slack)) for length in lengths)
        else None
    )


def not_heard(seconds: float, at_once: float, why: str = "") -> Output:
    """Return the failure of a sample whose audio would be cut."""
    what = (
        f"a clip lasts {seconds:.1f} s and the model hears {at_once:.1f} s at once{why}"
    )
    return Output.failed(
        "context",
        f"{what}; fix: shorter clips, or a model that hears longer ones",
        retryable=False,
    )
