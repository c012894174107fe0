"""The image columns of TSV benchmarks."""

import base64
import gzip
from pathlib import Path

import pytest

from assay.datasets.faults import RowFault
from assay.datasets.tsv_images import RowImages, TableLookup

IMAGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(80)).decode()
OTHER = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(80))).decode()


def images(path: Path, **more) -> RowImages:
    return RowImages(TableLookup(path), [path.parent], **more)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "data.tsv"
    file.write_text(
        f"index\timage\n1\t{IMAGE}\n2\t1\n3\t2\n4\t\n5\t['{IMAGE}', '{OTHER}']\n"
    )
    return file


def test_a_long_cell_is_the_image_itself(table):
    (picture,) = images(table).of({"index": "1", "image": IMAGE})

    assert picture.data() == base64.b64decode(IMAGE)


def test_a_short_cell_is_the_index_of_the_row_with_the_image(table):
    assert images(table).cells({"index": "2", "image": "1"}) == [IMAGE]


def test_a_reference_may_point_to_several_images(table):
    assert images(table).cells({"image": "5"}) == [IMAGE, OTHER]


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("2", "itself refers to row '1'"),
        ("9", "is not there"),
        ("4", "has none"),
        ("['a", "not a list"),
    ],
)
def test_a_reference_that_leads_nowhere_is_the_fault_of_its_row(table, cell, why):
    with pytest.raises(RowFault, match=why):
        images(table).cells({"image": cell})


def test_a_list_of_one_is_unwrapped_and_may_be_a_reference(table):
    assert images(table).cells({"image": "['1']"}) == [IMAGE]


def test_a_packed_table_is_looked_up_too(tmp_path, table):
    packed = tmp_path / "data.tsv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))

    assert images(packed).cells({"image": "1"}) == [IMAGE]


def test_without_an_image_the_paths_name_files_beside_the_table(tmp_path, table):
    (tmp_path / "a.png").write_bytes(b"x")

    first, second = images(table).of(
        {"image": "", "image_path": f"['a.png', '{tmp_path}/b.png']"}
    )

    assert (first.source, second.source) == (tmp_path / "a.png", tmp_path / "b.png")


def test_an_empty_cell_may_be_lent_an_image_by_another_row(table):
    lent = images(table, lender=lambda row: "1" if row["index"] == "4" else None)

    assert lent.cells({"index": "4", "image": ""}) == [IMAGE]
    assert lent.cells({"index": "6", "image": ""}) == []


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "link.png"])
def test_a_file_outside_the_folders_is_the_fault_of_its_row(table, name):
    (table.parent / "link.png").symlink_to("/etc/hostname")

    with pytest.raises(RowFault, match="the image file is outside the data folder"):
        images(table).of({"image_path": name})


def test_a_file_named_by_its_whole_path_may_lie_in_one_of_the_folders(table):
    (table.parent / "a.png").write_bytes(b"x")

    (picture,) = images(table).of({"image_path": str(table.parent / "a.png")})

    assert picture.data() == b"x"


def test_a_whole_path_leads_anywhere_only_in_a_table_that_is_trusted(table, tmp_path):
    name = str(tmp_path.parent / "elsewhere.png")

    assert images(table, trusts_absolute=True).file(name) == Path(name)
    with pytest.raises(RowFault, match="is outside the data folder"):
        images(table, trusts_absolute=True).file("../elsewhere.png")
    with pytest.raises(RowFault, match="is outside the data folder"):
        images(table).file(name)
