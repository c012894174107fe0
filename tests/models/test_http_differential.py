"""Our reader of answers against h11, which is written after the RFCs and refuses what they forbid.

What h11 refuses must never leave a connection that is used again, and where both read an answer they read the same.
"""

import random

import h11
import pytest
from each_row import each
from fault_counts import COUNTS

from assay.models.http_answer import Answer, BrokenOff, TooLarge, Unreadable

PARTS = 20
WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
STATUS = [
    b"HTTP/1.0 200 OK", b"HTTP/1.1 200", b"HTTP/1.1  200 OK", b"HTTP/1.1 204 No", b"HTTP/1.1 500 Oops \xe9",
    b"HTTP/1.1 304 N", b"HTTP/1.1 101 S", b"HTTP/1.1 999 x", b"HTTP/1.1 099 x", b"HTTP/1.1 000 x", b"HTTP/1.2 200 OK",
    b"HTTP/2.0 200 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"http/1.1 200 ok", b"HTTP/1.1 200 O\x01K",
    b"HTTP/1.1\t200 OK", b"HTTP/1.1 200 ", b"RTSP/1.0 200 OK", b"HTTP/1.1 200 O\x00K", b"HTTP/1.1 200 O\x0bK",
]  # fmt: skip
HEADERS = [
    b"Content-Length: 5", b"content-length:8", b"Content-Length : 8", b"Content-Length: 8, 8", b"Content-Length: +8",
    b"Content-Length: 0x8", b"Content-Length: ", b"Content-Length: 8 8", b"Content-Length: 99999999999999999999",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"transfer-encoding: Chunked",
    b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding : chunked",
    b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade", b"Upgrade: h2c", b"X: y", b" folded",
    b"\tfolded", b" Content-Length: 8", b"X-Y: \x01\x02", b"X: \xff", b"NoColon", b": empty", b"X y: z", b"X:",
    b"X:  a b ", b"Trailer: X", b"X: a\x0bb", b"X: a\x00", b"X: a\x7f", b"(x): y", b"X\x00: y", b"X\xe9: y",
]  # fmt: skip
CHUNKS = [
    b'8\r\n{"a": 1}\r\n0\r\n\r\n', b'3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n', b'8;x=y\r\n{"a": 1}\r\n0\r\nT: x\r\n\r\n',
    b'8\n{"a": 1}\n0\n\n', b'8 \r\n{"a": 1}\r\n0\r\n\r\n', b'8 ;x\r\n{"a": 1}\r\n0\r\n\r\n', b"zz\r\n",
    b'08\r\n{"a": 1}\r\n00\r\n\r\n', b'8\r\n{"a": 1}X\r\n0\r\n\r\n', b'8\r\n{"a": 1}0\r\n\r\n', b"0\r\n\r\n",
    b'8\r\n{"a": 1}\r\n0\r\nbad trailer\r\n\r\n', b'8;"\r\n{"a": 1}\r\n0\r\n\r\n', b'-8\r\n{"a": 1}\r\n0\r\n\r\n',
    b'0x8\r\n{"a": 1}\r\n0\r\n\r\n', b'8\r\n{"a": 1}\r\n0\r\nT: x\r\n y\r\n\r\n', b'8_\r\n{"a": 1}\r\n0\r\n\r\n',
    b'fffffffffffffffff8\r\n{"a": 1}\r\n0\r\n\r\n', b'8\r\n{"a": 1}\r\n0\r\n \r\n\r\n',
]  # fmt: skip
BEHIND = [b"\r\n", b"x", b"HTTP/1.1 200 OK\r\n", b"\n", b"\r", b"\0", b" ", WHOLE]


