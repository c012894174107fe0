"""What the run's seed becomes: a number for services, a text for whoever draws here; and what a key holds of it."""

from dataclasses import replace

import pytest

from assay.core import GenerateOptions, KeyMaker, Message, Prompt, Request, seeds_of

PROMPT = Prompt((Message.of("user", "Draw a cat."),))


def test_no_candidate_of_a_repeat_has_the_seed_of_one_of_another_repeat():
    repeats = [seeds_of(7, "a", repeat)[0] for repeat in range(64)]

    seeds = [
        first + candidate for first in repeats for candidate in range(256)
    ]  # as servers count up

    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_every_run_seed_sample_repeat_and_round_has_numbers_of_its_own():
    places = [
        (7, "a"),
        (8, "a"),
        (7, "b"),
        (7, "a", 1),
        (8, "a", 1),
        (7, "a", 0, 1),
        (7, "a", 1, 1),
        (7, "1/a", 0),
    ]

    made = [seeds_of(*place) for place in places]

    assert (
        len({seed for seed, _ in made})
        == len({draw for _, draw in made})
        == len(places)
    )
    assert made == [seeds_of(*place) for place in places]


def test_a_run_without_a_seed_sends_none_and_still_says_what_to_draw_from():
    one, other = seeds_of(None, "a"), seeds_of(None, "b")

    assert one[0] is other[0] is None
    assert one[1] != other[1]


def asked(sample, prompt=PROMPT, seed=None, **options):
    own, draw = seeds_of(seed, sample)
    return Request(prompt, GenerateOptions(seed=seed, **options), own, draw=draw)


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        (PROMPT, {}),
        (PROMPT, {"temperature": 1.0}),
        (replace(PROMPT, produces=("image",)), {"temperature": 0.0}),
    ],
)
def test_samples_with_the_same_prompt_have_keys_of_their_own_where_something_may_be_drawn(
    prompt, options
):
    keys = KeyMaker({"model": "m"})

    assert keys.key(asked("a", prompt, **options)) != keys.key(
        asked("b", prompt, **options)
    )
    assert keys.key(asked("a", prompt, **options)) == keys.key(
        asked("a", prompt, **options)
    )


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        (PROMPT, {"temperature": 0.0}),
        (replace(PROMPT, continuations=(" yes", " no")), {}),
        (replace(PROMPT, rolling=True), {}),
    ],
)
def test_samples_with_the_same_prompt_share_a_key_where_nothing_is_drawn(
    prompt, options
):
    keys = KeyMaker({"model": "m"})

    assert keys.key(asked("a", prompt, **options)) == keys.key(
        asked("b", prompt, **options)
    )
