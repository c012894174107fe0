"""Dataset classes in the order they were defined: the newest that knows a name is the one that is meant."""

from typing import Any

CLASSES: list[Any] = []


class Defined:
    """Notes every class that derives from a base class of ours."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        CLASSES.append(cls)
