"""The `mmlu_pro` evaluator: the chosen letter, over all questions and by subject.

The letter is read by assay's rule stack: `The answer is C` is C, not the H of `The`. `mmlu_pro@upstream` takes the
first letter A to J wherever it stands, for comparison with numbers published that way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...scorers.choice.choice_rules import extract_choice
from .builtin import Items, answers, save_lines
from .prompts import LETTERS, options_of


def evaluate(
    engine: Any,
    data: Items,
    batch_size: int = 64,
    max_length: int = 10,
    noise: float = 0.0,
    inferoutput: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Accuracy with its counts, and by `category` or `subject`; each answer in `inferoutput` if it is given."""
    lines = [
        _line(answer, item)
        for answer, item in answers(engine, data, batch_size, max_length, noise)
    ]
    return _counted(lines, inferoutput)


def evaluate_as_upstream(
    engine: Any,
    data: Items,
    batch_size: int = 64,
    max_length: int = 1,
    noise: float = 0.0,
    inferoutput: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """The same with the first letter A to J anywhere in the answer, and one token of it unless more are asked for."""
    lines = [
        _line_as_upstream(answer, item)
        for answer, item in answers(engine, data, batch_size, max_length, noise)
    ]
    return _counted(lines, inferoutput)


def read_choice(answer: str, raw: Mapping[str, Any]) -> str | None:
    """The letter the answer settles on; `None` if it names none."""
    texts = (
        options_of(raw) if "options" in raw or "choices" in raw else [""] * len(LETTERS)
    )
    return extract_choice(answer, dict(zip(LETTERS, texts, strict=False))).answer


def first_letter(answer: str) -> str | None:
    """The first letter A to J, whatever word it begins."""
    return next(
        (letter for letter in answer.strip().upper() if letter in LETTERS), None
    )


def right_letter(reference: Any) -> str:
    """The letter of a reference given as an index, a letter, or a text that begins with one."""
    if (
        isinstance(reference, int)
        and not isinstance(reference, bool)
        and 0 <= reference < len(LETTERS)
    ):
        return LETTERS[reference]
    text = str(reference).strip().upper()
    return next((letter for letter in text if letter in LETTERS), text)


def right_letter_as_upstream(reference: Any) -> str:
    """The same without a look at whether an index has a letter; what is neither index nor text is its own text."""
    if isinstance(reference, int):
        return LETTERS[reference]
    text = str(reference).upper()
    return (
        next((letter for letter in text if letter in LETTERS), text)
        if isinstance(reference, str)
        else text
    )


def _counted(
    lines: Sequence[Mapping[str, Any]], inferoutput: str | None
) -> dict[str, Any]:
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


def _line(answer: str, item: Mapping[str, Any]) -> dict[str, Any]:
    raw = item["raw"]
    options = raw.get("options", raw.get("choices", []))
    category = str(raw.get("category", raw.get("subject", "unknown")))
    return _judged(
        answer,
        item,
        read_choice(answer, raw),
        right_letter(item["reference"]),
        options,
        category,
    )


def _line_as_upstream(answer: str, item: Mapping[str, Any]) -> dict[str, Any]:
    raw = item["raw"]
    category = raw.get("category", raw.get("subject", "unknown"))
    right = right_letter_as_upstream(item["reference"])
    return _judged(
        answer, item, first_letter(answer), right, raw.get("options", []), category
    )


def _judged(
    answer: str,
    item: Mapping[str, Any],
    chosen: str | None,
    right: str,
    options: Any,
    category: str,
) -> dict[str, Any]:
    return {
        "question": item["raw"].get("question", ""),
        "options": options,
        "category": category,
        "prompt": item["prompt"],
        "prediction": answer,
        "predicted_answer": chosen,
        "correct_answer": right,
        "is_correct": chosen == right,
    }
