"""Reorder the options of a question, together with the right answer and the row.

Comparing orders shows whether a model prefers the first option, and whether the data always list the right one first.
"""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import CHOICE_ORDER, AssayError, Prompt, Sample, without_letters
from .choices import LETTERS
from .columns import Columns, find_columns

TEXT_KEYS = ("text", "texts")
"""Keys of the list of texts in options such as `{"text": […], "label": […]}`."""
# "Both A and B", "A, C only", "Neither (a) nor (b)", "A和B"
_OPTION_LETTER = r"(?:\(?[A-J]\)?|\([a-j]\))"
_NAMES_LETTERS = re.compile(
    rf"(?<!\w){_OPTION_LETTER}\s?(?:[,&和、]|\s(?:and|or|nor|und|et|y)\s)\s?{_OPTION_LETTER}(?![^\W\d_])"
)
# "All of the above", "Ninguna de las anteriores", "以上都是"
_NAMES_EARLIER = re.compile(
    r"\babove\b|\banterior(?:es)?\b|\bci-dessus\b|\bgenannten\b|\bprecedenti\b|以上",
    re.IGNORECASE,
)
_LETTER_CELL = re.compile(r"(\W*)([A-Za-z])(\W*)")


def with_shuffled_choices(
    sample: Sample,
    seed: int,
    columns: Columns | None = None,
    epoch: int = 0,
) -> Sample:
    """Return the sample with its options in an order drawn from the seed, its id and the epoch.

    `columns` names the columns that hold the options and the right answer. Without it they are matched by name.
    """
    count = len(sample.choices)
    if count < 2:
        return sample
    if epoch:
        key = f"{seed}/{sample.id}/{epoch}"
    else:
        key = f"{seed}/{sample.id}"
    order = _draw_order(sample.choices, key)
    letters = sample.fields.get(CHOICE_ORDER, LETTERS)
    shuffled = reorder_choices(sample, order, columns)
    fields = {**shuffled.fields, CHOICE_ORDER: "".join(_in_order(letters, order))}
    return replace(shuffled, fields=fields)


def _draw_order(
    choices: Sequence[str],
    key: str,
) -> list[int]:
    """Return a random order of the options, in which options such as "all of the above" keep their position.

    If an option refers to others by their letters ("both A and B"), all options keep
    their position.
    """
    order = list(range(len(choices)))
    if any(map(_NAMES_LETTERS.search, choices)):
        return order
    free = [index for index in order if not _NAMES_EARLIER.search(choices[index])]
    new_order = list(free)
    random.Random(key).shuffle(new_order)
    for position, index in zip(free, new_order, strict=True):
        order[position] = index
    return order


def reorder_choices(
    sample: Sample,
    order: Sequence[int],
    columns: Columns | None = None,
) -> Sample:
    """Return the sample with its options in a given order. `order[0]` is the old index of the option that becomes A."""
    moved = {LETTERS[old]: LETTERS[new] for new, old in enumerate(order)}
    return replace(
        sample,
        target=_move_target(sample.target, moved),
        choices=_in_order(sample.choices, order),
        fields=_reorder_row(sample, order, moved, columns),
    )


def shows_order(
    template: Callable[[Sample], Prompt],
    sample: Sample,
) -> bool:
    """Return True if the template lists the options, so that the prompt depends on
    their order.

    If the prompt cannot be built, return True too: the error is reported later, when
    the sample is sent to the model. Return False if the likelihoods of the option texts
    are compared, because each text is evaluated separately.
    """
    carry_letters = without_letters(sample.choices) != sample.choices
    if carry_letters or lists_own_options(sample):
        return False
    backwards = range(len(sample.choices) - 1, -1, -1)
    try:
        before = template(sample)
        after = template(reorder_choices(sample, backwards))
    except AssayError:
        return True
    if before.messages != after.messages:
        return True
    return sorted(before.continuations or ()) != sorted(after.continuations or ())


def weighs_texts(
    template: Callable[[Sample], Prompt],
    sample: Sample,
) -> bool:
    """Return True if the task compares the likelihoods of the option texts. Their order then has no effect."""
    try:
        continuations = template(sample).continuations or ()
    except AssayError:
        return False
    texts = tuple(text.strip() for text in continuations)
    return bool(texts) and texts == sample.choices


