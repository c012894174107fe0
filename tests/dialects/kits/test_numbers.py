"""What `evaluate` returned as named numbers: every shape that classes of the kits return, the same in both."""

import math

import pytest

from assay.dialects.kits.kit_numbers import as_numbers
from assay.dialects.returned import not_finite

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (None, {}),
        (0.5, {"value": 0.5}),
        ("0.5", {"value": 0.5}),
        ({"acc": "0.5", "note": "fine"}, {"acc": 0.5}),
        ({"acc": [0.1, 0.2]}, {"0": {"acc": 0.1}, "1": {"acc": 0.2}}),
        ({"acc": [0.1], "all": 1}, {"acc": 0.1, "all": 1.0}),
        ({"acc": [0.1, 0.2], "all": 1}, {"acc": {"0": 0.1, "1": 0.2}, "all": 1.0}),
        ([1, 2], {"0": 1.0, "1": 2.0}),
        ({"a": {"b": True}}, {"a": {"b": 1.0}}),
        (pandas.DataFrame({"split": ["test"], "Overall": [0.5]}), {"Overall": 0.5}),
        (
            pandas.DataFrame(
                {"split": ["dev", "test"], "Overall": [0.5, 1.0], "x": [math.nan, 2]}
            ),
            {"dev": {"Overall": 0.5}, "test": {"Overall": 1.0, "x": 2.0}},
        ),
        (
            (pandas.DataFrame({"acc": [1.0]}), pandas.DataFrame({"tot": [2]})),
            {"0": {"acc": 1.0}, "1": {"tot": 2.0}},
        ),
        (pandas.Series({"acc": 0.5}), {"acc": 0.5}),
        (numpy.array([0.5, 1.0]), {"0": 0.5, "1": 1.0}),
        ({"each": numpy.array([1, 2])}, {"each": {"0": 1.0, "1": 2.0}}),
        ("outputs/score.csv", {}),
    ],
)
def test_every_shape_gives_its_numbers(value, numbers):
    assert as_numbers(value) == numbers


def test_rows_that_say_the_same_keep_all_their_numbers():
    frame = pandas.DataFrame({"split": ["test", "test"], "acc": [0.5, 1.0]})

    assert as_numbers(frame) == {"test": {"acc": 0.5}, "test.1": {"acc": 1.0}}


def test_a_value_that_is_not_a_result_is_reported():
    with pytest.raises(TypeError, match="evaluate returned a object"):
        as_numbers(object())


def test_a_list_of_records_under_one_name_is_no_table_of_columns():
    records = [
        {"index": "0", "key": "a", "score": 7.0},
        {"index": "1", "key": "b", "score": 5.0},
    ]

    found = as_numbers({"results": records})

    assert found == {
        "results": {
            "0": {"index": 0.0, "score": 7.0},
            "1": {"index": 1.0, "score": 5.0},
        }
    }


def test_numbers_that_are_not_finite_are_found_in_groups_too():
    numbers = {"a": 1.0, "b": math.inf, "c": {"d": 0.0, "e": -math.inf}}

    assert not_finite(numbers) == {"b": math.inf, "c.e": -math.inf}
