"""The health of one server: requests in flight, a start without valid answers, and outages.

At the start of a run, a server may never give a valid answer: because of a wrong
address, a proxy's login page or a broken server. This is detected within seconds, since
retries would not help. A server that is slow, busy or still loading is given time.
"""

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field

from ...core import ErrorInfo

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Several rate limits within this many seconds count as one."""
CAUTIOUS_ROUNDS = 10
"""Number of rounds without a rate limit after which the limiter again tries the limit that caused one."""


@dataclass(slots=True)
class Limiter:
    """Limits the requests in flight at one server: fewer after a rate limit, more after a round of successes.

    A round is as many answers as may be in flight. The limiter remembers the limit at
    which the server refused requests, and approaches it slowly, so that most of the
    time is spent just below it. Once the limit is exceeded without a refusal, it is
    forgotten.
    """

    ceiling: int
    limit: float = 0.0
    active: int = 0
    successes: int = 0
    shrunk_at: float = float("-inf")
    refused_at: int = 0
    """The limit in force when the server last sent a rate limit; 0 if that is long ago."""
    limit_before_refusal: float = 0.0
    """The limit before the server refused the API key; 0 unless the key is refused at the moment."""
    key_refused_at: float = 0.0
    slowed_at: float = float("-inf")
    """The time of the first timeout in the latest round of requests."""
    floor: float = 1.0
    """Lower bound of the limit during the current round of timeouts: half of the limit before the round."""
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Wait for a slot. Waiters are served in order of arrival."""
        if self.active < int(self.limit) and not self._waiting:
            self.active += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif not waiter.cancelled():
                self.release()  # pass this waiter's slot to another one
            raise

    def release(self) -> None:
        """Release a slot."""
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        """Count an answer without problems. After a whole round of them, raise the limit."""
        self.successes += 1
        if self.limit >= self.ceiling or self.limit_before_refusal:
            return
        following = min(float(self.ceiling), self.limit + max(1.0, self.limit * GROW))
        just_below = float(self.refused_at - 1)
        if self.limit < just_below:
            following = min(following, just_below)
        is_probing = following > just_below > 0
        rounds = CAUTIOUS_ROUNDS if is_probing else 1
        if self.successes >= self.limit * rounds:
            self.successes = 0
            self.limit = following
            if is_probing:
                self.refused_at = 0
            self._wake()

    def hold(self, now: float) -> None:
        """Allow one request at a time, after the server refused the API key, until a
        reply shows whether the key works.
        """
        if not self.limit_before_refusal:
            self.limit_before_refusal = self.limit
            self.key_refused_at = now
            self.limit = 1.0

    def restore(self, started: float) -> None:
        """If an answer shows that the API key works, restore the limit from before the key was refused.

        Only an answer to a request that was sent after the refusal shows this.
        """
        if started > self.key_refused_at:
            self.limit = self.limit_before_refusal
            self.limit_before_refusal = 0.0
            self._wake()

    def throttled(self, now: float) -> None:
        """Lower the limit by one step after a rate limit. Rate limits at about the same time are treated as one."""
        self.successes = 0
        is_new_episode = now - self.shrunk_at >= EPISODE_SECONDS
        if is_new_episode and not self.limit_before_refusal:
            self.shrunk_at = now
            self.refused_at = int(self.limit)
            self.limit = max(1.0, self.limit * SHRINK)

    def slowed(self, started: float, now: float) -> None:
        """Lower the limit by one for each request that timed out, but at most by half within one round.

        Requests that were sent before the round's first timeout belong to the round.
        """
        self.successes = 0
        if self.limit_before_refusal:
            return
        if started >= self.slowed_at:
            self.slowed_at, self.floor = now, max(1.0, self.limit / 2)
        self.limit = max(min(self.floor, self.limit), self.limit - 1)

    def _wake(self) -> None:
        """Assign free slots to waiting requests."""
        while self._waiting and self.active < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self.active += 1


WRONG = frozenset({"bad_response", "broken_reply", "http", "rate_limit"})
"""Kinds of failure that waiting does not cure, if they occur at the start of a run.

Status 503, and 429 with Retry-After, are worth waiting for. A 429 without Retry-After
may mean an exhausted quota as well as a busy server.
"""
SHORTEST_WAIT = 1.0
MOMENT = 1e-6
"""Tolerance in seconds: a probe that is due within this time is sent immediately."""
SILENT_TRIES = 5
"""If the server has never sent anything, a request that times out is tried this many times."""


