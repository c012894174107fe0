"""What assay has observed about one server, to decide whether its connections may be reused.

An HTTP/1.1 response does not say which request it answers. If a server sends one
response twice, every later reply on that connection answers the previous question. So
each connection serves a single request if opening one costs almost nothing, and always
after a server has sent more responses than it received requests.
"""

import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from .http_connection import Connection

MOST_MARKS = 256
"""Maximum number of answers remembered for each server, to detect one that is sent twice."""
LONG_BODY = 512
"""Minimum size in bytes at which two equal bodies without ids are treated as one answer sent twice."""
CHEAP_CONNECTING = 0.02
"""Opening a new connection for each request is cheap if it takes at most this fraction of the response time."""
MOST_CONNECTS = 200.0
"""Number of new connections per second to one server above which connecting becomes expensive."""
_SUCCESS = re.compile(rb"HTTP/1\.[01] 2").match
"""Matches a successful status line.

If no request is open, a success is a late answer. An unrequested 408 only announces
that an idle connection closes.
"""


@dataclass
class Server:
    """One server, and its behaviour as observed in its replies."""

    keep_alive: bool = True
    marks: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_MARKS))
    """Ids of the latest answers, or digests of their bodies, to detect an answer that is sent twice."""
    repeats_ids: bool = False
    """True if the server sends the same id for different requests, as many test servers do."""
    repeats_bodies: bool = False
    """True if the server sends the same long body for different requests."""
    sends_surplus: bool = False
    """True if the server sent a response without a request."""
    has_reused: bool = False
    """True if an answer was accepted from a reused connection."""
    requests: int = 0
    """Number of requests in progress."""
    connect_seconds: float = math.inf
    """Seconds that the fastest connection took to open."""
    note: str = ""
    """A note for the user about earlier answers, which is added to the next answer."""

    def may_reuse(self, connection: Connection, seconds: float) -> bool:
        """Return True if a connection may serve another request after an answer that took `seconds`."""
        if not connection.is_open or not self.keep_alive or self.sends_surplus:
            return False
        return not self._is_connecting_cheap(seconds)

    def _is_connecting_cheap(self, seconds: float) -> bool:
        """Return True if opening a connection takes almost no time compared with an answer that takes `seconds`."""
        connects_per_second = self.requests / max(seconds, 0.001)
        return (
            self.connect_seconds <= CHEAP_CONNECTING * seconds
            and connects_per_second <= MOST_CONNECTS
        )

    def see_surplus(self, received: bytes) -> None:
        """Record a successful response that answers no request.

        If a connection was already reused, add a note that earlier answers may belong
        to other requests.
        """
        if not _SUCCESS(received):
            return
        self.sends_surplus = True
        if self.has_reused:
            self.note = (
                "the server sent more responses than requests, so earlier answers may belong to other questions; "
                "fix: run again with --fresh -a keep_alive=false"
            )

    def mark_of(self, answer: object, body: bytes) -> str:
        """Return the id of an answer, or else the digest of its body if that is
        long; empty for a short body without id.
        """
        if isinstance(answer, Mapping):
            name = answer.get("id") or answer.get("responseId")
        else:
            name = None
        if name and isinstance(name, str) and not self.repeats_ids:
            return f"id {name}"
        if len(body) >= LONG_BODY and not self.repeats_bodies:
            return f"body {hash(body)}"
        return ""

    def is_doubtful(self, connection: Connection, mark: str) -> bool:
        """Return True if an answer on a reused connection may be a repeat of an earlier one."""
        if connection.questions == 1:
            return False
        return self.sends_surplus or bool(mark and mark in connection.marks)

    def remember(self, connection: Connection, mark: str) -> None:
        """Record an accepted answer.

        The first answer on a new connection cannot be a repeat. If its mark (id or
        digest) is known nevertheless, the server gives different answers the same mark,
        so such marks are no longer compared.
        """
        self.has_reused = self.has_reused or connection.questions > 1
        if not mark:
            return
        if connection.questions == 1 and mark in self.marks:
            self._stop_comparing(mark)
        connection.marks.append(mark)
        self.marks.append(mark)

    def _stop_comparing(self, mark: str) -> None:
        """Stop comparing ids, or bodies, because this server sends equal ones for different answers."""
        if mark.startswith("id "):
            self.repeats_ids = True
        else:
            self.repeats_bodies = True
