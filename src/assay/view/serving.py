"""The HTTP server of the viewer, with limits on the number of connections and the time to send a request.

uvicorn closes connections that are idle after an answer, but not those that never finish a request.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import Guard

MOST_CONNECTIONS = 256
REQUEST_SECONDS = 8.0
"""Time for a connection to send a whole request with its body."""


class LimitedProtocol(H11Protocol):
    """A connection that is closed if there are too many, or if it takes too long to send a request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept the connection, or close it at once if there are too many."""
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
        if cycle is not None and not cycle.more_body:
            self._cancel_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._await_request()
        super().on_response_complete()

    def _await_request(self) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_late)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

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

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, then call the function."""
        await super().startup(sockets)
        if self.started:
            self._when_listening()
