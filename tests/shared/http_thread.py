"""An HTTP server in a thread of the test that asks it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Takes many connections at once: whoever finds no place in the queue of five tries again after a second."""

    request_queue_size = 128


@contextmanager
def in_a_thread(handler: type[BaseHTTPRequestHandler]) -> Iterator[Server]:
    """A server at a free port. It looks every 10 ms whether to end: by default each test would wait half a second."""
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
