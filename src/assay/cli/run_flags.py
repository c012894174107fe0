"""The options of a run as flags and environment variables, generated from the list in `runner.options`."""

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
from . import habits
from .arguments import Parser, flatten_list, judge_entry, key_values


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
    return text.lower() == "true"


READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "number": float,
    "seed": habits.seed,
    "batch_size": habits.batch_size,
    "switch": _truth,
    "truth": _truth,
}
"""Functions that convert one value from the command line, by the kind of value.

Lists and pairs are converted as a whole.
"""
GENERATION_HELP: Mapping[str, str] = {
    "temperature": "randomness of sampling; 0 takes the likeliest token",
    "top_p": "sample from the likeliest tokens that sum to this probability",
    "top_k": "sample from the N likeliest tokens",
    "min_p": "leave out tokens below this share of the likeliest one",
    "max_tokens": "longest answer, in tokens",
    "stop": "end the answer at this text; repeat for several",
    "n": "answers in one request",
    "logprobs": "log-probabilities of the answer's tokens, with N alternatives each",
    "frequency_penalty": "penalty for tokens by how often they occurred",
    "presence_penalty": "penalty for tokens that occurred",
    "repetition_penalty": "divide the scores of tokens that occurred by this",
    "reasoning_effort": "how long a reasoning model thinks",
    "response_format": "json: ask for a JSON object",
}
METAVARS: dict[Any, str] = {int: "N", float: "X"}


def _generation_readers() -> dict[str, Callable[[str], Any]]:
    """Return, for each generation option, the function that converts its value, by the type of its field."""
    hints = typing.get_type_hints(GenerateOptions)
    readers: dict[str, Callable[[str], Any]] = {}
    for option in dataclasses.fields(GenerateOptions):
        if option.name in FLAGS:
            continue  # such as the seed, which is also an option of the run
        readers[option.name] = _reader_of(hints[option.name])
    return readers


def _reader_of(hint: object) -> Callable[[str], Any]:
    """Return `int` or `float` if the field's type includes it, otherwise `str`."""
    if isinstance(hint, types.UnionType):
        kinds = typing.get_args(hint)
    else:
        kinds = (hint,)
    for kind in (int, float):
        if kind in kinds:
            return kind
    return str


GENERATION = _generation_readers()


def add_flags(parser: Parser) -> dict[str, Any]:
    """Add a flag for every option of a run to a parser. Return the argument groups of the flags by name."""
    groups = {name: parser.add_argument_group(name) for name in GROUPS}
    groups["what"].add_argument(
        "tasks",
        nargs="*",
        help=FLAGS["tasks"].help,
    )
    for name in GENERATION:
        _add(groups["generation"], name)
    for name, flag in FLAGS.items():
        _add(groups[flag.group], name)
    return groups


def add_some(
    parser: Parser,
    *names: str,
    **helps: str,
) -> None:
    """Add the flags of some run options to another command's parser. `helps` can replace their help texts."""
    for name in names:
        _add(parser, name, **({"help": helps[name]} if name in helps else {}))


def _add(
    group: argparse._ActionsContainer,
    name: str,
    **changes: str,
) -> None:
    if name in FLAGS:
        group.add_argument(
            *FLAGS[name].flags,
            dest=_attribute_of(name),
            **{**_settings(FLAGS[name]), **changes},
        )
        return
    reader = GENERATION[name]
    action: dict[str, Any] = (
        {"action": "append"} if name == "stop" else {"type": reader}
    )
    group.add_argument(
        f"--{name}",
        default=None,
        metavar=METAVARS.get(reader, "TEXT"),
        help=GENERATION_HELP[name],
        **action,
    )


def _attribute_of(name: str) -> str:
    """Return the parser attribute that holds a flag's value.

    `--tasks` uses `more_tasks`, because `tasks` holds the tasks given without a flag.
    """
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
    if flag.alone is None:
        return settings
    return {**settings, "nargs": "?", "const": flag.alone}


def settings_of(
    flags: argparse.Namespace,
    *names: str,
) -> dict[str, Any]:
    """Return the values of options added by `add_some`, and the value of `--base_url`.

    All faults are raised at once.
    """
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
    """Return the options that a command sets, except tasks. For each invalid value, append an error to `faults`."""
    changes = {}
    for name in (name for name in FLAGS if name in names and name != "tasks"):
        value = getattr(flags, _attribute_of(name))
        if value is None or (value is False and FLAGS[name].reads == "switch"):
            continue
        try:
            changes[name] = _option_value(name, value)
        except AssayError as error:
            faults.append(error)
    generation = {
        name: value
        for name in GENERATION
        if name in names and (value := getattr(flags, name)) is not None
    }
    if "stop" in generation:
        generation["stop"] = tuple(map(habits.unescape, generation["stop"]))
    if generation:
        changes["generation"] = {**changes.get("generation", {}), **generation}
    return changes


