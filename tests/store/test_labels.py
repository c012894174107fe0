"""Labels of people: added line by line, never overwritten, the journal untouched."""

from pathlib import Path

import pytest

from assay.core import StoreError
from assay.store.labels import Label, add_labels, read_labels, standing_labels
from assay.store.layout import Layout


def label(value: float | None, by: str = "ann", id: str = "a") -> Label:
    return Label("task", "model", id, 0, value, by)


def test_the_last_word_of_a_person_counts_and_all_words_stay(tmp_path: Path):
    layout = Layout(tmp_path)
    add_labels(layout, [label(1.0)])
    add_labels(layout, [label(0.0), label(1.0, "bob")])

    found = read_labels(layout)

    assert [one.value for one in found] == [1.0, 0.0, 1.0]
    assert {
        by: one.value
        for by, one in standing_labels(found)["task", "model", "a", 0].items()
    } == {
        "ann": 0.0,
        "bob": 1.0,
    }
    assert all(one.at for one in found)


def test_a_torn_line_is_cut_and_a_damaged_one_left_out(tmp_path: Path):
    layout = Layout(tmp_path)
    add_labels(layout, [label(1.0), label(0.0, id="b")])
    layout.labels.write_bytes(
        layout.labels.read_bytes().replace(b'"id":"b"', b'"id":"c"') + b'{"kind":"la'
    )

    add_labels(layout, [label(None, id="d")])

    assert [(one.id, one.value) for one in read_labels(layout)] == [
        ("a", 1.0),
        ("d", None),
    ]


@pytest.mark.parametrize("content", ["my own notes\n", '{"kind":"label"}\n'])
def test_a_file_of_that_name_that_is_not_ours_is_refused(tmp_path: Path, content: str):
    layout = Layout(tmp_path)
    layout.labels.write_text(content)

    with pytest.raises(StoreError, match="not written by assay"):
        add_labels(layout, [label(1.0)])
    assert layout.labels.read_text() == content


def test_a_link_instead_of_it_is_not_followed(tmp_path: Path):
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    Layout(tmp_path).labels.symlink_to(target)

    with pytest.raises(StoreError):
        add_labels(Layout(tmp_path), [label(1.0)])
    assert target.read_text() == "mine"


def test_a_label_without_a_name_or_a_note_is_read_back(tmp_path: Path):
    layout = Layout(tmp_path)

    add_labels(layout, [Label("task", "model", "")])

    assert [(label.task, label.id) for label in read_labels(layout)] == [("task", "")]
