"""Files people bring: loaded once, with their neighbours, and nothing left when they fail."""

import sys

import pytest

from assay.core import UnknownName, UsageError
from assay.userfiles import is_reference, load_attribute, load_file, split_reference


@pytest.mark.parametrize(
    ("name", "parts"),
    [("a.py", ("a.py", None)), ("a.py:fn", ("a.py", "fn")), ("d/a.py:fn", ("d/a.py", "fn")), ("wer", ("wer", None))],
)
def test_a_reference_is_a_path_and_a_name(name, parts):
    assert split_reference(name) == parts
    assert is_reference(name) == (".py" in name)


def test_a_file_is_loaded_once_and_again_when_it_changed(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("value = [1]")

    first, second = load_file(file), load_file(str(file))
    file.write_text("value = [2]")

    assert first is second
    assert load_file(file).value == [2]


def test_a_file_may_import_its_neighbours(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_of_mine.py").write_text("answer = 42")
    (tmp_path / "mine.py").write_text("from neighbour_of_mine import answer")

    assert load_attribute(f"{tmp_path / 'mine.py'}:answer") == 42


def test_a_file_is_loaded_again_with_its_neighbours_when_one_of_them_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "far_neighbour.py").write_text("answer = 4")
    (tmp_path / "near_neighbour.py").write_text("from far_neighbour import answer")
    (tmp_path / "mine.py").write_text("from near_neighbour import answer")
    before = load_attribute(f"{tmp_path / 'mine.py'}:answer")
    (tmp_path / "far_neighbour.py").write_text("answer = 42")

    assert (before, load_attribute(f"{tmp_path / 'mine.py'}:answer")) == (4, 42)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = (", r"mine\.py:1: not valid Python"),
        ("import no_such_thing_here", "imports 'no_such_thing_here', which is not installed"),
        ("x = 1\ny = x / 0", r"mine\.py:2: ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_is_one_line_with_its_place_and_leaves_nothing(tmp_path, source, message):
    (tmp_path / "mine.py").write_text(source)
    before = set(sys.modules)

    with pytest.raises(UsageError, match=message):
        load_file(tmp_path / "mine.py")

    assert not [name for name in set(sys.modules) - before if name.startswith("assay_user")]


def test_a_missing_file_and_a_missing_name_are_said(tmp_path):
    (tmp_path / "mine.py").write_text("def generate(): ...")

    with pytest.raises(UsageError, match="no such file"):
        load_file(tmp_path / "gone.py")
    with pytest.raises(UnknownName, match="did you mean 'generate'"):
        load_attribute(f"{tmp_path / 'mine.py'}:generat")
