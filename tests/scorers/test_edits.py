"""Edit counts against jiwer, which counts along the same shortest path."""

import random

import pytest
from rapidfuzz.distance import Levenshtein

from assay.scorers.speech.wer import Edits, count_edits, error_rate


def test_the_counts_of_a_pair():
    edits = count_edits(
        ["the", "cat", "sat", "on", "the", "mat"],
        ["the", "cat", "sit", "on", "mat", "now", "ok"],
    )

    assert edits == Edits(substitutions=3, deletions=0, insertions=1, reference=6)


@pytest.mark.parametrize(
    ("reference", "said", "expected"),
    [
        ([], [], (0, 0, 0, 0)),
        ([], ["a", "b"], (0, 0, 2, 0)),
        (["a"], [], (0, 1, 0, 1)),
        (["a"], ["a"], (0, 0, 0, 1)),
    ],
)
def test_empty_sides_are_counted(reference, said, expected):
    assert count_edits(reference, said) == expected
    assert count_edits(reference, said).rate == error_rate(reference, said)


def test_five_thousand_random_pairs_have_the_counts_and_the_rate_of_jiwer():
    jiwer = pytest.importorskip("jiwer", reason="jiwer is not installed")
    dice = random.Random(7)
    pairs = [
        (
            dice.choices("abcdefg", k=dice.randint(1, 12)),
            dice.choices("abcdefg", k=dice.randint(0, 14)),
        )
        for _ in range(5000)
    ]

    for reference, said in pairs:
        ours = count_edits(reference, said)
        theirs = jiwer.process_words(" ".join(reference), " ".join(said))
        assert ours[:3] == (theirs.substitutions, theirs.deletions, theirs.insertions)
        assert ours.rate == error_rate(reference, said) == theirs.wer


@pytest.mark.parametrize("most", [6, 30, 40, 90])
def test_short_and_long_sequences_have_the_counts_of_the_traced_path(most):
    dice = random.Random(most)
    for _ in range(600):
        reference = dice.choices("abcdefghij", k=dice.randint(0, most))
        said = [
            dice.choice("abcdefghij") if dice.random() < 0.3 else word
            for word in reference
        ]
        said = dice.choices("abcdefghij", k=dice.randint(0, 3)) + [
            word for word in said if dice.random() < 0.9
        ]

        edits = count_edits(reference, said)

        path = [edit.tag for edit in Levenshtein.editops(reference, said)]
        assert edits == (
            path.count("replace"),
            path.count("delete"),
            path.count("insert"),
            len(reference),
        )
        assert count_edits("".join(reference), "".join(said)) == edits
