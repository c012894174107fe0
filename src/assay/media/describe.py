"""Describing: how large a medium is and how long it lasts, as a record keeps it of what a model made."""

from typing import Any

from ..core import DataError, Media
from .checks import check_media


def described(medium: Media) -> dict[str, Any]:
    """Its size in bytes and what its header says: width and height, or seconds, rate and channels.

    What cannot be read is left out: whether a model's image is an image is for the scorer to say.
    """
    plain: dict[str, Any] = {"bytes": len(medium.data())}
    try:
        facts = check_media(medium)
    except DataError:
        return plain
    if facts.width is not None:
        plain.update(width=facts.width, height=facts.height)
        if (facts.frames or 1) > 1:
            plain["frames"] = facts.frames
    elif facts.seconds is not None:
        plain.update(
            seconds=round(facts.seconds, 6), rate=facts.rate, channels=facts.channels
        )
    return plain
