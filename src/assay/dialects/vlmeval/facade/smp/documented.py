"""Names that `vlmeval.smp` had in the documented revision."""

import string
from collections.abc import Callable, Iterable
from typing import Any

from .....datasets.tsv_images import is_blank
from ....kits.smp.images import stack_image
from ....kits.smp.machine import default_set, fnp
from ...kinds import ROTATION

__all__ = [
    "build_options",
    "circular_pred",
    "default_set",
    "fnp",
    "fout",
    "stack_image",
]

fout = None
LETTERS = "ABCDE"


def build_options(option_list: Iterable[Any]) -> str:
    """Options with their letters, each on a line, up to the first that is empty."""
    lines = ["There are several options: \n"]
    for letter, option in zip(string.ascii_uppercase, option_list, strict=False):
        if option != "" and is_blank(option):
            break
        lines.append(f"{letter}. {option}\n")
    return "".join(lines)


def circular_pred(df: Any, extract_func: Callable[[Any], Any] | None = None) -> float:
    """The share of questions whose letters move on by one from each rotation to the next."""
    letters = [
        extract_func(text) if extract_func is not None else text
        for text in df["prediction"]
    ]
    read = dict(sorted(zip(df["index"], letters, strict=True)))
    moves = {index: True for index in read if index < ROTATION}
    unread = set()
    for index, letter in read.items():
        before = read.get(index - ROTATION) if index >= ROTATION else None
        if is_blank(letter) or is_blank(before) or not letter or not before:
            continue
        if letter not in LETTERS or before not in LETTERS:
            unread.add(index % ROTATION)
        elif (ord(letter) - ord(before)) % 4 != 1:
            moves[index % ROTATION] = False
    flags = [moved for index, moved in moves.items() if index not in unread]
    return sum(flags) / len(flags) if flags else float("nan")
