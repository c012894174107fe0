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


def test_a_guest_and_its_neighbours_get_the_names_even_in_functions_called_later(
    tmp_path,
):
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
    two = written(
        tmp_path / "two", guest="import secondlib\nfrom pipeline import dumps\n"
    )

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

    with pytest.raises(
        UsageError, match=r"guest\.py:1: imports 'secondlib', which is not installed"
    ):
        Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py")


def test_a_package_that_is_really_there_is_not_hidden_unless_asked(tmp_path):
    written(tmp_path, guest="import colorsys as found\n")
    names = {"colorsys": "json"}

    plain = Guest("first", names, tmp_path).load(tmp_path / "guest.py").found
    asked = (
        Guest("first", names, tmp_path, force=True).load(tmp_path / "guest.py").found
    )

    assert plain.__name__ == "colorsys"
    assert asked.__name__ == "json"


def test_a_file_beside_the_guest_wins_over_the_dialects_name(tmp_path):
    written(tmp_path, guest="from firstlib import MINE\n", firstlib="MINE = 1\n")

    assert Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").MINE == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "from firstlib.dom.minidom import nothing",
            "the first dialect has no 'nothing' in 'firstlib.dom.minidom'",
        ),
        (
            "from firstlib import nothing",
            "the first dialect has no 'nothing' in 'firstlib'",
        ),
    ],
)
def test_an_unknown_name_is_reported_with_the_dialect(tmp_path, line, message):
    written(
        tmp_path,
        guest=f"try:\n    {line}\nexcept ImportError as error:\n    SAID = str(error)\n",
    )

    said = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").SAID

    assert (
        said
        == f"{message}, and no 'firstlib' is installed or near the file (imported by guest.py)"
    )


def test_an_unknown_module_is_reported_with_the_dialect(tmp_path):
    written(
        tmp_path,
        guest="try:\n    import firstlib.nowhere\nexcept ImportError as error:\n    SAID = str(error)\n",
    )

    said = Guest("first", FIRST, tmp_path).load(tmp_path / "guest.py").SAID

    assert said.startswith(
        "the first dialect has no module 'firstlib.nowhere', and no 'firstlib' is installed"
    )


def test_relative_imports_find_the_files_beside_a_guest(tmp_path):
    start = "from .inner import VALUE\nfrom . import inner\n"
    written(tmp_path, pack__of____init__=start, pack__of__inner="VALUE = 7\n")

    module = Guest("first", FIRST, tmp_path).load(tmp_path / "pack" / "__init__.py")

    assert module.VALUE == 7
    assert module.inner.VALUE == 7


def test_a_guest_knows_its_own_name_by_the_last_part_of_its_module(tmp_path):
    written(
        tmp_path,
        guest="NAME = __name__.split('.')[-1]\n",
        pack__of____init__="NAME = __name__.split('.')[-1]\n",
    )
    guest = Guest("first", FIRST, tmp_path)

    assert guest.load(tmp_path / "guest.py").NAME == "guest"
    assert guest.load(tmp_path / "pack" / "__init__.py").NAME == "pack"


def test_files_of_the_same_name_in_two_folders_are_two_modules(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, guest=f"WHO = {name!r}\n")

    modules = [
        Guest("first", FIRST, tmp_path / n).load(tmp_path / n / "guest.py")
        for n in ("one", "two")
    ]

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
    written(
        tmp_path,
        guest="MADE = __import__('firstlib.dom', globals=globals(), fromlist=['minidom'], level=0)\n",
    )

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
    assert (
        module.plain is importlib.import_module("json.decoder")
        and module.found is not None
    )
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("firstlib.dom")


TREE = {"kit": "xml"}
"""`xml` has the packages `dom`, `etree`, `parsers` and `sax`: a folder `kit` with one of these is its checkout."""


def checkout(folder, **files):
    first = {
        "kit__of____init__": "raise RuntimeError('every model')\n",
        "kit__of__dom__of____init__": "",
    }
    return written(folder, **{**first, **files})


def test_a_file_has_the_name_that_its_place_in_the_tree_gives_it(tmp_path):
    checkout(
        tmp_path,
        kit__of__dom__of__mine="from .minidom import parseString\nfrom ..sax import handler\nfrom .near import N\n",
        kit__of__dom__of__near="N = __package__.split('.')[1:]\n",
    )
    file = tmp_path / "kit" / "dom" / "mine.py"

    module = Guest.of_file("first", TREE, file).load(file)

    assert module.__name__.endswith(".kit.dom.mine") and module.N == ["kit", "dom"]
    assert module.parseString is importlib.import_module("xml.dom.minidom").parseString
    assert module.handler is importlib.import_module("xml.sax.handler")


