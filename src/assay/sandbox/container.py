"""The tier `container`: docker, podman or apptainer, for machines that have an engine and nothing else that holds.

One command template for each engine. An engine passes no descriptors on but the standard streams, so the program inside
comes over standard input, and the two sides of a verdict speak over standard input and output. The image needs a
Python 3; it is never pulled by itself.
"""

import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..core import UsageError
from .launch import Command, Launch, settings_of, started_over_stdin
from .limits import Limits, last_line
from .seccomp import filter_program

HOME = "work"
"""In the folder that the container starts in, /tmp."""
_SECONDS_TO_ANSWER = 20
_RUN = (
    "{engine} run --rm --interactive --name {name} --pull never --network none --read-only --cap-drop ALL"
    " --security-opt no-new-privileges --user 65534:65534 --pids-limit {processes} --memory {memory_mb}m"
    " --memory-swap {memory_mb}m --shm-size 16m --tmpfs /tmp:rw,nosuid,nodev,exec,size={disk_mb}m,mode=1777"
    " --log-driver none --workdir /tmp {env} {image}"
)
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "docker": _RUN,
        "podman": _RUN,
        "apptainer": (
            "{engine} --silent exec --containall --cleanenv --no-home --no-privs --net --network none --pwd /tmp {env}"
            " {image}"
        ),
    }
)
_HAS_IMAGE = {"docker": ("image", "inspect"), "podman": ("image", "exists")}
_OF_THE_ENGINE = 2
"""Processes of a container that are the engine's own."""


def default_image() -> str:
    """The official image of this interpreter's version."""
    return f"docker.io/library/python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True)
class Container:
    """Executions in a container each, made and thrown away by an engine."""

    engine: str = "docker"
    """The engine's program: docker, podman or apptainer, by name or path."""
    image: str = field(default_factory=default_image)
    template: str = ""
    """The command line up to the image, for other engines or options; in place of those of `TEMPLATES`."""
    name: str = "container"

    def __post_init__(self) -> None:
        if not self.template and self._kind not in TEMPLATES:
            raise UsageError(
                f"the container engine {self.engine!r} is not known",
                fix=f"{', '.join(TEMPLATES)}, or a template",
            )
        try:
            _filled(self.template or TEMPLATES[self._kind], _EXAMPLE, {})
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(
                f"the template of the container has a fault: {error}",
                fix="names in braces: " + ", ".join(_EXAMPLE),
            ) from error

    @property
    def _kind(self) -> str:
        return os.path.basename(self.engine)

    def launch(self, command: Command, limits: Limits) -> Launch:
        """The engine's command that runs another in a container."""
        if command.keep.names:
            raise UsageError(
                "the sandbox tier container hands out no files",
                fix="print them to standard output",
            )
        name = f"assay-{os.getpid()}-{secrets.token_hex(6)}"
        values = {
            "engine": self.engine,
            "name": name,
            "image": self.image,
            "memory_mb": limits.memory_mb,
            "disk_mb": limits.disk_mb,
            "processes": limits.processes + _OF_THE_ENGINE,
        }
        launch = Launch(
            env=dict(os.environ)
        )  # the engine's own, as where its service listens; not the container's
        calls = filter_program()
        more = {"calls": calls} if calls is not None else {}
        settings = settings_of(
            command,
            limits,
            None,
            **more,
            stdio=True,
            by_name=True,
            home=HOME,
            files=dict(command.files),
        )
        words = _filled(self.template or TEMPLATES[self._kind], values, command.env)
        launch.argv = [*words, "python3", *started_over_stdin(launch, settings)]
        if self._kind in _HAS_IMAGE:
            launch.ends = (self.engine, "rm", "--force", name)
        return launch

    def why_not_there(self) -> str:
        """Empty where the engine answers and has the image; else what is wrong and what helps."""
        if shutil.which(self.engine) is None:
            return f"{self.engine} is not installed"
        if words := _refusal([self.engine, "version"]):
            return f"{self.engine} does not answer ({words}): start its service, or use another engine"
        if self._kind not in _HAS_IMAGE:
            return (
                ""
                if os.path.exists(self.image) or "://" in self.image
                else f"there is no image {self.image}"
            )
        if _refusal([self.engine, *_HAS_IMAGE[self._kind], self.image]):
            return f"{self.engine} has no image {self.image}: {self.engine} pull {self.image}"
        return ""


_EXAMPLE: Mapping[str, object] = MappingProxyType(
    {
        "engine": "",
        "name": "",
        "image": "",
        "memory_mb": 0,
        "disk_mb": 0,
        "processes": 0,
        "env": "",
    }
)


def find_containers(
    engine: str = "", image: str = "", template: str = ""
) -> Iterator[Container]:
    """The engine that is named, or each that is installed."""
    named = {"image": image or default_image(), "template": template}
    if engine:
        yield Container(engine, **named)
        return
    for program in TEMPLATES:
        if shutil.which(program):
            yield Container(program, **named)


def _filled(
    template: str, values: Mapping[str, object], env: Mapping[str, str]
) -> list[str]:
    """The words of a template; `{env}` is as many as there are variables."""
    words: list[str] = []
    for word in shlex.split(template):
        if word == "{env}":
            for name, value in env.items():
                words += ["--env", f"{name}={value}"]
        else:
            words.append(word.format_map({"env": "", **values}))
    return words


def _refusal(argv: list[str]) -> str:
    """Empty where the engine did what it was asked; else its last words."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS_TO_ANSWER,
        )
    except subprocess.TimeoutExpired:
        return f"nothing in {_SECONDS_TO_ANSWER} s"
    except OSError as error:
        return str(error.strerror)
    if done.returncode == 0:
        return ""
    return last_line(done.stderr) or f"it ended with code {done.returncode}"
