"""Images and audio without a video processor, for models whose own processor needs libraries only for video.

Such a model has one placeholder token for each image and audio clip. It is repeated for each image patch after
merging, or for each four audio frames.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..prompting.renderer import template_in


@dataclass
class PlainImageProcessor:
    """A tokenizer and an image processor behind the interface of transformers' processors.

    Models that hear also have a feature extractor.
    """

    tokenizer: Any
    image_processor: Any
    image_token: str
    chat_template: str | None
    feature_extractor: Any = None
    audio_token: str | None = None

    @classmethod
    def load(
        cls,
        folder: str,
        options: Mapping[str, Any],
    ) -> "PlainImageProcessor":
        """Load all parts from the same folder or hub name as the model."""
        from transformers import (
            AutoConfig,
            AutoFeatureExtractor,
            AutoImageProcessor,
            AutoTokenizer,
        )

        config = AutoConfig.from_pretrained(folder, **options)
        config = getattr(config, "thinker_config", config)
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        token = getattr(config, "image_token_id", None)
        if token is None:
            raise ValueError(
                "the model's processor needs torchvision, and its configuration names no image token"
            )
        template = tokenizer.chat_template
        if not template and Path(folder).is_dir():
            template = template_in(Path(folder))
        processor = cls(
            tokenizer,
            AutoImageProcessor.from_pretrained(
                folder,
                backend="pil",
                **options,
            ),
            tokenizer.convert_ids_to_tokens(token),
            template or None,
        )
        audio_token = getattr(config, "audio_token_id", None)
        if audio_token is not None:
            extractor = AutoFeatureExtractor.from_pretrained(folder, **options)
            processor.feature_extractor = extractor
            processor.audio_token = tokenizer.convert_ids_to_tokens(audio_token)
        return processor

    def __call__(
        self,
        text: Sequence[str],
        images: Sequence[Any] | None = None,
        audio: Sequence[Any] | None = None,
        sampling_rate: int | None = None,
        return_tensors: str = "pt",
        add_special_tokens: bool = True,
    ) -> dict[str, Any]:
        import torch

        inputs: dict[str, Any] = {}
        filled = text[0]
        if images:
            inputs = dict(
                self.image_processor(
                    images=list(images),
                    return_tensors=return_tensors,
                )
            )
            merged = int(getattr(self.image_processor, "merge_size", 1)) ** 2
            counts = [int(grid.prod()) // merged for grid in inputs["image_grid_thw"]]
            filled = _filled(filled, self.image_token, counts, "images")
        if audio:
            clips = self._audio_inputs(audio, sampling_rate, return_tensors)
            frames = clips["feature_attention_mask"].sum(-1).tolist()
            counts = [((frame - 1) // 2 + 1 - 2) // 2 + 1 for frame in frames]
            filled = _filled(filled, str(self.audio_token), counts, "audio clips")
            inputs |= clips
        inputs |= self.tokenizer(
            [filled],
            return_tensors=return_tensors,
            add_special_tokens=add_special_tokens,
        )
        # Models that also take audio recognise the kind of a medium by its tokens.
        if not self.audio_token:
            token = self.tokenizer.convert_tokens_to_ids(self.image_token)
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == token).to(torch.long)
        return inputs

    def _audio_inputs(
        self,
        audio: Sequence[Any],
        rate: int | None,
        return_tensors: str,
    ) -> dict[str, Any]:
        settings = {
            "padding": "max_length",
            "return_attention_mask": True,
            "return_tensors": return_tensors,
        }
        clips = dict(
            self.feature_extractor(
                list(audio),
                sampling_rate=rate,
                **settings,
            )
        )
        clips["feature_attention_mask"] = clips.pop("attention_mask")
        return clips


def _filled(
    text: str,
    mark: str,
    counts: Sequence[int],
    kind: str,
) -> str:
    """Return the text with each placeholder repeated as often as its medium has tokens."""
    first, *pieces = text.split(mark)
    if len(pieces) != len(counts):
        raise ValueError(
            f"the prompt marks {len(pieces)} {kind} and carries {len(counts)}"
        )
    filled = first
    for count, piece in zip(counts, pieces, strict=True):
        filled += mark * count + piece
    return filled
