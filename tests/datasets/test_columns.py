"""Which column plays which part: by convention, and as told."""

from pathlib import Path
from typing import Any

import pytest
from dataset_rows import Read

from assay.core import Audio, Image, Message, Sample, UsageError
from assay.datasets import open_dataset


def _one(row: dict[str, Any], **options: Any) -> Sample:
    (sample,) = open_dataset([row], **options)
    assert isinstance(sample, Sample), str(sample.error)
    return sample


@pytest.mark.parametrize("question", ["question", "prompt", "input", "text", "Question", "PROMPT"])
@pytest.mark.parametrize("answer", ["answer", "target", "reference", "label", "Answer", "gold"])
def test_question_and_answer_are_known_by_name(question: str, answer: str) -> None:
    sample = _one({question: "2+2?", answer: "4"})

    assert (sample.input, sample.target) == ("2+2?", "4")


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"image": "photo"}, ["photo"]),
        ({"image": "photo,sketch"}, ["photo", "sketch"]),
        ({"image": ""}, []),
        ({}, ["Image"]),
    ],
)
def test_the_pictures_are_known_by_name_or_said_outright(columns: dict[str, str], names: list[str]) -> None:
    row = {"question": "?", "answer": "!", "Image": b"Image", "photo": b"photo", "sketch": b"sketch"}

    sample = _one(row, columns=columns)

    assert [medium.data().decode() for medium in sample.media] == names


def test_a_picture_column_that_is_not_there_is_said_before_the_run() -> None:
    with pytest.raises(UsageError, match="there is no column 'foto'; fix: did you mean 'photo'"):
        _one({"question": "?", "answer": "!", "photo": b"x"}, columns={"image": "foto"})


@pytest.mark.parametrize("column", ["index", "key", "id"])
def test_the_id_is_known_by_name(column: str) -> None:
    assert _one({column: "x7", "question": "?", "answer": "!"}).id == "x7"


def test_the_row_itself_stays_untouched() -> None:
    row = {"question": "?", "answer": 3, "extra": [1, {"a": None}]}

    assert _one(row).fields == {"question": "?", "answer": 3, "extra": [1, {"a": None}]}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (0, "0"), ("0", "0"), ("", ""), (False, "False"), (2.5, "2.5"), (None, None),
        (["a", "b"], ("a", "b")), ([1, 2], ("1", "2")), ({"x": 1}, {"x": 1}),
    ],
)  # fmt: skip
def test_targets_are_kept_even_when_they_are_nothing_much(given: Any, kept: Any) -> None:
    assert _one({"question": "?", "answer": given}).target == kept


OPTIONS = ["red", "green", "blue"]


@pytest.mark.parametrize("gold", ["B", "b", " B ", 1, "1", "green", 1.0])
def test_the_right_option_becomes_its_letter(gold: Any) -> None:
    sample = _one({"question": "?", "options": OPTIONS, "answer": gold})

    assert (sample.choices, sample.target) == (("red", "green", "blue"), "B")


@pytest.mark.parametrize("column", ["label", "answer_index", "gold"])
def test_digits_in_an_index_column_are_a_number_from_zero(column: str) -> None:
    assert _one({"question": "?", "choices": ["1", "2", "0"], column: "1"}).target == "B"


def test_digits_in_an_answer_column_are_an_options_text_first() -> None:
    assert _one({"question": "?", "choices": ["1", "2", "0"], "answer": "1"}).target == "A"


@pytest.mark.parametrize(
    ("options", "gold", "letter"),
    [
        ({"text": OPTIONS, "label": ["1", "2", "3"]}, "3", "C"),
        ({"A": "red", "B": "green", "C": "blue"}, "C", "C"),
        ('["red", "green", "blue"]', "blue", "C"),
        ([3, 4, 5], "5", "C"),
        (OPTIONS, ["A", "C"], ("A", "C")),
        (OPTIONS, None, None),
    ],
)
def test_options_come_in_several_shapes(options: Any, gold: Any, letter: Any) -> None:
    assert _one({"question": "?", "options": options, "answer": gold}).target == letter


def test_option_columns_are_letters_and_empty_ones_at_the_end_are_dropped(read: type[Read]) -> None:
    rows = [
        {"question": "?", "A": "x", "B": "y", "C": "z", "D": "", "answer": "C"},
        {"question": "?", "A": "x", "B": "y", "C": "", "D": "", "answer": "A"},
        {"question": "?", "A": "", "B": "", "C": "", "D": "", "answer": "A"},
    ]

    got = read(rows)

    assert [sample.choices for sample in got.good] == [("x", "y", "z"), ("x", "y")]
    assert "rows:3:A: the question has no options" in got.fault


