"""Tables of large cells: each is copied once, and the file is hashed while it is read."""

import hashlib
from itertools import islice
from pathlib import Path

import pytest
from dataset_rows import Read

from assay.datasets import open_dataset, samples, tables

LONG = "QUJD" * 8000


def write(path: Path, *cells: str, end: str = "\n") -> Path:
    lines = [
        "id\tquestion\tanswer\tpicture",
        *(f"q{n}\tWhat?\tA\t{cell}" for n, cell in enumerate(cells, 1)),
    ]
    path.write_bytes((end.join(lines) + end).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("cell", [LONG, LONG + "é漢😀", f'"{LONG}"', f'{LONG}"', ""])
def test_long_rows_are_read_as_short_ones_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, cell: str
) -> None:
    path = write(tmp_path / "rows.tsv", cell, LONG, end=end)
    fast = [sample.fields for sample in Read(path).good]
    monkeypatch.setattr(tables, "LONG_LINE_BYTES", 10**9)

    assert fast == [sample.fields for sample in Read(path).good]
    assert [row["picture"] for row in fast] == [
        cell.strip('"') if cell.startswith('"') else cell,
        LONG,
    ]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (b"\xe9", ":3:picture: byte 0xe9 is not UTF-8"),
        (b"\0", ":3:picture: the cell holds a zero byte"),
        (b"\tmore", ":3:5: 5 cells under 4 columns"),
    ],
)
def test_faults_of_long_rows_are_located(
    tmp_path: Path, broken: bytes, words: str
) -> None:
    path = write(tmp_path / "rows.tsv", LONG, f"{LONG}<here>", LONG)
    path.write_bytes(path.read_bytes().replace(b"<here>", broken))

    got = Read(path)

    assert len(got.good) == 2
    assert words in got.fault


def test_the_digest_of_a_table_that_was_read_needs_no_second_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows.tsv", LONG, LONG)
    wanted = hashlib.sha256(path.read_bytes()).hexdigest()
    opened = open_dataset(path)
    assert len(list(opened)) == 2
    monkeypatch.setattr(samples, "file_digest", None)

    assert opened.digest() == wanted


def test_a_table_that_changed_after_it_was_read_is_hashed_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.tsv", LONG, LONG)
    opened = open_dataset(path)
    assert len(list(opened)) == 2
    path.write_bytes(path.read_bytes() + b"q9\tNew?\tA\tx\n")

    assert opened.digest() == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_a_large_file_of_which_few_rows_were_read_is_that_of_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows.tsv", *[LONG] * 50)
    monkeypatch.setattr(samples, "SMALL_FILE_BYTES", 1000)
    opened = open_dataset(path)

    assert len(list(islice(opened, 3))) == 3
    assert opened.digest().startswith("beginning:")
    assert len(list(opened)) == 50
    assert opened.digest() == hashlib.sha256(path.read_bytes()).hexdigest()
