"""A replica as the driver sees it: jobs in, outputs out, whatever carries the frames.

A dialogue's state never leaves the replica that made it: the driver holds a token in its place, and the replica forgets
the state once nobody holds the token any more.
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
    """A replica is gone, with all that it was asked; `str()` says how it ended."""


class ClusterLost(ErrorBudgetExceeded):
    """No replica can be had any more: the run was stopped, what was answered is kept."""


class Channel(Protocol):
    """What carries frames to one replica and back; raises `ReplicaLost` once it is gone."""

    by_path: bool
    """Whether the replica sees the same files, so that media need not be sent."""

    async def ask(self, frame: bytes) -> bytes: ...
    async def close(self) -> None: ...


class Executor(Protocol):
    """Starts replicas somewhere."""

    async def start(self, number: int) -> Channel:
        """A replica that runs, its model not loaded; may take until there is room for it."""

    async def watch(self) -> None:
        """Goes on while replicas can be had; then raises `ClusterLost`."""

    async def close(self) -> None: ...


class Held:
    """Stands for a state that a replica keeps."""

    __slots__ = ("__weakref__", "token")

    def __init__(self, token: int) -> None:
        self.token = token


class Replica:
    """One copy of the model, loaded."""

    def __init__(self, number: int, channel: Channel) -> None:
        self.number = number
        self._channel = channel
        self._released: list[int] = []

    @classmethod
    async def load(
        cls, number: int, channel: Channel, model: "ModelSource"
    ) -> "Replica":
        """The replica once its model is loaded; a model that is another one there is refused."""
        where = f"replica {number} of model {model.name!r}"
        head, _ = await _asked(channel, model.to_plain(), EMPTY, where)
        if head["identity"] != model.identity:
            raise UsageError(
                "the model built there is not the one built here (other code, weights or options)",
                where=where,
                fix="give every machine the same files; with GPUs on some of them only, say -a dtype=…",
            )
        return cls(number, channel)

    async def faults(self, request: Request) -> list[str]:
        """What is wrong with how its model renders a prompt, as that says itself."""
        blobs: dict[str, Any] = {}
        plain = request_to_plain(request, blobs, by_path=self._channel.by_path)
        head, _ = await _asked(
            self._channel,
            {"call": "look", "request": plain},
            blobs,
            f"replica {self.number}",
        )
        return list(head["faults"])

    async def ask(self, jobs: Sequence[Job]) -> tuple[list[Output], int, float]:
        """The outputs, how many memory had room for where it had none for all, and the seconds it took."""
        blobs: dict[str, Any] = {}
        requests = []
        for job in jobs:
            plain = request_to_plain(job.request, blobs, by_path=self._channel.by_path)
            if isinstance(job.request.state, Held):
                plain["state"] = job.request.state.token
            requests.append(plain)
        released, self._released = self._released, []
        frame = {"call": "ask", "requests": requests, "released": released}
        head, answer_blobs = await _asked(
            self._channel, frame, blobs, f"replica {self.number}"
        )
        media = media_of(answer_blobs)
        outputs = [self._output(plain, media) for plain in head["outputs"]]
        return outputs, head["fits"], head["seconds"]

    def _output(self, plain: Mapping[str, Any], media: Mapping[str, Any]) -> Output:
        output = output_of_plain(plain, media)
        if "state" not in plain:
            return output
        state = Held(plain["state"])
        weakref.finalize(state, self._released.append, state.token).atexit = False
        return replace(output, state=state)

    async def close(self) -> None:
        """Lets the model close what it opened, and ends the replica."""
        await self._channel.close()


async def _asked(
    channel: Channel, head: Mapping[str, Any], blobs: Mapping[str, Any], where: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a replica answers to a frame; raises what it cannot go on with."""
    answer, media = unpack(await channel.ask(pack(head, blobs)))
    if "fault" in answer:
        raise_fault(answer["fault"], where)
    return answer, media


class ModelSource:
    """What a replica builds its copy from: a name and options, never the thing itself."""

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
        """Requests that one replica has at once."""

    def to_plain(self) -> dict[str, Any]:
        """The frame that loads it."""
        return {
            "call": "load",
            "model": self.name,
            "options": dict(self._options),
            "threads": self.window,
            "folder": os.getcwd(),
            "path": [os.path.abspath(place) for place in sys.path],
        }
