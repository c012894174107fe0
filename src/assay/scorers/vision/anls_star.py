"""ANLS*: ANLS for answers with a structure: lists in any order, records by key, alternatives as tuples.

A target is a tree of dictionaries, lists and texts; a tuple in it means any one of these. The score is the sum over
leaves of ANLS divided by the number of leaves that either side has, so that what is missing and what was invented
both cost. Lists are matched so that the whole fits best.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from .._assignment import best_pairs
from ..answers import no_answer, no_target
from .anls import kept, similarity

_NOTHING: tuple[Any, ...] = (None, {}, [], "")
_EQUAL_FIRST = 1e-9
_OPENING = re.compile(r"[{\[]")
_MOST_TRIES = 1000
Fit = tuple[float, int]
"""The sum of leaf scores, and the number of leaves it is over."""


@scorers.register("anls_star")
@dataclass(frozen=True)
class AnlsStar:
    """ANLS over a structured answer: the output's JSON, or JSON in its text; a plain text for a plain target."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        target = sample.target
        if target is None or target == ():
            return no_target(sample)
        if silence := no_answer(output):
            return silence
        answer = output.json
        if answer is None:
            answer = output.text
            if _is_structured(target):
                answer = _read_json(answer)
                if answer is None:
                    return Score.unparsed(reason="no JSON in the answer")
        return Score(
            anls_star(target, answer),
            answer=answer if isinstance(answer, str) else json.dumps(answer),
        )


def anls_star(target: Any, answer: Any) -> float:
    """The score of one answer, 0 to 1; equal trees give 1."""
    return _mean(_fit(target, answer))


def _mean(fit: Fit) -> float:
    total, leaves = fit
    return total / leaves if leaves else 1.0


def _fit(target: Any, answer: Any) -> Fit:
    if isinstance(target, tuple):
        fits = [_fit(option, answer) for option in target]
        return max(fits, key=_mean)
    if isinstance(target, Mapping):
        return (
            _fit_records(target, answer)
            if isinstance(answer, Mapping)
            else (0.0, _longer(target, answer))
        )
    if isinstance(target, list):
        return (
            _fit_lists(target, answer)
            if isinstance(answer, list)
            else (0.0, _longer(target, answer))
        )
    if target is None:
        return float(answer in _NOTHING), _longer(target, answer)
    if isinstance(answer, (Mapping, list)) or answer is None:
        return 0.0, _longer(target, answer)
    return kept(similarity(str(target), str(answer))), 1


def _fit_records(target: Mapping[str, Any], answer: Mapping[str, Any]) -> Fit:
    total, leaves = 0.0, 0
    for key in [*target, *(key for key in answer if key not in target)]:
        score, length = _fit(target.get(key), answer.get(key))
        leaves += length
        # A key that was invented but says nothing adds to the length and not to the sum, as in the reference code.
        if key in target or answer[key] not in _NOTHING:
            total += score
    return total, leaves


def _fit_lists(target: list[Any], answer: list[Any]) -> Fit:
    fits = [[_fit(wanted, found) for found in answer] for wanted in target]
    # Among pairings of equal worth, those that join equal things come first.
    worth = [
        [
            _mean(fit) + _EQUAL_FIRST * _is_same(wanted, found)
            for fit, found in zip(row, answer, strict=True)
        ]
        for row, wanted in zip(fits, target, strict=True)
    ]
    pairs = best_pairs(worth)
    total = sum(fits[row][column][0] for row, column in pairs)
    leaves = sum(fits[row][column][1] for row, column in pairs)
    target_rows, used = {row for row, _ in pairs}, {column for _, column in pairs}
    leaves += sum(
        _leaves(wanted) for row, wanted in enumerate(target) if row not in target_rows
    )
    leaves += sum(
        _leaves(found) for column, found in enumerate(answer) if column not in used
    )
    return total, leaves


def _is_same(wanted: Any, found: Any) -> bool:
    return (
        any(_is_same(option, found) for option in wanted)
        if isinstance(wanted, tuple)
        else bool(wanted == found)
    )


def _leaves(tree: Any) -> int:
    if isinstance(tree, tuple):
        return max(_leaves(option) for option in tree)
    if isinstance(tree, Mapping):
        return sum(_leaves(value) for value in tree.values())
    return sum(_leaves(value) for value in tree) if isinstance(tree, list) else 1


def _longer(target: Any, answer: Any) -> int:
    return max(_leaves(target), _leaves(answer))


def _is_structured(target: Any) -> bool:
    options = target if isinstance(target, tuple) else (target,)
    return any(isinstance(option, (Mapping, list)) for option in options)


def _read_json(text: str) -> Any:
    """The first JSON object or list in a text, fenced or not; `None` if there is none."""
    decoder = json.JSONDecoder()
    for found in islice(_OPENING.finditer(text), _MOST_TRIES):
        try:
            return decoder.raw_decode(text, found.start())[0]
        except RecursionError:
            return None
        except json.JSONDecodeError:
            continue
    return None
