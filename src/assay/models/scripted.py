"""A model that returns prepared answers, for tests and for `assay check`."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import (
    Abilities,
    Likelihood,
    Output,
    Request,
    UsageError,
    as_output,
    digest_of,
    shorten,
)
from .answers import failure
from .calling import as_text


@dataclass
class Scripted:
    """Returns answers from a script.

    Example: `Scripted(["yes", "no"])`, `Scripted({"2+2?": "4"})`, `Scripted(lambda request: request.prompt.text)`
    """

    answers: Any = "echo"
    """The answers: a list that is used in turn and then repeated, or a mapping from question to answer.

    Or a function of the request, `echo` (the prompt's text), or one answer for all
    requests. An answer that is an     exception is raised inside the model, like a real
    failure.
    """
    rounds: Any = None
    """Answers by round of a sample, used instead of `answers`. The last one is repeated."""
    accepts: frozenset[str] = frozenset({"text", "image", "audio", "video"})
    produces: frozenset[str] = frozenset({"text", "image", "audio"})
    weighs: bool = True
    """True to support likelihoods: the first continuation of a prompt is then always the most probable."""
    concurrency: int | None = None
    calls: list[Request] = field(
        default_factory=list,
        init=False,
        repr=False,
        compare=False,
    )
    """Every request the model received, in order."""
    _turn: Iterator[int] = field(
        default_factory=itertools.count,
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        if isinstance(self.answers, Sequence) and not self.answers:
            raise UsageError(
                "a scripted model needs at least one answer", fix="give answers: […]"
            )
        self._answer = self._choose()

    @property
    def abilities(self) -> Abilities:
        """The abilities that were declared."""
        return Abilities(
            frozenset(self.accepts),
            frozenset(self.produces),
            likelihood=self.weighs,
            logprobs=True,
            chat=True,
            tools=True,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the prepared answers."""
        if self.rounds is None:
            answers = self.answers
        else:
            answers = ["rounds", self.rounds]
        if callable(answers):
            named = getattr(answers, "__qualname__", None)
        else:
            named = None
        return {"scripted": named or digest_of(answers)[:16]}

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the next answers of the script."""
        self.calls.extend(requests)
        return [self._say(request) for request in requests]

    def likelihood(self, requests: Sequence[Request]) -> list[Output]:
        """Return log-probability -1 for the first continuation, -2 for the second, and so on."""
        self.calls.extend(requests)
        return [
            Output(
                likelihoods=tuple(
                    Likelihood(-1.0 - i, i == 0, 1)
                    for i, _ in enumerate(_weighed(request))
                )
            )
            for request in requests
        ]

    def _say(self, request: Request) -> Output:
        """Return the scripted answer to a request. An exception becomes a failed output."""
        try:
            answer = self._answer(request)
            if isinstance(answer, Exception):
                raise answer
            return as_output(answer)
        except Exception as error:  # noqa: BLE001 - a scripted accident is a failed sample
            return failure(error, "scripted")

    def _choose(self) -> Callable[[Request], Any]:
        """Return the function that finds the answer to a request, depending on the type of `answers`.

        The round is the number of answers in the prompt. Lists are repeated from the
        beginning, and mappings are looked up by the text of the prompt.
        """
        if self.rounds is not None:
            if isinstance(self.rounds, list):
                rounds = self.rounds
            else:
                rounds = [self.rounds]
            return lambda request: rounds[min(_round_of(request), len(rounds) - 1)]
        answers = self.answers
        if callable(answers):
            return answers  # type: ignore[no-any-return]
        if isinstance(answers, Mapping):
            return lambda request: _looked_up(answers, _question_of(request))
        if isinstance(answers, (list, tuple)):
            return lambda _: answers[next(self._turn) % len(answers)]
        if answers == "echo":
            return _question_of
        # On the command line `answers=4` is a number; the model answers with its text.
        if isinstance(answers, (int, float, bool)):
            answer = str(answers)
        else:
            answer = answers
        return lambda _: answer


def _round_of(request: Request) -> int:
    """Return how many answers the conversation already contains, which is the index of this round."""
    role = request.prompt.role
    return sum(
        1 for message in request.messages if message.parts and message.role == role
    )


def _question_of(request: Request) -> str:
    """Return the text of the last turn, or the whole text of a prompt without roles."""
    if not request.prompt.is_chat:
        return as_text(request)
    spoken = [
        message for message in request.prompt.messages if message.parts is not None
    ]
    if spoken:
        return spoken[-1].text
    return ""


def _looked_up(
    answers: Mapping[str, Any],
    text: str,
) -> object:
    if text not in answers:
        raise KeyError(f"the script has no answer to {shorten(text)}")
    return answers[text]


def _weighed(request: Request) -> Sequence[str]:
    if request.prompt.continuations is not None:
        return request.prompt.continuations
    return ("",)
