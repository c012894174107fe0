"""One model behind several servers: `--base_url http://a:8000/v1,http://b:8000/v1`, or a list in a file.

Each server has its own limits, retries and outages; `runner/ask/server_group` chooses one for each request.
"""

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any
from urllib.parse import urlsplit

from ..core import Abilities, Model, Output, Request, UsageError


def urls_of(base_url: object) -> list[str]:
    """Return the URLs in an option: a list, or text with URLs separated by commas."""
    if isinstance(base_url, str):
        parts = base_url.split(",")
        starts = [index for index, part in enumerate(parts) if "://" in part]
        if len(starts) < 2:
            return [base_url]
        ends = [*starts[1:], len(parts)]
        pieces = zip(starts, ends, strict=True)
        # A comma inside a URL stays, because the text after it is not a URL.
        return [",".join(parts[start:end]).strip() for start, end in pieces]
    if isinstance(base_url, Sequence):
        return [str(url).strip() for url in base_url]
    return [] if base_url is None else [str(base_url)]


class ServerPool:
    """A model on several servers.

    Attributes that this class does not define are read from the first server's model.
    """

    def __init__(self, servers: Sequence[Model]) -> None:
        self.servers = tuple(servers)
        self._next = 0

    @classmethod
    def of(cls, servers: Sequence[Any]) -> "ServerPool":
        """Return a pool of models that differ only in their URL. Raise if a URL occurs twice."""
        urls = [model.base_url for model in servers]
        for url in urls:
            if urls.count(url) > 1:
                raise UsageError(
                    f"base_url names {urlsplit(url).netloc} twice",
                    fix="name each server once",
                )
        return cls(servers)

    @property
    def abilities(self) -> Abilities:
        """The abilities of the first server, as its options declare them."""
        return self.servers[0].abilities

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: those of the first server, with the sorted URLs of all servers."""
        identities = [dict(server.identity) for server in self.servers]
        urls = sorted(str(identity["base_url"]) for identity in identities)
        return {**identities[0], "base_url": urls}

    async def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Send the requests to the servers in turn. In a run, the scheduler chooses the server itself."""
        server = self.servers[self._next % len(self.servers)]
        self._next += 1
        outputs = server.generate(requests)
        return list(await outputs if isawaitable(outputs) else outputs)

    async def close(self) -> None:
        """Close the connections to all servers."""
        for server in self.servers:
            await server.close()  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        if name == "servers":  # while a copy is made, nothing is set yet
            raise AttributeError(name)
        return getattr(self.servers[0], name)
