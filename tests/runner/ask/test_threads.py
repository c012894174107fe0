"""Blocking functions in threads, and their results in the event loop."""

import asyncio
import threading

import pytest

from assay.runner.ask.threads import Threads


def test_results_that_arrive_while_the_loop_is_busy_share_one_wake_up(monkeypatch):
    async def double_all(numbers):
        loop = asyncio.get_running_loop()
        wake_ups = []
        call_soon = loop.call_soon_threadsafe

        def count_wake_up(callback, *values):
            wake_ups.append(callback)
            return call_soon(callback, *values)

        monkeypatch.setattr(loop, "call_soon_threadsafe", count_wake_up)
        threads = Threads(1, "test")
        futures = [threads.submit(lambda n=n: 2 * n) for n in numbers]
        is_done = threading.Event()
        threads._calls.put(is_done.set)
        is_done.wait()  # the loop is busy until the last result is there
        results = await asyncio.gather(*futures)
        threads.close()
        return results, len(wake_ups)

    results, count = asyncio.run(double_all(range(5)))

    assert results == [0, 2, 4, 6, 8]
    assert count == 1


def test_threads_serve_another_loop_after_the_first_has_ended():
    threads = Threads(1, "test")
    proceed = threading.Event()

    async def leave_early():
        threads.submit(proceed.wait)

    async def add():
        future = threads.submit(sum, (1, 2))
        proceed.set()
        return await asyncio.wait_for(future, 60)

    asyncio.run(leave_early())
    assert asyncio.run(add()) == 3
    assert asyncio.run(add()) == 3
    threads.close()


def test_an_exhausted_iterator_in_a_thread_is_an_ordinary_error():
    async def read_next():
        threads = Threads(1, "test")
        await asyncio.wait_for(threads.submit(next, iter(())), 60)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(read_next())
