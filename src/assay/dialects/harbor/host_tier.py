"""Decide whether and how the environment of a task runs in a workspace of this machine, without an image.

In assay's settings this is the tier `host`. The workspace uses the programs of this
machine, so packages are not installed: they must exist on the machine. A task that
needs a missing package, root or the network cannot run this way, and the plan reports
it before the run.

`plan_steps` goes through the steps of the Dockerfile. It splits a RUN step into its
commands, and replaces those that a workspace does not need. On a machine with jq:

    RUN apt-get update && apt-get install -y jq && make -C /app
        true && true && make -C /app

A command that cannot run raises `CannotRun` with the reason.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from ...sandbox.bubblewrap import WORKSPACE_FOLDERS
from ...sandbox.launch import own_python, readable_for
from .dockerfile import Dockerfile, Step, substitute

NETWORK_PROGRAMS = frozenset(
    {
        "curl",
        "wget",
        "npm",
        "npx",
        "yarn",
        "cargo",
        "rustup",
        "go",
        "gem",
        "bundle",
        "conda",
        "mamba",
        "uvx",
        "Rscript",
        "docker",
        "git-lfs",
        "huggingface-cli",
        "dotnet",
        "mvn",
        "gradle",
        "cpan",
        "cpanm",
        "poetry",
        "pnpm",
        "ssh",
        "scp",
    }
)
"""Programs that download files. A task whose Dockerfile runs one of them cannot use a workspace."""
ROOT_PROGRAMS = frozenset(
    {"useradd", "adduser", "groupadd", "addgroup", "usermod", "passwd", "chpasswd", "su", "systemctl", "service",
     "sysctl", "mount", "setcap", "update-alternatives", "dpkg", "dpkg-reconfigure", "locale-gen", "apk", "yum", "dnf",
     "add-apt-repository", "apt-key", "gpg", "update-ca-certificates", "visudo", "crontab", "iptables", "ldconfig"}
)  # fmt: skip
"""Programs that would change the machine. A task whose Dockerfile runs one cannot use a workspace."""
SKIPPED_PROGRAMS = frozenset({"chown", "chgrp", "apt-mark", "apt-cache"})
"""Programs that are skipped, because a workspace has only one user and does not need their effect."""
GIT_FETCHES = frozenset({"clone", "fetch", "pull", "submodule", "lfs"})
PROVIDED = {
    "build-essential": ("gcc", "make"),
    "python3-pip": ("python3",),
    "python3-venv": ("python3",),
    "python3-dev": ("python3",),
    "python-is-python3": ("python3",),
    "coreutils": ("ls",),
    "procps": ("ps",),
    "util-linux": ("flock",),
    "findutils": ("find",),
    "ca-certificates": ("sh",),
    "apt-utils": ("sh",),
    "software-properties-common": ("sh",),
    "locales": ("sh",),
    "tzdata": ("sh",),
    "gnupg": ("sh",),
    "sudo": ("sh",),
    "netcat-openbsd": ("nc",),
    "dnsutils": ("dig",),
    "iproute2": ("ip",),
    "imagemagick": ("convert",),
    "openssh-client": ("ssh",),
    "vim": ("sh",),
    "nano": ("sh",),
    "less": ("sh",),
    "man-db": ("sh",),
    "tmux": ("sh",),
    "asciinema": ("sh",),
}  # fmt: skip
"""For each Debian package, its programs. The package counts as installed if they exist.

Only packages whose programs have other names than the package are listed. A package
that tasks do not need is listed with `sh`, so that it always counts as installed.
"""
SYSTEM_TOPS = frozenset(
    {
        "/",
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib32",
        "/lib64",
        "/proc",
        "/run",
        "/sbin",
        "/sys",
        "/usr",
    }
)
"""Top-level folders that a task cannot write to.

