"""The HTTP server of the viewer, with limits on the number of connections and their time.

uvicorn closes connections that are idle after an answer, but not those that never finish a request, nor those that
never read the answer. A browser with the cookie may read as slowly as it likes: it may play a video.
"""

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import HAS_SESSION, Guard

MOST_CONNECTIONS = 256
REQUEST_SECONDS = 8.0
"""Time for a connection to send a whole request with its body."""
ANSWER_SECONDS = 8.0
"""Time for a connection without the cookie to read the answer."""


class LimitedProtocol(H11Protocol):
    """A connection that is closed if there are too many, or if it takes too long to send a request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or close it at once if there are too many."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data. A complete request no longer has a deadline."""
        super().handle_events()
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and not cycle.response_complete:
            self._close_in(ANSWER_SECONDS, self._close_unknown)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._await_request()
        super().on_response_complete()

    def _await_request(self) -> None:
        self._close_in(REQUEST_SECONDS, self._close_late)

    def _close_in(self, seconds: float, close: Callable[[], None]) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_unknown(self) -> None:
        scope = self.scope
        if scope is None or HAS_SESSION not in scope:
            self._close_late()

    def _close_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


class ViewerServer(uvicorn.Server):
    """A server that calls a function once it listens."""

    def __init__(self, app: Guard, when_listening: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
        )
        super().__init__(config)
        self._when_listening = when_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then call the function."""
        await super().startup(sockets)
        if self.started:
            self._when_listening()
