"""A workspace in a container of docker or podman, for tasks with their own image.

It has the methods of `Workspace`. Commands run by `exec` of the engine, so the image needs a shell and no Python. All
processes are ended by restarting the container, which keeps its files.
"""

import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from ..core import EMPTY, UsageError
from .box import as_bytes
from .bubblewrap import PROGRAM_FOLDERS
from .container import (
    CONTAINER_PREFIX,
    SECONDS_TO_ANSWER,
    ContainerEngine,
    ContainerLimits,
    ask_engine,
    client_env,
)
from .folders import is_stale, visible_prefix
from .launch import Execution, Launch, Limits, last_line
from .running import Running, SandboxError, Stopper, attend
from .workspace import Changes, WorkspaceEndedError, WorkspaceLimits
from .workspace_inside import SKIPPED_FOLDERS

ROOT_USER = "0"
SECONDS_TO_START = 120.0
SECONDS_TO_COPY = 600.0
CLIENT_MEMORY_MB = 4096
"""Memory limit of the command-line client of the engine. The container has a separate limit."""
WRITE = 'mkdir -p "$(dirname "$1")" && rm -f "$1" && cat > "$1" && chmod "$2" "$1"'
MAKE_FOLDER = 'mkdir -p "$1" && chmod 777 "$1"'
READABLE = 'chmod -R a+rX "$1"'
NOT_STARTED = re.compile(r"(Error: .*exec failed|OCI runtime exec failed|Error: .*OCI)")
"""Matches an engine's error message that a command could not be started."""
MOST_FAULT = 2000
MOST_LARGE_FILES = 20
"""Maximum number of changed files that are skipped as too large. After that, no more files are read."""


