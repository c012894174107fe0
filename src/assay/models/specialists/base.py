"""What specialists share: one question at a time, loaded late, and a fault that stays with its sample.

Settings of sampling, such as a temperature, mean nothing to most of them and are passed over; asked for several
candidates, one that does not draw gives its one answer as often.
"""

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from ...core import Abilities, DataError, Media, ModelError, Output, Request, UsageError
from ..answers import failure

M = TypeVar("M", bound=Media)
Ranges = Mapping[str, tuple[float, float]]
SPEAKS, DRAWS = (Abilities(produces=frozenset({kind})) for kind in ("audio", "image"))
READS = Abilities(accepts=frozenset({"text", "image"}), images_per_prompt=1)
"""What those take and make that say, draw or read a text."""


@dataclass
class Specialist(ABC):
    """A model whose engine is started by the first question."""

    batch_size: ClassVar[int] = 1
    label: ClassVar[str]
    """What its faults are blamed on."""
    draws: ClassVar[bool] = False
    """Whether two candidates of one question differ."""
    ranges: ClassVar[Ranges] = {}
    """The least and the most that options can be."""
    _engine: Any = field(default=None, init=False, repr=False, compare=False)
    _lock: Any = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for name, (least, most) in self.ranges.items():
            value = getattr(self, name)
            if not least <= value <= most:
                fix = (
                    f"at least {least:g}"
                    if most == math.inf
                    else f"{least:g} to {most:g}"
                )
                raise UsageError(
                    f"{name} is {value}", where=f"model {self.label!r}", fix=fix
                )

    def load(self) -> None:
        """Starts the engine, if nobody did before."""
        with self._lock:
            if self._engine is None:
                self._engine = self._start()

    def close(self) -> None:
        """Lets the engine go."""
        with self._lock:
            self._engine = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """One answer after another."""
        self.load()
        return [self._timed(request) for request in requests]

    def _timed(self, request: Request) -> Output:
        started = time.perf_counter()
        try:
            with self._lock:
                first = self._answer(request, 0)
                rest = range(1, request.options.n)
                more = [
                    self._answer(request, index) if self.draws else first
                    for index in rest
                ]
        except Exception as error:  # noqa: BLE001 - becomes the failure of this sample alone
            return failure(error, self.label)
        candidates = tuple(
            candidate for output in (first, *more) for candidate in output.candidates
        )
        return replace(
            first, candidates=candidates, seconds=time.perf_counter() - started
        )

    @abstractmethod
    def _start(self) -> Any:
        """The engine; anything but `None`."""

    @abstractmethod
    def _answer(self, request: Request, index: int) -> Output:
        """One candidate of one question, the `index`-th."""


def only_medium(request: Request, kind: type[M]) -> M:
    """The one medium of a kind in the prompt."""
    found = [medium for medium in request.prompt.media if isinstance(medium, kind)]
    if not found:
        raise DataError(
            f"the sample has no {kind.kind}",
            fix="name the column that holds it, or leave the row out",
        )
    if len(found) > 1:
        raise ModelError(f"takes one {kind.kind} at a time, got {len(found)}")
    return found[0]


def asked_text(request: Request) -> str:
    """The text of the last turn that says something."""
    texts = (message.text.strip() for message in reversed(request.messages))
    text = next((text for text in texts if text), "")
    if not text:
        raise ModelError("the prompt has no text")
    return text


def passed_over(request: Request) -> dict[str, Any]:
    """What the record should say of a prompt whose words nobody read."""
    return (
        {"ignored": "text"}
        if any(message.text.strip() for message in request.messages)
        else {}
    )
