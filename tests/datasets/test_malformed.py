"""The malformed inputs of the reliability plan (F7, cases 1-42 and 57-59): one located line each, the rest survives."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from dataset_rows import CHOICE_ROWS, ROWS, Read, json_lines, table

import assay
from assay.core import DataError, UsageError
from assay.datasets import open_dataset

Write = Callable[[str, list[bytes] | bytes], Path]

# Case, what the seventh line becomes (given its good bytes), and the place and words of the fault. `%` is the file.
BROKEN_LINES: list[tuple[str, Callable[[bytes], bytes], str]] = [
    (
        "02 missing brace",
        lambda line: line.replace(b"}", b""),
        "%:7:61: the row ends before the object is closed",
    ),
    (
        "03 trailing comma",
        lambda line: line.replace(b"}", b",}"),
        "%:7:61: trailing comma",
    ),
    (
        "04 single quotes",
        lambda line: line.replace(b'"', b"'"),
        "%:7:2: single quotes are not JSON",
    ),
    ("05 NaN", lambda line: line.replace(b'"14"', b"NaN"), "%:7:57: NaN is not JSON"),
    (
        "06 Infinity",
        lambda line: line.replace(b'"14"', b"Infinity"),
        "%:7:57: Infinity is not JSON",
    ),
    (
        "06 -Infinity",
        lambda line: line.replace(b'"14"', b"-Infinity"),
        "%:7:57: -Infinity is not JSON",
    ),
    (
        "07 duplicate key",
        lambda line: line.replace(b"}", b', "answer": "15"}'),
        "%:7:answer: the key 'answer' is given twice",
    ),
    (
        "07 duplicate key, spaced",
        lambda line: line.replace(b'"answer":', b'"answer" : "1", "answer" :'),
        "%:7:answer: the key 'answer' is given twice",
    ),
    (
        "07 duplicate key, nested",
        lambda line: line.replace(b'"14"', b'{"a": 1, "a": 2}'),
        "%:7:a: the key 'a' is given twice",
    ),
    (
        "07 duplicate key beside a text with quotes and colons",
        lambda line: line.replace(b'"14"', b'"say \\": now", "id": "z"'),
        "%:7:id: the key 'id' is given twice",
    ),
    (
        "08 array",
        lambda line: b'["q7", "What?", "14"]\n',
        "%:7:1: expected a JSON object, found an array",
    ),
    (
        "08 number",
        lambda line: b"7\n",
        "%:7:1: expected a JSON object, found a bare value",
    ),
    (
        "12 latin-1",
        lambda line: line.replace(b"plus", b"pl\xfcs"),
        "%:7:39: byte 0xfc is not UTF-8",
    ),
    (
        "13 lone surrogate",
        lambda line: line.replace(b"plus", b"\\ud800"),
        "%:7:37: half of a surrogate pair",
    ),
    (
        "13 lone low surrogate",
        lambda line: line.replace(b"plus", b"\\udc00 x"),
        "%:7:37: half of a surrogate pair",
    ),
    (
        "14 zero byte",
        lambda line: line.replace(b"plus", b"\0"),
        "%:7:37: the line holds a zero byte",
    ),
    (
        "14 escaped zero",
        lambda line: line.replace(b"plus", b"\\u0000"),
        "%:7:question: the text holds a zero character",
    ),
    (
        "17 deep nesting",
        lambda line: line.replace(b'"14"', b"[" * 10_000 + b"]" * 10_000),
        "%:7:1: the row is nested too deeply",
    ),
    (
        "18 long integer",
        lambda line: line.replace(b'"14"', b"9" * 5000),
        "%:7:57: a number of 5000 digits cannot be read",
    ),
    (
        "19 wrong type",
        lambda line: line.replace(b'"What is 7 plus 7?"', b'{"a": 1}'),
        "%:7:question: expected text, found an object",
    ),
    (
        "19 number for text",
        lambda line: line.replace(b'"What is 7 plus 7?"', b"7"),
        "%:7:question: expected text, found a number",
    ),
    (
        "20 missing question",
        lambda line: b'{"id": "q7", "answer": "14"}\n',
        "%:7:question: column 'question' is missing",
    ),
    (
        "20 missing answer",
        lambda line: b'{"id": "q7", "question": "What?"}\n',
        "%:7:answer: column 'answer' is missing",
    ),
    (
        "33 duplicate id",
        lambda line: line.replace(b'"q7"', b'"q3"'),
        "%:7:id: the id is already that of row 3, got 'q3'",
    ),
    (
        "34 missing id",
        lambda line: line.replace(b'"id": "q7", ', b""),
        "%:7:id: the id is missing",
    ),
    (
        "34 empty id",
        lambda line: line.replace(b'"q7"', b'""'),
        "%:7:id: the id is missing",
    ),
    (
        "34 null id",
        lambda line: line.replace(b'"q7"', b"null"),
        "%:7:id: the id is missing",
    ),
    (
        "37 line end in id",
        lambda line: line.replace(b'"q7"', b'"q\\n7"'),
        "%:7:id: the id holds a line end",
    ),
    (
        "37 zero in id",
        lambda line: line.replace(b'"q7"', b'"q\\u00007"'),
        "%:7:id: the text holds a zero character",
    ),
    (
        "37 id of a wrong type",
        lambda line: line.replace(b'"q7"', b'["q7"]'),
        "%:7:id: an id must be text, found a list",
    ),
]


@pytest.mark.parametrize(
    ("case", "spoil", "words"), BROKEN_LINES, ids=[case for case, _, _ in BROKEN_LINES]
)
def test_a_broken_json_line_is_one_located_fault_and_nineteen_samples(
    case: str,
    spoil: Callable[[bytes], bytes],
    words: str,
    write: Write,
    read: type[Read],
) -> None:
    lines = json_lines(ROWS)
    lines[6] = spoil(lines[6])
    path = write("data.jsonl", lines)

    began = time.process_time()
    got = read(path)

    assert len(got.good) == 19
    assert got.fault.startswith(words.replace("%", str(path)))
    assert got.ids[6].endswith(
        ("q7", "row-7")
    )  # its own where it can be read and is free
    assert len(set(got.ids)) == 20
    assert time.process_time() - began < 10


def _answer(messages: list[dict[str, Any]]) -> str:
    return "14"


@pytest.mark.parametrize(
    ("case", "spoil", "words"), BROKEN_LINES, ids=[case for case, _, _ in BROKEN_LINES]
)
def test_a_run_over_a_broken_line_writes_nothing_or_asks_the_other_nineteen(
    case: str, spoil: Callable[[bytes], bytes], words: str, write: Write, tmp_path: Path
) -> None:
    lines = json_lines(ROWS)
    lines[6] = spoil(lines[6])
    path = write("data.jsonl", lines)
    task = assay.Task("t", dataset=str(path), scorers="exact_match")

    with pytest.raises(DataError) as caught:
        assay.run(task, _answer, output=str(tmp_path / "stopped"), on_data_error="stop")
    result = assay.run(task, _answer, output=str(tmp_path / "continued"))

    assert str(caught.value).startswith(
        words.replace("%", str(path))
    ) and "\n" not in str(caught.value)
    assert not (tmp_path / "stopped").exists()
    assert dict(result[0].outcomes) == {"scored": 19, "data_error": 1}


def test_case_01_a_last_line_that_was_cut(write: Write, read: type[Read]) -> None:
    path = write("data.jsonl", b"".join(json_lines(ROWS))[:-20])

    got = read(path)

    assert len(got.good) == 19
    assert f"{path}:20:" in got.fault
    assert "the row ends before the object is closed" in got.fault


def test_case_09_blank_lines_are_skipped_and_line_numbers_stay_right(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(ROWS)
    lines[3:3] = [b"\n", b"   \r\n"]
    lines[10] = b"{oops\n"

    got = read(write("data.jsonl", lines))

    assert len(got.good) == 19
    assert ":11:" in got.fault


def test_case_10_a_byte_order_mark_is_accepted(write: Write, read: type[Read]) -> None:
    got = read(write("data.jsonl", b"\xef\xbb\xbf" + b"".join(json_lines(ROWS))))

    assert len(got.good) == 20


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["data.jsonl", "data.csv", "data.json"])
def test_case_11_utf16_is_a_fault_of_the_file(
    write: Write, encoding: str, name: str
) -> None:
    path = write(name, b"".join(json_lines(ROWS)).decode().encode(encoding))

    with pytest.raises(DataError, match=r"the file is UTF-16, not UTF-8.*iconv"):
        open_dataset(path)


def test_case_15_mixed_line_ends_are_accepted(write: Write, read: type[Read]) -> None:
    lines = [
        line.replace(b"\n", b"\r\n") if n % 2 else line
        for n, line in enumerate(json_lines(ROWS))
    ]

    got = read(write("data.jsonl", lines))

    assert [sample.target for sample in got.good] == [row["answer"] for row in ROWS]


def test_case_16_a_line_of_a_hundred_megabytes_is_one_fault(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(ROWS)
    lines[6] = lines[6].replace(b"14", b"x" * 100_000_000)
    path = write("data.jsonl", lines)

    began = time.process_time()
    got = read(path)

    assert len(got.good) == 19
    assert f"{path}:7:answer: the cell is larger than the limit of 64 MiB" in got.fault
    assert time.process_time() - began < 10


@pytest.mark.parametrize("name", ["data.jsonl", "data.csv"])
def test_case_16_a_line_over_the_row_limit_is_skipped_unread(
    write: Write, read: type[Read], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("assay.datasets.faults.ROW_LIMIT", 1000)
    lines = json_lines(ROWS) if name.endswith("jsonl") else table(ROWS)
    lines[6] = lines[6].replace(b"plus", b"x" * 3_000_000)

    got = read(write(name, lines))

    assert len(got.good) == 19
    assert ":7: the row is larger than the limit of 1000 bytes" in got.fault


def test_case_21_an_unknown_column_is_a_fault_only_when_strict(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(ROWS)
    lines[6] = lines[6].replace(b"}", b', "anwser": "x"}')
    path = write("data.jsonl", lines)

    lenient, strict = read(path), read(path, strict=True)

    assert len(lenient.good) == 20
    assert len(strict.good) == 19
    assert (
        f"{path}:7:anwser: unknown column 'anwser'; fix: columns: id, question, answer"
        in strict.fault
    )


@pytest.mark.parametrize(
    "name", ["data.jsonl", "data.json", "data.csv", "data.tsv", "data.parquet"]
)
def test_case_22_an_empty_file_is_refused(write: Write, name: str) -> None:
    path = write(name, b"")

    with pytest.raises(DataError, match="the file is empty"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("blank.jsonl", b"\n\n  \n"),
        ("none.json", b"[]"),
        ("header.csv", b"id,question,answer\n"),
    ],
)
def test_case_23_a_file_without_rows_is_refused(
    write: Write, name: str, content: bytes
) -> None:
    with pytest.raises(DataError, match="there are no rows"):
        open_dataset(write(name, content))


def test_case_23_a_file_without_a_usable_row_is_refused_with_its_first_fault(
    write: Write,
) -> None:
    path = write("data.jsonl", b"oops\n" * 20)

    with pytest.raises(
        DataError,
        match=r"none of the 20 rows can be used; the first: .*data.jsonl:1:1: not valid JSON",
    ):
        open_dataset(path)


BROKEN_CELLS: list[tuple[str, Callable[[bytes], bytes], str]] = [
    (
        "24 extra cell",
        lambda line: line.replace(b"\n", b"@more\n"),
        "%:7:4: 4 cells under 3 columns, got 'more'",
    ),
    (
        "25 missing cell",
        lambda line: line.rpartition(b"@")[0] + b"\n",
        "%:7:answer: 2 cells under 3 columns",
    ),
    (
        "26 unclosed quote",
        lambda line: line.replace(b"@What", b'@"What'),
        "%:7:question: a quote is opened and never closed",
    ),
    (
        "26 text after a closing quote",
        lambda line: line.replace(b"@What is", b'@"What" is'),
        "%:7:question: text after the closing quote",
    ),
    (
        "12 latin-1",
        lambda line: line.replace(b"plus", b"pl\xfcs"),
        "%:7:question: byte 0xfc is not UTF-8",
    ),
    (
        "14 zero byte",
        lambda line: line.replace(b"plus", b"\0"),
        "%:7:question: the cell holds a zero byte",
    ),
    (
        "33 duplicate id",
        lambda line: line.replace(b"q6", b"q3"),
        "%:7:id: the id is already that of row 4, got 'q3'",
    ),
    (
        "34 missing id",
        lambda line: line.replace(b"q6", b""),
        "%:7:id: the id is missing",
    ),
]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize(
    ("case", "spoil", "words"), BROKEN_CELLS, ids=[case for case, _, _ in BROKEN_CELLS]
)
def test_a_broken_table_row_is_one_located_fault_and_nineteen_samples(
    case: str,
    spoil: Callable[[bytes], bytes],
    words: str,
    suffix: str,
    write: Write,
    read: type[Read],
) -> None:
    mark = b"," if suffix == "csv" else b"\t"
    lines = table(ROWS, mark.decode())
    lines[6] = spoil(lines[6].replace(mark, b"@")).replace(b"@", mark)
    path = write(f"data.{suffix}", lines)

    got = read(path)

    assert len(got.good) == 19
    assert got.fault.startswith(words.replace("%", str(path)))
    assert all(sample.target == str(2 * int(sample.id[1:])) for sample in got.good)


def test_case_26_an_unclosed_quote_does_not_swallow_a_quoted_row_after_it(
    write: Write, read: type[Read]
) -> None:
    lines = table(ROWS)
    lines[6] = lines[6].replace(b",What", b',"What')
    lines[9] = lines[9].replace(
        b"What is 9 plus 9?", b'"What, ""please"", is 9 plus 9?"'
    )

    got = read(write("data.csv", lines))

    assert len(got.good) == 19
    assert ":7:question: a quote is opened and never closed" in got.fault
    assert got.good[7].input == 'What, "please", is 9 plus 9?'


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_case_27_a_header_that_names_a_column_twice_is_refused(
    write: Write, suffix: str
) -> None:
    lines = table(ROWS, "," if suffix == "csv" else "\t")
    lines[0] = lines[0].replace(b"id", b"answer")

    with pytest.raises(
        DataError, match=r":1:answer: the header names the column 'answer' twice"
    ):
        open_dataset(write(f"data.{suffix}", lines))


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize(
    "gold",
    [
        "None",
        "NA",
        "null",
        "nan",
        "1e3",
        "001",
        "True",
        "=SUM(A1:A9)",
        "+1",
        "@x",
        "-1",
        "0",
        " ",
    ],
)
def test_cases_28_29_32_a_cell_stays_the_text_it_is(
    write: Write, read: type[Read], gold: str, separator: str
) -> None:
    rows = [{**row, "id": f"00{n}", "answer": gold} for n, row in enumerate(ROWS)]

    got = read(
        write("data.csv" if separator == "," else "data.tsv", table(rows, separator))
    )

    assert [sample.id for sample in got.good] == [row["id"] for row in rows]
    assert {sample.target for sample in got.good} == {gold}


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_case_30_a_cell_of_a_megabyte_of_base64_is_read(
    write: Write, read: type[Read], separator: str, quote: str
) -> None:
    cell = "QUJD" * 262_144
    lines = [separator.join(("index", "question", "picture")) + "\n"]
    lines += [
        separator.join((str(n), "What is it?", quote + cell + quote)) + "\n"
        for n in range(20)
    ]

    got = read(
        write("data.csv" if separator == "," else "data.tsv", "".join(lines).encode())
    )

    assert len(got.good) == 20
    assert all(sample["picture"] == cell for sample in got.good)


@pytest.mark.parametrize(
    ("name", "mark", "fix"),
    [
        ("data.csv", ";", "replace ; by , or by tabs"),
        ("data.csv", "\t", "name the file .tsv"),
        ("data.tsv", ",", "name the file .csv"),
    ],
)
def test_case_31_the_wrong_separator_is_refused_with_a_hint(
    write: Write, name: str, mark: str, fix: str
) -> None:
    path = write(name, table(ROWS, mark))

    with pytest.raises(DataError, match=rf"columns are separated by .*fix: {fix}"):
        open_dataset(path)


@pytest.mark.parametrize(
    "odd", ["../../x", "x" * 300, "Q8", "q 7", "ключ", "a/b\\c", "CON"]
)
def test_cases_35_36_38_unusual_ids_are_kept_unchanged(
    write: Write, read: type[Read], odd: str
) -> None:
    rows = [dict(row) for row in ROWS]
    rows[6]["id"] = odd

    got = read(write("data.jsonl", json_lines(rows)))

    assert len(got.good) == 20
    assert got.ids[6] == odd


BROKEN_CHOICES: list[tuple[str, dict[str, Any], str]] = [
    (
        "39 letter past the end",
        {"answer": "D"},
        "%:7:answer: the right answer is not among the 3 options, got 'D'",
    ),
    (
        "39 text of no option",
        {"answer": "seven"},
        "%:7:answer: the right answer is not among the 3 options, got 'seven'",
    ),
    (
        "39 number past the end",
        {"answer": 3},
        "%:7:answer: the right answer is not among the 3 options, got 3",
    ),
    (
        "39 negative number",
        {"answer": -1},
        "%:7:answer: the right answer is not among the 3 options, got -1",
    ),
    (
        "40 identical options",
        {"options": ["7", "8", "7"]},
        "%:7:options: options A and C are the same, got '7'",
    ),
    ("41 zero options", {"options": []}, "%:7:options: the question has no options"),
    (
        "42 twenty-seven options",
        {"options": [str(n) for n in range(27)]},
        "%:7:options: 27 options, at most 26",
    ),
    (
        "19 options that are a number",
        {"options": 3},
        "%:7:options: the options must be a list, got 3",
    ),
    (
        "19 an option that is a list",
        {"options": ["7", ["8"]]},
        "%:7:options: option 2 is not text",
    ),
]


@pytest.mark.parametrize(
    ("case", "change", "words"),
    BROKEN_CHOICES,
    ids=[case for case, _, _ in BROKEN_CHOICES],
)
def test_broken_choices_are_one_located_fault_and_nineteen_samples(
    case: str, change: dict[str, Any], words: str, write: Write, read: type[Read]
) -> None:
    rows = [dict(row) for row in CHOICE_ROWS]
    rows[6].update(change)
    path = write("data.jsonl", json_lines(rows))

    got = read(path)

    assert len(got.good) == 19
    assert got.fault.startswith(words.replace("%", str(path)))
    assert got.ids[6] == "c7"


@pytest.mark.parametrize("source", ["rows", "json"])
def test_faults_are_located_in_arrays_and_in_memory_too(
    write: Write, read: type[Read], source: str
) -> None:
    rows: list[dict[str, Any]] = [dict(row) for row in CHOICE_ROWS]
    rows[6]["options"] = []

    got = read(
        rows if source == "rows" else write("data.json", json.dumps(rows).encode())
    )

    assert len(got.good) == 19
    assert ":7:options: the question has no options" in got.fault


def _parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_case_57_a_parquet_file_without_its_footer_is_refused(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "data.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-12])

    with pytest.raises(
        DataError,
        match=r"data.parquet: not a whole Parquet file.*fix: the file was cut",
    ):
        open_dataset(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": 4}, "column 'answer' is integer here, text there"),
        ({"extra": "x"}, "column 'extra' is text here, no such column there"),
    ],
)
def test_case_58_shards_whose_schemas_differ_are_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    _parquet(tmp_path / "part-0.parquet", ROWS[:10])
    _parquet(tmp_path / "part-1.parquet", [{**row, **change} for row in ROWS[10:]])

    with pytest.raises(
        DataError,
        match=rf"part-1.parquet:.*the schema differs from part-0.parquet: {words}",
    ):
        open_dataset(tmp_path)


def test_case_59_a_pickle_in_a_parquet_cell_is_refused_unopened(
    tmp_path: Path, read: type[Read]
) -> None:
    # The opcodes of pickle protocol 4 for a call of os.system: were it opened, this would leave a file behind.
    canary = tmp_path / "opened"
    pickled = b"\x80\x04cposix\nsystem\n(Vtouch " + str(canary).encode() + b"\ntR."
    rows = [
        {**row, "blob": pickled if n == 6 else b"\x89PNG"} for n, row in enumerate(ROWS)
    ]

    got = read(_parquet(tmp_path / "data.parquet", rows))

    assert len(got.good) == 19
    assert "data.parquet:7:blob: the cell is a pickle, which is refused" in got.fault
    assert not canary.exists()


def test_no_fault_is_longer_than_a_line_can_be_read(
    write: Write, read: type[Read]
) -> None:
    lines = json_lines(ROWS)
    lines[6] = (
        b'{"id": "'
        + b"x" * 100_000
        + b'", "question": ['
        + b'"y",' * 1000
        + b'"z"], "answer": "1"}\n'
    )

    got = read(write("data.jsonl", lines))

    assert len(str(got.bad[0].error)) < 400


def test_a_missing_file_is_refused_with_the_name_that_is_near(write: Write) -> None:
    path = write("exam.jsonl", json_lines(ROWS))

    with pytest.raises(
        UsageError,
        match=r"no such file or folder: .*exm.jsonl; fix: did you mean .*exam.jsonl\?",
    ):
        open_dataset(path.with_name("exm.jsonl"))
