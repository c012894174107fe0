"""Choices in another order: drawn from a seed and the sample's id, the right answer and the row moved along.

A model that prefers the first option, and data whose right option is always the first, show in the difference.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import Sample
from .choices import LETTERS


def with_shuffled_choices(sample: Sample, seed: int) -> Sample:
    """The sample with its options in an order of its own; one without options stays as it is."""
    count = len(sample.choices)
    if count < 2:
        return sample
    order = list(range(count))
    random.Random(f"{seed}/{sample.id}").shuffle(order)
    moved = {LETTERS[old]: LETTERS[new] for new, old in enumerate(order)}
    fields = {
        name: _moved_cell(name, cell, sample, order, moved)
        for name, cell in sample.fields.items()
    }
    return replace(
        sample,
        target=_moved_target(sample.target, moved),
        choices=_in_order(sample.choices, order),
        fields=fields,
    )


def _in_order(values: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[place] for place in order)


def _moved_target(target: Any, moved: Mapping[str, str]) -> Any:
    """A letter, or several, as they are called now; the text of an option is the same in any order."""
    if isinstance(target, (tuple, list)):
        return tuple(_moved_target(one, moved) for one in target)
    return (
        moved.get(target.strip().upper(), target) if isinstance(target, str) else target
    )


def _moved_cell(
    name: str, cell: Any, sample: Sample, order: Sequence[int], moved: Mapping[str, str]
) -> Any:
    """A cell of the row as a template may show it: the list of options, one of them, or the letter of the right one."""
    texts = list(sample.choices)
    if isinstance(cell, (list, tuple)) and [str(one) for one in cell] == texts:
        return list(_in_order(cell, order))
    if isinstance(cell, Mapping):
        inner = {
            key: _moved_cell("", value, sample, order, moved)
            for key, value in cell.items()
            if key in TEXTS
        }
        return {**cell, **inner} if inner else cell
    if name in moved and str(cell) == texts[LETTERS.index(name)]:
        return texts[order[LETTERS.index(name)]]  # a column A, B, C… for each option
    if isinstance(cell, str) and cell == sample.target and cell in moved:
        return moved[cell]
    return cell


TEXTS = ("text", "texts")
"""Where `{"text": […], "label": […]}` has the options."""
