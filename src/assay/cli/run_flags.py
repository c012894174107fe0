"""The options of a run as flags and as environment variables, made from the one list in `runner.options`."""

import argparse
import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..core.errors import AssayError, UsageError, nearest, raise_all
from ..core.request import GenerateOptions
from ..runner.option_fields import GROUPS, PREFIX, Flag, can_come_from_the_environment
from ..runner.options import FLAGS
from . import habit_values
from .arguments import Parser, flatten_list, judge_entry, key_values


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
    return text.lower() == "true"


READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "number": float,
    "seed": habit_values.seed,
    "batch_size": habit_values.batch_size,
    "switch": _truth,
    "truth": _truth,
}
"""How one typed value is read; lists and pairs are read whole."""
METAVARS: dict[Any, str] = {int: "N", float: "X"}


def _generation_readers() -> dict[str, Callable[[str], Any]]:
    """By generation option: how its value is read, from the type of its field."""
    hints = typing.get_type_hints(GenerateOptions)
    found: dict[str, Callable[[str], Any]] = {}
    for one in dataclasses.fields(GenerateOptions):
        if one.name in FLAGS:
            continue  # the seed is an option of the run, too
        hint = hints[one.name]
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        found[one.name] = next((kind for kind in (int, float) if kind in kinds), str)
    return found


GENERATION = _generation_readers()


def add_flags(parser: Parser) -> dict[str, Any]:
    """Adds a flag for every option of a run, group by group; returns the groups."""
    groups = {name: parser.add_argument_group(name) for name in GROUPS}
    groups["what"].add_argument("tasks", nargs="*", help=FLAGS["tasks"].help)
    for name in GENERATION:
        _add(groups["generation"], name)
    for name, flag in FLAGS.items():
        _add(groups[flag.group], name)
    return groups


def add_some(parser: Parser, *names: str, **helps: str) -> None:
    """Adds the flags of some options of a run, for a verb that takes a few; `helps` say what some mean there."""
    for name in names:
        _add(parser, name, **({"help": helps[name]} if name in helps else {}))


def _add(group: Any, name: str, **changes: str) -> None:
    if name in FLAGS:
        group.add_argument(
            *FLAGS[name].flags,
            dest=_place(name),
            **{**_settings(FLAGS[name]), **changes},
        )
        return
    reader = GENERATION[name]
    action: dict[str, Any] = (
        {"action": "append"} if name == "stop" else {"type": reader}
    )
    group.add_argument(
        f"--{name}", default=None, metavar=METAVARS.get(reader, "TEXT"), **action
    )


def _place(name: str) -> str:
    """Where the parser keeps the value of a flag; tasks may be named without one, too."""
    return "more_tasks" if name == "tasks" else name


def _settings(flag: Flag) -> dict[str, Any]:
    if flag.reads == "switch":
        return {"action": "store_true", "help": flag.help}
    settings: dict[str, Any] = {
        "default": None,
        "help": flag.help,
        "metavar": flag.metavar,
    }
    if flag.metavar is None and flag.choices is None:
        settings["metavar"] = METAVARS.get(READERS.get(flag.reads, str), "TEXT")
    if flag.reads in ("list", "names", "pairs"):
        return {**settings, "action": "append"}
    settings |= {"type": READERS[flag.reads], "choices": flag.choices}
    if flag.reads == "truth":
        settings["metavar"] = "true|false"
    return (
        settings
        if flag.alone is None
        else {**settings, "nargs": "?", "const": flag.alone}
    )


def settings_of(flags: argparse.Namespace, *names: str) -> dict[str, Any]:
    """What was typed for options that `add_some` added, and for `--base_url` where there is one; raises all faults."""
    faults: list[AssayError] = []
    changes = changes_of(flags, faults, names)
    if getattr(flags, "base_url", None):
        changes["model_args"] = {
            **changes.get("model_args", {}),
            "base_url": flags.base_url,
        }
    raise_all(faults)
    return changes


def changes_of(
    flags: argparse.Namespace,
    faults: list[AssayError],
    names: Collection[str] = (*FLAGS, *GENERATION),
) -> dict[str, Any]:
    """The options that a command sets, tasks aside; what cannot be read is put among the faults."""
    changes = {}
    for name in (name for name in FLAGS if name in names and name != "tasks"):
        value = getattr(flags, _place(name))
        if value is None or (value is False and FLAGS[name].reads == "switch"):
            continue
        try:
            changes[name] = _whole(name, value)
        except AssayError as error:
            faults.append(error)
    generation = {
        name: value
        for name in GENERATION
        if name in names and (value := getattr(flags, name)) is not None
    }
    if "stop" in generation:
        generation["stop"] = tuple(map(habit_values.unescape, generation["stop"]))
    if generation:
        changes["generation"] = {**changes.get("generation", {}), **generation}
    return changes


