"""Retrying: the only layer that does. What is worth another try, after how long, and how many at once.

Infrastructure errors that may pass are tried again with full-jitter exponential delays; a sample that produced an
output is never asked again. Rate limits and timeouts shrink the number of requests in flight, clean rounds let it grow.
While a server is gone, one request at a time looks for it; one that fails while others are answered spends its tries.
"""

import asyncio
import contextlib
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ...core import ErrorInfo, Output
from .beginning import GIVEN_UP, MOMENT, SILENT_TRIES, Beginning

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Rate limits that come so close together are one episode."""
CAUTIOUS_ROUNDS = 10
"""Clean rounds before the number that was too many is tried again."""
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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long."""

    tries: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    total_seconds: float = 1800.0
    longest_wait: float = 600.0
    """The most that a server's Retry-After is obeyed."""
    wrong_seconds: float = 30.0
    """How long a server that gives only wrong replies, from the first on, is asked again."""

    def allows(self, error: ErrorInfo, attempts: int, seconds: float) -> bool:
        """Whether a request that failed so often, over so many seconds, is worth another try."""
        return error.retryable and attempts < self.tries and seconds < self.total_seconds

    def delay(self, error: ErrorInfo, attempt: int, rng: random.Random) -> float:
        """Seconds to wait before attempt number `attempt + 1`; never less than the server asked for."""
        jitter = rng.uniform(0, min(self.cap_seconds, self.base_seconds * 2**attempt))
        asked = _asked_wait(error)
        if not asked:
            return jitter
        # Those who were told the same second must not all come back in it.
        return min(asked, self.longest_wait) + min(jitter, self.base_seconds)


def _asked_wait(error: ErrorInfo) -> float:
    """Seconds the server asked to wait; 0 where it did not, or said what makes no sense."""
    asked = error.retry_after
    return asked if asked is not None and math.isfinite(asked) and asked > 0 else 0.0


