"""Simple templates: the question unchanged, a text to continue, ready-made messages."""

from dataclasses import dataclass

from ..core import Message, Prompt, Sample, TemplateError, Text
from ..registry import templates
from .built import target_text, turn
from .jinja import compiled


def question_text(sample: Sample) -> str:
    """Return the question as text. Raise if the sample has none, so that no empty prompt is sent."""
    text = sample.input
    if isinstance(text, str):
        if text or sample.media or sample.choices:
            return text
        raise TemplateError(
            "the sample has no question",
            where=f"sample {sample.id!r}",
            fix="name the column that holds it, as in `columns: {input: prompt}`, or write a template",
        )
    return "\n".join(message.text for message in text if message.parts is not None)


def solution_of(
    sample: Sample,
    answer: str | None,
) -> object:
    """Return the answer that ends a solved example: the template's rendered `answer`, or else the target."""
    if answer is None:
        return target_text(sample)
    return compiled(answer, "template, key `answer`")(sample)


@templates.register("question")
@dataclass(frozen=True)
class Question:
    """The question as one user turn, media first; ready-made messages are passed on."""

    instruction: str = ""
    """Text after the question, separated by a blank line."""
    answer: str | None = None
    """Jinja text of the answer that ends a solved example; by default the target."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    def __call__(self, sample: Sample) -> Prompt:
        text = sample.input
        if not isinstance(text, str):
            return Prompt(text)
        if not text:
            question_text(sample)
        if self.instruction:
            if text:
                text = f"{text}\n\n{self.instruction}"
            else:
                text = self.instruction
        if sample.media:
            return Prompt(
                (
                    turn("user", sample, text)
                    if text
                    else Message.of("user", *sample.media),
                )
            )
        return Prompt((Message("user", (Text(text),)),))

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example."""
        return solution_of(sample, self.answer)


@templates.register("completion")
@dataclass(frozen=True)
class Completion:
    """A text that the model continues. It is sent unchanged, without chat template or roles."""

    prefix: str = ""
    suffix: str = ""
    r"""Text after the question. `prefix="Q: ", suffix="\nA:"` turns a question into a text to continue."""
    answer: str | None = None
    """Jinja text of the answer that ends a solved example; by default the target."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            compiled(self.answer, "template, key `answer`")

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt(
            (turn("", sample, f"{self.prefix}{question_text(sample)}{self.suffix}"),)
        )

    def solution(self, sample: Sample) -> object:
        """Return the answer that ends a solved example."""
        return solution_of(sample, self.answer)


@templates.register("messages")
def ready_messages(sample: Sample) -> Prompt:
    """Return the messages of the row unchanged; a row with only text becomes one user turn."""
    return _QUESTION(sample)


_QUESTION = Question()
