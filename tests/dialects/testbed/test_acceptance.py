"""What a user of the testbed must be able to do (CONTRACTS 1.4), item by item."""

import json

import pytest

from assay.core import Image, Prompt
from assay.models.function import FunctionModel
from assay.runner.run import score

IMAGES = """
from testbed.data import register_dataset_retriever


@register_dataset_retriever("colours")
def retriever(item, is_last):
    turns = [
        {"role": "image", "content": [{"type": "image"}]},
        {"role": "question", "content": [{"type": "text", "text": item["question"]}]},
        {"role": "answer"} if is_last else {"role": "answer", "content": [{"type": "text", "text": item["answer"]}]},
    ]
    return turns, item["pictures"]
"""


def pictures(folder, count):
    from PIL import Image as pillow

    for number in range(count):
        pillow.new("RGB", (4, 4), (number * 30, 0, 0)).save(folder / f"{number}.png")


def test_item_1_a_pasted_retriever_runs_two_shots_and_each_prompt_ends_with_the_assistants_place(
    parity_file, parity_rows, evaluate_on
):
    result, asked = evaluate_on(parity_file, data=str(parity_rows), num_fewshot=2)

    assert [(r.metric, r.value, r.n) for r in result.results] == [("accuracy", 0.5, 20)]
    for record in asked:
        assert [turn["role"] for turn in record["prompt"]] == ["user", "assistant"] * 3
        assert "content" not in record["prompt"][-1]
        assert all("content" in turn for turn in record["prompt"][:-1])


def test_item_1_a_prompt_rendered_by_a_users_template_ends_with_the_header_and_no_end_of_turn(
    parity_file, parity_rows, stand_in_file, evaluate_on
):
    from assay.dialects.testbed import model

    _, asked = evaluate_on(
        parity_file,
        model=model(f"{stand_in_file}:Mine", {}),
        data=str(parity_rows),
        num_fewshot=2,
    )

    rendered = [record["output"]["details"]["rendered"] for record in asked]
    assert all(text.endswith("even?<|end|><|assistant|>") for text in rendered)
    assert all(text.count("<|assistant|>") == 3 for text in rendered)


def test_item_2_the_same_queries_are_asked_whatever_the_number_of_shots(
    parity_file, parity_rows, evaluate_on
):
    for shots in (0, 1, 4, 8):
        result, asked = evaluate_on(
            parity_file, data=str(parity_rows), num_fewshot=shots, folder=f"run{shots}"
        )

        assert [record["id"] for record in asked] == [str(n) for n in range(20)]
        assert result.results[0].n == 20
        for record in asked:
            drawn = record.get("details", {}).get("shots", [])
            assert len(drawn) == shots
            assert record["id"] not in drawn


def test_item_2_shots_are_recorded_and_the_same_on_a_second_run(
    parity_file, parity_rows, evaluate_on
):
    settings = {"data": str(parity_rows), "num_fewshot": 4, "seed": 3}
    _, first = evaluate_on(parity_file, folder="first", **settings)
    _, second = evaluate_on(parity_file, folder="second", **settings)
    _, other = evaluate_on(parity_file, folder="other", **{**settings, "seed": 4})

    assert [r["details"]["shots"] for r in first] == [
        r["details"]["shots"] for r in second
    ]
    assert [r["details"]["shots"] for r in first] != [
        r["details"]["shots"] for r in other
    ]


def test_item_3_images_keep_their_positions_and_their_own_bytes(
    tmp_path, write_rows, evaluate_on
):
    pictures(tmp_path, 3)
    (tmp_path / "colours.py").write_text(IMAGES)
    rows = write_rows(
        [
            {"question": f"q{n}", "answer": "red", "pictures": f"{n}.png"}
            for n in range(3)
        ]
    )

    result, asked = evaluate_on(
        tmp_path / "colours.py", "red", data=str(rows), num_fewshot=1
    )

    assert result.results[0].value == 1.0
    shot = asked[0]["details"]["shots"][0]
    parts = [
        turn["content"][0] for turn in asked[0]["prompt"] if turn["role"] == "image"
    ]
    assert [part["sha256"] for part in parts] == [
        Image(tmp_path / f"{n}.png").digest for n in (shot, 0)
    ]


