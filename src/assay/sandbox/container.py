"""The tier `container`, and the command lines of container engines.

There is one command template per engine. An engine passes only the standard streams
into a container, so assay sends the program through standard input, and receives the
verdict through standard output. The image needs a Python 3. It is never pulled
automatically.

docker and podman also build images and keep containers running. Both accept the same
commands. Every command line that assay starts is built here, so that it can be tested
without an engine.
"""

import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
"""Number of processes that the engine itself runs in each container."""


def default_image() -> str:
    """Return the name of the official Python image for the version of this interpreter."""
    return f"docker.io/library/python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True)
class Container:
    """Sandbox tier that runs each program in a new container, which the engine creates and removes."""

    engine: str = "docker"
    """The engine's program: docker, podman or apptainer, by name or path."""
    image: str = field(default_factory=default_image)
    template: str = ""
    """A custom command line, up to the image, for other engines or options.

    It replaces the engine's entry in `TEMPLATES`.
    """
    name: str = "container"

    def __post_init__(self) -> None:
        if not self.template and self._kind not in TEMPLATES:
            raise UsageError(
                f"the container engine {self.engine!r} is not known",
                fix=f"{', '.join(TEMPLATES)}, or a template",
            )
        try:
            _fill_template(self.template or TEMPLATES[self._kind], _EXAMPLE, {})
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(
                f"the template of the container has a fault: {error}",
                fix="names in braces: " + ", ".join(_EXAMPLE),
            ) from error

    @property
    def _kind(self) -> str:
        return os.path.basename(self.engine)

    def launch(self, command: Command, limits: Limits) -> Launch:
        """Return the engine's command line for running `command` in a container."""
        if command.keep.names:
            raise UsageError(
                "the sandbox tier container cannot return files",
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
        if calls is not None:
            more = {"calls": calls}
        else:
            more = {}
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
        words = _fill_template(
            self.template or TEMPLATES[self._kind], values, command.env
        )
        launch.argv = [*words, "python3", *started_over_stdin(launch, settings)]
        if self._kind in _HAS_IMAGE:
            launch.ends = (self.engine, "rm", "--force", name)
        return launch

    def why_not_there(self) -> str:
        """Return a message with what is missing (engine or image) and the fix. Empty if the tier can be used."""
        if shutil.which(self.engine) is None:
            return f"{self.engine} is not installed"
        if words := _error_of([self.engine, "version"]):
            return f"{self.engine} does not answer ({words}): start its service, or use another engine"
        if self._kind not in _HAS_IMAGE:
            if os.path.exists(self.image) or "://" in self.image:
                return ""
            return f"there is no image {self.image}"
        if _error_of([self.engine, *_HAS_IMAGE[self._kind], self.image]):
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
    """Yield the named engine, or each installed engine if none is named."""
    named = {"image": image or default_image(), "template": template}
    if engine:
        yield Container(engine, **named)
        return
    for program in TEMPLATES:
        if shutil.which(program):
            yield Container(program, **named)


def _fill_template(
    template: str,
    values: Mapping[str, object],
    env: Mapping[str, str],
) -> list[str]:
    """Fill in the placeholders of a command template, and return its words.

    `{env}` becomes one option for each environment variable.
    """
    words: list[str] = []
    for word in shlex.split(template):
        if word == "{env}":
            for name, value in env.items():
                words += ["--env", f"{name}={value}"]
        else:
            words.append(word.format_map({"env": "", **values}))
    return words


def _error_of(argv: list[str]) -> str:
    """Run a command of the engine. Return the last line of its error output; empty if it succeeded."""
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


ENGINES = ("docker", "podman")
"""Engine programs to search for, in this order."""
CONTAINER_PREFIX = "assay-task-"
IMAGE_LABEL = "assay"
WAITING = "while :; do sleep 86400; done"
"""Command of a container's first process: a waiting shell, which also reaps orphaned processes."""
SECONDS_TO_ANSWER = 30.0
_CLIENT_NAMES = frozenset({"PATH", "HOME", "USER", "SHELL", "TMPDIR"})
_CLIENT_PREFIXES = ("DOCKER_", "CONTAINER", "PODMAN_", "BUILDAH_", "XDG_", "LD_", "GO")


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Limits on what one container may use."""

    memory_mb: int = 2048
    cpus: float | None = None
    """Number of processors; None for all processors of the host."""
    processes: int = 512


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """A container engine that understands the command lines of docker, as podman does."""

    program: str
    """Name or path of the engine's program."""

    @property
    def kind(self) -> str:
        """The name of the program without its folder."""
        return os.path.basename(self.program)

    def build(
        self,
        context: Path,
        tag: str,
        network: bool,
    ) -> list[str]:
        """Return the command that builds the Dockerfile of a folder. RUN steps have
        network access only if that is allowed.
        """
        words = [self.program, "build", "--tag", tag, "--label", IMAGE_LABEL]
        words += ["--force-rm"]
        if self.kind == "podman":
            # The OCI image format lacks SHELL and HEALTHCHECK.
            words += ["--format", "docker"]
        if not network:
            words += ["--network", "none"]
        if not network and self.kind == "podman":
            words.append("--pull=never")
        return [*words, str(context)]

    def start(
        self,
        name: str,
        image: str,
        limits: ContainerLimits,
        mounts: Sequence[str],
    ) -> list[str]:
        """Return the command that starts a container without network access, in which commands can then be run."""
        memory = f"{limits.memory_mb}m"
        words = [self.program, "run", "--detach", "--name", name, "--pull", "never"]
        words += ["--network", "none", "--memory", memory, "--memory-swap", memory]
        words += ["--pids-limit", str(limits.processes)]
        if limits.cpus is not None:
            words += ["--cpus", f"{limits.cpus:g}"]
        for path in mounts:
            words += ["--volume", f"{path}:{path}:ro"]
        return [*words, "--entrypoint", "sh", image, "-c", WAITING]

    def execute(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        folder: str = "",
        user: str = "",
    ) -> list[str]:
        """Return the command that runs another command in a container.

        Variables are passed by name, with their values in `client_env`, so that process lists do not show the values.
        """
        words = [self.program, "exec", "--interactive"]
        if user:
            words += ["--user", user]
        if folder:
            words += ["--workdir", folder]
        for variable, value in env.items():
            by_name = not _is_of_client(variable)
            words += ["--env", variable if by_name else f"{variable}={value}"]
        return [*words, name, *argv]

    def copy_in(
        self,
        name: str,
        source: Path,
        path: str,
    ) -> list[str]:
        """Return the command that copies a file into a container. For a folder, it copies the contents."""
        if source.is_dir():
            text = f"{source}/."
        else:
            text = str(source)
        return [self.program, "cp", text, f"{name}:{path}"]

    def copy_out(self, name: str, path: str) -> list[str]:
        """Return the command that writes a file of a container to standard output, as a tar archive."""
        return [self.program, "cp", f"{name}:{path}", "-"]

    def changed_files(self, name: str) -> list[str]:
        """Return the command that lists the files that differ from the image."""
        return [self.program, "diff", name]

    def restart(self, name: str) -> list[str]:
        """Return the command that kills all processes of a container and restarts it with its files."""
        return [self.program, "restart", "--time", "0", name]

    def remove(self, name: str) -> list[list[str]]:
        """Return the commands that kill and remove a container. Without `kill`, podman would wait for ten seconds."""
        return [[self.program, "kill", name], [self.program, "rm", "--force", name]]

    def process_of(self, name: str) -> list[str]:
        """Return the command that prints the host process id of a container; 0 if it is not running."""
        return [self.program, "inspect", "--format", "{{.State.Pid}}", name]

    def containers(self) -> list[str]:
        """Return the command that lists the names of all containers started by assay."""
        words = [self.program, "ps", "--all", "--filter", f"name={CONTAINER_PREFIX}"]
        return [*words, "--format", "{{.Names}}"]

    def image(
        self,
        name: str,
        field: str = "{{.Id}}",
    ) -> list[str]:
        """Return the command that prints one property of an image. It fails if the image does not exist."""
        return [self.program, "image", "inspect", "--format", field, name]

    def enter_namespaces(self) -> list[str]:
        """Return the words to put before a command so that it enters the namespaces of a container.

        Entering them requires privileges.
        """
        if self.kind == "podman" and os.geteuid() != 0:
            return [self.program, "unshare"]
        return []


def client_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for the engine's program, including variables that it passes on to the container."""
    passed = {name: value for name, value in env.items() if not _is_of_client(name)}
    return {**os.environ, **passed}


def _is_of_client(variable: str) -> bool:
    """Return True for variables that the engine's own program needs, such as PATH."""
    return variable in _CLIENT_NAMES or variable.startswith(_CLIENT_PREFIXES)


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of an engine's command, and its error; the error is empty if the command succeeded."""

    output: str
    fault: str = ""


def ask_engine(
    argv: Sequence[str],
    seconds: float = SECONDS_TO_ANSWER,
) -> Answer:
    """Run a short engine command and return its output."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer("", f"no answer in {seconds:g} s")
    except OSError as error:
        return Answer("", str(error.strerror))
    output = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode == 0:
        return Answer(output)
    fault = last_line(done.stderr) or f"it ended with code {done.returncode}"
    return Answer(output, fault)


def find_engine(program: str = "") -> tuple[ContainerEngine | None, str]:
    """Return the named engine, or the first usable one. If none is usable, return None and the reasons."""
    reasons: list[str] = []
    for name in (program,) if program else ENGINES:
        engine = ContainerEngine(name)
        reason = _why_not(engine)
        if not reason:
            return engine, ""
        reasons.append(reason)
    return None, "; ".join(reasons)


def _why_not(engine: ContainerEngine) -> str:
    """Return the reason why an engine cannot be used; empty if it can be used."""
    if engine.kind not in ENGINES:
        return f"{engine.kind} builds no Dockerfiles"
    if shutil.which(engine.program) is None:
        return f"{engine.program} is not installed"
    fault = ask_engine([engine.program, "info"]).fault
    if fault:
        return f"{engine.program} does not answer ({fault})"
    return ""
