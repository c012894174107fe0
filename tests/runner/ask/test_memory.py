"""Memory: a batch that is too large is halved, and a long run keeps no answers."""

import gc
import random
import weakref
from typing import ClassVar

import assay
from assay.code.userfiles import load_file
from assay.core import Abilities, Output

COUNT = 2000


class Small:
    """Has room for batches of at most `room`, and none at all for poisoned samples."""

    abilities = Abilities()
    identity: ClassVar = {"small": 1}

    def __init__(self, batch_size, room, poisoned=()):
        self.batch_size, self.room, self.poisoned = batch_size, room, set(poisoned)
        self.sizes = []

    def generate(self, requests):
        self.sizes.append(len(requests))
        if len(requests) > self.room or any(
            int(request.id) in self.poisoned for request in requests
        ):
            raise RuntimeError("CUDA error: Out of memory")
        return [Output.of("x") for _ in requests]


def run(tmp_path, model, count=200):
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(count)]
    task = assay.Task("t", dataset=rows, scorers="exact_match")
    return assay.run(task, model, output=str(tmp_path / "run"), on_error="continue")


def test_three_poisoned_samples_fail_alone_and_the_rest_is_scored(tmp_path):
    model = Small(8, 8, poisoned=(3, 77, 150))

    result = run(tmp_path, model, COUNT)

    assert dict(result[0].outcomes) == {"scored": COUNT - 3, "model_error": 3}
    assert any("oom" in note for note in result.notes)
    assert len(model.sizes) <= 2 * COUNT / 8


USERS = """
class Mine:
    batch_size = 16
    sizes = []

    def generate(self, requests):
        self.sizes.append(len(requests))
        if len(requests) > 4:
            raise RuntimeError("CUDA error: out of memory")
        return ["x"] * len(requests)
"""


def test_a_users_class_that_has_no_room_for_its_batch_learns_its_size_too(tmp_path):
    (tmp_path / "mine.py").write_text(USERS)
    ours = Small(16, 4)
    run(tmp_path / "ours", ours, 64)

    result = run(tmp_path, f"{tmp_path / 'mine.py'}:Mine", 64)

    # Which batches are prepared before the first one failed is a matter of threads; that few of them fail is not.
    assert result.status == "complete" and result[0].n == 64
    for sizes in (load_file(tmp_path / "mine.py").Mine.sizes, ours.sizes):
        assert sizes.count(16) <= 2, (
            "the first batch, and the one that was prepared meanwhile"
        )
        assert sum(size > 4 for size in sizes) < 3 * 64 / 16, (
            "each batch of 16 tried in three sizes that do not fit"
        )


class Narrow(Small):
    """Has room for so many characters a batch; long questions come in clusters, as in real data."""

    def generate(self, requests):
        self.sizes.append(len(requests))
        poisoned = any(int(request.id) in self.poisoned for request in requests)
        if (
            poisoned
            or sum(len(request.messages[-1].text) for request in requests) > self.room
        ):
            raise RuntimeError("CUDA error: Out of memory")
        return [Output.of("x") for _ in requests]


def test_batches_are_halved_by_what_is_in_them_with_at_most_twice_the_calls(tmp_path):
    rng = random.Random(13)
    lengths = [rng.choice((30, 300)) if n // 40 % 2 else 30 for n in range(COUNT)]
    rows = [
        {"id": str(n), "question": "q" * length, "answer": "x"}
        for n, length in enumerate(lengths)
    ]
    task = assay.Task("t", dataset=rows, scorers="exact_match")
    roomy = Narrow(16, 10**9)
    assay.run(task, roomy, output=str(tmp_path / "roomy"))
    model = Narrow(16, 16 * 150, poisoned=(3, 77, 150))

    result = assay.run(task, model, output=str(tmp_path / "run"), on_error="continue")

    assert dict(result[0].outcomes) == {"scored": COUNT - 3, "model_error": 3}
    assert len(model.sizes) <= 2 * len(roomy.sizes)


def test_a_batch_that_does_not_fit_is_found_out_once_and_not_for_every_batch(tmp_path):
    model = Small(32, 10)

    result = run(tmp_path, model, 400)

    assert result.status == "complete" and result[0].n == 400
    failures = sum(1 for size in model.sizes if size > 10)
    assert failures <= 12
    assert len(model.sizes) <= 2 * 400 / 10


def test_a_batch_that_had_no_room_once_grows_back_one_by_one(tmp_path):
    class Crowded(Small):
        """Another process takes most of the memory for a while."""

        def generate(self, requests):
            self.room = 4 if 5 <= len(self.sizes) < 12 else 16
            return super().generate(requests)

    model = Crowded(16, 16)

    result = run(tmp_path, model, 1000)

    assert result.status == "complete"
    assert model.sizes[13:25] == list(
        range(4, 16)
    )  # then what had no room is left alone for a while
    assert 16 in model.sizes[25:]


def test_a_machine_without_room_for_one_is_an_error_for_each(tmp_path):
    result = run(tmp_path, Small(4, 0), 8)

    assert result.status == "failed" and dict(result[0].outcomes) == {"model_error": 8}


def test_a_run_of_five_thousand_samples_keeps_no_answers(tmp_path):
    alive = weakref.WeakSet()
    most = 0

    class Said(str):
        """A text that can be watched."""

        __slots__ = ("__weakref__",)

    class Model:
        abilities = Abilities()
        identity: ClassVar = {"watched": 1}

        def generate(self, requests):
            nonlocal most
            outputs = []
            for request in requests:
                text = Said(f"answer {request.id}")
                alive.add(text)
                outputs.append(Output.of(text))
            most = max(most, len(alive))
            return outputs

    result = run(tmp_path, Model(), 5_000)
    gc.collect()

    assert result[0].n == 5_000
    assert most <= 4 * 256
    assert len(alive) <= 256
