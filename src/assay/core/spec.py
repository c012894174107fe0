"""Specs: a component as plain data, so that a saved run can rebuild itself.

A spec is a name with options: `{"name": "choice", "layout": "lines"}`. The name is registered, or `file.py:attribute`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import UsageError, shorten
from .sample import EMPTY

_PROMPT_FILES = (".jinja", ".jinja2", ".j2", ".txt", ".md")


@dataclass(frozen=True, slots=True)
class Spec:
    """A registered name, or a place in a file, with the options it is built from."""

    name: str
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @classmethod
    def of(cls, value: Any, *, where: str | None = None) -> "Spec":
        """A spec from a name, a dictionary with `name`, or a dictionary of one name to its options."""
        if isinstance(value, Spec):
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Mapping):
            if "name" in value:
                return cls(
                    str(value["name"]), {k: v for k, v in value.items() if k != "name"}
                )
            if len(value) == 1:
                ((name, options),) = value.items()
                if options is None or isinstance(options, Mapping):
                    return cls(str(name), dict(options or {}))
        raise UsageError(
            f"expected a name or a name with options, got {shorten(value)}", where=where
        )

    def to_plain(self) -> Any:
        """The shortest JSON that `of` reads back."""
        return {"name": self.name, **self.options} if self.options else self.name

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return (
            f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"
        )


def is_prompt_file(prompt: str) -> bool:
    """Whether an option that takes a prompt names a file with one, rather than being one."""
    return "\n" not in prompt and "{{" not in prompt and prompt.endswith(_PROMPT_FILES)
