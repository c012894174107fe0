"""`testbed.data` as scripts and notebooks use it."""

import pytest

from assay.dialects.testbed.data_names import (
    DATASET_RETRIEVER_MAPPING,
    POSTPROCESS_MAPPING,
    ConcatSampler,
    MultiBatchSampler,
    postprocess_generation,
    prepare_dataloader,
    prepare_input,
    register_dataset_retriever,
    register_postprocess,
)
from assay.dialects.testbed.data_registry import (
    most_common_from_dict,
    split_generators,
)

ROWS = [{"q": f"q{n}", "a": f"a{n}"} for n in range(10)]


@pytest.fixture(autouse=True)
def only_what_ships():
    """Undoes what a test registers."""
    before = dict(DATASET_RETRIEVER_MAPPING), dict(POSTPROCESS_MAPPING)
    yield
    for mapping, kept in zip(
        (DATASET_RETRIEVER_MAPPING, POSTPROCESS_MAPPING), before, strict=True
    ):
        mapping.clear()
        mapping.update(kept)


def register(name="mine", extra=None):
    @register_dataset_retriever(name)
    def retriever(item, is_last):
        answer = {"role": "A"} if is_last else {"role": "A", "content": item["a"]}
        turns = [{"role": name, "content": item["q"]}, answer]
        return turns if extra is None else (turns, *extra(item))


def test_a_retriever_takes_two_parameters_and_a_postprocess_one():
    with pytest.raises(
        TypeError,
        match=r"the retriever of 'x' takes 1 parameters; it must take 2: \(item, is_last\)",
    ):
        register_dataset_retriever("x")(lambda item: item)
    with pytest.raises(
        TypeError, match="the postprocess of 'x' takes 2 parameters; it must take 1"
    ):
        register_postprocess("x")(lambda text, more: text)


def test_registering_again_replaces():
    register_postprocess("x")(lambda text: 1)
    register_postprocess("x")(lambda text: 2)

    assert postprocess_generation("x", "any") == 2


def test_a_context_becomes_an_instruction_the_shots_and_the_open_query():
    register()

    (context,) = prepare_input("mine", [ROWS[:2]], "Answer.")

    assert context == [
        {"role": "instruction", "content": "Answer."},
        {"role": "mine", "content": "q0"},
        {"role": "A", "content": "a0"},
        {"role": "mine", "content": "q1"},
        {"role": "A"},
    ]


def test_a_shot_equal_to_the_query_keeps_its_label():
    register()

    (context,) = prepare_input("mine", [[ROWS[0], ROWS[0]]])

    assert [turn.get("content") for turn in context] == ["q0", "a0", "q0", None]


def test_extra_outputs_come_beside_the_conversations_context_by_context():
    register(extra=lambda item: (f"image of {item['q']}", item["a"]))

    contexts, images, labels = prepare_input("mine", [ROWS[:2], ROWS[2:4]])

    assert len(contexts) == 2
    assert images == [["image of q0", "image of q1"], ["image of q2", "image of q3"]]
    assert labels == [["a0", "a1"], ["a2", "a3"]]


def test_different_numbers_of_extra_outputs_are_refused():
    register(extra=lambda item: () if item["q"] == "q0" else ("image",))

    with pytest.raises(RuntimeError, match="different numbers of extra outputs"):
        prepare_input("mine", [ROWS[:2]])


def test_an_unregistered_name_is_refused():
    with pytest.raises(ValueError, match="the retriever of 'nobody' is not registered"):
        prepare_input("nobody", [ROWS[:1]])


def test_names_may_be_given_for_each_context_or_for_each_row_and_ambiguity_is_refused():
    register("one"), register("two")

    per_context = prepare_input(["one", "two"], [ROWS[:3], ROWS[3:6]])
    per_row = prepare_input(["one", "one", "two"], [ROWS[:3]])
    nested = prepare_input([["one", "two"], ["two", "two"]], [ROWS[:2], ROWS[2:4]])

    assert [context[0]["role"] for context in per_context] == ["one", "two"]
    assert [turn["role"] for turn in per_row[0][::2]] == ["one", "one", "two"]
    assert [[turn["role"] for turn in context[::2]] for context in nested] == [
        ["one", "two"],
        ["two", "two"],
    ]
    with pytest.raises(
        ValueError, match="could be one for each context or one for each row"
    ):
        prepare_input(["one", "two"], [ROWS[:2], ROWS[2:4]])
    with pytest.raises(ValueError, match="3 dataset names for 2 contexts of 2 rows"):
        prepare_input(["one", "two", "one"], [ROWS[:2], ROWS[2:4]])


