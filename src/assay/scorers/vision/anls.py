"""ANLS and ANLS*: edit similarity of an answer to a target, for plain and for structured answers.

For a plain answer, s = 1 - edits / length of the longer text, on lower-case text with
single spaces. Values below 0.5 become 0. If there are several targets, the best one is
used.

ANLS* compares structured answers: lists in any order, and records by key. A target is a
tree of dictionaries, lists and texts. A tuple in it holds alternatives, any of which is
right. The score is the sum of ANLS over the leaves, divided by the number of leaves in
the answer or the target, whichever has more. So both missing and invented items lower
it. List items are paired for the best total with the Hungarian method. It is
implemented here because scipy is not part of the base install.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal, get_args

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import AgainstTargets, no_answer, no_target
from ..scorer_options import check_option


def best_pairs(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pair rows with columns so that the total weight is highest. Return the pairs (row, column), sorted by row.

    Each row and each column is used at most once. If there are fewer rows than columns,
    every row is used, and vice versa.
    """
    if not weights or not weights[0]:
        return []
    if len(weights) <= len(weights[0]):
        return sorted(_pair_all_rows(weights))
    turned = list(zip(*weights, strict=True))
    pairs = []
    for column, row in _pair_all_rows(turned):
        pairs.append((row, column))
    return sorted(pairs)


