"""The declaration of one run option: its default, and how users write it.

Flags, help, config keys, environment variables and the page of options are all generated from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..core import AssayError, PlanError, UsageError, shorten

Reads = Literal[
    "text",
    "integer",
    "number",
    "seed",
    "batch_size",
    "switch",
    "truth",
    "list",
    "names",
    "pairs",
]
GROUPS = ("what", "data", "prompt", "generation", "work", "output", "toolkits", "trust")
"""The groups of options in the help text, in order."""
TYPED_ONLY = ("fresh",)
"""Options that only the command line may set, because their effect cannot be undone. Trust options are separate."""
PREFIX = "ASSAY_RUN_"


@dataclass(frozen=True, slots=True)
class Flag:
    """Describes how users write one run option: its flags, the type of its value, and its help."""

    group: str
    help: str
    flags: tuple[str, ...]
    """All forms of the flag. The first one that begins with `--` is shown to users."""
    reads: Reads = "text"
    """How a value is written. Several `names` are separated by commas; the flag of a
    `list` is repeated for each value.
    """
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    alone: Any = None
    """Value of the option if the flag is given without one; None if the flag needs a value."""
    is_spread: bool = False
    """True if the option only affects how the work is distributed, so that it does not
    change the folder of the run.
    """

    @property
    def name(self) -> str:
        """The usual flag of the option, such as `--limit`."""
        return next(flag for flag in self.flags if flag.startswith("--"))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which a config file may set the option: its long flags without `--`."""
        return tuple(flag[2:] for flag in self.flags if flag.startswith("--"))


def option(
    default: object,
    group: str,
    help: str,
    *flags: str,
    factory: Callable[[], object] | None = None,
    **more: object,
) -> Any:
    """Declare a field of `RunOptions`. By default, its flag is `--` and the field's name."""
    declared = {"group": group, "help": help, "flags": flags, **more}
    if factory is not None:
        return field(default_factory=factory, metadata=declared)
    return field(default=default, metadata=declared)


def flags_of(options: type) -> dict[str, Flag]:
    """Return the `Flag` of each run option, by the name of its field."""
    flags_by_field = {}
    for option_field in fields(options):
        declared = dict(option_field.metadata)
        flags = declared.pop("flags")
        if not any(flag.startswith("--") for flag in flags):
            short = [flag for flag in flags if not flag.startswith("--")]
            flags = (*short, f"--{option_field.name}")
        flags_by_field[option_field.name] = Flag(
            flags=tuple(flags),
            **declared,
        )
    return flags_by_field


def can_come_from_the_environment(name: str, flag: Flag) -> bool:
    """Return True if an environment variable may set the option.

    Options that give consent must be on the command line.
    """
    return flag.group != "trust" and name not in TYPED_ONLY


def faults_of_judges(judges: object, where: str) -> list[AssayError]:
    """Return an error for each judge in a settings file that is not given by name."""
    if not isinstance(judges, Mapping):
        return []
    faults: list[AssayError] = []
    for role, name in judges.items():
        if isinstance(name, str):
            continue
        message = f"key 'judges', role {role!r} holds {shorten(name)}"
        fix = "name the judge: openai/NAME, or file.py:function for a function of yours"
        faults.append(UsageError(message, where=where, fix=fix))
    return faults


class PartlyRead(PlanError):
    """The errors in a settings file, with the settings that could be read, so that these are checked as well."""

    def __init__(
        self,
        faults: Sequence[AssayError],
        rest: object,
    ) -> None:
        super().__init__(faults)
        self.made: Any = rest
