"""`vlmeval.dataset.image_vqa`: free answers about images."""

from typing import Any, ClassVar

from .image_base import ImageBaseDataset

__all__ = ["CustomVQADataset", "ImageVQADataset"]


class ImageVQADataset(ImageBaseDataset):
    """Questions with a short answer."""

    TYPE: ClassVar[str] = "VQA"

    def build_prompt(self, line: Any) -> Any:
        """The images and the question, with the request for a short answer."""
        message = super().build_prompt(line)
        message[-1]["value"] += "\nAnswer the question using a single word or phrase."
        return message


class CustomVQADataset(ImageBaseDataset):
    """Questions of a TSV without options; subclasses write `evaluate`."""

    TYPE: ClassVar[str] = "VQA"
