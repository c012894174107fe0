"""The options of a row, and the letter of the right one.

Options are a list, a dictionary of labels to texts, `{"text": […], "label": […]}`, a JSON list in a text cell, or
columns A, B, C…. The right option is named by its letter, its label, its index from 0, or its text.

A number is first compared with the labels. After that it is an index from 0 or the text of an option, depending on the
column and on the setting `answer`. If neither decides, and both readings are possible and differ, `TwoReadings` is
raised.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from .cells import is_missing
from .faults import RowFault

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKED_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
"""A letter in a form that some benchmarks use for the right answer: `(A)` or `A.`"""
Way = Literal["text", "index"]
"""How a number in the column of right answers is read: as an option's text, or as its index."""


class TwoReadings(RowFault):
    """Raised if the right answer is a number that is the text of one option and the index of another."""

    def __init__(
        self,
        gold: object,
        by_text: int,
        by_index: int,
        column: str,
    ) -> None:
        super().__init__(
            f"the right answer is the text of option {LETTERS[by_text]} and the number, from 0, of option"
            f" {LETTERS[by_index]}",
            column=column,
            got=gold,
            fix="say which is meant: --columns answer=text, or --columns answer=index",
        )


def options_of(value: object, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the option texts of a cell, and their labels; no labels if the cell has only texts."""
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
            labels = tuple(str(label) for label in value)
            value = list(value.values())
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
    row: Mapping[str, Any],
    columns: Sequence[str],
) -> tuple[str, ...]:
    """Return the options in the columns A, B, C… of a row, without the empty cells at the end."""
    cells = []
    for column in columns:
        cell = row.get(column)
        cells.append("" if is_missing(cell) else cell)
    while cells and cells[-1] == "":
        cells.pop()
    texts = []
    for index, cell in enumerate(cells):
        text = _as_text(cell, index + 1, columns[index])
        texts.append(text)
    check_options(texts, columns[0])
    return tuple(texts)


def check_options(
    texts: Sequence[str],
    column: str,
) -> None:
    """Raise if there are no options, more options than letters, or two equal options."""
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


def check_made_options(choices: Sequence[Any]) -> None:
    """Raise if a sample built in Python has an option that is not text, for example an image."""
    for number, option in enumerate(choices, 1):
        if isinstance(option, str):
            continue
        raise RowFault(
            f"option {number} is of type {type(option).__name__}, not text",
            column="choices",
            fix=_fix_of_option(option, "`media`"),
        )


def _fix_of_option(option: object, where: str) -> str:
    """Return advice on how to write an option that is not text. Media must be in a media column."""
    kind = _kind_of_media(option)
    if kind is None:
        return "write every option as text"
    column = where.format(kind=kind)
    names = f"'{kind} 1', '{kind} 2'"
    return (
        f"put the {kind}s into {column} in order, and name them in the options: {names}"
    )


def _kind_of_media(option: object) -> str | None:
    """Return `image`, `audio` or `video` if an option is a medium, or a dictionary that holds one; else None."""
    kind = getattr(option, "kind", None)
    if kind in MEDIA:
        return str(kind)
    package, _, _ = type(option).__module__.partition(".")
    if package == "PIL":
        return "image"
    if not isinstance(option, Mapping):
        return None
    for name in MEDIA:
        if name in option:
            return name
    return None


MEDIA = ("image", "audio", "video")


def letter_of(
    gold: object,
    texts: Sequence[str],
    labels: Sequence[str],
    column: str,
    *,
    is_index: bool | None,
) -> object:
    """Return the letter of the right option, or a tuple of letters if several are right.

    `is_index` says how a number is read first: True as an index from 0, False as an option's text. `None` means that
    no setting decides, and an ambiguous number raises `TwoReadings`.
    """
    if isinstance(gold, Sequence) and not isinstance(gold, (str, bytes)):
        return tuple(
            letter_of(entry, texts, labels, column, is_index=is_index) for entry in gold
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
    index = second if first is None else first
    if index is None:
        letters = ", ".join(LETTERS[: len(texts)])
        fix = f"give a letter ({letters}), a number from 0, or the text of an option"
        if str(gold).strip() == str(len(texts)):
            fix += "; numbers that count from 1 make the other rows wrong, too"
        raise RowFault(
            f"the right answer is not among the {len(texts)} options",
            column=column,
            got=gold,
            fix=fix,
        )
    return LETTERS[index]


def way_of(
    gold: object,
    texts: Sequence[str],
    labels: Sequence[str],
) -> Way | None:
    """Return how a number that names the right option must be read: as text or index; None if both are possible.

    Letters and labels are no evidence, because they mean the same in both readings.
    """
    by_text, by_index = readings(gold, texts, labels)
    if by_index is not None:
        if by_text is None:
            return "index"
        return None
    is_text = (
        by_text is not None
        and not labels
        and texts[by_text] in _spellings_of(gold, texts)
    )
    return "text" if is_text else None


def readings(
    gold: object,
    texts: Sequence[str],
    labels: Sequence[str],
) -> tuple[int | None, int | None]:
    """Return two option indexes for `gold`: read as a letter, label or text, and read as an index from 0."""
    spellings = _spellings_of(gold, texts)
    letters = LETTERS[: len(texts)]
    for text in spellings:
        if text in labels:
            return list(labels).index(text), None
    if spellings and len(spellings[0]) == 1 and spellings[0] in letters:
        return letters.index(spellings[0]), None
    if spellings and spellings[-1].isascii() and spellings[-1].isdigit():
        by_index = int(spellings[-1])
    else:
        by_index = len(texts)
    if by_index < len(texts):
        as_index = by_index
    else:
        as_index = None
    for text in spellings:
        if text in texts:
            return list(texts).index(text), as_index
    if spellings:
        letter = _MARKED_LETTER.fullmatch(spellings[0])
    else:
        letter = None
    if letter is not None and letter[1].upper() in letters:
        return letters.index(letter[1].upper()), None
    return None, as_index


def _spellings_of(
    gold: object,
    texts: Sequence[str],
) -> tuple[str, ...]:
    """Return the spellings in which an answer may occur among the options: `2.0` also as `2`.

    Return nothing for a value that is neither text nor a finite number.
    """
    if isinstance(gold, str):
        return (gold if gold in texts else gold.strip(),)
    if (
        not isinstance(gold, (int, float))
        or isinstance(gold, bool)
        or not math.isfinite(gold)
    ):
        return ()
    if isinstance(gold, float) and gold == int(gold):
        return (str(gold), str(int(gold)))
    return (str(gold),)


def _from_text(cell: str, column: str) -> object:
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


def _as_text(
    option: object,
    number: int,
    column: str,
) -> str:
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
        fix=_fix_of_option(option, "the column `{kind}`"),
    )


def _twins(texts: Sequence[str]) -> tuple[int, int]:
    first_indexes: dict[str, int] = {}
    for index, text in enumerate(texts):
        if text in first_indexes:
            return first_indexes[text], index
        first_indexes[text] = index
    raise ValueError("no two texts are the same")
