"""`ulmeval.ulm.base`: a model that draws images from text and images."""

import warnings
from typing import Any, ClassVar

from ....kits.message_content import Entries, MessageModel, prepared
from ....kits.rules import as_upstream
from ...drawing import base_seed, draw, seed_alike, seed_call
from ...messages import as_entries, entries_for


class BaseModel(MessageModel):
    """Subclasses write `generate_inner(message, dataset=None) -> PIL.Image`, and perhaps a batch hook."""

    INTERLEAVE: ClassVar[bool] = False
    allowed_types: ClassVar[list[str]] = ["text", "image"]

    def generate(
        self, message: Any, dataset: str | None = None, num_generations: int = 1
    ) -> list[Any]:
        """A list of `num_generations` images for text, a dict, or a list of strings or dicts.

        Among strings, data URLs, existing paths and http(s) URLs with a media suffix are images. Random generators are
        seeded from `$SEED` (42) and the message; the same message asked again gives other images.
        """
        entries = self._assay_entries(message)
        if as_upstream():
            seed_alike(base_seed())
        else:
            seed_call(entries, dataset, num_generations)
        return draw(self, entries, dataset, num_generations)

    def _assay_entries(self, message: Any) -> Entries:
        return entries_for(self, message)

    def preproc_content(self, inputs: Any) -> Any:
        """A message as a list of dictionaries with local files."""
        return prepared(inputs) if as_upstream() else as_entries(inputs)

    def message_to_promptimg(
        self, message: list[dict[str, str]], dataset: str | None = None
    ) -> tuple[str, str | None]:
        """The joined text and the first image, for models that take no more."""
        images = [entry["value"] for entry in message if entry["type"] == "image"]
        if len(images) > 1:
            warnings.warn(
                f"{type(self).__name__} takes the first of {len(images)} images",
                stacklevel=2,
            )
        text = "\n".join(entry["value"] for entry in message if entry["type"] == "text")
        return text, images[0] if images else None
