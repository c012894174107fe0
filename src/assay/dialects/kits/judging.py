"""Judges that a guest's `evaluate` asks: any model of assay, in plain blocking calls, kept in the run's journal."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...code.userfiles import is_reference
from ...core import DEFAULT_OPTIONS, Message, Output, Prompt, Text
from ...core.request import OPTION_NAMES
from ...models.embedded import CATALOGUE
from ...registry import models as registry
from .judge_desk import Desk
from .state import current


class Judge:
    """A judge by name; the run around it keeps the answers, in a script nobody does."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.model = name
        self._desk = current().desk or Desk(None, "script")
        self._options = DEFAULT_OPTIONS.set(**_known(options))

    def ask(
        self, turns: Sequence[Message], system: str | None, options: Mapping[str, Any]
    ) -> Output:
        """The answer to one message."""
        before = (Message("system", (Text(system),)),) if system else ()
        changes = _known(options)
        chosen = self._options.set(**changes) if changes else self._options
        return self._desk.ask(self.model, Prompt((*before, *turns)), chosen)


def is_known(name: str) -> bool:
    """Whether a name is one of assay's own models; nothing is loaded to find out."""
    scheme, slash, rest = name.partition("/")
    is_name = (
        name in registry
        or name in CATALOGUE
        or (bool(slash and rest) and scheme in registry)
    )
    return is_name or is_reference(name) or name.endswith(".gguf")


def assay_name(judge: str) -> str:
    """A judge as assay names it: a name that is not a model of assay is one at an OpenAI-compatible endpoint."""
    return judge if is_known(judge) else f"openai/{judge}"


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in settings.items()
        if name in OPTION_NAMES and value is not None
    }