@dataclass(slots=True)
class Beginning:
    """Tracks a server's replies until its first valid answer."""

    seconds: float
    """How many seconds of wrong replies to tolerate before giving up on the server."""
    is_over: bool = False
    """True if the server has given a valid answer."""
    is_silent: bool = True
    """True as long as nothing has arrived from the server."""
    since: float | None = None
    """Time of the first wrong reply; None if there was none, or if the server has
    reported since then that it is busy.
    """
    slowest: float = 0.0
    """Duration of the slowest wrong reply, in seconds."""
    _sent: dict[object, float] = field(default_factory=dict)
    """When each request in flight was sent."""

    def sent(self, whose: object, now: float) -> None:
        """Record when a request was sent. `whose` identifies the request."""
        if not self.is_over:
            self._sent[whose] = now

    def left(self, whose: object) -> None:
        """Remove a request from those in flight. `whose` identifies the request."""
        self._sent.pop(whose, None)

    def record_answer(self) -> None:
        """Record a valid answer, which ends the beginning."""
        if not self.is_over:
            self.is_over = True
            self.is_silent = False
            self._sent.clear()

    def record_failure(
        self,
        error: ErrorInfo,
        started: float,
        now: float,
        requested_wait: float,
    ) -> bool:
        """Record a failed request. Return True to give up on the server."""
        if self.is_over:
            return False
        if error.kind == "timeout":
            return False
        self.is_silent = False
        if error.kind not in WRONG or requested_wait:
            self.since = None  # the server is up but busy
            return False
        self.since = now if self.since is None else self.since
        duration = now - started
        self.slowest = max(self.slowest, duration)
        silence = now - self.since
        limit = self.seconds - MOMENT
        is_over_time = silence >= limit
        return is_over_time and not self._is_awaited(now)

    def left_of(
        self,
        error: ErrorInfo,
        now: float,
        requested_wait: float,
    ) -> float:
        """Return the seconds left until the server is given up for its wrong replies.

        Return infinity if this is not about to happen.
        """
        if (
            self.is_over
            or self.since is None
            or error.kind not in WRONG
            or requested_wait
        ):
            return float("inf")
        end = self.since + self.seconds
        return max(0.0, end - now)

    def _is_awaited(self, now: float) -> bool:
        """Return True if a request in flight may still get a valid answer.

        This is assumed if it has been in flight longer than the slowest wrong reply
        took.
        """
        longest = max(self.slowest, SHORTEST_WAIT)
        return any(now - sent > longest for sent in self._sent.values())


GONE = frozenset({"connection", "broken_reply", "http", "unavailable", "tls"})
"""Kinds of retryable failures that may mean that the server is unreachable."""
ABOUT_THE_SERVER = frozenset({"connection", "broken_reply", "tls"})
"""Kinds of failures in `GONE` that are always the server's fault, whatever the request."""
MOST_LOST = 8
"""This many consecutive failures count as an outage; fewer if fewer requests may be in flight."""
LONGEST_PAUSE = 15.0
"""Maximum seconds between two probes of an unreachable server."""
LONGEST_OUTAGE = 600.0
"""After this many seconds of an outage, waiting requests fail."""
POLITENESS = 0.5
"""Extra seconds that the last failed request waits before it probes, so that another request probes first."""


def requested_wait(error: ErrorInfo) -> float:
    """Return the wait that the server requested, in seconds; 0 if it requested none, or an impossible one."""
    seconds = error.retry_after
    if seconds is None or not math.isfinite(seconds):
        return 0.0
    return max(seconds, 0.0)


@dataclass(slots=True)
class Outage:
    """Detects outages of one server from its failures.

    During an outage all requests wait, except one that probes the server from time to
    time. Waiting does not count as an attempt: otherwise a server restart of some
    minutes would make all requests in flight fail.
    """

    window: int
    """Maximum number of requests in flight."""
    lost: int = 0
    """Number of failures since the last answer."""
    answers: int = 0
    """Number of answers so far."""
    began: float = 0.0
    """The time of the first failure since the last answer."""
    look_at: float = 0.0
    """Time of the next probe."""
    not_before: float = 0.0
    """Earliest time of the next attempt, as requested by the server."""
    loser: object = None
    """The request that failed last. It waits longer than the others, so that another request makes the next probe."""
    is_certain: bool = False
    """True if the failures prove an outage: several requests failed, or one failed
    in a way that only a server can cause.
    """
    has_ended: bool = False
    """True once waiting requests may stop waiting."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        """Release all waiting requests."""
        self.has_ended = True
        self._over.set()

    @property
    def is_on(self) -> bool:
        """True if the server is assumed to be unreachable."""
        return self.is_certain and self.lost >= max(3, min(MOST_LOST, self.window))

    def is_hopeless(self, now: float) -> bool:
        """Return True if the outage has lasted too long."""
        return self.is_on and now - self.began >= LONGEST_OUTAGE

    def note(
        self,
        error: ErrorInfo | None,
        now: float,
        whose: object = None,
        longest_wait: float = math.inf,
    ) -> None:
        """Record the result of a request: an answer (`error` is None) or a failure. Timeouts are ignored."""
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
        self._schedule_probe(min(requested_wait(error), longest_wait), now)

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
        """Schedule the next probe after half of the outage's duration so far, but within 1 to 15 seconds.

        A longer wait requested by the server has priority.
        """
        half = (now - self.began) / 2
        pause = max(1.0, min(LONGEST_PAUSE, half))
        self.not_before = max(self.not_before, now + server_wait)
        self.look_at = max(now + pause, self.not_before)

    async def wait(self, whose: object = None) -> bool:
        """Wait during an outage.

        Return True to probe the server with this request, or False when the outage is
        over.
        """
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
