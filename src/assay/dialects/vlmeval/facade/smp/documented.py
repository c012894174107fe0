"""Names that only `vlmeval.smp` of the documented revision has."""

from typing import Any

from ....kits.smp.images import stack_image
from ....kits.smp.machine import default_set, fnp
from ....kits.smp.texts import build_options

__all__ = ["build_options", "circular_pred", "default_set", "fnp", "fout", "stack_image"]

fout = None
ROTATION = 1_000_000


def circular_pred(df: Any, extract_func: Any = None) -> float:
    """The share of questions whose rotations were answered alike, right or wrong."""
    read = extract_func or (lambda text: text)
    letters = {index: read(text) for index, text in zip(df["index"], df["prediction"], strict=True)}
    agrees = {index: True for index in letters if index < ROTATION}
    unread: set[int] = set()
    for index in sorted(letters):
        before = letters.get(index - ROTATION)
        if index < ROTATION or not letters[index] or not before:
            continue
        if letters[index] not in "ABCDE" or before not in "ABCDE":
            unread.add(index % ROTATION)
        elif (ord(letters[index]) - ord(before)) % 4 != 1:
            agrees[index % ROTATION] = False
    kept = [value for index, value in agrees.items() if index not in unread]
    return sum(kept) / len(kept) if kept else float("nan")
