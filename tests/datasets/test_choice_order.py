"""Options in another order: always the same one for a seed and an id, and the right answer goes along."""

import json

import pytest

import assay
from assay.core import Sample, UsageError
from assay.datasets import open_dataset
from assay.datasets.choice_order import with_shuffled_choices
from assay.store import RunReader

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


def test_shuffled_choices_distinguish_a_biased_dataset_from_a_biased_model(
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


def write_rows(folder, rows):
    (folder / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_questions_with_two_options_are_shuffled():
    rows = [
        {"id": str(n), "question": "q", "options": ["yes", "no"], "answer": "A"}
        for n in range(20)
    ]

    orders = {s.choices for s in open_dataset(rows).with_shuffled_choices(1)}

    assert orders == {("yes", "no"), ("no", "yes")}


def test_only_the_column_that_was_read_as_the_target_moves():
    row = {"question": "q", "options": ["x", "y"], "answer": "A", "section": "A"}
    rows = [{"id": str(n), **row, "gold": "A"} for n in range(20)]

    moved = list(open_dataset(rows).with_shuffled_choices(1))

    assert {sample.fields["answer"] for sample in moved} == {"A", "B"}
    assert all(sample.fields["answer"] == sample.target for sample in moved)
    assert {sample.fields["section"] for sample in moved} == {"A"}
    assert {sample.fields["gold"] for sample in moved} == {"A"}


@pytest.mark.parametrize(
    ("cells", "settings", "read"),
    [
        ({"gold": "(B)"}, {"target": "gold"}, lambda cell: cell.strip("()")),
        ({"label": 1}, {}, lambda cell: "ABC"[cell]),
        ({"gold": ["B"]}, {"target": "gold"}, lambda cell: cell[0]),
        ({"answer": None, "gold": "B"}, {}, None),
    ],
    ids=("marked letter", "number", "list", "filled column"),
)
def test_the_target_column_names_the_right_option_after_shuffling(
    cells, settings, read
):
    options = {"options": '["x", "y", "z"]'}
    rows = [{"id": str(n), "question": "q", **options, **cells} for n in range(9)]

    moved = list(open_dataset(rows, columns=settings).with_shuffled_choices(1))

    column = list(cells)[-1]
    for sample in moved:
        cell = sample.fields[column]
        letters = sample.targets
        assert (read(cell) if read else cell) == letters[0]
        assert json.loads(sample.fields["options"])["ABC".index(letters[0])] == "y"
    assert len({sample.targets for sample in moved}) == 3


def test_named_option_columns_and_labelled_options_move():
    named = [{"id": "4", "question": "q", "first": "x", "second": "y", "answer": "A"}]
    labelled = [
        {"id": "4", "question": "q", "options": {"A": "x", "B": "y"}, "answer": "A"}
    ]

    (by_name,) = open_dataset(
        named, columns={"choices": "first,second"}
    ).with_shuffled_choices(3)
    (by_label,) = open_dataset(labelled).with_shuffled_choices(3)

    assert by_name.choices == (by_name.fields["first"], by_name.fields["second"])
    assert by_label.choices == tuple(by_label.fields["options"].values())
    assert by_name.choices == by_label.choices == ("y", "x")


@pytest.mark.parametrize(
    ("row", "template", "message"),
    [
        (
            {"prompt": "Which?", "options": ["one", "two"]},
            "{{ prompt }}",
            "the prompt of sample '0' does not change with the order of its options",
        ),
        (
            {"prompt": "Which?\nA) one\nB) two", "options": ["one", "two"]},
            "{{ prompt }}",
            "the question of sample '0' lists the options itself",
        ),
        (
            {"prompt": "Which?\nA) one\nB) two", "options": ["one", "two"]},
            None,
            "the question of sample '0' lists the options itself",
        ),
        (
            {"prompt": "Which?\nA) one\nB) two", "options": ["A", "B"]},
            None,
            "the question of sample '0' lists the options itself",
        ),
        (
            {"prompt": "Which?\nA - one\nB - two", "options": ["one", "two"]},
            None,
            "the question of sample '0' lists the options itself",
        ),
        (
            {"prompt": "Which?", "options": ["A. one", "B. two"]},
            None,
            "the options of sample '0' carry their letters: 'A. one'",
        ),
    ],
    ids=("not shown", "in the question", "twice", "letters", "dashes", "carried"),
)
def test_shuffling_is_refused_where_the_model_would_not_see_the_order(
    tmp_path, monkeypatch, row, template, message
):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, [{"id": str(n), **row, "answer": "A"} for n in range(8)])
    settings = {} if template is None else {"template": template}

    with pytest.raises(UsageError, match=message):
        assay.run("set.jsonl", "scripted", shuffle_choices=1, output="run", **settings)

    assert not (tmp_path / "run").exists()


def test_the_note_on_equal_targets_advises_shuffling_only_where_it_is_possible(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, ROWS[:8])
    answers = {"model_args": {"answers": "A"}}

    shown = assay.run("set.jsonl", "scripted", output="shown", **answers)
    hidden = assay.run(
        "set.jsonl", "scripted", output="hidden", template="{{ question }}", **answers
    )
    shuffled = assay.run(
        "set.jsonl", "scripted", output="run", shuffle_choices=1, **answers
    )

    note = "--shuffle_choices draws another order of the options"
    assert any(note in line for line in shown.notes)
    assert not any(note in line for line in hidden.notes)
    assert not any(note in line for line in shuffled.notes)
    assert any("all 8 samples have the target 'A'" in line for line in hidden.notes)


def prompts_by_epoch(folder):
    prompts = {}
    for record in RunReader(folder).outputs():
        prompts.setdefault(record.id, []).append(record.prompt[0]["content"])
    return prompts


def test_each_epoch_may_have_its_own_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, ROWS[:6])
    settings = {"model_args": {"answers": "A"}, "shuffle_choices": 1, "epochs": 8}

    each = assay.run(
        "set.jsonl",
        "scripted",
        shuffle_choices_each_epoch=True,
        output="each",
        **settings,
    )
    once = assay.run("set.jsonl", "scripted", output="once", **settings)

    orders = [len(set(map(str, p))) for p in prompts_by_epoch("each").values()]
    assert min(orders) >= 4
    assert {len(set(map(str, p))) for p in prompts_by_epoch("once").values()} == {1}
    assert 0.05 < each.results[0].value < 0.6
    assert "+each_epoch" in each.results[0].protocol
    assert "each_epoch" not in once.results[0].protocol


