"""Arguments: parsing that forgives `-`/`_`, and answers a typo with the nearest option."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..core.errors import AssayError, UsageError, nearest, raise_all

CLOSE_OPTION = 0.75
"""How alike two options are when one may be a slip for the other: `log_samples` is not one for `max_samples`."""


class Parser(argparse.ArgumentParser):
    """argparse whose faults are `UsageError`s, and whose long options take `-` and `_` alike."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, fix=f"`{self.prog} --help`")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Writes help; argparse's own hides that the output is full."""
        (file or sys.stderr).write(message or "")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options; raises for those that are unknown, with the nearest, and for values that cannot be read."""
        options, faults = self.read(arguments)
        raise_all(faults)
        return options

    def read(
        self, arguments: Sequence[str]
    ) -> tuple[argparse.Namespace, list[AssayError]]:
        """The options, those with an unreadable value left out, and the faults of such; raises for unknown ones."""
        self.add_argument("--debug", action="store_true", help="show tracebacks")
        self._unread: list[AssayError] = []
        spaced = [self._canonical(argument) for argument in arguments]
        options, rest = self.parse_known_intermixed_args(spaced)
        unknown: list[AssayError] = []
        for argument in rest:
            if argument.startswith("-"):
                name = argument.partition("=")[0]
                long = [
                    option.lstrip("-")
                    for option in self._option_string_actions
                    if option.startswith("--")
                ]
                close = (
                    nearest(name.lstrip("-"), long, CLOSE_OPTION)
                    if name.startswith("--")
                    else None
                )
                fix = f"did you mean --{close}?" if close else f"`{self.prog} --help`"
                unknown.append(UsageError(f"unknown option {name}", fix=fix))
        if rest and not unknown:
            unknown.append(
                UsageError(
                    f"unexpected argument {rest[0]!r}", fix=f"`{self.prog} --help`"
                )
            )
        if unknown:
            # What follows an unknown option may have been its value: nothing else can be said of the command.
            raise_all([*self._unread, *unknown])
        return options, list({str(fault): fault for fault in self._unread}.values())

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """What argparse reads; a value that it cannot read is noted, and the next option looked at."""
        try:
            return super()._get_values(action, arg_strings)  # type: ignore[misc]
        except argparse.ArgumentError as error:
            self._unread.append(UsageError(str(error), fix=f"`{self.prog} --help`"))
            return action.default

    def _canonical(self, argument: str) -> str:
        if not argument.startswith("--") or argument in self._option_string_actions:
            return argument
        name, equals, value = argument.partition("=")
        folded = (
            name.replace("-", "_").replace("__", "--", 1)
            if name.startswith("--")
            else name
        )
        for option in self._option_string_actions:
            if option.replace("-", "_") == folded.replace("-", "_"):
                return f"{option}{equals}{value}"
        return argument


def key_values(text: str | Sequence[str] | None, *, option: str) -> dict[str, Any]:
    """`k=v,k2=v2`, several of them, or a JSON object; numbers and truth values are read as such."""
    if not text:
        return {}
    pieces = [text] if isinstance(text, str) else list(text)
    values: dict[str, Any] = {}
    for piece in pieces:
        if piece.lstrip().startswith("{"):
            try:
                values.update(json.loads(piece))
            except ValueError as error:
                raise UsageError(f"{option} is not valid JSON: {error}") from error
            continue
        for pair in _split_pairs(piece):
            name, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(
                    f"{option} takes name=value, got {pair!r}", fix=f"{option} {pair}=…"
                )
            values[name.strip()] = scalar(value)
    return values


def typed_options(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """The options of models in a command, as far as they can be read: for whoever looks for secrets among them."""
    found: list[dict[str, Any]] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        name, value = (
            name.replace("-", "_").lstrip("_"),
            value if equals and name.startswith("--") else following,
        )
        if name.endswith("base_url"):
            found.append({"base_url": value})
        elif name == "a" or name.endswith(("_args", "_body")):
            try:
                found.append(key_values(value, option=argument))
            except UsageError:
                found.append({"unread": value})
    return found


def _split_pairs(piece: str) -> list[str]:
    """Pairs between commas; a comma inside a value stays, since what follows it is no `name=`."""
    pairs: list[str] = []
    for part in piece.split(","):
        if "=" in part or not pairs:
            pairs.append(part)
        else:
            pairs[-1] += f",{part}"
    return [pair for pair in pairs if pair.strip()]


def scalar(text: str) -> Any:
    """A number, a truth value, `None`, or the text itself."""
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("none", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def flatten_list(values: Sequence[str] | None) -> list[str]:
    """`a,b c` as three names; a comma inside a path that exists stays."""
    names: list[str] = []
    for value in values or ():
        names += [part for part in value.split(",") if part]
    return names


def write_text(text: str, output: str, name: str) -> Path | None:
    """Writes a text to stdout, which is `-`, or to a file, which is returned; `name` is how one may be called."""
    if output == "-":
        sys.stdout.write(text)
        return None
    path = Path(output).expanduser()
    if path.is_dir():
        raise UsageError(
            "this is a folder", where=str(path), fix=f"name a file: -o {name}"
        )
    from ..store.layout import write_whole

    write_whole(path, text.encode("utf-8", "replace"))
    return path


def judge_entry(entry: str) -> tuple[str, str]:
    """`ROLE=MODEL` as its two parts; without a role, the model is the judge."""
    role, equals, model = entry.partition("=")
    return (
        (role, model)
        if equals and "/" not in role and "." not in role
        else ("judge", entry)
    )
