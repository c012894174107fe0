"""If data is not found, the error says where it was looked for."""

import pytest

from assay.core import AssayError, DataError, DataSource, Task
from assay.runner.tasks.locate import adding_searched_folders

TASK = Task("t", DataSource(hub="org/t", local=("t/test.jsonl", "test.jsonl")))


def failing(task, data=None):
    with pytest.raises(AssayError) as caught, adding_searched_folders(task, data):
        raise DataError(
            "cannot load from the hub", file="hub:org/t", fix="set $ASSAY_DATA"
        )
    return str(caught.value)


def test_a_folder_that_does_not_exist_is_named_with_the_file_it_is_to_hold(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", "/nowhere")

    said = failing(TASK)

    assert (
        "fix: $ASSAY_DATA is /nowhere, which is not a folder; it is to hold t/test.jsonl; or pass --data"
        in said
    )


def test_a_folder_without_the_file_is_named_with_all_that_was_looked_for(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    assert (
        f"$ASSAY_DATA is {tmp_path}, which holds none of t/test.jsonl, test.jsonl; put it there"
        in failing(TASK)
    )


def test_what_was_not_looked_into_is_not_named(monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.delenv("LMUData", raising=False)

    assert failing(TASK).endswith("fix: set $ASSAY_DATA")
    monkeypatch.setenv("ASSAY_DATA", "/nowhere")
    assert failing(TASK, data="mine.jsonl").endswith("fix: set $ASSAY_DATA")
    assert failing(Task("t", "rows.jsonl")).endswith("fix: set $ASSAY_DATA")
