"""Faster construction of frozen dataclasses that are created for every sample.

A frozen dataclass sets its fields through `object.__setattr__`, which looks up each one by name. Classes decorated
with `quick` set their slots directly, in about half the time. Otherwise they are ordinary dataclasses.
"""

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """Give a dataclass with `frozen=True, slots=True` an `__init__` that sets its slots directly."""
    space: dict[str, Any] = {"LEFT_OUT": MISSING}
    parameters = ["self"]
    steps = []
    for field in fields(cls):  # type: ignore[arg-type]
        name = field.name
        if not field.init or field.kw_only:
            raise TypeError(
                f"{cls.__name__}.{name} is not a positional parameter: leave the class a plain dataclass"
            )
        space[f"set_{name}"] = getattr(cls, name).__set__
        if field.default_factory is not MISSING:
            space[f"new_{name}"] = field.default_factory
            parameters.append(f"{name}=LEFT_OUT")
            steps.append(
                f"set_{name}(self, new_{name}() if {name} is LEFT_OUT else {name})"
            )
            continue
        space[f"default_{name}"] = field.default
        parameters.append(
            name if field.default is MISSING else f"{name}=default_{name}"
        )
        steps.append(f"set_{name}(self, {name})")
    if hasattr(cls, "__post_init__"):
        steps.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(steps)
    exec(source, space)  # noqa: S102 - names of our own fields, as `dataclasses` does it
    initializer = space["__init__"]
    initializer.__qualname__ = f"{cls.__qualname__}.__init__"
    initializer.__module__ = cls.__module__
    initializer.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = initializer  # type: ignore[method-assign]
    return cls
