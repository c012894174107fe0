"""Variants: several named templates for the same questions, one of which is used.

As data: `{name: variants, use: cot, variants: {direct: "{{ question }}", cot: {name: cot}}}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core import UnknownName, UsageError
from ..registry import templates


@templates.register("variants")
@dataclass(frozen=True)
class Variants:
    """Named templates of one benchmark. The first is used unless the user names another."""

    variants: Mapping[str, Any]
    use: str = ""

    def __post_init__(self) -> None:
        if not self.variants:
            raise UsageError(
                "a template with variants needs at least one",
                fix="write variants: {name: template}",
            )
        if self.use:
            self.select(self.use)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order they were given."""
        return tuple(self.variants)

    def select(self, name: str = "") -> object:
        """Return the template with this name; without a name, the one in use."""
        selected = name or self.use or self.names[0]
        if selected not in self.variants:
            hint = f"the variants are {', '.join(self.names)}"
            raise UnknownName("variant", selected, self.names, hint=hint)
        return self.variants[selected]
