"""Which column plays which part: by convention, and as told."""

import math
from pathlib import Path
from typing import Any

import pytest
from dataset_rows import Read
from each_row import each

from assay.core import (
    Audio,
    BadSample,
    DataError,
    Image,
    Message,
    Output,
    Sample,
    UsageError,
)
from assay.datasets import open_dataset
from assay.datasets.cells import Source, as_target
from assay.datasets.columns import find_columns
from assay.scorers.text.match import ExactMatch


def _one(row: dict[str, Any], **options: Any) -> Sample:
    (sample,) = open_dataset([row], **options)
    assert isinstance(sample, Sample), str(sample.error)
    return sample


@each("question", ["question", "prompt", "input", "text", "Question", "PROMPT"])
@each("answer", ["answer", "target", "reference", "label", "Answer", "gold"])
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
def test_image_columns_are_matched_by_name_or_named_by_the_user(
    columns: dict[str, str], names: list[str]
) -> None:
    row = {
        "question": "?",
        "answer": "!",
        "Image": b"Image",
        "photo": b"photo",
        "sketch": b"sketch",
    }

    sample = _one(row, columns=columns)

    assert [medium.data().decode() for medium in sample.media] == names


def test_a_missing_image_column_is_reported_before_the_run() -> None:
    with pytest.raises(
        UsageError, match="there is no column 'foto'; fix: did you mean 'photo'"
    ):
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
        (0, "0"),
        ("0", "0"),
        ("", ""),
        (False, ("False", "false")),
        (2.5, "2.5"),
        (None, None),
        (["a", "b"], ("a", "b")),
        ([1, 2], ("1", "2")),
        ({"x": 1}, {"x": 1}),
        (5.0, "5.0"),
        (-3.0, "-3.0"),
        ([5.0, 2.5, None], ("5.0", "2.5", None)),
        ([["a"], True], (("a",), "True", "true")),
        (1e300, "1e+300"),
        (math.inf, "inf"),
    ],
)
def test_targets_are_kept_even_when_they_are_nothing_much(
    given: Any, kept: Any
) -> None:
    assert _one({"question": "?", "answer": given}).target == kept


def test_true_and_false_may_be_spelled_both_ways_the_file_s_own_first(
    tmp_path: Path,
) -> None:
    (tmp_path / "data.jsonl").write_text(
        '{"question": "?", "answer": true}\n{"question": "?", "answer": [false]}\n'
    )

    targets = [
        sample.target
        for sample in open_dataset(tmp_path / "data.jsonl")
        if isinstance(sample, Sample)
    ]

    assert targets == [("true", "True"), ("false", "False")]


def test_integers_that_a_null_made_floats_are_integers_and_may_be_floats(
    tmp_path: Path,
) -> None:
    pyarrow, parquet = (
        pytest.importorskip("pyarrow"),
        pytest.importorskip("pyarrow.parquet"),
    )
    table = pyarrow.table(
        {
            "question": ["a", "b", "c"],
            "answer": pyarrow.array([5.0, None, 7.5], pyarrow.float64()),
        }
    )
    parquet.write_table(table, tmp_path / "data.parquet")

    targets = [
        sample.target
        for sample in open_dataset(tmp_path / "data.parquet")
        if isinstance(sample, Sample)
    ]

    assert targets == [("5", "5.0"), None, "7.5"]


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (3.0, "json", "3.0"),
        (3.0, "python", "3.0"),
        (3.0, "file", ("3", "3.0")),
        (3, "file", "3"),
        ([3.0, 4.5], "json", ("3.0", "4.5")),
        ([3.0, 4.5], "file", ("3", "3.0", "4.5")),
        (-0.5, "file", "-0.5"),
        (1e300, "file", "1e+300"),
        (math.inf, "file", "inf"),
        (True, "json", ("true", "True")),
        ("", "table", None),
        ([None], "file", (None,)),
        ([], "file", ()),
    ],
)
def test_a_whole_number_loses_its_fraction_only_where_a_column_has_a_type(
    value: Any, source: Source, target: Any
) -> None:
    assert as_target(value, source) == target


