"""The server's limits on connections."""

import contextlib
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import Viewer
from made_runs import sums

from assay.view.server import bind, make_app
from assay.view.serving import ViewerServer


@pytest.fixture
def server(tmp_path: Path):
    started = Viewer(sums(tmp_path / "run", count=2))
    yield started
    started.close()


def connect(server: Viewer) -> socket.socket:
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(4096):
            pass
    return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nX-Assay: 1\r\nContent-Length: 9\r\n\r\nx",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_connection_that_never_asks_is_closed(
    server: Viewer, monkeypatch: pytest.MonkeyPatch, sent: bytes
):
    monkeypatch.setattr("assay.view.serving.REQUEST_SECONDS", 0.2)

    with connect(server) as connection:
        connection.sendall(sent)

        assert is_closed(connection)


def test_connections_beyond_the_limit_are_closed_and_the_others_answered(
    server: Viewer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.view.serving.MOST_CONNECTIONS", 3)
    with contextlib.ExitStack() as stack:
        first = [stack.enter_context(connect(server)) for _ in range(3)]
        for connection in first:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")

        extra = stack.enter_context(connect(server))

        assert is_closed(extra)


def test_a_long_body_is_answered_without_being_read(server: Viewer):
    head = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nX-Assay: 1\r\n"
    with connect(server) as connection:
        connection.sendall(head + b"Content-Length: 268435456\r\n\r\n")

        assert connection.recv(100).startswith(b"HTTP/1.1 413")
        assert is_closed(connection)


def test_the_link_is_printed_once_connections_are_accepted(tmp_path: Path):
    listener = bind(0)
    port = listener.getsockname()[1]
    events = []

    def announce() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=30):
            events.append("connected")
        server.should_exit = True

    server = ViewerServer(make_app(sums(tmp_path / "run", count=2)), announce)
    server.run(sockets=[listener])

    assert events == ["connected"]