class ContainerWorkspace:
    """A container that keeps running and runs commands one after another."""

    def __init__(
        self,
        engine: ContainerEngine,
        image: str,
        limits: ContainerLimits = ContainerLimits(),
        *,
        user: str = "",
        mounts: Sequence[str] = (),
        stopper: Stopper | None = None,
        command_limits: WorkspaceLimits = WorkspaceLimits(),
    ) -> None:
        self.engine = engine
        self.limits = command_limits
        self.user = user
        """The user that commands run as; empty for the image's user."""
        self._mounts = tuple(mounts)
        self._stopper = stopper or Stopper()
        self._name = (
            f"{visible_prefix(CONTAINER_PREFIX)}{os.getpid()}-{secrets.token_hex(6)}"
        )
        self._lock = threading.Lock()
        self._current: Running | None = None
        self._must_stop = False
        self._is_closed = False
        self._marked: dict[str, frozenset[str]] = {}
        self._remover = start_remover(engine.remove(self._name))
        start = engine.start(self._name, image, limits, self._mounts)
        fault = ask_engine(start, SECONDS_TO_START).fault
        if fault:
            self.close()
            raise SandboxError(
                f"{engine.program} cannot start a container: {fault}",
                fix="see the message of the engine",
            )

    def __enter__(self) -> "ContainerWorkspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_ended(self) -> bool:
        """True if no further command can run in the container."""
        return self._is_closed

    def exec(
        self,
        command: str | Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        folder: str = "",
    ) -> Execution:
        """Run a command: a shell line, or a program and its arguments.

        If the command reaches its time limit, all processes of the container are ended.
        """
        if isinstance(command, str):
            argv = ["sh", "-c", command]
        else:
            argv = list(command)
        argv[0] = self._program_inside(argv[0])
        if timeout is None:
            seconds = self.limits.command_seconds
        else:
            seconds = timeout
        return self._execute(argv, as_bytes(stdin), seconds, env or {}, folder)

    def stop_command(self) -> None:
        """End the command that another thread is running, and all its processes. Files are kept."""
        with self._lock:
            self._must_stop = True
            if self._current is not None:
                self._current.end()

    def end_processes(self) -> None:
        """End all processes except the container's first one, by restarting the container."""
        fault = ask_engine(self.engine.restart(self._name), SECONDS_TO_START).fault
        if fault:
            raise self._ended(fault)

    def kill(self) -> None:
        """End the container. Any thread may call this. The running command fails, and
        `close` must still be called.
        """
        self._is_closed = True
        assert self._remover.stdin is not None
        self._remover.stdin.close()

    def close(self) -> None:
        """End all processes and remove the container."""
        self.kill()
        self._remover.wait()

    def read(self, path: str) -> bytes:
        """Return the content of a file. No program of the container is involved."""
        with _Archive(self.engine.copy_out(self._name, path)) as archive:
            for entry in archive:
                if entry.isreg() and entry.size <= self.limits.file_bytes:
                    content = archive.extractfile(entry)
                    assert content is not None
                    return content.read()
                break
        raise UsageError(f"{path} is not a file that can be read", fix="check the path")

    def write(
        self,
        path: str,
        data: str | bytes,
        mode: int = 0o644,
    ) -> None:
        """Write a file, and the folders above it, as the user of the container."""
        argv = ["sh", "-c", WRITE, "sh", path, f"{mode:o}"]
        self._must_succeed(self._execute(argv, as_bytes(data), SECONDS_TO_COPY), path)

    def make_folder(self, path: str) -> None:
        """Make a folder that every user of the container can write to."""
        self._as_root(["sh", "-c", MAKE_FOLDER, "sh", path], path)

    def remove(self, path: str) -> None:
        """Remove a file or folder. Raise if it still exists, because the container's `rm` may have been replaced."""
        self._as_root(["rm", "-rf", path], path)
        if not ask_engine(self.engine.copy_out(self._name, path)).fault:
            raise UsageError(
                f"{path} cannot be removed from the container",
                fix="see what the agent did to its programs",
            )

    def put(self, source: Path, path: str) -> None:
        """Copy a file or a folder of the host into the container, readable for all its users."""
        if source.is_dir():
            target = path
        else:
            target = os.path.dirname(path)
        self._as_root(["mkdir", "-p", target], path)
        words = self.engine.copy_in(self._name, source, path)
        fault = ask_engine(words, SECONDS_TO_COPY).fault
        if fault:
            raise SandboxError(
                f"{source} cannot be copied into the container: {fault}",
                fix="see the message of the engine",
            )
        self._as_root(["sh", "-c", READABLE, "sh", path], path)

    def mark(self, path: str = ".") -> None:
        """Take a snapshot of a folder for `changes`: record which of its files already differ from the image."""
        self._marked[path] = frozenset(self._changed_files(path))

    def changes(
        self,
        path: str = ".",
        most_bytes: int = 16 << 20,
        most_files: int = 1000,
    ) -> Changes:
        """Return the files that were added or changed since the last snapshot of the folder (`mark`)."""
        before = self._marked.get(path, frozenset())
        names = [name for name in self._changed_files(path) if name not in before]
        left_out = dict.fromkeys(names[most_files:], 0)
        waiting = names[:most_files]
        files: dict[str, bytes] = {}
        for _ in range(MOST_LARGE_FILES):
            too_large = self._read_files(path, waiting, files, most_bytes)
            if too_large is None:
                return Changes(files, left_out)
            name, size = too_large
            left_out[name] = size
            waiting = waiting[waiting.index(name) + 1 :]
        return Changes(files, {**left_out, **dict.fromkeys(waiting, 0)})

    def listen(self) -> socket.socket:
        """Return a socket that listens on a port of 127.0.0.1 inside the container.

        Connections are accepted on the host. Nothing outside this container can connect to the port.
        """
        answer = ask_engine(self.engine.process_of(self._name))
        if answer.fault or answer.output in ("", "0"):
            raise self._ended(answer.fault or "it does not run")
        with tempfile.TemporaryDirectory(prefix="assay-listen-") as folder:
            path = f"{folder}/socket"
            with socket.socket(socket.AF_UNIX) as host:
                host.bind(path)
                host.listen(1)
                host.settimeout(SECONDS_TO_ANSWER)
                return self._listen_inside(answer.output, path, host)

    def _listen_inside(
        self,
        pid: str,
        path: str,
        host: socket.socket,
    ) -> socket.socket:
        """Start the process that listens in the container's network, and return its socket."""
        script = Path(__file__).with_name("listen_inside.py")
        words = [*self.engine.enter_namespaces(), sys.executable, "-I", "-S"]
        process = subprocess.Popen(
            [*words, str(script), pid, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        numbers: list[int] = []
        with process:
            try:
                connection, _ = host.accept()
                with connection:
                    _, numbers, _, _ = socket.recv_fds(connection, 16, 1)
            except OSError:
                process.kill()
            if process.stderr:
                stderr = process.stderr.read()
            else:
                stderr = b""
        if not numbers:
            raise SandboxError(
                f"the network of the container cannot be entered: {last_line(stderr)}",
                fix="run assay as root, or use podman as the user who runs assay",
            )
        return socket.socket(fileno=numbers[0])

    def _execute(
        self,
        argv: Sequence[str],
        stdin: bytes = b"",
        seconds: float = SECONDS_TO_ANSWER,
        env: Mapping[str, str] = EMPTY,
        folder: str = "",
        user: str | None = None,
    ) -> Execution:
        """Run a command with the engine. If it had to be stopped, end all processes of the container."""
        if user is None:
            chosen = self.user
        else:
            chosen = user
        words = self.engine.execute(
            self._name,
            argv,
            env=env,
            folder=folder,
            user=chosen,
        )
        limits = Limits(
            wall_seconds=seconds,
            memory_mb=CLIENT_MEMORY_MB,
            output_bytes=self.limits.output_bytes,
        )
        launch = Launch(
            argv=words,
            env=client_env(env),
        )
        self._must_stop = False
        with Running(launch, stdin, limits) as running:
            with self._lock:
                self._current = running
            try:
                with self._stopper.watching(running):
                    attend([running], running.started + seconds)
                done = running.finished()
            finally:
                with self._lock:
                    self._current = None
                    was_stopped = self._must_stop
        if was_stopped or done.ending == "wall_time":
            self.end_processes()
            return replace(done, ending="killed") if was_stopped else done
        if not done.succeeded:
            self._check_running()
            check_started(done)
        return done

    def _as_root(
        self,
        argv: Sequence[str],
        path: str,
    ) -> None:
        self._must_succeed(
            self._execute(
                argv,
                seconds=SECONDS_TO_COPY,
                user=ROOT_USER,
            ),
            path,
        )

    def _must_succeed(self, done: Execution, path: str) -> None:
        """Raise if a command that assay itself ran in the container failed."""
        if not done.succeeded:
            words = last_line(done.stderr) or f"it ended with {done.returncode}"
            raise UsageError(
                f"{path} cannot be written in the container: {words}",
                fix="the image needs sh, mkdir, cat, chmod and rm",
            )

    def _check_running(self) -> None:
        """Raise if the container has ended. Otherwise the command itself caused the failure."""
        answer = ask_engine(self.engine.process_of(self._name))
        if answer.fault or answer.output == "0":
            raise self._ended(answer.fault or "its processes ended")

    def _ended(self, reason: str) -> WorkspaceEndedError:
        self._stopper.raise_if_stopped()
        return WorkspaceEndedError(
            f"the container has ended: {reason}",
            fix="see the command before, and the memory of the task",
        )

    def _program_inside(self, program: str) -> str:
        """Return the path or name that starts a program of the host inside the container.

        A program in a mounted folder keeps its path. For a system program, the image's
        program of the same name is used.
        """
        if any(program.startswith(f"{folder}/") for folder in self._mounts):
            return program
        folder, name = os.path.split(program)
        return name if folder in PROGRAM_FOLDERS else program

    def _changed_files(self, folder: str) -> list[str]:
        """Return the files below a folder that differ from the image, as relative paths."""
        answer = ask_engine(self.engine.changed_files(self._name), SECONDS_TO_COPY)
        prefix = f"{folder.rstrip('/')}/"
        names: list[str] = []
        for line in answer.output.splitlines():
            kind, _, path = line.partition(" ")
            if kind not in ("A", "C") or not path.startswith(prefix):
                continue
            name = path.removeprefix(prefix)
            if not any(part in SKIPPED_FOLDERS for part in name.split("/")):
                names.append(name)
        return sorted(names)

    def _read_files(
        self,
        folder: str,
        names: Sequence[str],
        files: dict[str, bytes],
        most_bytes: int,
    ) -> tuple[str, int] | None:
        """Read the named files of a folder and add the contents of the regular ones to `files`.

        Return name and size of the first file that is too large, or None if none is.
        """
        if not names:
            return None
        left = most_bytes - sum(map(len, files.values()))
        listed = " ".join(map(shlex.quote, names))
        tar = f"tar -cf - --no-recursion -- {listed}"
        words = self.engine.execute(
            self._name,
            ["sh", "-c", tar],
            env={},
            folder=folder,
            user=ROOT_USER,
        )
        with _Archive(words) as archive:
            for entry in archive:
                if not entry.isreg():
                    continue
                if entry.size > left:
                    return entry.name, entry.size
                content = archive.extractfile(entry)
                assert content is not None
                files[entry.name] = content.read()
                left -= entry.size
        return None


def check_started(done: Execution) -> None:
    """Raise if a command could not be started: its program is missing, or its user may not execute it."""
    for output in (done.stdout, done.stderr):
        text = output[:MOST_FAULT].decode("utf-8", "replace").strip()
        if done.returncode in (126, 127) and NOT_STARTED.match(text):
            reason = text.rpartition("exec: ")[2]
            raise UsageError(
                f"the command cannot be started in the container: {reason}",
                fix="install its program in the image or in a folder that all users"
                " may enter, such as /opt",
            )


class _Archive:
    """Reads the entries of a tar archive, which a command writes, one by one."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._tar: tarfile.TarFile | None = None

    def __enter__(self) -> "_Archive":
        self._process = subprocess.Popen(
            self._argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        try:
            with tarfile.open(
                fileobj=self._process.stdout,
                mode="r|",
            ) as self._tar:
                yield from self._tar
        except tarfile.TarError:
            return  # there is no such file, or the command failed

    def extractfile(self, entry: tarfile.TarInfo) -> IO[bytes] | None:
        """Return the content of the current entry."""
        assert self._tar is not None
        return self._tar.extractfile(entry)


def start_remover(commands: Sequence[Sequence[str]]) -> "subprocess.Popen[bytes]":
    """Start a process that runs these commands once its standard input is closed, even if assay is killed."""
    lines = [f"{shlex.join(words)} >/dev/null 2>&1" for words in commands]
    script = "; ".join(["read _", *lines])
    return subprocess.Popen(
        ["sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def remove_stale_containers(engine: ContainerEngine) -> None:
    """Remove the containers of killed assay processes."""
    prefix = visible_prefix(CONTAINER_PREFIX)
    for name in ask_engine(engine.containers()).output.split():
        if is_stale(name, prefix):
            for words in engine.remove(name):
                ask_engine(words)


def build_image(
    engine: ContainerEngine,
    context: Path,
    tag: str,
    *,
    network: bool,
    seconds: float,
    stopper: Stopper,
) -> None:
    """Build the Dockerfile of a folder. Raise `UsageError` with the last lines of the output if it fails."""
    words = engine.build(context, tag, network)
    limits = Limits(wall_seconds=seconds, memory_mb=CLIENT_MEMORY_MB)
    launch = Launch(
        argv=words,
        env=dict(os.environ),
    )
    started = time.monotonic()
    with Running(launch, b"", limits) as running:
        with stopper.watching(running):
            attend([running], started + seconds)
        done = running.finished()
    if done.succeeded:
        return
    ended = f"code {done.returncode}"
    if done.ending == "wall_time":
        ended = f"no result in {seconds:g} s, the limit of the task"
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").split("\n")
    words_of_engine = " ".join(line.strip() for line in lines[-8:])[-400:]
    raise UsageError(
        f"the image cannot be built ({ended}): {words_of_engine}",
        where=str(context / "Dockerfile"),
        fix="correct the Dockerfile, or --agent_args build_network=on if it downloads",
    )
