"""Choices: the options of a row, and which of them is right, as a letter.

Options come as a list, as a dictionary of labels to texts, as `{"text": […], "label": […]}`, as a JSON list in a text
cell, or as columns A, B, C…. The right one may be given by its letter, its label, its number from 0, or its text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .faults import RowFault

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def options_of(value: Any, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The option texts of a cell, and their labels where the row has labels of its own."""
    if isinstance(value, str):
        value = _from_text(value, column)
    labels: tuple[str, ...] = ()
    if isinstance(value, Mapping):
        texts = value.get("text", value.get("texts"))
        if isinstance(texts, Sequence) and not isinstance(texts, str):
            labels = tuple(str(label) for label in value.get("label", value.get("labels", ())))
            value = texts
        else:
            labels, value = tuple(str(label) for label in value), list(value.values())
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise RowFault("the options must be a list", column=column, got=value, fix='write ["first", "second", …]')
    texts = tuple(_as_text(option, number, column) for number, option in enumerate(value, 1))
    check_options(texts, column)
    return texts, labels if len(labels) == len(texts) else ()


def options_from_cells(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[str, ...]:
    """The options of columns A, B, C…; empty cells at the end are no options."""
    cells = [row.get(column) for column in columns]
    while cells and cells[-1] in (None, ""):
        cells.pop()
    texts = tuple(_as_text("" if cell is None else cell, n, columns[n - 1]) for n, cell in enumerate(cells, 1))
    check_options(texts, columns[0])
    return texts


def check_options(texts: Sequence[str], column: str) -> None:
    """Raises for no options, for more than there are letters, and for two that are the same."""
    if not texts:
        raise RowFault("the question has no options", column=column, fix="give at least one, or drop the column")
    if len(texts) > len(LETTERS):
        raise RowFault(f"{len(texts)} options, at most {len(LETTERS)} have a letter", column=column, got=texts[-1])
    if len(set(texts)) != len(texts):
        first, second = _twins(texts)
        raise RowFault(
            f"options {LETTERS[first]} and {LETTERS[second]} are the same",
            column=column,
            got=texts[first],
            fix="make them differ: a right answer must be one option",
        )


def letter_of(gold: Any, texts: Sequence[str], labels: Sequence[str], column: str, *, is_index: bool) -> Any:
    """The letter of the right option; a tuple of letters where several are right."""
    if isinstance(gold, Sequence) and not isinstance(gold, (str, bytes)):
        return tuple(letter_of(one, texts, labels, column, is_index=is_index) for one in gold)
    place: int | None = None
    if isinstance(gold, (int, float)) and not isinstance(gold, bool):
        place = int(gold) if gold == int(gold) and 0 <= gold < len(texts) else None
        if place is None and str(gold) in texts:
            place = list(texts).index(str(gold))
    elif isinstance(gold, str):
        place = _place_of_text(gold, texts, labels, is_index)
    if place is None:
        shown = ", ".join(LETTERS[: len(texts)])
        raise RowFault(
            f"the right answer is not among the {len(texts)} options",
            column=column,
            got=gold,
            fix=f"give a letter ({shown}), a number from 0, or the text of an option",
        )
    return LETTERS[place]


def _place_of_text(gold: str, texts: Sequence[str], labels: Sequence[str], is_index: bool) -> int | None:
    gold = gold if gold in texts else gold.strip()
    by_index = int(gold) if gold.isascii() and gold.isdigit() and len(gold) < 3 and int(gold) < len(texts) else None
    if labels and gold in labels:
        return list(labels).index(gold)
    if is_index and by_index is not None:
        return by_index
    if len(gold) == 1 and gold in LETTERS[: len(texts)]:
        return LETTERS.index(gold)
    if gold in texts:
        return list(texts).index(gold)
    if len(gold) == 1 and gold.upper() in LETTERS[: len(texts)]:
        return LETTERS.index(gold.upper())
    return by_index


def _from_text(cell: str, column: str) -> Any:
    text = cell.strip()
    if not text:
        return []
    if text[0] in "[{":
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass
    raise RowFault(
        "the options must be a JSON list",
        column=column,
        got=cell,
        fix='write ["first", "second"], or use columns A, B, C…',
    )


def _as_text(option: Any, number: int, column: str) -> str:
    if isinstance(option, str):
        return option
    if isinstance(option, (int, float)) and not isinstance(option, bool):
        return str(option)
    raise RowFault(f"option {number} is not text", column=column, got=option, fix="write every option as text")


def _twins(texts: Sequence[str]) -> tuple[int, int]:
    seen: dict[str, int] = {}
    for place, text in enumerate(texts):
        if text in seen:
            return seen[text], place
        seen[text] = place
    raise ValueError("no two texts are the same")