@dataclass(slots=True)
class Limiter:
    """How many requests may be in flight: fewer after a rate limit, more after a clean round.

    The number at which the server refused is remembered and approached with care, so that most of the time is spent
    just below it; once it was passed without a refusal, it is forgotten.
    """

    ceiling: int
    limit: float = 0.0
    active: int = 0
    successes: int = 0
    shrunk_at: float = float("-inf")
    refused_at: int = 0
    """How many were allowed when the server last refused; 0 when that is long ago."""
    held: float = 0.0
    """How many were allowed before a key was refused; 0 where none was."""
    held_at: float = 0.0
    slowed_at: float = float("-inf")
    """When the first timeout of the latest round came."""
    floor: float = 1.0
    """How far the timeouts of one round can bring it down."""
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Waits for a place; who came first is called first."""
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
                self.release()  # the place this one was called for is another's
            raise

    def release(self) -> None:
        """Gives the place back."""
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        """A clean answer: after a whole round of them, more may be in flight."""
        self.successes += 1
        if self.limit >= self.ceiling or self.held:
            return
        following = min(float(self.ceiling), self.limit + max(1.0, self.limit * GROW))
        just_below = float(self.refused_at - 1)
        if self.limit < just_below:
            following = min(following, just_below)
        is_probing = following > just_below > 0
        if self.successes >= self.limit * (CAUTIOUS_ROUNDS if is_probing else 1):
            self.successes = 0
            self.limit = following
            if is_probing:
                self.refused_at = 0
            self._wake()

    def hold(self, now: float) -> None:
        """A key was refused: one at a time until it is known whether it will be again."""
        if not self.held:
            self.held, self.held_at, self.limit = self.limit, now, 1.0

    def let_go(self, started: float) -> None:
        """The key was taken after all, if the request was sent since it was refused."""
        if started > self.held_at:
            self.limit, self.held = self.held, 0.0
            self._wake()

    def throttled(self, now: float, seconds: float = EPISODE_SECONDS) -> None:
        """The server said it is too much: one step down for each episode, not for each answer of it."""
        self.successes = 0
        if now - self.shrunk_at >= seconds and not self.held:
            self.shrunk_at = now
            self.refused_at = int(self.limit)
            self.limit = max(1.0, self.limit * SHRINK)

    def slowed(self, started: float, now: float) -> None:
        """No answer came in time: as many fewer as were not answered, but not below half of them at once.

        Those that were sent before the first of them timed out are of the same round, and say nothing new below half.
        """
        self.successes = 0
        if self.held:
            return
        if started >= self.slowed_at:
            self.slowed_at, self.floor = now, max(1.0, self.limit / 2)
        self.limit = max(min(self.floor, self.limit), self.limit - 1)

    def _wake(self) -> None:
        """Gives the places there are to those who wait for one."""
        while self._waiting and self.active < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self.active += 1


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

    def note(self, error: ErrorInfo | None, now: float, whose: object = None, longest_wait: float = math.inf) -> None:
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
            self.began, self.not_before, self.is_certain, self.loser = now, now, False, whose
            self._over.clear()
        self.is_certain = self.is_certain or error.kind in ABOUT_THE_SERVER or whose is not self.loser
        self.lost, self.loser = self.lost + 1, whose
        # Half of what it has lasted so far: looked for often at first, then four times a minute.
        pause = max(1.0, min(LONGEST_PAUSE, (now - self.began) / 2))
        self.not_before = max(self.not_before, now + min(_asked_wait(error), longest_wait))
        self.look_at = max(now + pause, self.not_before)

    async def pass_by(self, whose: object = None) -> bool:
        """Waits while the server is gone; true for whoever is to look for it, false for all once it is back."""
        clock = asyncio.get_running_loop().time
        while self.is_on and not self.has_ended and not self.is_hopeless(clock()):
            seconds = self.look_at + (POLITENESS if whose is self.loser else 0.0) - clock()
            if seconds <= MOMENT:
                self.look_at = clock() + LONGEST_PAUSE  # this one looks, the others wait for what it finds
                return True
            try:
                await asyncio.wait_for(self._over.wait(), seconds)
            except TimeoutError:
                continue
        return False


class Stopped(Exception):
    """The run was stopped while a request waited for another try: it is not asked again, and not answered."""


class Patience:
    """How one server is asked, by however many: all of them wait for their turn here, and here alone is tried again."""

    def __init__(
        self,
        window: int,
        policy: RetryPolicy | None = None,
        seed: int = 0,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self.limiter = Limiter(window)
        self.outage = Outage(window)
        self._rng = random.Random(seed)
        self._say = say
        self._told: set[str] = set()
        """Kinds of failures that were spoken of."""
        self.beginning = Beginning(self.policy.wrong_seconds)
        self._given_up: Output | None = None
        """What all requests are answered with once the server is given up."""
        self._is_stopped = False
        self._over = asyncio.Event()
        """Set when nobody is to wait for another try any more."""

    def stop(self) -> None:
        """Requests that wait for their turn or another try leave; those on their way come back."""
        self._is_stopped = True
        self._end()

    def _end(self) -> None:
        self._over.set()
        self.outage.end()

    async def ask(self, once: Callable[[], Awaitable[Output]]) -> Output:
        """What `once` answers, called again where that may help."""
        clock = asyncio.get_running_loop().time
        spent, attempts = 0.0, 0
        outage, limiter = self.outage, self.limiter
        whose = object()
        answers, is_alone = -1, False  # how many others had when this one failed; whether it fails where others do not
        while True:
            if self._over.is_set():
                return self._last_word()
            looks = await outage.pass_by(whose) if outage.lost else False
            await limiter.acquire()
            is_gone = outage.is_on and not looks and not outage.is_hopeless(clock())
            if is_gone or self._over.is_set():
                limiter.release()  # gone, or given up, while this one waited for its place
                continue
            started = clock()  # what a request waits for its turn is none of its own time
            self.beginning.sent(whose, started)
            try:
                output = await once()
            finally:
                limiter.release()
                self.beginning.left(whose)
            error = output.error
            is_alone = is_alone or (error is not None and 0 <= answers < outage.answers)
            if not is_alone or error is None:
                outage.note(error, clock(), whose, self.policy.longest_wait)
            asked_wait = 0.0 if error is None else _asked_wait(error)
            is_given_up = self.beginning.is_hopeless(error, started, clock(), asked_wait)
            if error is None:
                limiter.succeeded()
                if limiter.held:
                    limiter.let_go(started)
                return output
            if is_given_up:
                self._give_up(error, clock())
                continue
            answers = outage.answers
            if error.kind == "rate_limit":
                limiter.throttled(clock())
            elif error.kind == "timeout":
                limiter.slowed(started, clock())
            elif error.kind == "auth":
                limiter.hold(clock())
            spent += clock() - started
            attempts += not outage.is_on
            if outage.is_hopeless(clock()) or not self.policy.allows(error, attempts, spent):
                return output
            if error.kind == "timeout" and self.beginning.is_silent and attempts >= SILENT_TRIES:
                return output
            self._tell(error)
            remaining = self.beginning.left_of(error, clock(), asked_wait)
            outage.look_at = min(outage.look_at, clock() + max(remaining, 1.0))
            if not outage.is_on:
                delay = min(self.policy.delay(error, attempts - 1, self._rng), remaining)
                spent += delay
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), delay)

    def _last_word(self) -> Output:
        if self._given_up is not None and not self._is_stopped:
            return self._given_up
        raise Stopped

    def _give_up(self, error: ErrorInfo, now: float) -> None:
        """No request is tried again: the server never gave a proper answer."""
        seconds = now - (self.beginning.since or now)
        said, _, fix = error.message.partition("; fix: ")
        fix = fix or "check base_url, the name of the model and the server's own log"
        message = (
            f"the server gave only wrong replies for {seconds:.0f} s, the last: {said}; fix: {fix};"
            f" --give_up_after SECONDS waits longer than {self.policy.wrong_seconds:g} s"
        )
        self._given_up = Output.failed(GIVEN_UP, message, retryable=False)
        self._end()

    def _tell(self, error: ErrorInfo) -> None:
        """Says why a run is slow, once for each reason."""
        reason = "outage" if self.outage.is_on else error.kind
        if reason in self._told:
            return
        self._told.add(reason)
        if reason == "outage":
            # How long one that never answered is waited for, its connection knows.
            gone = f"seems to be gone, waiting up to {LONGEST_OUTAGE / 60:g} min for it"
            self._say(f"the server {gone if self.outage.answers else 'has not answered yet'}: {error.message}")
        else:
            self._say(f"trying again after {error.kind}: {error.message}")
