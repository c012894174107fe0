"""Media that rows name by URL: fetched only where it is allowed, within limits, from public addresses."""

import base64
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from http_thread import in_a_thread

from assay.core import BadSample, DataError, Media, Sample
from assay.datasets import faults, open_dataset, reach
from assay.datasets.fetch import connect, fetch_bytes
from assay.media import check_media

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
REDIRECTS = {
    "/moved.png": "/a.png",
    "/loop": "/loop",
    "/to-file": "file:///etc/hostname",
    "/to-metadata": "https://169.254.169.254/latest",
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
            self.end_headers()
        elif self.path in ("/a.png", "/cut.png", "/huge.png", "/unsized.png"):
            self.send_response(200)
            size = {"/cut.png": len(PNG) + 9, "/huge.png": 10**12}.get(
                self.path, len(PNG)
            )
            if self.path != "/unsized.png":
                self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(PNG)
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with in_a_thread(Handler) as server:
        server.seen = []  # type: ignore[attr-defined]
        yield server


def url(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def row(cell: str) -> dict[str, Any]:
    return {"id": "a", "question": "?", "answer": "x", "image": cell}


def medium(cell: str, **options: Any) -> Media:
    (sample,) = open_dataset([row(cell)], allow_urls=True, **options)
    assert isinstance(sample, Sample)
    return sample.media[0]


def test_a_url_is_a_fault_of_its_row_unless_the_task_allows_it(
    server: ThreadingHTTPServer,
) -> None:
    rows = [{**row(PNG.hex() * 2), "id": "b"}, row(url(server, "/a.png"))]

    bad = [item for item in open_dataset(rows) if isinstance(item, BadSample)][-1]

    assert (
        "rows:2:image: the image is a URL, which is not fetched, got 'http://127.0.0.1"
        in str(bad.error)
    )
    assert "allow_urls" in str(bad.error)
    assert server.seen == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/a.png", "/moved.png", "/unsized.png"])
def test_an_allowed_url_is_fetched_once_when_its_bytes_are_asked_for(
    server: ThreadingHTTPServer, path: str
) -> None:
    picture = medium(url(server, path), allow_private=True)
    assert server.seen == []  # type: ignore[attr-defined]

    assert picture.data() == picture.data() == PNG
    assert check_media(picture).width == 1
    assert len(server.seen) == (2 if path == "/moved.png" else 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/gone.png", "the server answered 404"),
        ("/loop", "more than 5 redirects"),
        ("/to-file", "only https is fetched, not file"),
        ("/cut.png", "the download (was cut after|failed: IncompleteRead)"),
        ("/huge.png", "the file has 1000000000000 bytes, more than the limit of"),
    ],
)
def test_faults_are_located_at_their_row(
    server: ThreadingHTTPServer, path: str, words: str
) -> None:
    picture = medium(url(server, path), allow_private=True)

    with pytest.raises(DataError, match=rf"^rows:1:image: {words}") as caught:
        picture.data()

    assert path in str(caught.value) and "\n" not in str(caught.value)


def test_a_redirect_is_checked_like_the_first_address(
    server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_this_server(target: str, allow_private: bool, timeout: float) -> Any:
        return connect(target, target.startswith(url(server, "/")), timeout)

    monkeypatch.setattr("assay.datasets.fetch.connect", only_this_server)

    with pytest.raises(DataError, match=r"169\.254\.169\.254 is the private address"):
        medium(url(server, "/to-metadata")).data()


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("http://example.org/a.png", "only https is fetched, not http"),
        (
            "https://127.0.0.1/a.png",
            "127.0.0.1 is the private address 127.0.0.1: not fetched",
        ),
        (
            "https://169.254.169.254/latest",
            "is the private address 169.254.169.254: not fetched",
        ),
        ("https://[::1]/a.png", "is the private address ::1: not fetched"),
    ],
)
def test_private_addresses_and_plain_http_are_refused(cell: str, words: str) -> None:
    with pytest.raises(
        DataError, match=rf"^rows:1:image: .*{words}".replace("[", r"\[")
    ):
        medium(cell).data()


def test_a_body_without_a_declared_size_is_limited_too(
    server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "CELL_LIMIT", len(PNG) - 1)

    with pytest.raises(DataError, match="the file is larger than the limit of"):
        medium(url(server, "/unsized.png"), allow_private=True).data()


class Dripping:
    """A socket from which a byte comes every second, and its clock; after the last byte nothing comes."""

    _io_refs = 0

    def __init__(self, data: bytes) -> None:
        self.data, self.now, self.timeout, self.at = data, 0.0, 60.0, 0

    def monotonic(self) -> float:
        return self.now

    def gettimeout(self) -> float:
        return self.timeout

    def settimeout(self, seconds: float) -> None:
        self.timeout = seconds

    def sendall(self, data: bytes) -> None:
        self.at = 0

    def recv_into(self, buffer: Any) -> int:
        wait = 1.0 if self.at < len(self.data) else float("inf")
        self.now += min(wait, self.timeout)
        if wait > self.timeout:
            raise TimeoutError("timed out")
        buffer[0] = self.data[self.at]
        self.at += 1
        return 1

    def _decref_socketios(self) -> None: ...
    def close(self) -> None: ...


DRIPS = {
    "status line": b"HTTP/1.1 200 OK",
    "headers": b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 100,
    "redirects": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n" + b"x" * 89,
    "body until close": b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 89,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"1\r\nx\r\n" * 20,
}


@pytest.mark.parametrize("name", DRIPS)
def test_a_server_that_drips_is_given_up_at_the_deadline_whatever_it_drips(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plug = Dripping(DRIPS[name])
    monkeypatch.setattr(
        "http.client.HTTPConnection.connect",
        lambda connection: setattr(connection, "sock", plug),
    )
    monkeypatch.setattr("assay.datasets.fetch.time", plug)
    monkeypatch.setattr("assay.datasets.fetch.time", plug)

    with pytest.raises(DataError, match="the download took longer than 60 s"):
        fetch_bytes(
            "http://127.0.0.1/a.png",
            allow_private=True,
            max_bytes=10_000,
            seconds=reach.URL_SECONDS,
        )

    assert 59.9 <= plug.now <= 60.1


def test_a_server_that_is_slow_and_in_time_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug = Dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    monkeypatch.setattr(
        "http.client.HTTPConnection.connect",
        lambda connection: setattr(connection, "sock", plug),
    )
    monkeypatch.setattr("assay.datasets.fetch.time", plug)
    monkeypatch.setattr("assay.datasets.fetch.time", plug)

    assert (
        fetch_bytes("http://127.0.0.1/a", allow_private=True, max_bytes=9, seconds=60.0)
        == b"hello"
    )
