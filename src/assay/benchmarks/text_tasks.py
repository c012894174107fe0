"""Text benchmarks: the Python parts of the tasks in `data/tasks/text.toml`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import DataError, Measure, Message, Prompt, Sample, Task, Text
from ..templates import LAYOUTS, ChoiceLikelihood
from ..templates.choices import labels_for
from ..templates.jinja import LETTERS
from ..templates.plain import question_text
from .task_rows import read_tasks


def labelled(row: Mapping[str, Any]) -> Sample:
    """Return the sample of a row whose options are `{"text": […], "label": […]}`. Labels may be digits."""
    options = row["choices"]
    labels = [str(label) for label in options["label"]]
    answer = str(row["answerKey"])
    if answer not in labels:
        raise DataError(
            f"answerKey {answer!r} is none of the labels {', '.join(labels)}"
        )
    question = row.get("question", row.get("question_stem"))
    return _sample(row.get("id"), question, options["text"], labels.index(answer))


def ending(row: Mapping[str, Any]) -> Sample:
    """Return the sample of a HellaSwag row: a beginning and four endings."""
    return _sample(row.get("ind"), str(row["ctx"]), row["endings"], int(row["label"]))


def solution(row: Mapping[str, Any]) -> Sample:
    """Return the sample of a PIQA row: a goal, and two possible solutions as options."""
    return _sample(
        row.get("id"),
        str(row["goal"]),
        (row["sol1"], row["sol2"]),
        int(row["label"]),
    )


def _sample(
    name: object,
    question: object,
    options: Iterable[object],
    right: int,
) -> Sample:
    texts = tuple(str(option) for option in options)
    if not 0 <= right < len(texts):
        raise DataError(f"the answer is option {right} and there are {len(texts)}")
    return Sample(
        id="" if name is None else str(name),
        input=str(question),
        choices=texts,
        target=LETTERS[right],
    )


def _texts(
    answer_prefix: str = "Answer:",
    question_prefix: str = "Question: ",
) -> Measure:
    """Return a measure that compares the likelihoods of the option texts as continuations of the question."""
    return Measure(
        "text_likelihood",
        template=ChoiceLikelihood(
            "text",
            question_prefix=question_prefix,
            answer_prefix=answer_prefix,
        ),
        scorers=({"name": "choice_likelihood", "continuation": "text"},),
        needs=frozenset({"likelihood"}),
    )


LETTERS_WEIGHED = Measure(
    "letter_likelihood",
    template=ChoiceLikelihood("letter"),
    scorers=({"name": "choice_likelihood", "continuation": "letter"},),
    needs=frozenset({"likelihood"}),
)
"""Measure that compares the likelihoods of the option letters after "Question: …
Answer:".

MMLU's published scores use it.
"""


STEPS = "Let's think step by step."


@dataclass(frozen=True)
class StepByStep:
    """MMLU-Pro's prompt: instructions as system text, options on separate lines, and
    "think step by step" before the answer.
    """

    def __call__(self, sample: Sample) -> Prompt:
        subject = sample.fields.get("category", "the subject")
        head = (
            f"The following are multiple choice questions (with answers) about {subject}. Think step by step and then"
            ' finish your answer with "the answer is (X)" where X is the correct letter choice.'
        )
        options = LAYOUTS["lines"](labels_for(sample, LETTERS), sample.choices)
        question = (
            f"Question:\n{question_text(sample)}\nOptions:\n{options}\nAnswer: {STEPS}"
        )
        return Prompt(
            (Message("system", (Text(head),)), Message("user", (Text(question),)))
        )

    def solution(self, sample: Sample) -> str:
        """Return the row's worked answer. If the row has none, return only the final answer in the required form."""
        worked = (
            str(sample.fields.get("cot_content") or "")
            .removeprefix("A:")
            .strip()
            .removeprefix(STEPS)
            .strip()
        )
        return worked or f"The answer is ({sample.target})."


def gsm8k_question(sample: Sample) -> str:
    """Return the question as a user turn; a solved example ends with the worked solution."""
    return f"Question: {question_text(sample)}\nAnswer:"


COMPLETE_FUNCTION = (
    "Complete this Python function. Answer with the whole function and its imports, in one ```python block.\n\n"
    "```python\n{prompt}\n```"
)


def humaneval_question(sample: Sample) -> Prompt:
    """Return a prompt that asks the model to complete a function."""
    return Prompt(
        (
            Message.of(
                "user", COMPLETE_FUNCTION.format(prompt=str(sample.input).rstrip())
            ),
        )
    )


MBPP_TASK = (
    "You are an expert Python programmer, and here is your task: {text} "
    "Your code should pass these tests:\n\n{tests}"
)
MBPP_SHOTS = ("2", "3", "4")
"""The ids of the few-shot examples in the MBPP paper."""


def _mbpp_task(sample: Sample) -> str:
    text = sample.fields.get("text") or sample.fields.get("prompt")
    return MBPP_TASK.format(
        text=text,
        tests="\n".join(map(str, sample.fields["test_list"])),
    )


@dataclass(frozen=True)
class AsPublished:
    """The prompt of the MBPP paper: a task description and its tests. The model continues with the code."""

    def __call__(self, sample: Sample) -> Prompt:
        return Prompt((Message.of("", f"{_mbpp_task(sample)}\n[BEGIN]\n"),))

    def solution(self, sample: Sample) -> str:
        """Return the code of a solved example with the end marker."""
        return f"{str(sample.target).strip()}\n[DONE]"


def mbpp_question(sample: Sample) -> Prompt:
    """Return a prompt that asks for code that solves the task and passes its tests."""
    return Prompt(
        (
            Message.of(
                "user",
                f"{_mbpp_task(sample)}\n\nAnswer with the code alone, in one ```python block.",
            ),
        )
    )


def pick_published(
    sample: Sample,
    pool: Sequence[Sample],
    num: int,
    rng: object,
) -> list[Sample]:
    """Return the few-shot examples of the MBPP paper.

    If the data do not contain them, return the first samples other than `sample`.
    """
    others = [candidate for candidate in pool if candidate.id != sample.id]
    published = [candidate for candidate in others if candidate.id in MBPP_SHOTS]
    return (published if len(published) >= num else others)[:num]


LIVECODEBENCH_SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests."
)
_READS = (
    "Read the inputs from stdin, solve the problem and write the answer to stdout. Enclose your code within delimiters "
    "as follows.\n```python\n# YOUR CODE HERE\n```"
)
_STARTS = "Use the following starter code and enclose your code within delimiters.\n```python\n{starter}\n```"


def livecodebench_question(sample: Sample) -> Prompt:
    """Return a prompt with the problem and the required form of its solution."""
    starter = str(sample.fields.get("starter_code") or "")
    if starter:
        form = _STARTS.format(starter=starter)
    else:
        form = _READS
    question = f"### Question:\n{sample.input}\n\n### Format: {form}\n\n### Answer:"
    return Prompt(
        (Message.of("system", LIVECODEBENCH_SYSTEM), Message.of("user", question))
    )


TEXTS_AFTER_QUESTION = _texts()
TEXTS_ALONE = _texts(answer_prefix="", question_prefix="")
TASKS = read_tasks("text.toml", __name__)


def __getattr__(name: str) -> Task:
    """Return the task called `name`, so that the tasks in the TOML file are attributes of this module."""
    if name in TASKS:
        return TASKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
