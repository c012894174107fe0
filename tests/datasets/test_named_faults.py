"""Rows that a task's own function cannot use keep the name they have."""

import json
from dataclasses import dataclass

import pytest

from assay.core import BadSample, DataError, Sample
from assay.datasets import open_dataset
from assay.datasets.faults import NamedFault


@dataclass(frozen=True)
class Convert:
    """Fails where there is no question."""

    id_column: str | None = None

    def __call__(self, row):
        return Sample(
            str(row.get(self.id_column, "")) if self.id_column else "",
            row["question"],
            fields=row,
        )


def bad_ids(samples):
    return [item.id for item in samples if isinstance(item, BadSample)]


@pytest.fixture
def written(tmp_path):
    def write(*rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.mark.parametrize("column", ["index", "key", "id"])
def test_a_failing_row_is_called_by_its_own_id(written, column):
    path = written(
        {column: "a", "question": "q"}, {column: "b"}, {column: "c", "question": "q"}
    )

    samples = list(open_dataset(path, to_sample=Convert()))

    assert [item.id for item in samples] == ["a", "b", "c"]
    assert bad_ids(samples) == ["b"]


def test_the_column_that_a_task_names_wins_over_the_conventional_ones(written):
    path = written({"id": "1", "name": "x", "question": "q"}, {"id": "2", "name": "y"})

    assert bad_ids(open_dataset(path, to_sample=Convert("name"))) == ["y"]


def test_a_row_without_a_usable_name_is_called_by_its_number(written):
    path = written(
        {"id": "a", "question": "q"}, {"id": None}, {"id": ["x"]}, {"other": 1}
    )

    assert bad_ids(open_dataset(path, to_sample=Convert())) == [
        "row-2",
        "row-3",
        "row-4",
    ]


def test_a_name_that_is_taken_gets_the_number_of_the_row(written):
    path = written({"id": "a", "question": "q"}, {"id": "a"})

    assert bad_ids(open_dataset(path, to_sample=Convert())) == ["a#row-2"]


def test_a_fault_given_in_a_rows_place_may_say_the_rows_name():
    fault = NamedFault("no prompt")
    fault.sample_id = "seven"

    samples = list(
        open_dataset(lambda: [Sample("one", "q"), fault, DataError("unnamed")])
    )

    assert bad_ids(samples) == ["seven", "row-3"]
