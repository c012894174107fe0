"""Choices: the options of a row, and which of them is right, as a letter.

Options come as a list, as a dictionary of labels to texts, as `{"text": […], "label": […]}`, as a JSON list in a text
cell, or as columns A, B, C…. The right one may be given by its letter, its label, its number from 0, or its text.

A number, written as one or as text, is a label first. In a column that holds numbers from 0 it is one of those, else
the text of an option. Where nobody said which and both readings are possible and differ, `TwoReadings` is raised.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from .cells import is_missing
from .faults import RowFault

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Way = Literal["text", "index"]
"""How numbers among the right answers are read."""


class TwoReadings(RowFault):
    """A number that is the text of one option and the place of another."""

    def __init__(self, gold: Any, by_text: int, by_index: int, column: str) -> None:
        super().__init__(
            f"the right answer is the text of option {LETTERS[by_text]} and the number, from 0, of option"
            f" {LETTERS[by_index]}",
            column=column,
            got=gold,
            fix="say which is meant: --columns answer=text, or --columns answer=index",
        )


def options_of(value: Any, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The option texts of a cell, and their labels where the row has labels of its own."""
    if isinstance(value, str):
        value = _from_text(value, column)
    labels: tuple[str, ...] = ()
    if isinstance(value, Mapping):
        texts = value.get("text", value.get("texts"))
        if isinstance(texts, Sequence) and not isinstance(texts, str):
            labels = tuple(
                str(label) for label in value.get("label", value.get("labels", ()))
            )
            value = texts
        else:
            labels, value = tuple(str(label) for label in value), list(value.values())
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise RowFault(
            "the options must be a list",
            column=column,
            got=value,
            fix='write ["first", "second", …]',
        )
    texts = tuple(
        _as_text(option, number, column) for number, option in enumerate(value, 1)
    )
    check_options(texts, column)
    return texts, labels if len(labels) == len(texts) else ()


def options_from_cells(
    row: Mapping[str, Any], columns: Sequence[str]
) -> tuple[str, ...]:
    """The options of columns A, B, C…; empty cells at the end are no options."""
    cells = ["" if is_missing(cell) else cell for cell in map(row.get, columns)]
    while cells and cells[-1] == "":
        cells.pop()
    texts = tuple(_as_text(cell, n, columns[n - 1]) for n, cell in enumerate(cells, 1))
    check_options(texts, columns[0])
    return texts


def check_options(texts: Sequence[str], column: str) -> None:
    """Raises for no options, for more than there are letters, and for two that are the same."""
    if not texts:
        raise RowFault(
            "the question has no options",
            column=column,
            fix="give at least one, or drop the column",
        )
    if len(texts) > len(LETTERS):
        raise RowFault(
            f"{len(texts)} options, at most {len(LETTERS)} have a letter",
            column=column,
            got=texts[-1],
        )
    if len(set(texts)) != len(texts):
        first, second = _twins(texts)
        raise RowFault(
            f"options {LETTERS[first]} and {LETTERS[second]} are the same",
            column=column,
            got=texts[first],
            fix="make them differ: a right answer must be one option",
        )


def letter_of(
    gold: Any,
    texts: Sequence[str],
    labels: Sequence[str],
    column: str,
    *,
    is_index: bool | None,
) -> Any:
    """The letter of the right option; a tuple of letters where several are right.

    `is_index` says what a number is read as first: a place from 0, or an option's text; `None` where nobody said.
    """
    if isinstance(gold, Sequence) and not isinstance(gold, (str, bytes)):
        return tuple(
            letter_of(one, texts, labels, column, is_index=is_index) for one in gold
        )
    by_text, by_index = readings(gold, texts, labels)
    if (
        is_index is None
        and by_text is not None
        and by_index is not None
        and by_text != by_index
    ):
        raise TwoReadings(gold, by_text, by_index, column)
    first, second = (by_index, by_text) if is_index else (by_text, by_index)
    place = second if first is None else first
    if place is None:
        letters = ", ".join(LETTERS[: len(texts)])
        raise RowFault(
            f"the right answer is not among the {len(texts)} options",
            column=column,
            got=gold,
            fix=f"give a letter ({letters}), a number from 0, or the text of an option",
        )
    return LETTERS[place]


def way_of(gold: Any, texts: Sequence[str], labels: Sequence[str]) -> Way | None:
    """How answers like this one are read, where it can be an option in one way only; letters and labels do not tell."""
    by_text, by_index = readings(gold, texts, labels)
    if by_index is not None:
        return "index" if by_text is None else None
    is_text = (
        by_text is not None and not labels and texts[by_text] in _written(gold, texts)
    )
    return "text" if is_text else None


def readings(
    gold: Any, texts: Sequence[str], labels: Sequence[str]
) -> tuple[int | None, int | None]:
    """Which option is right if its letter, label or text was given, and which if its number from 0 was."""
    spellings = _written(gold, texts)
    letters = LETTERS[: len(texts)]
    for text in spellings:
        if text in labels:
            return list(labels).index(text), None
    if spellings and len(spellings[0]) == 1 and spellings[0] in letters:
        return letters.index(spellings[0]), None
    by_index = (
        int(spellings[-1])
        if spellings and spellings[-1].isascii() and spellings[-1].isdigit()
        else len(texts)
    )
    as_index = by_index if by_index < len(texts) else None
    for text in spellings:
        if text in texts:
            return list(texts).index(text), as_index
    if spellings and len(spellings[0]) == 1 and spellings[0].upper() in letters:
        return letters.index(spellings[0].upper()), None
    return None, as_index


def _written(gold: Any, texts: Sequence[str]) -> tuple[str, ...]:
    """An answer as it may stand among options: `2.0` also as `2`; nothing for what is neither text nor a number."""
    if isinstance(gold, str):
        return (gold if gold in texts else gold.strip(),)
    if (
        not isinstance(gold, (int, float))
        or isinstance(gold, bool)
        or not math.isfinite(gold)
    ):
        return ()
    return (
        (str(gold), str(int(gold)))
        if isinstance(gold, float) and gold == int(gold)
        else (str(gold),)
    )


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
    if (
        isinstance(option, (int, float))
        and not isinstance(option, bool)
        and not is_missing(option)
    ):
        return str(option)
    raise RowFault(
        f"option {number} is not text",
        column=column,
        got=option,
        fix="write every option as text",
    )


def _twins(texts: Sequence[str]) -> tuple[int, int]:
    places: dict[str, int] = {}
    for place, text in enumerate(texts):
        if text in places:
            return places[text], place
        places[text] = place
    raise ValueError("no two texts are the same")
