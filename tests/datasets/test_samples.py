"""Ids, duplicates, fingerprints and a task's own way from row to sample."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dataset_rows import ROWS, Read, json_lines

from assay.code.userfiles import load_file
from assay.core import BadSample, DataError, Sample, UsageError
from assay.datasets import open_dataset, view
from assay.datasets.memory import source_digest

Write = Callable[[str, list[bytes] | bytes], Path]


def _without_ids() -> list[dict[str, str]]:
    return [{"question": row["question"], "answer": row["answer"]} for row in ROWS]


def test_rows_without_ids_are_numbered_from_zero(read: type[Read]) -> None:
    assert read(_without_ids()).ids == [str(n) for n in range(20)]


def test_a_broken_row_does_not_move_the_numbers_of_the_others(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(_without_ids())
    lines[3] = b"{broken\n"

    got = read(write("data.jsonl", lines))

    assert got.ids[2:6] == ["2", "row-4", "4", "5"]


def test_a_first_row_without_the_id_that_the_others_have_is_the_fault(
    read: type[Read],
) -> None:
    got = read([{"question": "?", "answer": "1"}, *ROWS[1:]])

    assert len(got.good) == 19
    assert "rows:1:id: the id is missing" in got.fault


def test_an_id_that_appears_late_among_rows_without_is_the_fault(
    read: type[Read],
) -> None:
    rows = [*({"question": "?", "answer": "1"} for _ in range(100)), ROWS[0]]

    got = read(rows)

    assert len(got.good) == 100
    assert "rows:101:id: this row has an id and those before it have none" in got.fault


@pytest.mark.parametrize(
    ("given", "kept"),
    [(7, "7"), (0, "0"), (1.5, "1.5"), ("007", "007"), (" x ", " x ")],
)
def test_ids_are_text_exactly(read: type[Read], given: Any, kept: str) -> None:
    assert read([{"id": given, "question": "?", "answer": "!"}]).ids == [kept]


def test_repeated_ids_may_be_dropped_or_numbered(read: type[Read]) -> None:
    rows = [{"id": "a", "question": str(n), "answer": "x"} for n in range(3)]

    first, suffix = read(rows, on_duplicate="first"), read(rows, on_duplicate="suffix")

    assert [(sample.id, sample.input) for sample in first.good] == [("a", "0")]
    assert [(sample.id, sample.input) for sample in suffix.good] == [
        ("a", "0"),
        ("a#2", "1"),
        ("a#3", "2"),
    ]


def test_another_duplicate_policy_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"on_duplicate cannot be 'last'; fix: error, first or suffix"
    ):
        open_dataset(ROWS, on_duplicate="last")  # type: ignore[arg-type]


def test_repeated_ids_among_finished_samples_are_found_too(read: type[Read]) -> None:
    got = read([Sample("a", "x"), Sample("a", "y")])

    assert "rows:2:id: the id is already that of row 1" in got.fault


def test_a_value_that_is_not_a_row_is_a_fault_of_that_row(read: type[Read]) -> None:
    got = read([*ROWS, "text"])

    assert (
        "rows:21: expected a dictionary or a Sample, found a str, got 'text'"
        in got.fault
    )


def test_the_fingerprint_changes_when_the_file_does(write: Write) -> None:
    path = write("data.jsonl", json_lines(ROWS))
    before = open_dataset(path).fingerprint()
    os.utime(path, ns=(1, 1))

    after = open_dataset(path).fingerprint()

    assert before["files"][0]["size"] == path.stat().st_size
    assert before != after
    assert json.loads(json.dumps(after)) == after


def test_files_of_equal_size_and_time_differ_by_their_bytes(write: Write) -> None:
    path = write("data.jsonl", b'{"question": "a", "answer": "1"}\n')
    before, then = open_dataset(path).fingerprint(), path.stat().st_mtime_ns
    path.write_text('{"question": "a", "answer": "2"}\n')
    os.utime(path, ns=(then, then))

    after = open_dataset(path).fingerprint()

    assert (
        after["files"][0]["mtime_ns"] == then
        and after["files"][0]["size"] == before["files"][0]["size"]
    )
    assert before != after


def test_the_digest_of_a_file_is_that_of_its_bytes(write: Write) -> None:
    path = write("data.jsonl", json_lines(ROWS))

    assert open_dataset(path).digest() == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_rows_depends_on_their_content_and_not_on_key_order() -> None:
    one = open_dataset([{"question": "a", "answer": "b"}])
    same = open_dataset([{"answer": "b", "question": "a"}])
    other = open_dataset([{"question": "a", "answer": "c"}])

    assert one.digest() == same.digest() != other.digest()
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()


def test_the_digest_of_a_folder_covers_every_file(write: Write) -> None:
    folder = write("set/a.jsonl", json_lines(ROWS[:10])).parent
    second = write("set/b.jsonl", json_lines(ROWS[10:]))
    before = open_dataset(folder).digest()
    second.write_bytes(b"".join(json_lines(ROWS[11:])))

    assert open_dataset(folder).digest() != before
    assert open_dataset(folder).files == (folder / "a.jsonl", folder / "b.jsonl")


def test_the_fingerprint_of_a_file_is_the_same_however_it_is_named(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("data.jsonl", json_lines(ROWS))
    monkeypatch.chdir(path.parent)

    assert (
        open_dataset("data.jsonl").fingerprint()
        == open_dataset(str(path)).fingerprint()
    )


def test_the_fingerprint_of_a_function_covers_what_its_file_imports(
    tmp_path: Path,
) -> None:
    (tmp_path / "made_rows.py").write_text(
        "from made_count import K\ndef rows():\n    return [{}] * K\n"
    )
    (tmp_path / "made_count.py").write_text("K = 3\n")
    rows = load_file(tmp_path / "made_rows.py").rows
    before = source_digest(rows)

    (tmp_path / "made_count.py").write_text("K = 50\n")

    assert source_digest(rows) != before


def test_the_fingerprint_of_a_function_is_that_of_its_source() -> None:
    def rows() -> list[dict[str, str]]:
        return ROWS

    fingerprint = open_dataset(rows).fingerprint()

    assert fingerprint["function"].endswith("rows()")
    assert fingerprint == open_dataset(rows).fingerprint()


def _to_sample(row: Any) -> Sample:
    return Sample("", f"Q: {row['question']}", target=str(int(row["answer"])))


def test_a_task_may_make_samples_of_rows_itself(write: Write, read: type[Read]) -> None:
    rows = [{**row, "subject": "sums"} for row in ROWS]
    rows[6]["answer"] = "seven"

    got = read(
        write("data.jsonl", json_lines(rows)),
        to_sample=_to_sample,
        tags=["subject"],
        cluster="subject",
    )

    assert got.good[0] == Sample(
        "q1",
        "Q: What is 1 plus 1?",
        "2",
        fields=rows[0],
        tags={"subject": "sums"},
        cluster="sums",
    )
    assert len(got.good) == 19
    assert (
        ":7: to_sample failed: ValueError: invalid literal for int() with base 10: 'seven'"
        in got.fault
    )


def test_a_column_that_a_tasks_own_function_misses_is_named(read: type[Read]) -> None:
    got = read([*ROWS, {"id": "x", "question": "?"}], to_sample=_to_sample)

    assert "rows:21:answer: missing column 'answer'" in got.fault


def test_samples_a_task_made_itself_shuffle_with_their_ids(write: Write) -> None:
    rows = [{"question": "?", "answer": str(n)} for n in range(9)]
    samples = open_dataset(write("data.jsonl", json_lines(rows)), to_sample=_to_sample)

    found = {sample.id: sample.target for sample in view(samples, shuffle=1)}  # type: ignore[union-attr]

    assert found == {str(n): str(n) for n in range(9)}


def test_a_to_sample_that_returns_something_else_fails_on_every_row() -> None:
    with pytest.raises(
        DataError,
        match=r"none of the 20 rows can be used; the first: .*to_sample returned a dict",
    ):
        open_dataset(ROWS, to_sample=lambda row: row)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "rows of task 'exam': there are no rows"),
        ([1, 2], "rows of task 'exam': none of the 2 rows can be used"),
        (list, r"list\(\) of task 'exam': there are no rows"),
    ],
    ids=["none", "unusable", "of-a-function"],
)
def test_rows_in_memory_of_which_none_can_be_used_are_named_by_their_task(
    rows: Any, named: str
) -> None:
    with pytest.raises(DataError, match=named):
        _ = open_dataset(rows, where="task 'exam'").head


def test_an_object_that_yields_rows_is_named_by_its_own_name() -> None:
    class Exam:
        name = "dataset 'exam'"

        def __call__(self) -> list[Any]:
            return []

    with pytest.raises(DataError, match=r"^dataset 'exam': there are no rows"):
        _ = open_dataset(Exam()).head


def test_faulty_rows_have_ids_of_their_own(write: Write) -> None:
    lines = json_lines([{**ROWS[0], "id": "row-2"}, *ROWS[1:]])
    lines[1] = b"broken\n"

    items = list(open_dataset(write("data.jsonl", lines)))

    assert isinstance(items[1], BadSample)
    assert len({item.id for item in items}) == 20


def test_media_of_a_sample_may_be_one_medium_or_a_picture(tmp_path: Path) -> None:
    from PIL import Image as pillow

    from assay.core import Image

    picture = pillow.new("RGB", (2, 2), (255, 0, 0))
    rows: list[Any] = [
        Sample("a", "?", "x", media=(picture, picture)),  # type: ignore[arg-type]
        Sample("b", "?", "x", media=Image(picture)),  # type: ignore[arg-type]
        Sample("c", "?", "x", media=("a.png",)),  # type: ignore[arg-type]
    ]

    samples = list(view(open_dataset(lambda: rows)))

    good = [sample for sample in samples if isinstance(sample, Sample)]
    assert [len(sample.media) for sample in good] == [2, 1]
    assert all(isinstance(m, Image) for sample in good for m in sample.media)
    [bad] = [sample for sample in samples if isinstance(sample, BadSample)]
    assert "entry 1 of media is of type str" in str(bad.error)
    assert "write Image(…)" in str(bad.error)
