"""Templates that wrap another template: one requests steps before the answer, one sends the prompt as plain text."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import Message, Part, Prompt, Sample, Text
from ..core.message import render_parts
from ..registry import templates
from .build import build_template
from .built import BuiltTemplate, join_parts, joined_turns, merge_text, split_head
from .choices import Choices
from .jinja import compiled
from .plain import Question, solution_of

STEP_BY_STEP = (
    'Think step by step. Then write the answer on the last line, as "{prefix} …".'
)


@templates.register("cot")
@dataclass(frozen=True)
class ChainOfThought:
    """Requests steps before the answer.

    The question is written by another template, or is the question alone.
    """

    of: Any = None
    """The template that writes the question. By default it is the question alone, with
    lettered choices if it has any.
    """
    instruction: str | None = None
    """The text after the question. By default it requests steps, and the answer on the last line."""
    answer_prefix: str = "Answer:"
    answer: str | None = None
    """Jinja text of the answer that ends a solved example, such as `{{ solution }}`.

    By default the prefix and the target.
    """
    _inner: BuiltTemplate = field(
        init=False,
        repr=False,
        compare=False,
    )
    _choices: Choices = field(
        init=False,
        repr=False,
        compare=False,
    )
    _text: str = field(
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        """Build the inner template, and the prompt for samples with options."""
        if self.instruction is None:
            text = STEP_BY_STEP.format(prefix=self.answer_prefix)
        else:
            text = self.instruction
        inner = build_template(
            Question() if self.of is None else self.of, where="template 'cot', key `of`"
        )
        choices = Choices(
            cot=True,
            instruction=self.instruction,
            answer_prefix=self.answer_prefix,
            answer=self.answer,
        )
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_choices", choices)
        object.__setattr__(self, "_text", text)
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    @property
    def source(self) -> str:
        """A text with everything that determines the prompts of the inner template."""
        return self._inner.source

    def __call__(self, sample: Sample) -> Prompt:
        """Return the inner prompt with the instruction to write steps after the last question."""
        if self.of is None and sample.choices:
            return self._choices(sample)
        prompt = self._inner(sample)
        return replace(
            prompt, messages=after_last_question(prompt.messages, self._text)
        )

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example."""
        if self.of is None and sample.choices:
            return self._choices.solution(sample)
        solution = solution_of(sample, self.answer)
        if self.answer is not None:
            return solution
        return f"{self.answer_prefix} {solution}"


@templates.register("without_chat")
@dataclass(frozen=True)
class WithoutChat:
    """Sends the prompt of another template as one text to continue. No chat template is applied."""

    of: Any = None
    """The template that writes the question; None writes only the question."""
    headers: bool = True
    """Whether the text names the roles, `User: …` and `Assistant:`. Otherwise the texts
    of the turns are joined by line breaks.
    """
    _inner: BuiltTemplate = field(
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        inner = build_template(self.of, where="template 'without_chat', key `of`")
        object.__setattr__(self, "_inner", inner)

    @property
    def source(self) -> str:
        """A text with everything that determines the prompts of the inner template."""
        return self._inner.source

    def __call__(self, sample: Sample) -> Prompt:
        """Return the inner prompt as one text for the model to continue, with or without role headers."""
        prompt = self._inner(sample)
        if self.headers:
            parts: Iterable[Part] = render_parts(prompt.messages)
        else:
            spoken = [turn for turn in prompt.messages if turn.parts is not None]
            parts = joined_turns(spoken, "\n")
        return replace(prompt, messages=(Message("", merge_text(parts)),))

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example, from the inner template."""
        return self._inner.answer(sample)


def after_last_question(
    messages: tuple[Message, ...],
    text: str,
) -> tuple[Message, ...]:
    """Return the messages with a text added after the last turn, separated by a blank line."""
    head, body = split_head(messages)
    index = max(
        (i for i, message in enumerate(body) if message.parts is not None), default=None
    )
    if index is None or not text:
        return messages
    question = body[index]
    longer = Message(
        question.role, join_parts(question.parts or (), (Text(text),), separator="\n\n")
    )
    return (*head, *body[:index], longer, *body[index + 1 :])
