"""Text in images: what was recognised against what should be there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample
from assay.scorers.image.rendered_text import OcrText


def score(recognised, *targets, **options):
    return OcrText(**options)(Sample(id="a", target=targets), Output.of(recognised))


def test_words_letters_and_lines_are_counted_apart():
    value = score("Open\nhourz", "OPEN\nHOURS").value

    assert value == {"word_accuracy": 0.5, "ned": pytest.approx(0.9), "line_match": 0.5}


def test_case_counts_when_asked():
    assert score("Open", "OPEN", ignore_case=False).value["word_accuracy"] == 0.0


def test_a_word_seen_once_does_not_count_twice():
    assert score("bye", "bye bye").value["word_accuracy"] == 0.5


@pytest.mark.parametrize(
    "recognised",
    [Json({"recognised": "open"}), Json({"recognised": ["open"]}), Json(["open"])],
)
def test_the_recognisers_answer_is_used_when_it_was_saved(recognised):
    assert score(recognised, "open").value["line_match"] == 1.0


def test_the_nearest_target_counts():
    assert score("closed", "open", "closed").value["ned"] == 1.0


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert OcrText()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_values_stay_in_range(recognised, target):
    assert all(
        0.0 <= value <= 1.0 for value in score(recognised, target).value.values()
    )


@settings(deadline=None)
@given(st.text(max_size=30))
def test_the_target_itself_is_perfect(text):
    assert score(text, text).value == {
        "word_accuracy": 1.0,
        "ned": 1.0,
        "line_match": 1.0,
    }
