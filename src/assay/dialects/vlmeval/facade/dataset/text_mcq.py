"""`vlmeval.dataset.text_mcq`: multiple choice without images."""

from .text_base import CustomTextMCQDataset, TextMCQDataset

__all__ = ["CustomTextMCQDataset", "TextMCQDataset"]
