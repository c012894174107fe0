"""The one place where `import` is replaced: several may answer for names, in any order, and leave no trace."""

import builtins
import json
from types import ModuleType

import pytest

from assay.code.imports import add_way, drop_way


def answering(name: str, version: int):
    """A way that answers for one name."""
    made = ModuleType(name)
    made.version = version
    return lambda asked, scope, wanted: made if asked == name else None


@pytest.fixture
def way():
    given = []

    def add(name: str, version: int = 1):
        given.append(answering(name, version))
        add_way(given[-1])
        return given[-1]

    yield add
    for one in given:
        drop_way(one)


def test_two_ways_answer_for_their_names_and_python_for_the_rest(way):
    way("first_of_two")
    way("second_of_two", 2)

    import first_of_two
    import second_of_two

    assert (first_of_two.version, second_of_two.version) == (1, 2)
    assert __import__("json") is json


@pytest.mark.parametrize("first_to_go", [0, 1])
def test_whoever_leaves_first_takes_nothing_from_the_other(way, first_to_go):
    before = builtins.__import__
    ways = [way("stays_or_goes"), way("goes_or_stays")]
    names = ["stays_or_goes", "goes_or_stays"]

    drop_way(ways[first_to_go])

    assert __import__(names[1 - first_to_go], globals()).version == 1
    with pytest.raises(ModuleNotFoundError):
        __import__(names[first_to_go], globals())
    drop_way(ways[1 - first_to_go])
    assert builtins.__import__ is before


def test_the_latest_way_is_asked_first_and_a_way_is_there_only_once(way):
    one = way("of_both", 1)
    way("of_both", 2)
    add_way(one)

    assert __import__("of_both", globals()).version == 2
    drop_way(one)
    assert __import__("of_both", globals()).version == 2


def test_a_way_by_name_answers_for_importlib_until_it_leaves(way):
    import importlib

    before = importlib.import_module
    one = way("made_at_run_time")
    way("only_statements")
    add_way(one, by_name=True)

    assert importlib.import_module("made_at_run_time").version == 1
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("only_statements")
    drop_way(one)
    assert importlib.import_module is before
