"""Pictures of rows lie under upstream's names, and never under another picture's."""

import io
import os
from pathlib import Path

import pytest
from PIL import Image as pillow

from assay.core import Image
from assay.datasets.faults import RowFault
from assay.dialects.kits.row_images import file_names, image_file_path, is_written


def drawn(colour, fmt="PNG", mode="RGB"):
    buffer = io.BytesIO()
    pillow.new(mode, (8, 8), colour).save(buffer, fmt)
    return Image(buffer.getvalue())


@pytest.mark.parametrize(
    ("count", "named", "names"),
    [
        (1, [], ["7.jpg"]),
        (2, [], ["7_0.png", "7_1.png"]),
        (1, ["a/b.png"], ["a/b.png"]),
        (2, ["x", "y"], ["x", "y"]),
    ],
)
def test_names_are_those_of_upstream(count, named, names):
    assert file_names(7, count, named, ".jpg") == names


def test_a_picture_keeps_its_bytes_under_the_name_it_is_given(tmp_path):
    picture = drawn("red")

    path = image_file_path(picture, str(tmp_path), "sub/7.jpg")

    assert (
        path == str(tmp_path / "sub/7.jpg")
        and Path(path).read_bytes() == picture.data()
    )
    assert is_written(path, picture)


def test_another_picture_under_the_same_name_gets_a_name_of_its_own(tmp_path):
    (tmp_path / "7.png").write_bytes(drawn("blue").data())

    path = image_file_path(drawn("red"), str(tmp_path), "7.png")

    assert path != str(tmp_path / "7.png")
    assert pillow.open(path).getpixel((0, 0)) == (255, 0, 0)
    assert pillow.open(tmp_path / "7.png").getpixel((0, 0)) == (0, 0, 255)


def test_rows_that_share_a_picture_share_its_bytes(tmp_path):
    paths = [
        image_file_path(drawn("red"), str(tmp_path), name)
        for name in ("1.png", "1000001.png")
    ]

    assert len({os.stat(path).st_ino for path in paths}) == 1


def test_a_picture_with_alpha_becomes_rgb(tmp_path):
    path = image_file_path(drawn((255, 0, 0, 255), mode="RGBA"), str(tmp_path), "a.png")

    assert pillow.open(path).mode == "RGB"


def test_upstreams_way_is_the_format_of_the_suffix(tmp_path):
    path = image_file_path(drawn("red"), str(tmp_path), "a.jpg", encodes=True)

    assert pillow.open(path).format == "JPEG"


@pytest.mark.parametrize("name", ["../x.png", "/etc/x.png", "a/../../x.png"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    with pytest.raises(RowFault, match="outside the data folder"):
        image_file_path(drawn("red"), str(tmp_path / "images"), name)
