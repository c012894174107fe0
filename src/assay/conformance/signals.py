"""Signals: images and audio clips of fixtures, generated instead of stored.

`{"signal": "ramp"}` in a fixture means one of these; `{"array": […]}` means an array of the given numbers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import UnknownName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

RATE = 16_000
SECONDS = 10


def _ramp() -> "Array":
    """Return 64 x 64 bytes, every row 0, 4, …, 252."""
    import numpy as np

    return np.zeros((64, 1), np.uint8) + np.arange(0, 256, 4, dtype=np.uint8)


def _brighter() -> "Array":
    """Return the ramp ten levels brighter, clipped at white."""
    import numpy as np

    return np.asarray(np.clip(_ramp().astype(int) + 10, 0, 255), np.uint8)


def _noisy(seed: int = 0) -> "Array":
    """Return the ramp with up to 20 levels of seeded noise."""
    import numpy as np

    noise = np.random.RandomState(seed).randint(-20, 21, (64, 64))
    return np.asarray(np.clip(_ramp().astype(int) + noise, 0, 255), np.uint8)


def _tone() -> "Array":
    """Return ten seconds of 220 Hz whose volume oscillates at 3 Hz."""
    import numpy as np

    time = np.arange(RATE * SECONDS) / RATE
    return (
        0.3 * np.sin(2 * np.pi * 220 * time) * (1 + 0.5 * np.sin(2 * np.pi * 3 * time))
    ).astype(np.float32)


def _noise() -> "Array":
    """Return ten seconds of seeded white noise."""
    import numpy as np

    return (np.random.RandomState(0).randn(RATE * SECONDS) * 0.05).astype(np.float32)


def _silence() -> "Array":
    """Return ten seconds of digital silence."""
    import numpy as np

    return np.zeros(RATE * SECONDS, np.float32)


SIGNALS: dict[str, Callable[[], "Array"]] = {
    "ramp": _ramp,
    "brighter": _brighter,
    "noisy": _noisy,
    **{f"noisy_{seed}": partial(_noisy, seed) for seed in range(1, 25)},
    "ramp_unit": lambda: _ramp() / 255,
    "noisy_unit": lambda: _noisy() / 255,
    "tone": _tone,
    "short_tone": lambda: _tone()[: RATE // 2],
    "noise": _noise,
    "silence": _silence,
}


def as_argument(value: object) -> object:
    """Return the value of a fixture's argument: a signal, an array, pairs, or the value itself."""
    if isinstance(value, Mapping) and len(value) == 1:
        if "signal" in value:
            name = str(value["signal"])
            if name not in SIGNALS:
                raise UnknownName("signal", name, SIGNALS)
            return SIGNALS[name]()
        if "array" in value:
            import numpy as np

            return np.asarray(value["array"], float)
        if "pairs" in value:
            return [tuple(pair) for pair in value["pairs"]]
    return value