def test_item_3_a_mismatch_of_places_and_images_is_the_error_of_that_row(
    tmp_path, write_rows, evaluate_on
):
    pictures(tmp_path, 3)
    (tmp_path / "colours.py").write_text(IMAGES)
    given = ["0.png", ["1.png", "2.png"], "2.png"]
    rows = write_rows(
        [
            {"question": f"q{n}", "answer": "red", "pictures": p}
            for n, p in enumerate(given)
        ]
    )

    result, asked = evaluate_on(tmp_path / "colours.py", "red", data=str(rows))

    assert len(asked) == 2
    assert result.results[0].outcomes["data_error"] == 1
    said = "the conversation has 1 places for images, and the retriever gave 2"
    assert any("rows.jsonl:2" in note and said in note for note in result.notes)


def test_item_4_a_users_sampler_chooses_the_shots_and_is_named_in_the_record(
    tmp_path, evaluate_on
):
    (tmp_path / "similar.py").write_text(
        """
from testbed.data import prepare_dataloader, register_dataset_retriever

train = [{"q": word, "a": word.upper()} for word in ("ant", "bee", "cat", "ape", "bat", "cow")]
val = [{"q": word, "a": word.upper()} for word in ("axe", "box", "cup")]


class SameLetter:
    def __iter__(self):
        for query in val:
            yield [at for at, row in enumerate(train) if row["q"][0] == query["q"][0]]


@register_dataset_retriever("words")
def retriever(item, is_last):
    answer = {"role": "Big"} if is_last else {"role": "Big", "content": item["a"]}
    return [{"role": "Word", "content": item["q"]}, answer]


dataloader = prepare_dataloader([train, val], batch_size=2, num_per_dataset=[2, 1], samplers=[SameLetter(), range(3)])
"""
    )

    result, asked = evaluate_on(tmp_path / "similar.py", ["AXE", "BOX", "wrong"])

    assert [record["details"]["shots"] for record in asked] == [
        ["0:0", "0:3"],
        ["0:1", "0:4"],
        ["0:2", "0:5"],
    ]
    assert asked[0]["details"]["picked_by"] == "SameLetter, range"
    assert [turn.get("content") for turn in asked[0]["prompt"]] == [
        "ant",
        "ANT",
        "ape",
        "APE",
        "axe",
        None,
    ]
    assert result.results[0].value == pytest.approx(2 / 3)


def test_item_5_shots_from_train_and_queries_from_validation_by_one_option(
    parity_file, parity_rows, write_rows, evaluate_on
):
    train = write_rows(
        [{"text": f"train {n}", "label": "yes"} for n in range(5)], "train.jsonl"
    )

    _, asked = evaluate_on(
        parity_file, data=str(parity_rows), fewshot_data=str(train), num_fewshot=2
    )

    assert len(asked) == 20
    assert all(r["prompt"][0]["content"].startswith("train ") for r in asked)
    assert all(r["prompt"][4]["content"].startswith("is ") for r in asked)


def test_item_5_a_folder_with_a_train_split_gives_the_shots_of_another_split(
    tmp_path, parity_file, write_rows, evaluate_on
):
    for split in ("train", "validation"):
        write_rows(
            [{"text": f"{split} {n}", "label": "yes"} for n in range(4)],
            f"splits/{split}.jsonl",
        )

    _, asked = evaluate_on(
        parity_file, data=str(tmp_path / "splits"), split="validation", num_fewshot=1
    )

    assert [r["prompt"][2]["content"] for r in asked] == [
        f"validation {n}" for n in range(4)
    ]
    assert all(r["prompt"][0]["content"].startswith("train ") for r in asked)


