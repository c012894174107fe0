"""Kinds of VLMEvalKit datasets: what a name or the columns say about how answers are asked for and judged."""

import re
from collections.abc import Collection
from typing import Literal

Kind = Literal["MCQ", "Y/N", "VQA", "MMVet", "MT"]
"""`MT` is a dialogue of several turns."""

ROTATION = 1_000_000
"""A rotated copy of question i has the index i + k * 1,000,000."""
_CIRCULAR = re.compile(r"mmbench|ccbench|circular", re.IGNORECASE)
CHOICE = re.compile(r"mmbench|seedbench|ccbench", re.IGNORECASE)
_YES_NO = re.compile(r"^(mme|pope|hallusionbench|amber)(_|$)", re.IGNORECASE)
_MMVET = re.compile(r"^mmvet", re.IGNORECASE)


def kind_of(name: str, columns: Collection[str] = ()) -> Kind:
    """How a dataset is asked and judged: by its name where that is known, else by its columns."""
    if _MMVET.search(name):
        return "MMVet"
    if _YES_NO.search(name):
        return "Y/N"
    if {"A", "B"} <= set(columns) or (CHOICE.search(name) and not columns):
        return "MCQ"
    return "VQA"


def is_circular(name: str) -> bool:
    """Whether a dataset of this name holds rotated copies of its questions."""
    return bool(_CIRCULAR.search(name))


def is_mme(name: str) -> bool:
    """Whether two questions of one image count together."""
    return name.split("_")[0].upper() == "MME"


def whole_index(index: object) -> int | None:
    """An index as a number; `None` for one that is none."""
    text = str(index)
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else None
