"""The judge as a user's `evaluate` asks it: plain blocking calls, each answer kept in the run's journal."""

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ...code.userfiles import is_reference, load_attribute, split_reference
from ...core import DEFAULT_OPTIONS, GenerateOptions, Message, Output, Prompt, Text, UsageError
from ...core.request import OPTION_NAMES
from ...models.embedded import CATALOGUE
from ...registry import models as registry
from ..kits.judge_desk import Desk
from ..kits.message_lists import message_turns
from .prompts import fetched
from .session import session

EVALUATES_OWN = frozenset({"nproc", "verbose", "retry", "timeout", "use_verifier", "use_vllm", "model", *OPTION_NAMES})
"""Judge arguments that are for `evaluate` and its requests, never for building the model."""


class GuestJudge:
    """A model behind `generate(prompt, **options)`, as guest code knows judges."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, name: str, desk: Desk, settings: Mapping[str, Any]) -> None:
        self.model = name
        self._desk = desk
        self._system = settings.get("system_prompt")
        self._options = DEFAULT_OPTIONS.set(**_known(settings))

    @classmethod
    def of_session(cls, settings: Mapping[str, Any]) -> "GuestJudge":
        """The judge the user gave to this run; in a script of its own, the one that is asked for."""
        wished = str(settings.get("model", "judge"))
        if session.desk is None:
            return cls(assay_name(wished), Desk(None, "script"), settings)
        if session.judge is None:
            raise UsageError(f"`evaluate` asks for a judge ({wished!r}) and none is given", fix="--judge MODEL")
        return cls(session.judge, session.desk, settings)

    def working(self) -> bool:
        """True: a judge that cannot answer says so at the question."""
        return True

    def generate(self, message: Any, **options: Any) -> str:
        """The answer; `fail_msg` if there is none after the usual tries."""
        output = self._ask(message, options)
        return self.fail_msg if output.error is not None else output.text

    def generate_inner(self, message: Any, **options: Any) -> tuple[int, str, str]:
        """Code, answer and log, as API classes answer."""
        output = self._ask(message, options)
        return (0, output.text, "") if output.error is None else (-1, self.fail_msg, output.error.message)

    def _ask(self, message: Any, options: Mapping[str, Any]) -> Output:
        turns = message_turns(message, fetched)
        if self._system:
            turns = (Message("system", (Text(str(self._system)),)), *turns)
        known = _known(options)
        chosen: GenerateOptions = self._options.set(**known) if known else self._options
        return self._desk.ask(self.model, Prompt(turns), chosen)


def assay_name(judge: str) -> str:
    """A judge as assay names it: what is no model of assay is a name at an OpenAI-compatible endpoint."""
    known = judge in registry or judge in CATALOGUE or is_reference(judge) or judge.endswith(".gguf")
    return judge if known or judge.partition("/")[0] in registry else f"openai/{judge}"


def model_args(judge: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The judge arguments that build the model; all others are `evaluate`'s own."""
    own = {name: value for name, value in args.items() if name not in EVALUATES_OWN}
    if is_reference(judge):
        if split_reference(judge)[1] is None:
            return {}
        kind = load_attribute(judge)
        accepted = set(inspect.signature(kind).parameters) if inspect.isclass(kind) else set()
        return {name: value for name, value in own.items() if name in accepted}
    scheme = judge.partition("/")[0]
    kind = registry.get(scheme) if scheme in registry else None
    if not is_dataclass(kind):
        return {}
    accepted = {field.name for field in fields(kind)}
    return {name: value for name, value in own.items() if name in accepted}


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in OPTION_NAMES and value is not None}
