"""`vlmeval.dataset.text_mcq`: multiple choice without pictures."""

from .text_base import CustomTextMCQDataset, TextMCQDataset

__all__ = ["CustomTextMCQDataset", "TextMCQDataset"]
