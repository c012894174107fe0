"""A replica in a separate process: `python -m assay.runner.ask.executors.worker FD`, started by `processes`.

Frames go over an inherited socket. When the main process ends, this process ends, whatever its model is doing.
"""

import asyncio
import os
import signal
import socket
import sys

from .server import Server
from .wire import HEAD


async def serve(channel: socket.socket) -> None:
    """Answer frames until the main process closes its end."""
    reader, writer = await asyncio.open_connection(sock=channel)
    server = Server()
    calls: set[asyncio.Task[None]] = set()

    async def answer(
        number: int,
        frame: bytes,
    ) -> None:
        """Handle one frame, and write the reply with the same number."""
        reply = await server.handle(frame)
        head = HEAD.pack(number, len(reply))
        writer.write(head)
        writer.write(reply)

    try:
        while True:
            head = await reader.readexactly(HEAD.size)
            number, length = HEAD.unpack(head)
            call = asyncio.ensure_future(
                answer(number, await reader.readexactly(length))
            )
            calls.add(call)
            call.add_done_callback(calls.discard)
            call.add_done_callback(_end_if_broken)
    except (asyncio.IncompleteReadError, ConnectionError):
        sys.stderr.flush()
        # A model may still be working in a thread, but its answer is no longer needed.
        os._exit(0)


def _end_if_broken(call: "asyncio.Task[None]") -> None:
    """If handling a frame raised an error in assay itself, end the process.

    Another replica then takes the requests.
    """
    if call.cancelled():
        error = None
    else:
        error = call.exception()
    if error is not None:
        sys.stderr.write(
            f"assay replica {os.getpid()}: {type(error).__name__}: {error}\n"
        )
        sys.stderr.flush()
        os._exit(70)


def main() -> None:
    """Serve the socket whose descriptor number is the only argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    descriptor = int(sys.argv[1])
    channel = socket.socket(fileno=descriptor)
    asyncio.run(serve(channel))


if __name__ == "__main__":
    main()
