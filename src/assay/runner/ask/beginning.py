"""The start of a run with a server: detect a server that never gives a proper answer.

A wrong address, a proxy's login page or a broken server shows within seconds, and minutes of retries do not help. A
server that is slow, busy or still loading is given time.
"""

from dataclasses import dataclass, field

from ...core import ErrorInfo

WRONG = frozenset({"bad_response", "broken_reply", "http", "rate_limit"})
"""Replies without an answer that do not change with time. 503, and 429 with Retry-After, are worth waiting for. 429
without it, from the first request on, is as often a used-up quota as a busy server.
"""
SHORTEST_WAIT = 1.0
MOMENT = 1e-6
"""Events that are due within this many seconds are handled now."""
SILENT_TRIES = 5
"""Tries of a request that times out, if the server has never sent anything. Each try has fewer requests in flight."""


@dataclass(slots=True)
class Beginning:
    """The replies of a server before its first proper answer."""

    seconds: float
    """How long wrong replies are accepted before the server is given up."""
    is_over: bool = False
    """True if a proper answer has arrived."""
    is_silent: bool = True
    """True if nothing has arrived at all."""
    since: float | None = None
    """The time of the first wrong reply; None if there was none, or if the server was busy since then."""
    slowest: float = 0.0
    """Seconds that the slowest wrong reply took."""
    _sent: dict[object, float] = field(default_factory=dict)
    """The time at which each request in flight was sent."""

    def sent(self, whose: object, now: float) -> None:
        """Record that a request is in flight."""
        if not self.is_over:
            self._sent[whose] = now

    def left(self, whose: object) -> None:
        """Remove a request from those in flight."""
        self._sent.pop(whose, None)

    def is_hopeless(
        self,
        error: ErrorInfo | None,
        started: float,
        now: float,
        asked_wait: float,
    ) -> bool:
        """Record a reply or an answer (`error` is None). Return True if the server should be given up."""
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
        """Return the seconds until a server with only wrong replies is given up, which is when a last try is due."""
        if self.is_over or self.since is None or error.kind not in WRONG or asked_wait:
            return float("inf")
        end = self.since + self.seconds
        return max(0.0, end - now)

    def _is_awaited(self, now: float) -> bool:
        """Return True if a request is in flight longer than wrong replies took, so it may still be answered."""
        longest = max(self.slowest, SHORTEST_WAIT)
        return any(now - sent > longest for sent in self._sent.values())
