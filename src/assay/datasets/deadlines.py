"""A deadline for everything that is read from a connection.

A socket's own timeout restarts with every byte, so a server that sends one byte per second never times out. Here every
read gets only the time left until the deadline.
"""

import http.client
import io
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(slots=True)
class Deadline:
    """A point in time on the monotonic clock by which everything must be read; `None` means never."""

    at: float | None


class _Reader(socket.SocketIO):
    """Reads a response, and passes the remaining time to the socket before each read."""

    def __init__(self, plug: socket.socket, deadline: Deadline) -> None:
        super().__init__(plug, "rb")
        self._plug, self._deadline, self._timeout = plug, deadline, plug.gettimeout()

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        """Read the next bytes. Raise `TimeoutError` at the deadline."""
        timeout = self._timeout
        if self._deadline.at is not None:
            timeout = self._deadline.at - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("timed out")
        self._plug.settimeout(timeout)
        return super().readinto(buffer)


class _Plug:
    """The part of a socket's interface that `http.client` uses."""

    def __init__(self, plug: Any, deadline: Deadline) -> None:
        self._plug, self._deadline = plug, deadline

    def makefile(self, mode: str, *_: object) -> io.BufferedReader:
        """Return a reader for the response.

        The socket stays open until the reader is closed, as with a real socket.
        """
        self._plug._io_refs += 1
        return io.BufferedReader(_Reader(self._plug, self._deadline))

    def sendall(self, data: bytes) -> None:
        """Send the request."""
        self._plug.sendall(data)

    def close(self) -> None:
        """Close the connection as soon as no reader uses it."""
        self._plug.close()


def hold_to(connection: http.client.HTTPConnection, until: float) -> Deadline:
    """Put an open connection under a deadline. The caller may move the deadline later."""
    deadline = Deadline(until)
    connection.sock = _Plug(connection.sock, deadline)  # type: ignore[assignment]
    return deadline
