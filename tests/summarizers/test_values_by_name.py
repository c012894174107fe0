"""Several values of one scorer: their names in records, their directions and their bounds."""

import pytest

import assay
from assay import Score, Task

ROWS = [{"id": str(n), "question": f"{n}?", "answer": "x"} for n in range(8)]
ANSWERS = ["right", "wrong", "right", "nothing", "right", "wrong", "fail", "right"]


def model(messages):
    answer = ANSWERS[int(messages[-1]["content"].rstrip("?"))]
    if answer == "fail":
        raise ValueError("no answer")
    return answer


def graded(sample, output):
    if output.text == "nothing":
        return Score.unparsed()
    return {"good": output.text == "right", "bad": output.text == "wrong", "words": 3.0}


graded.higher_is_better = {"bad": False}
graded.bounds = {"words": None}


def run(tmp_path, **task):
    made = Task("t", dataset=ROWS, **{"scorers": graded, **task})
    return assay.run(
        made, model=model, output=str(tmp_path / "run"), on_error="continue"
    )


def rows(result):
    return {row.metric: row for row in result.results}


def test_each_value_of_a_scorer_has_its_own_direction_and_bounds(tmp_path):
    good, bad, words = rows(run(tmp_path)).values()

    assert (good.higher_is_better, bad.higher_is_better) == (True, False)
    # An answer that could not be read is the worst there is: 0 of `good`, 1 of `bad`.
    assert good.value == pytest.approx(4 / 7) and bad.value == pytest.approx(3 / 7)
    assert good.bounds == (pytest.approx(4 / 8), pytest.approx(5 / 8))
    assert bad.bounds == (pytest.approx(4 / 8), pytest.approx(3 / 8))
    assert words.higher_is_better and words.bounds is None


@pytest.mark.parametrize("name", ["graded.bad", "bad"])
def test_a_plain_sum_over_records_reads_every_record(tmp_path, name):
    def total(records):
        assert all(
            set(r.values) == {"graded.good", "graded.bad", "graded.words"}
            for r in records
        )
        return sum(record.values[name] for record in records)

    result = rows(run(tmp_path, summarizers=total))["total"]

    # 2 wrong ones, and the worst value for the unread one and for the one without an answer.
    assert result.value == 4.0 and result.outcomes["model_error"] == 1


def test_names_are_known_where_no_answer_could_be_read(tmp_path):
    def unread(sample, output):
        return Score.unparsed()

    def total(records):
        return sum(record.values["good"] for record in records)

    unread.higher_is_better = {"good": True}

    assert rows(run(tmp_path, scorers=unread, summarizers=total))["total"].value == 0.0


def test_a_record_without_a_verdict_has_no_single_value(tmp_path):
    def lost(records):
        return sum(record.value is None for record in records)

    assert rows(run(tmp_path, summarizers=lost))["lost"].value == 1.0


def test_a_wrong_name_is_an_error_that_lists_the_names(tmp_path, capsys):
    def total(records):
        return sum(record.values["goood"] for record in records)

    result = run(tmp_path, summarizers=total)

    assert "it has 'graded.good', 'graded.bad', 'graded.words'" in "".join(result.notes)


def test_a_summarizer_function_says_direction_and_bounds_of_its_numbers(tmp_path):
    def both(records):
        return {"calibration_error": 0.2, "share": 1.4}

    both.higher_is_better = {"calibration_error": False}
    both.bounds = {"share": (0.0, 1.0)}

    made = rows(run(tmp_path, summarizers=both))

    assert not made["calibration_error"].higher_is_better
    assert made["share"].higher_is_better
    assert "outside its bounds 0 … 1" in made["share"].flags
    assert made["share"].details["scale"] == [0.0, 1.0]


def test_one_direction_for_all_numbers_of_a_summarizer(tmp_path):
    def error(records):
        return 0.2

    error.higher_is_better = False

    assert not rows(run(tmp_path, summarizers=error))["error"].higher_is_better


def test_bounds_that_are_not_pair_are_refused_before_the_run(tmp_path):
    def wrong(sample, output):
        return 1.0

    wrong.bounds = (1.0, 0.0)

    with pytest.raises(assay.AssayError, match="bounds must be two numbers"):
        run(tmp_path, scorers=wrong)


@pytest.mark.parametrize("bounds", [(0, None), (0.0, float("inf"))])
def test_a_scale_may_be_open_at_one_end(tmp_path, bounds):
    def words(sample, output):
        return 7.0 + len(sample.id)

    words.bounds = bounds
    words.higher_is_better = False

    [row] = rows(run(tmp_path, scorers=words)).values()

    assert row.value == 8.0


def test_values_outside_of_declared_bounds_are_flagged(tmp_path):
    def rated(sample, output):
        return {"style": 7.0 if sample.id == "0" else 4.0, "words": 12.0}

    rated.bounds = {"style": (0, 5), "words": None}

    style, words = rows(run(tmp_path, scorers=rated)).values()

    assert "values outside its bounds 0 … 5" in style.flags
    assert not any("outside" in flag for flag in words.flags)