A workspace shows this machine's files there, or leaves them empty.
"""
CONTROL_WORDS = frozenset({"if", "for", "while", "until", "case", "{", "(", "function"})
DPKG_STATUS = Path("/var/lib/dpkg/status")
SEPARATORS = ("&&", "||", ";", "\n")
"""The operators that separate the commands of a RUN step."""
NO_EFFECT = "true"
"""The command that replaces a skipped command. With `true && b`, the shell still runs b."""
_SEPARATOR = re.compile(r"(&&|\|\||;|\n)")
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*(.*)$")
_LINKS_PYTHON = re.compile(r"ln\s+-s\S*\s+\S*python3\S*\s+\S*/python\b")


class CannotRun(ValueError):
    """Raised if a task cannot run without an image. The message has the reason."""


@dataclass(frozen=True, slots=True)
class HostStep:
    """A step of the Dockerfile, with the command that a workspace runs for it."""

    step: Step
    command: str = ""
    """The shell command to run; empty for steps other than RUN."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """The steps that build a task's environment in a workspace."""

    steps: tuple[HostStep, ...]
    notes: tuple[str, ...] = ()
    """How the workspace differs from the image, such as other versions of packages."""
    tops: tuple[str, ...] = ()
    """Additional top-level folders that the task writes to, such as `/app`."""


@dataclass(slots=True)
class _Findings:
    """Collects the notes and the writable top-level folders found while reading a Dockerfile."""

    context: Path
    notes: list[str] = field(default_factory=list)
    tops: set[str] = field(default_factory=set)

    def need_writable(self, path: str) -> None:
        """Record the top-level folder of a path that a step writes to. Raise `CannotRun` if the folder is read-only."""
        top = f"/{path.lstrip('/').partition('/')[0]}"
        if top in SYSTEM_TOPS or top in _read_only_tops():
            raise CannotRun(f"it writes to {top}")
        if top != "/tmp" and top not in WORKSPACE_FOLDERS:
            self.tops.add(top)


def plan_steps(dockerfile: Dockerfile, context: Path) -> HostPlan:
    """Return the plan for a workspace. Raise `CannotRun` with the first reason why a step cannot be carried out."""
    steps: list[HostStep] = []
    findings = _Findings(context)
    froms = 0
    for step in dockerfile.steps:
        if step.kind == "FROM":
            froms += 1
            if froms > 1:
                raise CannotRun("it is built in several stages")
        elif step.kind in ("COPY", "ADD"):
            _check_copy(step, findings)
            steps.append(HostStep(step))
        elif step.kind == "WORKDIR":
            findings.need_writable(step.folder)
            steps.append(HostStep(step, f"mkdir -p {shlex.quote(step.folder)}"))
        elif step.kind == "RUN":
            command = _needed_commands(step, findings)
            if command:
                steps.append(HostStep(step, command))
        elif step.kind == "USER":
            continue  # a workspace has only one user
        else:
            raise CannotRun(f"it needs {step.kind} of its Dockerfile")
    notes = tuple(dict.fromkeys(findings.notes))
    return HostPlan(tuple(steps), notes, tuple(sorted(findings.tops)))


@cache
def _read_only_tops() -> frozenset[str]:
    """Return the top-level folders that are read-only because Python's interpreter is in them."""
    readable_paths = (*readable_for(own_python()), Path(sys.prefix))
    return frozenset(
        f"/{path.parts[1]}" for path in readable_paths if len(path.parts) > 1
    )


def _check_copy(step: Step, findings: _Findings) -> None:
    """Raise if files come from another stage or go to a folder that is not writable."""
    if "from" in step.flags:
        raise CannotRun("it copies files from another image")
    findings.need_writable(os.path.join(step.folder, step.destination))
    for source in step.sources:
        if source in step.inline:
            continue
        if "://" in source or source.startswith("git@"):
            raise CannotRun(f"it downloads {source}")
        is_archive = re.search(r"\.(tar|tgz|tar\.\w+|tbz2?|txz)$", source)
        if step.kind == "ADD" and is_archive:
            raise CannotRun("it unpacks an archive with ADD")
        if not list(_matches(findings.context, source)):
            raise CannotRun(f"{step.kind} names {source}, which is not there")


def _matches(context: Path, source: str) -> Iterator[Path]:
    """Yield the files and folders that match a source pattern of COPY, if they are inside the build context."""
    relative = source.lstrip("/")
    top = context.resolve()
    if relative in ("", ".", "./"):
        yield top
        return
    if re.search(r"[*?\[]", relative):
        paths = sorted(top.glob(relative))
    else:
        paths = [top / relative]
    for path in paths:
        if path.exists() and path.resolve().is_relative_to(top):
            yield path


def copied_files(step: Step, context: Path) -> list[Path]:
    """Return the files and folders that a COPY or ADD step puts into the workspace."""
    paths: list[Path] = []
    for source in step.sources:
        if source not in step.inline:
            paths += _matches(context, source)
    return paths


