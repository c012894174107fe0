"""The tier `container`: docker, podman or apptainer, for machines that have an engine and no better tier.

There is one command template per engine. An engine passes on only the standard streams, so the
program inside comes over standard input, and harness and host talk over standard input and output.
The image needs a Python 3. It is never pulled automatically.
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
from .launch import Command, Launch, Limits, last_line, settings_of, started_over_stdin
from .seccomp import filter_program

HOME = "work"
"""The home folder, inside /tmp, in which the container starts."""
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
"""Number of processes of a container that belong to the engine."""


def default_image() -> str:
    """Return the official image of this interpreter's version."""
    return f"docker.io/library/python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True)
class Container:
    """Executions in one container each, which an engine creates and removes."""

    engine: str = "docker"
    """The engine's program: docker, podman or apptainer, by name or path."""
    image: str = field(default_factory=default_image)
    template: str = ""
    """The command line up to the image, for other engines or options; replaces the one in `TEMPLATES`."""
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
        """Return the engine's command that runs another command in a container."""
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
        )  # for the engine, such as the address of its service; not for the container
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
        """Return what is wrong and how to fix it; empty if the engine answers and has the image."""
        if shutil.which(self.engine) is None:
            return f"{self.engine} is not installed"
        if words := _refusal([self.engine, "version"]):
            return f"{self.engine} does not answer ({words}): start its service, or use another engine"
        if self._kind not in _HAS_IMAGE:
            if os.path.exists(self.image) or "://" in self.image:
                return ""
            return f"there is no image {self.image}"
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
    engine: str = "",
    image: str = "",
    template: str = "",
) -> Iterator[Container]:
    """Yield the named engine, or each that is installed."""
    named = {"image": image or default_image(), "template": template}
    if engine:
        yield Container(engine, **named)
        return
    for program in TEMPLATES:
        if shutil.which(program):
            yield Container(program, **named)


def _filled(
    template: str,
    values: Mapping[str, object],
    env: Mapping[str, str],
) -> list[str]:
    """Return the words of a template. `{env}` becomes one option per variable."""
    words: list[str] = []
    for word in shlex.split(template):
        if word == "{env}":
            for name, value in env.items():
                words += ["--env", f"{name}={value}"]
        else:
            words.append(word.format_map({"env": "", **values}))
    return words


def _refusal(argv: list[str]) -> str:
    """Return the last line of the engine's error; empty if the command succeeded."""
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
