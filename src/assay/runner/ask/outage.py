"""Detect that a server is gone, probe it with one request at a time, and hold the others back."""

import asyncio
import math
from dataclasses import dataclass, field

from ...core import ErrorInfo
from .beginning import MOMENT

GONE = frozenset({"connection", "broken_reply", "http", "unavailable", "tls"})
"""Retryable failures that may mean that the server is gone."""
ABOUT_THE_SERVER = frozenset({"connection", "broken_reply", "tls"})
"""Failures that mean it whatever the request was. The others may be caused by one request."""
MOST_LOST = 8
"""Failures in a row that mean an outage; fewer if fewer requests are in flight at once."""
LONGEST_PAUSE = 15.0
"""Seconds between two probes."""
LONGEST_OUTAGE = 600.0
"""Seconds after which requests no longer wait for the server."""
POLITENESS = 0.5
"""Seconds for which a request that probed in vain lets others probe first."""


def asked_wait(error: ErrorInfo) -> float:
    """Return the seconds that the server asked to wait; 0 if it gave none, or an impossible value."""
    seconds = error.retry_after
    if seconds is None or not math.isfinite(seconds):
        return 0.0
    return max(seconds, 0.0)


@dataclass(slots=True)
class Outage:
    """The state of one server, derived from its failures.

    During an outage all requests wait except one, which probes the server now and then. The wait does not count as
    a try: otherwise a restart of some minutes would fail all requests in flight.
    """

    window: int
    """How many requests may be in flight."""
    lost: int = 0
    """Failures since the last answer."""
    answers: int = 0
    """Answers so far."""
    began: float = 0.0
    """The time of the first of these failures."""
    look_at: float = 0.0
    """When the next probe is due."""
    not_before: float = 0.0
    """The time at which the server asked to be tried again."""
    loser: object = None
    """The request that failed last."""
    is_certain: bool = False
    """True if several requests failed, or one in a way that does not depend on the request."""
    has_ended: bool = False
    """True if requests no longer have to wait."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        """Release all requests that wait."""
        self.has_ended = True
        self._over.set()

    @property
    def is_on(self) -> bool:
        """True if the server is assumed to be gone."""
        return self.is_certain and self.lost >= max(3, min(MOST_LOST, self.window))

    def is_hopeless(self, now: float) -> bool:
        """Return True if the server has been gone for too long."""
        return self.is_on and now - self.began >= LONGEST_OUTAGE

    def note(
        self,
        error: ErrorInfo | None,
        now: float,
        whose: object = None,
        longest_wait: float = math.inf,
    ) -> None:
        """Record an answer (`error` is None) or a failure of the request `whose`; a timeout is neither."""
        if error is not None and error.kind == "timeout":
            return
        if error is None or error.kind not in GONE or not error.retryable:
            self._record_sign_of_life()
            return
        if not self.lost:
            self._begin(now, whose)
        if error.kind in ABOUT_THE_SERVER or whose is not self.loser:
            self.is_certain = True
        self.lost += 1
        self.loser = whose
        self._schedule_probe(min(asked_wait(error), longest_wait), now)

    def _record_sign_of_life(self) -> None:
        self.answers += 1
        if self.lost:
            self.lost = 0
            self._over.set()

    def _begin(self, now: float, whose: object) -> None:
        self.began = now
        self.not_before = now
        self.is_certain = False
        self.loser = whose
        self._over.clear()

    def _schedule_probe(self, server_wait: float, now: float) -> None:
        """Set the time of the next probe: after half the duration of the outage, up to four times a minute."""
        pause = max(1.0, min(LONGEST_PAUSE, (now - self.began) / 2))
        self.not_before = max(self.not_before, now + server_wait)
        self.look_at = max(now + pause, self.not_before)

    async def wait(self, whose: object = None) -> bool:
        """Wait while the server is gone. Return True if the request should probe it, False once it is back."""
        clock = asyncio.get_running_loop().time
        while self.is_on and not self.has_ended and not self.is_hopeless(clock()):
            due = self.look_at
            if whose is self.loser:
                due += POLITENESS
            seconds = due - clock()
            if seconds <= MOMENT:
                # The others wait for the outcome of this probe.
                self.look_at = clock() + LONGEST_PAUSE
                return True
            try:
                await asyncio.wait_for(self._over.wait(), seconds)
            except TimeoutError:
                continue
        return False
