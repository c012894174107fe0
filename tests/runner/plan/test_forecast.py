"""Forecasting the number of samples without reading the data."""

import json
from pathlib import Path

import pytest

from assay.runner.options import RunOptions
from assay.runner.plan.forecast import expected_requests
from assay.runner.plan.planning import make_plan


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, 20),
        ("5", 5),
        ("0.25", 5),
        ("0.33", 7),
        ("0.01", 1),
        ("1.0", 20),
        ("11-15", 5),
        ("18-30", 3),
        ("500", 20),
    ],
    ids=str,
)
def test_the_lines_of_a_file_are_counted_and_the_limit_kept(
    tmp_path: Path, limit: str | None, expected: int
):
    data = tmp_path / "rows.jsonl"
    data.write_text(
        "".join(
            json.dumps({"question": str(n), "answer": "a"}) + "\n" for n in range(20)
        )
    )
    options = RunOptions(
        tasks=(str(data),),
        models=("scripted",),
        model_args={"answers": "echo"},
        limit=limit,
    )

    (cell,) = make_plan(options)

    assert expected_requests(cell) == expected
    assert len(list(cell.view())) == expected


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_an_empty_file_has_no_samples(tmp_path: Path, name: str):
    data = tmp_path / name
    if name.endswith(".csv"):
        data.write_text("question,answer\n" + "a,b\n")
    else:
        data.write_text('{"question": "a", "answer": "b"}\n')
    options = RunOptions(
        tasks=(str(data),), models=("scripted",), model_args={"answers": "echo"}
    )
    (cell,) = make_plan(options)

    data.write_text("")

    assert expected_requests(cell) == 0


def test_a_header_is_not_a_sample(tmp_path: Path):
    data = tmp_path / "rows.csv"
    data.write_text("question,answer\na,b\nc,d")

    (cell,) = make_plan(
        RunOptions(
            tasks=(str(data),), models=("scripted",), model_args={"answers": "echo"}
        )
    )

    assert expected_requests(cell) == 2
