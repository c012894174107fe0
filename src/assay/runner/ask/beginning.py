"""The start of a run with a server: detect one that never gives a proper answer.

A wrong address, a proxy's login page or a broken server shows within seconds, and minutes of retries do not help. A
server that is slow, busy or still loading is waited for.
"""

from dataclasses import dataclass, field

from ...core import ErrorInfo

WRONG = frozenset({"bad_response", "broken_reply", "http", "rate_limit"})
"""Replies without an answer that waiting does not change. 503 and 429 with Retry-After are waited for; 429 without it,
from the first request on, is as often a spent quota as a busy server."""
SHORTEST_WAIT = 1.0
MOMENT = 1e-6
"""Events that are due within this many seconds are due now."""
SILENT_TRIES = 5
"""Tries of a request that times out, if the server has never sent anything; each try has fewer requests in flight."""


@dataclass(slots=True)
class Beginning:
    """What a server sent until its first proper answer."""

    seconds: float
    """How long wrong replies are accepted before the server is given up."""
    is_over: bool = False
    """Whether a proper answer has come."""
    is_silent: bool = True
    """Whether nothing has come at all."""
    since: float | None = None
    """When the first wrong reply came; None if there was none, or the server was busy since."""
    slowest: float = 0.0
    """Seconds that the slowest wrong reply took."""
    _sent: dict[object, float] = field(default_factory=dict)
    """By request in flight: when it was sent."""

    def sent(self, whose: object, now: float) -> None:
        """Record that a request is in flight."""
        if not self.is_over:
            self._sent[whose] = now

    def left(self, whose: object) -> None:
        """Remove a request from those in flight."""
        self._sent.pop(whose, None)

    def is_hopeless(
        self, error: ErrorInfo | None, started: float, now: float, asked_wait: float
    ) -> bool:
        """Record a reply, or an answer (`error` is None); return True if the server is to be given up."""
        if self.is_over:
            return False
        if error is None:
            self.is_over, self.is_silent = True, False
            self._sent.clear()
            return False
        if error.kind == "timeout":
            return False
        self.is_silent = False
        if error.kind not in WRONG or asked_wait:
            self.since = None  # it is there, and busy
            return False
        self.since = now if self.since is None else self.since
        duration = now - started
        self.slowest = max(self.slowest, duration)
        silence = now - self.since
        limit = self.seconds - MOMENT
        is_over_time = silence >= limit
        return is_over_time and not self._is_awaited(now)

    def left_of(self, error: ErrorInfo, now: float, asked_wait: float) -> float:
        """Return the seconds until a server with only wrong replies is given up: a last try is due then."""
        if self.is_over or self.since is None or error.kind not in WRONG or asked_wait:
            return float("inf")
        end = self.since + self.seconds
        return max(0.0, end - now)

    def _is_awaited(self, now: float) -> bool:
        """Return True if a request has waited longer than wrong replies took: it may still be answered."""
        longest = max(self.slowest, SHORTEST_WAIT)
        return any(now - sent > longest for sent in self._sent.values())
