"""The index on disk: the same as one made anew, never believed where the journal is another one."""

import os
from pathlib import Path

import pytest
from made_runs import answered, judged, sums

from assay.store import Journal
from assay.store.layout import Layout
from assay.view import index_file
from assay.view.index_file import open_index, save_index
from assay.view.journal_index import JournalIndex


@pytest.fixture(autouse=True)
def small_journals_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(index_file, "WORTH_KEEPING", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def state(index: JournalIndex) -> tuple:
    columns = (index.small, index.real, index.metrics, index.tags, index.verdicts)
    plain = [{name: bytes(column) for name, column in kind.items()} for kind in columns]
    return (
        index.ids,
        index.cells,
        index.outcomes,
        index.tag_values,
        index.end,
        bytes(index.current),
        list(index.offsets),
        plain,
        index.calls,
    )


def test_an_index_that_is_read_equals_one_that_is_made(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run"))

    made = open_index(layout)
    read = open_index(layout)

    assert layout.view_index.exists()
    assert state(made) == state(read)
    assert made.search("17 + 17") == read.search("17 + 17") == [17]


def test_a_journal_that_has_grown_is_carried_on(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run", count=4, right=2))
    open_index(layout)
    journal = Journal(layout.journal)
    journal.append(answered("new", "What now?", "a newcomer"))
    journal.append(judged("new", 1.0))
    journal.append(judged("s000", 0.25))
    journal.close()

    index = open_index(layout)

    assert index.ids[-1] == "new" and index.search("newcomer") == [4]
    assert index.metrics["exact"][0] == 0.25
    assert state(index) == state(_made_anew(layout))


def _made_anew(layout: Layout) -> JournalIndex:
    index = JournalIndex(layout.journal)
    index.read_on()
    return index


def test_a_journal_of_the_same_length_with_other_words_gets_a_new_index(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run", count=4))
    open_index(layout)
    journal = layout.journal.read_bytes()
    layout.journal.write_bytes(journal.replace(b"What is 1 + 1", b"What is 1 - 1"))
    os.utime(layout.journal, ns=(1, 1))

    assert open_index(layout).damaged == 1


def test_a_shorter_journal_gets_a_new_index(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run", count=4))
    open_index(layout)
    first = layout.journal.read_bytes().split(b"\n")[0]
    layout.journal.write_bytes(first + b"\n")

    assert len(open_index(layout)) == 1


@pytest.mark.parametrize("keep", [0, 10, 25, 200, -5])
def test_a_damaged_index_is_none(tmp_path: Path, keep: int):
    layout = Layout(sums(tmp_path / "run", count=4))
    open_index(layout)
    whole = layout.view_index.read_bytes()
    layout.view_index.write_bytes(whole[:keep])

    assert len(open_index(layout)) == 4


def test_a_file_of_that_name_that_is_not_ours_is_left_alone(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run", count=4))
    layout.view_index.write_text("my notes")

    place = save_index(open_index(layout), layout)

    assert layout.view_index.read_text() == "my notes"
    assert place is not None and place.is_relative_to(tmp_path / "cache")
    assert len(open_index(layout)) == 4


def test_a_link_instead_of_it_is_not_written_through(tmp_path: Path):
    layout = Layout(sums(tmp_path / "run", count=4))
    target = tmp_path / "precious"
    target.write_text("mine")
    layout.view_index.symlink_to(target)

    open_index(layout)

    assert target.read_text() == "mine"


def test_a_short_journal_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_file, "WORTH_KEEPING", 8 << 20)
    layout = Layout(sums(tmp_path / "run", count=4))

    open_index(layout)

    assert not layout.view_index.exists()
    assert not (tmp_path / "cache").exists()


def test_a_run_may_go_on_in_a_folder_with_an_index(tmp_path: Path):
    from assay.store import RunWriter

    layout = Layout(sums(tmp_path / "run", count=4))
    open_index(layout)

    with RunWriter(layout.folder) as writer:
        writer.journal.append(answered("more", "?", "x"))

    assert open_index(layout).ids[-1] == "more"