@pytest.mark.parametrize(
    ("answer", "value"), [("true", 1.0), ("True", 1.0), ("TRUE", 0.0), ("false", 0.0)]
)
def test_both_spellings_of_true_are_right(
    tmp_path: Path, answer: str, value: float
) -> None:
    (tmp_path / "data.jsonl").write_text('{"question": "?", "answer": true}\n')

    (sample,) = open_dataset(tmp_path / "data.jsonl")

    assert isinstance(sample, Sample)
    assert ExactMatch()(sample, Output.of(answer)).value == value


def test_a_json_number_is_right_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"question": "?", "answer": 3.0}\n')

    (sample,) = open_dataset(tmp_path / "data.jsonl")

    assert isinstance(sample, Sample)
    assert sample.target == "3.0"
    assert ExactMatch()(sample, Output.of("3.0")).value == 1.0


OPTIONS = ["red", "green", "blue"]


@pytest.mark.parametrize("gold", ["B", "b", " B ", 1, "1", "green", 1.0])
def test_the_right_option_becomes_its_letter(gold: Any) -> None:
    sample = _one({"question": "?", "options": OPTIONS, "answer": gold})

    assert (sample.choices, sample.target) == (("red", "green", "blue"), "B")


@pytest.mark.parametrize("column", ["label", "answer_index", "gold"])
def test_digits_in_an_index_column_are_a_number_from_zero(column: str) -> None:
    assert (
        _one({"question": "?", "choices": ["1", "2", "0"], column: "1"}).target == "B"
    )


NUMBERS = {"question": "?", "options": [1, 2, 3, 4]}
BOTH = "the text of option B and the number, from 0, of option C.*answer=text, or --columns answer=index"


@pytest.mark.parametrize("gold", [2, "2", 2.0, " 2 ", [2]])
def test_a_number_that_is_an_options_text_and_anothers_place_is_a_fault_with_both_readings(
    gold: Any,
) -> None:
    with pytest.raises(DataError, match=BOTH):
        open_dataset([{**NUMBERS, "answer": gold}])


@pytest.mark.parametrize("gold", [2, "2", 2.0])
@pytest.mark.parametrize(("way", "letter"), [("text", "B"), ("index", "C")])
def test_the_user_can_choose_how_numbers_are_read(
    gold: Any, way: str, letter: str
) -> None:
    assert _one({**NUMBERS, "answer": gold}, columns={"answer": way}).target == letter


@pytest.mark.parametrize("as_written", [int, str])
@pytest.mark.parametrize(
    ("other", "letter"),
    [
        ({"options": [1, 2, 3, 4], "answer": 4}, "B"),
        ({"options": ["red", "green"], "answer": 1}, "C"),
    ],
)
def test_rows_that_can_be_read_in_one_way_decide_for_the_others(
    as_written: Any, other: Any, letter: str
) -> None:
    rows = [
        {**NUMBERS, "answer": as_written(2)},
        {"question": "?", **other, "answer": as_written(other["answer"])},
    ]

    assert (
        next(getattr(sample, "target", None) for sample in open_dataset(rows)) == letter
    )


BLOOD = {"question": "?", "options": ["O", "A", "B", "AB"]}


@each(
    ("others", "letter"),
    [
        (["AB"], "B"),  # "AB" is no letter, so right answers are texts
        (["O"], "B"),
        (["D"], "A"),  # "D" is no text, so right answers are letters
        (["D", "C", "C"], "A"),
    ],
)
def test_other_rows_show_whether_a_letter_or_a_text_that_is_a_letter_is_meant(
    others: list[str], letter: str
) -> None:
    rows = [{**BLOOD, "answer": gold} for gold in ("A", *others)]

    (sample, *_) = open_dataset(rows)

    assert isinstance(sample, Sample)
    assert sample.target == letter