@pytest.mark.parametrize("shots", [0, 1, 4, 8])
def test_every_row_is_the_query_once_whatever_the_number_of_shots(shots):
    loader = prepare_dataloader(ROWS, batch_size=3, num_shots=shots)

    contexts = [context for batch in loader for context in batch]

    assert [context[-1] for context in contexts] == ROWS
    assert all(
        len(context) == shots + 1 and len({row["q"] for row in context}) == shots + 1
        for context in contexts
    )
    assert contexts == [
        context
        for batch in prepare_dataloader(ROWS, 3, num_shots=shots)
        for context in batch
    ]
    assert len(loader) == 4


def test_shots_come_from_the_first_dataset_and_every_row_of_the_last_is_asked():
    loader = prepare_dataloader([range(5), range(100, 107)], 2, num_per_dataset=[2, 1])

    contexts = [context for batch in loader for context in batch]

    assert [context[-1] for context in contexts] == list(range(100, 107))
    assert all(
        set(context[:-1]) <= set(range(5)) and len(set(context)) == 3
        for context in contexts
    )


def test_one_dataset_given_twice_never_shows_the_query_as_its_own_shot():
    rows = range(6)

    contexts = [
        c
        for batch in prepare_dataloader([rows, rows], 1, num_per_dataset=[5, 1])
        for c in batch
    ]

    assert all(len(set(context)) == 6 for context in contexts)


def test_shuffling_changes_the_order_of_the_queries_and_nothing_else():
    plain = [
        c for batch in prepare_dataloader(range(20), 4, num_shots=2) for c in batch
    ]
    mixed = [
        c
        for batch in prepare_dataloader(range(20), 4, num_shots=2, shuffle=True)
        for c in batch
    ]

    assert plain != mixed
    assert sorted(plain, key=lambda c: c[-1]) == sorted(mixed, key=lambda c: c[-1])


def test_samplers_of_the_user_are_followed_to_the_letter():
    loader = prepare_dataloader(
        [range(5), range(5, 10)],
        batch_size=2,
        num_per_dataset=[1, 2],
        samplers=[range(5), range(5)],
    )

    assert list(loader) == [[[0, 5, 6], [1, 7, 8]]]


def test_a_sampler_that_yields_the_wrong_number_is_named():
    loader = prepare_dataloader(range(5), 1, num_shots=1, sampler=[[0, 1, 2]])

    with pytest.raises(
        ValueError, match=r"yielded \[0, 1, 2\]; it must yield lists of 2 indices"
    ):
        list(loader)


def test_the_last_smaller_batch_is_kept_unless_it_is_to_be_dropped():
    assert [len(batch) for batch in prepare_dataloader(range(5), 2, num_shots=0)] == [
        2,
        2,
        1,
    ]
    assert [
        len(batch)
        for batch in prepare_dataloader(range(5), 2, num_shots=0, drop_last=True)
    ] == [2, 2]


