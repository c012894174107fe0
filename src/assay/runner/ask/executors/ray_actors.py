"""Replicas as Ray actors: on a cluster that is there, or on a local one started for the run.

An actor that finds no room waits for it, so that replicas join while the run goes on, as when nodes are added. Frames
are plain bytes (`wire`); the nodes need assay installed, and whatever the model needs.
"""

import asyncio
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....core import UsageError
from ..threads import Threads
from .replica import ClusterLost, ReplicaLost
from .server import Server

AUTH_MODE = "RAY_AUTH_MODE"
SECONDS_BETWEEN_LOOKS = 5.0
LONGEST_ABSENCE = 30.0
"""How long the head node may not answer; Ray ends every process of its cluster after a minute, this one included."""


class RayActors:
    """Starts replicas as actors."""

    def __init__(
        self,
        gpus_per_replica: float | None,
        thread: Threads | None = None,
        auth_mode: str | None = None,
    ) -> None:
        import ray

        options = {
            "num_cpus": 1,
            "num_gpus": gpus_per_replica or 0,
            "max_restarts": 0,  # a new actor must load its model first: the driver starts it
            "scheduling_strategy": "SPREAD",  # the loss of one node then costs the fewest replicas
        }
        self._thread = thread
        self.needed: dict[str, str] = {}
        """The nodes without which nothing goes on, in words, and where each answers."""
        self._auth_mode = auth_mode
        """As it was before Ray was joined."""
        self._actor: Any = ray.remote(**options)(Server)

    @classmethod
    async def connect(
        cls,
        address: str | None,
        replicas: int | None,
        gpus_per_replica: float | None,
        say: Callable[[str], None],
    ) -> "tuple[RayActors, int]":
        """The executor, and how many replicas: what was asked for, else what the cluster has room for."""
        import ray

        thread = mode = None
        if not ray.is_initialized():
            # Ray would put its signal handlers in place of the run's, hence a thread. It must live as long as the
            # cluster: what it starts ends with it.
            thread = Threads(1, "ray")
            mode = os.environ.get(AUTH_MODE)
            try:
                await thread.submit(_connect, address, replicas)
            except BaseException:
                _restore_auth_mode(mode)
                raise
        executor = cls(gpus_per_replica, thread, mode)
        alive = [node for node in ray.nodes() if node["Alive"]]
        executor.needed.update(_needed(alive))
        nodes = [node["Resources"] for node in alive]
        if gpus_per_replica:
            room = sum(int(node.get("GPU", 0) // gpus_per_replica) for node in nodes)
            if not room:
                say(
                    f"no node of the Ray cluster has {gpus_per_replica:g} GPUs: replicas wait until one joins"
                )
        else:
            room = len(nodes)
        return executor, replicas or max(1, room)

    async def start(self, number: int) -> "Actor":
        """A new actor; its first answer comes when there is room for it."""
        return Actor(self._actor.remote())

    async def watch(self) -> None:
        """Looks now and then for the two nodes without which no actor starts, and soon none answers.

        Ray is not asked: with its head gone, a question to it ends the process after a minute.
        """
        clock = asyncio.get_running_loop().time
        last_seen = dict.fromkeys(self.needed, clock())
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            for what, address in self.needed.items():
                if await _answers(address):
                    last_seen[what] = clock()
                elif clock() - last_seen[what] >= LONGEST_ABSENCE:
                    raise ClusterLost(
                        f"stopped: {what} has not answered for {LONGEST_ABSENCE:g} s",
                        fix="run the same command again once the cluster is back: what was answered is kept",
                    )

    async def close(self) -> None:
        """Leaves the cluster; one that was started for the run ends."""
        import ray

        if self._thread is not None:
            await self._thread.submit(ray.shutdown)
            self._thread.close()
            _restore_auth_mode(self._auth_mode)


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
            raise ReplicaLost(
                f"{type(error).__name__}: {_first_line(error)}"
            ) from error
        return answer

    async def close(self) -> None:
        """Ends the actor, wherever it is."""
        import ray

        ray.kill(self._handle)


def _connect(address: str | None, replicas: int | None) -> None:
    import ray
    from ray.exceptions import RayError

    os.environ.setdefault(
        "RAY_USAGE_STATS_ENABLED", "0"
    )  # nothing is reported to anyone
    settings: dict[str, Any] = {
        "address": address,
        "log_to_driver": False,
        "logging_level": "ERROR",
    }
    if address in (None, "local"):
        # Cores are only counted there: every replica that was asked for finds room.
        cores = max(replicas or 1, os.cpu_count() or 1)
        settings = {
            **settings,
            "address": "local",
            "num_cpus": cores,
            "include_dashboard": False,
        }
    try:
        ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        raise UsageError(
            f"cannot join the Ray cluster at {address or 'local'}: {_first_line(error)}",
            where="--address",
            fix="`ray status` on a node prints its address; a cluster with tokens wants RAY_AUTH_MODE=token and its "
            "token here too; leave --address out to start one here",
        ) from error


def _needed(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    import ray

    here = ray.get_runtime_context()
    needed = {"the head node of the Ray cluster": here.gcs_address}
    for node in nodes:
        if node["NodeID"] == here.get_node_id():
            needed["Ray on this machine"] = (
                f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
            )
    return needed


async def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_LOOKS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError:
        return False
    writer.close()
    return True


def _restore_auth_mode(mode: str | None) -> None:
    """Undoes what starting a cluster does to this process.

    Ray then demands tokens in it from then on, also of the actors of another cluster that has none: they would all die.
    """
    if os.environ.get(AUTH_MODE) == mode:
        return
    if mode is None:
        del os.environ[AUTH_MODE]
    else:
        os.environ[AUTH_MODE] = mode
    raylet: Any = importlib.import_module("ray._raylet")
    if hasattr(raylet, "AuthenticationTokenLoader"):  # else a Ray that knows no tokens
        raylet.Config.initialize(
            ""
        )  # first: whoever still looks for the token must not miss it
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _first_line(error: Exception) -> str:
    """The first line of what Ray says: the rest is where it looked."""
    return next(iter(str(error).strip().splitlines()), "")