@each("options", [["B", "A"], ["O", "A", "B", "AB"]])
def test_a_letter_that_is_also_the_text_of_another_option_is_a_fault_if_no_row_decides(
    options: list[str],
) -> None:
    row = {"question": "?", "options": options, "answer": "A"}

    with pytest.raises(DataError, match="--columns answer=text, or --columns answer=l"):
        open_dataset([row])

    assert _one(row, columns={"answer": "text"}).target == "B"
    assert _one(row, columns={"answer": "letter"}).target == "A"


NUMBERED = {"question": "?", "option1": "cat", "option2": "dog"}


@each("column", ["answer", "label"])
@each(
    ("golds", "letters"),
    [
        (("1", "2"), ["A", "B"]),
        ((1, 1), ["A", "A"]),
        ((1, 0), ["B", "A"]),
        ((0, 0), ["A", "A"]),
        (("dog", "A"), ["B", "A"]),
    ],
)
def test_answers_beside_numbered_columns_count_from_one_unless_a_row_has_zero(
    column: str, golds: Any, letters: list[str]
) -> None:
    rows = [{**NUMBERED, column: gold} for gold in golds]

    samples = open_dataset(rows, columns={"choices": "option1,option2"})

    assert [sample.target for sample in samples] == letters  # type: ignore[union-attr]


def test_answers_beside_numbered_columns_that_count_from_zero_and_one_are_faults() -> (
    None
):
    rows = [{**NUMBERED, "answer": gold} for gold in (0, 1, 2)]

    samples = list(open_dataset(rows, columns={"choices": "option1,option2"}))

    assert isinstance(samples[1], BadSample)
    assert "from 0, of option B and the number, from 1, of option A" in str(
        samples[1].error
    )


def test_a_number_beside_numbered_columns_that_is_also_a_text_is_a_fault() -> None:
    row = {"question": "?", "option1": "2", "option2": "1", "answer": 1}

    with pytest.raises(DataError, match=r"the text of option B and .* of option A"):
        open_dataset([row], columns={"choices": "option1,option2"})


def test_columns_numbered_from_zero_count_from_zero() -> None:
    row = {"question": "?", "ending0": "cat", "ending1": "dog", "label": 1}

    assert _one(row, columns={"choices": "ending0,ending1"}).target == "B"


def test_rows_that_disagree_decide_nothing() -> None:
    rows = [
        {**NUMBERS, "answer": 2},
        {**NUMBERS, "answer": 4},
        {"question": "?", "options": ["red", "green"], "answer": 1},
    ]

    made = list(open_dataset(rows))

    assert isinstance(made[0], BadSample) and "the text of option B" in str(
        made[0].error
    )
    assert [sample.target for sample in made[1:] if isinstance(sample, Sample)] == [
        "D",
        "B",
    ]


@pytest.mark.parametrize("gold", [1, "1"])
def test_a_number_among_labels_is_a_label(gold: Any) -> None:
    options = {"text": ["red", "green", "blue"], "label": ["1", "2", "3"]}

    assert _one({"question": "?", "options": options, "answer": gold}).target == "A"


def test_a_way_to_read_numbers_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        UsageError,
        match=r"answer cannot be 'gold'; fix: letter, text, index, number.*target=gold names the column",
    ):
        _one({"question": "?", "gold": "x"}, columns={"answer": "gold"})


def test_wrong_parts_and_columns_are_all_named_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        _one(
            {"question": "?", "answer": "x"},
            columns={"targt": "x", "id": "key"},
            tags=["topic"],
            cluster="doc",
        )

    lines = str(caught.value).splitlines()
    assert [line.partition("; fix")[0] for line in lines] == [
        "rows: columns: unknown part 'targt'",
        "rows: there is no column 'topic'",
        "rows: there is no column 'doc'",
        "rows: there is no column 'key'",
    ]


@pytest.mark.parametrize("empty", [None, math.nan, ""])
def test_an_empty_cell_gives_no_group_cluster_or_tag(empty: Any) -> None:
    row = {
        "question": "?",
        "answer": "x",
        "pair": empty,
        "doc": empty,
        "topic": empty,
        "level": 1,
    }

    sample = _one(
        row, columns={"group": "pair"}, cluster="doc", tags=["topic", "level"]
    )

    assert (sample.group, sample.cluster, dict(sample.tags)) == (
        None,
        None,
        {"level": "1"},
    )