def test_item_5_several_datasets_are_mixed_by_num_per_dataset_each_rendered_by_its_own_retriever(
    tmp_path, evaluate_on
):
    (tmp_path / "mixed.py").write_text(
        """
from testbed.data import prepare_dataloader, register_dataset_retriever

sums = [{"q": f"1+{n}", "a": 1 + n} for n in range(4)]
capitals = [{"country": f"C{n}", "city": f"city{n}"} for n in range(3)]


@register_dataset_retriever("sums")
def of_sums(item, is_last):
    return [{"role": "Q", "content": item["q"]}, {"role": "A"} if is_last else {"role": "A", "content": item["a"]}]


@register_dataset_retriever("capitals")
def of_capitals(item, is_last):
    asked = {"role": "Q", "content": "capital of " + item["country"]}
    return [asked, {"role": "A"} if is_last else {"role": "A", "content": item["city"]}]


loader = prepare_dataloader([sums, capitals], batch_size=2, num_shots=2, num_per_dataset=[1, 2])
"""
    )

    _, asked = evaluate_on(tmp_path / "mixed.py", "city0")

    assert [record["id"] for record in asked] == ["1:0", "1:1", "1:2"]
    for record in asked:
        said = [turn.get("content") for turn in record["prompt"]]
        assert said[0].startswith("1+") and said[1].isdigit()
        assert (
            said[2].startswith("capital of")
            and said[4].startswith("capital of")
            and said[2] != said[4]
        )


def test_item_8_a_subclass_with_only_a_template_runs_from_the_command_lines_spelling(
    parity_file, parity_rows, stand_in_file, evaluate_on
):
    result, asked = evaluate_on(
        parity_file, model=f"{stand_in_file}:Mine", data=str(parity_rows)
    )

    assert result.results[0].value == 0.5
    assert (
        asked[0]["output"]["details"]["rendered"]
        == "<|user|>is 0 even?<|end|><|assistant|>"
    )


def test_item_9_zero_shot_chat_without_a_placeholder_asks_the_assistant(
    tmp_path, write_rows, stand_in_file, evaluate_on
):
    (tmp_path / "plain.py").write_text(
        "from testbed.data import register_dataset_retriever\n\n"
        '@register_dataset_retriever("plain")\n'
        "def retriever(item, is_last):\n"
        '    turns = [{"role": "user", "content": item["q"]}]\n'
        '    return turns if is_last else [*turns, {"role": "assistant", "content": item["a"]}]\n'
    )
    rows = write_rows([{"q": "one", "a": "yes"}, {"q": "two", "a": "no"}])

    result, asked = evaluate_on(
        tmp_path / "plain.py", model=f"{stand_in_file}:Mine", data=str(rows)
    )

    assert Prompt(tuple(as_turns(asked[0]["prompt"]))).role == "assistant"
    assert (
        asked[0]["output"]["details"]["rendered"] == "<|user|>one<|end|><|assistant|>"
    )
    assert result.results[0].value == 0.5


def test_functions_may_be_given_as_the_second_argument_of_a_registration(
    tmp_path, write_rows, stand_in_file, evaluate_on
):
    (tmp_path / "plain.py").write_text(
        "from testbed.data.common import register_dataset_retriever, register_postprocess\n\n"
        "def retriever(item, is_last):\n"
        '    turns = [{"role": "user", "content": item["q"]}]\n'
        '    return turns if is_last else [*turns, {"role": "assistant", "content": item["a"]}]\n\n'
        'register_dataset_retriever("plain", retriever)\n'
        'register_postprocess("plain", lambda pred: pred.strip())\n'
    )
    rows = write_rows([{"q": "one", "a": "yes"}, {"q": "two", "a": "no"}])

    result, _ = evaluate_on(
        tmp_path / "plain.py", model=f"{stand_in_file}:Mine", data=str(rows)
    )

    assert result.results[0].n == 2
    assert result.results[0].value == 0.5


def as_turns(plain):
    from assay.core import as_message

    return [as_message(turn) for turn in plain]


def test_a_run_is_scored_again_without_the_model(
    parity_file, parity_rows, evaluate_on, tmp_path
):
    first, _ = evaluate_on(parity_file, data=str(parity_rows), num_fewshot=1)

    again = score(tmp_path / "run")

    assert [(r.metric, r.value) for r in again.results] == [
        (r.metric, r.value) for r in first.results
    ]


def test_the_same_command_again_asks_nothing(
    parity_file, parity_rows, tmp_path, evaluate_on
):
    calls = []
    model = FunctionModel(lambda text: calls.append(text) or "yes", "counting")
    settings = {"data": str(parity_rows), "num_fewshot": 2, "model": model}

    evaluate_on(parity_file, **settings)
    asked_first = len(calls)
    evaluate_on(parity_file, **settings)

    assert (asked_first, len(calls)) == (20, 20)
    assert (
        json.loads((tmp_path / "run" / "summary.json").read_text())["status"]
        == "complete"
    )
