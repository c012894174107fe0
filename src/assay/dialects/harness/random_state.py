"""The global random numbers that a library's tasks draw from, kept apart from everyone else's."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RANDOM_SEED = 0
"""Of Python's `random` while tasks are loaded, as lm-eval and lmms-eval set it."""
OTHER_SEED = 1234
"""Of numpy while tasks are loaded, and of the few-shot draws, as they set it."""


class RandomState:
    """The global random numbers of Python and numpy as a library's code would meet them.

    Some tasks shuffle options or draw examples with the global generators. Inside `active` they continue from where the
    last such block ended, from the library's seeds on, so that every run draws the same.
    """

    def __init__(self) -> None:
        import numpy

        self._python = random.Random(RANDOM_SEED).getstate()
        self._numpy = numpy.random.RandomState(OTHER_SEED).get_state()

    @classmethod
    def current(cls) -> "RandomState":
        """Return a copy of the generators as they are now."""
        import numpy

        state = cls()
        state._python, state._numpy = random.getstate(), numpy.random.get_state()
        return state

    def copy(self) -> "RandomState":
        """Return generators that continue from the same numbers."""
        state = RandomState()
        state.restore(self)
        return state

    def restore(self, other: "RandomState") -> None:
        """Continue from the numbers of another state."""
        self._python, self._numpy = other._python, other._numpy

    @staticmethod
    def current_position() -> tuple[int, int]:
        """Return how far the generators are in their block of numbers: it changes with every draw."""
        import numpy

        # The third entry of numpy's state: its stubs do not say that this state is a tuple.
        numpy_state: Any = numpy.random.get_state()
        return int(random.getstate()[1][-1]), int(numpy_state[2])

    @contextmanager
    def active(self) -> Iterator[None]:
        """Use these generators during the block, and restore the outer ones afterwards."""
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
