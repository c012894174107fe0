"""The server's limits on connections."""

import contextlib
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import Viewer
from made_runs import sums

from assay.view.view_server import ViewerServer, bind, make_app


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
    monkeypatch.setattr("assay.view.view_server.REQUEST_SECONDS", 0.2)

    with connect(server) as connection:
        connection.sendall(sent)

        assert is_closed(connection)


def ask_and_read_nothing(server: Viewer, cookie: bytes) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.settimeout(30)
    parts = urlsplit(server.address)
    connection.connect((parts.hostname, parts.port))
    request = b"GET /app/all.js HTTP/1.1\r\nHost: localhost\r\n" + cookie + b"\r\n"
    connection.sendall(request * 20)
    return connection


def test_a_connection_that_never_reads_its_answers_is_closed(
    server: Viewer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.view.view_server.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("assay.view.view_server.MOST_CONNECTIONS", 1)
    with ask_and_read_nothing(server, b""):
        for _ in range(300):
            with contextlib.suppress(OSError), connect(server) as other:
                other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                if other.recv(100).startswith(b"HTTP/1.1 200"):
                    break
            time.sleep(0.05)
        else:
            pytest.fail("the idle reader kept its place")


def test_a_browser_may_read_slowly(server: Viewer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.view.view_server.ANSWER_SECONDS", 0.05)
    set_cookie = server.app.exchange(server.app.new_token())
    cookie = f"Cookie: {set_cookie.partition(';')[0]}\r\n".encode()

    with ask_and_read_nothing(server, cookie) as connection:
        time.sleep(0.5)
        received = b""
        while received.count(b"HTTP/1.1 200") < 20:
            data = connection.recv(1 << 20)
            assert data
            received += data


def test_connections_beyond_the_limit_are_closed_and_the_others_answered(
    server: Viewer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.view.view_server.MOST_CONNECTIONS", 3)
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
