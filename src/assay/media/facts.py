"""What the first bytes of a medium say about it, and the limits that are held against that."""

from dataclasses import dataclass

MEGAPIXEL = 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Read from headers alone; `None` where the format does not say."""

    format: str
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    """Images of an animation, or samples of each channel of an audio clip."""
    rate: int | None = None
    channels: int | None = None

    @property
    def seconds(self) -> float | None:
        """How long an audio clip is."""
        return (
            self.frames / self.rate if self.rate and self.frames is not None else None
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a medium may be: a few kilobytes can unpack to gigabytes."""

    pixels: int = 64 * MEGAPIXEL
    side: int = 20_000
    seconds: float = 4 * 3600.0
    samples: int = 4 * 3600 * 48_000
    """Of all channels together: four hours of one channel at 48 kHz."""


DEFAULT_LIMITS = Limits()


class Broken(Exception):
    """Bytes that are not what their format promises; whoever knows the medium adds the place."""
