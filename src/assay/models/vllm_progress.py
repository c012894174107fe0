"""How far vLLM is with a batch: it tells a bar of tqdm's kind, and this one adds to a meter instead of drawing."""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ..core import Meter


class MeterBar:
    """As much of tqdm's bar as vLLM calls: a count of prompts that are done, or a loop over prompts to be added."""

    def __init__(
        self,
        share: float,
        meter: Meter,
        iterable: Iterable[Any] = (),
        *,
        total: float | None = None,
        **settings: Any,
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
        """The prompts that are added; none of them is done."""
        return iter(self._iterable)

    @property
    def format_dict(self) -> dict[str, float]:
        """The seconds so far, never none: vLLM divides by them."""
        return {"elapsed": max(time.monotonic() - self._started, 1e-6)}

    def update(self, n: float = 1) -> None:
        """So many of the prompts are done."""
        self.n += n
        self._meter.advance(self._each * n)

    def refresh(self, *args: Any, **settings: Any) -> None:
        """There is nothing to draw."""

    def close(self) -> None:
        """There is nothing to take away."""


def bar_for(generate: Callable[..., Any], meter: Meter, share: float) -> Any:
    """What `use_tqdm` of one of vLLM's calls is given: a bar where that version takes one, else `False`.

    `share` is how much of the batch the call is about.
    """
    try:
        annotation = inspect.signature(generate).parameters["use_tqdm"].annotation
    except (KeyError, TypeError, ValueError):
        return False
    return partial(MeterBar, share, meter) if "Callable" in str(annotation) else False
