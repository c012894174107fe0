"""The command lines of container engines that build images and keep containers running: docker and podman.

Both take the same commands. Every command line that assay starts is built here, so that it can be tested without an
engine.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .launch import last_line

ENGINES = ("docker", "podman")
"""Programs to look for, in this order."""
CONTAINER_PREFIX = "assay-task-"
IMAGE_LABEL = "assay"
WAITING = "while :; do sleep 86400; done"
"""The command of a container's first process. A shell that waits also reaps processes that lost their parent."""
SECONDS_TO_ANSWER = 30.0
_CLIENT_NAMES = frozenset({"PATH", "HOME", "USER", "SHELL", "TMPDIR"})
_CLIENT_PREFIXES = ("DOCKER_", "CONTAINER", "PODMAN_", "BUILDAH_", "XDG_", "LD_", "GO")


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """What one container may use of the machine."""

    memory_mb: int = 2048
    cpus: float | None = None
    """Number of processors; None for all of the machine."""
    processes: int = 512


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """An engine by its program, docker or podman."""

    program: str
    """Name or path."""

    @property
    def kind(self) -> str:
        """The name of the program."""
        return os.path.basename(self.program)

    def build(self, context: Path, tag: str, network: bool) -> list[str]:
        """Return the command that builds the Dockerfile of a folder. RUN steps have a network only if it is allowed."""
        words = [self.program, "build", "--tag", tag, "--label", IMAGE_LABEL]
        words += ["--force-rm"]
        if self.kind == "podman":
            # The format of OCI has no SHELL and no HEALTHCHECK.
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
        """Return the command that starts a container without a network, in which commands can run."""
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

        Variables are passed by name, with their values in `client_env`, so that no list of processes shows them.
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

    def copy_in(self, name: str, source: Path, path: str) -> list[str]:
        """Return the command that copies a file, or the contents of a folder, into a container."""
        text = f"{source}/." if source.is_dir() else str(source)
        return [self.program, "cp", text, f"{name}:{path}"]

    def copy_out(self, name: str, path: str) -> list[str]:
        """Return the command that writes a file of a container to standard output, as a tar archive."""
        return [self.program, "cp", f"{name}:{path}", "-"]

    def changed_files(self, name: str) -> list[str]:
        """Return the command that lists the files that differ from the image."""
        return [self.program, "diff", name]

    def restart(self, name: str) -> list[str]:
        """Return the command that kills all processes of a container and starts it again with its files."""
        return [self.program, "restart", "--time", "0", name]

    def remove(self, name: str) -> list[list[str]]:
        """Return the commands that end and remove a container. Without `kill`, podman would wait for ten seconds."""
        return [[self.program, "kill", name], [self.program, "rm", "--force", name]]

    def process_of(self, name: str) -> list[str]:
        """Return the command that prints the process id of a container on this machine; 0 if it is not running."""
        return [self.program, "inspect", "--format", "{{.State.Pid}}", name]

    def containers(self) -> list[str]:
        """Return the command that prints the names of all containers of assay."""
        words = [self.program, "ps", "--all", "--filter", f"name={CONTAINER_PREFIX}"]
        return [*words, "--format", "{{.Names}}"]

    def image(self, name: str, field: str = "{{.Id}}") -> list[str]:
        """Return the command that prints a field of an image. It fails if the image does not exist."""
        return [self.program, "image", "inspect", "--format", field, name]

    def enter_namespaces(self) -> list[str]:
        """Return the words before a command that enters the namespaces of a container: it needs permission."""
        if self.kind == "podman" and os.geteuid() != 0:
            return [self.program, "unshare"]
        return []


def client_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an engine's program, with the variables that it passes on."""
    passed = {name: value for name, value in env.items() if not _is_of_client(name)}
    return {**os.environ, **passed}


def _is_of_client(variable: str) -> bool:
    """Return True for variables that would change what the engine's own program does."""
    return variable in _CLIENT_NAMES or variable.startswith(_CLIENT_PREFIXES)


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of an engine's command, and the error; empty if there is none."""

    output: str
    fault: str = ""


def ask_engine(argv: Sequence[str], seconds: float = SECONDS_TO_ANSWER) -> Answer:
    """Run a short command of an engine."""
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
    """Return the named engine, or the first one that answers, and why the others cannot be used."""
    reasons: list[str] = []
    for name in (program,) if program else ENGINES:
        engine = ContainerEngine(name)
        reason = _why_not(engine)
        if not reason:
            return engine, ""
        reasons.append(reason)
    return None, "; ".join(reasons)


def _why_not(engine: ContainerEngine) -> str:
    """Return why an engine cannot be used; empty if it can."""
    if engine.kind not in ENGINES:
        return f"{engine.kind} builds no Dockerfiles"
    if shutil.which(engine.program) is None:
        return f"{engine.program} is not installed"
    fault = ask_engine([engine.program, "info"]).fault
    return f"{engine.program} does not answer ({fault})" if fault else ""
