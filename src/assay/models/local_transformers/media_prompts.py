"""Prompts with images and audio clips as tensors: media decoded, and handed to the model's own processor."""

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
from .media_batches import BESIDE
from .prompts import MARKS, PromptFault, Renderer, seam

REMEMBERED = 16
"""Decoded media, the last ones."""

_WINDOWS = ("frame_length", "win_length", "n_fft")
"""What extractors call the samples of one frame."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A prompt as tensors, and what is weighed behind it as token ids."""

    inputs: dict[str, Any]
    continuations: tuple[tuple[int, ...], ...]


class MediaRenderer(Renderer):
    """Renders prompts for one processor: what is shown, checked and sent are the same token ids."""

    def __init__(
        self, processor: Any, *, chat_template: str | None = None, where: str = ""
    ) -> None:
        template = chat_template or getattr(processor, "chat_template", None)
        super().__init__(processor.tokenizer, chat_template=template, where=where)
        self.processor = processor
        self._last: OrderedDict[str, Any] = OrderedDict()
        self._marks: dict[str, str] = {}

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Token ids and media tensors of one prompt."""
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
        """The tensors of a prompt, and each of its continuations as token ids behind them.

        Both are encoded together, so that the seam is where the model would have it: by itself a text may begin with a
        blank that is not there, and what ends the context may be one token with it. Such an end is left to be weighed.
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
        """The failure of a prompt with an audio clip that its tensors do not hold to the end."""
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
        """How to make ids of a text: what a template wrote at its beginning would else be written a second time."""
        bos = getattr(self.tokenizer, "bos_token", None)
        return {"add_special_tokens": False} if bos and text.startswith(bos) else {}

    def encode(self, prompt: Prompt) -> tuple[int, ...]:
        """The token ids of a prompt, with those that stand for its media."""
        try:
            return tuple(self.inputs(prompt)["input_ids"][0].tolist())
        except AssayError:
            raise
        except Exception as error:
            # A processor is somebody's program: what it raises is about this prompt.
            what = f"the model's processor refuses this prompt: {type(error).__name__}: {error}"
            raise UsageError(what, where=self.where) from error

    def shown(self, prompt: Prompt) -> str:
        """The prompt as the model reads it; marks that a medium repeats are counted: `<image>×576`."""
        text = super().shown(prompt)
        for mark in {self._token(part.kind) for part in prompt.media}:
            repeated = re.compile(f"(?:{re.escape(mark)}){{2,}}")
            text = repeated.sub(
                lambda found, mark=mark: f"{mark}×{len(found[0]) // len(mark)}", text
            )  # type: ignore[misc]
        return text

    def text(self, prompt: Prompt) -> str:
        """The prompt as text, with the processor's own mark where each medium stands."""
        if not (prompt.is_chat and self.has_template):
            prompt = replace(
                prompt,
                messages=tuple(self._marked(message) for message in prompt.messages),
            )
        return super().text(prompt)

    def _templated(self, messages: Sequence[dict[str, Any]], opens: bool = True) -> str:
        return super()._templated(
            [self._for_template(message) for message in messages], opens
        )

    def _for_template(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message whose content is as the template reads it: a list of parts, or one text with marks for media."""
        content = message["content"]
        if isinstance(content, str) != self._reads_parts:
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
        """Whether the template takes a message's content apart; one that does not writes a list as Python would."""
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
        """What stands for a medium in a text: what the chat template writes for one, else the processor's token."""
        if kind not in self._marks:
            self._marks[kind] = self._written_mark(kind) or self._token(kind)
        return self._marks[kind]

    def _token(self, kind: str) -> str:
        found = getattr(self.processor, f"{kind}_token", None)
        return str(found if isinstance(found, str) else f"<{kind}>")

    def _written_mark(self, kind: str) -> str:
        """A medium between two words as the template writes it, with what the model reads before and after it."""
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
        """An image, or the samples of an audio clip; the examples of a header come again in every prompt."""
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
        """What makes tensors of audio clips, under either of its names; `None` where a processor does it all itself."""
        found = getattr(self.processor, "feature_extractor", None)
        return (
            found
            if found is not None
            else getattr(self.processor, "audio_processor", None)
        )

    @property
    def rate(self) -> int:
        """Samples a second that the model hears."""
        return int(getattr(self.extractor, "sampling_rate", 16000))


class SpeechRenderer(MediaRenderer):
    """Renders the one audio clip of a prompt; its words are not shown to the model."""

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
        """The mark of the audio alone."""
        return self._mark(self._audio(prompt).kind)

    def shown(self, prompt: Prompt) -> str:
        """The mark of the audio alone."""
        return self.text(prompt)

    def preflight(self, prompt: Prompt, stops: Sequence[str] = ()) -> list[PromptFault]:
        """Nothing: no words are rendered."""
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
    """Tensors on the model's device, media in its precision; what is no tensor stays."""
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
    """The samples a model hears at once, where audio clips of these lengths were cut to it; `None` where none was.

    Feature extractors cut what is longer without a word; a processor that can goes through a long clip piece by piece.
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
    """The failure of a sample whose audio would not be heard to its end."""
    what = (
        f"a clip lasts {seconds:.1f} s and the model hears {at_once:.1f} s at once{why}"
    )
    return Output.failed(
        "context",
        f"{what}; fix: shorter clips, or a model that hears longer ones",
        retryable=False,
    )
