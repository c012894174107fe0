"""Runs inside a sandbox and stays: executes the requests of one workspace, one after another.

A request and its reply are one line of JSON each, followed by as many bytes as its `sizes` add up to. The programs of
a workspace run as the same user as this process. They may end it, which ends the workspace, but cannot read its
memory or its streams. Imports only the standard library, and runs on any Python 3 that a container may have.
"""

import io
import json
import os
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time

CHUNK = 1 << 16
NOT_DUMPABLE = 4, 0
"""Arguments of prctl that prevent other processes of the same user from inspecting this one."""
SECONDS_TO_DRAIN = 0.2
"""Seconds to continue reading a finished command's output if a background process keeps the pipe open."""
home = "/tmp/work"
host_link = -1
"""Descriptor of a socket that passes descriptors to the host; -1 if there is none."""
marked: dict = {}  # type: ignore[type-arg]
"""The last snapshot of each folder: size and times of its files."""
SKIPPED_FOLDERS = (".git", "__pycache__", "node_modules", ".cache", ".venv", "venv")
"""Folders whose files are not reported as changed."""


class Refused(Exception):
    """Raised if a request cannot be carried out. The message gives the reason."""


class Requests:
    """Reads the requests of the host. A request that arrives while a command runs asks to stop the command."""

    def __init__(self) -> None:
        self.number = -1
        self._received = bytearray()

    @property
    def has_more(self) -> bool:
        """True if more than the current request has arrived."""
        return bool(self._received)

    def line(self) -> bytes:
        """Return the next line; empty if there are no more requests."""
        while b"\n" not in self._received:
            if not self._receive():
                return b""
        return self.take(self._received.index(b"\n") + 1)

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes, or fewer if the stream ends."""
        while len(self._received) < size and self._receive():
            pass
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def _receive(self) -> bool:
        chunk = os.read(self.number, CHUNK)
        self._received += chunk
        return bool(chunk)


requests = Requests()


def main(settings: dict) -> None:  # type: ignore[type-arg]
    """Carry out requests until there are no more."""
    global home, host_link
    host_link = settings["facts"].get("link", -1)
    home = os.getcwd()
    hide_from_others()
    make_folders(settings["facts"])
    requests.number = os.dup(0)
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    while True:
        line = requests.line()
        if not line:
            return
        request = json.loads(line)
        blobs = [requests.take(size) for size in request.pop("sizes")]
        operation = OPERATIONS[request.pop("operation")]
        try:
            reply, contents = operation(*blobs, **request)  # type: ignore[operator]
        except (Refused, OSError, ValueError, tarfile.TarError) as error:
            reply, contents = {"error": str(error)}, []
        reply["sizes"] = [len(content) for content in contents]
        replies.write(json.dumps(reply).encode() + b"\n" + b"".join(contents))
        replies.flush()


def hide_from_others() -> None:
    """Prevent other processes of the same user from reading this process."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(*NOT_DUMPABLE, 0, 0, 0)
    except (ImportError, OSError):
        pass  # a container may have a Python without ctypes


def make_folders(facts: dict) -> None:  # type: ignore[type-arg]
    """Make the folders that commands expect, and a link named `python` that points to the interpreter."""
    for folder in facts.get("folders", ()):
        os.makedirs(folder, exist_ok=True)
    programs = facts.get("programs")
    if programs:
        os.makedirs(programs, exist_ok=True)
        for name in ("python", "python3"):
            os.symlink(sys.executable, os.path.join(programs, name))


