"""Replicas as processes of this machine, each with its share of GPUs and cores."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ....core import UsageError
from .replica import ReplicaLost
from .wire import HEAD, pack

SECONDS_TO_CLOSE = 5.0


class Processes:
    """Starts replicas as processes."""

    def __init__(
        self,
        replicas: int,
        gpus_per_replica: float | None = None,
    ) -> None:
        self._environment = shares(replicas, gpus_per_replica)

    async def start(self, number: int) -> "Process":
        """Start a process."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "assay.runner.ask.executors.worker",
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # user code may print, and the stdout of the run may have to be one JSON document
                env={**os.environ, **self._environment[number - 1]},
                start_new_session=True,  # Ctrl-C is for the main process, which lets requests in flight come back,
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        return Process(process, reader, writer)

    async def watch(self) -> None:
        """Wait forever, because new processes can be started on this machine at any time."""
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Do nothing, because each process is closed separately."""


class Process:
    """Handle of the main process for one replica process."""

    by_path = True

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._writer = writer
        self._calls: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0
        self._ended: str | None = None
        self._listening = asyncio.ensure_future(self._listen(reader))

    async def ask(self, frame: bytes) -> bytes:
        """Send a frame (encoded message) to the process, and return its reply frame."""
        if self._ended is not None:
            raise ReplicaLost(self._ended)
        self._number += 1
        number = self._number
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            self._writer.write(HEAD.pack(number, len(frame)))
            self._writer.write(frame)
            await self._writer.drain()
        except ConnectionError:
            pass  # `_listen` finds out how the process ended
        try:
            return await answer
        finally:
            self._calls.pop(number, None)

    async def close(self) -> None:
        """Close the model, then end the process."""
        if self._ended is None:
            try:
                await asyncio.wait_for(
                    self.ask(pack({"call": "close"})), SECONDS_TO_CLOSE
                )
            except (ReplicaLost, TimeoutError):
                pass
        self._listening.cancel()
        self._writer.transport.abort()  # the process ends when it sees this; unsent frames are not needed
        try:
            with suppress(OSError):
                await self._writer.wait_closed()
        finally:
            self._end()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Read answers and pass them to the waiting calls, until the process ends."""
        try:
            while True:
                number, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                answer = await reader.readexactly(length)
                if (
                    waiting := self._calls.get(number)
                ) is not None and not waiting.done():
                    waiting.set_result(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            how = self._ended = self._end()
            for waiting in self._calls.values():
                if not waiting.done():
                    waiting.set_exception(ReplicaLost(how))

    def _end(self) -> str:
        """Wait for the process to end, kill it if necessary, and return a description of its end."""
        try:
            # A process that ended by itself may take a moment to be reaped.
            code = self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return f"exit status {code}"


def shares(
    replicas: int,
    gpus_per_replica: float | None,
) -> list[dict[str, str]]:
    """Return environment variables for each replica, which set its GPUs and its number of threads."""
    if "OMP_NUM_THREADS" in os.environ:
        threads = {}
    else:
        threads = {"OMP_NUM_THREADS": str(_cores_each(replicas))}
    if gpus_per_replica is None:
        return [dict(threads) for _ in range(replicas)]
    if gpus_per_replica > 1 and gpus_per_replica != int(gpus_per_replica):
        raise UsageError(
            f"a replica cannot have {gpus_per_replica} GPUs",
            fix="a whole number, or a part of one GPU",
        )
    devices_here = gpus()
    if replicas * gpus_per_replica > len(devices_here):
        raise UsageError(
            f"{replicas} replicas with {gpus_per_replica:g} GPUs each, and this machine shows {len(devices_here)}",
            fix="fewer --replicas, a smaller --gpus_per_replica, or --executor ray for several machines",
        )
    parts = []
    for index in range(replicas):
        first = int(index * gpus_per_replica)
        if gpus_per_replica >= 1:
            devices = devices_here[first : first + int(gpus_per_replica)]
        else:
            devices = devices_here[first : first + 1]
        parts.append(
            {
                **threads,
                "CUDA_VISIBLE_DEVICES": ",".join(devices if gpus_per_replica else ()),
            }
        )
    return parts


def gpus() -> list[str]:
    """Return the GPUs that this process may use, in the format of `CUDA_VISIBLE_DEVICES`."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip()]
    return [
        str(index) for index, _ in enumerate(sorted(Path("/dev").glob("nvidia[0-9]*")))
    ]


def _cores_each(replicas: int) -> int:
    """Return how many threads each replica may use, so that all together use each core once."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)) // replicas)
    return 1
