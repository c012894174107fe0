"""Our own HTTP/1.1, against a server that writes bytes as it pleases."""

import asyncio
import contextlib
import gzip
import socket
import zlib

import pytest

from assay.models.http import Client, HttpFailure, Limits, Refused
from assay.models.http_answer import BrokenOff
from assay.models.http_connection import Connection

WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Server:
    """Answers each question with the next of its replies, each a list of pieces; `None` as a piece hangs up."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen, self.connections, self.closed = [], 0, 0

    async def __call__(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line[15:])
                        for line in head.split(b"\r\n")
                        if line[:15] == b"Content-Length:"
                    ),
                    0,
                )
                self.seen.append((head, await reader.readexactly(length)))
                reply = (
                    self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
                )
                for piece in [reply] if isinstance(reply, bytes) else reply:
                    if piece is None:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed += 1
            writer.close()


def posted(
    server,
    times=1,
    *,
    scheme="http",
    host="127.0.0.1",
    limits=None,
    context=None,
    path="/v1/x",
):
    """What the client makes of the server: decoded bodies, or the failures."""

    async def talk():
        listening = await asyncio.start_server(server, "127.0.0.1", 0, ssl=context)
        port = listening.sockets[0].getsockname()[1]
        client = Client(limits or Limits())
        got = []
        for _ in range(times):
            try:
                got.append(
                    await client.post(
                        f"{scheme}://{host}:{port}{path}", {"q": 1}, {"X-Key": "k"}
                    )
                )
            except (HttpFailure, Refused) as error:
                got.append(error)
        await client.close()
        listening.close()
        return got

    return asyncio.run(talk())


def packed(body, encoding):
    return (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: %d\r\n\r\n%b"
        % (
            encoding.encode(),
            len(body),
            body,
        )
    )


def test_half_a_surrogate_pair_is_a_character_like_any_other():
    body = b'{"a": "4\\ud800"}'

    assert posted(
        Server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    ) == [{"a": "4\ud800"}]


def test_a_deeply_nested_body_is_refused():
    body = b"[" * 100_000

    (failure,) = posted(
        Server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    )

    assert failure.kind == "bad_response" and "not whole JSON" in str(failure)


def test_a_question_is_one_head_and_one_body():
    server = Server(WHOLE)

    assert posted(server) == [{"a": 1}]

    head, body = server.seen[0]
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/x HTTP/1.1"
    assert lines[1].startswith("Host: 127.0.0.1:")
    assert {"Content-Type: application/json", "X-Key: k", "Content-Length: 7"} <= set(
        lines
    )
    assert body == b'{"q":1}'


@pytest.mark.parametrize(
    "pieces",
    [
        [WHOLE[:5], WHOLE[5:20], WHOLE[20:41], WHOLE[41:]],
        [b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE],
        [
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n',
            b'5\r\n": 1}\r\n0\r\n\r\n',
        ],
        [
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"a": 1}\r\n0\r\nTrailer: x',
            b"\r\n\r\n",
        ],
        [b'HTTP/1.1 200 OK\r\n\r\n{"a": ', b"1}", None],
        [b'HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}', None],
        [packed(gzip.compress(b'{"a": 1}'), "gzip")],
        [packed(gzip.compress(b'{"a') + gzip.compress(b'": 1}'), "gzip")],
        [packed(zlib.compress(b'{"a": 1}'), "deflate")],
        [packed(zlib.compress(b'{"a": 1}')[2:-4], "deflate")],
        [
            b'HTTP/1.1 200 OK\r\nConnection: Close, TE\r\nContent-Length: 8\r\n\r\n{"a": 1}',
            None,
        ],
        [b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\xef\xbb\xbf{"a": 1}'],
        [b'HTTP/1.1 200 OK\nContent-Length: 8\n\n{"a": 1}'],
        [b"HTTP/1.1 200 OK\nContent-Length", b": 8\n", b'\n{"a": 1}'],
        [b'HTTP/1.1 200 OK\nContent-Length: 8\r\n\n{"a": 1}'],
        [b'HTTP/1.1 200 OK\n\n{"a": 1}', None],
        [
            b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 100 Continue\r\n",
            b"\r\n" + WHOLE,
        ],
        [b'HTTP/1.0 200 OK\r\n\r\n{"a": 1}', None],
        [b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"a": 1}', None],
        [
            b'HTTP/1.1 200\r\nContent-Encoding: identity\r\nContent-Length: 8\r\n\r\n{"a": 1}'
        ],
        [
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"a": 1}\r',
            b"\n0\r\nA: b\r\nC: d\r\n\r",
            b"\n",
        ],
    ],
    ids=[
        "in-pieces",
        "continue-first",
        "chunks",
        "trailer",
        "until-close",
        "http-1.0",
        "gzip",
        "gzip-in-two",
        "deflate",
        "bare-deflate",
        "closing",
        "byte-order-mark",
        "bare-lf",
        "bare-lf-in-pieces",
        "both-ends",
        "bare-lf-until-close",
        "several-words-before",
        "http-1.0-until-close",
        "closing-without-length",
        "no-reason",
        "two-trailers",
    ],
)
def test_an_answer_is_read_however_it_comes(pieces):
    assert posted(Server(pieces), times=2) == [{"a": 1}, {"a": 1}]


@pytest.mark.parametrize(
    ("pieces", "kind", "said"),
    [
        ([None], "connection", "the server closed the connection"),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n{", None],
            "broken_reply",
            "the answer broke off",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", None],
            "broken_reply",
            "broke off",
        ),
        (
            [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"],
            "broken_reply",
            "the server does not speak HTTP: 'SSH-2.0-OpenSSH_9.2'",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: soon\r\n\r\n"],
            "broken_reply",
            "not well-formed HTTP",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
            "broken_reply",
            "character in chunk size",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"],
            "broken_reply",
            "not well-formed",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000],
            "broken_reply",
            "the head of the answer does not end",
        ),
        (
            [
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"
            ],
            "broken_reply",
            "unpacked",
        ),
        ([WHOLE[:-3], None], "broken_reply", "broke off"),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{'a':"],
            "bad_response",
            "not whole JSON",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Le", None],
            "broken_reply",
            "the answer broke off",
        ),
        (
            [b"HTTP/1.1 200 OK\nContent-Length: 8\n", None],
            "broken_reply",
            "the answer broke off",
        ),
        (
            [b"HTTP/1.1 100 Continue\r\n\r\n", None],
            "connection",
            "the server closed the connection",
        ),
        (
            [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
            "broken_reply",
            "status 101",
        ),
        (
            [b"220 mail.example ESMTP\r\n"],
            "broken_reply",
            "does not speak HTTP: '220 mail.example ESMTP'",
        ),
        (
            [b"HTTP/1.1 OK\r\n\r\n"],
            "broken_reply",
            "not well-formed HTTP: Invalid status code ('HTTP/1.1 OK')",
        ),
        (
            [b"HTTP/1.1 200 OK\nX: " + b"y" * 70_000],
            "broken_reply",
            "the head of the answer does not end",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 9\r\n\r\n"],
            "broken_reply",
            "Content-Length",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: +8\r\n\r\n"],
            "broken_reply",
            "character in Content-Length",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n"],
            "broken_reply",
            "character in Content-Length",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n"],
            "broken_reply",
            "character in chunk size",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nX: a\rContent-Length: 8\r\n\r\n"],
            "broken_reply",
            "not well-formed HTTP",
        ),
        (
            [b'HTTP/1.1 200 OK\r\nContent-Length : 8\r\n\r\n{"a": 1}'],
            "broken_reply",
            "Invalid header field char",
        ),
        (
            [b'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 8\r\n\r\n{"a": 1}'],
            "broken_reply",
            "whitespace",
        ),
        (
            [b'HTTP/1.1 200 OK\r\nX: a\x00\r\nContent-Length: 8\r\n\r\n{"a": 1}'],
            "broken_reply",
            "header value char",
        ),
        (
            [b'HTTP/1.1 200 OK\r\nX\x01: a\r\nContent-Length: 8\r\n\r\n{"a": 1}'],
            "broken_reply",
            "not well-formed",
        ),
        (
            [WHOLE.replace(b"OK\r\n", b"OK\r\nContent-Length: 8\r\n")],
            "broken_reply",
            "Duplicate Content-Length",
        ),
        (
            [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"f" * 20
                + b"\r\n"
            ],
            "broken_reply",
            "overflow",
        ),
        (
            [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
                + b"y" * 70_000
            ],
            "broken_reply",
            "the trailer of the answer does not end",
        ),
    ],
)
def test_an_incomplete_response_may_be_retried(pieces, kind, said):
    [error] = posted(Server(pieces))

    assert (error.kind, error.retryable) == (kind, True)
    assert said in error.message


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (
            packed(b"\x0b\x02\x80", "br"),
            "bad_response",
            "the answer is packed as 'br', which was not asked for",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "bad_response",
            "the answer is sent as 'gzip, chunked', which was not asked for",
        ),
        (
            b"\x15\x03\x03\x00\x02\x02\x46",
            "tls",
            "the server speaks TLS; fix: start base_url with https://",
        ),
    ],
)
def test_what_will_be_no_better_next_time_is_not_tried_again(reply, kind, said):
    [error] = posted(Server(reply))

    assert (error.kind, error.retryable) == (kind, False)
    assert said in error.message


@pytest.mark.parametrize(
    "reply",
    [
        b'HTTP/1.1 200 OK\nContent-Length: 8\n\n{"a": 1}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n{"a": 1}',
        b'HTTP/1.1 200 O\x01K\r\nContent-Length: 8\r\n\r\n{"a": 1}',
        b'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 8\r\n\r\n{"a": 1}',
        b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}\r\n',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n8\r\n{"a": 1}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nSet-Cookie: \x1b[0m\r\nContent-Length: 8\r\n\r\n{"a": 1}',
        b'HTTP/1.1 200 OK\r\nX: a\x01\x7f\r\nContent-Length: 8\r\n\r\n{"a": 1}',
    ],
    ids=[
        "head",
        "identity",
        "reason",
        "http-1.0",
        "empty-line-behind",
        "two-measures",
        "escape-in-a-header",
        "control-characters-in-a-header",
    ],
)
def test_after_an_answer_that_can_be_read_in_two_ways_the_connection_is_not_used_again(
    reply,
):
    server = Server([reply, None] if b"identity" in reply else reply)

    assert posted(server, times=2) == [{"a": 1}, {"a": 1}]
    assert server.connections == 2


def test_an_error_quotes_the_greeting_of_a_server_that_speaks_first():
    async def greeting(reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await reader.read(1000)
        writer.close()

    [error] = posted(greeting)

    assert error.kind == "broken_reply"
    assert "SSH-2.0-OpenSSH_9.2" in error.message


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"1f4\r\n"
            + b"x" * 500
            + b"\r\n1f5\r\n",
            b"x" * 501 + b"\r\n",
        ],
    ],
)
def test_an_answer_that_is_too_large_ends_the_connection(pieces):
    [error] = posted(Server(pieces), limits=Limits(response_bytes=1000))

    assert (error.kind, error.retryable) == ("too_large", False)


def test_a_connection_serves_one_question_after_another_and_a_closed_one_is_replaced():
    chunked = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n8\r\n{"a": 1}\r\n0\r\n\r\n'
    server = Server(
        WHOLE,
        WHOLE.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),
        WHOLE,
        chunked,
        WHOLE,
    )

    assert posted(server, times=6) == [{"a": 1}] * 6
    assert server.connections == 3


def test_unrequested_bytes_are_not_taken_for_the_next_response():
    server = Server(
        WHOLE + b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 2}', WHOLE
    )

    assert posted(server, times=2) == [{"a": 1}, {"a": 1}]
    assert server.connections == 2


LATE = b'HTTP/1.1 408 Request Timeout\r\nContent-Length: 8\r\n\r\n{"a": 2}'


@pytest.mark.parametrize(
    "late",
    [LATE, LATE[:20], b"\r\n"],
    ids=["an answer", "half an answer", "an empty line"],
)
def test_bytes_that_come_between_two_questions_end_the_connection(late):
    async def talk():
        answered, hung_up, connections = asyncio.Event(), asyncio.Event(), 0

        async def server(reader, writer):
            nonlocal connections
            connections += 1
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            writer.write(WHOLE if connections == 1 else WHOLE.replace(b"1}", b"3}"))
            if connections == 1:
                await answered.wait()
                writer.write(late)
                with contextlib.suppress(ConnectionError):
                    assert await reader.read(1) == b""
                hung_up.set()
            writer.close()

        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        client = Client()
        first = await client.post(url, {}, {})
        answered.set()
        async with asyncio.timeout(30):
            await hung_up.wait()
        second = await client.post(url, {}, {})
        await client.close()
        listening.close()
        return first, second, connections

    assert asyncio.run(talk()) == ({"a": 1}, {"a": 3}, 2)


def test_a_server_that_speaks_before_it_is_asked_is_given_up(monkeypatch):
    monkeypatch.setattr("assay.models.http_connecting.LISTEN_SECONDS", 0.5)

    async def talk():
        asked = []

        async def server(reader, writer):
            writer.write(WHOLE)
            with contextlib.suppress(ConnectionError):
                asked.append(await reader.read(1))
            writer.close()

        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        client = Client()
        with pytest.raises(HttpFailure, match="unasked"):
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
            await client.post(url, {}, {})
        await client.close()
        listening.close()
        return asked

    assert set(asyncio.run(talk())) <= {b""}


class Wire(asyncio.Transport):
    """What a connection writes to; nothing is sent anywhere."""

    def __init__(self):
        super().__init__()
        self.sent, self.is_gone = [], False

    def write(self, data):
        self.sent.append(data)

    def is_closing(self):
        return self.is_gone

    def get_write_buffer_size(self):
        return 0

    def abort(self):
        self.is_gone = True


@pytest.mark.parametrize(
    "answers", [0, 1], ids=["before the first question", "after an answer"]
)
def test_what_a_server_says_unasked_is_never_read_as_an_answer_and_is_named(answers):
    async def talk():
        wire, connection = Wire(), Connection(Limits(first_byte=5))
        connection.connection_made(wire)
        for _ in range(answers):
            asking = asyncio.ensure_future(connection.exchange(b"question"))
            await asyncio.sleep(0)
            connection.data_received(WHOLE)
            assert (await asking).body == b'{"a": 1}'
        was_open = connection.is_open
        connection.data_received(LATE)
        with pytest.raises(BrokenOff) as caught:
            await connection.exchange(b"next question")
        return was_open, connection.is_open, wire.sent, str(caught.value)

    was_open, is_open, sent, said = asyncio.run(talk())

    assert was_open and not is_open and sent == [b"question"] * answers
    assert said.startswith(
        "the connection was closed after it said 'HTTP/1.1 408 Request Timeout"
    )


def test_a_reply_that_was_there_before_the_question_is_not_its_answer():
    """The bytes are in the operating system's hands, and the event loop has not seen them yet."""

    async def talk():
        theirs, ours = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(Limits(first_byte=5)), sock=ours
        )
        theirs.sendall(WHOLE)
        with pytest.raises(BrokenOff, match="unasked"):
            await connection.exchange(b"question")
        theirs.setblocking(False)
        try:
            return theirs.recv(100)
        except OSError:
            return b""  # nothing was sent
        finally:
            theirs.close()

    assert asyncio.run(talk()) == b""