def answer(rng):
    """Bytes a server might send: well-formed ones, and all that is wrong with others, alone and together."""
    is_clean = rng.random() < 0.5
    is_chunked = rng.random() < 0.5
    lines = [
        b"HTTP/1.1 200 OK" if is_clean or rng.random() < 0.5 else rng.choice(STATUS)
    ]
    lines += [b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: 8"] * (
        rng.random() < 0.9
    )
    lines += [rng.choice(HEADERS) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    body = rng.choice(CHUNKS) if is_chunked else b'{"a": 1}'
    end = b"\r\n" if rng.random() < 0.7 else None
    data = b"".join(
        line + (end or rng.choice([b"\r\n", b"\r\n", b"\n", b"\r", b"\r\r\n"]))
        for line in [*lines, b""]
    )
    data += body
    if rng.random() < 0.03:
        data = (
            rng.choice(
                [
                    b"HTTP/1.1 100 Continue\r\n\r\n",
                    b"\r\n",
                    b"HTTP/1.1 103 E\r\nX: y\r\n\r\n\r\n",
                ]
            )
            + data
        )
    if rng.random() < 0.1:
        data += rng.choice(BEHIND)
    return data if is_clean or rng.random() < 0.5 else mutated(rng, bytearray(data))


def mutated(rng, data):
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data))
        how = rng.randrange(3)
        if how == 0:
            data[at] = rng.choice([*b"\0\1\t\n\r :0;,", 255, rng.randrange(256)])
        elif how == 1 and len(data) > 8:
            del data[at : at + rng.randrange(1, 4)]
        else:
            data[at:at] = data[max(0, at - rng.randrange(9)) : at]
    return bytes(data)


def in_pieces(rng, data):
    if rng.random() < 0.5:
        return [data]
    cuts = sorted(
        rng.sample(range(1, len(data)), min(len(data) - 1, rng.randrange(1, 6)))
    )
    return [
        data[start:stop]
        for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)
    ]


def read_by_h11(data, has_ended):
    """What h11 makes of it: `(status, body, whether the connection can be used again)`, or why not."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=2**20)
    connection.send(
        h11.Request(
            method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]
        )
    )
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    if has_ended:
        connection.receive_data(b"")
    status, body = 0, b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            return f"refused: {error}"
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            can_be_used = (
                connection.their_state is h11.DONE and not connection.trailing_data[0]
            )
            return status, body, can_be_used
        elif not isinstance(event, h11.InformationalResponse):
            return "not whole"


def read_by_us(pieces, has_ended):
    ours = Answer(2**20)
    try:
        for place, piece in enumerate(pieces):
            reply = ours.take_in(piece)
            if reply is not None:
                # What comes afterwards is bytes nobody asked for, which close the connection (http_connection).
                return (
                    reply.status,
                    reply.body,
                    ours.may_be_followed and place == len(pieces) - 1,
                )
        reply = ours.ended() if has_ended else None
    except (BrokenOff, TooLarge, Unreadable) as error:
        return f"refused: {error!r}"
    return "not whole" if reply is None else (reply.status, reply.body, False)


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_no_connection_is_used_again_after_what_h11_refuses_and_both_read_the_same(
    part,
):
    kept = 0
    for number in range(part, COUNTS.fuzzed_answers, PARTS):
        rng = random.Random(number)
        data, has_ended = answer(rng), rng.random() < 0.5
        theirs, ours = (
            read_by_h11(data, has_ended),
            read_by_us(in_pieces(rng, data), has_ended),
        )
        if isinstance(ours, tuple) and ours[2]:
            assert theirs == ours, (number, data)
            kept += 1
        elif isinstance(ours, tuple) and isinstance(theirs, tuple):
            assert theirs[:2] == ours[:2], (number, data)
    assert kept > COUNTS.fuzzed_answers / PARTS / 20, (
        "too few of the answers were good ones"
    )


@each("cut", range(1, len(WHOLE)))
def test_where_an_answer_is_cut_into_pieces_changes_nothing(cut):
    assert (
        read_by_us([WHOLE[:cut], WHOLE[cut:]], False)
        == (200, b'{"a": 1}', True)
        == read_by_h11(WHOLE, False)
    )
