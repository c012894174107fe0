"""The import hook: a dialect's names in a guest's files, and nowhere else.

Packages of the standard library stand in for the dialects' own modules, so that no dialect is needed here.
"""

import importlib
import sys

import pytest

from assay.core import UsageError
from assay.dialects.guest import Guest

FIRST = {"firstlib": "xml"}
SECOND = {"secondlib": "json"}


def written(folder, **files):
    for name, text in files.items():
        path = folder / f"{name.replace('__of__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_guest_and_its_neighbours_get_the_names_even_in_functions_called_later(tmp_path):
    written(
        tmp_path,
        guest="from firstlib.dom import minidom\nimport helper\n"
        "def later():\n    import firstlib.sax\n    return firstlib.sax\n",
        helper="import firstlib.dom as dom\n",
    )

    module = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py")

    import xml.dom
    import xml.sax

    assert module.minidom is importlib.import_module("xml.dom.minidom")
    assert module.helper.dom is xml.dom
    assert module.later() is xml.sax


def test_two_dialects_and_a_users_package_called_pipeline_live_in_one_process(tmp_path):
    one = written(
        tmp_path / "one",
        guest="import firstlib\nimport pipeline\nfrom pipeline.steps import STEPS\nWHO = pipeline.WHO\n",
        pipeline__of____init__="WHO = 'the user'\n",
        pipeline__of__steps="STEPS = 3\n",
    )
    two = written(tmp_path / "two", guest="import secondlib\nfrom pipeline import dumps\n")

    first = Guest("first", FIRST, one).load(one / "guest.py")
    second = Guest("second", {**SECOND, "pipeline": "json"}, two).load(two / "guest.py")

    assert (first.WHO, first.STEPS) == ("the user", 3)
    assert second.dumps is importlib.import_module("json").dumps
    assert not hasattr(first, "secondlib") and not hasattr(second, "firstlib")
    for name in ("pipeline", "firstlib", "secondlib"):
        assert name not in sys.modules
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_names_of_one_dialect_are_unknown_in_the_other_dialects_files(tmp_path):
    written(tmp_path, guest="import secondlib\n")

    with pytest.raises(UsageError, match=r"guest\.py:1: imports 'secondlib', which is not installed"):
        Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py")


def test_a_package_that_is_really_there_is_not_hidden_unless_asked(tmp_path):
    written(tmp_path, guest="import colorsys as found\n")
    names = {"colorsys": "json"}

    plain = Guest("first", names, tmp_path).load(tmp_path / "guest.py").found
    asked = Guest("first", names, tmp_path, force=True).load(tmp_path / "guest.py").found

    assert plain.__name__ == "colorsys"
    assert asked.__name__ == "json"


def test_a_file_beside_the_guest_wins_over_the_dialects_name(tmp_path):
    written(tmp_path, guest="from firstlib import MINE\n", firstlib="MINE = 1\n")

    assert Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").MINE == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from firstlib.dom.minidom import nothing", "the first dialect has no 'nothing' in 'firstlib.dom.minidom'"),
        ("from firstlib import nothing", "the first dialect has no 'nothing' in 'firstlib'"),
    ],
)
def test_an_unknown_name_is_said_with_the_dialect(tmp_path, line, message):
    written(tmp_path, guest=f"try:\n    {line}\nexcept ImportError as error:\n    SAID = str(error)\n")

    assert message == Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").SAID


def test_an_unknown_module_is_said_with_the_dialect(tmp_path):
    written(tmp_path, guest="try:\n    import firstlib.nowhere\nexcept ImportError as error:\n    SAID = str(error)\n")

    said = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").SAID

    assert said == "the first dialect has no module 'firstlib.nowhere'"


def test_relative_imports_find_the_files_beside_a_guest(tmp_path):
    start = "from .inner import VALUE\nfrom . import inner\n"
    written(tmp_path, pack__of____init__=start, pack__of__inner="VALUE = 7\n")

    module = Guest("first", FIRST, tmp_path).load(tmp_path / "pack" / "__init__.py")

    assert module.VALUE == 7
    assert module.inner.VALUE == 7


def test_a_guest_knows_its_own_name_by_the_last_part_of_its_module(tmp_path):
    written(tmp_path, guest="NAME = __name__.split('.')[-1]\n", pack__of____init__="NAME = __name__.split('.')[-1]\n")
    guest = Guest("first", FIRST, tmp_path)

    assert guest.load(tmp_path / "guest.py").NAME == "guest"
    assert guest.load(tmp_path / "pack" / "__init__.py").NAME == "pack"


def test_files_of_the_same_name_in_two_folders_are_two_modules(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, guest=f"WHO = {name!r}\n")

    modules = [Guest("first", FIRST, tmp_path / n).load(tmp_path / n / "guest.py") for n in ("one", "two")]

    assert [sys.modules[module.__name__].WHO for module in modules] == ["one", "two"]


def test_a_script_runs_as_main_and_leaves_main_as_it_was(tmp_path):
    is_main = "MAIN = sys.modules['__main__'].__dict__ is globals()\nNAME = __name__\n"
    written(tmp_path, script=f"import sys, firstlib\n{is_main}")
    before = sys.modules["__main__"]

    scope = Guest("first", FIRST, tmp_path).run_script(tmp_path / "script.py")

    assert scope["NAME"] == "__main__" and scope["MAIN"]
    assert sys.modules["__main__"] is before


def test_a_guest_that_fails_names_its_line_and_can_be_loaded_again(tmp_path):
    written(tmp_path, guest="x = 1\n1 / 0\n")
    guest = Guest("first", FIRST, tmp_path)

    with pytest.raises(UsageError, match=r"guest\.py:2: ZeroDivisionError"):
        guest.load(tmp_path / "guest.py")
    written(tmp_path, guest="x = 2\n")

    assert guest.load(tmp_path / "guest.py").x == 2


def test_a_guest_may_call_the_import_function_by_its_own_parameters(tmp_path):
    written(tmp_path, guest="MADE = __import__('firstlib.dom', globals=globals(), fromlist=['minidom'], level=0)\n")

    made = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").MADE

    assert made.__name__ == "xml.dom"


def test_names_made_at_run_time_are_served_by_importlib_in_a_guests_file_only(tmp_path):
    written(
        tmp_path,
        guest="import importlib\nfrom importlib import import_module\nimport importlib.util\n"
        "parsed = import_module('firstlib.dom')\nhelped = importlib.import_module('help' + 'er')\n"
        "plain = importlib.import_module('json.decoder')\nfound = importlib.util.find_spec('json')\n",
        helper="import firstlib\nWHO = 'a neighbour'\n",
    )

    module = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py")

    assert module.parsed is importlib.import_module("xml.dom")
    assert module.helped.WHO == "a neighbour"
    assert module.plain is importlib.import_module("json.decoder") and module.found is not None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("firstlib.dom")
