"""Tasks as rows of a TOML file."""

import pytest

from assay.benchmarks import task_rows, text_tasks
from assay.core import Task
from assay.templates import Question


def written(tmp_path, monkeypatch, text: str) -> None:
    (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(task_rows, "_DATA", tmp_path)


def test_a_row_takes_over_a_shape_and_fills_in_its_name_and_file(tmp_path, monkeypatch):
    written(
        tmp_path,
        monkeypatch,
        """
        [shape.letters]
        protocol = "{name}@letter"
        local = ["{file}.tsv"]
        scorers = ["choice"]
        template = { python = "templates:Question", instruction = "One letter." }

        [first]
        like = "letters"
        file = "FIRST"

        [second]
        like = "first"
        scorers = ["exact_match"]
        """,
    )

    tasks = task_rows.read_tasks("tasks.toml", __name__)

    assert list(tasks) == ["first", "second"]
    assert tasks["first"].protocol == "first@letter"
    assert tasks["second"].protocol == "second@letter"
    assert tasks["second"].dataset.local == ("FIRST.tsv",)
    assert tasks["second"].scorers == ("exact_match",)
    assert tasks["first"].template == Question(instruction="One letter.")


def test_a_row_refers_to_objects_of_its_module(tmp_path, monkeypatch):
    text = '[first]\ntemplate = "python:gsm8k_question"\n'
    written(tmp_path, monkeypatch, text)

    task = task_rows.read_tasks("tasks.toml", text_tasks.__name__)["first"]

    assert isinstance(task, Task) and task.template is text_tasks.gsm8k_question


def test_a_task_is_an_attribute_of_its_module_and_other_names_are_not():
    assert text_tasks.gsm8k.name == "gsm8k"
    with pytest.raises(AttributeError, match="no attribute 'gsm9k'"):
        text_tasks.gsm9k
