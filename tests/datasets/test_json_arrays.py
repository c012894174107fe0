"""Arrays read in pieces: the same rows wherever a piece ends."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.datasets.json_shards import JsonArray

TEXT = st.text(alphabet='ab"\\\\{}[],: \né', max_size=8)
ROWS = st.lists(
    st.dictionaries(
        TEXT, TEXT | st.lists(TEXT, max_size=2) | st.integers(), max_size=3
    ),
    min_size=1,
    max_size=5,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(ROWS, st.sampled_from([None, 1]), st.integers(1, 9), st.booleans())
def test_rows_do_not_depend_on_where_the_pieces_end(
    tmp_path: Path,
    rows: list[dict[str, Any]],
    indent: int | None,
    chunk: int,
    wrapped: bool,
) -> None:
    path = tmp_path / "data.json"
    path.write_text(
        json.dumps(
            {"about": ["x", {}], "rows": [{"first": 1}, *rows]} if wrapped else rows,
            indent=indent,
        )
    )

    with patch("assay.datasets.json_shards.CHUNK_BYTES", chunk):
        found = list(JsonArray(path).rows())
        again = [JsonArray(path).row_at(number, offset) for number, offset, _ in found]

    assert [row for _, _, row in found] == ([{"first": 1}, *rows] if wrapped else rows)
    assert again == [row for _, _, row in found]
