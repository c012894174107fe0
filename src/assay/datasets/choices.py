"""The options of a row, and the letter of the right one.

Options are a list, a dictionary from labels to texts, `{"text": […], "label": […]}`, a
JSON list in a text cell, or columns A, B, C…. The right option is given by its letter,
its label, its index from 0, or its text.

An answer is first compared with the labels. After that it may be a letter, an index from 0, the text of an option, or a
number from 1 (of columns such as option1). The setting `answer`, the name of the column and the other rows decide. If
none does, and the readings differ, `TwoReadings` is raised.
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
"""A letter as some benchmarks write the right answer: `(A)` or `A.`"""
Way = Literal["text", "letter", "index", "number"]
"""How to read a right answer: as an option's text, its letter, its index from 0, or its number from 1."""
WAYS: tuple[Way, ...] = ("letter", "text", "index", "number")
"""The default order in which to try these ways, if no setting, column or other row decides."""


class TwoReadings(RowFault):
    """Raised if a right answer is ambiguous: read as a text it names one option, read as an index another."""

    def __init__(
        self,
        gold: object,
        readings: Mapping[Way, int],
        column: str,
    ) -> None:
        meanings = []
        for way, index in readings.items():
            meanings.append(f"the {_WAY_NAMES[way]} of option {LETTERS[index]}")
        settings = [f"--columns answer={way}" for way in readings]
        super().__init__(
            f"the right answer is {' and '.join(meanings)}",
            column=column,
            got=gold,
            fix=f"say which is meant: {', or '.join(settings)}",
        )
        self.ways = tuple(readings)


_WAY_NAMES = {
    "text": "text",
    "letter": "letter",
    "index": "number, from 0,",
    "number": "number, from 1,",
}


def options_of(value: object, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the option texts of a cell, and their labels. A cell with texts only has no labels."""
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
    """Raise if a sample that was built in Python has an option that is not text, such as an image."""
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
    """Return `image`, `audio` or `video` if an option is a medium or a dictionary with one, otherwise None."""
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
    ways: Sequence[Way] = WAYS,
    *,
    is_numbered: bool = False,
) -> object:
    """Return the letter of the right option, or a tuple of letters if several are
    right.

    If the answer can be read in several ways, the first possible way in `ways` is used.
    If `ways` contains none of them and they lead to different options, raise
    `TwoReadings`. `is_numbered` has the same meaning as in `readings`.
    """
    if isinstance(gold, Sequence) and not isinstance(gold, (str, bytes)):
        return tuple(
            letter_of(entry, texts, labels, column, ways, is_numbered=is_numbered)
            for entry in gold
        )
    indexes = readings(gold, texts, labels, is_numbered=is_numbered)
    for way in ways:
        if way in indexes:
            return LETTERS[indexes[way]]
    if len(set(indexes.values())) > 1:
        raise TwoReadings(gold, indexes, column)
    for index in indexes.values():
        return LETTERS[index]
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


def readings(
    gold: object,
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    is_numbered: bool = False,
) -> dict[Way, int]:
    """Return the index of the right option for each possible way to read the answer.

    If the answer equals a label, that is the only way. `is_numbered` is True if the
    option columns are numbered from 1, which makes numbers from 1 possible.
    """
    spellings = _spellings_of(gold, texts)
    for text in spellings:
        if text in labels:
            return {"letter": list(labels).index(text)}
    indexes: dict[Way, int] = {}
    for text in spellings:
        if text in texts:
            indexes["text"] = list(texts).index(text)
            break
    letters = LETTERS[: len(texts)]
    if spellings and len(spellings[0]) == 1 and spellings[0] in letters:
        indexes["letter"] = letters.index(spellings[0])
    if spellings and spellings[-1].isascii() and spellings[-1].isdigit():
        number = int(spellings[-1])
        if number < len(texts):
            indexes["index"] = number
        if is_numbered and 1 <= number <= len(texts):
            indexes["number"] = number - 1
    if spellings and not indexes:
        letter = _MARKED_LETTER.fullmatch(spellings[0])
        if letter is not None and letter[1].upper() in letters:
            indexes["letter"] = letters.index(letter[1].upper())
    return indexes


def _spellings_of(
    gold: object,
    texts: Sequence[str],
) -> tuple[str, ...]:
    """Return the ways to write an answer, for finding it among the options: `2.0` and
    `2`.

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
