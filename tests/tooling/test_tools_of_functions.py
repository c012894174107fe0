"""Functions as tools: the schema that the model sees, and the checks of its arguments."""

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from assay.core import UsageError
from assay.tooling.arguments import find_faults, smallest_arguments
from assay.tooling.functions import converted
from assay.tooling.schemas import tool_of


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
        "enum": ["red", "blue"], "type": "string", "description": "Of the line."
    }  # fmt: skip
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
    result = converted(value, hint)

    assert result == expected and type(result) is type(expected)
