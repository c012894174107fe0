"""A table of rows as one test."""

import inspect

import pytest
from each_row import each


def test_every_row_is_tried_and_all_that_fail_are_listed():
    tried = []

    @each(("one", "other"), [(1, 1), (1, 2), (2, 2), (3, 4)])
    def equal(one, other):
        tried.append(one)
        assert one == other

    with pytest.raises(AssertionError, match="2 of 4 rows") as caught:
        equal()
    assert "{'one': 1, 'other': 2}" in str(
        caught.value
    ) and "{'one': 3, 'other': 4}" in str(caught.value)
    assert tried == [1, 1, 2, 3]


def test_an_exception_that_should_have_come_and_did_not_is_a_failure():
    @each("text", ["1", "a"])
    def refused(text):
        with pytest.raises(ValueError):
            int(text)

    with pytest.raises(AssertionError, match="1 of 2 rows"):
        refused()


def test_tables_build_on_each_other_and_fixtures_stay():
    tried = []

    @each("one", [1, 2])
    @each("other", "ab")
    def pairs(tmp_path, one, other):
        tried.append((tmp_path, one, other))

    pairs(tmp_path="here")

    assert list(inspect.signature(pairs).parameters) == ["tmp_path"]
    assert tried == [
        ("here", 1, "a"),
        ("here", 1, "b"),
        ("here", 2, "a"),
        ("here", 2, "b"),
    ]


def test_an_empty_table_fails_and_rows_that_are_skipped_do_not():
    @each("one", [])
    def nothing(one):
        raise NotImplementedError

    @each("one", [1, 2])
    def some(one):
        if one == 1:
            pytest.skip("not here")

    some()

    with pytest.raises(AssertionError, match="there are no rows"):
        nothing()
