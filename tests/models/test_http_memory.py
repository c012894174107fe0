"""The memory that all answers on their way share."""

import asyncio
import random
import tracemalloc

import pytest

from assay.models import http_connection
from assay.models.http import Client, Limits
from assay.models.http_answer import Answer
from assay.models.http_connection import Memory, Share
from assay.models.http_failures import parsed


def drained(memory, sizes, steps, seed):
    """Answers that each take their size in steps and then give it back; the most that was held, and who was done."""
    rng = random.Random(seed)
    most, done = 0, []

    async def main():
        nonlocal most
        loop = asyncio.get_running_loop()
        shares = []

        async def one(number, size):
            nonlocal most
            resumed = asyncio.Event()
            share = Share(resumed.set, loop)
            shares.append(share)
            for _ in range(steps):
                if not memory.take(share, size // steps):
                    await resumed.wait()
                    resumed.clear()
                most = max(most, sum(other.granted for other in shares))
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
            memory.give_back(share)
            done.append(number)

        async with asyncio.timeout(30):
            await asyncio.gather(
                *[one(number, size) for number, size in enumerate(sizes)]
            )

    asyncio.run(main())
    return most, sorted(done)


@pytest.mark.parametrize("seed", range(30))
def test_all_come_to_their_end_and_never_hold_more_than_there_is_and_one(seed):
    rng = random.Random(seed)
    steps = rng.randrange(1, 6)
    sizes = [rng.randrange(1, 50) * steps for _ in range(rng.randrange(1, 40))]

    most, done = drained(Memory(100), sizes, steps, seed)

    assert done == list(range(len(sizes)))
    assert most <= 100 + max(sizes)


def test_one_that_leaves_while_it_waits_takes_nothing_with_it():
    async def main():
        memory, loop = Memory(10), asyncio.get_running_loop()
        first, second, third = (Share(lambda: None, loop) for _ in range(3))
        assert memory.take(first, 10)
        assert not memory.take(second, 5)
        memory.give_back(second)
        memory.give_back(first)
        return memory.take(third, 10), first.granted, second.granted

    assert asyncio.run(main()) == (True, 0, 0)


def test_large_answers_wait_for_one_another_and_all_come(monkeypatch, no_service):
    memory = Memory(2**20)
    monkeypatch.setattr(http_connection, "MEMORY", memory)
    body = b'"' + b"x" * 700_000 + b'"'
    pieces = (body[:300_000], body[300_000:], b"")
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    pauses = []

    async def talk():
        async def serve(reader, writer):
            await reader.readuntil(b"{}")
            writer.write(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked
            )
            await reader.read()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = Client(Limits())
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        taken = Memory.take
        monkeypatch.setattr(
            Memory, "take", lambda *asked: pauses.append(taken(*asked)) or pauses[-1]
        )
        got = await asyncio.gather(*[client.post(url, {}, {}) for _ in range(12)])
        await client.close()
        listening.close()
        return got

    assert asyncio.run(talk()) == ["x" * 700_000] * 12
    assert False in pauses, "there was room for all"
    assert (memory._used, memory._moving, len(memory._waiting)) == (0, 0, 0)


@pytest.mark.parametrize("value", [b"[]", b"0", b"{}"])
def test_an_answer_of_millions_of_values_is_refused_before_it_is_parsed(value):
    body = b"[" + b",".join([value] * 4_000_001) + b"]"
    tracemalloc.start()

    with pytest.raises(ValueError, match="more than 4,000,000 values in one answer"):
        parsed(body)

    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 1_000_000


def test_a_long_text_with_many_commas_is_no_such_answer():
    assert len(parsed(b'"' + b"one, two, " * 1_000_000 + b'"')) == 10_000_000


def test_a_body_in_chunks_of_one_byte_takes_no_more_memory_than_its_bytes():
    size = 500_000
    answer = Answer(2**22)
    answer.take_in(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunks = b"1\r\nx\r\n" * 1000

    tracemalloc.start()
    try:
        for _ in range(size // 1000):
            answer.take_in(chunks)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    reply = answer.take_in(b"0\r\n\r\n")

    assert held < 1.5 * size
    assert reply.body == b"x" * size
