"""Convert the return value of a user's `evaluate`, in any form, to numbers by name."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...imports.documents import number_of
from ..returned import bare
from ..shapes import Record


def as_numbers(value: Any) -> Record:
    """Return the numbers in a user's return value by name.

    The value may be a dictionary, a data frame, a dictionary of columns, a list, or a
    single number. Numeric strings are read as numbers. Other strings and empty cells are
    left out.
    """
    if value is None:
        return {}
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        return _from_records(value.to_dict("records"), list(value.index))
    if hasattr(value, "to_dict"):
        return as_numbers(value.to_dict())
    if _is_array(value):
        return as_numbers(value.tolist())
    if isinstance(value, Mapping):
        return _from_mapping(value)
    number = _single_number(value)
    if number is not None:
        return {"value": number}
    if isinstance(value, (list, tuple)):
        return _named((str(index), inner) for index, inner in enumerate(value))
    if isinstance(value, str):
        return {}
    raise TypeError(
        f"evaluate returned a {type(value).__name__}; it must return a dict, a DataFrame or None"
    )


def _from_mapping(value: Mapping[Any, Any]) -> Record:
    """Return the numbers in a dictionary by name.

    If its values are lists of the same length, they are columns of a table.
    """
    lengths = {_length_of_column(cells) for cells in value.values()}
    is_table = len(lengths) == 1 and None not in lengths
    if is_table:
        records = []
        rows = zip(*value.values(), strict=True)
        for cells in rows:
            record = dict(zip(value, cells, strict=True))
            records.append(record)
        return _from_records(records, range(len(records)))
    return _named(value.items())


def _length_of_column(cells: object) -> int | None:
    """Return the length of a list without nested values; None for anything else."""
    if not isinstance(cells, (list, tuple)):
        return None
    if any(_is_nested(cell) for cell in cells):
        return None
    return len(cells)


def _is_nested(value: object) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _is_array(value: object) -> bool:
    """Return True for an array with more than one number."""
    return hasattr(value, "tolist") and getattr(value, "size", 1) != 1


def _named(entries: Any) -> Record:
    numbers: Record = {}
    for name, inner in entries:
        if isinstance(inner, (list, tuple)) and len(inner) == 1:
            number: object = _single_number(inner[0])
        elif _is_nested(inner) or _is_array(inner) or hasattr(inner, "to_dict"):
            number = as_numbers(inner) or None
        else:
            number = _single_number(inner)
        if number is not None:
            numbers[str(name)] = number
    return numbers


def _from_records(
    records: Sequence[Mapping[Any, Any]],
    labels: Sequence[Any],
) -> Record:
    """Return the numbers in the rows of a table by name.

    If there is one row, the names are those of its columns. If there are several, a
    row's name is also needed: its text cells or, if it has none, its label.
    """
    by_label: Record = {}
    for label, record in zip(labels, records, strict=True):
        numbers = {
            str(name): number
            for name, cell in record.items()
            if (number := number_of(bare(cell))) is not None
        }
        if len(records) == 1:
            return numbers
        words = [
            str(cell)
            for cell in record.values()
            if isinstance(cell, str) and number_of(cell) is None
        ]
        row_name = ".".join(words) or str(label)
        if row_name in by_label:
            row_name = f"{row_name}.{label}"
        by_label[row_name] = numbers
    return by_label


def _single_number(value: object) -> float | None:
    """Return a value as a number, or None if it is not one.

    Infinity and NaN are numbers, because the table reports them.
    """
    single = bare(value)
    if isinstance(single, float) and not math.isfinite(single):
        return single
    return number_of(single)
