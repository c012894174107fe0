"""HTTP/1.1 over asyncio: one connection with one request at a time, and a memory budget for responses.

It supports only what model endpoints need, and takes half the time of the HTTP libraries (`decisions/`).

All connections of the process share one memory budget for the responses in progress, which may be large and many. A
response that gets no memory is not read until others are finished; the full TCP window makes its server wait. If all
others also wait, one response always continues, so that it ends.
"""

import asyncio
import select
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .http_answer import Answer, BrokenOff, Reply, TooLarge, Unreadable, unpack

FREE_BYTES = 64 * 1024
"""Bytes that every response may use without reserving memory."""
MOST_BYTES = 96 * 1024 * 1024
"""Bytes that all responses together may use in addition to `FREE_BYTES` each. A single response may use more."""


@dataclass(eq=False, slots=True)
class Share:
    """One response's share of the memory budget: the bytes it holds, and the bytes it waits for."""

    resume: Callable[[], None]
    """Function to call in the request's event loop once memory is available."""
    loop: asyncio.AbstractEventLoop
    granted: int = 0
    requested: int = 0
    """Number of bytes that the response waits for; 0 if it is not waiting."""


class Memory:
    """Grants memory to responses, first come first served."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._used = 0
        self._moving = 0
        """Number of responses that hold memory and do not wait for more, so that they will release it."""
        self._first: Share | None = None
        """The response that may exceed the budget because all others wait. It stays the same until it is finished."""
        self._waiting: deque[Share] = deque()
        self._lock = threading.Lock()

    def take(self, share: Share, count: int) -> bool:
        """Reserve `count` more bytes and return True, or return False and call `resume` once they are available."""
        with self._lock:
            self._moving -= share.granted > 0
            if share is self._first or (
                not self._waiting and self._used + count <= self._most
            ):
                self._grant(share, count)
                return True
            share.requested = count
            self._waiting.append(share)
            self._wake(asking=share)
            return not share.requested

    def give_back(self, share: Share) -> None:
        """Release all memory of a response, even if it still waits for more."""
        with self._lock:
            if share.requested:
                self._waiting.remove(share)
                share.requested = 0
            else:
                self._moving -= share.granted > 0
            self._used -= share.granted
            share.granted = 0
            if share is self._first:
                self._first = None
            self._wake()

    def _grant(self, share: Share, count: int) -> None:
        self._used += count
        share.granted += count
        self._moving += 1

    def _wake(self, asking: Share | None = None) -> None:
        while self._waiting:
            share = self._waiting[0]
            if self._used + share.requested > self._most:
                if self._moving or self._first is not None:
                    return
                self._first = share
            self._waiting.popleft()
            count = share.requested
            share.requested = 0
            self._grant(share, count)
            if share is not asking and not share.loop.is_closed():
                share.loop.call_soon_threadsafe(share.resume)


MEMORY = Memory()


NO_ANSWER = "the server closed the connection"
LATE_MARKS = 8
"""How many answers a connection remembers to detect duplicates.

Few are enough: duplicates follow soon, and some servers reuse ids.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds, and the size limit of a response."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 60.0
    """Maximum number of seconds between two pieces of a response."""
    total: float = 600.0
    """Maximum number of seconds for a whole response, which may arrive slowly without being idle."""
    start: float = 5.0
    """Seconds to wait for a server that has never answered, because it may be starting."""
    response_bytes: int = 32 * 1024 * 1024
    """Maximum size of a decompressed response in bytes."""


