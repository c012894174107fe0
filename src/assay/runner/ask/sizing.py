"""How many requests a model is handed at once: what it declares, what memory has room for, else what 20 ms take."""

import inspect

from ...core import Model, SizedByMemory

DEFAULT_WINDOW = 32
"""Requests that are open at an endpoint at the same time, where nobody says how many."""
HANDOVER_SECONDS = 0.02
LARGEST_HANDOVER = 256
MEDIA_HANDOVER = 16
CLEAN_BATCHES = 32
ENOUGH_TIMED = 32
"""Requests that must have been timed together before a model counts as one that answers at once."""
MOST_WAITING = 0.75
"""Of its time, for a model that answers at once; its thread waits for ours, one that asks a server waits for more."""


class BatchSize:
    """The size of the next batch of one model, learned from the batches before it."""

    def __init__(self, declared: int | None) -> None:
        self.declared = declared
        self.handover = 1
        """For a model that declares nothing: so many that a hand-over takes `HANDOVER_SECONDS`."""
        self._fits: int | None = None
        """The batch that memory had room for, once a larger one had none; grows back by one a batch."""
        self._too_large = 0
        """The smallest batch that memory had no room for; not tried again before `CLEAN_BATCHES` below it."""
        self._clean = 0

    def size(self) -> int:
        """How many to hand over next."""
        size = self.declared or self.handover
        return size if self._fits is None else min(size, self._fits)

    def media_size(self) -> int | None:
        """Images are heavy: only a model that declares how many it takes at once is handed many."""
        return None if self.declared else MEDIA_HANDOVER

    def learn(self, count: int, fits: int, seconds: float) -> None:
        """Notes how a batch went; `fits` is 0 where memory had room for all of it."""
        self._learn_room(count, fits)
        if self.declared is None:
            in_time = int(count * HANDOVER_SECONDS / max(seconds, 1e-6))
            self.handover = max(1, min(in_time, 2 * self.handover, LARGEST_HANDOVER))

    def is_instant(self, count: int, seconds: float, worked: float) -> bool:
        """Whether a model only loses time by a thread of its own, after a batch on which it `worked` so long.

        By the clock it may seem slow there, since our own work and other programs' keep it waiting.
        """
        if self.handover == LARGEST_HANDOVER:
            return True
        is_quick = worked * LARGEST_HANDOVER <= count * HANDOVER_SECONDS
        return (
            is_quick
            and count >= ENOUGH_TIMED
            and worked >= (1 - MOST_WAITING) * seconds
        )

    def _learn_room(self, count: int, fits: int) -> None:
        if fits:
            self._fits, self._too_large, self._clean = (
                fits,
                min(count, self._too_large or count),
                0,
            )
            return
        if self._fits is None:
            return
        self._clean += 1
        if self._fits + 1 < self._too_large:
            self._fits += 1
        elif self._clean >= CLEAN_BATCHES:
            self._too_large += 1
            self._clean = 0


def as_number(batch_size: int | str | None) -> int | None:
    """What was asked for, where it is a number; `auto` leaves it to the model."""
    return batch_size if isinstance(batch_size, int) else None


def fit_batch(model: Model, window: int | None = None) -> str:
    """Has a model that is loaded take as much at once as memory has room for; what was chosen, in words.

    `window` is how many requests may be open at an endpoint.
    """
    if isinstance(model, SizedByMemory):
        return model.fit_memory()
    if inspect.iscoroutinefunction(model.generate):
        open_at_once = window or getattr(model, "concurrency", None) or DEFAULT_WINDOW
        return f"{open_at_once} requests open at once, as an endpoint has no batches (--concurrency N)"
    if declared := getattr(model, "batch_size", None):
        return f"{declared} at once, as the model declares"
    return "as many as the model answers in about 20 ms"
