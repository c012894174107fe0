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
COLONS = st.sampled_from([":", ": ", " : ", "\t:", "  :", "\n: "])


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