def _needed_commands(step: Step, findings: _Findings) -> str:
    """Return the shell command of a RUN step without the parts that a workspace does not need.

    Return an empty string if nothing is left. Raise `CannotRun` for a command that a
    workspace cannot run.
    """
    if "mount" in step.flags:
        raise CannotRun("it mounts something while it is built")
    pieces = _pieces(step.text)
    if pieces is None:
        _check_whole_script(step.text)
        return step.text
    needed_pieces = []
    has_effect = False
    for piece in pieces:
        if piece in SEPARATORS:
            needed_pieces.append(piece)
            continue
        needed = _keep_if_needed(piece, step, findings)
        has_effect = has_effect or needed != NO_EFFECT
        needed_pieces.append(needed)
    return " ".join(needed_pieces) if has_effect else ""


def _check_whole_script(text: str) -> None:
    """Raise if a shell script that could not be split into commands downloads, installs or changes the machine."""
    for word in re.findall(r"[\w./+-]+", text):
        _check_program(PurePosixPath(word).name)
    match = re.search(r"\b(apt-get|apt|pip3?|git)\s+(install|clone|update)\b", text)
    if match:
        raise CannotRun(f"it needs {match[0]} inside a longer script")


def _check_program(program: str) -> None:
    """Raise for a program that downloads or changes the machine."""
    if program in NETWORK_PROGRAMS:
        raise CannotRun(f"it downloads with {program}")
    if program in ROOT_PROGRAMS:
        raise CannotRun(f"it changes the machine with {program}")


def _pieces(text: str) -> list[str] | None:
    """Split a shell command line into its commands and the separators between them.

    Return None if that is not safe: for control words, heredocs, substitutions, or
    quotes that span several commands.
    """
    if "<<" in text or "$(" in text or "`" in text:
        return None
    pieces = []
    for piece in _split_outside_quotes(text):
        if piece in SEPARATORS:
            pieces.append(piece)
            continue
        command = piece.strip()
        if not command:
            continue
        try:
            words = shlex.split(command)
        except ValueError:
            return None
        if words and words[0] in CONTROL_WORDS:
            return None
        pieces.append(command)
    while pieces and pieces[-1] in (";", "\n"):
        pieces.pop()
    return pieces


def _split_outside_quotes(text: str) -> list[str]:
    """Split a shell command line at unquoted separators such as `&&`."""
    pieces = [""]
    quote = ""
    index = 0
    while index < len(text):
        character = text[index]
        if character == "\\" and quote != "'":
            pieces[-1] += text[index : index + 2]
            index += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            match = _SEPARATOR.match(text, index)
            if match:
                pieces += [match[1], ""]
                index = match.end()
                continue
        pieces[-1] += character
        index += 1
    return pieces


def _keep_if_needed(
    piece: str,
    step: Step,
    findings: _Findings,
) -> str:
    """Return `piece` if the workspace needs the effect of this command, otherwise `NO_EFFECT`."""
    if _LINKS_PYTHON.search(piece):
        return NO_EFFECT
    for part in _split_pipes(piece):
        words = [substitute(word, step.env) for word in _words(part)]
        if not words:
            continue
        if _is_unneeded(words, findings):
            return NO_EFFECT
        _check_command(words, findings)
    _check_redirections(piece, findings)
    return piece


def _is_unneeded(words: Sequence[str], findings: _Findings) -> bool:
    """Return True if a command can be skipped in a workspace, such as a change of owner.

    An installation is skipped too, because its packages must already be on this
    machine. Raise if one of them is missing.
    """
    program = PurePosixPath(words[0]).name
    if program in ("apt-get", "apt"):
        _check_packages(words)
        return True
    requirements = _pip_arguments(words)
    if requirements is not None:
        _check_requirements(requirements, findings)
        return True
    return program in SKIPPED_PROGRAMS or _is_clean_up(words)


def _check_command(words: Sequence[str], findings: _Findings) -> None:
    """Raise for a command that a workspace cannot run."""
    program = PurePosixPath(words[0]).name
    _check_program(program)
    if program == "git" and GIT_FETCHES & set(words[1:3]):
        raise CannotRun(f"it downloads with git {words[1]}")
    if program in ("mkdir", "touch", "tee"):
        for word in words[1:]:
            if word.startswith("/"):
                findings.need_writable(word)


