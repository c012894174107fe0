"""The beginning of a run with a server: whether it ever gave a proper answer, and for how long only wrong replies came.

A wrong address, a proxy's login page or a broken server shows within seconds, and trying for minutes does not mend it.
A server that is slow, busy or still loading is another matter: it is waited for.
"""

from dataclasses import dataclass, field

from ...core import ErrorInfo

WRONG = frozenset({"bad_response", "broken_reply", "http", "rate_limit"})
"""Replies that no answer can be read from. Not 503, and not 429 with Retry-After: those are to be waited for. Only 429
without it, from the first request on, is as often a spent quota as a busy server."""
SHORTEST_WAIT = 1.0
MOMENT = 1e-6
"""Seconds that are none: what is so near is due."""
SILENT_TRIES = 5
"""Tries of a request that is not answered in time, where the server never said anything: each is with fewer at once."""


@dataclass(slots=True)
class Beginning:
    """What came from a server until its first proper answer."""

    seconds: float
    """How long wrong replies are taken before it is given up."""
    is_over: bool = False
    """Whether a proper answer came."""
    is_silent: bool = True
    """Whether nothing came at all."""
    since: float | None = None
    """When the first of the wrong replies came."""
    slowest: float = 0.0
    """Seconds that the slowest of them took."""
    _sent: dict[object, float] = field(default_factory=dict)
    """By request on its way: when it was sent."""

    def sent(self, whose: object, now: float) -> None:
        """A request goes out."""
        if not self.is_over:
            self._sent[whose] = now

    def left(self, whose: object) -> None:
        """A request is no longer on its way."""
        self._sent.pop(whose, None)

    def is_hopeless(
        self, error: ErrorInfo | None, started: float, now: float, asked_wait: float
    ) -> bool:
        """Whether the server is given up after this reply."""
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
        self.slowest = max(self.slowest, now - started)
        return now - self.since >= self.seconds - MOMENT and not self._is_awaited(now)

    def left_of(self, error: ErrorInfo, now: float, asked_wait: float) -> float:
        """Seconds until a server that gives only wrong replies is given up: a look at it is due then."""
        if self.is_over or self.since is None or error.kind not in WRONG or asked_wait:
            return float("inf")
        return max(0.0, self.since + self.seconds - now)

    def _is_awaited(self, now: float) -> bool:
        """Whether a request waits longer than wrong replies took: it may be answered."""
        longest = max(self.slowest, SHORTEST_WAIT)
        return any(now - sent > longest for sent in self._sent.values())
