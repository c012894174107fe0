"""Functions as tools: the schema that the model sees, and the checks of its arguments."""

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest

from assay.core import UsageError
from assay.core.tools import ToolCall
from assay.tooling.functions import convert_value
from assay.tooling.schemas import find_faults, smallest_arguments, tool_of
from assay.tooling.tool_results import as_result


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


def draw(
    points: list[Point],
    colour: Colour,
    width: float = 1.5,
    label: str | None = None,
    mode: Literal["fill", "line"] = "line",
    scale: Annotated[int, "in percent"] = 100,
    state: Any = None,
) -> str:
    """Draw a shape.

    The points are joined in order.

    Args:
        points: Where its corners are,
            in the order of the line.
        colour (Colour): Of the line.

    Returns:
        The name of the shape.
    """
    return "shape"


def test_signature_types_and_docstring_become_a_schema():
    tool = tool_of(draw)

    assert tool.name == "draw"
    assert tool.description == "Draw a shape.\n\nThe points are joined in order."
    properties = tool.parameters["properties"]
    assert list(properties) == ["points", "colour", "width", "label", "mode", "scale"]
    assert tool.parameters["required"] == ["points", "colour"]
    assert properties["points"]["items"]["required"] == ["x"]
    assert properties["points"]["description"] == (
        "Where its corners are, in the order of the line."
    )
    assert properties["colour"] == {
        "enum": ["red", "blue"],
        "type": "string",
        "description": "Of the line.",
    }
    assert properties["width"] == {"type": "number", "default": 1.5}
    assert properties["label"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert properties["scale"]["description"] == "in percent"


def test_sphinx_docstrings_are_read_too():
    def add(x: int) -> int:
        """Add one.

        :param x: The number.
        :returns: The sum.
        """
        return x + 1

    tool = tool_of(add)

    assert tool.description == "Add one."
    assert tool.parameters["properties"]["x"]["description"] == "The number."


def test_a_type_without_a_schema_is_refused():
    def bad(x: complex) -> int:
        """Do it."""
        return 0

    with pytest.raises(UsageError, match="a type without a JSON schema: complex"):
        tool_of(bad)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"points": [], "colour": "red"}, None),
        ({"points": [{"x": 1.0}], "colour": "red", "label": None}, None),
        ({"colour": "red"}, "`points` is missing"),
        ({"points": [{"y": 1}], "colour": "red"}, "`points[0].x` is missing"),
        ({"points": [], "colour": "green"}, "`colour` must be one of 'red', 'blue'"),
        ({"points": "no", "colour": "red"}, "`points` must be an array"),
        ({"points": [], "colour": "red", "width": True}, "`width` must be a number"),
        ({"points": [], "colour": "red", "size": 1}, "there is no parameter `size`"),
        ({"points": [], "colour": "red", "label": 3}, "`label` must be a string or a null"),
    ],
)  # fmt: skip
def test_arguments_are_checked_against_the_schema(arguments: Any, fault: str | None):
    faults = find_faults(arguments, tool_of(draw).parameters)

    if fault is None:
        assert faults == []
    else:
        assert any(fault in text for text in faults), faults


def test_the_smallest_arguments_fit_the_schema():
    schema = tool_of(draw).parameters

    smallest = smallest_arguments(schema)

    assert smallest == {"points": [], "colour": "red"}
    assert find_faults(smallest, schema) == []


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (2.0, int, 2),
        (2, float, 2.0),
        ("blue", Colour, Colour.BLUE),
        ([{"x": 1}], list[Point], [Point(1)]),
        ([1, 2], tuple[int, ...], (1, 2)),
        (None, str | None, None),
        ("red", Colour | None, Colour.RED),
    ],
)
def test_values_become_the_types_that_a_function_names(
    value: Any, hint: Any, expected: Any
):
    result = convert_value(value, hint)

    assert result == expected and type(result) is type(expected)


class Size(TypedDict):
    width: int
    height: NotRequired[int]


class Name(NamedTuple):
    first: str
    last: str = "?"


@dataclass
class Chain:
    value: int
    following: "Chain | None" = None


def test_classes_with_fields_are_objects_with_these_fields():
    def place(size: Size, name: Name):
        """Place a thing."""

    properties = tool_of(place).parameters["properties"]

    assert properties["size"]["required"] == ["width"]
    assert list(properties["size"]["properties"]) == ["width", "height"]
    assert properties["name"]["required"] == ["first"]
    assert convert_value({"first": "Ada"}, Name) == Name("Ada")


def test_members_of_dictionaries_and_tuples_become_the_types_of_the_function():
    assert convert_value({"a": {"x": 1}}, dict[str, Point]) == {"a": Point(1)}
    assert convert_value(["red", {"x": 1}], tuple[Colour, Point]) == (
        Colour.RED,
        Point(1),
    )
    assert convert_value([1, 2], tuple[float, ...]) == (1.0, 2.0)


def test_a_tuple_has_as_many_members_as_its_type():
    def mix(pair: tuple[int, str]):
        """Mix."""

    schema = tool_of(mix).parameters

    assert find_faults({"pair": [1, "a"]}, schema) == []
    assert find_faults({"pair": [1, "a", 2]}, schema) == [
        "`pair` must have at most 2 members, got 3"
    ]
    assert find_faults(smallest_arguments(schema), schema) == []


def test_a_class_inside_itself_is_refused_in_one_line():
    def walk(chain: Chain):
        """Walk."""

    with pytest.raises(UsageError, match="Chain has members of its own type"):
        tool_of(walk)


def test_results_are_the_same_words_in_each_process():
    call = ToolCall("c", "f", {})

    assert as_result(call, object()).text == '"<object object>"'
    assert as_result(call, {"b", "a"}).text == '["a", "b"]'
    assert as_result(call, Point(1)).text == '{"x": 1, "y": 0}'
