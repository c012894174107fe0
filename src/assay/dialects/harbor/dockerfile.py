"""Read a Dockerfile as a list of steps."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...core import EMPTY

_CONTINUES = re.compile(r"\\[ \t]*$")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_VARIABLE = re.compile(
    r"""\\(?P<escaped>\$)                               # \$NAME
      | \$\{(?P<braced>\w+)(?::(?P<sign>[-+])(?P<word>[^}]*))?\}   # ${NAME}, ${NAME:-word}, ${NAME:+word}
      | \$(?P<bare>\w+)                                 # $NAME
    """,
    re.VERBOSE,
)
WITHOUT_EFFECT = frozenset(
    {
        "LABEL",
        "MAINTAINER",
        "EXPOSE",
        "CMD",
        "ENTRYPOINT",
        "HEALTHCHECK",
        "STOPSIGNAL",
        "VOLUME",
    }
)
"""Instructions that have no effect before the agent starts: Harbor replaces the command of the image."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a Dockerfile."""

    kind: str
    """FROM, RUN, COPY, ADD, WORKDIR, USER, SHELL, ARG, ENV, or an unknown instruction."""
    text: str
    """Everything after the instruction's name, including heredocs."""
    line: int
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Environment variables that are set when this step runs."""
    flags: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    sources: tuple[str, ...] = ()
    destination: str = ""
    folder: str = "/"
    """Working folder in which this step runs; for WORKDIR, the new one."""
    inline: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """For COPY, the contents of files that are written as heredocs in the Dockerfile, by file name."""


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """A Dockerfile, read as a list of steps."""

    steps: tuple[Step, ...]
    env: Mapping[str, str]
    """Environment variables of a container, as ENV sets them."""
    folder: str
    """Working folder of a container: the one that the last WORKDIR sets."""


@dataclass(frozen=True, slots=True)
class _Instruction:
    word: str
    text: str
    heredocs: tuple[tuple[str, str], ...]
    """Delimiter and body of each heredoc."""
    line: int


def read_dockerfile(text: str) -> Dockerfile:
    """Return the steps of a Dockerfile. Raise `ValueError` with the first line that cannot be read."""
    env: dict[str, str] = {}
    arguments: dict[str, str] = {}
    folder = "/"
    steps: list[Step] = []
    for instruction in _instructions(text):
        word, rest = instruction.word, instruction.text
        variables = {**arguments, **env}
        if word in WITHOUT_EFFECT:
            continue
        if word == "ENV":
            env.update(_pairs(rest, variables, instruction.line))
        elif word == "ARG":
            name, equals, value = rest.partition("=")
            if equals:
                arguments[name.strip()] = substitute(_unquote(value), variables)
            else:
                arguments.setdefault(name.strip(), "")
        elif word == "WORKDIR":
            folder = _absolute_path(folder, substitute(_unquote(rest), variables))
            steps.append(Step(word, rest, instruction.line, variables, folder=folder))
        elif word in ("COPY", "ADD"):
            steps.append(_copy_step(instruction, variables, folder))
        elif word == "RUN":
            command = _run_text(instruction)
            steps.append(
                Step(
                    word,
                    command,
                    instruction.line,
                    variables,
                    _flags(rest)[0],
                    folder=folder,
                )
            )
        else:
            steps.append(Step(word, rest, instruction.line, variables, folder=folder))
    return Dockerfile(tuple(steps), env, folder)


def substitute(
    text: str,
    values: Mapping[str, str],
) -> str:
    """Replace variables such as `$NAME` in a string. Unknown variables become empty."""

    def replaced(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        name = match["braced"] or match["bare"]
        value = values.get(name, "")
        if match["sign"] == "-":
            return value or match["word"]
        if match["sign"] == "+":
            return match["word"] if value else ""
        return value

    return _VARIABLE.sub(replaced, text)


def _instructions(text: str) -> Iterator[_Instruction]:
    """Yield the instructions without comments. Continued lines are joined; heredocs are returned as separate bodies."""
    lines = text.replace("\r\n", "\n").split("\n")
    index = 0
    while index < len(lines):
        start = index
        joined, index = _joined_line(lines, index)
        stripped = joined.strip()
        if not stripped:
            continue
        word, _, rest = stripped.partition(" ")
        word, _, tail = word.partition("\t")
        rest = f"{tail} {rest}".strip()
        heredocs: list[tuple[str, str]] = []
        if word.upper() in ("RUN", "COPY", "ADD"):
            for match in _HEREDOC.finditer(rest):
                body, index = _heredoc_body(lines, index, match[2], start)
                heredocs.append((match[2], body))
        if not re.fullmatch(r"[A-Za-z]+", word):
            raise ValueError(f"line {start + 1} is not an instruction: {stripped[:60]}")
        yield _Instruction(word.upper(), rest, tuple(heredocs), start + 1)


def _joined_line(
    lines: list[str],
    index: int,
) -> tuple[str, int]:
    """Return a line joined with its continuation lines, and the index of the next line."""
    pieces: list[str] = []
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.lstrip().startswith("#") or (pieces and not line.strip()):
            if not pieces:
                return "", index
            continue
        if not _CONTINUES.search(line):
            pieces.append(line)
            break
        pieces.append(_CONTINUES.sub("", line) + " ")
    return "".join(pieces), index


def _heredoc_body(
    lines: list[str],
    index: int,
    delimiter: str,
    start: int,
) -> tuple[str, int]:
    body: list[str] = []
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.strip() == delimiter:
            return "\n".join([*body, ""]), index
        body.append(line)
    raise ValueError(f"line {start + 1}: the heredoc {delimiter} does not end")


def _run_text(instruction: _Instruction) -> str:
    """Return the shell command of a RUN instruction. A JSON list becomes one quoted command."""
    _, rest = _flags(instruction.text)
    for delimiter, body in instruction.heredocs:
        opening = _HEREDOC.search(rest)
        if opening is not None and rest.strip() == opening[0].strip():
            return body  # the whole script is the heredoc
        rest = f"{rest}\n{body}{delimiter}"
    words = _json_list(rest)
    if words is None:
        return rest
    return shlex.join(words)


def _copy_step(
    instruction: _Instruction,
    variables: Mapping[str, str],
    folder: str,
) -> Step:
    """Return the step of a COPY or ADD instruction."""
    flags, rest = _flags(instruction.text)
    words = _json_list(rest)
    if words is None:
        try:
            words = shlex.split(rest)
        except ValueError as error:
            raise ValueError(f"line {instruction.line}: {error}") from error
    words = [substitute(word, variables) for word in words]
    if len(words) < 2:
        raise ValueError(
            f"line {instruction.line}: {instruction.word} needs a source and a destination"
        )
    inline: dict[str, str] = {}
    for delimiter, body in instruction.heredocs:
        inline[delimiter] = body
    sources = [_inline_name(word) for word in words[:-1]]
    return Step(
        instruction.word,
        rest,
        instruction.line,
        variables,
        flags,
        tuple(sources),
        words[-1],
        folder,
        inline,
    )


def _inline_name(word: str) -> str:
    match = _HEREDOC.fullmatch(word)
    return match[2] if match else word


def _flags(rest: str) -> tuple[dict[str, str], str]:
    """Return the options (`--name=value`) at the start of an instruction, and the text after them."""
    flags: dict[str, str] = {}
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        name, _, value = flag[2:].partition("=")
        flags[name] = value
        rest = rest.lstrip()
    return flags, rest


def _json_list(text: str) -> list[str] | None:
    """Return the words of an instruction that is written as a JSON list; None for any other form."""
    if not text.startswith("["):
        return None
    try:
        words = json.loads(text)
    except ValueError:
        return None
    is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if is_list else None


def _pairs(
    text: str,
    variables: Mapping[str, str],
    line: int,
) -> dict[str, str]:
    """Return the variables that an ENV instruction sets, in the form `NAME=value …` or `NAME value`."""
    first = text.split(None, 1)
    if first and "=" not in first[0]:
        if len(first) < 2:
            raise ValueError(f"line {line}: ENV {text} has no value")
        return {first[0]: substitute(_unquote(first[1]), variables)}
    pairs: dict[str, str] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from error
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"line {line}: ENV {word} has no value")
        pairs[name] = substitute(value, variables)
    return pairs


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _absolute_path(folder: str, path: str) -> str:
    """Return `path` as an absolute path. A relative path is resolved against `folder`."""
    from posixpath import join, normpath

    return normpath(join(folder, path))
