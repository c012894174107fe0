"""Files people bring: loaded once, with their neighbours, and nothing left when they fail."""

import builtins
import sys

import pytest

from assay.code.sources import behind
from assay.code.userfiles import (
    is_reference,
    load_attribute,
    load_component,
    load_file,
    one_spelling,
    split_reference,
)
from assay.core import UnknownName, UsageError


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.py", ("a.py", None)),
        ("a.py:fn", ("a.py", "fn")),
        ("d/a.py:fn", ("d/a.py", "fn")),
        ("wer", ("wer", None)),
    ],
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


def test_a_file_is_loaded_again_with_its_neighbours_when_one_of_them_changed(
    tmp_path, monkeypatch
):
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
        (
            "import no_such_thing_here",
            "imports 'no_such_thing_here', which is not installed",
        ),
        ("x = 1\ny = x / 0", r"mine\.py:2: ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_is_one_line_with_its_place_and_leaves_nothing(
    tmp_path, source, message
):
    (tmp_path / "mine.py").write_text(source)
    before = set(sys.modules)

    with pytest.raises(UsageError, match=message):
        load_file(tmp_path / "mine.py")

    assert not [
        name for name in set(sys.modules) - before if name.startswith("assay_user")
    ]


def test_a_missing_file_a_file_that_is_not_python_and_a_missing_name_are_reported(
    tmp_path,
):
    (tmp_path / "mine.py").write_text("def generate(): ...")
    (tmp_path / "notes.txt").write_text("")

    with pytest.raises(UsageError, match="no such file"):
        load_file(tmp_path / "gone.py")
    with pytest.raises(UsageError, match=r"notes\.txt: not a Python file"):
        load_file(tmp_path / "notes.txt")
    with pytest.raises(UnknownName, match="did you mean 'generate'"):
        load_attribute(f"{tmp_path / 'mine.py'}:generat")


