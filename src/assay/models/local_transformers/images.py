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
    def load(cls, folder: str, options: Mapping[str, Any]) -> "PlainImageProcessor":
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
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **options)
        template = tokenizer.chat_template or (
            template_in(Path(folder)) if Path(folder).is_dir() else None
        )
        mark = tokenizer.convert_ids_to_tokens(token)
        heard = getattr(config, "audio_token_id", None)
        if heard is None:
            return cls(tokenizer, processor, mark, template)
        extractor = AutoFeatureExtractor.from_pretrained(folder, **options)
        return cls(
            tokenizer,
            processor,
            mark,
            template,
            extractor,
            tokenizer.convert_ids_to_tokens(heard),
        )

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
                self.image_processor(images=list(images), return_tensors=return_tensors)
            )
            merged = int(getattr(self.image_processor, "merge_size", 1)) ** 2
            counts = [int(grid.prod()) // merged for grid in inputs["image_grid_thw"]]
            filled = _filled(filled, self.image_token, counts, "images")
        if audio:
            heard = self._heard(audio, sampling_rate, return_tensors)
            frames = heard["feature_attention_mask"].sum(-1).tolist()
            counts = [((frame - 1) // 2 + 1 - 2) // 2 + 1 for frame in frames]
            filled = _filled(filled, str(self.audio_token), counts, "audio clips")
            inputs |= heard
        inputs |= self.tokenizer(
            [filled],
            return_tensors=return_tensors,
            add_special_tokens=add_special_tokens,
        )
        # Models that also hear tell media apart by the tokens themselves.
        if not self.audio_token:
            token = self.tokenizer.convert_tokens_to_ids(self.image_token)
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == token).to(torch.long)
        return inputs

    def _heard(
        self, audio: Sequence[Any], rate: int | None, return_tensors: str
    ) -> dict[str, Any]:
        settings = {
            "padding": "max_length",
            "return_attention_mask": True,
            "return_tensors": return_tensors,
        }
        heard = dict(
            self.feature_extractor(list(audio), sampling_rate=rate, **settings)
        )
        heard["feature_attention_mask"] = heard.pop("attention_mask")
        return heard


def _filled(text: str, mark: str, counts: Sequence[int], what: str) -> str:
    """Return the text with each placeholder repeated as often as its medium has tokens."""
    pieces = text.split(mark)
    if len(pieces) - 1 != len(counts):
        raise ValueError(
            f"the prompt marks {len(pieces) - 1} {what} and carries {len(counts)}"
        )
    return pieces[0] + "".join(
        mark * count + piece for count, piece in zip(counts, pieces[1:], strict=True)
    )
