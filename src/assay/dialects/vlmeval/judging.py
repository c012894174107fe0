"""The judge as a user's `evaluate` asks it: plain blocking calls, each answer kept so that none is asked for twice."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from ...core import DEFAULT_OPTIONS, GenerateOptions, KeyMaker, Model, Output, Prompt, Request, UsageError
from ...models import build_model
from ...runner.schedule import Scheduler
from ...templates.message_lists import message_turns
from .prompts import fetched
from .session import session


class GuestJudge:
    """A model behind `generate(prompt, **options)`, as guest code knows judges."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, model: Model, file: Path | None) -> None:
        self._model = model
        self._file = file
        self._keys = KeyMaker(model.identity)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._known = _read(file)

    @classmethod
    def of_session(cls, wished: str) -> "GuestJudge":
        """The judge the user gave to this run."""
        if session.judge is None:
            raise UsageError(f"`evaluate` asks for a judge ({wished!r}) and none is given", fix="--judge MODEL")
        return cls(build_model(session.judge, session.judge_args), session.judge_file)

    def working(self) -> bool:
        """True: a judge that cannot answer says so at the question."""
        return True

    def generate(self, prompt: Any, **options: Any) -> str:
        """The answer; `fail_msg` if there is none after the usual tries."""
        known = {name: value for name, value in options.items() if name in ("temperature", "max_tokens", "top_p")}
        output = self._ask(Prompt(message_turns(prompt, fetched)), DEFAULT_OPTIONS.set(**known))
        return self.fail_msg if output.error is not None else output.text

    def _ask(self, prompt: Prompt, options: GenerateOptions) -> Output:
        request = Request(prompt, options)
        key = self._keys.key(request)
        with self._lock:
            if key in self._known:
                return Output.of(self._known[key])
            loop = self._loop_of_own()
        output = asyncio.run_coroutine_threadsafe(Scheduler(self._model).ask(request), loop).result()
        if output.error is None:
            with self._lock:
                self._known[key] = output.text
                self._keep(key, prompt, output)
        return output

    def _loop_of_own(self) -> asyncio.AbstractEventLoop:
        """A loop in a thread of its own: the caller's thread may be running the one of the run."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return self._loop

    def _keep(self, key: str, prompt: Prompt, output: Output) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"key": key, "prompt": prompt.text, "answer": output.text}, ensure_ascii=False)
        with self._file.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line + "\n")


def _read(file: Path | None) -> dict[str, str]:
    """Answers of earlier runs; a torn last line is left out."""
    known: dict[str, str] = {}
    if file is not None and file.exists():
        for line in file.read_text("utf-8").split("\n"):
            try:
                entry = json.loads(line)
                known[entry["key"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue
    return known
