"""Ratings from 0 to 5 in replies with an explanation."""

import pytest

from assay.scorers.judge.score_words import read_rating


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"Explanation": "fluent", "Score": 4}', 4.0),
        ('{"Explanation": "fluent", "Score": "4.5"}', 4.5),
        ('```json\n{"Score": 3.5, "Explanation": "ok"}\n```', 3.5),
        ('{"Explanation": "he said "yes" twice", "Score": 2}', 2.0),
        ("Explanation: fine\nScore: 0", 0.0),
        ('{"explanation": "好", "score": 5.0}', 5.0),
    ],
)
def test_a_score_is_read_with_its_decimals(reply, score):
    assert read_rating(reply).score == score


def test_the_explanation_is_kept():
    assert read_rating('{"Explanation": "fluent", "Score": 4}').explanation == "fluent"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I cannot rate this", "no scores"),
        ('{"Explanation": "x"}', "no score"),
        ('{"Score": 7}', "outside 0 to 5"),
        ('{"Score": true}', "no score"),
        ('{"Score": "high"}', "not a number"),
        ("Score: 3\nScore: 4", "2 scores"),
        ('{"Score": NaN}', "no scores"),
        ("", "no scores"),
    ],
)
def test_a_reply_without_one_score_on_the_scale_is_refused(reply, why):
    with pytest.raises(ValueError, match=why):
        read_rating(reply)