@pytest.fixture
def two_folders(tmp_path, monkeypatch):
    """Two folders whose `mine.py`, `twin_helper.py`, `twin_common.py` and package `twin_parts` have the same names."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for folder in ("a", "b"):
        files = {
            "twin_common.py": f"WHO = '{folder}'\nruns = []\n",
            "twin_helper.py": "from twin_common import WHO\n"
            "def late():\n    from twin_other import WHO\n    return WHO\n",
            "twin_other.py": f"WHO = '{folder}'\n",
            "twin_parts/__init__.py": "",
            "twin_parts/deep.py": f"WHO = '{folder}'\n",
            "mine.py": "from twin_helper import WHO\nfrom twin_parts.deep import WHO as DEEP\n"
            "def late():\n    import twin_common\n    return twin_common\n"
            "def later():\n    import twin_parts.other\n    return twin_parts.other.WHO\n",
            "twin_parts/other.py": f"WHO = '{folder}'\n",
        }
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    yield tmp_path
    for names in (sys.modules, vars(builtins)):
        for name in [name for name in names if name.startswith("twin_")]:
            del names[name]


def test_files_of_two_folders_each_get_the_neighbour_beside_them(two_folders):
    first, second = (
        load_file(two_folders / "a" / "mine.py"),
        load_file(two_folders / "b" / "mine.py"),
    )

    assert [first.WHO, second.WHO, first.DEEP, second.DEEP] == ["a", "b", "a", "b"]
    assert [first.late().WHO, second.late().WHO, first.late().WHO] == ["a", "b", "a"]
    assert [first.later(), second.later()] == ["a", "b"]


def test_neighbours_that_import_late_get_the_one_beside_them_too(two_folders):
    (two_folders / "a" / "asks.py").write_text("from twin_helper import late\n")
    (two_folders / "b" / "asks.py").write_text("from twin_helper import late\n")
    first, second = (
        load_file(two_folders / "a" / "asks.py"),
        load_file(two_folders / "b" / "asks.py"),
    )

    assert [first.late(), second.late(), first.late()] == ["a", "b", "a"]


@pytest.mark.parametrize("folder", ["a", "b"])
def test_a_file_sees_what_it_or_another_adds_to_the_builtins(two_folders, folder):
    load_file(two_folders / "a" / "mine.py"), load_file(two_folders / "b" / "mine.py")
    (two_folders / folder / "adds.py").write_text(
        "import builtins\nbuiltins.twin_shout = str.upper\ndef say(text):\n    return twin_shout(text)\n"
    )

    assert load_file(two_folders / folder / "adds.py").say("x") == "X"


def test_a_later_addition_to_the_builtins_is_seen_in_both_folders(two_folders):
    for folder in ("a", "b"):
        (two_folders / folder / "asks.py").write_text(
            "import twin_common\ndef say():\n    return twin_added\n"
        )
    modules = [load_file(two_folders / folder / "asks.py") for folder in ("a", "b")]

    builtins.twin_added = "here"

    assert [module.say() for module in modules] == ["here", "here"]


def test_code_in_c_finds_its_builtins_in_a_second_folder(two_folders):
    for folder in ("a", "b"):
        (two_folders / folder / "reads.py").write_text(
            "import numpy, twin_common\nBYTES = len(numpy.fromfile(__file__, 'u1'))\n"
        )

    modules = [load_file(two_folders / folder / "reads.py") for folder in ("a", "b")]

    assert modules[0].BYTES == modules[1].BYTES > 0


def test_two_folders_of_the_same_names_leave_pythons_import_alone(two_folders):
    before = builtins.__import__

    modules = [load_file(two_folders / folder / "mine.py") for folder in ("a", "b")]

    assert [module.late().WHO for module in modules] == ["a", "b"]
    assert builtins.__import__ is before


def test_a_neighbour_that_made_way_comes_back_as_it_was(two_folders):
    first, second = (
        load_file(two_folders / "a" / "mine.py"),
        load_file(two_folders / "b" / "mine.py"),
    )
    first.late().runs.append(1)
    second.late().runs.append(2)

    assert (first.late().runs, second.late().runs) == ([1], [2])


def test_a_neighbour_behind_a_file_is_the_one_beside_it(two_folders):
    load_file(two_folders / "a" / "mine.py")

    files, _ = behind(two_folders / "b" / "mine.py")

    assert {path.relative_to(two_folders).parts[0] for path in files} == {"b"}
    assert two_folders / "b" / "twin_common.py" in files


def test_a_changed_neighbour_is_read_anew_also_when_it_had_made_way(two_folders):
    load_file(two_folders / "a" / "mine.py"), load_file(two_folders / "b" / "mine.py")
    (two_folders / "a" / "twin_common.py").write_text("WHO = 'changed'\n")

    first, second = (
        load_file(two_folders / "a" / "mine.py"),
        load_file(two_folders / "b" / "mine.py"),
    )

    assert (first.WHO, first.late().WHO, second.late().WHO) == (
        "changed",
        "changed",
        "b",
    )


def test_installed_packages_take_precedence_over_neighbouring_files(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "numpy.py").write_text("asarray = None\n")
        (tmp_path / folder / "mine.py").write_text("from numpy import asarray\n")

    modules = [load_file(tmp_path / folder / "mine.py") for folder in ("a", "b")]

    assert all(module.asarray is not None for module in modules)


def test_a_file_alone_stands_for_the_thing_of_the_usual_name_or_its_only_one(tmp_path):
    usual, only = tmp_path / "usual.py", tmp_path / "only.py"
    usual.write_text(
        "def helper():\n    pass\ndef score(sample, output):\n    return 1.0\n"
    )
    only.write_text(
        "from math import sqrt\ndef _aside():\n    pass\ndef mine(sample, output):\n    return 1.0\n"
    )

    assert load_component(str(usual), "score")[0] == "score"
    assert load_component(str(only), "score")[0] == "mine"
    assert load_component(f"{usual}:helper", "score")[0] == "helper"


def test_a_file_of_several_things_must_say_which_is_meant(tmp_path):
    file = tmp_path / "several.py"
    file.write_text("def one():\n    pass\ndef two():\n    pass\n")

    with pytest.raises(
        UsageError,
        match=r"which function is meant: it defines one, two; fix: write .*:one",
    ):
        load_component(str(file), "score")


def test_a_reference_has_one_spelling_from_where_one_stands(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text("")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)

    typed = ("m.py:f", "./m.py:f", "below/../m.py:f", f"{tmp_path}/m.py:f")
    assert {one_spelling(name) for name in typed} == {"m.py:f"}
    assert one_spelling("./m.py") == "m.py"
    monkeypatch.chdir(tmp_path / "below")
    assert {one_spelling(name) for name in ("../m.py:f", "../below/../m.py:f")} == {
        "../m.py:f"
    }
    assert one_spelling(f"{tmp_path}/below/../m.py:f") == f"{tmp_path}/m.py:f"


@pytest.mark.parametrize(
    "name", ["smollm2", "openai/gpt-x", "./absent.py:f", "worker/detector.py:Detector"]
)
def test_what_names_no_file_keeps_its_spelling(name):
    assert one_spelling(name) == name
