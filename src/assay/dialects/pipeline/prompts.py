"""The prompts of the datasets this dialect ships: what is asked of a row, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LETTERS = "ABCDEFGHIJ"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A dataset that is there before anybody registers one."""

    name: str
    prompt: Callable[[Row], str]
    batch_size: int
    max_length: int
    description: str


def lambada(row: Row) -> str:
    """A passage without its last word."""
    return str(row["text"]).rpartition(" ")[0]


def question_answer(row: Row) -> str:
    """A question, and where its answer goes."""
    return f"Q: {row['question']}\nA:"


def completion(row: Row) -> str:
    """A text to go on from."""
    return str(row["prompt"] if "prompt" in row else row["text"])


def step_by_step(row: Row) -> str:
    """A question to think aloud about."""
    return f"{row['question']}\nLet's think step by step:\n"


def problem(row: Row) -> str:
    """A problem, and where its solution goes."""
    return f"Problem: {row['problem'] if 'problem' in row else row['question']}\n\nSolution:\n"


def options_of(row: Row) -> list[str]:
    """The options that say something."""
    options: Sequence[Any] = row["options"] if "options" in row else row["choices"]
    return [str(option).strip() for option in options if option is not None and str(option).strip()]


def lettered(row: Row) -> str:
    """The question and its options, each with its letter."""
    options = options_of(row)
    if len(options) > len(LETTERS):
        raise ValueError(f"{len(options)} options, and letters for {len(LETTERS)}")
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return f"Question: {row['question']}\n\n" + "\n".join(lines)


def multiple_choice(row: Row) -> str:
    """A question with up to ten options, and where the letter goes."""
    return f"{lettered(row)}\n\nAnswer:"


def reasoned_choice(row: Row) -> str:
    """The same, thinking aloud before the letter."""
    return f"{lettered(row)}\n\nThink step by step, then finish with 'Final Answer: ' and the letter.\n"


SHIPPED = (
    Shipped("lambada", lambada, 64, 1, "LAMBADA: the last word of a passage"),
    Shipped("qa", question_answer, 128, 100, "questions with an answer"),
    Shipped("completion", completion, 128, 100, "texts to go on from"),
    Shipped("cot", step_by_step, 64, 256, "questions to think aloud about"),
    Shipped("math", problem, 64, 256, "problems to solve"),
    Shipped("mmlu_pro", multiple_choice, 64, 10, "MMLU-Pro: up to ten options"),
    Shipped("mmlu_pro_cot", reasoned_choice, 32, 200, "MMLU-Pro, thinking aloud"),
)
