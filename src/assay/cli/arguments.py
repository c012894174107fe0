"""A parser of arguments that accepts both `-` and `_` in option names, and suggests the
nearest name for a misspelt one.
"""

import argparse
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..core.errors import AssayError, UsageError, nearest, raise_all
from ..core.spec import scalar

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


_NAMED_FILE = re.compile(r"(.+\.\w+)[:|@]")
_JSON_VALUE = re.compile(r"[^=,]*=\s*[\[{]")
"""Matches the start of a `name=value` pair whose value is JSON, such as `rounds=[`."""
MOST_COMMAS = 8
"""The longest file name to look for in an argument, as a number of commas.

The limit matters because a list of ids may contain thousands of commas.
"""
CLOSE_OPTION = 0.75
"""Minimum similarity at which a known option is suggested for an unknown one.

The value was chosen such that `max_samples` is not suggested for `log_samples`.
"""


class ParserReady(Exception):
    """Raised by `Parser` while `parsers_only` is active. It carries the command's parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


_PARSERS_ONLY: ContextVar[bool] = ContextVar("parsers_only", default=False)


@contextmanager
def parsers_only() -> Iterator[None]:
    """Context manager in which each command raises `ParserReady` with its parser instead of parsing arguments."""
    token = _PARSERS_ONLY.set(True)
    try:
        yield
    finally:
        _PARSERS_ONLY.reset(token)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help: wraps the paragraphs of descriptions, and leaves indented lines unchanged."""

    def _fill_text(
        self,
        text: str,
        width: int,
        indent: str,
    ) -> str:
        from ..report.grid import fold_line

        lines: list[str] = []
        paragraph: list[str] = []
        for line in [*text.splitlines(), ""]:
            is_text = bool(line) and not line.startswith(" ")
            if is_text:
                paragraph.append(line)
                continue
            lines += textwrap.wrap(" ".join(paragraph), width)
            paragraph = []
            lines += fold_line(line, width)
        return "\n".join(f"{indent}{line}" for line in lines).rstrip()


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError`, and accepts both `-` and `_` in long options."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", HelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        fix = f"`{self.prog} --help`"
        missing = message.partition("arguments are required: ")[2]
        if not missing:
            raise UsageError(message, fix=fix)
        if not missing.startswith("-"):
            words = [self.prog]
            for action in self._get_positional_actions():
                words.append(str(action.metavar or action.dest).upper())
            fix = f"write {' '.join(words)}; {fix}"
        raise UsageError(f"missing: {missing}", fix=fix)

    def _print_message(
        self, message: str, file: "SupportsWrite[str] | None" = None
    ) -> None:
        """Print the help. Unlike argparse, raise if the output stream is closed."""
        (file or sys.stderr).write(message or "")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments. Raise for invalid values and unknown options. The error
        suggests the nearest known option.
        """
        options, faults = self.read(arguments)
        raise_all(faults)
        return options

    def read(
        self, arguments: Sequence[str]
    ) -> tuple[argparse.Namespace, list[AssayError]]:
        """Parse the arguments. Return the valid options, and an error for each invalid value.

        Raise for unknown options.
        """
        self.add_argument("--debug", action="store_true", help="show tracebacks")
        if _PARSERS_ONLY.get():
            raise ParserReady(self)
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
                if name.startswith("--"):
                    word = name.lstrip("-")
                    longer = [option for option in long if option.startswith(word)]
                    close = nearest(word, long, CLOSE_OPTION) or next(
                        iter(longer), None
                    )
                else:
                    close = None
                if close:
                    fix = f"did you mean --{close}?"
                else:
                    fix = f"`{self.prog} --help`"
                unknown.append(UsageError(f"unknown option {name}", fix=fix))
        if rest and not unknown:
            unknown.append(
                UsageError(
                    f"unexpected argument {rest[0]!r}", fix=f"`{self.prog} --help`"
                )
            )
        if unknown:
            # The words after an unknown option may be its values, so they are not checked.
            raise_all([*self._unread, *unknown])
        return options, list({str(fault): fault for fault in self._unread}.values())

    def _get_values(
        self,
        action: argparse.Action,
        arg_strings: list[str],
    ) -> object:
        """Return the values of an option. If a value is invalid, record the error and continue with the next option."""
        try:
            return super()._get_values(action, arg_strings)  # type: ignore[misc]
        except argparse.ArgumentError as error:
            message = str(error)
            message = message.replace("invalid int value:", "not a whole number:")
            message = message.replace("invalid float value:", "not a number:")
            self._unread.append(UsageError(message, fix=f"`{self.prog} --help`"))
            return action.default

    def _canonical(self, argument: str) -> str:
        if not argument.startswith("--") or argument in self._option_string_actions:
            return argument
        name, equals, value = argument.partition("=")
        if name.startswith("--"):
            folded = name.replace("-", "_").replace("__", "--", 1)
        else:
            folded = name
        for option in self._option_string_actions:
            if option.replace("-", "_") == folded.replace("-", "_"):
                return f"{option}{equals}{value}"
        return argument


def key_values(
    text: str | Sequence[str] | None,
    *,
    option: str,
) -> dict[str, Any]:
    """Read `k=v,k2=v2`, a list of such texts, or a JSON object. `core.spec.scalar` converts the values."""
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
    """Return the model options that the user typed (`--model_args`, `--base_url`, …). Their values may be secrets."""
    options: list[dict[str, Any]] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        name, value = (
            name.replace("-", "_").lstrip("_"),
            value if equals and name.startswith("--") else following,
        )
        if name.endswith("base_url"):
            options.append({"base_url": value})
        elif name == "a" or name.endswith(("_args", "_body")):
            try:
                options.append(key_values(value, option=argument))
            except UsageError:
                options.append({"unread": value})
    return options


def _split_pairs(piece: str) -> list[str]:
    """Split `k=v,k2=v2` into pairs. A comma inside JSON, or not followed by `name=`, does not separate pairs."""
    pairs: list[str] = []
    start = 0
    while start < len(piece):
        end = piece.find(",", _end_of_json(piece, start))
        if end < 0:
            end = len(piece)
        part = piece[start:end]
        if "=" in part or not pairs:
            pairs.append(part)
        else:
            pairs[-1] += f",{part}"
        start = end + 1
    return [pair for pair in pairs if pair.strip()]


def _end_of_json(piece: str, start: int) -> int:
    """Return the end of the pair at `start` if its value is a JSON list or object; otherwise `start`."""
    match = _JSON_VALUE.match(piece, start)
    if match is None:
        return start
    try:
        _, end = json.JSONDecoder().raw_decode(piece, match.end() - 1)
    except (ValueError, RecursionError):
        return start
    return end


def flatten_list(values: Sequence[str] | None) -> list[str]:
    """Split names at commas: `a,b` and `c` give three names. A comma in the path of an existing file is kept."""
    names: list[str] = []
    for value in values or ():
        names += _split_names(value)
    return names


def _split_names(text: str) -> list[str]:
    """Split one argument at its commas, but not within the path of an existing file."""
    parts = text.split(",")
    names: list[str] = []
    start = 0
    while start < len(parts):
        end = _end_of_path(parts, start)
        name = ",".join(parts[start:end])
        if name:
            names.append(name)
        start = end
    return names


def _end_of_path(
    parts: Sequence[str],
    start: int,
) -> int:
    """Return the index after the longest existing path that begins at `start`.

    Return `start + 1` if no such path contains a comma.
    """
    shortest = start + 1
    longest = min(len(parts), shortest + MOST_COMMAS)
    for end in range(longest, shortest, -1):
        name = ",".join(parts[start:end])
        for path in _paths_in(name):
            if os.path.exists(os.path.expanduser(path)):
                return end
    return shortest


def _paths_in(name: str) -> list[str]:
    """Return the paths that a name may contain: `file.jsonl|5` -> `file.jsonl`, `file.py:attribute` -> `file.py`."""
    named = _NAMED_FILE.match(name)
    if named is None:
        return [name]
    return [name, named[1]]


def write_text(text: str, output: str) -> Path | None:
    """Write a text to a file and return its path. The file `-` is stdout."""
    if output == "-":
        sys.stdout.write(text)
        return None
    from ..store.file_ledger import write_output_text

    write_output_text(output, text)
    return Path(output).expanduser()


def check_output_file(output: str) -> None:
    """Raise if `output` is a file that assay may not write. `-` is stdout."""
    from ..store.file_ledger import check_output

    if output != "-":
        check_output(output)


def judge_entry(entry: str) -> tuple[str, str]:
    """Split `ROLE=MODEL` into role and model. If only a model is given, its role is `judge`."""
    role, equals, model = entry.partition("=")
    if equals and "/" not in role and "." not in role:
        return (role, model)
    return ("judge", entry)
