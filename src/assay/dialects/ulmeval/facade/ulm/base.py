"""`ulmeval.ulm.base`: a model that draws images from text and images."""

import warnings
from typing import Any, ClassVar

from ....kits.message_content import checked, content_kind, prepared
from ....kits.rules import as_upstream
from ...drawing import base_seed, draw, seed_alike, seed_call
from ...messages import as_entries, check_types


class BaseModel:
    """Subclasses write `generate_inner(message, dataset=None) -> PIL.Image`, and perhaps a batch hook."""

    INTERLEAVE: ClassVar[bool] = False
    allowed_types: ClassVar[list[str]] = ["text", "image"]

    def __init__(self) -> None:
        self.dump_image_func: Any = None

    def use_custom_prompt(self, dataset: str | None) -> bool:
        """Whether `build_prompt` of the model replaces that of the benchmark."""
        return False

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """The message of a row, where `use_custom_prompt` says yes."""
        raise NotImplementedError(f"{type(self).__name__} has no `build_prompt`")

    def generate_inner(self, message: list[dict[str, str]], dataset: str | None = None) -> Any:
        """One image."""
        raise NotImplementedError(f"{type(self).__name__} has no `generate_inner`")

    def generate(self, message: Any, dataset: str | None = None, num_generations: int = 1) -> list[Any]:
        """A list of `num_generations` images for text, a dict, or a list of strings or dicts.

        Among strings, data URLs, existing paths and http(s) URLs with a media suffix are images. Random generators are
        seeded from `$SEED` (42) and the message; the same message asked again gives other images.
        """
        if as_upstream():
            entries = checked(message, self.allowed_types, type(self).__name__)
            seed_alike(base_seed())
        else:
            entries = as_entries(message)
            check_types(entries, self)
            seed_call(entries, dataset, num_generations)
        return draw(self, entries, dataset, num_generations)

    def check_content(self, msgs: Any) -> str:
        """`str`, `dict`, `liststr`, `listdict` or `unknown`."""
        return content_kind(msgs)

    def preproc_content(self, inputs: Any) -> Any:
        """A message as a list of dictionaries with local files."""
        return prepared(inputs) if as_upstream() else as_entries(inputs)

    def set_dump_image(self, dump_image_func: Any) -> None:
        """How images of a row become files."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> Any:
        """The images of a row as files."""
        return self.dump_image_func(line)

    def message_to_promptimg(self, message: list[dict[str, str]], dataset: str | None = None) -> tuple[str, str | None]:
        """The joined text and the first image, for models that take no more."""
        images = [entry["value"] for entry in message if entry["type"] == "image"]
        if len(images) > 1:
            warnings.warn(f"{type(self).__name__} takes the first of {len(images)} pictures", stacklevel=2)
        text = "\n".join(entry["value"] for entry in message if entry["type"] == "text")
        return text, images[0] if images else None
