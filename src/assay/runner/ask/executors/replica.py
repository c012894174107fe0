"""The main process's handle of a replica: jobs in, outputs out, over any channel.

The state of a dialogue stays in the replica that made it. The main process holds only a
token for it. When the token is garbage collected, the replica drops the state.
"""

import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ....core import EMPTY, ErrorBudgetExceeded, Output, Request, UsageError, digest_of
from ..work import Job
from .server import raise_fault
from .wire import media_of, output_of_plain, pack, request_to_plain, unpack


class ReplicaLost(Exception):
    """Raised if a replica has died, with all its requests. The message gives the reason."""


class ClusterLost(ErrorBudgetExceeded):
    """Raised if no replica can be started any more. The run stops; answers received so far are kept."""


class Channel(Protocol):
    """Carries frames (encoded messages) to one replica and back. Raises `ReplicaLost` if the replica has died."""

    by_path: bool
    """True if both sides can open the same file paths, so that media are sent as paths instead of bytes."""

    async def ask(self, frame: bytes) -> bytes: ...
    async def close(self) -> None: ...


class Executor(Protocol):
    """Starts replicas."""

    async def start(self, number: int) -> Channel:
        """Start a replica without loading its model. It may wait for free resources."""

    async def watch(self) -> None:
        """Wait until no more replicas can be started, then raise `ClusterLost`."""

    async def close(self) -> None: ...


class StateToken:
    """A placeholder in the main process for a dialogue state that is kept by a replica."""

    __slots__ = ("__weakref__", "token")

    def __init__(self, token: int) -> None:
        self.token = token


class Replica:
    """One loaded copy of the model."""

    def __init__(self, number: int, channel: Channel) -> None:
        self.number = number
        self._channel = channel
        self._released: list[int] = []

    @classmethod
    async def load(
        cls,
        number: int,
        channel: Channel,
        model: "ModelSource",
    ) -> "Replica":
        """Load the model of a replica. Raise if its identity differs from that of the model in this process."""
        where = f"replica {number} of model {model.name!r}"
        head, _ = await _ask(channel, model.to_plain(), EMPTY, where)
        if head["identity"] != model.identity:
            raise UsageError(
                "the model built there is not the one built here (other code, weights or options)",
                where=where,
                fix="give every machine the same files; with GPUs on some of them only, say -a dtype=…",
            )
        return cls(number, channel)

    async def faults(self, request: Request) -> list[str]:
        """Return warnings about how the replica's model renders the prompt of a request."""
        blobs: dict[str, Any] = {}
        plain = request_to_plain(request, blobs, by_path=self._channel.by_path)
        head, _ = await _ask(
            self._channel,
            {"call": "look", "request": plain},
            blobs,
            f"replica {self.number}",
        )
        return list(head["faults"])

    async def ask(self, jobs: Sequence[Job]) -> tuple[list[Output], int, float]:
        """Send jobs to the replica.

        Return the outputs; the number of requests that fit into memory (0 if all did);
        and the seconds taken.
        """
        blobs: dict[str, Any] = {}
        requests = []
        for job in jobs:
            plain = request_to_plain(job.request, blobs, by_path=self._channel.by_path)
            if isinstance(job.request.state, StateToken):
                plain["state"] = job.request.state.token
            requests.append(plain)
        released = self._released
        self._released = []
        frame = {"call": "ask", "requests": requests, "released": released}
        head, answer_blobs = await _ask(
            self._channel,
            frame,
            blobs,
            f"replica {self.number}",
        )
        media = media_of(answer_blobs)
        outputs = [self._output(plain, media) for plain in head["outputs"]]
        return outputs, head["fits"], head["seconds"]

    def _output(
        self,
        plain: Mapping[str, Any],
        media: Mapping[str, Any],
    ) -> Output:
        """Build an output from plain data. Its state stays in the replica and is replaced by a token."""
        output = output_of_plain(plain, media)
        if "state" not in plain:
            return output
        state = StateToken(plain["state"])
        weakref.finalize(state, self._released.append, state.token).atexit = False
        return replace(output, state=state)

    async def close(self) -> None:
        """Close the model, and end the replica."""
        await self._channel.close()


async def _ask(
    channel: Channel,
    head: Mapping[str, Any],
    blobs: Mapping[str, Any],
    where: str,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Send a frame to a replica and return the reply. If the reply contains an error, raise it."""
    frame = pack(head, blobs)
    reply = await channel.ask(frame)
    answer, media = unpack(reply)
    if "fault" in answer:
        raise_fault(answer["fault"], where)
    return answer, media


class ModelSource:
    """The name and options from which a replica builds its model."""

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        identity: Mapping[str, Any],
        window: int,
    ) -> None:
        self.name = name
        self.identity = digest_of(dict(identity))
        self._options = options
        self.window = window
        """Maximum number of requests in flight at one replica."""

    def to_plain(self) -> dict[str, Any]:
        """Return the frame that loads the model."""
        return {
            "call": "load",
            "model": self.name,
            "options": dict(self._options),
            "threads": self.window,
            "folder": os.getcwd(),
            "path": [os.path.abspath(folder) for folder in sys.path],
        }
