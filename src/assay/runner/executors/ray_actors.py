"""Replicas as Ray actors: on a cluster that is there, or on a local one started for the run.

An actor that finds no room waits for it, so that replicas join while the run goes on, as when nodes are added. Frames
are plain bytes (`wire`); the nodes need assay installed, and whatever the model needs.
"""

import os
from collections.abc import Callable
from typing import Any

from ...core import UsageError
from ..threads import Threads
from .replica import ReplicaLost
from .server import Server


class RayActors:
    """Starts replicas as actors."""

    def __init__(self, gpus_per_replica: float | None, thread: Threads | None = None) -> None:
        import ray

        options = {
            "num_cpus": 1,
            "num_gpus": gpus_per_replica or 0,
            "max_restarts": 0,  # a new actor must load its model first: the driver starts it
            "scheduling_strategy": "SPREAD",  # the loss of one node then costs the fewest replicas
        }
        self._thread = thread
        self._actor: Any = ray.remote(**options)(Server)

    @classmethod
    async def connect(
        cls, address: str | None, replicas: int | None, gpus_per_replica: float | None, say: Callable[[str], None]
    ) -> "tuple[RayActors, int]":
        """The executor, and how many replicas: what was asked for, else what the cluster has room for."""
        import ray

        thread = None
        if not ray.is_initialized():
            # Ray would put its signal handlers in place of the run's, hence a thread. It must live as long as the
            # cluster: what it starts ends with it.
            thread = Threads(1, "ray")
            await thread.submit(_connect, address, replicas)
        executor = cls(gpus_per_replica, thread)
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if gpus_per_replica:
            room = sum(int(node.get("GPU", 0) // gpus_per_replica) for node in nodes)
            if not room:
                say(f"no node of the Ray cluster has {gpus_per_replica:g} GPUs: replicas wait until one joins")
        else:
            room = len(nodes)
        return executor, replicas or max(1, room)

    async def start(self, number: int) -> "Actor":
        """A new actor; its first answer comes when there is room for it."""
        return Actor(self._actor.remote())

    async def close(self) -> None:
        """Leaves the cluster; one that was started for the run ends."""
        import ray

        if self._thread is not None:
            await self._thread.submit(ray.shutdown)
            self._thread.close()


class Actor:
    """The driver's end of one actor."""

    by_path = False

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def ask(self, frame: bytes) -> bytes:
        """Sends a frame and waits for its answer."""
        from ray.exceptions import RayError

        try:
            answer: bytes = await self._handle.handle.remote(frame)
        except RayError as error:
            raise ReplicaLost(_how(error)) from error
        return answer

    async def close(self) -> None:
        """Ends the actor, wherever it is."""
        import ray

        ray.kill(self._handle)


def _connect(address: str | None, replicas: int | None) -> None:
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    given: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address in (None, "local"):
        # Cores are only counted there: every replica that was asked for finds room.
        cores = max(replicas or 1, os.cpu_count() or 1)
        given = {**given, "address": "local", "num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(**given)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"cannot join the Ray cluster at {address}: {error}",
            where="--address",
            fix="`ray status` on a node of the cluster prints its address; leave --address out to start one here",
        ) from error


def _how(error: Exception) -> str:
    """The first line of what Ray says: the rest is where it looked."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
