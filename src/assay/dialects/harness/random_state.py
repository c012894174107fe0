"""Keep the global random generators that a library's tasks use separate from those of the rest of the process."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RANDOM_SEED = 0
"""Seed of Python's `random` while tasks are loaded, as in lm-eval and lmms-eval."""
OTHER_SEED = 1234
"""Seed of numpy while tasks are loaded, and of the choice of few-shot examples, as in lm-eval and lmms-eval."""


class RandomState:
    """State of Python's and numpy's global random generators, kept for a library's code.

    Some tasks shuffle options or draw examples with the global generators. The first
    `active` block starts from the library's seeds, and each later block continues where
    the previous one ended, so that every run draws the same.
    """

    def __init__(self) -> None:
        import numpy

        self._python = random.Random(RANDOM_SEED).getstate()
        self._numpy = numpy.random.RandomState(OTHER_SEED).get_state()

    @classmethod
    def current(cls) -> "RandomState":
        """Return the current state of the global generators."""
        import numpy

        state = cls()
        state._python, state._numpy = random.getstate(), numpy.random.get_state()
        return state

    def copy(self) -> "RandomState":
        """Return a copy of this state."""
        state = RandomState()
        state.restore(self)
        return state

    def restore(self, other: "RandomState") -> None:
        """Set this state to that of `other`."""
        self._python, self._numpy = other._python, other._numpy

    @staticmethod
    def current_position() -> tuple[int, int]:
        """Return the positions of the `random` and numpy generators. They change whenever a random number is drawn."""
        import numpy

        # The third entry of numpy's state, which numpy's stubs do not declare as a tuple.
        numpy_state: Any = numpy.random.get_state()
        return int(random.getstate()[1][-1]), int(numpy_state[2])

    @contextmanager
    def active(self) -> Iterator[None]:
        """Set the global generators to this state during the block, and restore their former state afterwards."""
        import numpy

        outer_python, outer_numpy = random.getstate(), numpy.random.get_state()
        random.setstate(self._python)
        numpy.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), numpy.random.get_state()
            random.setstate(outer_python)
            numpy.random.set_state(outer_numpy)
