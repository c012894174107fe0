"""The meter: how far a model is inside the batches it was handed.

A model adds to it where it works, whoever watches the run reads it a few times a second; nobody waits for anybody. It
costs a batch or a pass through the model a few additions, and a sample nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Counts of one task with one model, since it began to be asked."""

    begun: int = 0
    """Requests handed to the model."""
    ended: float = 0.0
    """Requests it has worked off, those in the middle by their part; 0 where the model does not say."""
    tokens: int = 0
    """Tokens it has computed, read and written; 0 where the model does not say."""
    _batch: int = 0
    """Requests of the batch that is worked on."""

    @contextmanager
    def batch(self, size: int) -> Iterator[None]:
        """Works off a batch: all of it counts as ended after it, nothing of it where it failed."""
        before, whole = self.ended, 0
        self._batch = size
        try:
            yield
            whole = size
        finally:
            self.ended = before + whole

    def advance(self, share: float) -> None:
        """Notes that so much of the batch is done, from 0 to 1."""
        self.ended += share * self._batch