def execute(
    stdin: bytes,
    argv: list,  # type: ignore[type-arg]
    env: dict,  # type: ignore[type-arg]
    folder: str,
    seconds: float,
    most_output: int,
) -> tuple:  # type: ignore[type-arg]
    """Run a command until it ends or reaches its time limit. Its background processes stay."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=os.path.join(home, folder),
            env=env,
        )
    except (OSError, ValueError) as error:
        raise Refused(f"the command cannot be started: {error}") from error
    streams = Streams(process, stdin, most_output)
    ending = streams.serve_until_end(time.monotonic() + seconds)
    if ending != "exited":
        end_everything()
        streams.drain(time.monotonic() + SECONDS_TO_DRAIN)
    code = process.wait()
    streams.close()
    reply = {
        "ending": ending,
        "code": code if ending == "exited" else None,
        "truncated": streams.is_truncated,
    }
    return reply, [bytes(streams.stdout), bytes(streams.stderr)]


def end_everything() -> None:
    """Kill every other process of the workspace.

    Without a pid namespace, raise instead, because processes of the host would be killed.
    """
    if 1 not in (os.getpid(), os.getppid()):
        raise SystemExit("a workspace needs its own process namespace")
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass  # there is none


class Streams:
    """The standard streams of one command."""

    def __init__(self, process, stdin: bytes, most_output: int) -> None:  # type: ignore[no-untyped-def]
        self.stdout, self.stderr = bytearray(), bytearray()
        self.is_truncated = False
        self._process = process
        self._unsent = memoryview(stdin)
        self._most = most_output
        self._selector = selectors.DefaultSelector()
        self._outputs = {
            process.stdout.fileno(): self.stdout,
            process.stderr.fileno(): self.stderr,
        }
        for number in self._outputs:
            os.set_blocking(number, False)
            self._selector.register(number, selectors.EVENT_READ)
        self._has_ended = False
        self._pidfd = os.pidfd_open(process.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        self._is_stopped = requests.has_more
        self._selector.register(requests.number, selectors.EVENT_READ)
        self._input = process.stdin.fileno()
        if stdin:
            os.set_blocking(self._input, False)
            self._selector.register(self._input, selectors.EVENT_WRITE)
        else:
            process.stdin.close()

    def serve_until_end(self, deadline: float) -> str:
        """Feed and drain the command until it ends, a stop request arrives, or the deadline passes.

        Return which of these happened.
        """
        while not self._has_ended:
            left = deadline - time.monotonic()
            if self._is_stopped:
                return "stopped"
            if left <= 0:
                return "wall_time"
            self._serve(left)
        self.drain(time.monotonic() + SECONDS_TO_DRAIN)
        return "exited"

    def drain(self, deadline: float) -> None:
        """Read the available output. A background process may keep the pipes open without writing."""
        while self._serve(0):
            if time.monotonic() > deadline:
                return

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        os.close(self._pidfd)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()

    def _serve(self, seconds: float) -> bool:
        """Wait until a pipe is ready, and read or write it. Return False if none was ready in time."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.fd == self._pidfd:
                self._has_ended = True
                self._selector.unregister(self._pidfd)
            elif key.fd == requests.number:
                self._is_stopped = True
                self._selector.unregister(requests.number)
            elif key.fd == self._input:
                self._feed()
            else:
                self._read(key.fd)
        return bool(ready)

    def _feed(self) -> None:
        try:
            sent = os.write(self._input, self._unsent[:CHUNK])
            self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return
        except OSError:  # the command has closed its input
            self._unsent = self._unsent[len(self._unsent) :]
        if not self._unsent:
            self._selector.unregister(self._input)
            self._process.stdin.close()

    def _read(self, number: int) -> None:
        chunk = os.read(number, CHUNK)
        if not chunk:
            self._selector.unregister(number)
            return
        output = self._outputs[number]
        room = self._most - len(output)
        if len(chunk) > room:
            self.is_truncated = True
        output += chunk[: max(room, 0)]


def read(path: str, most_bytes: int) -> tuple:  # type: ignore[type-arg]
    """Return the content of a file as the reply to a request. Raise `Refused` if the file is too large."""
    # Without O_NONBLOCK, opening a pipe would block.
    flags = os.O_RDONLY | os.O_NONBLOCK
    number = os.open(os.path.join(home, path), flags)
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise Refused(f"{path} is not a file")
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Refused(f"{path} is larger than {most_bytes:,} bytes")
    return {}, [data]


