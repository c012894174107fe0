"""Downloads of files that guest classes declare."""

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from http_thread import in_a_thread

from assay.core import DataError, UsageError
from assay.dialects.declared_fetch import fetch_declared

BODY = b"index\tquestion\n" + b"1\twhat?\n" * 2000
MD5 = hashlib.md5(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.ranges.append(self.headers.get("Range"))
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        end = len(BODY) // 2 if self.path == "/cut.tsv" and not start else len(BODY)
        self.wfile.write(BODY[start:end])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with in_a_thread(Handler) as server:
        server.ranges = []
        yield server


def url(server: ThreadingHTTPServer, name: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{name}"


def test_a_file_is_fetched_once_and_checked_afterwards(server, tmp_path):
    for _ in range(2):
        path = fetch_declared(
            url(server, "a.tsv"), tmp_path / "a.tsv", checksum=MD5, allow_private=True
        )

    assert path.read_bytes() == BODY
    assert len(server.ranges) == 1


def test_an_interrupted_download_continues_where_it_stopped(server, tmp_path):
    target = tmp_path / "cut.tsv"

    with pytest.raises(DataError, match="the download"):
        fetch_declared(url(server, "cut.tsv"), target, checksum=MD5, allow_private=True)
    assert not target.exists()
    fetch_declared(url(server, "cut.tsv"), target, checksum=MD5, allow_private=True)

    assert target.read_bytes() == BODY
    assert server.ranges == [None, f"bytes={len(BODY) // 2}-"]


def test_a_file_with_the_wrong_md5_is_never_used(server, tmp_path):
    with pytest.raises(DataError, match="declared is"):
        fetch_declared(
            url(server, "a.tsv"),
            tmp_path / "a.tsv",
            checksum="0" * 32,
            allow_private=True,
        )

    assert list(tmp_path.iterdir()) == []


def test_without_a_checksum_the_digest_is_printed(server, tmp_path):
    with pytest.warns(UserWarning, match=hashlib.sha256(BODY).hexdigest()):
        fetch_declared(url(server, "a.tsv"), tmp_path / "a.tsv", allow_private=True)


def test_a_file_that_is_not_what_is_declared_is_named_and_not_replaced(
    server, tmp_path
):
    (tmp_path / "a.tsv").write_text("old")
    (tmp_path / "a.tsv.part").write_text("half of somebody else's")

    with pytest.raises(
        DataError,
        match=r"does not have the declared md5 .*; fix: move it away to have it downloaded",
    ):
        fetch_declared(
            url(server, "a.tsv"), tmp_path / "a.tsv", checksum=MD5, allow_private=True
        )
    assert (tmp_path / "a.tsv").read_text() == "old"
    (tmp_path / "a.tsv").unlink()

    path = fetch_declared(
        url(server, "a.tsv"), tmp_path / "a.tsv", checksum=MD5, allow_private=True
    )

    assert (
        path.read_bytes() == BODY
        and (tmp_path / "a.tsv.part").read_text() == "half of somebody else's"
    )


def test_private_addresses_need_consent(server, tmp_path):
    with pytest.raises(UsageError):
        fetch_declared(url(server, "a.tsv"), tmp_path / "a.tsv", checksum=MD5)
