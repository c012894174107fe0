"""Random numbers of a candidate: what they depend on, and what they do not."""

import threading
from dataclasses import replace

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models.draws import generator_for, torch_draws

REQUEST = Request(
    Prompt((Message.of("user", "Draw a cat."),)),
    GenerateOptions(n=2),
    key="k",
    draw="7/0/0/a",
)


def first(request, candidate=0):
    return generator_for(request, candidate).random()


def test_a_candidate_depends_on_its_draw_and_its_number_alone():
    other = replace(
        REQUEST,
        prompt=Prompt((Message.of("user", "A dog."),)),
        options=GenerateOptions(n=9),
        key="other",
    )

    assert first(REQUEST) == first(other)
    assert (
        len(
            {first(REQUEST), first(REQUEST, 1), first(replace(REQUEST, draw="7/0/0/b"))}
        )
        == 3
    )


def test_a_request_of_no_sample_draws_by_its_prompt_seed_and_repeat():
    alone = replace(REQUEST, draw="")
    others = [
        replace(alone, prompt=Prompt((Message.of("user", "A dog."),))),
        replace(alone, seed=1),
        replace(alone, options=GenerateOptions(seed=2)),
        replace(alone, repeat=1),
    ]

    assert first(alone) == first(
        replace(alone, key="other", options=GenerateOptions(n=9))
    )
    assert len({first(request) for request in (alone, *others)}) == 5


@pytest.mark.torch
def test_what_two_threads_draw_at_once_is_what_each_draws_alone():
    torch = pytest.importorskip("torch", reason="pip install torch")
    requests = [replace(REQUEST, draw=f"7/0/0/{name}") for name in "ab"]
    turn = threading.Barrier(2)

    def values(request, meet):
        found = []
        for candidate in range(50):
            if meet:
                turn.wait(30)
            with torch_draws(request, candidate):
                found.append([float(torch.rand(1)) for _ in range(20)])
        return found

    alone = [values(request, False) for request in requests]
    together = [None, None]
    threads = [
        threading.Thread(
            target=lambda at=at: together.__setitem__(at, values(requests[at], True))
        )
        for at in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert together == alone
