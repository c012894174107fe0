"""The program of `--agent`: the local files that it needs, and the command that starts it in a workspace.

`read_agent` distinguishes three kinds of agent:

    null, oracle               built in: no program runs
    agent.py:solve             a function: the file and its neighbours are copied, and a launcher calls the function
    claude -p {instruction}    an installed command: its placeholders are filled for each sample
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..code.sources import behind, digest_behind
from ..code.userfiles import is_reference, split_reference
from ..core import EMPTY, UsageError, digest_of, nearest
from ..sandbox.host_command import AGENT_FOLDER, environment_of, host_command

NULL, ORACLE = "null", "oracle"
BUILT_IN = {
    NULL: "does nothing",
    ORACLE: "runs the task's own solution",
}
"""Built-in agents, which need no program, by name."""
CONTAINER_OPTIONS = ("tier", "engine", "build_network")
"""Options of `--agent_args` that select where the task runs. They are passed to the task's environment."""
PLACEHOLDERS = ("instruction", "instruction_file", "model", "base_url", "id")
"""Names in braces that are replaced in a command."""
AGENT_HOME = "/tmp/agent/home"
INSTRUCTION_FILE = f"{AGENT_FOLDER}/instruction.md"
ANSWER_FILE = f"{AGENT_FOLDER}/answer"
"""File to which a program may write its answer. Without this file, its standard output is the answer."""
LAUNCHER = f"{AGENT_FOLDER}/launch.py"


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A program that is started once for each sample."""

    name: str
    """Short name, for tables and protocol ids."""
    words: tuple[str, ...]
    """The command, with placeholders. Empty for agents without a program."""
    files: Mapping[str, Path] = field(default_factory=lambda: EMPTY)
    """Files to copy into the agent's folder: the name of the copy, and the local path."""
    visible: tuple[str, ...] = ()
    """Local folders that the program reads, such as the environment it is installed in."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Additional environment variables, besides those of the endpoint."""
    function: str = ""
    """The function to call if the program is a Python file; empty for a command."""
    digest: str = ""
    """Digest of the command and of the user's files. If it changes, recorded answers are not reused."""

    @property
    def is_null(self) -> bool:
        """True for the built-in agent that does nothing."""
        return self.name == NULL and not self.words

    @property
    def is_oracle(self) -> bool:
        """True for the built-in agent that runs the solution of the task."""
        return self.name == ORACLE and not self.words

    @property
    def is_built_in(self) -> bool:
        """True for a built-in agent, which runs no program of the user."""
        return self.is_null or self.is_oracle

    @property
    def identity(self) -> dict[str, Any]:
        """Properties that identify the agent in request keys."""
        return {"agent": self.name, "digest": self.digest}

    def command(self, values: Mapping[str, str]) -> list[str]:
        """Return the command with its placeholders replaced. No shell interprets the instruction."""
        filled = []
        for word in self.words:
            for name in PLACEHOLDERS:
                word = word.replace(f"{{{name}}}", values[name])
            filled.append(word)
        return filled

    @property
    def reads_input(self) -> bool:
        """True if the command has no placeholder for the instruction, so that it is passed on standard input."""
        joined = " ".join(self.words)
        return "{instruction}" not in joined and "{instruction_file}" not in joined


def read_agent(text: str, args: Mapping[str, Any]) -> AgentProgram:
    """Return the agent selected by `--agent`, with the options of `--agent_args`.

    Raise `UsageError` if the agent cannot be run.
    """
    env, visible = _read_args(args)
    if text in BUILT_IN:
        return AgentProgram(name=text, words=(), env=env, digest=text)
    if is_reference(text) and not any(map(str.isspace, text)):
        return _python_agent(text, env, visible)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"--agent cannot be split into words: {error}",
            fix="close the quotation marks",
        ) from error
    if not words:
        raise UsageError("--agent is empty", fix='--agent "PROGRAM {instruction}"')
    return _command_agent(words, env, visible)


def _read_args(args: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the environment variables and visible folders that `--agent_args` sets."""
    env: dict[str, str] = {}
    visible: list[str] = []
    for name, value in args.items():
        if name.startswith("env."):
            env[name.removeprefix("env.")] = str(value)
        elif name == "env" and isinstance(value, Mapping):
            env.update({str(key): str(text) for key, text in value.items()})
        elif name == "show":
            paths = value if isinstance(value, list) else str(value).split(":")
            visible += [_existing_folder(path) for path in paths]
        elif name not in CONTAINER_OPTIONS:
            raise UsageError(
                f"unknown option {name!r} of the agent",
                where="--agent_args",
                fix="show=FOLDER, env.NAME=VALUE, tier, engine or build_network",
            )
    return env, tuple(visible)


def _existing_folder(path: str) -> str:
    """Return the absolute path of a folder from the option `show`. Raise if the folder does not exist."""
    full = Path(path).expanduser().resolve()
    if not full.exists():
        raise UsageError(
            f"show={path}: there is no such folder",
            where="--agent_args",
            fix="name a folder that the agent reads",
        )
    return str(full)


def _python_agent(
    text: str,
    env: Mapping[str, str],
    visible: tuple[str, ...],
) -> AgentProgram:
    """Return an agent that calls a function in a Python file and can import the packages of this environment."""
    path, function = split_reference(text)
    file = Path(path).expanduser()
    if not file.is_file():
        raise UsageError(
            f"--agent {text}: there is no file {path}", fix="check the path"
        )
    function = function or "run"
    if f"def {function}(" not in file.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(
            f"--agent {text}: {path} has no function {function!r}",
            fix=f"def {function}(instruction): …",
        )
    top = file.resolve().parent
    files = {f"source/{file.name}": file.resolve()}
    imported_files, _ = behind(file)
    for other in sorted(imported_files):
        if other.is_relative_to(top):
            files[f"source/{other.relative_to(top)}"] = other
    files["launch.py"] = Path(__file__).with_name("agent_inside.py")
    words = (sys.executable, LAUNCHER, f"{AGENT_FOLDER}/source/{file.name}", function)
    environment = environment_of(Path(sys.executable)) or ()
    return AgentProgram(
        name=file.stem,
        words=words,
        files=files,
        visible=tuple(dict.fromkeys((*visible, *environment))),
        env=env,
        function=function,
        digest=digest_of([digest_behind(file), function, dict(env)])[:16],
    )


def _command_agent(
    words: Sequence[str],
    env: Mapping[str, str],
    visible: tuple[str, ...],
) -> AgentProgram:
    """Return the agent that runs an installed command."""
    close = nearest(words[0], BUILT_IN)
    fix = "install it, give its path, or a function as agent.py:run"
    if close:
        fix = f"did you mean {close!r}?"
    host = host_command(words, visible, "--agent", fix)
    files = host.files
    contents = {name: digest_of(path.read_bytes()) for name, path in files.items()}
    return AgentProgram(
        name=Path(words[0]).name,
        words=host.words,
        files=files,
        visible=host.visible,
        env=env,
        digest=digest_of([list(words), contents, dict(env)])[:16],
    )