def test_a_collate_function_gets_the_nested_list():
    loader = prepare_dataloader(
        range(4),
        2,
        num_shots=0,
        collate_fn=lambda batch: ("seen", batch),
        num_workers=0,
    )

    assert next(iter(loader)) == ("seen", [[0], [1]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "cannot both be None"),
        ({"num_shots": 2, "num_per_dataset": 2}, "sums to 2, and num_shots"),
        (
            {"num_shots": 0, "sampler": [0], "samplers": [[0]]},
            "cannot be given together",
        ),
        ({"num_shots": 0, "samplers": [[0], [1]]}, "same length as datasets"),
        ({"num_shots": 30}, "dataset 0 has 10 rows, and each context needs 31"),
        ({"num_per_dataset": [1, 1]}, "same length as datasets"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        list(prepare_dataloader(ROWS, 1, **settings))


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="no option 'num_worker'"):
        prepare_dataloader(ROWS, 1, num_shots=0, num_worker=2)


def test_the_samplers_chunk_and_merge_as_upstream():
    joined = ConcatSampler([[[0], [1], [2]], [[0, 1], [2, 3]]], [3, 7])

    assert list(joined) == [[0, 3, 4], [1, 5, 6]]
    assert list(MultiBatchSampler([[0], [1], [2]], 2, drop_last=False)) == [[0, 1], [2]]
    assert list(MultiBatchSampler([[0], [1], [2]], 2, drop_last=True)) == [[0, 1]]
    assert (len(joined), len(MultiBatchSampler([[0], [1], [2]], 2, False))) == (2, 2)


def test_predictions_are_cut_stripped_and_read_one_or_many():
    register_postprocess("n")(lambda text: text.upper())

    assert (
        postprocess_generation("n", " yes\nQuestion", stop_words=["\n", "Question"])
        == "YES"
    )
    assert postprocess_generation("n", ["a.b", " c "], stop_words=["."]) == ["A", "C"]


def test_no_stop_words_erase_nothing():
    register_postprocess("n")(lambda text: text)

    assert postprocess_generation("n", "kept", stop_words=[]) == "kept"
    assert postprocess_generation("n", "kept", stop_words=[""]) == "kept"


def test_an_unregistered_postprocess_is_refused():
    with pytest.raises(
        ValueError, match="the post-process of 'nobody' is not registered"
    ):
        postprocess_generation("nobody", "text")


def test_the_most_common_answer_is_the_first_of_equals():
    assert (
        most_common_from_dict([{"answer": "b"}, {"answer": "a"}, {"answer": "a"}])
        == "a"
    )
    assert most_common_from_dict([{"answer": "b"}, {"answer": "a"}]) == "b"


def test_splits_with_missing_files_are_left_out_with_a_warning(tmp_path):
    pytest.importorskip("datasets", reason="datasets is not installed")
    (tmp_path / "v.json").write_text("[]")
    files = {
        "questions": {"train": "t.json", "val": "v.json"},
        "annotations": {"train": "t.json"},
    }

    with pytest.warns(UserWarning, match="the split 'train' is left out"):
        (made,) = split_generators(
            lambda kind, split: tmp_path / files[kind][split], files
        )

    assert made.name == "validation"
    assert made.gen_kwargs == {
        "split": "val",
        "questions_path": tmp_path / "v.json",
        "annotations_path": None,
    }


def test_without_any_split_all_missing_files_are_named(tmp_path):
    pytest.importorskip("datasets", reason="datasets is not installed")

    with pytest.raises(FileNotFoundError, match=r"t\.json"):
        split_generators(
            lambda kind, split: tmp_path / "t.json",
            {"questions": {"train": "t.json"}},
            verbose=False,
        )


@pytest.mark.parametrize("name", ["vqav2", "ok_vqa", "ocr_vqa"])
def test_the_datasets_that_ship_show_image_question_and_answer(name):
    row = {"image": "pixels", "question": "What?", "answer": "red"}

    (context,), images = prepare_input(name, [[row, row]])

    assert [turn["role"] for turn in context] == ["image", "question", "answer"] * 2
    assert "content" not in context[-1]
    assert images == [["pixels", "pixels"]]


def test_a_hateful_meme_is_shown_as_yes_or_no_and_read_as_one_or_zero():
    (context,), _ = prepare_input(
        "hateful_memes", [[{"img": 0, "text": "t", "label": 1}] * 2]
    )

    assert context[2]["content"] == [{"type": "text", "text": "yes"}]
    assert postprocess_generation(
        "hateful_memes", ["Yes, it is", "no", "perhaps", "non-hateful"]
    ) == [1, 0, 0, 0]


def test_seed_bench_has_one_place_for_each_image_and_lettered_choices():
    row = {
        "image": [1, 2],
        "question": "Q",
        "answer": "B",
        **{f"choice_{c}": c for c in "abcd"},
    }

    (context,), images = prepare_input("seed_bench", [[row]])

    assert len(context[0]["content"]) == 2
    assert context[2]["content"][0]["text"] == "A. a B. b C. c D. d"
    assert images == [[[1, 2]]]