def _pair_all_rows(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the best pairs by the Hungarian method (shortest augmenting paths with potentials).

    Rows and columns count from 1 here. Row 0 and column 0 are auxiliary.
    """
    n_rows = len(weights)
    n_columns = len(weights[0])
    row_price = [0.0] * (n_rows + 1)
    column_price = [0.0] * (n_columns + 1)
    row_of = [0] * (n_columns + 1)
    for row in range(1, n_rows + 1):
        row_of[0] = row
        column = 0
        least = [float("inf")] * (n_columns + 1)
        came_from = [0] * (n_columns + 1)
        done = [False] * (n_columns + 1)
        while row_of[column]:
            done[column] = True
            current = row_of[column]
            step = float("inf")
            following = 0
            for other in range(1, n_columns + 1):
                if done[other]:
                    continue
                weight = weights[current - 1][other - 1]
                cost = -weight - row_price[current] - column_price[other]
                if cost < least[other]:
                    least[other] = cost
                    came_from[other] = column
                if least[other] < step:
                    step = least[other]
                    following = other
            for other in range(n_columns + 1):
                if done[other]:
                    row_price[row_of[other]] += step
                    column_price[other] -= step
                else:
                    least[other] -= step
            column = following
        while column:
            previous = came_from[column]
            row_of[column] = row_of[previous]
            column = previous
    pairs = []
    for column in range(1, n_columns + 1):
        row = row_of[column]
        if row:
            pairs.append((row - 1, column - 1))
    return pairs


Lengths = Literal["definition", "vlmevalkit"]
THRESHOLD = 0.5


@scorers.register("anls")
@dataclass(frozen=True)
class Anls(AgainstTargets):
    """Edit similarity of the answer to the nearest target, 0 to 1. Values below one half become 0."""

    v: Lengths = "definition"
    """The variant. `vlmevalkit` divides by lengths that include repeated spaces, so extra spaces raise the score."""
    keeps_unicode_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_option("anls", "v", self.v, get_args(Lengths))

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an answer against the target that fits best."""
        answer = output.text
        best = max(similarity(target, answer, self.v) for target in targets)
        return Score(
            apply_threshold(best),
            answer=squeezed(answer),
            details={"similarity": best, "v": self.v},
        )


def similarity(
    target: str,
    answer: str,
    v: Lengths = "definition",
) -> float:
    """Return 1 - edits / length of the longer text: 1 for equal texts, also for two empty ones."""
    from rapidfuzz.distance import Levenshtein

    plain_target = squeezed(target)
    plain_answer = squeezed(answer)
    if v == "vlmevalkit":
        length = max(len(target), len(answer))
    else:
        length = max(len(plain_target), len(plain_answer))
    if not length:
        return 1.0
    edits = int(Levenshtein.distance(plain_target, plain_answer))
    return 1.0 - edits / length


def apply_threshold(similar: float) -> float:
    """Return the similarity, or 0 if it is below one half."""
    return similar if similar >= THRESHOLD else 0.0


def squeezed(text: str) -> str:
    """Return a text in lower case, with one space for each run of whitespace and none at its ends."""
    return " ".join(text.lower().split())


_NOTHING: tuple[Any, ...] = (None, {}, [], "")
_EQUAL_FIRST = 1e-9
_OPENING = re.compile(r"[{\[]")
_MOST_TRIES = 1000
Fit = tuple[float, int]
"""The result of a comparison of two trees: the sum of the scores of the leaves, and the number of leaves."""


@scorers.register("anls_star")
@dataclass(frozen=True)
class AnlsStar:
    """ANLS* of an answer. It compares the answer's JSON, or the JSON in its text. If
    the target is a text, it compares the text.
    """

    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        target = sample.target
        if target is None or target == ():
            return no_target(sample)
        silence = no_answer(output)
        if silence:
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


def anls_star(target: object, answer: object) -> float:
    """Return the score of one answer, 0 to 1; equal trees give 1."""
    return _mean(_fit(target, answer))


def _mean(fit: Fit) -> float:
    """Return the mean score of the leaves; 1 if there are none."""
    total, leaves = fit
    return total / leaves if leaves else 1.0


def _fit(target: object, answer: object) -> Fit:
    """Compare an answer with a target tree: return the sum of the leaf scores, and the number of leaves."""
    if isinstance(target, tuple):
        fits = [_fit(option, answer) for option in target]
        return max(fits, key=_mean)
    if isinstance(target, Mapping) and isinstance(answer, Mapping):
        return _fit_records(target, answer)
    if isinstance(target, list) and isinstance(answer, list):
        return _fit_lists(target, answer)
    if target is None:
        is_right = answer in _NOTHING
        return float(is_right), _longer(target, answer)
    if isinstance(target, (Mapping, list)):
        return 0.0, _longer(target, answer)
    if isinstance(answer, (Mapping, list)) or answer is None:
        return 0.0, _longer(target, answer)
    score = similarity(str(target), str(answer))
    return apply_threshold(score), 1


def _fit_records(
    target: Mapping[str, Any],
    answer: Mapping[str, Any],
) -> Fit:
    """Return the fit of two records, key by key."""
    total = 0.0
    leaves = 0
    invented = [key for key in answer if key not in target]
    for key in [*target, *invented]:
        score, length = _fit(target.get(key), answer.get(key))
        leaves += length
        # As in the reference code, an invented key without a value adds to the length and not to the sum.
        if key in target or answer[key] not in _NOTHING:
            total += score
    return total, leaves


def _fit_lists(
    target: list[Any],
    answer: list[Any],
) -> Fit:
    """Return the best fit of two lists, over all ways to pair their items."""
    fits = []
    worth = []
    for expected in target:
        fit_row = []
        worth_row = []
        for item in answer:
            fit = _fit(expected, item)
            # Among pairings of equal worth, prefer those of equal items.
            bonus = _EQUAL_FIRST * _is_same(expected, item)
            fit_row.append(fit)
            worth_row.append(_mean(fit) + bonus)
        fits.append(fit_row)
        worth.append(worth_row)
    pairs = best_pairs(worth)
    total = 0.0
    leaves = 0
    for row, column in pairs:
        score, length = fits[row][column]
        total += score
        leaves += length
    leaves += _unpaired_leaves(target, {row for row, _ in pairs})
    leaves += _unpaired_leaves(answer, {column for _, column in pairs})
    return total, leaves


def _unpaired_leaves(
    items: list[Any],
    paired: set[int],
) -> int:
    """Return the number of leaves in the items of a list that were not paired with an item of the other list."""
    leaves = 0
    for index, item in enumerate(items):
        if index not in paired:
            leaves += _leaves(item)
    return leaves


def _is_same(expected: object, item: object) -> bool:
    """Return True if an item equals the expected one, or one of its alternatives."""
    if isinstance(expected, tuple):
        return any(_is_same(option, item) for option in expected)
    return bool(expected == item)


def _leaves(tree: object) -> int:
    """Return the number of leaves of a tree. If a node has alternatives, only the one with most leaves is counted."""
    if isinstance(tree, tuple):
        return max(_leaves(option) for option in tree)
    if isinstance(tree, Mapping):
        return sum(_leaves(value) for value in tree.values())
    if isinstance(tree, list):
        return sum(_leaves(value) for value in tree)
    return 1


def _longer(target: object, answer: object) -> int:
    """Return the number of leaves of the larger of two trees."""
    return max(_leaves(target), _leaves(answer))


def _is_structured(target: object) -> bool:
    """Return True if a target, or one of its alternatives, is a record or a list."""
    if isinstance(target, tuple):
        options = target
    else:
        options = (target,)
    return any(isinstance(option, (Mapping, list)) for option in options)


def _read_json(text: str) -> object:
    """Return the first JSON object or list in a text, fenced or not; `None` if there is none."""
    decoder = json.JSONDecoder()
    for bracket in islice(_OPENING.finditer(text), _MOST_TRIES):
        try:
            return decoder.raw_decode(text, bracket.start())[0]
        except RecursionError:
            return None
        except json.JSONDecodeError:
            continue
    return None
