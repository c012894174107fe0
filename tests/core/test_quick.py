"""Values that are made for every sample are dataclasses like any other, only quicker to make."""

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from inspect import signature

import pytest

from assay.core import Candidate, Message, Output, Prompt, Request, Sample, Score, Text
from assay.core.quick import quick

QUICK = [Candidate, Message, Output, Prompt, Request, Sample, Score, Text]


@quick
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    names: list[str] = field(default_factory=list)
    y: int = 2

    def __post_init__(self) -> None:
        if self.y < 0:
            raise ValueError("below")


def test_a_quick_class_is_made_as_its_dataclass_would_be():
    point = Point(1)

    assert (point.x, point.names, point.y) == (1, [], 2)
    assert Point(1).names is not point.names
    assert replace(point, y=5) == Point(1, [], 5) == Point(x=1, y=5, names=[])
    with pytest.raises(ValueError, match="below"):
        Point(1, y=-1)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(FrozenInstanceError):
        point.x = 2


def test_the_parameters_of_quick_classes_are_their_fields():
    assert {cls: list(signature(cls).parameters) for cls in QUICK} == {
        cls: [field.name for field in fields(cls)] for cls in QUICK
    }


def test_a_field_that_is_not_a_parameter_is_refused():
    with pytest.raises(TypeError, match="leave the class a plain dataclass"):

        @quick
        @dataclass(frozen=True, slots=True)
        class Odd:
            x: int = field(default=1, init=False)