def test_an_empty_cell_of_a_converted_row_gives_no_cluster_or_tag() -> None:
    row = {"doc": None, "topic": None}

    sample = _one(
        row, to_sample=lambda row: Sample("", "?"), cluster="doc", tags=["topic"]
    )

    assert (sample.cluster, dict(sample.tags)) == (None, {})


def test_nan_means_that_a_question_has_no_answer() -> None:
    assert _one({"question": "?", "answer": math.nan}).target is None


def test_nan_means_that_a_choice_has_no_answer() -> None:
    assert (
        _one({"question": "?", "options": ["red", "green"], "answer": math.nan}).target
        is None
    )


def test_an_infinite_answer_to_a_choice_is_a_fault_of_its_row() -> None:
    rows = [
        {"question": "?", "options": ["red", "green"], "answer": gold}
        for gold in (1.0, math.inf)
    ]

    good, bad = open_dataset(rows)

    assert isinstance(good, Sample) and good.target == "B"
    assert isinstance(bad, BadSample) and "not among the 2 options, got inf" in str(
        bad.error
    )


def test_nan_is_not_an_option() -> None:
    with pytest.raises(DataError, match="option 2 is not text, got nan"):
        open_dataset([{"question": "?", "options": ["red", math.nan], "answer": "A"}])


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


def test_option_columns_are_letters_and_empty_ones_at_the_end_are_dropped(
    read: type[Read],
) -> None:
    rows = [
        {"question": "?", "A": "x", "B": "y", "C": "z", "D": "", "answer": "C"},
        {"question": "?", "A": "x", "B": "y", "C": "", "D": "", "answer": "A"},
        {"question": "?", "A": "", "B": "", "C": "", "D": "", "answer": "A"},
    ]

    got = read(rows)

    assert [sample.choices for sample in got.good] == [("x", "y", "z"), ("x", "y")]
    assert "rows:3:A: the question has no options" in got.fault


@pytest.mark.parametrize(
    "names",
    [
        ("option_a", "option_b", "option_c"),
        ("optionA", "optionB", "optionC"),
        ("Option A", "Option B", "Option C"),
        ("choice_a", "choice_b", "choice_c"),
        ("opa", "opb", "opc"),
    ],
)
def test_columns_named_after_option_letters_are_options(names: Any) -> None:
    row = {"question": "?", **dict(zip(names, ("1", "2", "3"), strict=True))}
    columns = find_columns([*row, "answer"], {})

    sample = columns.sample({**row, "answer": "B"}, "x")

    assert (sample.choices, sample.target) == (("1", "2", "3"), "B")


@pytest.mark.parametrize("names", [("option_a",), ("option_b", "option_c"), ("opal",)])
def test_columns_that_do_not_begin_with_two_option_letters_are_no_options(
    names: Any,
) -> None:
    columns = find_columns(["question", *names, "answer"], {})

    assert columns.option_cells == ()


def test_a_row_without_the_options_that_others_have_is_a_plain_question(
    read: type[Read],
) -> None:
    rows = [
        {"question": "?", "options": OPTIONS, "answer": "A"},
        {"question": "why?", "answers": ["so", "thus"]},
    ]

    got = read(rows)

    assert [(sample.choices, sample.target) for sample in got.good] == [
        (tuple(OPTIONS), "A"),
        ((), ("so", "thus")),
    ]


def test_parts_can_be_named() -> None:
    row = {
        "q": "?",
        "gold": "b",
        "o1": "a",
        "o2": "b",
        "nr": "7",
        "doc": "d",
        "set": "s",
        "question": "not this",
    }
    columns = {
        "input": "q",
        "target": "gold",
        "choices": "o1, o2",
        "id": "nr",
        "group": "set",
    }

    sample = _one(row, columns=columns, tags=["set"], cluster="doc")

    assert (sample.id, sample.input, sample.target, sample.choices) == (
        "7",
        "?",
        "B",
        ("a", "b"),
    )
    assert (sample.group, sample.cluster, sample.tags) == ("s", "d", {"set": "s"})