def _whole(name: str, value: Any) -> Any:
    """An option's value from what was typed for it, once or several times."""
    flag = FLAGS[name]
    if flag.reads == "names":
        return tuple(flatten_list(value))
    if flag.reads == "list":
        return tuple(value)
    if name == "judges":
        return dict(judge_entry(entry) for entry in value)
    if flag.reads == "pairs":
        pairs = key_values(value, option=flag.name)
        if name == "generation":
            return habit_values.generation_options(pairs, flag.name)
        return (
            {key: str(text) for key, text in pairs.items()}
            if name == "columns"
            else pairs
        )
    return value


def from_environment(
    environment: Mapping[str, str], faults: list[AssayError]
) -> dict[str, tuple[str, Any]]:
    """By option: the variable `ASSAY_RUN_<OPTION>` that sets it, and the value; an unknown one is a fault."""
    names = {
        key.upper(): name for name, flag in FLAGS.items() for key in (*flag.keys, name)
    }
    found: dict[str, tuple[str, Any]] = {}
    for variable in sorted(name for name in environment if name.startswith(PREFIX)):
        text, key = environment[variable], variable[len(PREFIX) :]
        try:
            if key.lower() in GENERATION:
                before = found.get("generation", ("", {}))[1]
                found["generation"] = (
                    variable,
                    {**before, key.lower(): _generation_value(key.lower(), text)},
                )
            else:
                name = _option_of(variable, key, names)
                found[name] = (variable, _environment_value(name, text, variable))
        except AssayError as error:
            faults.append(error)
    return found


def _generation_value(name: str, text: str) -> Any:
    return (
        (habit_values.unescape(text),)
        if name == "stop"
        else _read(GENERATION[name], text, PREFIX + name.upper())
    )


def _option_of(variable: str, key: str, names: Mapping[str, str]) -> str:
    name = names.get(key)
    if name is None:
        close = nearest(key, list(names))
        fix = (
            f"did you mean {PREFIX}{close}?"
            if close
            else "docs/options.md lists them; unset it"
        )
        raise UsageError(
            f"the environment variable {variable} is not an option of a run", fix=fix
        )
    if not can_come_from_the_environment(name, FLAGS[name]):
        raise UsageError(
            f"{FLAGS[name].name} cannot be set by the environment variable {variable}",
            fix=f"unset it, and type {FLAGS[name].name} where you mean it",
        )
    return name


def _environment_value(name: str, text: str, variable: str) -> Any:
    flag = FLAGS[name]
    if flag.reads in ("list", "names", "pairs"):
        return _whole(name, [text] if flag.reads == "pairs" else flatten_list([text]))
    value = _read(READERS[flag.reads], text, variable)
    if flag.choices and value not in flag.choices:
        raise UsageError(
            f"{variable} is {text!r}", fix=f"one of {', '.join(flag.choices)}"
        )
    return value


def _read(reader: Callable[[str], Any], text: str, variable: str) -> Any:
    try:
        return reader(text)
    except (ValueError, argparse.ArgumentTypeError) as error:
        wanted = {
            int: "a whole number",
            float: "a number",
            _truth: "true or false",
        }.get(reader, str(error))
        raise UsageError(
            f"{variable} is {text!r}, which is not {wanted}",
            fix="correct it, or unset it",
        ) from error


def option_rows() -> list[Sequence[str]]:
    """The page of options: flags, config key, environment variable, default, meaning."""
    from ..runner.options import RunOptions

    defaults = RunOptions()
    rows: list[Sequence[str]] = []
    for name, flag in FLAGS.items():
        default = getattr(defaults, name)
        text = (
            ""
            if default in (None, False, ()) or isinstance(default, Mapping)
            else str(default)
        )
        variable = (
            f"`{PREFIX}{name.upper()}`"
            if can_come_from_the_environment(name, flag)
            else "typed only"
        )
        rows.append(
            (
                flag.group,
                " ".join(f"`{one}`" for one in flag.flags),
                f"`{name}`",
                variable,
                text,
                flag.help,
            )
        )
    return rows
