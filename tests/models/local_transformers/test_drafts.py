"""Drafts: taken from what the row says already, longer while they are right, given up where they are not."""

import pytest

from assay.core import GenerateOptions
from assay.models.local_transformers.drafts import (
    FORGIVEN,
    LONGEST_DRAFT,
    LONGEST_PAUSE,
    Drafter,
    can_draft,
)


def drafts_of(drafter, steps, draft_is_right):
    """How long the draft of each step was; what is written is the draft, or a token that never was."""
    sizes = []
    for step in range(steps):
        draft = drafter.draft(LONGEST_DRAFT)
        sizes.append(len(draft))
        drafter.learn(
            [*draft, 7] if draft_is_right else [7 if step % 2 else 8], len(draft)
        )
    return sizes


def test_a_draft_is_what_followed_the_same_end_before():
    drafter = Drafter([1, 2, 3, 4, 5, 6, 1, 2, 3])

    assert drafter.draft(3) == [4, 5, 6]
    assert drafter.draft(1) == [4]


def test_a_longer_end_counts_more_than_a_later_place():
    drafter = Drafter([1, 2, 3, 4, 9, 2, 3, 5, 8, 1, 2, 3])

    assert drafter.draft(1) == [4]


def test_of_several_places_the_last_one_is_taken():
    drafter = Drafter([2, 3, 4, 2, 3, 5, 2, 3])

    assert drafter.draft(1) == [5]


def test_what_goes_round_in_a_circle_is_drafted_on():
    assert Drafter([5, 1, 2, 1, 2]).draft(4) == [1, 2, 1, 2]
    assert Drafter([5, 1, 1]).draft(3) == [1, 1, 1]


def test_what_never_stood_there_has_no_draft():
    assert Drafter([1, 2, 3]).draft(4) == []
    assert Drafter([]).draft(4) == []


def test_drafts_that_go_on_being_wrong_become_rare():
    drafter = Drafter([7, 8] * 8)

    sizes = drafts_of(drafter, 60, draft_is_right=False)

    assert sizes[: FORGIVEN + 1] == [LONGEST_DRAFT, 1, 1]
    assert sizes[FORGIVEN + 1] == 0
    assert sum(size > 0 for size in sizes) <= FORGIVEN + 1 + 60 // LONGEST_PAUSE + 4


def test_a_draft_that_was_right_makes_the_next_one_longer():
    drafter = Drafter([1, 2, 3, 4, 5, 6] * 3)
    drafter.learn([9], 4)
    for token in (1, 2, 3):
        drafter.add(token)
    first = drafter.draft(LONGEST_DRAFT)
    drafter.learn([4, 5], 1)

    assert first == [4]
    assert drafter.draft(LONGEST_DRAFT) == [6, 9]


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.7},
        {"repetition_penalty": 1.1},
        {"frequency_penalty": 0.1},
        {"presence_penalty": 1.0},
    ],
)
def test_only_rows_whose_tokens_follow_from_logits_alone_have_drafts(options):
    assert not can_draft(GenerateOptions(**options))
    assert can_draft(GenerateOptions(logprobs=5))