def test_an_empty_column_name_means_no_such_column() -> None:
    sample = _one(
        {"question": "?", "answer": "x", "choices": [{"turns": []}]},
        columns={"choices": ""},
    )

    assert (sample.choices, sample.target) == ((), "x")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"columns": {"target": "anser"}},
            r"there is no column 'anser'; fix: did you mean 'answer'\? columns: question",
        ),
        ({"columns": {"choices": "A,B"}}, "there is no column 'A'"),
        (
            {"columns": {"traget": "answer"}},
            r"unknown part 'traget'; fix: did you mean 'target'\?",
        ),
        ({"tags": ["subjct"]}, "there is no column 'subjct'"),
        ({"cluster": "doc"}, "there is no column 'doc'"),
    ],
)
def test_a_column_that_does_not_exist_is_refused_before_the_run(
    options: Any, words: str
) -> None:
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
        ({"text": "What?", "image": "red.png"}, "qa"),
        ({"question": "Why?"}, "qa"),
        ({"prompt": "Write a poem."}, "qa"),
        ({"instruction": "Write a poem."}, "qa"),
        ({"question": "Why?", "completion": "Because."}, "qa"),
        ({"prompt": "Describe it.", "completion": "x", "image": "red.png"}, "qa"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "dialogue"),
        ({"turns": ["hi", "and then?"]}, "dialogue"),
        ({"caption": "x"}, "unknown"),
    ],
)
def test_columns_decide_the_kind_of_a_dataset(row: dict[str, Any], kind: str) -> None:
    assert open_dataset([row]).kind == kind


def test_turns_are_a_question_and_later_user_turns() -> None:
    sample = _one({"turns": ["Write.", "Shorter.", "Again."]})

    assert (sample.input, sample.turns) == ("Write.", ("Shorter.", "Again."))


def test_messages_that_end_with_the_assistant_give_the_reference() -> None:
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]

    sample = _one({"messages": turns})

    assert (sample.input, sample.target) == ((Message.of("user", "2+2?"),), "4")


@pytest.mark.parametrize(
    "value", [[], "hello", 3, [{"role": "user", "content": [{"type": "hologram"}]}]]
)
def test_a_conversation_that_is_none_is_a_fault(read: type[Read], value: Any) -> None:
    got = read([{"messages": [{"role": "user", "content": "hi"}]}, {"messages": value}])

    assert "rows:2:messages: " in got.fault


def test_media_columns_become_media_beside_the_data_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(
        '{"image": "a.png", "audio_path": "s/b.wav", "question": "?", "answer": "x"}\n'
    )
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
        [b"abc"],
        [b"ABC" * 100],
        [b"1", b"2"],
        [],
    ]
    assert "rows:5:image: cannot read image from a int" in got.fault


def test_the_first_usable_row_decides_the_kind() -> None:
    rows = [
        {"question": "?", "options": [], "answer": "A"},
        {"question": "?", "answer": "A"},
    ]

    assert open_dataset(rows).kind == "qa"


@pytest.mark.parametrize(
    ("row", "input", "target"),
    [
        ({"question": "q", "answer": None, "label": "B"}, "q", "B"),
        ({"question": "q", "answer": "A", "label": "B"}, "q", "A"),
        (
            {"question": None, "prompt": "p", "answer": math.nan, "reference": "r"},
            "p",
            "r",
        ),
        ({"question": "q", "answer": None, "label": None}, "q", None),
    ],
    ids=("null", "filled", "both", "neither"),
)
def test_a_null_column_loses_to_a_filled_one_of_the_same_part(
    row: dict[str, Any], input: str, target: Any
) -> None:
    sample = _one(row)

    assert (sample.input, sample.target) == (input, target)