@pytest.mark.parametrize(("status", "is_answer"), [(200, False), (413, True)])
def test_only_a_refusal_may_come_before_the_whole_question_was_sent(status, is_answer):
    class Slow(Wire):
        def get_write_buffer_size(self):
            return 10

    async def talk():
        connection = Connection(Limits(first_byte=5))
        connection.connection_made(Slow())
        asking = asyncio.ensure_future(connection.exchange(b"question"))
        await asyncio.sleep(0)
        connection.data_received(WHOLE.replace(b"200", b"%d" % status))
        return await asking

    if is_answer:
        assert asyncio.run(talk()).status == status
    else:
        with pytest.raises(BrokenOff, match="before the question was sent"):
            asyncio.run(talk())


def test_a_cancelled_question_closes_its_connection():
    server = Server([b"HTTP/1.1 200 OK\r\n"])

    async def talk():
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        client = Client()
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        asking = [asyncio.ensure_future(client.post(url, {}, {})) for _ in range(5)]
        while len(server.seen) < 5:
            await asyncio.sleep(0.001)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        async with asyncio.timeout(5):
            while server.closed < 5:
                await asyncio.sleep(0.001)
        await client.close()
        listening.close()

    asyncio.run(talk())

    assert (server.connections, server.closed) == (5, 5)


