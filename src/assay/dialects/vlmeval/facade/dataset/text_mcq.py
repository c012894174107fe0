"""`vlmeval.dataset.text_mcq`: multiple choice without pictures."""

from .text_base import TextMCQDataset

__all__ = ["TextMCQDataset"]