def _option_value(name: str, value: Any) -> Any:
    """Convert the text of a flag to the value of its option. Lists and pairs may come from several flags."""
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
            options = habits.generation_options(pairs, flag.name)
            return {key: _number(key, text) for key, text in options.items()}
        if name == "columns":
            return {key: str(text) for key, text in pairs.items()}
        return {key: _price(key, text) for key, text in pairs.items()}
    return value


def _number(name: str, value: object) -> Any:
    """Convert the text of a generation option to a number if it is one: `"1e-5"` becomes 0.00001."""
    reader = GENERATION.get(name)
    if reader not in (int, float) or not isinstance(value, str):
        return value
    return _read(reader, value, name)


def _price(name: str, value: object) -> object:
    """Convert a price of tokens to a number. Return other model options unchanged.

    The model's annotations determine how those are converted later.
    """
    if not name.startswith("price_") or not isinstance(value, str):
        return value
    from ..runner.counts.spending import PRICES

    if name in PRICES:
        return _read(float, value, name)
    return value


def from_environment(
    environment: Mapping[str, str],
    faults: list[AssayError],
) -> dict[str, tuple[str, Any]]:
    """Read options from environment variables `ASSAY_RUN_<OPTION>`. Return the variable and the value of each option.

    Unknown variables with this prefix are added to the faults.
    """
    names = {
        key.upper(): name for name, flag in FLAGS.items() for key in (*flag.keys, name)
    }
    settings: dict[str, tuple[str, Any]] = {}
    variables = sorted(name for name in environment if name.startswith(PREFIX))
    for variable in variables:
        text = environment[variable]
        key = variable[len(PREFIX) :]
        try:
            if key.lower() in GENERATION:
                before = settings.get("generation", ("", {}))[1]
                settings["generation"] = (
                    variable,
                    {**before, key.lower(): _generation_value(key.lower(), text)},
                )
            else:
                name = _option_of(variable, key, names)
                settings[name] = (variable, _environment_value(name, text, variable))
        except AssayError as error:
            faults.append(error)
    return settings


def _generation_value(name: str, text: str) -> object:
    if name == "stop":
        return (habits.unescape(text),)
    return _read(GENERATION[name], text, PREFIX + name.upper())


def _option_of(
    variable: str,
    key: str,
    names: Mapping[str, str],
) -> str:
    name = names.get(key)
    if name is None:
        close = nearest(key, list(names))
        if close:
            fix = f"did you mean {PREFIX}{close}?"
        else:
            fix = "docs/options.md lists them; unset it"
        raise UsageError(
            f"the environment variable {variable} is not an option of a run", fix=fix
        )
    if not can_come_from_the_environment(name, FLAGS[name]):
        raise UsageError(
            f"{FLAGS[name].name} cannot be set by the environment variable {variable}",
            fix=f"unset it, and type {FLAGS[name].name} where you mean it",
        )
    return name


def _environment_value(
    name: str,
    text: str,
    variable: str,
) -> object:
    flag = FLAGS[name]
    if flag.reads in ("list", "names", "pairs"):
        return _option_value(
            name, [text] if flag.reads == "pairs" else flatten_list([text])
        )
    value = _read(READERS[flag.reads], text, variable)
    if flag.choices and value not in flag.choices:
        raise UsageError(
            f"{variable} is {text!r}", fix=f"one of {', '.join(flag.choices)}"
        )
    return value


def _read(
    reader: Callable[[str], Any],
    text: str,
    variable: str,
) -> Any:
    try:
        return reader(text)
    except (ValueError, argparse.ArgumentTypeError) as error:
        variables = {
            int: "a whole number",
            float: "a number",
            _truth: "true or false",
        }.get(reader, str(error))
        raise UsageError(
            f"{variable} is {text!r}, which is not {variables}",
            fix="correct it, or unset it",
        ) from error


def option_rows() -> list[Sequence[str]]:
    """Return the rows of the table of options in the documentation: flags, config key,
    environment variable, default, meaning.
    """
    from ..runner.options import RunOptions

    defaults = RunOptions()
    rows: list[Sequence[str]] = []
    for name, flag in FLAGS.items():
        default = getattr(defaults, name)
        if default in (None, False, ()) or isinstance(default, Mapping):
            text = ""
        else:
            text = str(default)
        if can_come_from_the_environment(name, flag):
            variable = f"`{PREFIX}{name.upper()}`"
        else:
            variable = "typed only"
        rows.append(
            (
                flag.group,
                " ".join(f"`{spelling}`" for spelling in flag.flags),
                f"`{name}`",
                variable,
                text,
                flag.help,
            )
        )
    return rows
