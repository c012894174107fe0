"""Quotes, line ends and empty lines in CSV and TSV."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from dataset_rows import Read
from hypothesis import given
from hypothesis import strategies as st

from assay.core import DataError
from assay.datasets.faults import RowFault
from assay.datasets.tables import split_quoted

Write = Callable[[str, list[bytes] | bytes], Path]
CELLS = st.lists(st.text(alphabet="ab,\"\t \n;'é", max_size=8), min_size=2, max_size=5)


@given(CELLS, st.sampled_from([",", "\t"]))
def test_csv_files_of_the_csv_module_round_trip(
    cells: list[str], separator: str
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerow(cells)

    assert split_quoted(text.getvalue(), separator) == (cells, None)


def test_a_quoted_cell_may_hold_lines_separators_and_quotes(
    write: Write, read: type[Read]
) -> None:
    content = b'id,question,answer\r\n1,"line one\nline ""two"", and",x\r\n2,plain 5" disk,y\r\n\r\n3,"",z'

    got = read(write("data.csv", content))

    assert [(s.id, s.input, s.target) for s in got.good] == [
        ("1", 'line one\nline "two", and', "x"),
        ("2", 'plain 5" disk', "y"),
        ("3", "", "z"),
    ]
    assert not got.bad


def test_row_numbers_are_line_numbers_even_after_a_cell_of_many_lines(
    write: Write, read: type[Read]
) -> None:
    got = read(
        write("data.csv", b'id,question,answer\n1,"a\nb\nc",x\n2,only two\n3,q,z\n')
    )

    assert got.ids == ["1", "row-5", "3"]


def test_an_unclosed_quote_at_the_end_of_the_file_loses_only_its_row(
    write: Write, read: type[Read]
) -> None:
    got = read(write("data.tsv", b'id\tquestion\tanswer\n1\tq\tx\n2\t"q\ty\n'))

    assert [s.id for s in got.good] == ["1"]
    assert ":3:question: a quote is opened and never closed" in got.fault


def test_text_after_a_closing_quote_is_a_fault() -> None:
    with pytest.raises(RowFault, match="text after the closing quote"):
        split_quoted('1,"a"b,c\n', ",")


@pytest.mark.parametrize(
    "content",
    [
        b"question\rfirst\rsecond\r",
        b"question,answer\rq1,a1\rq2,a2\r",
        b'"question","answer"\r"q1","a1"\r',
        b"question,answer\rq1,a1",
        b"\xef\xbb\xbfquestion,answer\rq1,a1\r",
    ],
)
def test_a_file_with_only_carriage_returns_is_refused(
    write: Write, read: type[Read], content: bytes
) -> None:
    with pytest.raises(
        DataError,
        match=r"data\.csv:1:1: the lines end in CR alone; fix: save with LF line ends",
    ):
        read(write("data.csv", content))


def test_a_carriage_return_within_a_quoted_name_does_not_end_the_line(
    write: Write, read: type[Read]
) -> None:
    got = read(write("data.csv", b'question,answer,"a\rnote"\r\nq,x,y\r\n'))

    assert [(s.input, s.target) for s in got.good] == [("q", "x")]


@pytest.mark.parametrize(
    "content", [b"question,answer\nq1,\nq2,x\n", b'question,answer\nq1,""\nq2,x\n']
)
def test_an_empty_cell_means_no_answer(
    write: Write, read: type[Read], content: bytes
) -> None:
    got = read(write("data.csv", content))

    assert [sample.target for sample in got.good] == [None, "x"]
