"""Prompts of the datasets that rwkv-benchmark ships, and the evaluators of MMLU-Pro."""

from collections.abc import Sequence
from typing import Any

from ...scorers.choice.choice_rules import extract_choice
from ..protocol import is_upstream
from ..shapes import Fields, Record
from .builtin import Items, answers, save_lines

LETTERS = "ABCDEFGHIJ"
Row = Fields


def _cell(
    row: Row,
    *names: str,
    otherwise: object = "",
) -> Any:
    """Return the value of the first of these columns that exists in a row. Raise `KeyError` if none exists.

    Under upstream's rules, return `otherwise` instead of raising.
    """
    for name in names:
        if row.get(name, row) is not row:
            return row[name]
    if is_upstream("pipeline"):
        return otherwise
    raise KeyError(names[0])


def lambada(row: Row) -> str:
    """Return a passage without its last word; a passage of one word is returned unchanged."""
    return str(_cell(row, "text")).rsplit(" ", 1)[0]


def question_answer(row: Row) -> str:
    """Return `Q: <question>`, followed by the line `A:` that the model continues."""
    return f"Q: {_cell(row, 'question')}\nA:"


def completion(row: Row) -> str:
    """Return the text in `prompt` or `text`, which the model continues."""
    text: str = _cell(row, "prompt", "text")
    return text


def step_by_step(row: Row) -> str:
    """Return a question followed by "Let's think step by step:"."""
    return f"{_cell(row, 'question')}\nLet's think step by step:\n"


def problem(row: Row) -> str:
    """Return a prompt with a problem, which ends with the line `Solution:`."""
    return f"Problem: {_cell(row, 'problem', 'question')}\n\nSolution:\n"


def options_of(row: Row) -> list[str]:
    """Return the non-empty options of a question. A string is split at its commas."""
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
    """Return the options of a question with their letters, one per line.

    Under upstream's rules, options after the tenth are left out.
    """
    options = options_of(row)
    if len(options) > len(LETTERS) and not is_upstream("pipeline"):
        raise ValueError(f"{len(options)} options, and letters for {len(LETTERS)}")
    return "\n".join(
        f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)
    )


def multiple_choice(row: Row) -> str:
    """Return a prompt with the category, a question with its options, and the start of the answer."""
    category = row.get("category", row.get("subject", ""))
    head = f"Category: {category}\n\n" if category else ""
    return f"{head}User: {_cell(row, 'question')}\n{lettered(row)}\n\nAssistant:"


def reasoned_choice(row: Row) -> str:
    """Return a prompt with a question, its options, and the instruction to think before giving the letter."""
    ask = "Think step by step, then end with the letter of the right option:"
    return f"Question: {_cell(row, 'question')}\n\n{lettered(row)}\n\n{ask}"


def evaluate(
    engine: object,
    data: Items,
    batch_size: int = 64,
    max_length: int = 10,
    noise: float = 0.0,
    inferoutput: str | None = None,
    **kwargs: object,
) -> Record:
    """Run MMLU-Pro's questions. Return the accuracy with its counts, overall and by `category` or `subject`.

    Write each answer to the file `inferoutput` if given.
    """
    lines = []
    for answer, item in answers(engine, data, batch_size, max_length, noise):
        raw = item["raw"]
        options = raw.get("options", raw.get("choices", []))
        right = right_letter(item["reference"])
        line = _line(answer, item, read_choice(answer, raw), right, options)
        lines.append({**line, "category": str(line["category"])})
    return _counted(lines, inferoutput)


def evaluate_as_upstream(
    engine: object,
    data: Items,
    batch_size: int = 64,
    max_length: int = 1,
    noise: float = 0.0,
    inferoutput: str | None = None,
    **kwargs: object,
) -> Record:
    """Run MMLU-Pro's questions and score them by upstream's rule.

    The first letter A to J anywhere in the answer is the chosen option. By default, an answer has one
    token.
    """
    lines = []
    for answer, item in answers(engine, data, batch_size, max_length, noise):
        options = item["raw"].get("options", [])
        right = right_letter_as_upstream(item["reference"])
        lines.append(_line(answer, item, first_letter(answer), right, options))
    return _counted(lines, inferoutput)


def _line(
    answer: str,
    item: Fields,
    chosen: str | None,
    right: str,
    options: object,
) -> Record:
    raw = item["raw"]
    return {
        "question": raw.get("question", ""),
        "options": options,
        "category": raw.get("category", raw.get("subject", "unknown")),
        "prompt": item["prompt"],
        "prediction": answer,
        "predicted_answer": chosen,
        "correct_answer": right,
        "is_correct": chosen == right,
    }


def read_choice(answer: str, raw: Fields) -> str | None:
    """Return the letter that the answer chooses, or None if there is none."""
    if "options" in raw or "choices" in raw:
        texts = options_of(raw)
    else:
        texts = [""] * len(LETTERS)
    return extract_choice(answer, dict(zip(LETTERS, texts, strict=False))).answer


def first_letter(answer: str) -> str | None:
    """Return the first letter A to J in an answer, even if it is part of a word. None if there is none."""
    return next((letter for letter in answer.upper() if letter in LETTERS), None)


def right_letter(reference: object) -> str:
    """Return the letter of a reference, which may be an index, a letter, or a string that begins with one."""
    if type(reference) is int and 0 <= reference < len(LETTERS):
        return LETTERS[reference]
    text = str(reference).strip()
    return first_letter(text) or text.upper()


def right_letter_as_upstream(reference: object) -> str:
    """Return the letter of a reference by upstream's rule.

    An integer is used as an index without a check. From a string, the first letter A to
    J is taken.
    """
    if isinstance(reference, int):
        return LETTERS[reference]
    text = str(reference).upper()
    if isinstance(reference, str):
        return first_letter(text) or text
    return text


def _counted(
    lines: Sequence[Fields],
    inferoutput: str | None,
) -> Record:
    if inferoutput:
        save_lines(inferoutput, lines)
    subjects: dict[str, list[bool]] = {}
    for line in lines:
        subjects.setdefault(line["category"], []).append(line["is_correct"])
    correct = sum(line["is_correct"] for line in lines)
    return {
        "accuracy": correct / len(lines) if lines else 0,
        "correct": correct,
        "total": len(lines),
        "subject_accuracies": {
            name: sum(right) / len(right) for name, right in subjects.items()
        },
        "num_subjects": len(subjects),
    }
