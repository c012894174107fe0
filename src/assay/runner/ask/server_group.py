"""Send each request to one of a model's servers: the reachable one with the most free slots.

Each server has a `ServerQueue` with its own limits, retries and outages. If a server
becomes unreachable, its requests go to the others. It gets a single request whenever
its next probe is due, so that it is used again once it is back. With a single server,
requests go straight to its queue.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from ...core import Model, Output
from ..counts.budget import GIVEN_UP
from .retry import RetryPolicy, ServerQueue

Say = Callable[[str], None]
Attempt = Callable[[Model], Awaitable[Output]]


class ServerGroup:
    """The servers of one model, each with its queue."""

    def __init__(
        self,
        servers: Sequence[Model],
        window: int,
        policy: RetryPolicy,
        seed: int,
        say: Say,
    ) -> None:
        self.servers = tuple(servers)
        self._say = say
        names = [f"{address_of(server)}: " for server in servers]
        if len(servers) == 1:
            names = [""]
        self.queues = tuple(
            ServerQueue(window, policy, seed, _with_name(say, name)) for name in names
        )
        self._open = [0] * len(servers)
        """Number of requests assigned to each server, including waiting ones."""
        self._abandoned: set[int] = set()
        """Servers that gave only wrong replies."""

    def stop(self) -> None:
        """Release the waiting requests. Those in flight are finished."""
        for queue in self.queues:
            queue.stop()

    async def send(self, attempt: Attempt) -> Output:
        """Send a request to a server. If that server cannot answer it, try the others."""
        if len(self.queues) == 1:
            return await self.queues[0].send(lambda: attempt(self.servers[0]))
        tried: set[int] = set()
        while True:
            index = self._choose(tried)
            output = await self._send_to(index, attempt)
            error = output.error
            if error is None:
                return output
            if error.kind == GIVEN_UP:
                self._abandon(index)
            elif not error.retryable:
                return output
            tried.add(index)
            if not self._has_other(index, tried):
                return output

    async def _send_to(self, index: int, attempt: Attempt) -> Output:
        def may_leave() -> bool:
            return self._has_other(index, set())

        self._open[index] += 1
        try:
            server = self.servers[index]
            return await self.queues[index].send(lambda: attempt(server), may_leave)
        finally:
            self._open[index] -= 1

    def _abandon(self, index: int) -> None:
        """Stop using a server that gave only wrong replies."""
        if index not in self._abandoned:
            self._abandoned.add(index)
            address = address_of(self.servers[index])
            self._say(f"{address} gave only wrong replies and is not asked again")

    def _choose(self, tried: set[int]) -> int:
        """Return the server for the next request: one whose probe is due, or else the one with the most free slots."""
        now = asyncio.get_running_loop().time()
        candidates = [
            index
            for index in range(len(self.queues))
            if index not in tried and index not in self._abandoned
        ]
        for index in candidates:
            if self.queues[index].is_probe_due(now) and not self._open[index]:
                return index
        present = [index for index in candidates if self._is_present(index)]
        return min(present or candidates or range(len(self.queues)), key=self._load)

    def _load(self, index: int) -> float:
        return self._open[index] / max(1.0, self.queues[index].limiter.limit)

    def _is_present(self, index: int) -> bool:
        return index not in self._abandoned and not self.queues[index].outage.is_on

    def _has_other(
        self,
        index: int,
        tried: set[int],
    ) -> bool:
        """Return True if another server may answer a request: it is reachable and was not tried yet."""
        return any(
            self._is_present(other)
            for other in range(len(self.queues))
            if other != index and other not in tried
        )


def address_of(server: Model) -> str:
    """Return host and port of a server's URL, without any key in the URL."""
    netloc = urlsplit(str(getattr(server, "base_url", ""))).netloc
    return netloc.rpartition("@")[2]


def _with_name(say: Say, name: str) -> Say:
    """Return a function that shows a line prefixed with a name."""

    def say_with_name(line: str) -> None:
        say(name + line)

    return say_with_name
