"""List literals in cells: parsed, never executed."""

import pytest

from assay.datasets.cells import as_text_list, looks_like_list, parse_list
from assay.datasets.faults import RowFault


def test_a_list_literal_gives_its_entries():
    assert parse_list("['a.png', \"b.png\"]") == ["a.png", "b.png"]


def test_numbers_in_a_list_are_printed():
    assert parse_list("[1, 2.5]") == ["1", "2.5"]


@pytest.mark.parametrize(
    "cell",
    [
        "['a",
        "[a]",
        "[['nested']]",
        "[__import__('os')]",
        "[open('x')]",
        "[{'a': 1}]",
        "[" * 9999,
        "['a']['b']",
    ],
)
def test_a_list_that_is_not_flat_is_a_fault_of_its_row(cell):
    with pytest.raises(RowFault, match="not a list of texts"):
        parse_list(cell, "image")


def test_an_expression_in_a_cell_is_never_executed(tmp_path):
    mark = tmp_path / "executed"

    with pytest.raises(RowFault):
        parse_list(f"[open({str(mark)!r}, 'w').close()]")

    assert not mark.exists()


def test_a_plain_text_is_one_entry():
    assert as_text_list("a.png") == ["a.png"]
    assert as_text_list("['a.png']") == ["a.png"]
    assert as_text_list(["a", 1]) == ["a", "1"]


def test_only_brackets_look_like_a_list():
    assert looks_like_list(" ['a'] ")
    assert not looks_like_list("[0, 1)")
    assert not looks_like_list("")
