"""Types of text columns as guest classes expect them."""

import math

from assay.datasets.column_types import column_type, column_types, typed, types_of_file


def test_a_column_is_typed_when_all_of_its_cells_agree():
    first = {"index": "1", "width": "1.5", "ok": "True", "name": "x"}
    rows = [first, {"index": "2", "width": "2", "ok": "", "name": "3"}]

    assert column_types(rows) == {"index": int, "width": float, "ok": bool}


def test_options_and_predictions_stay_the_words_they_are():
    assert column_types([{"A": "1.50", "prediction": "1", "question": "7"}]) == {}


def test_na_and_none_are_texts_and_only_an_empty_cell_is_missing():
    assert typed("NA", int) == "NA"
    assert typed("None", float) == "None"
    assert math.isnan(typed("", int))


def test_a_later_cell_that_does_not_fit_stays_text():
    assert typed("007", int) == "007"
    assert typed("12", int) == 12


def test_the_types_of_a_file_come_from_its_rows(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("index\tanswer\n1\tx\n2\t3\n")

    assert types_of_file(file) == {"index": int}


def test_one_column_is_typed_as_it_is_among_others():
    columns = {
        "a": ["1", ""],
        "b": ["1", "2.5"],
        "c": ["True"],
        "d": ["1", "x"],
        "e": ["", None],
        "f": [True, "1"],
    }

    for name, cells in columns.items():
        rows = [{name.lower() * 2: cell} for cell in cells]
        assert column_type(cells) == column_types(rows).get(name * 2), name
