"""Replicas as Ray actors, on an existing cluster or on a local one that is started for the run.

An actor without free resources waits for them, so that replicas join during the run, as when nodes
are added. Frames are plain bytes (`wire`). The nodes need assay, and everything the model needs.
"""

import asyncio
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....core import UsageError
from ..threads import Threads
from .replica import ClusterLost, ReplicaLost
from .server import Server

if TYPE_CHECKING:
    from ray.actor import ActorHandle

AUTH_MODE = "RAY_AUTH_MODE"
SECONDS_BETWEEN_LOOKS = 5.0
LONGEST_ABSENCE = 30.0
"""If the head node is unreachable for this many seconds, the cluster counts as lost.

After a minute, Ray would end every process of the cluster, including this one.
"""


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
            # The main process starts a new actor itself, which must load its model first.
            "max_restarts": 0,
            # Losing one node then costs few replicas.
            "scheduling_strategy": "SPREAD",
        }
        self._thread = thread
        self.needed: dict[str, str] = {}
        """Addresses that must respond during the run (the head node, Ray on this machine), by description."""
        self._auth_mode = auth_mode
        """Ray's authentication mode before Ray was started, to restore it."""
        self._actor: Any = ray.remote(**options)(Server)

    @classmethod
    async def connect(
        cls,
        address: str | None,
        replicas: int | None,
        gpus_per_replica: float | None,
        say: Callable[[str], None],
    ) -> "tuple[RayActors, int]":
        """Join or start a cluster.

        Return the executor, and the number of replicas: the requested one, or as many
        as the cluster has room for.
        """
        import ray

        thread = None
        auth_mode = None
        if not ray.is_initialized():
            # Ray would replace the run's signal handlers, hence a thread. It must live as long as the
            # cluster: processes that it starts end with it.
            thread = Threads(1, "ray")
            auth_mode = os.environ.get(AUTH_MODE)
            try:
                await thread.submit(_connect, address, replicas)
            except BaseException:
                _restore_auth_mode(auth_mode)
                raise
        executor = cls(gpus_per_replica, thread, auth_mode)
        alive = [node for node in ray.nodes() if node["Alive"]]
        executor.needed.update(_needed_addresses(alive))
        nodes = [node["Resources"] for node in alive]
        if gpus_per_replica:
            capacity = sum(
                int(node.get("GPU", 0) // gpus_per_replica) for node in nodes
            )
            if not capacity:
                say(
                    f"no node of the Ray cluster has {gpus_per_replica:g} GPUs: replicas wait until one joins"
                )
        else:
            capacity = len(nodes)
        return executor, replicas or max(1, capacity)

    async def start(self, number: int) -> "Actor":
        """Start an actor. Its first reply arrives once the cluster has resources for it."""
        return Actor(self._actor.remote())

    async def watch(self) -> None:
        """Check regularly that the head node and Ray on this machine still respond.

        Ray's own API is not used for this, because without the head node a call to it ends the process after a
        minute.
        """
        clock = asyncio.get_running_loop().time
        last_seen = dict.fromkeys(self.needed, clock())
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            for needed_part, address in self.needed.items():
                if await _answers(address):
                    last_seen[needed_part] = clock()
                elif clock() - last_seen[needed_part] >= LONGEST_ABSENCE:
                    raise ClusterLost(
                        f"stopped: {needed_part} has not answered for {LONGEST_ABSENCE:g} s",
                        fix="run the same command again once the cluster is back: what was answered is kept",
                    )

    async def close(self) -> None:
        """Leave the cluster. A cluster that was started for the run is shut down."""
        import ray

        if self._thread is not None:
            await self._thread.submit(ray.shutdown)
            self._thread.close()
            _restore_auth_mode(self._auth_mode)


class Actor:
    """Handle of the main process for one replica in a Ray actor."""

    by_path = False

    def __init__(self, handle: "ActorHandle") -> None:
        self._handle = handle

    async def ask(self, frame: bytes) -> bytes:
        """Send a frame (encoded message) to the actor, and return its reply frame."""
        from ray.exceptions import RayError

        try:
            answer: bytes = await self._handle.handle.remote(frame)
        except RayError as error:
            raise ReplicaLost(
                f"{type(error).__name__}: {_first_line(error)}"
            ) from error
        return answer

    async def close(self) -> None:
        """End the actor."""
        import ray

        ray.kill(self._handle)


def _connect(
    address: str | None,
    replicas: int | None,
) -> None:
    """Join a cluster, or start one on this machine."""
    import ray
    from ray.exceptions import RayError

    # No usage statistics are sent.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    settings: dict[str, Any] = {
        "address": address,
        "log_to_driver": False,
        "logging_level": "ERROR",
    }
    if address in (None, "local"):
        # Cores are only counted here, so every replica that was asked for can start.
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
            fix="`ray status` on a node prints its address; a cluster with tokens needs RAY_AUTH_MODE=token and its "
            "token here too; leave --address out to start one here",
        ) from error


def _needed_addresses(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the addresses of the head node and of Ray on this machine."""
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
    """Return True if a server accepts a connection at the address."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_LOOKS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except OSError:
        return False
    writer.close()
    return True


def _restore_auth_mode(mode: str | None) -> None:
    """Restore Ray's authentication mode, which changes when a local cluster starts.

    Otherwise Ray would demand tokens from the actors of a later cluster that has none, and they would all die.
    """
    if os.environ.get(AUTH_MODE) == mode:
        return
    if mode is None:
        del os.environ[AUTH_MODE]
    else:
        os.environ[AUTH_MODE] = mode
    raylet: Any = importlib.import_module("ray._raylet")
    # Older versions of Ray have no tokens.
    if hasattr(raylet, "AuthenticationTokenLoader"):
        # This comes first, so that a concurrent reader finds the token.
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _first_line(error: Exception) -> str:
    """Return the first line of an error. The other lines only list where Ray searched."""
    return next(iter(str(error).strip().splitlines()), "")