def _split_pipes(piece: str) -> list[str]:
    return re.split(r"(?<!\|)\|(?!\|)", piece)


def _words(part: str) -> list[str]:
    """Return the words of a command, starting with its program."""
    try:
        words = shlex.split(part)
    except ValueError:
        return []
    while words and (re.match(r"^\w+=", words[0]) or words[0] in ("sudo", "exec", "!")):
        words = words[1:]
    return words


def _check_redirections(piece: str, findings: _Findings) -> None:
    """Raise if a command redirects its output to a folder that is not writable."""
    for target in re.findall(r"(?<![0-9&])>{1,2}\s*([^\s;&|\"']+)", piece):
        if target.startswith("/") and not target.startswith("/dev/"):
            findings.need_writable(target)


def _is_clean_up(words: Sequence[str]) -> bool:
    """Return True for an `rm` command that removes only package lists or caches, which workspaces do not have."""
    if PurePosixPath(words[0]).name != "rm":
        return False
    paths = [word for word in words[1:] if not word.startswith("-")]
    return all(path.startswith(("/var/", "/root/.cache")) for path in paths)


def _check_packages(words: Sequence[str]) -> None:
    """Raise if a Debian package is not installed on this machine and its programs are also missing."""
    if "install" not in words:
        return
    for word in words[words.index("install") + 1 :]:
        name = word.partition("=")[0].partition(":")[0]
        if word.startswith("-") or not name:
            continue
        programs = PROVIDED.get(name, (name,))
        if all(map(_has_program, programs)):
            continue
        if name not in _installed_packages():
            raise CannotRun(f"it needs the package {name}")


@cache
def _installed_packages() -> frozenset[str]:
    """Return the names of the Debian packages on this machine; empty on other systems."""
    try:
        text = DPKG_STATUS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    names = set()
    for paragraph in text.split("\n\n"):
        if "\nStatus: install ok installed" in paragraph:
            names.add(paragraph.partition("\n")[0].removeprefix("Package: "))
    return frozenset(names)


def _pip_arguments(words: Sequence[str]) -> list[str] | None:
    """Return the arguments of a `pip install` or `uv pip install` command; None for any other command."""
    rest = list(words)
    program = PurePosixPath(rest[0]).name
    if program.startswith("python") and rest[1:3] == ["-m", "pip"]:
        rest = rest[2:]
    elif program == "uv":
        rest = rest[1:]
    if not rest or not re.fullmatch(r"pip[\d.]*", PurePosixPath(rest[0]).name):
        return None
    is_installation = rest[1:2] == ["install"]
    return rest[2:] if is_installation else []


def _check_requirements(
    arguments: Sequence[str],
    findings: _Findings,
) -> None:
    """Raise if a required Python package is missing. If its version differs, add a note."""
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word in ("-r", "--requirement") and waiting:
            waiting += _requirements_of(findings.context, waiting.pop(0))
        elif word in ("-i", "--index-url", "--extra-index-url", "-f", "-c", "-t"):
            waiting = waiting[1:]
        elif word == "-e" or "://" in word or word.startswith((".", "/")):
            raise CannotRun(f"it installs {word} with pip")
        elif not word.startswith("-"):
            _check_requirement(word, findings)


def _requirements_of(context: Path, name: str) -> list[str]:
    path = context / PurePosixPath(name).name
    if not path.is_file():
        raise CannotRun(f"it installs from {name}, which is not beside its Dockerfile")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    bare = (line.partition("#")[0].partition(";")[0].strip() for line in lines)
    return [line for line in bare if line]


def _check_requirement(text: str, findings: _Findings) -> None:
    match = _REQUIREMENT.match(text)
    if match is None:
        raise CannotRun(f"it installs {text} with pip")
    name, condition = match[1], match[3].strip()
    if name in ("pip", "setuptools", "wheel", "uv"):
        return
    installed = _installed_version(name)
    if not installed:
        raise CannotRun(f"it needs the Python package {name}")
    pinned = condition.removeprefix("==").strip()
    if condition.startswith("==") and pinned != installed:
        findings.notes.append(f"{name} {installed} in place of {pinned}")


@cache
def _installed_version(name: str) -> str:
    """Return the installed version of a Python package; empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@cache
def _has_program(name: str) -> bool:
    return shutil.which(name) is not None
