"""The one place where `import` is replaced: several dialects may be enabled, in any order, and leave no trace."""

import builtins
import importlib
import json

import pytest

from assay.dialects import disable, enable

TYPED = {"__name__": "__main__"}
"""The globals of a cell."""


@pytest.fixture
def python_import():
    before = builtins.__import__, importlib.import_module
    yield before
    for dialect in ("vlmeval", "ulmeval"):
        disable(dialect)
    assert (builtins.__import__, importlib.import_module) == before


def test_two_dialects_answer_for_their_names_and_python_for_the_rest(python_import):
    enable("vlmeval")
    enable("ulmeval")

    found = [
        __import__(name, TYPED, None, ("smp",)).__name__
        for name in ("vlmeval", "ulmeval")
    ]

    assert found == ["vlmeval", "ulmeval"]
    assert __import__("json", TYPED) is json


@pytest.mark.parametrize(
    ("leaves", "stays"), [("vlmeval", "ulmeval"), ("ulmeval", "vlmeval")]
)
def test_whichever_leaves_first_takes_nothing_from_the_other(
    python_import, leaves, stays
):
    enable("vlmeval")
    enable("ulmeval")

    disable(leaves)

    assert __import__(stays, TYPED) is not None
    with pytest.raises(ModuleNotFoundError):
        __import__(leaves, TYPED)
    disable(stays)
    assert builtins.__import__ is python_import[0]


def test_enabling_twice_is_enabling_once(python_import):
    enable("vlmeval")
    enable("vlmeval")
    disable("vlmeval")

    assert builtins.__import__ is python_import[0]
    with pytest.raises(ModuleNotFoundError):
        __import__("vlmeval", TYPED)


def test_a_name_made_at_run_time_is_a_name_until_the_dialect_is_disabled(python_import):
    enable("vlmeval")
    by_name = eval(
        "importlib.import_module('vlm' + 'eval.smp')", {**TYPED, "importlib": importlib}
    )
    disable("vlmeval")

    assert hasattr(by_name, "load")
    assert importlib.import_module is python_import[1]