def test_a_plain_server_behind_https_is_named_as_such():
    async def plain(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    [error] = posted(plain, scheme="https")

    assert (error.kind, error.retryable) == ("tls", False)
    assert "does not speak TLS; fix: start base_url with http://" in error.message


def test_an_untrusted_certificate_is_refused_unless_its_authority_is_named(
    certificate, monkeypatch
):
    context, file = certificate

    [error] = posted(Server(WHOLE), scheme="https", context=context)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    trusted = posted(Server(WHOLE), scheme="https", context=context)

    assert (error.kind, error.retryable) == ("tls", False)
    assert "certificate is not trusted" in error.message
    assert "SSL_CERT_FILE" in error.message
    assert trusted == [{"a": 1}]


def test_an_unknown_host_is_reported_at_once(monkeypatch):
    def unknown(*_args, **_more):
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    [error] = posted_to("http://no-such-host.invalid/v1")

    assert (error.kind, error.retryable) == ("connection", False)
    assert (
        error.message
        == "cannot find the host 'no-such-host.invalid' (not known); fix: check base_url"
    )


def posted_to(url, limits=Limits(connect=5)):
    async def talk():
        client = Client(limits)
        try:
            return [await client.post(url, {}, {})]
        except HttpFailure as error:
            return [error]
        finally:
            await client.close()

    return asyncio.run(talk())


@pytest.mark.parametrize(
    ("seconds", "retryable"),
    [(0.0, False), (60.0, True)],
    ids=("at once", "in a minute"),
)
def test_a_server_that_was_never_there_is_named_with_its_port_and_waited_for_a_little(
    seconds, retryable
):
    [error] = posted_to("http://127.0.0.1:1/v1", Limits(start=seconds))

    assert (error.kind, error.retryable) == ("connection", retryable)
    assert error.message.startswith(
        "cannot connect to 127.0.0.1:1: Connection refused; fix: start the server"
    )


@pytest.mark.parametrize(
    ("seconds", "retryable"),
    [(0.0, False), (60.0, True)],
    ids=("at once", "in a minute"),
)
def test_a_server_that_hangs_up_on_every_question_may_expect_tls_and_is_waited_for_a_little(
    seconds, retryable
):
    [error] = posted(Server([None]), limits=Limits(start=seconds))

    assert (error.kind, error.retryable) == ("connection", retryable)
    assert error.message.endswith(
        "the server closed the connection; fix: check base_url, which may have to start with https://"
    )


def test_a_server_that_answered_before_may_hang_up_and_be_asked_again():
    good, bad = posted(Server(WHOLE, [None]), times=2, limits=Limits(start=0.0))

    assert good == {"a": 1}
    assert (bad.kind, bad.retryable, bad.message) == (
        "connection",
        True,
        "the server closed the connection",
    )


def test_a_server_that_went_away_may_come_back():
    async def talk():
        listening = await asyncio.start_server(Server([WHOLE, None]), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        client = Client()
        answer = await client.post(url, {}, {})
        listening.close()
        await listening.wait_closed()
        with pytest.raises(HttpFailure) as caught:
            await client.post(url, {}, {})
        await client.close()
        return answer, caught.value

    answer, error = asyncio.run(talk())

    assert answer == {"a": 1}
    assert (error.kind, error.retryable) == ("connection", True)


class Proxy:
    """Passes on what it is asked to, as proxies do; remembers the first lines it was sent."""

    def __init__(self, refuses=False):
        self.lines, self.logins, self.refuses = [], [], refuses

    async def __call__(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.lines.append(head.split("\r\n")[0])
        self.logins += [
            line for line in head.split("\r\n") if line.lower().startswith("proxy-auth")
        ]
        if self.refuses:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            writer.close()
            return
        if not head.startswith("CONNECT"):
            writer.write(WHOLE)
            return
        port = int(head.split()[1].rpartition(":")[2])
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))


async def _copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def through(proxy, monkeypatch, *, scheme, server=None, context=None, login=""):
    async def talk():
        listening = await asyncio.start_server(proxy, "127.0.0.1", 0)
        behind = await asyncio.start_server(
            server or Server(WHOLE), "127.0.0.1", 0, ssl=context
        )
        port = behind.sockets[0].getsockname()[1]
        monkeypatch.setenv(
            f"{scheme}_proxy",
            f"http://{login}127.0.0.1:{listening.sockets[0].getsockname()[1]}",
        )
        client = Client(Limits(connect=5))
        try:
            return await client.post(f"{scheme}://localhost:{port}/v1/x", {}, {}), port
        except HttpFailure as error:
            return error, port
        finally:
            await client.close()
            listening.close()
            behind.close()

    return asyncio.run(talk())


def test_a_proxy_gets_the_whole_address(monkeypatch):
    proxy = Proxy()

    answer, port = through(proxy, monkeypatch, scheme="http")

    assert answer == {"a": 1}
    assert proxy.lines == [f"POST http://localhost:{port}/v1/x HTTP/1.1"]


def test_tls_goes_through_a_tunnel_with_the_proxys_own_login(monkeypatch, certificate):
    context, file = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    proxy = Proxy()

    answer, port = through(
        proxy, monkeypatch, scheme="https", context=context, login="me:pass%20word@"
    )

    assert answer == {"a": 1}
    assert proxy.lines == [f"CONNECT localhost:{port} HTTP/1.1"]
    assert proxy.logins == ["Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk"]


def test_a_proxy_that_refuses_is_named(monkeypatch):
    error, _ = through(Proxy(refuses=True), monkeypatch, scheme="https")

    assert "the proxy refused the connection: HTTP/1.1 403 Forbidden" in error.message
    assert not error.retryable