def test_each_row_takes_the_column_that_it_fills() -> None:
    rows = [
        {"question": "q", "options": ["x", "y"], "answer": a, "label": b}
        for a, b in (("B", None), (None, 0))
    ]

    assert [sample.target for sample in open_dataset(rows)] == ["B", "A"]


def test_a_column_that_was_named_is_the_only_one() -> None:
    assert (
        _one(
            {"question": "q", "answer": None, "label": "B"},
            columns={"target": "answer"},
        ).target
        is None
    )


def test_an_empty_cell_of_a_table_loses_as_a_null_does(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,answer,label\nq,,B\n")

    (sample,) = open_dataset(tmp_path / "rows.csv")

    assert isinstance(sample, Sample) and sample.target == "B"


@pytest.mark.parametrize("part", ["target", "choices", "image", "messages", "id"])
def test_a_column_named_for_one_part_is_guessed_for_no_other(part: str) -> None:
    found = find_columns(("text", "other"), {part: "text"})

    assert found.input is None


def test_the_question_named_outright_is_not_the_guessed_target() -> None:
    found = find_columns(("answer", "reference"), {"input": "answer"})

    assert (found.input, found.target) == ("answer", "reference")


def test_a_target_image_is_not_shown_to_the_model() -> None:
    found = find_columns(
        ("prompt", "image", "source"), {"target": "image", "image": "source"}
    )

    assert (found.target, [name for name, _ in found.media]) == ("image", ["source"])
    assert find_columns(("prompt", "image"), {"target": "image"}).media == ()


def test_one_column_may_be_named_twice_outright() -> None:
    found = find_columns(("text",), {"input": "text", "target": "text"})

    assert (found.input, found.target) == ("text", "text")


@pytest.mark.parametrize("given", [{"input": "", "target": "text"}, {"target": "text"}])
def test_rows_of_media_alone_are_questions(given: dict[str, str]) -> None:
    found = find_columns(("id", "audio", "text"), given)

    assert (found.kind, found.input, found.target) == ("qa", None, "text")


@pytest.mark.parametrize("cell", [None, "", []])
def test_a_row_with_neither_media_nor_a_question_is_a_fault(
    read: type[Read], cell: object
) -> None:
    rows = [
        {"id": "a", "audio": "a.wav", "text": "x"},
        {"id": "b", "audio": cell, "text": "y"},
    ]

    got = read(rows, columns={"target": "text"})

    assert got.ids == ["a", "b"]
    assert "rows:2:audio: the row has no audio and no question" in got.fault


def test_rows_with_and_without_options_are_a_mixed_set() -> None:
    rows = [
        {"question": "?", "answer": "yes"},
        {"question": "?", "options": OPTIONS, "answer": "A"},
    ]

    assert open_dataset(rows).kind == "mixed"
    assert open_dataset(rows[:1]).kind == "qa"
    assert open_dataset(rows[1:]).kind == "choice"


def test_an_empty_cell_of_options_is_an_open_question_unless_a_letter_is_right(
    read: type[Read],
) -> None:
    rows = [
        {"question": "?", "options": "", "answer": "blue"},
        {"question": "?", "options": "", "answer": "B"},
    ]

    got = read(rows)

    assert [(sample.choices, sample.target) for sample in got.good] == [((), "blue")]
    assert "rows:2:options: the question has no options" in got.fault


@pytest.mark.parametrize("name", ["references", "reference", "answers", "target"])
def test_the_target_of_a_dialogue_is_the_reference_of_its_last_round(
    name: str,
) -> None:
    row = {"turns": ["hi", "2+2?", "3+3?"], name: ["hello", "4", "6"]}

    sample = find_columns(list(row), {}).sample(row, "x")

    assert sample.target == "6"


def test_several_references_of_a_dialogue_are_alternatives_unless_there_is_one_for_each_round() -> (
    None
):
    row = {"turns": ["hi", "2+2?"], "answer": ["4", "four", "IV"]}

    sample = find_columns(list(row), {}).sample(row, "x")

    assert sample.targets == ("4", "four", "IV")