def test_a_row_without_the_options_that_others_have_is_a_plain_question(read: type[Read]) -> None:
    rows = [{"question": "?", "options": OPTIONS, "answer": "A"}, {"question": "why?", "answers": ["so", "thus"]}]

    got = read(rows)

    assert [(sample.choices, sample.target) for sample in got.good] == [(tuple(OPTIONS), "A"), ((), ("so", "thus"))]


def test_parts_can_be_named() -> None:
    row = {"q": "?", "gold": "b", "o1": "a", "o2": "b", "nr": "7", "doc": "d", "set": "s", "question": "not this"}
    columns = {"input": "q", "target": "gold", "choices": "o1, o2", "id": "nr", "group": "set"}

    sample = _one(row, columns=columns, tags=["set"], cluster="doc")

    assert (sample.id, sample.input, sample.target, sample.choices) == ("7", "?", "B", ("a", "b"))
    assert (sample.group, sample.cluster, sample.tags) == ("s", "d", {"set": "s"})


def test_an_empty_name_says_that_there_is_no_such_part() -> None:
    sample = _one({"question": "?", "answer": "x", "choices": [{"turns": []}]}, columns={"choices": ""})

    assert (sample.choices, sample.target) == ((), "x")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"columns": {"target": "anser"}},
            r"there is no column 'anser'; fix: did you mean 'answer'\? columns: question",
        ),
        ({"columns": {"choices": "A,B"}}, "there is no column 'A'"),
        ({"columns": {"traget": "answer"}}, r"unknown part 'traget'; fix: did you mean 'target'\?"),
        ({"tags": ["subjct"]}, "there is no column 'subjct'"),
        ({"cluster": "doc"}, "there is no column 'doc'"),
    ],
)
def test_a_column_that_does_not_exist_is_refused_before_the_run(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=f"task 'x': .*{words}"):
        open_dataset([{"question": "?", "answer": "!"}], where="task 'x'", **options)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"question": "?", "answer": "!"}, "qa"),
        ({"question": "?", "options": OPTIONS, "answer": "A"}, "choice"),
        ({"question": "?", "A": "x", "B": "y", "answer": "A"}, "choice"),
        ({"prompt": "The sky is", "completion": " blue"}, "completion"),
        ({"text": "Once upon a time"}, "completion"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "dialogue"),
        ({"turns": ["hi", "and then?"]}, "dialogue"),
        ({"caption": "x"}, "unknown"),
    ],
)
def test_the_kind_of_a_dataset_is_told_by_its_columns(row: dict[str, Any], kind: str) -> None:
    assert open_dataset([row]).kind == kind


def test_turns_are_a_question_and_what_the_user_says_later() -> None:
    sample = _one({"turns": ["Write.", "Shorter.", "Again."]})

    assert (sample.input, sample.turns) == ("Write.", ("Shorter.", "Again."))


def test_messages_that_end_with_the_assistant_give_the_reference() -> None:
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]

    sample = _one({"messages": turns})

    assert (sample.input, sample.target) == ((Message.of("user", "2+2?"),), "4")


@pytest.mark.parametrize("value", [[], "hello", 3, [{"role": "user", "content": [{"type": "hologram"}]}]])
def test_a_conversation_that_is_none_is_a_fault(read: type[Read], value: Any) -> None:
    got = read([{"messages": [{"role": "user", "content": "hi"}]}, {"messages": value}])

    assert "rows:2:messages: " in got.fault


def test_media_columns_become_media_beside_the_data_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"image": "a.png", "audio_path": "s/b.wav", "question": "?", "answer": "x"}\n')
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\npixels")

    (sample,) = open_dataset(path)

    assert isinstance(sample, Sample)
    picture, sound = sample.media
    assert isinstance(picture, Image) and isinstance(sound, Audio)
    assert picture.data().endswith(b"pixels")
    assert sound.source == tmp_path / "s" / "b.wav"


def test_media_may_be_bytes_base64_or_several(read: type[Read]) -> None:
    inline = "QUJD" * 100
    rows = [
        {"question": "?", "answer": "x", "image": {"bytes": b"abc", "path": None}},
        {"question": "?", "answer": "x", "image": inline},
        {"question": "?", "answer": "x", "image": [b"1", b"2"]},
        {"question": "?", "answer": "x", "image": None},
        {"question": "?", "answer": "x", "image": 7},
    ]

    got = read(rows)

    assert [[medium.data() for medium in sample.media] for sample in got.good] == [
        [b"abc"], [b"ABC" * 100], [b"1", b"2"], [],
    ]  # fmt: skip
    assert "rows:5:image: cannot read image from a int" in got.fault


def test_the_kind_is_told_by_the_first_row_that_can_be_used() -> None:
    rows = [{"question": "?", "options": [], "answer": "A"}, {"question": "?", "answer": "A"}]

    assert open_dataset(rows).kind == "qa"
