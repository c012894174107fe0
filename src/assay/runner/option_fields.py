"""How one run option is declared: its default, its flags and its help text.

The command line, config keys, environment variables and the page of options are all
generated from this.
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
"""Options that must be typed on the command line, because their effect cannot be undone.

The options of the group `trust` must be typed as well, but are not listed here.
"""
PREFIX = "ASSAY_RUN_"


@dataclass(frozen=True, slots=True)
class Flag:
    """Describes how users write one run option: its flags, the type of its value, and its help."""

    group: str
    help: str
    flags: tuple[str, ...]
    """All spellings of the flag. The first that begins with `--` is the one in help texts."""
    reads: Reads = "text"
    """How users write the value. `names` are separated by commas; a `list` repeats the flag for each value."""
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    alone: Any = None
    """Value of the option if the flag is given without one; None if the flag needs a value."""
    is_spread: bool = False
    """True if the option only affects where the work is done.

    Such options do not change the name of the run folder.
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

    Options that give consent, such as `--trust_code`, must be on the command line.
    """
    return flag.group != "trust" and name not in TYPED_ONLY


def faults_of_judges(judges: object, where: str) -> list[AssayError]:
    """Return an error for each judge in a settings file that is not a name, such as `openai/gpt-x`."""
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
    """Raised for errors in a settings file.

    It also holds the settings that could be read, so that they can be checked.
    """

    def __init__(
        self,
        faults: Sequence[AssayError],
        rest: object,
    ) -> None:
        super().__init__(faults)
        self.made: Any = rest
