"""Base class of specialists: models for one task, such as speech recognition or OCR, and functions to run programs.

A specialist is loaded on first use and answers one request at a time. Most ignore sampling
settings such as a temperature. If several candidates are requested, a specialist without
randomness repeats its answer.
"""

import math
import os
import shutil
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ...core import Abilities, DataError, Media, ModelError, Output, Request, UsageError
from ..answers import failure

SECONDS = 120.0
SHOWN = 200


def find_program(name: str, apt: str) -> str:
    """Return the path of a program, or raise an error with the command that installs it."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(
            f"the program {name!r} is not installed", fix=f"apt-get install -y {apt}"
        )
    return path


def call(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> str:
    """Run a program and return its output.

    Raise a `ModelError` with its last line of stderr if it fails or takes too long.
    """
    name = Path(arguments[0]).name
    try:
        done = subprocess.run(
            list(arguments),
            capture_output=True,
            cwd=folder,
            env={**os.environ, **(more or {})},
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{name} took more than {SECONDS:g} seconds") from error
    except OSError as error:
        raise ModelError(f"{name} could not be started: {error.strerror}") from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()[-SHOWN:]
        raise ModelError(f"{name} exited with status {done.returncode}: {words}")
    return done.stdout.decode("utf-8", "replace")


def version_of(program: str) -> str:
    """Return the first line of a program's `--version` output that looks like a version."""
    words = [program, "--version"]
    done = subprocess.run(
        words,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return next(
        (
            line.strip()
            for line in lines
            if "version" in line.lower() or line[-1:].isdigit()
        ),
        "unknown",
    )


M = TypeVar("M", bound=Media)
Ranges = Mapping[str, tuple[float, float]]
SPEAKS, DRAWS = (Abilities(produces=frozenset({kind})) for kind in ("audio", "image"))
READS = Abilities(
    accepts=frozenset({"text", "image"}),
    images_per_prompt=1,
)
"""Abilities of specialists that recognise the text in images."""


@dataclass
class Specialist(ABC):
    """A model whose engine starts with the first request."""

    batch_size: ClassVar[int] = 1
    label: ClassVar[str]
    """What error messages call the model."""
    draws: ClassVar[bool] = False
    """True if the candidates of one request may differ, because the model uses random numbers."""
    ranges: ClassVar[Ranges] = {}
    """The smallest and largest valid value of each numeric option."""
    _engine: Any = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _lock: Any = field(
        default_factory=threading.Lock,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        """Raise if an option is outside its range."""
        for name, (least, most) in self.ranges.items():
            value = getattr(self, name)
            if not least <= value <= most:
                if most == math.inf:
                    fix = f"at least {least:g}"
                else:
                    fix = f"{least:g} to {most:g}"
                raise UsageError(
                    f"{name} is {value}",
                    where=f"model {self.label!r}",
                    fix=fix,
                )

    def load(self) -> None:
        """Start the engine, if it is not started yet."""
        with self._lock:
            if self._engine is None:
                self._engine = self._start()

    def close(self) -> None:
        """Release the engine."""
        with self._lock:
            self._engine = None

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Answer the requests one after another."""
        self.load()
        return [self._timed(request) for request in requests]

    def _timed(self, request: Request) -> Output:
        """Answer a request with `n` candidates, and measure the duration.

        A model without randomness computes its answer once and repeats it.
        """
        started = time.perf_counter()
        try:
            with self._lock:
                first = self._answer(request, 0)
                rest = range(1, request.options.n)
                more = [
                    self._answer(request, index) if self.draws else first
                    for index in rest
                ]
        except Exception as error:  # noqa: BLE001 - becomes the failure of this sample alone
            return failure(error, self.label)
        candidates = tuple(
            candidate for output in (first, *more) for candidate in output.candidates
        )
        return replace(
            first,
            candidates=candidates,
            seconds=time.perf_counter() - started,
        )

    @abstractmethod
    def _start(self) -> Any:
        """Start and return the engine, which must not be None."""

    @abstractmethod
    def _answer(self, request: Request, index: int) -> Output:
        """Return candidate number `index` for one request."""


def only_medium(
    request: Request,
    kind: type[M],
) -> M:
    """Return the single medium of a kind in the prompt. Raise if there is none, or more than one."""
    media = [medium for medium in request.prompt.media if isinstance(medium, kind)]
    if not media:
        raise DataError(
            f"the sample has no {kind.kind}",
            fix="name the column that holds it, or leave the row out",
        )
    if len(media) > 1:
        raise ModelError(f"takes one {kind.kind} at a time, got {len(media)}")
    return media[0]


def only_text(request: Request) -> str:
    """Return the text of the only turn that contains text.

    Raise if there are several, because a model that accepts one text would ignore the others.
    """
    texts = [message.text.strip() for message in request.messages]
    texts = [text for text in texts if text]
    if not texts:
        raise ModelError("the prompt has no text")
    if len(texts) > 1:
        raise DataError(
            f"the model takes one text, and the prompt has {len(texts)} turns",
            fix="put all of it into one turn, with a template",
        )
    return texts[0]


def ignored_text(request: Request) -> dict[str, Any]:
    """Return the details to record in an output if the prompt has a text that the model ignores."""
    if any(message.text.strip() for message in request.messages):
        return {"ignored": "text"}
    return {}
