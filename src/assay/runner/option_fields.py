"""How one option of a run is declared: its default, and how people type it. Flags, help, config keys, environment
variables and the page of options are all made from this."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

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
GROUPS = ("what", "data", "prompt", "generation", "work", "output", "guests", "trust")
"""The parts of the help, in their order."""
TYPED_ONLY = ("fresh",)
"""Options beside those of trust that nothing but a typed command may set: what they do cannot be undone."""
PREFIX = "ASSAY_RUN_"


@dataclass(frozen=True, slots=True)
class Flag:
    """How an option is typed."""

    group: str
    help: str
    flags: tuple[str, ...]
    """All spellings, the usual one first among those that begin with `--`."""
    reads: Reads = "text"
    """`names` may stand between commas, `list` is given once for each."""
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    alone: Any = None
    """What the flag means without a value; `None` where it needs one."""
    is_spread: bool = False
    """Whether it only says how the work is done: it does not tell two runs apart."""

    @property
    def name(self) -> str:
        """The usual flag."""
        return next(flag for flag in self.flags if flag.startswith("--"))

    @property
    def keys(self) -> tuple[str, ...]:
        """Names under which a config file may have it."""
        return tuple(flag[2:] for flag in self.flags if flag.startswith("--"))


def option(
    default: Any, group: str, help: str, *flags: str, factory: Any = None, **more: Any
) -> Any:
    """A field of `RunOptions`; without a long flag among `flags` it is `--` and the field's own name."""
    declared = {"group": group, "help": help, "flags": flags, **more}
    if factory is not None:
        return field(default_factory=factory, metadata=declared)
    return field(default=default, metadata=declared)


def flags_of(options: type) -> dict[str, Flag]:
    """By field: how it is typed."""
    found = {}
    for one in fields(options):
        declared = dict(one.metadata)
        flags = declared.pop("flags")
        if not any(flag.startswith("--") for flag in flags):
            short = [flag for flag in flags if not flag.startswith("--")]
            flags = (*short, f"--{one.name}")
        found[one.name] = Flag(flags=tuple(flags), **declared)
    return found


def can_come_from_the_environment(name: str, flag: Flag) -> bool:
    """Whether an environment variable may set it: consent has to be typed."""
    return flag.group != "trust" and name not in TYPED_ONLY
