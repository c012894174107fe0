"""What text models that run in this process share: prompts are rendered, checked and cut as their options say."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core import Candidate, Prompt, Request, UsageError
from .fitting import POLICIES
from .prompts import PromptFault, Renderer, given_template


@dataclass
class LocalModel(ABC):
    """A model from a path; greedy unless a temperature is given."""

    reference: ClassVar[str] = "path"

    path: str
    chat_template: str | None = None
    """Jinja text, or a file that holds it, instead of the template that comes with the weights."""
    max_tokens: int = 512
    """How long an answer may get where the task does not say."""
    truncate: Literal["refuse", "left", "middle"] = "refuse"
    """A prompt that is too long fails its sample, or loses its beginning or middle as far as its answer needs room."""

    def _check_options(self, least: Mapping[str, int]) -> None:
        """Refuses counts that are too small and policies that are none; reads the chat template."""
        check_counts(self, {"max_tokens": 1, **least}, self.path)
        if self.truncate not in POLICIES:
            what = f"truncate={self.truncate!r} is not a policy"
            raise UsageError(what, where=self.path, fix="refuse, left or middle")
        self.chat_template = given_template(self.chat_template, self.path)

    @property
    @abstractmethod
    def _prompts(self) -> Renderer:
        """Where text becomes token ids; without the weights, where that can be."""

    def shown(self, prompt: Prompt) -> str:
        """A prompt as the model reads it, special tokens and all."""
        return self._prompts.shown(prompt)

    def preflight(self, prompt: Prompt, stops: Sequence[str] = ()) -> list[PromptFault]:
        """Faults in how a prompt is rendered."""
        return self._prompts.preflight(prompt, stops)

    def _answer_length(self, request: Request) -> int:
        return (
            self.max_tokens
            if request.options.max_tokens is None
            else request.options.max_tokens
        )

    def _squeezed(
        self, request: Request, candidates: Sequence[Candidate], room: int
    ) -> int | None:
        """The room of answers, where one of them ended for want of it."""
        ended_early = any(candidate.stop_reason == "length" for candidate in candidates)
        return room if ended_early and room < self._answer_length(request) else None


def check_counts(options: object, least: Mapping[str, int], where: str) -> None:
    """Refuses options that are no whole numbers, or smaller than they can be; `None` leaves them to the model."""
    for name, smallest in least.items():
        value = getattr(options, name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < smallest
        ):
            raise UsageError(
                f"{name}={value!r} is no count",
                where=where,
                fix=f"a whole number from {smallest} on",
            )
