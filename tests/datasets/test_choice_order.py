"""Options in another order: always the same one for a seed and an id, and the right answer goes along."""

import json

import pytest

import assay
from assay.core import Sample, UsageError
from assay.datasets import open_dataset
from assay.datasets.choice_order import with_shuffled_choices

ROWS = [
    {
        "id": str(n),
        "question": f"Which is {n}?",
        "options": ["one", "two", "three", "four"],
        "answer": "A",
    }
    for n in range(40)
]


def right_texts(samples):
    return [
        "".join(s.choices["ABCD".index(letter)] for letter in s.targets)
        for s in samples
    ]


def test_the_right_option_stays_right_wherever_it_goes():
    plain = list(open_dataset(ROWS))

    shuffled = list(open_dataset(ROWS).with_shuffled_choices(3))

    assert right_texts(shuffled) == right_texts(plain) == ["one"] * 40
    assert {s.target for s in shuffled} == {"A", "B", "C", "D"}


def test_the_order_is_of_the_seed_and_the_id_alone():
    samples = open_dataset(ROWS)

    first = [s.choices for s in samples.with_shuffled_choices(3)]

    assert [
        s.choices for s in open_dataset(ROWS[::-1]).with_shuffled_choices(3)
    ] == first[::-1]
    assert [s.choices for s in samples.with_shuffled_choices(4)] != first
    assert [s.choices for s in samples] == [tuple(row["options"]) for row in ROWS]


@pytest.mark.parametrize(
    "fields",
    [
        {"options": ["x", "y", "z"], "answer": "B"},
        {"A": "x", "B": "y", "C": "z", "answer": "B"},
        {"choices": {"text": ["x", "y", "z"], "label": ["A", "B", "C"]}, "answer": "B"},
    ],
    ids=("list", "columns", "labels"),
)
def test_the_row_that_a_template_shows_goes_along(fields):
    (sample,) = open_dataset(
        [{"id": "8", "question": "q", **fields}]
    ).with_shuffled_choices(1)

    row = sample.fields
    listed = (
        row.get("options")
        or row.get("choices", {}).get("text")
        or [row[letter] for letter in "ABC"]
    )
    assert tuple(listed) == sample.choices != ("x", "y", "z")
    assert row["answer"] == sample.target and listed["ABC".index(sample.target)] == "y"


def test_several_right_letters_and_texts_of_options_follow():
    sample = Sample("1", "q", ("A", "C"), ("x", "y", "z"))
    by_text = Sample("1", "q", "y", ("x", "y", "z"))

    moved = with_shuffled_choices(sample, 5)

    assert sorted(moved.choices["ABC".index(letter)] for letter in moved.target) == [
        "x",
        "z",
    ]
    assert with_shuffled_choices(by_text, 5).target == "y"


def test_a_set_whose_answer_is_always_a_is_told_apart_from_a_model_that_always_says_a(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    plain = assay.run(
        "set.jsonl", "scripted", model_args={"answers": "A"}, output="plain"
    )
    shuffled = assay.run(
        "set.jsonl",
        "scripted",
        model_args={"answers": "A"},
        shuffle_choices=1,
        output="shuffled",
    )
    again = assay.run(
        "set.jsonl", "scripted", model_args={"answers": "A"}, output="shuffled"
    )

    assert (
        plain.results[0].value == again.results[0].value == 1.0
        and shuffled.results[0].value < 0.6
    )
    assert shuffled.results[0].protocol.startswith("set@shuffled_choices=1-")


def test_shuffling_options_that_are_not_there_is_refused(tmp_path):
    (tmp_path / "qa.jsonl").write_text('{"question": "q", "answer": "x"}\n')

    with pytest.raises(UsageError, match="the samples have no options to shuffle"):
        assay.run(
            str(tmp_path / "qa.jsonl"),
            "scripted",
            shuffle_choices=1,
            output=str(tmp_path / "run"),
        )


def test_shuffling_the_rotations_of_a_circular_benchmark_is_refused(tmp_path):
    with pytest.raises(
        UsageError, match="the rows are the rotations of each question's options"
    ):
        assay.run(
            "mmbench_dev_en",
            "scripted",
            data="mini",
            shuffle_choices=1,
            output=str(tmp_path / "run"),
        )

    assert not (tmp_path / "run").exists()
