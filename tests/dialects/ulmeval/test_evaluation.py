"""Numbers of a guest's `evaluate`: none is lost, and an empty cell of a table is none."""

import math

import pandas
import pytest

from assay.dialects.ulmeval.evaluation import as_numbers


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_handed_on_for_the_row_to_say_so(odd):
    found = as_numbers({"accuracy": odd, "parts": {"one": odd}, "rows": 3})

    parts = found.pop("parts")
    assert found == pytest.approx({"accuracy": odd, "rows": 3.0}, nan_ok=True)
    assert parts == pytest.approx({"one": odd}, nan_ok=True)


def test_an_empty_cell_of_a_table_is_no_number():
    rows = [{"name": "a", "score": 0.5, "other": math.nan}, {"name": "b", "score": 1.0, "other": 2.0}]
    frame = pandas.DataFrame(rows)

    assert as_numbers(frame) == {"a": {"score": 0.5}, "b": {"score": 1.0, "other": 2.0}}


@pytest.mark.parametrize("text", ["nan", "inf", "none"])
def test_a_text_that_is_no_number_is_left_out(text):
    assert as_numbers({"note": text, "score": "0.5"}) == {"score": 0.5}
