"""Values of numpy in what guest code returns."""

import json

import pytest

from assay.dialects.returned import plain

numpy = pytest.importorskip("numpy")


def test_numbers_of_numpy_are_numbers_in_a_file():
    value = {
        "n": numpy.int64(3),
        "share": numpy.float32(0.5),
        numpy.int64(7): [numpy.arange(2), numpy.bool_(True)],
    }

    assert json.dumps(plain(value)) == '{"n": 3, "share": 0.5, "7": [[0, 1], true]}'


def test_plain_values_stay_what_they_are_and_others_are_left_to_the_writer():
    thing = object()

    assert plain({"a": [1, None, "x", (2.5,)], "b": thing}) == {
        "a": [1, None, "x", [2.5]],
        "b": thing,
    }
