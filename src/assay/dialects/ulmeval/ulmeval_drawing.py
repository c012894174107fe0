"""Send one prompt to a user's image model in ULMEvalKit's form, and get n images.

The batch method is called once per prompt under either of its names:
`batch_generation_inner` in ULMEvalKit's document, `batch_generate_inner` in its code.
Without one, `generate_inner` is called n times.
"""

import hashlib
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Image, Media, Message, Prompt, Text, UsageError, shorten
from ...media import image_from, to_rgb
from ..kits.message_content import Entries
from ..kits.message_lists import flat_list, message_turns
from ..kits.row_images import media_file
from ..kits.smp.file import data_root

HOOKS = ("batch_generation_inner", "batch_generate_inner")
DEFAULT_SEED = "42"
PNG_MODES = frozenset({"1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA"})
SMALL_PIXELS = 64 * 64
"""Largest size in pixels of images that are copied in the model's thread and encoded when they are stored.

Encoding lets other threads run. A model that answers at once would seem slower than it
is.
"""
_calls: Counter[str] = Counter()


def draw(
    model: Any,
    entries: Entries,
    dataset: str | None,
    n: int,
) -> list[Any]:
    """Call a user's model for one prompt, and return the list of exactly n images."""
    method = "generate_inner"
    images: Any = []
    batch_hooks = [hook for hook in HOOKS if callable(getattr(model, hook, None))]
    if batch_hooks:
        method = batch_hooks[0]
        images = getattr(model, method)(_copied(entries), dataset, n)
    else:
        for _ in range(n):
            image = model.generate_inner(_copied(entries), dataset)
            images.append(image)
    return checked(images, n, f"{type(model).__name__}.{method}")


def checked(
    images: object,
    n: int,
    what: str,
) -> list[Any]:
    """Return the images if there are exactly n; otherwise raise an error with the method's name and its result."""
    if not isinstance(images, (list, tuple)):
        raise TypeError(
            f"{what} returned {shorten(images)}, expected a list of {n} images"
        )
    if len(images) != n:
        raise ValueError(
            f"{what} returned {len(images)} images for num_generations={n}"
        )
    for image in images:
        if not is_image(image):
            raise TypeError(f"{what} returned {shorten(image)}, expected a PIL image")
    return list(images)


def is_image(thing: object) -> bool:
    """Return True if a value is a Pillow image, or an image object of assay."""
    return isinstance(thing, Image) or (
        hasattr(thing, "save") and hasattr(thing, "size")
    )


def as_medium(drawing: Any) -> Image:
    """Convert a generated image to a PNG image of assay. Modes that PNG does not support become RGB."""
    if isinstance(drawing, Image):
        return drawing
    if drawing.mode not in PNG_MODES:
        return image_from(to_rgb(drawing))
    if _is_small(drawing):
        return Image(
            drawing.copy()
        )  # encoded when it is stored; the model may keep drawing on its own object
    return image_from(drawing)


def seed_call(
    entries: Entries,
    dataset: str | None,
    n: int,
) -> None:
    """Seed the random generators before a script's call, from `$SEED`, the message and the number of earlier calls."""
    key = json.dumps([entries, dataset, n], sort_keys=True)
    seed_generators(f"{base_seed()}:{key}:{_calls[key]}")
    _calls[key] += 1


def base_seed() -> int:
    """Return `$SEED` as an integer; 42 if it is not set."""
    text = os.environ.get("SEED", DEFAULT_SEED)
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"SEED={text!r} is not an integer", fix="SEED=42") from None


def seed_generators(text: str) -> None:
    """Seed Python's random generator, and numpy's and torch's if they are loaded, with a hash of `text`."""
    seed_alike(
        int.from_bytes(
            hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big"
        )
    )


def seed_alike(seed: int) -> None:
    """Seed the random generators with this number, so that all prompts have the same seed, as in ULMEvalKit."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _is_small(drawing: object) -> bool:
    pillow = sys.modules.get("PIL.Image")
    if pillow is None or not isinstance(drawing, pillow.Image):
        return False
    width, height = drawing.size
    return bool(0 < width * height <= SMALL_PIXELS)


def _copied(entries: Entries) -> Entries:
    return [dict(entry) for entry in entries]


def as_entries(message: object) -> Entries:
    """Convert a message (text, a dict, or a list of them) to a list of dicts.

    A single string is never read as a file name.
    """
    return prompt_entries(_turns(message))


def prompt_entries(messages: Sequence[Message]) -> Entries:
    """Return the messages of a prompt as one list of dicts, with media as local files."""
    return flat_list(messages, _local_file)


def as_prompt(message: object) -> Prompt:
    """Convert the message from a user's `build_prompt` to a prompt that requests images."""
    return Prompt(_turns(message), ("image",))


def _turns(message: object) -> tuple[Message, ...]:
    if isinstance(message, str):
        return (Message("user", (Text(message),)),)
    if isinstance(message, Sequence):
        message = [_with_type(entry) for entry in message]
    return message_turns(message)


def _with_type(entry: object) -> object:
    """Add `"type": "text"` to an entry without a type, such as a system entry. Return other values unchanged."""
    if isinstance(entry, Mapping) and "content" not in entry:
        return {"type": "text", **entry}
    return entry


def _local_file(medium: Media) -> str:
    return media_file(medium, str(data_root() / "files"))
