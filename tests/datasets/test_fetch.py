"""Downloads from a server on this machine."""

import hashlib
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from http_thread import in_a_thread

from assay.core import DataError, UsageError
from assay.datasets.fetch import fetch

BODY = b'{"question": "?", "answer": "!"}\n' * 1000
DIGEST = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved.jsonl":
            self.send_response(302)
            self.send_header("Location", "/data.jsonl")
            self.end_headers()
        elif self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path == "/to-file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path in ("/data.jsonl", "/cut.jsonl", "/huge.jsonl"):
            self.send_response(200)
            size = {"/cut.jsonl": len(BODY) + 5, "/huge.jsonl": 10**12}.get(
                self.path, len(BODY)
            )
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(BODY)
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with in_a_thread(Handler) as server:
        server.seen = []  # type: ignore[attr-defined]
        yield server


def _url(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def test_a_file_is_fetched_once_and_named_by_its_hash(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    first = fetch(
        _url(server, "/data.jsonl"), sha256=DIGEST, folder=tmp_path, allow_private=True
    )
    second = fetch(
        _url(server, "/data.jsonl"), sha256=DIGEST, folder=tmp_path, allow_private=True
    )

    assert first == second == tmp_path / f"{DIGEST[:12]}-data.jsonl"
    assert first.read_bytes() == BODY
    assert server.seen == ["/data.jsonl"]  # type: ignore[attr-defined]


def test_a_redirect_is_followed(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    path = fetch(
        _url(server, "/moved.jsonl"), sha256=DIGEST, folder=tmp_path, allow_private=True
    )

    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    ("path", "digest", "words"),
    [
        ("/data.jsonl", "0" * 64, f"the download has sha256 {DIGEST}, expected 000"),
        ("/cut.jsonl", DIGEST, r"(was cut after|IncompleteRead)"),
        (
            "/huge.jsonl",
            DIGEST,
            "has 1000000000000 bytes, more than the limit of 1000000",
        ),
        ("/none.jsonl", DIGEST, "the server answered 404"),
        ("/loop", DIGEST, "more than 5 redirects"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(
    server: ThreadingHTTPServer, tmp_path: Path, path: str, digest: str, words: str
) -> None:
    with pytest.raises(DataError, match=words):
        fetch(
            _url(server, path),
            sha256=digest,
            folder=tmp_path,
            allow_private=True,
            max_bytes=1_000_000,
        )

    assert list(tmp_path.iterdir()) == []


def test_a_redirect_to_a_file_is_refused(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="only https is fetched, not file"):
        fetch(
            _url(server, "/to-file"), sha256=DIGEST, folder=tmp_path, allow_private=True
        )


def test_private_addresses_are_refused_and_never_contacted(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    port = server.server_address[1]
    for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"):
        with pytest.raises(
            UsageError, match=r"is the private address .*fix: --allow-private-urls"
        ):
            fetch(f"https://{host}:{port}/data.jsonl", sha256=DIGEST, folder=tmp_path)

    assert server.seen == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "url",
    ["http://example.org/x", "file:///etc/passwd", "ftp://example.org/x", "data.jsonl"],
)
def test_only_https_is_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="only https is fetched"):
        fetch(url, sha256=DIGEST, folder=tmp_path)


def test_a_checksum_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a sha256: 'abc'"):
        fetch("https://example.org/x", sha256="abc", folder=tmp_path)


def test_a_name_that_changes_its_address_is_connected_where_it_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, contacted = iter(["93.184.215.14", "127.0.0.1", "127.0.0.1"]), []

    def resolve(host: str, port: int, *_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def refuse(address: tuple[str, int], *_: object, **__: object) -> None:
        contacted.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", refuse)

    with pytest.raises(DataError, match="Connection refused"):
        fetch("https://rebinding.example/data.jsonl", sha256=DIGEST, folder=tmp_path)

    assert contacted == [("93.184.215.14", 443)]


def test_a_name_with_one_private_address_among_public_ones_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("93.184.215.14", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with pytest.raises(UsageError, match=r"is the private address 10\.0\.0\.1"):
        fetch("https://both.example/data.jsonl", sha256=DIGEST, folder=tmp_path)
