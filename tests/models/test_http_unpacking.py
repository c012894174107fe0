"""Packed answers that cost more than they seem to: memory, time, and both for many at once."""

import asyncio
import gzip
import os
import subprocess
import sys
import time
import zlib
from functools import cache

import pytest

from assay.models import http_answer
from assay.models.http import Client, Limits
from assay.models.http_answer import (
    MOST_MEMBERS,
    BrokenOff,
    TooLarge,
    Unreadable,
    inflate,
    unpack,
)

EMPTY = gzip.compress(b"")


@cache
def bomb():
    """10 MB that unpack to 10 GB."""
    return gzip.compress(bytes(64 * 2**20)) * 160


def reply(body, encoding="gzip"):
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def asked(body, count=1, encoding="gzip", limits=Limits()):
    """What becomes of so many questions at once."""

    async def talk():
        async def serve(reader, writer):
            await reader.readuntil(b"{}")
            writer.write(reply(body, encoding))
            await reader.read()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        client = Client(limits)
        asking = [client.post(url, {}, {}) for _ in range(count)]
        got = await asyncio.gather(*asking, return_exceptions=True)
        await client.close()
        listening.close()
        return got

    return asyncio.run(talk())


@pytest.mark.parametrize("count", [MOST_MEMBERS + 1, 400_000])
def test_members_that_hold_nothing_are_refused_before_they_cost_anything(count):
    body = EMPTY * count
    began = time.thread_time()

    with pytest.raises(Unreadable, match=f"more than {MOST_MEMBERS} members"):
        inflate(body, 2**25)

    assert time.thread_time() - began < 2


def test_as_many_members_as_anybody_sends_are_read():
    assert inflate(gzip.compress(b"ab") * MOST_MEMBERS, 2**20) == b"ab" * MOST_MEMBERS
    for size in (2**20, 2**20 + 1, 3 * 2**20):  # more than is unpacked at once
        assert (
            inflate(gzip.compress(bytes(size)) + gzip.compress(b"tail"), 2**23)
            == bytes(size) + b"tail"
        )


def test_what_unpacks_to_too_much_is_given_up_at_the_limit():
    deflated = zlib.compress(bytes(64 * 2**20))
    for body in (bomb(), deflated, deflated[2:-4]):
        with pytest.raises(TooLarge):
            inflate(body, 2**20)


def test_blocks_that_hold_nothing_are_given_up_in_time(monkeypatch):
    monkeypatch.setattr(http_answer, "MOST_SECONDS", 0.0)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    empty_block = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)

    with pytest.raises(Unreadable, match=r"longer than 0 s to unpack"):
        inflate(empty_block * 4_000_000, 2**25)


def test_a_cancelled_request_stops_decompression():
    with pytest.raises(BrokenOff, match="no longer needed"):
        inflate(gzip.compress(bytes(2**22)), 2**25, lambda: False)


@pytest.mark.parametrize("size", [10, 100_000])
def test_small_and_large_answers_are_unpacked_alike(size):
    body = b'{"a": "' + bytes(str(list(range(size))), "ascii") + b'"}'

    [got] = asked(gzip.compress(body))

    assert got == {"a": str(list(range(size)))}


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip, deflate"])
def test_what_was_not_asked_for_is_refused_in_words(encoding):
    [error] = asked(gzip.compress(gzip.compress(b"{}")), encoding=encoding)

    assert (error.kind, error.retryable) == ("bad_response", False)
    assert f"packed as {encoding!r}, which was not asked for" in error.message


def test_a_bomb_within_a_bomb_is_unpacked_once():
    inner = gzip.compress(bytes(2**24))

    [error] = asked(gzip.compress(inner))

    assert error.kind == "bad_response" and "not whole JSON" in error.message


def test_the_event_loop_continues_while_a_large_answer_is_unpacked(monkeypatch):
    started, go_on = [], asyncio.Event()

    def slow(body, most, is_wanted):
        started.append(True)
        while is_wanted():
            time.sleep(0.001)
        return b"{}"

    monkeypatch.setattr(http_answer, "inflate", slow)

    async def main():
        task = asyncio.ensure_future(unpack(bytes(100_000), "gzip", 2**20))
        while not started:
            await asyncio.sleep(0.001)  # the loop still turns
        task.cancel()  # as Ctrl-C does
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(main())

    assert go_on.is_set()


FIVE_AT_ONCE = """
import asyncio, resource, sys
from assay.models.http import Client

async def main():
    client = Client()
    asking = [client.post(f"http://127.0.0.1:{sys.argv[1]}/", {}, {}) for _ in range(5)]
    return await asyncio.gather(*asking, return_exceptions=True)

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kinds = [error.kind for error in asyncio.run(main())]
print(kinds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_five_bombs_at_once_take_less_than_two_hundred_mebibytes():
    async def main():
        async def serve(reader, writer):
            await reader.readuntil(b"{}")
            writer.write(reply(bomb()))
            await reader.read()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = str(listening.sockets[0].getsockname()[1])
        environment = {
            name: value
            for name, value in os.environ.items()
            if "proxy" not in name.lower()
        }
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            FIVE_AT_ONCE,
            port,
            stdout=subprocess.PIPE,
            env=environment,
        )
        said, _ = await child.communicate()
        listening.close()
        return said.decode()

    kinds, _, grown = asyncio.run(main()).strip().rpartition(" ")

    assert kinds == str(["too_large"] * 5)
    assert float(grown) < 200  # MiB
