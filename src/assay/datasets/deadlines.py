"""A deadline for all that is read from a connection, however it drips in.

A socket's own timeout begins anew with every byte: a server that sends one a second is never late. Here each read is
given what is left until the deadline.
"""

import http.client
import io
import socket
import time
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Deadline:
    """When all must have come, by the monotonic clock; `None` is never."""

    at: float | None


class _Reader(socket.SocketIO):
    """What an answer is read from."""

    def __init__(self, plug: socket.socket, deadline: Deadline) -> None:
        super().__init__(plug, "rb")
        self._plug, self._deadline, self._timeout = plug, deadline, plug.gettimeout()

    def readinto(self, buffer: Any) -> int | None:
        """The next bytes; raises `TimeoutError` at the deadline."""
        timeout = self._timeout
        if self._deadline.at is not None:
            timeout = self._deadline.at - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("timed out")
        self._plug.settimeout(timeout)
        return super().readinto(buffer)


class _Plug:
    """A socket as `http.client` sees it."""

    def __init__(self, plug: Any, deadline: Deadline) -> None:
        self._plug, self._deadline = plug, deadline

    def makefile(self, mode: str, *_: object) -> io.BufferedReader:
        """What answers are read from; the socket stays open until it is closed, as with the socket's own."""
        self._plug._io_refs += 1
        return io.BufferedReader(_Reader(self._plug, self._deadline))

    def sendall(self, data: bytes) -> None:
        """Sends a question."""
        self._plug.sendall(data)

    def close(self) -> None:
        """Closes the connection once nobody reads from it."""
        self._plug.close()


def hold_to(connection: http.client.HTTPConnection, until: float) -> Deadline:
    """Holds a connection that stands to a deadline, which may be moved later."""
    deadline = Deadline(until)
    connection.sock = _Plug(connection.sock, deadline)  # type: ignore[assignment]
    return deadline
