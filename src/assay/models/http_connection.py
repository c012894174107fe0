"""HTTP/1.1 over asyncio: one connection, one question at a time, kept open for the next.

Only what endpoints need: a POST with a body of known length, and its answer. Made by hand because it costs half of what
the libraries do (`decisions/`).
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from .http_answer import Answer, BrokenOff, Reply, TooLarge, Unreadable
from .http_memory import FREE_BYTES, MEMORY, Share
from .http_unpacking import unpack

NO_ANSWER = "the server closed the connection"
LATE_IDS = 8
"""Ids remembered by a connection: a late duplicate follows soon, and some servers draw ids from few."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, in seconds, and how much to read."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 60.0
    """Between two pieces of the answer."""
    total: float = 600.0
    """Ends an answer that trickles in just fast enough to never be idle."""
    start: float = 5.0
    """How long a server that was never there is waited for: it may be starting."""
    response_bytes: int = 32 * 1024 * 1024
    """After decompression."""


class Connection(asyncio.Protocol):
    """One connection to a server.

    Time limits cost nothing while they hold: there is one timer, which looks at the deadline when it rings and is set
    anew, instead of one for each wait.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._answer: Answer | None = None
        self._unasked = b""
        """What a server said that nobody had asked."""
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = self._last = 0.0
        self._waited_for = ""
        self._share = Share(self._read_on, self._loop)
        self._paused_at: float | None = None
        """When reading stopped because other answers hold the memory there is."""
        self.questions = 0
        """Questions that were put over it."""
        self.ids: deque[str] = deque(maxlen=LATE_IDS)
        """Ids of the latest answers that came over it."""

    @property
    def is_open(self) -> bool:
        """Whether another question may be asked over it."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, data: bytes) -> Reply:
        """Sends one question and waits for the whole answer; whatever goes wrong, the connection is closed."""
        if self._transport is None or self._transport.is_closing():
            what = f"the connection was closed after it said {self._unasked[:60].decode('latin-1')!r} unasked"
            raise BrokenOff(what if self._unasked else NO_ANSWER)
        self._answer = Answer(self._limits.response_bytes)
        now = self._loop.time()
        self._last = now + self._limits.total
        self._wait_until(
            now + self._limits.first_byte,
            f"no first byte within {self._limits.first_byte:g} s",
        )
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiter = waiter
        self.questions += 1
        self._transport.write(data)
        try:
            reply = await waiter
            if "content-encoding" in reply.headers:
                packed, reply.body = reply.body, b""
                reply.body = await unpack(
                    packed,
                    reply.headers["content-encoding"],
                    self._limits.response_bytes,
                )
            return reply
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None
            if self._share.held or self._share.wanted:
                MEMORY.give_back(self._share)

    def close(self) -> None:
        """Closes at once; what was not sent is dropped."""
        self._stop_timer()
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """A piece of the answer."""
        if self._waiter is None or self._answer is None:
            self._unasked = data
            self.close()  # bytes nobody asked for: whatever they are, they must not be taken for the next answer
            return
        try:
            reply = self._answer.take_in(data)
        except (BrokenOff, TooLarge, Unreadable) as error:
            self._fail(error)
            return
        if reply is not None and self._answer.is_followed and self.questions > 1:
            # One of the two answers the question before this one, and nobody can say which.
            self._fail(BrokenOff("more than one answer came at once"))
        elif reply is not None:
            self._finish(reply, stays=self._answer.may_be_followed)
        else:
            self._wait_for_more()
            if self._answer.size > self._share.held + FREE_BYTES:
                self._ask_for_room(self._answer)

    def _wait_for_more(self) -> None:
        self._wait_until(
            self._loop.time() + self._limits.idle,
            f"the answer stalled within {self._limits.idle:g} s",
        )

    def _ask_for_room(self, answer: Answer) -> None:
        """Holds more memory, all that the answer will need where its head says so, or reads no further for now."""
        count = max(answer.expected - self._share.held, answer.size, FREE_BYTES)
        if not MEMORY.take(self._share, count) and self._transport is not None:
            self._transport.pause_reading()
            self._paused_at = self._loop.time()

    def _read_on(self) -> None:
        """There is room again: what it took to wait is none of the server's time."""
        if (
            self._paused_at is None
            or self._transport is None
            or self._transport.is_closing()
        ):
            return
        self._last += self._loop.time() - self._paused_at
        self._paused_at = None
        self._wait_for_more()
        self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """The connection ended: that is the end of an answer without a length, and else its failure."""
        self._stop_timer()
        if self._waiter is None or self._answer is None:
            return
        reply = self._answer.ended() if error is None else None
        if reply is not None:
            self._finish(reply, stays=False)
            return
        began = "the answer broke off" if self._answer.has_begun else NO_ANSWER
        self._fail(
            BrokenOff(f"{began}: {error}" if error and began != NO_ANSWER else began)
        )

    def _finish(self, reply: Reply, *, stays: bool) -> None:
        waiter, self._waiter = self._waiter, None
        self._answer = None
        if not stays:
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(reply)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.close()

    def _wait_until(self, deadline: float, what: str) -> None:
        if deadline > self._last:
            deadline, what = (
                self._last,
                f"the answer was not complete within {self._limits.total:g} s",
            )
        self._deadline, self._waited_for = deadline, what
        if self._timer is None or self._timer.when() > deadline:
            self._stop_timer()
            self._timer = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiter is None or self._paused_at is not None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(TimeoutError(self._waited_for))
        else:
            self._timer = self._loop.call_at(self._deadline, self._ring)
