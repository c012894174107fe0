"""Progress of a model inside the batches it was given.

The model adds to the meter while it works, and the progress display reads it a few times a second without locking.
The cost is a few additions per batch or forward pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Counts for one task and one model since the first request."""

    begun: int = 0
    """Requests handed to the model."""
    ended: float = 0.0
    """Requests finished, with partial requests as fractions. 0 if the model does not report it."""
    tokens: int = 0
    """Tokens processed, input and output. 0 if the model does not report it."""
    _batch: int = 0
    """Size of the current batch."""

    @contextmanager
    def batch(self, size: int) -> Iterator[None]:
        """Count a batch as finished when the block succeeds, and not at all when it raises."""
        before, whole = self.ended, 0
        self._batch = size
        try:
            yield
            whole = size
        finally:
            self.ended = before + whole

    def advance(self, share: float) -> None:
        """Record that this share of the batch, from 0 to 1, is done."""
        self.ended += share * self._batch
