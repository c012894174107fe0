"""A scorer worker: a class in a separate process and environment, called like a model and answering with JSON.

`worker/detector` is a shipped worker, `worker/FILE.py:Class` a class of your own. The
process starts when a request is neither in the journal nor in the cache. It is pinged
after a pause, restarted once if it dies, and killed if it hangs. A worker accepts the
options of its class and these: `python`, the interpreter of the environment with its
libraries; `env`, further environment variables; `seconds`, the time limit of an answer;
`start_seconds`, the time limit of loading; `memory_gib`, the limit of its address
space, beyond which a request fails (no limit by default, because CUDA reserves more
than it uses).
"""

import base64
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ...code.userfiles import file_digest
from ...core import (
    EMPTY,
    Abilities,
    Json,
    Media,
    Output,
    Request,
    Text,
    UsageError,
    digest_of,
    trust,
)
from ...core.message import Part
from ...core.secrets import redact_options
from ..weights import weights_digest
from .process import WorkerGone, WorkerHung, WorkerProcess, WorkerUnfit, own_environment
from .sources import find_worker, missing_modules

PING_AFTER_SECONDS = 60.0
GIBIBYTE = 1024**3
UNKEYED = ("device", "batch_size")
"""Options that affect only where and how the result is computed. They are not part of a request key."""


class Worker:
    """The model interface of a worker: sends each request to the worker process and returns the reply."""

    reference: ClassVar[str] = "name"

    def __init__(
        self,
        name: str,
        python: str = "",
        env: Mapping[str, str] = EMPTY,
        seconds: float = 300.0,
        start_seconds: float = 900.0,
        memory_gib: float | None = None,
        **options: object,
    ) -> None:
        if not isinstance(env, Mapping):
            raise UsageError(
                "option 'env' of a worker takes names and values",
                fix='--judge_args {"env": {"A": "1"}}',
            )
        trust.check_option("python", python)
        trust.check_option("env", env)
        self.name = name
        self.source = find_worker(name)
        self.source.check(options, name)
        self.options = options
        self.seconds = float(seconds)
        self.start_seconds = float(start_seconds)
        if memory_gib is not None and not (
            isinstance(memory_gib, (int, float)) and memory_gib > 0
        ):
            raise UsageError(
                f"memory_gib of a worker is {memory_gib!r}",
                fix="a positive number, or leave it out",
            )
        self._memory = None if memory_gib is None else int(memory_gib * GIBIBYTE)
        self.ping_after = PING_AFTER_SECONDS
        self.starts = 0
        """Number of times the process was started."""
        self._python = os.path.expanduser(python)
        self._env = dict(env)
        self._process: WorkerProcess | None = None
        self._unfit: WorkerUnfit | None = None
        self._asked = 0
        self._turn = threading.Lock()

    @property
    def abilities(self) -> Abilities:
        """The abilities that the class declares; by default images and text in, JSON out."""
        return Abilities(
            accepts=self.source.accepts,
            produces=self.source.produces,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this worker: its options, and digests of the class
        file and of weights that options name.
        """
        keyed = {
            name: value for name, value in self.options.items() if name not in UNKEYED
        }
        paths = {
            name: path
            for name, value in keyed.items()
            if (path := _on_disk(value)) is not None
        }
        return {
            "worker": f"{self.source.file.name}:{self.source.kind}",
            "code": file_digest(self.source.file)[:16],
            "options": redact_options(
                {name: value for name, value in keyed.items() if name not in paths}
            ),
            "weights": {name: digest_of_path(path) for name, path in paths.items()},
        }

    def check_ready(self) -> None:
        """Raise if the interpreter lacks a library that the file imports. The process is not started."""
        missing = missing_modules(
            self.source.file,
            self._python,
            own_environment(self._env),
        )
        if missing:
            raise UsageError(
                f"worker {self.name!r} needs {', '.join(missing)}, which {self._python or 'this Python'} does not have",
                fix="install what it needs, or python=PATH of an environment that has it",
            )

    def load(self) -> None:
        """Start the process before the first request."""
        with self._turn:
            self._ready()

    def close(self) -> None:
        """End the process. The next request starts another."""
        with self._turn:
            self._end()

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Answer the requests one after another."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        with self._turn:
            self._asked += 1
            message = {"id": self._asked, **as_message(request)}
            try:
                try:
                    reply = self._ready().ask(message, self.seconds)
                except WorkerGone:
                    self._end()
                    reply = self._ready().ask(message, self.seconds)
            except WorkerHung as error:
                self._end()
                # A retry would also hang, and each takes the whole time limit.
                return Output.failed(
                    "timeout",
                    f"{error}; fix: seconds=… gives it more time",
                    retryable=False,
                )
            except (WorkerGone, WorkerUnfit) as error:
                self._end()
                return Output.failed("exception", str(error), retryable=False)
        if "error" in reply:
            message_text = f"worker {self.name!r}: {reply['error']}"
            return Output.failed(
                str(reply.get("kind", "exception")),
                message_text,
                retryable=False,
            )
        return Output.of(as_part(reply["answer"]))

    def _ready(self) -> WorkerProcess:
        """Return the running process, starting or restarting it. A failed start is not repeated for every sample."""
        if self._unfit is not None:
            raise self._unfit
        if self._process is not None:
            is_fresh = time.monotonic() - self._process.last_heard < self.ping_after
            if is_fresh or self._process.is_well():
                return self._process
            self._end()
        process = WorkerProcess(self.name, self._python, self._env)
        self.starts += 1
        try:
            paths = {
                name: str(path.resolve())
                for name, value in self.options.items()
                if (path := _on_disk(value))
            }
            options = {**self.options, **paths}
            process.start(
                self.source.file,
                self.source.kind,
                options,
                self.start_seconds,
                self._memory,
            )
        except WorkerUnfit as error:
            process.end(at_once=True)
            self._unfit = error
            raise
        self._process = process
        return process

    def _end(self) -> None:
        process = self._process
        self._process = None
        if process is not None:
            process.end()


def as_message(request: Request) -> dict[str, Any]:
    """Return a request as a line for the worker process.

    A medium is sent as a path if it is a file, otherwise as its bytes.
    """
    turns = [
        {"role": message.role, "content": [_plain(part) for part in message.parts]}
        for message in request.messages
        if message.parts is not None
    ]
    return {"messages": turns, "options": request.options.given()}


def as_part(answer: object) -> Part:
    """Convert the answer of a worker to a part: a string to text, anything else to JSON."""
    if isinstance(answer, str):
        return Text(answer)
    return Json(answer)


def digest_of_path(place: Path) -> str:
    """Return the digest of a file, or of all files of a folder with their names."""
    if place.is_file():
        return weights_digest(place)
    files = sorted(
        path
        for path in place.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )
    return digest_of(
        [[path.relative_to(place).as_posix(), weights_digest(path)] for path in files]
    )


def _plain(part: Part) -> dict[str, Any]:
    if isinstance(part, Media):
        if isinstance(part.source, os.PathLike):
            return {"type": part.kind, "path": str(Path(part.source).resolve())}
        return {
            "type": part.kind,
            "base64": base64.b64encode(part.data()).decode("ascii"),
        }
    if isinstance(part, Json):
        return {"type": "json", "value": part.value}
    return {"type": part.kind, "text": part.text}


def _on_disk(value: object) -> Path | None:
    """Return the file or folder in an option's value, such as `weights/`; None if it
    does not exist, as for `org/name`.
    """
    if not isinstance(value, str) or not value:
        return None
    path = Path(value).expanduser()
    return path if path.exists() else None
