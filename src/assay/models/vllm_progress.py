"""Report vLLM's progress with a batch: a replacement for its tqdm bar that adds to a meter instead of drawing."""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ..core import Meter


class MeterBar:
    """The part of tqdm's bar that vLLM uses: a count of finished prompts, or a loop over prompts to be added."""

    def __init__(
        self,
        share: float,
        meter: Meter,
        iterable: Iterable[Any] = (),
        *,
        total: float | None = None,
        **settings: object,
    ) -> None:
        self._meter, self._each, self._iterable = (
            meter,
            share / total if total else 0.0,
            iterable,
        )
        self._started = time.monotonic()
        self.n = 0.0
        self.postfix: Any = None

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the prompts that are added; adding finishes none of them."""
        return iter(self._iterable)

    @property
    def format_dict(self) -> dict[str, float]:
        """The elapsed seconds, never 0, because vLLM divides by them."""
        return {"elapsed": max(time.monotonic() - self._started, 1e-6)}

    def update(self, n: float = 1) -> None:
        """Count `n` more prompts as done."""
        self.n += n
        self._meter.advance(self._each * n)

    def refresh(self, *args: object, **settings: object) -> None:
        """Do nothing: there is nothing to draw."""

    def close(self) -> None:
        """Do nothing: there is nothing to remove."""


def bar_for(generate: Callable[..., Any], meter: Meter, share: float) -> object:
    """Return the `use_tqdm` argument for one of vLLM's calls: a bar if that version takes one, else `False`.

    `share` is the part of the batch that the call covers.
    """
    try:
        annotation = inspect.signature(generate).parameters["use_tqdm"].annotation
    except (KeyError, TypeError, ValueError):
        return False
    return partial(MeterBar, share, meter) if "Callable" in str(annotation) else False
