"""Scoring again after the data changed: an answer counts for the question that it was given to."""

import json

import assay

MODEL = "def generate(text: str) -> str:\n    return text.split()[-1]\n"


def write(folder, rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "d.jsonl").write_text(lines, encoding="utf-8")


def run(folder, monkeypatch, rows, **settings):
    monkeypatch.chdir(folder)
    write(folder, rows)
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    first = assay.run("d.jsonl", "model.py:generate", output="run", **settings)
    assert first.results[0].value == 1.0
    return first


def test_rows_without_ids_that_changed_places_are_not_scored_with_others_answers(
    tmp_path, monkeypatch
):
    rows = [{"question": f"say {n}", "answer": str(n)} for n in range(6)]
    run(tmp_path, monkeypatch, rows)
    write(tmp_path, rows[::-1])

    again = assay.score("run")

    assert again.status == "failed"
    assert all(result.value is None for result in again.results)
    assert any("another question" in note for note in again.notes)


def test_media_that_were_moved_with_their_data_are_the_same_question(
    tmp_path, monkeypatch
):
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "image": f"{name}.png", "answer": "a"} for name in "ab"]
    for folder, colours in (
        ("old", {"a": "red", "b": "blue"}),
        ("new", {"a": "red", "b": "green"}),
    ):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, [{**row, "folder": folder} for row in rows])
        for name, colour in colours.items():
            Image.new("RGB", (4, 4), colour).save(tmp_path / folder / f"{name}.png")
    model_args = {"answers": "a", "accepts": ["image", "text"]}
    assay.run("old/d.jsonl", "scripted", model_args=model_args, output="run")

    again = assay.score("run", data="new/d.jsonl")

    assert again.results[0].n == 1 and again.status == "partial"


def test_an_edited_question_is_unanswered_and_an_edited_target_is_scored(
    tmp_path, monkeypatch
):
    rows = [{"id": str(n), "question": f"say {n}", "answer": str(n)} for n in range(4)]
    run(tmp_path, monkeypatch, rows)
    rows[0]["question"] = "say something"
    rows[1]["answer"] = "another"
    write(tmp_path, rows)

    again = assay.score("run")

    assert again.status == "partial"
    assert (again.results[0].n, again.results[0].value) == (3, 2 / 3)


def test_reversed_options_are_not_scored_with_the_letters_of_the_old_order(
    tmp_path, monkeypatch
):
    row = {"id": "a", "question": "say A", "options": ["x", "y"], "answer": "x"}
    monkeypatch.chdir(tmp_path)
    write(tmp_path, [row])
    assay.run("d.jsonl", "scripted", model_args={"answers": "A"}, output="run")
    write(tmp_path, [{**row, "options": ["y", "x"]}])

    again = assay.score("run")

    assert again.status == "failed"
    assert all(result.value is None for result in again.results)
