"""Size and duration of media, for the record of a model's output."""

from typing import Any

from ..core import DataError, Media
from .checks import check_media


def described(medium: Media) -> dict[str, Any]:
    """Return the size in bytes and the facts in the header: width and height, or seconds, rate and channels.

    Unreadable facts are left out: whether a model's image is valid is for the scorer to decide.
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
            seconds=round(facts.seconds, 6),
            rate=facts.rate,
            channels=facts.channels,
        )
    return plain