def test_names_that_ours_lack_come_from_the_checkout_whose_inits_are_not_run(tmp_path):
    checkout(
        tmp_path,
        kit__of__dom__of____init__="from .theirs import Theirs as Renamed\nfrom .many import *\n1 / 0\n",
        kit__of__dom__of__theirs="class Theirs: pass\n",
        kit__of__dom__of__many="MANY = 2\n",
        kit__of__dom__of__minidom="from .. import dom\nparseString = 'theirs'\nEXTRA = 'extra'\n",
        kit__of__dom__of__mine="from . import Renamed, MANY\nfrom .minidom import parseString, EXTRA\n"
        "import kit.dom.many\nfrom .minidom import *\nSAME = kit.dom.many.MANY\n",
    )
    file = tmp_path / "kit" / "dom" / "mine.py"

    module = Guest.of_file("first", TREE, file).load(file)

    assert module.Renamed.__name__ == "Theirs" and module.MANY == module.SAME == 2
    assert module.parseString is importlib.import_module("xml.dom.minidom").parseString
    assert module.EXTRA == "extra"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from .minidom import parseString", "kit.dom.alone"),
        ("from .handler import ContentHandler", "kit.sax.alone"),
        ("from ..sax import handler", "kit.dom.alone"),
        (
            "from ..sax.handler import ContentHandler\nfrom .ElementTree import XML",
            "kit.etree.alone",
        ),
        ("from ...sax.handler import ContentHandler", "kit.dom.deep.alone"),
        ("from .nothing_like_it import X", "alone"),
    ],
)
def test_a_lone_file_is_placed_where_its_imports_say(tmp_path, line, name):
    file = (
        written(
            tmp_path / "deep",
            alone=f"WHERE = __name__\ntry:\n    {line.replace(chr(10), chr(10) + '    ')}\n"
            "except ImportError: pass\n",
        )
        / "alone.py"
    )

    module = Guest.of_file("first", TREE, file).load(file)

    assert module.WHERE.partition(".")[2] == name


def test_a_lone_file_finds_its_own_neighbours_by_either_kind_of_import(tmp_path):
    file = (
        written(
            tmp_path,
            alone="from .minidom import parseString\nfrom .helper import H\nimport helper\nSAME = helper.H is H\n",
            helper="from .minidom import Node\nH = [Node]\n",
        )
        / "alone.py"
    )

    assert Guest.of_file("first", TREE, file).load(file).SAME


def test_a_neighbour_that_upstream_ships_does_not_shadow_ours(tmp_path):
    written(
        tmp_path,
        guest="from kit import dumps, load_all\n",
        kit="def dumps(): pass\ndef load_all(): return 3\n",
    )

    module = Guest("first", {"kit": "json"}, tmp_path).load(tmp_path / "guest.py")

    assert module.dumps is importlib.import_module("json").dumps
    assert module.load_all() == 3


def test_modules_on_the_path_that_import_the_guests_names_are_guests_too(
    tmp_path, monkeypatch
):
    library = written(
        tmp_path / "library",
        uses_kit="from kit.dom import minidom\n",
        pack__of____init__="from . import inner\n",
        pack__of__inner="from kit.sax import handler\nfrom . import more\n",
        pack__of__more="MORE = 1\n",
        plain_module="X = 1\n",
    )
    guest = written(
        tmp_path / "guest",
        guest="import uses_kit, pack.inner, plain_module\nfrom pack.inner import handler\n",
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(library)])

    module = Guest("first", TREE, guest).load(guest / "guest.py")

    assert module.uses_kit.minidom is importlib.import_module("xml.dom.minidom")
    assert (
        module.handler is module.pack.inner.handler and module.pack.inner.more.MORE == 1
    )
    assert sys.modules["plain_module"] is module.plain_module
    assert "pack" not in sys.modules and "uses_kit" not in sys.modules
    del sys.modules["plain_module"]


def test_relative_names_made_at_run_time_are_served_too(tmp_path):
    checkout(
        tmp_path,
        kit__of__dom__of__mine="import importlib\nA = importlib.import_module('.near', __package__).N\n"
        "B = importlib.import_module(__package__ + '.near').N\nC = importlib.import_module('kit.sax.handler')\n",
        kit__of__dom__of__near="N = 5\n",
    )
    file = tmp_path / "kit" / "dom" / "mine.py"

    module = Guest.of_file("first", TREE, file).load(file)

    assert module.A == module.B == 5
    assert module.C is importlib.import_module("xml.sax.handler")


def test_a_missing_module_is_reported_with_its_importer_and_the_searched_places(
    tmp_path,
):
    checkout(tmp_path, kit__of__dom__of__mine="from .absent import X\n")
    file = tmp_path / "kit" / "dom" / "mine.py"

    with pytest.raises(UsageError) as caught:
        Guest.of_file("first", TREE, file).load(file)

    said = f"the first dialect has no module 'kit.dom.absent', and neither has {tmp_path / 'kit'} (imported by mine.py)"
    assert said in str(caught.value) and "mine.py:1" in str(caught.value)


def test_classes_of_a_guest_can_be_pickled_and_are_dataclasses_by_annotation_text(
    tmp_path,
):
    import pickle

    source = "import dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int\n"
    checkout(
        tmp_path, kit__of__dom__of__mine=f"from __future__ import annotations\n{source}"
    )
    file = tmp_path / "kit" / "dom" / "mine.py"

    module = Guest.of_file("first", TREE, file).load(file)

    assert pickle.loads(pickle.dumps(module.Point(3))) == module.Point(3)


@pytest.mark.parametrize(
    ("base", "method"),
    [("BaseModel", "generate_inner")],
)
def test_a_lone_file_belongs_to_the_package_that_has_the_names_it_imports(
    tmp_path, monkeypatch, base, method
):
    """Several packages of VLMEvalKit have a module `base`; only one has the class."""
    from assay import run

    result = "return '4'"
    (tmp_path / "mine.py").write_text(
        f"from .base import {base}\n\n"
        f"class Mine({base}):\n"
        f"    def {method}(self, message, dataset=None, **options):\n"
        f"        {result}\n"
    )
    (tmp_path / "sums.jsonl").write_text('{"question": "2+2?", "answer": "4"}\n')
    monkeypatch.chdir(tmp_path)

    found = run("sums.jsonl", model="mine.py:Mine", output="out")

    assert found.results[0].value == 1.0
