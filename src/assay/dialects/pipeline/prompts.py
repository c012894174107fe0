"""The prompts of the datasets this dialect ships: what is asked of a row, by name.

A column that a row lacks is a fault of that row; as upstream, it is an empty text. Labels, separators and their order
are upstream's. The sentence that asks to think aloud is ours, unless a checkout is at hand (see `checkout`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..protocol import is_upstream

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


def _cell(row: Row, *names: str, otherwise: Any = "") -> Any:
    """The first of these columns that the row has."""
    for name in names:
        if row.get(name, row) is not row:
            return row[name]
    if is_upstream("pipeline"):
        return otherwise
    raise KeyError(names[0])


def lambada(row: Row) -> str:
    """A passage without its last word; one of a single word whole."""
    return str(_cell(row, "text")).rsplit(" ", 1)[0]


def question_answer(row: Row) -> str:
    """A question, and where its answer goes."""
    return f"Q: {_cell(row, 'question')}\nA:"


def completion(row: Row) -> str:
    """A text to go on from."""
    text: str = _cell(row, "prompt", "text")
    return text


def step_by_step(row: Row) -> str:
    """A question to think aloud about."""
    return f"{_cell(row, 'question')}\nLet's think step by step:\n"


def problem(row: Row) -> str:
    """A problem, and where its solution goes."""
    return f"Problem: {_cell(row, 'problem', 'question')}\n\nSolution:\n"


def options_of(row: Row) -> list[str]:
    """The options that say something; a text is split at its commas."""
    cell: Any = _cell(row, "options", "choices", otherwise=())
    if isinstance(cell, str):
        cell = cell.split(",")
    if is_upstream("pipeline") and not isinstance(cell, list):
        return []
    options: Sequence[Any] = cell
    return [
        str(option).strip()
        for option in options
        if option is not None and str(option).strip()
    ]


def lettered(row: Row) -> str:
    """The options, each with its letter, a line each; as upstream, those beyond the tenth are left out."""
    options = options_of(row)
    if len(options) > len(LETTERS) and not is_upstream("pipeline"):
        raise ValueError(f"{len(options)} options, and letters for {len(LETTERS)}")
    return "\n".join(
        f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)
    )


def multiple_choice(row: Row) -> str:
    """The category, a question with up to ten options, and whose turn it is."""
    category = row.get("category", row.get("subject", ""))
    head = f"Category: {category}\n\n" if category else ""
    return f"{head}User: {_cell(row, 'question')}\n{lettered(row)}\n\nAssistant:"


def reasoned_choice(row: Row) -> str:
    """A question with its options, to think aloud about before the letter."""
    ask = "Think step by step, then end with the letter of the right option:"
    return f"Question: {_cell(row, 'question')}\n\n{lettered(row)}\n\n{ask}"


SHIPPED = (
    Shipped("lambada", lambada, 64, 1, "LAMBADA: the last word of a passage"),
    Shipped("qa", question_answer, 128, 100, "questions with an answer"),
    Shipped("completion", completion, 128, 100, "texts to go on from"),
    Shipped("cot", step_by_step, 64, 256, "questions to think aloud about"),
    Shipped("math", problem, 64, 256, "problems to solve"),
    Shipped("mmlu_pro", multiple_choice, 64, 10, "MMLU-Pro: up to ten options"),
    Shipped("mmlu_pro_cot", reasoned_choice, 32, 200, "MMLU-Pro, thinking aloud"),
)
OWN_WORDS = frozenset({"mmlu_pro_cot"})
"""Datasets whose prompt holds a sentence of ours where no checkout is at hand."""
