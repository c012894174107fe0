"""Pictures without a film processor: for models whose own processor needs libraries that only films need.

Such a model marks each picture by one token, which stands for as many as the picture has patches after merging.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .prompts import template_in


class PictureProcessor:
    """A tokenizer and an image processor, called as transformers' processors are."""

    def __init__(self, tokenizer: Any, image_processor: Any, image_token: str, chat_template: str | None) -> None:
        self.tokenizer = tokenizer
        self.image_processor = image_processor
        self.image_token = image_token
        self.chat_template = chat_template

    @classmethod
    def load(cls, folder: str, options: Mapping[str, Any]) -> "PictureProcessor":
        """From the same folder or hub name as the model."""
        from transformers import AutoConfig, AutoImageProcessor, AutoTokenizer

        config = AutoConfig.from_pretrained(folder, **options)
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        token = getattr(config, "image_token_id", None)
        if token is None:
            raise ValueError("the model's processor needs torchvision, and its configuration names no picture token")
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **options)
        template = tokenizer.chat_template or (template_in(Path(folder)) if Path(folder).is_dir() else None)
        return cls(tokenizer, processor, tokenizer.convert_ids_to_tokens(token), template)

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        """As the tokenizer does it."""
        text: str = self.tokenizer.apply_chat_template(list(messages), **options)
        return text

    def __call__(
        self, text: Sequence[str], images: Sequence[Any] | None = None, return_tensors: str = "pt"
    ) -> dict[str, Any]:
        import torch

        made: dict[str, Any] = {}
        filled = list(text)
        if images:
            made = dict(self.image_processor(images=list(images), return_tensors=return_tensors))
            filled = [self._filled(text[0], made["image_grid_thw"])]
        is_special = bool(self.tokenizer.bos_token) and filled[0].startswith(self.tokenizer.bos_token)
        made |= self.tokenizer(filled, return_tensors=return_tensors, add_special_tokens=not is_special)
        token = self.tokenizer.convert_tokens_to_ids(self.image_token)
        made["mm_token_type_ids"] = (made["input_ids"] == token).to(torch.long)
        return made

    def _filled(self, text: str, grids: Any) -> str:
        """The text with each mark repeated once for every merged patch of its picture."""
        merged = int(getattr(self.image_processor, "merge_size", 1)) ** 2
        pieces = text.split(self.image_token)
        if len(pieces) - 1 != len(grids):
            raise ValueError(f"the prompt marks {len(pieces) - 1} pictures and carries {len(grids)}")
        counts = [int(grid.prod()) // merged for grid in grids]
        return pieces[0] + "".join(self.image_token * n + piece for n, piece in zip(counts, pieces[1:], strict=True))
