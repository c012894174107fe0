"""What a number of samples can show."""

import pytest

import assay
from assay.comparison.showing import assumed_scores, pilot_scores
from assay.core import UsageError
from assay.summarizers.statistics import paired_binary_power, wilson

ROWS = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(200)]


def run(folder, model, scorers="exact_match", rows=ROWS):
    return assay.run(
        assay.Task("sums", dataset=rows, scorers=scorers), model, output=str(folder)
    )


def right(share, start=0):
    return lambda text: "y" if (int(text) + start) % 100 < 100 * share else "n"


def graded(sample, output):
    return (int(sample.input) % 10) / 9


def test_assumptions_alone_give_the_detectable_difference():
    scores = assumed_scores(200, 0.7, None, 0.2)

    low, high = wilson(140, 200)
    smallest = scores.smallest_difference(200)
    assert scores.half_width(200) == pytest.approx((high - low) / 2)
    assert paired_binary_power(200, smallest, 0.2) == pytest.approx(0.8, abs=0.001)
    assert paired_binary_power(scores.needed(0.05), 0.05, 0.2) >= 0.8


def test_a_pilot_run_gives_the_rate_and_the_second_run_is_assumed(tmp_path):
    run(tmp_path / "pilot", right(0.7))

    [scores] = pilot_scores(tmp_path / "pilot")

    assert (scores.name, scores.n, scores.mean) == ("sums.exact_match", 200, 0.7)
    assert scores.pairs == pytest.approx(0.21), (
        "half of what two unrelated models would differ on"
    )
    assert "assumed" in scores.origin


def test_with_a_second_run_it_is_measured(tmp_path):
    run(tmp_path / "old", right(0.7))
    run(tmp_path / "new", right(0.7, start=10))

    [scores] = pilot_scores(tmp_path / "new", tmp_path / "old")

    assert scores.pairs == pytest.approx(0.2)
    assert scores.origin == f"measured against {tmp_path / 'old'}"


def test_a_difference_larger_than_two_runs_ever_had_is_still_counted():
    scores = assumed_scores(200, 0.5, None, 0.01)

    assert 60 <= scores.needed(0.1) <= 90
    assert scores.smallest_difference(200) == pytest.approx(0.04, abs=0.011)


def test_scores_that_are_not_right_or_wrong_have_a_deviation(tmp_path):
    run(tmp_path / "pilot", right(0.7), scorers=graded)

    [scores] = pilot_scores(tmp_path / "pilot")

    assert scores.pairs is None and scores.deviation == pytest.approx(0.32, abs=0.01)
    assert scores.half_width(800) == pytest.approx(scores.half_width(200) / 2, rel=0.02)
    assert scores.needed(0.05) > scores.needed(0.1)


def test_a_run_of_one_sample_is_refused(tmp_path):
    run(tmp_path / "pilot", right(0.7), rows=ROWS[:1])

    with pytest.raises(
        UsageError, match="no number with a standard error; fix: give a finished run"
    ):
        pilot_scores(tmp_path / "pilot")


def test_two_runs_without_a_common_task_are_one_line(tmp_path):
    run(tmp_path / "a", right(0.7))
    assay.run(
        assay.Task("other", dataset=ROWS, scorers="exact_match"),
        right(0.7),
        output=str(tmp_path / "b"),
    )

    with pytest.raises(
        UsageError, match=r"cannot be compared with .*: the baseline has no task 'sums'"
    ):
        pilot_scores(tmp_path / "a", tmp_path / "b")
