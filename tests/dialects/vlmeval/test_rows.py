"""Lines as guest code sees them: whatever it does to one, `dump_image` gives the picture that the line then holds."""

import base64
import math
from pathlib import Path

import pytest

from assay.dialects.vlmeval.vlmeval_rows import Source


def red_of(path):
    from PIL import Image

    return Image.open(path).convert("RGB").getpixel((0, 0))[0]


def another(line, cell):
    line["image"] = cell


def kept_elsewhere(line, cell):
    line["backup"] = line["image"]
    line["image"] = cell


def renamed(line, cell):
    line["other"] = cell
    line.index = ["index", "old", "question", "image"]


@pytest.mark.parametrize("change", [another, kept_elsewhere, renamed])
def test_a_picture_that_the_users_code_put_into_the_line_is_the_one_that_is_written(
    picture, change
):
    source = Source("Bench")
    line = source.line({"index": "1", "image": picture(10), "question": "what?"})
    change(line, picture(200))

    (path,) = source.dump_image(line)

    assert red_of(path) == 200


def test_the_picture_of_an_untouched_line_is_written_with_its_own_bytes(picture):
    source, cell = Source("Bench"), picture(10)
    first = source.line({"index": "1", "image": cell, "question": "what?"})
    (path,) = source.dump_image(first)
    source.line({"index": "2", "image": picture(99), "question": "and this?"})

    (again,) = source.dump_image(first)

    assert again == path
    assert Path(path).read_bytes() == base64.b64decode(cell)


def test_a_line_of_a_table_has_typed_cells_and_nan_for_empty_ones(table):
    path = table(
        "Bench",
        "index\tquestion\tlevel\tratio\thint",
        [(1, "a", 3, 0.5, ""), (2, "7", 4, 1, "x")],
    )
    source = Source("Bench", path)

    line = source.line(
        {"index": "2", "question": "7", "level": "4", "ratio": "1", "hint": ""}
    )

    assert [(type(value), value) for value in line[:4]] == [
        (int, 2),
        (str, "7"),
        (int, 4),
        (float, 1.0),
    ]
    assert math.isnan(line["hint"])
