"""The testbed's own contexts as a protocol, and the words of its own datasets."""

import pytest

from assay.cli.main import main
from assay.core import UsageError
from assay.dialects.testbed.data_registry import SHIPPED
from assay.dialects.testbed.testbed_words import stemmed
from assay.runner.run import score


@pytest.mark.parametrize(("shots", "queries"), [(0, 20), (1, 10), (4, 4), (8, 2)])
def test_upstream_asks_the_last_row_of_each_chunk_and_shows_the_others(
    parity_file, parity_rows, evaluate_on, shots, queries
):
    result, asked = evaluate_on(
        f"{parity_file}@upstream", data=str(parity_rows), num_fewshot=shots
    )

    assert (result.results[0].n, result.results[0].protocol) == (
        queries,
        "parity@upstream",
    )
    assert [record["id"] for record in asked] == [
        str(n * (shots + 1) + shots) for n in range(queries)
    ]
    for record in asked:
        last = int(record["id"])
        shown = [str(n) for n in range(last - shots, last)]
        assert record.get("details", {}).get("shots", []) == shown


def test_upstream_with_a_train_split_stops_where_its_chunks_end(
    parity_file, write_rows, tmp_path, evaluate_on
):
    write_rows(
        [{"text": f"train {n}?", "label": "yes"} for n in range(7)], "data/train.jsonl"
    )
    write_rows(
        [{"text": f"query {n}?", "label": "yes"} for n in range(9)],
        "data/validation.jsonl",
    )

    result, asked = evaluate_on(
        f"{parity_file}@upstream",
        data=str(tmp_path / "data"),
        split="validation",
        num_fewshot=2,
    )

    assert (result.results[0].n, [record["id"] for record in asked]) == (
        3,
        ["0", "1", "2"],
    )
    assert [
        turn["content"] for turn in asked[1]["prompt"] if turn["role"] == "user"
    ] == [
        "train 2?",
        "train 3?",
        "query 1?",
    ]


def test_an_upstream_run_is_scored_again_from_elsewhere(
    parity_file, parity_rows, evaluate_on, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    first, _ = evaluate_on(
        f"{parity_file.name}@upstream", data=str(parity_rows), num_fewshot=4
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    again = score(tmp_path / "run")

    assert (again.results[0].value, again.results[0].n) == (first.results[0].value, 4)


def test_a_chunk_with_a_row_that_fails_is_the_fault_of_its_query(
    parity_file, write_rows, evaluate_on
):
    rows = [{"id": f"r{n}", "text": f"{n}?", "label": "yes"} for n in range(4)]
    del rows[0]["text"]
    path = write_rows(rows)

    result, asked = evaluate_on(
        f"{parity_file}@upstream", data=str(path), num_fewshot=1
    )

    assert [record["id"] for record in asked] == ["r3"]
    assert result.results[0].outcomes == {"scored": 1, "data_error": 1}


def test_upstream_refuses_shots_from_another_file(
    parity_file, parity_rows, evaluate_on
):
    with pytest.raises(UsageError, match="takes its shots from the data itself"):
        evaluate_on(
            f"{parity_file}@upstream",
            data=str(parity_rows),
            num_fewshot=1,
            fewshot_data=str(parity_rows),
        )


def test_a_failing_row_keeps_its_own_id(
    parity_file, write_rows, evaluate_on, tmp_path, capsys
):
    path = write_rows(
        [
            {"id": "good", "text": "2?", "label": "yes"},
            {"id": "bad", "label": "yes"},
            {"id": "also", "text": "4?", "label": "no"},
        ]
    )

    evaluate_on(parity_file, data=str(path))
    main(["show", str(tmp_path / "run"), "--failures"])

    assert "bad" in capsys.readouterr().out


def test_a_context_whose_query_fails_keeps_the_number_of_its_query(
    tmp_path, evaluate_on
):
    path = tmp_path / "loaded.py"
    path.write_text(
        "from testbed.data import prepare_dataloader, register_dataset_retriever\n\n\n"
        "@register_dataset_retriever('even')\ndef retriever(item, is_last):\n"
        "    answer = {'role': 'assistant'} if is_last else {'role': 'assistant', 'content': item['label']}\n"
        "    return [{'role': 'user', 'content': item['text']}, answer]\n\n\n"
        "rows = [{'text': str(n), 'label': 'yes'} for n in range(4)]\ndel rows[2]['text']\n"
        "loader = prepare_dataloader(rows, batch_size=2, num_shots=0)\n"
    )

    result, asked = evaluate_on(path)

    assert [record["id"] for record in asked] == ["0", "1", "3"]
    assert result.results[0].outcomes == {"scored": 3, "data_error": 1}
    assert any("2" in note and "KeyError" in note for note in result.notes)


@pytest.mark.parametrize(
    ("said", "stem"),
    [
        ("riding", "ride"),
        ("swimming", "swim"),
        ("surfing", "surf"),
        ("eating", "eat"),
        ("morning", "morning"),
        ("dogs", "dog"),
        ("ladies", "lady"),
        ("glasses", "glass"),
        ("children", "child"),
        ("tennis", "tennis"),
        ("yes", "yes"),
        ("riding horses", "ride horse"),
        ("2 boxes", "2 box"),
    ],
)
def test_answers_of_ok_vqa_are_reduced_to_their_stems(said, stem):
    assert stemmed(said) == stem


def test_ok_vqa_alone_stems_what_a_model_says():
    assert SHIPPED["ok_vqa"][1]("two dogs riding") == "two dog ride"
    assert SHIPPED["vqav2"][1]("two dogs riding") == "two dogs riding"


def test_a_stemmed_answer_of_ok_vqa_is_right_however_it_was_said(
    tmp_path, write_rows, evaluate_on
):
    from PIL import Image as pillow

    pillow.new("RGB", (4, 4)).save(tmp_path / "a.png")
    home = tmp_path / "ok_vqa"
    home.mkdir()
    (home / "__init__.py").write_text(
        "from testbed.data import register_dataset_retriever\nfrom testbed.data.builtin import visual_question\n"
        "from testbed.data.builtin import SHIPPED\nfrom testbed.data import register_postprocess\n"
        "register_dataset_retriever('ok_vqa')(visual_question)\nregister_postprocess('ok_vqa')(SHIPPED['ok_vqa'][1])\n"
    )
    rows = write_rows(
        [
            {
                "image": str(tmp_path / "a.png"),
                "question": "doing?",
                "answer": "ride horse",
            }
        ]
    )

    result, _ = evaluate_on(home, "riding horses", data=str(rows))

    assert result.results[0].value == 1.0
