"""Helper models that the run provides to a scorer by role, and the methods that send them requests.

A scorer names roles in `needs` and finds the models in its field `models`:

    reply = await self.models["judge"].ask("Is this right? …")
    reply.text
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..core import (
    DEFAULT_OPTIONS,
    EMPTY,
    GenerateOptions,
    Media,
    Message,
    ModelError,
    Output,
    Prompt,
    Sample,
    Text,
    UsageError,
    as_messages,
    as_part,
    shorten,
)

PLAIN_OPTIONS = DEFAULT_OPTIONS.set(temperature=0.0)
"""The default generation options for helper models: temperature 0."""


@dataclass(frozen=True)
class GivenModels:
    """Base of scorers that use helper models: `needs` names the roles, and the run fills `models`."""

    models: Mapping[str, Any] = field(
        default_factory=lambda: EMPTY,
        kw_only=True,
        compare=False,
        repr=False,
    )


class GivenModel(ABC):
    """A helper model for a scorer: `reply = await self.models[role].ask(text)`."""

    role: str

    @abstractmethod
    async def answer(
        self,
        prompt: Prompt,
        options: GenerateOptions | None = None,
    ) -> Output:
        """Return the model's answer to a prompt. If the model gave none, `error` of the output has the reason."""

    def ask(
        self,
        question: object,
        *more: object,
        system: str | None = None,
        options: GenerateOptions | None = None,
        **settings: object,
    ) -> "Reply":
        """Send a text, a text with images and audio, or a list of messages. Await the result to get the answer.

        `settings` are generation options (`max_tokens=16`). The temperature is 0 unless one is given. If the model
        fails, `ModelError` is raised, and the sample becomes a `judge_error`. A `Prompt` is sent unchanged, and its
        answer is returned even if it is an error.

        Example:
            reply = await self.models["judge"].ask("Which colour is this?", image, max_tokens=8)
        """
        chosen, media = self._sort_arguments(question, more, options)
        if isinstance(question, Prompt):
            return Reply(self, lambda: self.answer(question, chosen))
        prompt = self._prompt_of(question, media, system)
        plain = (chosen or PLAIN_OPTIONS).set(**settings)

        async def checked() -> Output:
            output = await self.answer(prompt, plain)
            return raise_failure(output, self.role)

        return Reply(self, checked)

    def _sort_arguments(
        self,
        question: object,
        more: tuple[Any, ...],
        options: GenerateOptions | None,
    ) -> tuple[GenerateOptions | None, list[Media]]:
        """Return the generation options and the media among the positional arguments of `ask`."""
        media: list[Media] = []
        for argument in more:
            if isinstance(argument, GenerateOptions):
                options = argument
            elif isinstance(argument, Media):
                media.append(argument)
            else:
                self._refuse(argument)
        return options, media

    def _prompt_of(
        self,
        question: object,
        media: list[Media],
        system: str | None,
    ) -> Prompt:
        """Return the prompt of a question and its media."""
        if isinstance(question, (Sample, Output)):
            self._refuse(question)
        if isinstance(question, Media):
            media = [question, *media]
            question = ""
        if isinstance(question, str):
            text = (Text(question),) if question else ()
            messages: tuple[Message, ...] = (
                Message("user", (*map(as_part, media), *text)),
            )
        else:
            if media:
                self._refuse(question)
            try:
                messages = as_messages(question)
            except TypeError:
                self._refuse(question)
        if system is None:
            return Prompt(tuple(messages))
        instructions = Message.of("system", system)
        return Prompt((instructions, *messages))

    def _refuse(self, argument: object) -> NoReturn:
        """Raise an error for an argument that is neither text nor media. Its message contains a correct call."""
        fix = f"await self.models[{self.role!r}].ask(text), or ask(text, image, …), or a list of messages"
        if isinstance(argument, Output):
            fix = "pass output.text, or its media: ask(text, *output.media)"
        elif isinstance(argument, Sample):
            fix = "pass a text made from it: ask(f'{sample.input} …')"
        raise UsageError(f"a model cannot be asked {shorten(argument)}", fix=fix)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raise an error, because a helper model is used by `ask`, not called. The error shows the correct call."""
        raise UsageError(
            f"the model under the role {self.role!r} cannot be called",
            fix=f"reply = await self.models[{self.role!r}].ask(text)",
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a helper model has no {name!r}; write `reply = await self.models[{self.__dict__.get('role', 'role')!r}]"
            ".ask(text)`, then `reply.text`"
        )


class Reply(Awaitable[Output]):
    """A pending answer of a helper model: `await` it to get the `Output`."""

    __slots__ = ("_ask", "_model")

    def __init__(
        self,
        model: GivenModel,
        ask: Callable[[], Awaitable[Output]],
    ) -> None:
        self._model = model
        self._ask = ask

    def __await__(self) -> Generator[Any, None, Output]:
        return self._ask().__await__()

    def __repr__(self) -> str:
        return f"<reply of {self._model.role!r} that was not awaited>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"the reply has no {name!r} before it is awaited; write `async def __call__(self, sample, output)` and "
            f"`reply = await self.models[{self._model.role!r}].ask(…)`"
        )


class ModelsByRole(dict[str, Any]):
    """The helper models of a scorer by role. A role that is missing from the scorer's
    `needs` raises a `UsageError`.
    """

    def __missing__(self, role: str) -> NoReturn:
        roles = ", ".join(map(repr, self)) or "none"
        raise UsageError(
            f"no model is given for the role {role!r}",
            fix=f"name the role in `needs` (it has {roles}), and --judge {role}=MODEL",
        )


def raise_failure(reply: Output, role: str) -> Output:
    """Return `reply` if the helper model gave an answer. Raise `ModelError` if the model failed."""
    if reply.error is None:
        return reply
    raise ModelError(
        f"{reply.error.kind}: {reply.error.message}", where=f"role {role!r}"
    )


async def ask_model(
    models: Mapping[str, Any],
    role: str,
    prompt: Prompt,
    options: GenerateOptions | None = None,
) -> Output:
    """Ask the model of a role and return its reply.

    Raise `UsageError` if the role has no model, `ModelError` on failure.
    """
    if role not in models:
        if role == "judge":
            named = "MODEL"
        else:
            named = f"{role}=MODEL"
        raise UsageError(
            f"no model is given for the role {role!r}",
            fix=f"name one with --judge {named}",
        )
    model = models[role]
    reply: Output = await (
        model.ask(prompt) if options is None else model.ask(prompt, options)
    )
    return raise_failure(reply, role)
