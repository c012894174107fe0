"""Which tokens are computed, and that each is computed once."""

import random

from assay.models.local_transformers.prefix import (
    PrefixSpan,
    Subtree,
    grow,
    lay_out,
    steps,
)

HEAD = list(range(100, 200))


def questions(count=8, options=3, seed=1):
    dice = random.Random(seed)
    contexts = [
        HEAD + [dice.randrange(50) for _ in range(dice.randrange(3, 12))]
        for _ in range(count)
    ]
    return [
        context + [dice.randrange(50) for _ in range(4)]
        for context in contexts
        for _ in range(options)
    ]


def distinct_prefixes(sequences):
    return len(
        {
            tuple(sequence[: n + 1])
            for sequence in sequences
            for n in range(len(sequence))
        }
    )


def test_root_covers_the_prefix_of_all_sequences():
    root = grow([[*HEAD, 1, 2], [*HEAD, 1, 3], [*HEAD, 4]])

    assert root.stop == len(HEAD)
    assert sorted(child.stop for child in root.children) == [len(HEAD) + 1] * 2
    assert root.below == 4


def test_sequence_that_is_a_prefix_of_another_ends_inside_the_tree():
    root = grow([[1, 2], [1, 2, 3], [1, 2]])

    assert sorted(root.ends) == [0, 2]
    assert [child.ends for child in root.children] == [[1]]


def test_every_token_is_computed_once_if_prefixes_save_enough():
    sequences = questions()

    computed = 0
    for step in steps(grow(sequences), segment=60, pack=500):
        computed += (
            step.stop - step.start if isinstance(step, PrefixSpan) else step.size
        )

    assert computed == distinct_prefixes(sequences)


def test_prefix_too_short_for_its_own_pass_is_repeated():
    sequences = [[7, first, *range(first, first + 40)] for first in (10, 20, 30)]

    found = list(steps(grow(sequences), segment=10, pack=50))

    assert all(isinstance(step, Subtree) for step in found)
    assert sum(step.size for step in found) == sum(map(len, sequences))


def test_sequence_longer_than_a_pass_is_computed_in_pieces():
    found = list(steps(grow([list(range(250))]), segment=10, pack=100))

    assert [(step.start, step.stop) for step in found] == [
        (0, 100),
        (100, 200),
        (200, 250),
    ]


def test_tokens_attend_to_their_ancestors_only():
    sequences = [[1, 2, 3], [1, 2, 4], [1, 5]]
    subtree = Subtree(grow(sequences), None)

    layout = lay_out(subtree, sequences)

    for row, sequence in enumerate(sequences):
        last = layout.offset_of(row, len(sequence) - 1)
        seen = [layout.tokens[at] for at in range(last + 1) if last < layout.ends[at]]
        assert seen == sequence
        assert layout.positions[last] == len(sequence) - 1