def write(data: bytes, path: str, mode: int) -> tuple:  # type: ignore[type-arg]
    """Write a file, and the folders above it. Replace an existing file."""
    path = os.path.join(home, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(path):
        os.unlink(path)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return {}, []


def pack(path: str, most_bytes: int) -> tuple:  # type: ignore[type-arg]
    """Return a file or folder as a tar archive. Devices, sockets and pipes are left out."""
    path = os.path.join(home, path)
    archive = io.BytesIO()
    entry_types = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
    total = 0

    def choose(entry):  # type: ignore[no-untyped-def]
        nonlocal total
        total += entry.size
        if total > most_bytes:
            raise Refused(f"{path} holds more than {most_bytes:,} bytes")
        return entry if entry.type in entry_types else None

    with tarfile.open(
        fileobj=archive,
        mode="w",
        dereference=False,
    ) as tar:
        tar.add(
            path,
            arcname=".",
            filter=choose,
        )
    return {}, [archive.getvalue()]


def unpack(archive: bytes, path: str) -> tuple:  # type: ignore[type-arg]
    """Write the files of a tar archive into a folder."""
    path = os.path.join(home, path)
    os.makedirs(path, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(path)
    return {}, []


def remove(path: str) -> tuple:  # type: ignore[type-arg]
    """Remove a file or folder, if it exists."""
    path = os.path.join(home, path)
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
    return {}, []


def listen() -> tuple:  # type: ignore[type-arg]
    """Listen on the loopback interface of the sandbox, and pass the socket to the host, which accepts connections."""
    import socket

    if host_link < 0:
        raise Refused("this kind of sandbox passes no sockets to the host")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    with socket.socket(fileno=os.dup(host_link)) as host:
        socket.send_fds(host, [b"listening"], [listening.fileno()])
    port = listening.getsockname()[1]
    listening.close()
    return {"port": port}, []


def mark(path: str) -> tuple:  # type: ignore[type-arg]
    """Take a snapshot of the files in a folder, so that `changes` can detect new and different ones."""
    marked[path] = dict(files_below(path))
    return {}, []


def changes(path: str, most_bytes: int, most_files: int) -> tuple:  # type: ignore[type-arg]
    """Return the files that were added or changed since the last snapshot, as a tar archive.

    Files beyond a limit are left out, and the reply has their names and sizes.
    """
    before = marked.get(path, {})
    archive = io.BytesIO()
    left_out: list = []  # type: ignore[type-arg]
    total = count = 0
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, state in files_below(path):
            if before.get(name) == state:
                continue
            count += 1
            if count > most_files or total + state[0] > most_bytes:
                left_out.append([name[:300], state[0]])
                continue
            total += state[0]
            tar.add(
                os.path.join(home, path, name),
                arcname=name,
                recursive=False,
            )
    reply = {"left_out": left_out[:100], "left_out_count": len(left_out)}
    return reply, [archive.getvalue()]


def files_below(path: str):  # type: ignore[no-untyped-def]
    """Yield the regular files of a folder, sorted by name, each with size and times."""
    top = os.path.join(home, path)
    for folder, names, files in os.walk(top):
        names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
        for name in sorted(files):
            full = os.path.join(folder, name)
            try:
                state = os.lstat(full)
            except OSError:
                continue  # it has just been removed
            if stat.S_ISREG(state.st_mode):
                times = state.st_size, state.st_mtime_ns, state.st_ctime_ns
                yield os.path.relpath(full, top), times


def end_processes() -> tuple:  # type: ignore[type-arg]
    """End the processes that commands left in the background."""
    end_everything()
    return {}, []


def stop() -> tuple:  # type: ignore[type-arg]
    """Return an empty reply. The running command was already stopped when this request arrived."""
    return {}, []


OPERATIONS = {
    "mark": mark,
    "changes": changes,
    "stop": stop,
    "end_processes": end_processes,
    "execute": execute,
    "read": read,
    "write": write,
    "pack": pack,
    "unpack": unpack,
    "remove": remove,
    "listen": listen,
}
