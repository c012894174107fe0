"""Limits, ids, shuffles and shards."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dataset_rows import ROWS, json_lines, table

from assay.core import BadSample, UsageError
from assay.datasets import open_dataset, view

Write = Callable[[str, list[bytes] | bytes], Path]
IDS = [row["id"] for row in ROWS]


def _ids(**options: Any) -> list[str]:
    return [sample.id for sample in view(open_dataset(ROWS), **options)]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, IDS),
        (3, IDS[:3]),
        ("3", IDS[:3]),
        (99, IDS),
        (0.25, IDS[:5]),
        ("0.25", IDS[:5]),
        (1.0, IDS),
        ("11-13", IDS[10:13]),
    ],
)
def test_a_limit_is_a_number_a_fraction_or_a_range(
    limit: Any, expected: list[str]
) -> None:
    assert _ids(limit=limit) == expected


@pytest.mark.parametrize("limit", [0, -1, 0.0, 1.5, "5-2", "0-3", "x", True])
def test_an_invalid_limit_is_refused(limit: Any) -> None:
    with pytest.raises(
        UsageError, match="is not a part of a dataset; fix: give a number"
    ):
        _ids(limit=limit)


def test_a_range_behind_the_last_sample_is_refused() -> None:
    count = len(IDS)

    with pytest.raises(
        UsageError,
        match=f"'50-60' begins after the last of {count} samples; fix: a range within 1-",
    ):
        _ids(limit="50-60")


def test_a_range_may_end_behind_the_last_sample() -> None:
    assert _ids(limit=f"{len(IDS)}-99") == IDS[-1:]


def test_ids_may_be_joined_by_commas() -> None:
    assert _ids(ids=[f"{IDS[3]},{IDS[1]}", IDS[5]]) == [IDS[1], IDS[3], IDS[5]]


def test_an_id_with_a_comma_in_it_is_that_id() -> None:
    rows = [{"id": name, "question": "?", "answer": "x"} for name in ("a", "b", "a,b")]

    assert [sample.id for sample in view(open_dataset(rows), ids=["a,b"])] == ["a,b"]


def test_one_of_several_ids_that_is_not_there_is_named_alone() -> None:
    with pytest.raises(UsageError, match="no sample has the id 'nowhere'"):
        _ids(ids=[f"{IDS[3]},nowhere"])


def test_a_limit_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(1000):
            read.append(number)
            yield {"question": "?", "answer": str(number)}

    samples = open_dataset(rows)
    _ = samples.kind
    read.clear()

    assert len(list(view(samples, limit=3))) == 3
    assert len(read) <= 4


def test_ids_choose_samples_and_reading_stops_at_the_last() -> None:
    assert _ids(ids=["q9", "q2"]) == ["q2", "q9"]


def test_an_id_that_no_sample_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"no sample has the id 'q33'; fix: did you mean 'q3'\?"
    ):
        _ids(ids=["q2", "q33"])


def test_shards_part_the_samples_among_them() -> None:
    parts = [_ids(shard=(part, 3), limit=10) for part in range(3)]

    assert sorted(itertools.chain(*parts)) == sorted(IDS[:10])
    assert _ids(shard="1/3", limit=10) == parts[0]


@pytest.mark.parametrize("shard", [(3, 3), (-1, 2), "0/3", "4/3", "x"])
def test_a_shard_out_of_range_is_refused(shard: Any) -> None:
    with pytest.raises(UsageError, match="shard"):
        _ids(shard=shard)


@pytest.mark.parametrize("name", ["data.jsonl", "data.csv", "data.json", "rows"])
def test_a_shuffle_depends_on_the_seed_alone_and_loses_nothing(
    write: Write, name: str
) -> None:
    content = {
        "data.jsonl": json_lines(ROWS),
        "data.csv": table(ROWS),
        "data.json": _array(),
    }
    samples = open_dataset(ROWS if name == "rows" else write(name, content[name]))

    once, again = list(view(samples, shuffle=1)), list(view(samples, shuffle=1))
    other = [sample.id for sample in view(samples, shuffle=2)]

    assert once == again
    assert sorted(once, key=lambda sample: IDS.index(sample.id)) == list(samples)
    assert [sample.id for sample in once] == [
        sample.id for sample in view(open_dataset(ROWS), shuffle=1)
    ]
    assert other != [sample.id for sample in once]


def _array() -> bytes:
    return b"[" + b",".join(json_lines(ROWS)) + b"]"


def test_a_shuffle_leaves_a_repeated_id_the_fault_of_the_later_row(
    write: Write,
) -> None:
    lines = json_lines([*ROWS, ROWS[4]])
    samples = open_dataset(write("data.jsonl", lines))

    shuffled = [list(view(samples, shuffle=seed)) for seed in range(8)]

    for items in shuffled:
        (bad,) = [item for item in items if isinstance(item, BadSample)]
        assert bad.error.row == 21
        assert len(items) == 21


def test_a_shuffle_keeps_ids_that_were_numbered(write: Write) -> None:
    rows = [{"id": "a", "question": str(n), "answer": "x"} for n in range(5)]
    samples = open_dataset(write("data.jsonl", json_lines(rows)), on_duplicate="suffix")

    found = {sample.id: sample.input for sample in view(samples, shuffle=3)}  # type: ignore[union-attr]

    assert found == {"a": "0", "a#2": "1", "a#3": "2", "a#4": "3", "a#5": "4"}


def test_a_view_can_be_read_twice_and_delegates_to_the_samples() -> None:
    samples = open_dataset(ROWS)
    part = view(samples, limit=4, shuffle=0)

    assert list(part) == list(part)
    assert (part.kind, part.known_length, part.digest()) == ("qa", 4, samples.digest())