class Connection(asyncio.Protocol):
    """One connection to a server.

    One timer serves all time limits. When it fires, it ends the response if a limit is exceeded. Otherwise it is reset.
    """

    def __init__(
        self,
        limits: Limits,
        see_surplus: Callable[[bytes], None] | None = None,
    ) -> None:
        self._limits = limits
        self._see_surplus = see_surplus
        """The callback for bytes that arrive while no request is open."""
        self.loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._answer: Answer | None = None
        self._unasked = b""
        """Bytes received while no request was open."""
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = self._last = 0.0
        self._waited_for = ""
        self._share = Share(self._resume_reading, self.loop)
        self._paused_at: float | None = None
        """The time at which reading paused because other responses used up the memory budget."""
        self.questions = 0
        """Number of requests sent over this connection."""
        self.marks: deque[str] = deque(maxlen=LATE_MARKS)
        """Ids or digests of the latest answers on this connection, by which a repeated answer is recognised."""

    @property
    def is_open(self) -> bool:
        """True if another request may be sent over this connection."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, data: bytes) -> Reply:
        """Send one request and wait for the whole response; close the connection on any error.

        Bytes that arrived before the request was written are not its response: the connection is then closed.
        """
        if self._transport is not None and _has_bytes(self._transport):
            # The loop runs its pending reads after this task's first pass, so they are done after the second.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        if self._transport is None or self._transport.is_closing():
            message = f"the connection was closed after it said {self._unasked[:60].decode('latin-1')!r} unasked"
            raise BrokenOff(message if self._unasked else NO_ANSWER)
        self._answer = Answer(self._limits.response_bytes)
        now = self.loop.time()
        self._last = now + self._limits.total
        self._wait_until(
            now + self._limits.first_byte,
            f"no first byte within {self._limits.first_byte:g} s",
        )
        waiter: asyncio.Future[Reply] = self.loop.create_future()
        self._waiter = waiter
        self.questions += 1
        self._transport.write(data)
        try:
            reply = await waiter
            if "content-encoding" in reply.headers:
                packed = reply.body
                reply.body = b""
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
            if self._share.granted or self._share.requested:
                MEMORY.give_back(self._share)

    def close(self) -> None:
        """Close the connection immediately. Unsent bytes are dropped."""
        self._stop_timer()
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the open connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Process a piece of the response."""
        if self._waiter is None or self._answer is None:
            if self.is_open and self._see_surplus is not None:
                self._see_surplus(data)
            self._unasked = data
            self.close()  # unrequested bytes must not be taken for the next response
            return
        try:
            reply = self._answer.take_in(data)
        except (BrokenOff, TooLarge, Unreadable) as error:
            self._fail(error)
            return
        if reply is not None and reply.status < 300 and self._is_still_asking:
            self._fail(BrokenOff("the answer came before the question was sent"))
        elif reply is not None and self._answer.is_followed and self.questions > 1:
            # One of the two belongs to the request before this one, and it is unknown which.
            if self._see_surplus is not None:
                self._see_surplus(b"HTTP/1.1 200")
            self._fail(BrokenOff("more than one answer came at once"))
        elif reply is not None:
            self._finish(reply, stays=self._answer.may_be_followed)
        else:
            self._wait_for_more()
            if self._answer.size > self._share.granted + FREE_BYTES:
                self._ask_for_room(self._answer)

    @property
    def _is_still_asking(self) -> bool:
        """True if part of the request has not been sent yet. A response that arrives now can only be an error."""
        transport = self._transport
        return transport is not None and transport.get_write_buffer_size() > 0

    def _wait_for_more(self) -> None:
        self._wait_until(
            self.loop.time() + self._limits.idle,
            f"the answer stalled within {self._limits.idle:g} s",
        )

    def _ask_for_room(self, answer: Answer) -> None:
        """Reserve memory for the rest of the response, or pause reading until it is available."""
        count = max(answer.expected - self._share.granted, answer.size, FREE_BYTES)
        if not MEMORY.take(self._share, count) and self._transport is not None:
            self._transport.pause_reading()
            self._paused_at = self.loop.time()

    def _resume_reading(self) -> None:
        """Resume reading. The pause does not count towards the time limits."""
        if (
            self._paused_at is None
            or self._transport is None
            or self._transport.is_closing()
        ):
            return
        self._last += self.loop.time() - self._paused_at
        self._paused_at = None
        self._wait_for_more()
        self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """Complete a response that ends with its connection; fail any other."""
        self._stop_timer()
        if self._waiter is None or self._answer is None:
            return
        if error is None:
            reply = self._answer.ended()
        else:
            reply = None
        if reply is not None:
            self._finish(reply, stays=False)
            return
        began = "the answer broke off" if self._answer.has_begun else NO_ANSWER
        self._fail(
            BrokenOff(f"{began}: {error}" if error and began != NO_ANSWER else began)
        )

    def _finish(self, reply: Reply, *, stays: bool) -> None:
        waiter = self._waiter
        self._waiter = None
        self._answer = None
        if not stays:
            self.close()
        if waiter is not None and not waiter.done():
            waiter.set_result(reply)

    def _fail(self, error: Exception) -> None:
        waiter = self._waiter
        self._waiter = None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.close()

    def _wait_until(self, deadline: float, message: str) -> None:
        """Set the deadline at which the request fails with this message, at most the
        time limit of the whole answer.
        """
        if deadline > self._last:
            deadline = self._last
            message = f"the answer was not complete within {self._limits.total:g} s"
        self._deadline = deadline
        self._waited_for = message
        if self._timer is None or self._timer.when() > deadline:
            self._stop_timer()
            self._timer = self.loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiter is None or self._paused_at is not None:
            return
        if self.loop.time() >= self._deadline:
            self._fail(TimeoutError(self._waited_for))
        else:
            self._timer = self.loop.call_at(self._deadline, self._ring)


def _has_bytes(transport: asyncio.Transport) -> bool:
    """Return True if the operating system has unread bytes, or an unread end of the connection."""
    socket = transport.get_extra_info("socket")
    if socket is None or socket.fileno() < 0:
        return False
    if not hasattr(select, "poll"):
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
