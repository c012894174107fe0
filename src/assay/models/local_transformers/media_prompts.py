"""Prompts with pictures and sounds as tensors: media decoded, and handed to the model's own processor."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core import Audio, Image, Media, Message, Prompt, Text
from ...media import decode_audio, decode_image
from .prompts import Renderer, plain_message

REMEMBERED = 16
"""Decoded media, the last ones."""


class Reader:
    """Reads prompts for one processor."""

    def __init__(self, processor: Any, template: str | None, renderer: Renderer) -> None:
        self.processor = processor
        self.template = template
        self.renderer = renderer
        self._last: OrderedDict[str, Any] = OrderedDict()

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Token ids and media tensors of one prompt."""
        pictures = [self._decoded(part) for part in prompt.media if isinstance(part, Image)]
        sounds = [self._decoded(part) for part in prompt.media if isinstance(part, Audio)]
        given: dict[str, Any] = {"text": [self.text(prompt)], "return_tensors": "pt"}
        if pictures:
            given["images"] = pictures
        if sounds:
            given |= {"audio": sounds, "sampling_rate": self.rate}
        return dict(self.processor(**given))

    def _decoded(self, part: Image | Audio) -> Any:
        """A picture, or the samples of a sound; the examples of a header come again in every prompt."""
        if part.digest not in self._last:
            if isinstance(part, Image):
                self._last[part.digest] = decode_image(part)
            else:
                self._last[part.digest] = decode_audio(part, rate=self.rate, channels=1).samples
        self._last.move_to_end(part.digest)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return self._last[part.digest]

    def text(self, prompt: Prompt) -> str:
        """The prompt as text, with the processor's own mark where each medium stands."""
        if prompt.is_chat and self.template:
            messages = [_listed(message) for message in prompt.messages if message.parts is not None]
            rendered: str = self.processor.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, chat_template=self.template
            )
            return rendered
        marked = replace(prompt, messages=tuple(self._marked(message) for message in prompt.messages))
        return self.renderer.text(marked)

    def _marked(self, message: Message) -> Message:
        if message.parts is None:
            return message
        parts = (Text(self._mark(part)) if isinstance(part, Media) else part for part in message.parts)
        return Message(message.role, tuple(parts))

    def _mark(self, part: Any) -> str:
        found = getattr(self.processor, f"{part.kind}_token", None)
        return str(found if isinstance(found, str) else f"<{part.kind}>")

    @property
    def rate(self) -> int:
        """Samples a second that the model hears."""
        return int(getattr(getattr(self.processor, "feature_extractor", None), "sampling_rate", 16000))


class SpeechReader(Reader):
    """Reads the one sound of a prompt; its words are not shown to the model."""

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        sounds = [part for part in prompt.media if isinstance(part, Audio)]
        if len(sounds) != 1:
            raise ValueError(f"a speech model takes one sound, this prompt has {len(sounds)}")
        sound = decode_audio(sounds[0], rate=self.rate, channels=1)
        extractor = self.processor.feature_extractor
        given: dict[str, Any] = {"sampling_rate": self.rate, "return_tensors": "pt"}
        if sound.seconds > float(getattr(extractor, "chunk_length", None) or sound.seconds):
            # Longer than the model hears at once: it goes on by its own time stamps.
            given |= {"truncation": False, "padding": "longest", "return_attention_mask": True}
            return {**extractor(sound.samples, **given), "return_timestamps": True}
        return dict(extractor(sound.samples, **given))


def placed(made: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Tensors on the model's device, media in its precision; what is no tensor stays."""
    import torch

    found: dict[str, Any] = {}
    for name, value in made.items():
        if isinstance(value, torch.Tensor):
            value = value.to(model.device)
            value = value.to(model.dtype) if value.is_floating_point() else value
        found[name] = value
    return found


def _listed(message: Message) -> dict[str, Any]:
    """A message with its content as a list of parts, as templates of models that see or hear expect it."""
    made = plain_message(message)
    if isinstance(made["content"], str):
        made["content"] = [{"type": "text", "text": made["content"]}]
    return made
