"""Judges that a guest's `evaluate` asks: any model of assay, every call kept in the run's journal."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from ...core import DEFAULT_OPTIONS, GenerateOptions, Message, Output, Prompt, Text
from ...core.request import OPTION_NAMES
from ..kits.judge_desk import Desk
from .context import current
from .core_models import is_known
from .messages import as_prompt

Ask = Callable[[str, Prompt, GenerateOptions], Output]


class Judge:
    """A judge by name; the run around it decides how it is asked."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name if is_known(name) else f"openai/{name}"
        self.options = DEFAULT_OPTIONS.set(**options)
        self._ask: Ask | None = current().ask_judge
        self._alone: Desk | None = None
        self._lock = threading.Lock()

    def ask(self, message: Any, system: str | None, settings: Mapping[str, Any]) -> Output:
        """The answer to one message."""
        messages = as_prompt(message).messages
        if system:
            messages = (Message("system", (Text(system),)), *messages)
        known = {name: value for name, value in settings.items() if name in OPTION_NAMES and value is not None}
        if self._ask is None:
            with self._lock:
                self._alone = self._alone or Desk(None, "script")
            self._ask = self._alone.ask
        return self._ask(self.name, Prompt(messages), self.options.set(**known) if known else self.options)
