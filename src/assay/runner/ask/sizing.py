"""How many requests a model gets at once: as it declares, as memory allows, else as many as take 20 ms."""

import inspect

from ...core import Model, SizedByMemory

DEFAULT_WINDOW = 32
"""Requests in flight at an endpoint, if no setting says how many."""
HANDOVER_SECONDS = 0.02
LARGEST_HANDOVER = 256
MEDIA_HANDOVER = 16
CLEAN_BATCHES = 32
ENOUGH_TIMED = 32
"""Requests that must have been timed together before a model can count as instant."""
MOST_WAITING = 0.75
"""Largest share of its time that an instant model may spend waiting for the thread of the runner.

A model that asks a server waits longer.
"""


class BatchSize:
    """The size of the next batch of one model, learned from earlier batches."""

    def __init__(self, declared: int | None) -> None:
        self.declared = declared
        self.handover = 1
        """Batch size for a model that declares none: as many as take `HANDOVER_SECONDS`."""
        self._fits: int | None = None
        """The batch size that fits into memory, known once a larger one did not; grows by one after each batch."""
        self._too_large = 0
        """The smallest batch that did not fit into memory. It is tried again after `CLEAN_BATCHES` smaller ones."""
        self._clean = 0

    def size(self) -> int:
        """Return the size of the next batch."""
        size = self.declared or self.handover
        return size if self._fits is None else min(size, self._fits)

    def media_size(self) -> int | None:
        """Return the limit for batches with media, which are heavy; None if the model declares its batch size."""
        return None if self.declared else MEDIA_HANDOVER

    def learn(self, count: int, fits: int, seconds: float) -> None:
        """Learn from a batch. `fits` is 0 if all of it fit into memory."""
        self._learn_room(count, fits)
        if self.declared is None:
            in_time = int(count * HANDOVER_SECONDS / max(seconds, 1e-6))
            self.handover = max(1, min(in_time, 2 * self.handover, LARGEST_HANDOVER))

    def is_instant(self, count: int, seconds: float, worked: float) -> bool:
        """Return True if a model is so fast that a separate thread only costs time.

        `worked` is its CPU time for the batch. By the clock it may seem slow, since the runner and other programs
        keep it waiting.
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
        """Learn which batch size fits into memory."""
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
    """Return the batch size if it is a number; None for `auto`, which leaves it to the model."""
    return batch_size if isinstance(batch_size, int) else None


def fit_batch(model: Model, window: int | None = None) -> str:
    """Let a loaded model choose the batch size that fits into memory, and return the choice in words.

    `window` is the number of requests in flight at an endpoint.
    """
    if isinstance(model, SizedByMemory):
        return model.fit_memory()
    if inspect.iscoroutinefunction(model.generate):
        open_at_once = window or getattr(model, "concurrency", None) or DEFAULT_WINDOW
        return f"{open_at_once} requests open at once, as an endpoint has no batches (--concurrency N)"
    if declared := getattr(model, "batch_size", None):
        return f"{declared} at once, as the model declares"
    return "as many as the model answers in about 20 ms"
