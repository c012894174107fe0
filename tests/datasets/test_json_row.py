"""One JSON object: nothing good is refused, no repeated key gets by."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.datasets.faults import RowFault
from assay.datasets.json_row import decode_row

TEXT = st.text(alphabet="ab\":\\\\ \t{}[],'é", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.dictionaries(TEXT, VALUES, min_size=1, max_size=4)
COLONS = st.sampled_from([":", ": ", " : ", "\t:", "  :", "\n: ", "\r:", "\r\n:"])


@given(ROWS, COLONS)
def test_every_row_that_json_writes_is_read_back(
    row: dict[str, Any], colon: str
) -> None:
    line = json.dumps(row, separators=(",", colon)).encode()

    assert decode_row(line) == row


@given(ROWS, COLONS, VALUES)
def test_a_repeated_key_is_found_however_it_is_written(
    row: dict[str, Any], colon: str, again: Any
) -> None:
    key = json.dumps(next(iter(row)))
    line = (
        json.dumps(row, separators=(",", ":"))[:-1]
        + f",{key}{colon}{json.dumps(again)}}}"
    )

    with pytest.raises(RowFault, match="is given twice"):
        decode_row(line.encode())


@pytest.mark.parametrize("end", ["", "\r", "\n", "\r\n"])
def test_a_repeated_key_before_a_carriage_return_is_found(end: str) -> None:
    with pytest.raises(RowFault, match="'a' is given twice"):
        decode_row(b'{"a"\r:1,"a":2}' + end.encode())


@pytest.mark.parametrize(
    ("line", "reason", "column"),
    [
        ('{"note":"x: NaN","b":NaN}', "NaN is not JSON", 22),
        ('{"note":": -Infinity","b":[1,-Infinity]}', "-Infinity is not JSON", 30),
        (f'{{"id":"{"7" * 400}","x":1e999}}', "a number is out of range", 414),
        ('{"x":1e400}', "a number is out of range", 6),
        ('{"x":-1e400}', "a number is out of range", 6),
        ('{"x":"1e400","y":1e401}', "a number is out of range", 18),
        (f'{{"x":{"9" * 400},"y":1e400}}', "a number is out of range", 411),
        (f'{{"x":-{"9" * 5000}}}', "a number of 5000 digits cannot be read", 6),
        (r'{"x":"\\ud83d","y":1e400}', "a number is out of range", 20),
        (r'{"x":"\\\ud83d"}', "half of a surrogate pair is not a character", 9),
        (r'{"x":"\ud83d\ude00\ude00"}', "half of a surrogate pair is not", 19),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_fault_is_described_where_it_is(line: str, reason: str, column: int) -> None:
    with pytest.raises(RowFault, match=reason) as caught:
        decode_row(line.encode())

    assert caught.value.column == column
