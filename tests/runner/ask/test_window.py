"""The window of an asynchronous model: never more in flight than allowed, and nothing kept that was answered."""

import asyncio
import gc
import threading
import weakref
from typing import ClassVar

import assay
from assay.core import Abilities, Output

COUNT = 4_000
WINDOW = 64


def test_a_long_run_keeps_only_its_window_in_memory(tmp_path):
    alive = weakref.WeakSet()
    most_alive = most_flying = most_read_ahead = 0

    class Said(str):
        """A text that can be watched."""

        __slots__ = ("__weakref__",)

    class Model:
        abilities = Abilities()
        identity: ClassVar = {"watched": "async"}
        concurrency = WINDOW
        flying = answered = 0

        async def generate(self, requests):
            nonlocal most_alive, most_flying, most_read_ahead
            self.flying += 1
            most_flying = max(most_flying, self.flying)
            most_read_ahead = max(most_read_ahead, read - self.answered)
            await asyncio.sleep(0)
            text = Said(f"answer {requests[0].id}")
            alive.add(text)
            most_alive = max(most_alive, len(alive))
            self.flying -= 1
            self.answered += 1
            return [Output.of(text)]

    read = 0

    def rows():
        nonlocal read
        for number in range(COUNT):
            read += 1
            yield {"id": str(number), "question": f"q{number}", "answer": "x"}

    task = assay.Task("t", dataset=rows, scorers="exact_match")
    result = assay.run(task, Model(), output=str(tmp_path / "run"))
    gc.collect()

    assert result[0].n == COUNT
    assert most_flying == WINDOW
    assert most_alive <= 2 * WINDOW
    assert most_read_ahead <= 8 * WINDOW
    assert len(alive) <= WINDOW


def test_two_batches_are_in_flight_even_if_there_are_only_two():
    both_sent = threading.Barrier(2)

    class Model:
        abilities = Abilities()
        identity: ClassVar = {"watched": "batches"}
        concurrency = 2
        batch_size = 4

        def generate(self, requests):
            both_sent.wait(timeout=60)
            return [Output.of("x") for _ in requests]

    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(8)]
    task = assay.Task("t", dataset=rows, scorers="exact_match")

    result = assay.run(task, Model())

    assert (result[0].n, result[0].value) == (8, 1.0)
