"""What the first bytes of a medium say about it, and the limits they are checked against."""

from dataclasses import dataclass

MEGAPIXEL = 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts read from headers only; `None` if the format does not say."""

    format: str
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    """Images of an animation, or samples per channel of an audio clip."""
    rate: int | None = None
    channels: int | None = None

    @property
    def seconds(self) -> float | None:
        """The duration of an audio clip."""
        if self.rate and self.frames is not None:
            return self.frames / self.rate
        return None


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of a medium. A few kilobytes can decompress to gigabytes."""

    pixels: int = 64 * MEGAPIXEL
    side: int = 20_000
    seconds: float = 4 * 3600.0
    samples: int = 4 * 3600 * 48_000
    """Samples of all channels together. The default is four hours of one channel at 48 kHz."""


DEFAULT_LIMITS = Limits()


class Broken(Exception):
    """The bytes do not match their format. The caller catches this and adds the location of the medium."""
