"""Helper models: judges, detectors and the like, given to a scorer by role.

Their calls are requests like any other: keyed, kept in the journal, never asked twice for the same thing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import GenerateOptions, KeyMaker, Model, Output, Prompt, Request
from ..core.record import output_from_plain
from ..core.request import DEFAULT_OPTIONS
from ..models import build_model
from ..store import Answered, RunWriter
from .options import RunOptions
from .plan import Cell
from .schedule import Scheduler


class Helper:
    """One helper model, as a scorer sees it: `await helper.ask(prompt)`."""

    def __init__(
        self, role: str, name: str, model: Model, writer: RunWriter, task: str, concurrency: int | None
    ) -> None:
        self.role = role
        self.name = name
        self.model = model
        self._task = f"{task}#{role}"
        self._writer = writer
        self._scheduler = Scheduler(model, concurrency=concurrency)
        self._keys = KeyMaker(model.identity)
        cell = writer.cell(self._task, name)
        self._known = {
            answer.key: answer for rounds in cell.answers.values() for answer in rounds if answer and not answer.failed
        }
        self._asked: dict[str, asyncio.Future[Output]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, prompt: Prompt, options: GenerateOptions | None = None) -> Output:
        """The answer; from the journal if it was given before."""
        chosen = options or prompt.options or DEFAULT_OPTIONS
        request = Request(prompt, chosen, chosen.seed)
        key = self._keys.key(request)
        if key in self._known:
            return output_from_plain(self._writer.read_output(self._known[key]).output, self._writer.blobs)
        if key not in self._asked:
            asked = self._asked[key] = asyncio.ensure_future(self._ask(request, key))
            # Answers lie in the journal: only those on their way are held in memory.
            asked.add_done_callback(lambda _: self._asked.pop(key, None))
        return await asyncio.shield(self._asked[key])

    async def _ask(self, request: Request, key: str) -> Output:
        if self._scheduler.is_async:
            output = await self._scheduler.ask(request)
        else:
            async with self._one_at_a_time:
                output = await self._scheduler.ask(request)
        offset = self._writer.write_output(self._task, self.name, key, key, request.prompt, output)
        self._writer.journal.flush()
        if output.error is None:
            self._known[key] = Answered(key, offset)
        return output


class Helpers:
    """The helper models of one cell, built when first asked for."""

    def __init__(self, options: RunOptions, writer: RunWriter, cell: Cell) -> None:
        self._options = options
        self._writer = writer
        self._cell = cell
        self._built: dict[str, Helper] = {}

    def models(self, roles: Sequence[str]) -> Mapping[str, Helper]:
        """Helpers by role."""
        for role in roles:
            if role not in self._built:
                name = self._options.judges[role]
                model = build_model(name, self._options.judge_args)
                self._built[role] = Helper(
                    role, name, model, self._writer, self._cell.task.name, self._options.concurrency
                )
        return {role: self._built[role] for role in roles}

    async def close(self) -> None:
        """Lets the models go."""
        for helper in self._built.values():
            close: Any = getattr(helper.model, "close", None)
            if close is not None:
                done = close()
                if asyncio.iscoroutine(done):
                    await done
