"""Rotated tables: `assay vlmeval circular x.tsv`, and the run on what it wrote."""

import pytest

from assay.cli.vlmeval import command
from assay.core import UsageError
from assay.datasets.files import open_file
from assay.dialects.vlmeval.rotating import rotations

HEADER = "index image question A B C answer"


def rows_of(path):
    return [row for _, _, row in open_file(path).rows()]


def test_every_question_is_there_under_every_rotation_and_the_answer_goes_along(
    table, picture, early_model, run
):
    rows = [
        [0, picture(0), "Which?", "cat", "dog", "cow", "A"],
        [1, picture(1), "?", "x", "y", "", "B"],
    ]
    path = table("Pets", HEADER, rows)

    assert command(["circular", str(path)]) == 0

    made = rows_of(path.with_name("Pets_circular.tsv"))
    assert [row["index"] for row in made] == ["0", "1000000", "2000000", "1", "1000001"]
    assert [row["g_index"] for row in made] == ["0", "0", "0", "1", "1"]
    assert all(
        row[row["answer"]] == ("cat" if row["g_index"] == "0" else "y") for row in made
    )
    assert sorted({(row["A"], row["B"], row["C"]) for row in made[:3]}) == [
        ("cat", "dog", "cow"),
        ("cow", "cat", "dog"),
        ("dog", "cow", "cat"),
    ]
    assert [row["image"] for row in made[1:3]] == ["0", "0"]
    result = run(path.with_name("Pets_circular.tsv"), early_model({0: "cat", 1: "B"}))
    assert result.value("exact_matching.circular") == 0.5


@pytest.mark.parametrize(
    "row",
    [
        {"index": "3", "A": "both B and C", "B": "x", "C": "y", "answer": "A"},
        {"index": "3", "A": "B", "B": "A", "answer": "A"},
        {"index": "3", "A": "x", "B": "y", "answer": "C"},
        {"index": "3", "A": "x", "B": "", "answer": "A"},
    ],
)
def test_what_cannot_be_rotated_is_kept_once(row):
    assert [made["g_index"] for made in rotations(row)] == ["3"]


def test_a_row_that_borrows_its_picture_lends_the_same_one_to_its_copies(
    table, picture
):
    path = table(
        "Pets",
        HEADER,
        [[0, picture(0), "?", "a1", "b2", "", "A"], [1, "0", "?", "a1", "b2", "", "A"]],
    )

    command(["circular", str(path)])

    assert [row["image"] for row in rows_of(path.with_name("Pets_circular.tsv"))][
        1:
    ] == ["0", "0", "0"]


def test_large_indexes_get_a_larger_offset(table, picture):
    path = table("Pets", HEADER, [[2_000_000, picture(0), "?", "a1", "b2", "", "A"]])

    command(["circular", str(path)])

    assert [row["index"] for row in rows_of(path.with_name("Pets_circular.tsv"))] == [
        "2000000",
        "12000000",
    ]


def test_a_table_without_options_is_refused(table, picture):
    path = table("Words", "index image question answer", [[0, picture(0), "?", "x"]])

    with pytest.raises(UsageError, match="no column 'A'"):
        command(["circular", str(path)])
    with pytest.raises(UsageError, match="no such TSV"):
        command(["circular", "lost.tsv"])
    with pytest.raises(UsageError, match="which table is to be rotated"):
        command(["circular"])
