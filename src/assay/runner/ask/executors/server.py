"""The replica process: it builds the model from its name, answers frames, and keeps the states of dialogues.

A frame requests one operation: `load`, `look` (check a prompt), `ask` or `close`. An error that ends the run is sent
back as data. A failed request is an output with an error.
"""

import asyncio
import inspect
import itertools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ....core import (
    AssayError,
    Model,
    ModelError,
    Output,
    Request,
    UsageError,
    blamed,
    digest_of,
)
from ...options import RunOptions
from ...plan.models import trusted_model
from ..calls import call_async, call_in_halves, close_model, fit_batch, load_model
from ..threads import Threads
from .wire import media_of, outputs_to_plain, pack, request_from_plain, unpack


class Server:
    """One model that answers the requests of another process."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._threads: Threads | None = None
        self._states: dict[int, Any] = {}
        self._tokens = itertools.count(1)

    async def handle(self, frame: bytes) -> bytes:
        """Return the reply to one frame."""
        head, blobs = unpack(frame)
        try:
            if head["call"] == "load":
                return pack(await self._load(head))
            if head["call"] == "close":
                return pack(await self._close())
            if head["call"] == "look":
                return pack(await self._look(head, blobs))
            return await self._ask(head, blobs)
        except AssayError as error:
            return pack({"fault": _fault(error)})

    async def _load(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Build and load the model."""
        # Relative paths and the user's modules must mean the same here as where the run was started.
        if os.path.isdir(head["folder"]):
            os.chdir(head["folder"])
        sys.path += [
            folder
            for folder in head["path"]
            if folder not in sys.path and os.path.exists(folder)
        ]
        options = RunOptions.from_plain(head["options"], where="the replica's options")
        model = trusted_model(head["model"], options)
        self._threads = Threads(head["threads"], "model")
        await load_model(
            model,
            f"loading model {head['model']!r}",
            self._threads.submit,
        )
        if options.batch_size == "auto":
            await self._threads.submit(fit_batch, model)
        self._model = model
        return {"identity": digest_of(dict(model.identity)), "pid": os.getpid()}

    async def _look(
        self,
        head: Mapping[str, Any],
        blobs: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the model's warnings about how it renders a prompt."""
        assert self._model is not None and self._threads is not None
        request = request_from_plain(head["request"], media_of(blobs))
        try:
            preflight = self._model.preflight  # type: ignore[attr-defined]
            faults = await self._threads.submit(
                preflight,
                request.prompt,
                request.options.stop,
            )
        except AssayError:
            raise
        except Exception as error:
            raise blamed(ModelError, error, "looking at the first prompt") from error
        return {"faults": [str(fault) for fault in faults]}

    async def _ask(
        self,
        head: Mapping[str, Any],
        blobs: Mapping[str, Any],
    ) -> bytes:
        """Answer the requests in a frame."""
        for token in head.get("released", ()):
            self._states.pop(token, None)
        media = media_of(blobs)
        requests = [
            request_from_plain(plain, media, self._state(plain))
            for plain in head["requests"]
        ]
        started = time.perf_counter()
        outputs, fits = await self._answers(requests)
        seconds = time.perf_counter() - started
        output_blobs: dict[str, Any] = {}
        plain = outputs_to_plain(outputs, output_blobs)
        for entry, output in zip(plain, outputs, strict=True):
            if output.state is not None:
                entry["state"] = token = next(self._tokens)
                self._states[token] = output.state
        return pack({"outputs": plain, "fits": fits, "seconds": seconds}, output_blobs)

    def _state(self, plain: Mapping[str, Any]) -> object:
        """Return the stored dialogue state that a request continues; None for the first request of a dialogue."""
        if "state" in plain:
            return self._states[plain["state"]]
        return None

    async def _answers(self, requests: Sequence[Request]) -> tuple[list[Output], int]:
        """Call the model. Return the outputs, and how many requests fit into memory (0 if all did)."""
        assert self._model is not None and self._threads is not None
        if inspect.iscoroutinefunction(self._model.generate):
            outputs = [await call_async(self._model, request) for request in requests]
            return outputs, 0
        return await self._threads.submit(call_in_halves, self._model, requests)

    async def _close(self) -> dict[str, Any]:
        if self._model is not None:
            await asyncio.wait_for(close_model(self._model), 5)
        return {}


def _fault(error: AssayError) -> dict[str, Any]:
    """Convert an error to a dictionary that can be sent to the main process."""
    kind = "usage" if isinstance(error, UsageError) else "model"
    if error.where is None:
        problem = error.what
    else:
        problem = f"{error.where}: {error.what}"
    return {"kind": kind, "what": problem, "fix": error.fix}


def raise_fault(
    fault: Mapping[str, Any],
    where: str,
) -> None:
    """Raise the error in a replica's reply."""
    kind = UsageError if fault["kind"] == "usage" else ModelError
    raise kind(
        fault["what"],
        where=where,
        fix=fault["fix"],
    )
