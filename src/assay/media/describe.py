"""Size and duration of media, for the record of what a model produced."""

from typing import Any

from ..core import DataError, Media
from .checks import check_media


def described(medium: Media) -> dict[str, Any]:
    """Return the size in bytes and what the header says: width and height, or seconds, rate and channels.

    What cannot be read is left out: whether a model's image is a valid image is up to the scorer.
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
