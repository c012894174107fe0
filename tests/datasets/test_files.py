"""Every format gives the same samples; folders, packed files and splits."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from dataset_rows import ROWS, Read, json_lines, table

from assay.core import DataError, Sample, UsageError
from assay.datasets import is_data_path, open_dataset

Write = Callable[[str, list[bytes] | bytes], Path]
SHARED = Path(__file__).parents[2].parent / "shared" / "data"

CONTENT = {
    "jsonl": b"".join(json_lines(ROWS)),
    "json": json.dumps(ROWS, indent=2).encode(),
    "csv": b"".join(table(ROWS)),
    "tsv": b"".join(table(ROWS, "\t")),
}


def _expected() -> list[tuple[str, str, str]]:
    return [(row["id"], row["question"], row["answer"]) for row in ROWS]


def _triples(samples: list[Sample]) -> list[tuple[str, object, object]]:
    return [(sample.id, sample.input, sample.target) for sample in samples]


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("suffix", sorted(CONTENT))
def test_every_text_format_gives_the_same_samples_plain_and_packed(
    write: Write, read: type[Read], suffix: str, packing: str
) -> None:
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }[packing]

    got = read(write(f"data.{suffix}{packing}", pack(CONTENT[suffix])))

    assert _triples(got.good) == _expected()
    assert not got.bad


def test_parquet_gives_the_same_samples_and_knows_its_length(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path, row_group_size=3)

    samples = open_dataset(path)

    assert samples.known_length == 20
    assert _triples([s for s in samples if isinstance(s, Sample)]) == _expected()


@pytest.mark.parametrize(
    "form", ["list", "samples", "function", "generator", "iterable", "iterator"]
)
def test_rows_in_python_give_the_same_samples_and_can_be_read_twice(form: str) -> None:
    samples = [Sample(row["id"], row["question"], row["answer"]) for row in ROWS]

    class Iterable:
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(ROWS)

    def generator():  # type: ignore[no-untyped-def]
        yield from ROWS

    sources = {
        "list": ROWS,
        "samples": samples,
        "function": lambda: ROWS,
        "generator": generator,
        "iterable": Iterable(),
        "iterator": iter(ROWS),
    }
    opened = open_dataset(sources[form])

    first, second = list(opened), list(opened)

    assert _triples(first) == _triples(second) == _expected()  # type: ignore[arg-type]
    assert opened.kind == "qa"


def test_a_function_is_not_called_before_its_rows_are_asked_for() -> None:
    calls: list[int] = []

    def rows() -> list[dict[str, str]]:
        calls.append(1)
        return ROWS

    opened = open_dataset(rows)
    before = len(calls)
    list(opened), opened.kind, list(opened)

    assert (before, len(calls)) == (0, 1)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (3, "cannot read a dataset from 3"),
        ({"question": "x"}, "cannot read a dataset from"),
        ("https://example.org/x.jsonl", "data is not read from a URL"),
        ("file:///srv/x.jsonl", "fix: give the path: /srv/x.jsonl"),
        ("data.xyz", "no such file or folder"),
    ],
)
def test_a_value_that_is_not_a_dataset_is_refused(source: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        open_dataset(source, where="task 'x'")


def test_a_function_that_returns_no_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="the dataset function returned 'text'"):
        list(open_dataset(lambda: "text"))


def test_a_file_of_an_unknown_kind_is_refused(write: Write) -> None:
    with pytest.raises(
        UsageError, match=r"cannot tell the format of .*; fix: name it one of \.jsonl"
    ):
        open_dataset(write("data.xlsx", b"PK"))


def test_an_object_may_hold_the_array(write: Write, read: type[Read]) -> None:
    content = {
        "canary": "do not train [on] {this}",
        "n": 20,
        "meta": {"a": [1, 2]},
        "examples": ROWS,
        "after": "]",
    }

    got = read(write("data.json", json.dumps(content).encode()))

    assert _triples(got.good) == _expected()


def test_an_object_may_hold_an_array_for_each_split(
    write: Write, read: type[Read]
) -> None:
    path = write(
        "data.json", json.dumps({"train": ROWS[:5], "test": ROWS[5:]}).encode()
    )

    assert read(path, split="test").ids == [row["id"] for row in ROWS[5:]]
    assert read(path, split="train").ids == [row["id"] for row in ROWS[:5]]


def test_one_object_a_line_may_be_called_json(write: Write, read: type[Read]) -> None:
    assert _triples(read(write("data.json", CONTENT["jsonl"])).good) == _expected()


def test_an_array_element_that_is_broken_does_not_touch_the_others(
    write: Write, read: type[Read]
) -> None:
    text = (
        json.dumps(ROWS)
        .replace('"answer": "14"', '"answer": NaN')
        .replace('{"id": "q9"', '3, {"id": "q9"')
    )

    got = read(write("data.json", text.encode()))

    assert len(got.good) == 19
    assert [str(bad.error).partition("data.json")[2][:20] for bad in got.bad] == [
        ":7:57: NaN is not JS",
        ":9:1: expected a JSO",
    ]


def test_a_truncated_array_reports_it_and_keeps_earlier_rows(
    write: Write, read: type[Read]
) -> None:
    got = read(write("data.json", json.dumps(ROWS).encode()[:-30]))

    assert len(got.good) == 19
    assert ":20: this element is never closed" in got.fault


@pytest.mark.parametrize("content", [b'{"a": 1}', b'{"a": [1, 2]}', b"3", b'"text"'])
def test_json_without_rows_is_refused(write: Write, content: bytes) -> None:
    with pytest.raises(DataError, match="no array of rows in this file"):
        open_dataset(write("data.json", content))


def test_array_elements_longer_than_a_chunk_are_read_whole(
    write: Write, read: type[Read]
) -> None:
    rows = [
        {**row, "image": None, "picture": "QUJD" * 200_000 + '\\"{['}
        for row in ROWS[:4]
    ]

    got = read(write("data.json", json.dumps(rows).encode()))

    assert [sample["picture"] for sample in got.good] == [
        row["picture"] for row in rows
    ]


def test_a_folder_of_shards_is_read_in_natural_order(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(ROWS)
    for part in (10, 9, 1):
        write(
            f"parts/part-{part}.jsonl",
            lines[:2] if part == 1 else lines[2:4] if part == 9 else lines[4:],
        )
    folder = write("parts/README.md", b"# not data").parent

    got = read(folder)

    assert got.ids == [row["id"] for row in ROWS]


def test_a_repeated_id_in_another_shard_names_both_files(
    write: Write, read: type[Read]
) -> None:
    folder = write("parts/a.jsonl", json_lines(ROWS)).parent
    write("parts/b.jsonl", json_lines(ROWS[2:3]))

    got = read(folder)

    assert len(got.good) == 20
    assert got.fault.startswith(
        f"{folder}/b.jsonl:1:id: the id is already that of {folder}/a.jsonl:3"
    )
    assert got.bad[0].id == "q3#row-b.jsonl-1"


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train.jsonl", "test.jsonl"),
        ("data/train-00000-of-00001.jsonl", "data/test-00000-of-00001.jsonl"),
        ("train/a.jsonl", "test/a.jsonl"),
        ("exam_train.jsonl", "exam_test.jsonl"),
    ],
)
def test_a_split_is_found_by_file_name(
    write: Write, read: type[Read], tmp_path: Path, train: str, test: str
) -> None:
    lines = json_lines(ROWS)
    write(f"set/{train}", lines[:12])
    write(f"set/{test}", lines[12:])

    got = read(tmp_path / "set", split="test")

    assert got.ids == [row["id"] for row in ROWS[12:]]
    with pytest.raises(
        UsageError, match=r"holds several splits: test, train; fix: choose one"
    ):
        open_dataset(tmp_path / "set")
    with pytest.raises(
        UsageError, match=r"has no split 'tets'; fix: did you mean 'test'\?"
    ):
        open_dataset(tmp_path / "set", split="tets")


def test_a_split_is_found_by_column_and_numbered_ids_do_not_move(
    write: Write, read: type[Read]
) -> None:
    rows = [
        {"split": "test" if n % 2 else "train", "question": "?", "answer": str(n)}
        for n in range(20)
    ]
    path = write("data.csv", table(rows))

    got = read(path, split="test")

    assert got.ids == [str(n) for n in range(1, 20, 2)]
    with pytest.raises(DataError, match="no row has split 'dev'"):
        open_dataset(path, split="dev")


def test_a_split_that_nothing_tells_of_is_refused(write: Write) -> None:
    path = write("data.jsonl", json_lines(ROWS))

    with pytest.raises(
        UsageError, match="has no 'split' column and is not named after split 'test'"
    ):
        open_dataset(path, split="test")


def test_a_folder_of_mixed_formats_or_of_nothing_is_refused(
    write: Write, tmp_path: Path
) -> None:
    write("mixed/a.jsonl", CONTENT["jsonl"])
    write("mixed/b.csv", CONTENT["csv"])
    (tmp_path / "none").mkdir()

    with pytest.raises(UsageError, match="mixes CSV and JSONL files"):
        open_dataset(tmp_path / "mixed")
    with pytest.raises(UsageError, match=r"the folder is empty: .*none"):
        open_dataset(tmp_path / "none")


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_damaged_archive_is_one_line_with_the_file(write: Write, suffix: str) -> None:
    path = write(f"data.jsonl.{suffix}", b"this was never packed")

    with pytest.raises(DataError, match=rf"data.jsonl.{suffix}.*damaged"):
        open_dataset(path)


def test_a_cut_gzip_file_is_one_line_with_the_file(write: Write) -> None:
    path = write("data.jsonl.gz", gzip.compress(CONTENT["jsonl"])[:-40])

    with pytest.raises(
        DataError, match=r"data.jsonl.gz: the gzip file is damaged or cut"
    ):
        list(open_dataset(path))


def test_data_paths_are_known_by_name(write: Write, tmp_path: Path) -> None:
    folder = write("set/data/test.parquet", b"x").parent.parent

    assert is_data_path(tmp_path / "any.jsonl.zst")
    assert is_data_path(folder)
    assert not is_data_path(tmp_path / "task.yaml")


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("gsm8k/test.jsonl", "qa", 1319),
        ("mmlu_pro/slice.jsonl", "choice", 350),
        ("mt_bench/question.jsonl", "dialogue", 80),
        ("ifeval/input_data.jsonl", "qa", 541),
        ("images_vqa/questions.jsonl", "mixed", 26),
        ("bbh/navigate.json", "qa", 250),
        ("humaneval/HumanEval.jsonl.gz", "qa", 164),
        ("dpg/prompts.jsonl", "qa", 150),
    ],
)
def test_published_files_are_read_whole_by_their_columns_alone(
    read: type[Read], name: str, kind: str, count: int
) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not on this machine")

    got = read(SHARED / name)

    assert (open_dataset(SHARED / name).kind, len(got.good), len(got.bad)) == (
        kind,
        count,
        0,
    )