def test_an_order_for_each_epoch_needs_shuffled_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, ROWS[:6])

    with pytest.raises(UsageError, match="fix: add --shuffle_choices"):
        assay.run(
            "set.jsonl",
            "scripted",
            shuffle_choices_each_epoch=True,
            epochs=2,
            output="run",
        )


def own_letter(sample, output):
    letter = output.text.strip()
    return assay.Score(float(letter == sample.target), answer=f"({letter})")


@pytest.mark.parametrize(
    "scorer", ["choice", {"name": "regex", "pattern": "([A-D])"}, own_letter]
)
@pytest.mark.parametrize("way", ["reducer", "summarizer"])
def test_the_vote_is_on_options_not_on_letters_when_each_epoch_has_its_order(
    tmp_path, monkeypatch, way, scorer
):
    """A model that knows the option but not its letter: it is right in five of eight epochs."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, ROWS[:4])

    def knows(prompt):
        lines = prompt.splitlines()
        text = "one" if knows.calls % 8 < 5 else "two"
        knows.calls += 1
        (letter,) = [line[0] for line in lines if line.endswith(text)]
        return letter

    knows.calls = 0
    task = assay.Task(
        "vote",
        dataset="set.jsonl",
        epochs=8,
        scorers=[scorer],
        **(
            {"reducer": "majority"}
            if way == "reducer"
            else {"summarizers": ["majority"]}
        ),
    )

    result = assay.run(
        task,
        knows,
        shuffle_choices=1,
        shuffle_choices_each_epoch=True,
        concurrency=1,
        output="run",
    )

    assert result.results[0].value == 1.0


def test_images_as_options_have_one_clear_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    picture = assay.Image("picture.png")

    def rows():
        return [assay.Sample("1", "Which?", "A", (picture, picture))]

    (bad,) = open_dataset(rows)

    assert "option 1 is of type Image, not text" in str(bad.error)
    assert "put the images into `media` in order" in str(bad.error)


def test_images_as_options_of_a_row_belong_into_their_column():
    pillow_image = pytest.importorskip("PIL.Image").new("RGB", (2, 2))

    for option in ({"image": "a.png"}, pillow_image, assay.Image("a.png")):
        row = {"question": "Which?", "options": [option, option], "answer": "A"}
        with pytest.raises(assay.AssayError, match="into the column `image` in order"):
            open_dataset([row])


def test_an_option_that_is_itself_a_letter_stays_in_the_answer_column():
    row = {"id": "8", "question": "q", "options": ["x", "y", "z"], "answer": "x"}

    (sample,) = open_dataset([row]).with_shuffled_choices(1)

    assert sample.choices != ("x", "y", "z")
    assert sample.fields["answer"] == "x"
    assert right_texts([sample]) == ["x"]


def orders_of(choices):
    samples = [Sample(str(n), "Which?", "A", choices) for n in range(20)]
    return {with_shuffled_choices(sample, 1).choices for sample in samples}


def test_options_that_name_others_stay_in_their_place():
    above = orders_of(("one", "two", "three", "All of the above"))
    letters = orders_of(("one", "two", "Both A and B", "Neither"))
    chinese = orders_of(("一", "二", "以上都是"))
    plain = orders_of(("a + b", "a, b", "vitamin A", "B"))

    assert len(above) > 3
    assert {order[-1] for order in above} == {"All of the above"}
    assert letters == {("one", "two", "Both A and B", "Neither")}
    assert {order[-1] for order in chinese} == {"以上都是"}
    assert len(plain) > 6


def test_a_number_from_one_beside_numbered_columns_moves_with_its_option():
    rows = [
        {"question": "?", "option1": "x", "option2": "y", "answer": gold}
        for gold in (1, 2, 1, 2)
    ]
    data = open_dataset(rows, columns={"choices": "option1,option2"})

    shuffled = list(data.with_shuffled_choices(3))

    assert len({sample.choices for sample in shuffled}) == 2
    for sample in shuffled:
        assert "AB"[sample.fields["answer"] - 1] == sample.target


def likelihood_model(folder):
    code = (
        "class Model:\n"
        "    def generate(self, messages):\n"
        "        return 'A'\n"
        "    def likelihood(self, requests):\n"
        "        return [[-len(text) for text in r.prompt.continuations] for r in requests]\n"
    )
    (folder / "longer.py").write_text(code)
    return "longer.py:Model"


def test_texts_compared_by_likelihood_have_no_order_to_shuffle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path, ROWS[:8])
    settings = {"model": likelihood_model(tmp_path), "measure": "text_likelihood"}

    plain = assay.run("set.jsonl", output="plain", **settings)

    assert not any("have the target" in line for line in plain.notes)
    with pytest.raises(UsageError, match="does not change with the order"):
        assay.run("set.jsonl", output="run", shuffle_choices=1, **settings)
