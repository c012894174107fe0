"""Base class of text models in this process, which render, check and truncate prompts according to their options."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core import Candidate, DataError, Output, Prompt, Request, UsageError
from ..tool_prompting import check_tool_syntax
from ..tool_syntaxes import PROMPTED
from .fitting import POLICIES
from .renderer import PromptFault, Renderer, given_template


@dataclass
class LocalModel(ABC):
    """A model loaded from a path. It is greedy unless a temperature is given."""

    reference: ClassVar[str] = "path"

    path: str
    chat_template: str | None = None
    """Jinja text, or a file with it, that replaces the template of the weights."""
    max_tokens: int = 512
    """Maximum tokens of an answer, if the task does not set a limit."""
    truncate: Literal["refuse", "left", "middle"] = "refuse"
    """What to do with a prompt that is too long: fail (`refuse`), or cut its
    beginning or middle (`left`, `middle`).
    """
    tool_syntax: str | None = None
    """Syntax in which the model writes tool calls; by default detected from its chat template.

    `prompted` writes the tools into the prompt.
    """

    def _check_options(self, least: Mapping[str, int]) -> None:
        """Raise for invalid options, and read the chat template.

        `least` contains the smallest value of each integer option.
        """
        check_counts(self, {"max_tokens": 1, **least}, self.path)
        if self.truncate not in POLICIES:
            raise UsageError(
                f"truncate must be refuse, left or middle, got {self.truncate!r}",
                where=self.path,
            )
        check_tool_syntax(self.tool_syntax, self.path)
        self.chat_template = given_template(self.chat_template, self.path)

    @property
    @abstractmethod
    def _prompts(self) -> Renderer:
        """Converts prompts to token ids, without loading weights if possible."""

    @property
    def prompts_tools(self) -> bool:
        """True if tools are written into the prompt as text, by the user's choice or for lack of template support."""
        if self.tool_syntax is not None:
            return self.tool_syntax == PROMPTED
        return self._prompts.tool_writing.is_prompted

    def refusal(self, prompt: Prompt) -> DataError | None:
        """Return the error for a prompt that cannot be sent completely; None if it can."""
        if not prompt.tools:
            return None
        return self._prompts.tool_writing.fault(prompt)

    def _can_take_tools(self, has_template: bool | None) -> bool:
        """Return True unless the model has no chat template and tools are not written into the prompt."""
        return has_template is not False or self.tool_syntax == PROMPTED

    def _with_calls(
        self,
        outputs: Sequence[Output],
        requests: Sequence[Request],
    ) -> list[Output]:
        """Return the outputs with tool calls in their text split off as separate parts."""
        read: list[Output] = []
        for output, request in zip(outputs, requests, strict=True):
            if request.prompt.tools:
                output = self._prompts.tool_writing.read(output, request)
            read.append(output)
        return read

    def shown(self, prompt: Prompt) -> str:
        """Return a prompt as the model receives it, with special tokens."""
        return self._prompts.shown(prompt)

    def preflight(
        self,
        prompt: Prompt,
        stops: Sequence[str] = (),
    ) -> list[PromptFault]:
        """Return faults in how a prompt is rendered, such as a doubled beginning-of-sequence token."""
        return self._prompts.preflight(prompt, stops)

    def _answer_length(self, request: Request) -> int:
        """Return the request's token limit, or the model's default if the request sets none."""
        if request.options.max_tokens is None:
            return self.max_tokens
        return request.options.max_tokens

    def _squeezed(
        self,
        request: Request,
        candidates: Sequence[Candidate],
        room: int,
    ) -> int | None:
        """Return `room`, the token limit that fits into the context, if it cut an answer short; otherwise None.

        That is so if `room` is below the requested limit and an answer ended by
        `length`.
        """
        ended_early = any(candidate.stop_reason == "length" for candidate in candidates)
        if ended_early and room < self._answer_length(request):
            return room
        return None


def check_counts(
    options: object,
    least: Mapping[str, int],
    where: str,
) -> None:
    """Raise if an option is not an integer, or below its minimum in `least`. None is allowed."""
    for name, smallest in least.items():
        value = getattr(options, name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < smallest
        ):
            raise UsageError(
                f"{name}={value!r} is not a whole number of at least {smallest}",
                where=where,
                fix=f"give {smallest} or more",
            )