def lists_own_options(sample: Sample) -> bool:
    """Return True if the question itself lists every option after its letter: "A) Paris B) Rome".

    Also return True if the options are only letters, because then the question must list their texts.
    """
    texts = tuple(text.strip().upper() for text in sample.choices)
    if texts and texts == tuple(LETTERS[: len(texts)]):
        return True
    if isinstance(sample.input, str):
        question = sample.input
    else:
        question = "\n".join(message.text for message in sample.input)
    for letter, text in zip(LETTERS, sample.choices, strict=False):
        entry = rf"(?<!\w){letter}(?:\s?[.):：、=]|\s[-–—])\s*{re.escape(text.strip())}"
        if re.search(entry, question) is None:
            return False
    return bool(sample.choices)


def _in_order(
    values: Sequence[Any],
    order: Sequence[int],
) -> tuple[Any, ...]:
    return tuple(values[index] for index in order)


def _move_target(
    target: object,
    moved: Mapping[str, str],
) -> object:
    """Return the target for the new option order.

    A letter is replaced with the option's new letter. A text stays unchanged.
    """
    if isinstance(target, (tuple, list)):
        return tuple(_move_target(part, moved) for part in target)
    if not isinstance(target, str):
        return target
    letter = _LETTER_CELL.fullmatch(target.strip())
    if letter is None:
        return target
    return moved.get(letter[2].upper(), target)


def _reorder_row(
    sample: Sample,
    order: Sequence[int],
    moved: Mapping[str, str],
    columns: Columns | None,
) -> Mapping[str, Any]:
    """Reorder the options in the row itself, and replace the letter in its target
    column.

    Needed for templates that print columns of the row.
    """
    row = dict(sample.fields)
    if not row:
        return sample.fields
    if columns is None:
        columns = find_columns(tuple(row), {})
    texts = list(sample.choices)
    for name, cell in row.items():
        if name == columns.choices or _is_list_of(cell, texts):
            row[name] = _reorder_cell(cell, order)
    cells = columns.option_cells[: len(texts)]
    if [str(row.get(name)) for name in cells] == texts:
        old_cells = [row[name] for name in cells]
        row.update(zip(cells, _in_order(old_cells, order), strict=True))
    target = columns.target
    if target in row:
        row[target] = _move_target_cell(
            row[target], sample.targets, moved, columns.is_numbered
        )
    return row


def _is_list_of(
    cell: object,
    texts: Sequence[str],
) -> bool:
    return isinstance(cell, (list, tuple)) and [str(entry) for entry in cell] == texts


def _reorder_cell(
    cell: str | Mapping[str, Any] | Sequence[Any],
    order: Sequence[int],
) -> object:
    """Return a cell with the options in the new order, in the same format."""
    if isinstance(cell, str):
        try:
            return json.dumps(
                _reorder_cell(json.loads(cell), order), ensure_ascii=False
            )
        except ValueError:
            return cell
    if isinstance(cell, Mapping):
        key = next((key for key in TEXT_KEYS if key in cell), None)
        if key is not None:
            return {**cell, key: list(_in_order(cell[key], order))}
        values = _in_order(list(cell.values()), order)
        return dict(zip(cell, values, strict=True))
    return list(_in_order(cell, order))


def _move_target_cell(
    cell: object,
    targets: Sequence[Any],
    moved: Mapping[str, str],
    is_numbered: bool,
) -> object:
    """Return the cell of the right answer after the reordering.

    Letters, indexes from 0 and numbers of numbered columns change, other values do not.
    """
    if isinstance(cell, (list, tuple)):
        return [_move_target_cell(entry, targets, moved, is_numbered) for entry in cell]
    if isinstance(cell, int) and not isinstance(cell, bool):
        index = _move_index(cell, targets, moved)
        if index == cell and is_numbered:
            return _move_index(cell - 1, targets, moved) + 1
        return index
    if not isinstance(cell, str):
        return cell
    match = _LETTER_CELL.fullmatch(cell)
    if match is None:
        return cell
    before, letter, after = match.groups()
    if letter.upper() not in targets:
        return cell
    new_letter = moved[letter.upper()]
    return f"{before}{new_letter}{after}"


def _move_index(
    index: int,
    targets: Sequence[Any],
    moved: Mapping[str, str],
) -> int:
    """Return the new index of the right option.

    If the number is not the index of the right option, return it unchanged.
    """
    if not 0 <= index < len(moved):
        return index
    letter = LETTERS[index]
    if letter not in targets:
        return index
    return LETTERS.index(moved[letter])
