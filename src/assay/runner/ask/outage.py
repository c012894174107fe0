"""A server that is gone: how it is noticed, who looks for it, and how long the others wait."""

import asyncio
import math
from dataclasses import dataclass, field

from ...core import ErrorInfo
from .beginning import MOMENT

GONE = frozenset({"connection", "broken_reply", "http", "unavailable", "tls"})
"""Failures that may mean that the server is gone, where they may pass at all."""
ABOUT_THE_SERVER = frozenset({"connection", "broken_reply", "tls"})
"""Those that say so whatever was asked; the others may be the fault of one request."""
MOST_LOST = 8
"""So many of them in a row, or as few as are asked at once, and it is."""
LONGEST_PAUSE = 15.0
LONGEST_OUTAGE = 600.0
"""After so many seconds nobody waits for it any more."""
POLITENESS = 0.5
"""Seconds that whoever looked in vain lets others go first."""


def asked_wait(error: ErrorInfo) -> float:
    """Seconds the server asked to wait; 0 where it did not, or said what makes no sense."""
    seconds = error.retry_after
    return (
        seconds
        if seconds is not None and math.isfinite(seconds) and seconds > 0
        else 0.0
    )


@dataclass(slots=True)
class Outage:
    """A server that is gone: everybody waits but one, who looks for it now and then.

    Requests do not spend their tries on it: a pause of minutes would otherwise fail all that were in flight.
    """

    window: int
    lost: int = 0
    """Failures since the last sign of life."""
    answers: int = 0
    """Signs of life there ever were."""
    began: float = 0.0
    look_at: float = 0.0
    """When the next one looks."""
    not_before: float = 0.0
    """When the server itself said to come back."""
    loser: object = None
    """Whose request failed last."""
    is_certain: bool = False
    """Whether several failed since, or one in a way that says nothing of what was asked."""
    has_ended: bool = False
    """Whether nobody is to wait for it any more."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        """Lets all go who wait for it."""
        self.has_ended = True
        self._over.set()

    @property
    def is_on(self) -> bool:
        """Whether the server is taken to be gone."""
        return self.is_certain and self.lost >= max(3, min(MOST_LOST, self.window))

    def is_hopeless(self, now: float) -> bool:
        """Whether it has been gone for too long."""
        return self.is_on and now - self.began >= LONGEST_OUTAGE

    def note(
        self,
        error: ErrorInfo | None,
        now: float,
        whose: object = None,
        longest_wait: float = math.inf,
    ) -> None:
        """An answer, or a failure of `whose` request; one that came too late is neither."""
        if error is not None and error.kind == "timeout":
            return
        if error is None or error.kind not in GONE or not error.retryable:
            self.answers += 1
            if self.lost:
                self.lost = 0
                self._over.set()
            return
        if not self.lost:
            self.began, self.not_before, self.is_certain, self.loser = (
                now,
                now,
                False,
                whose,
            )
            self._over.clear()
        self.is_certain = (
            self.is_certain or error.kind in ABOUT_THE_SERVER or whose is not self.loser
        )
        self.lost, self.loser = self.lost + 1, whose
        # Half of what it has lasted so far: looked for often at first, then four times a minute.
        pause = max(1.0, min(LONGEST_PAUSE, (now - self.began) / 2))
        self.not_before = max(
            self.not_before, now + min(asked_wait(error), longest_wait)
        )
        self.look_at = max(now + pause, self.not_before)

    async def pass_by(self, whose: object = None) -> bool:
        """Waits while the server is gone; true for whoever is to look for it, false for all once it is back."""
        clock = asyncio.get_running_loop().time
        while self.is_on and not self.has_ended and not self.is_hopeless(clock()):
            seconds = (
                self.look_at + (POLITENESS if whose is self.loser else 0.0) - clock()
            )
            if seconds <= MOMENT:
                self.look_at = (
                    clock() + LONGEST_PAUSE
                )  # this one looks, the others wait for what it finds
                return True
            try:
                await asyncio.wait_for(self._over.wait(), seconds)
            except TimeoutError:
                continue
        return False
