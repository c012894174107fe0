"""DPG-Bench: the share of a prompt's propositions that an image fulfils, from saved yes/no answers.

A proposition is fulfilled if its answer is yes and all propositions on which it depends
are fulfilled. The order of the questions does not matter. If an image has several views
(crops, generations), their shares are averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import data_error, no_target, no_verdict
from ..saved_media import read_json, saved


@scorers.register("dpg")
@dataclass(frozen=True)
class Dpg:
    """The share of fulfilled propositions. The answers are saved with the sample or the
    output, under the key `answers`.

    They are `{"1": "yes", "2": "no"}`, or a list with one such mapping for each view of
    the image.
    """

    questions: str = "questions"
    """The column with the propositions: `proposition_id`, `dependency`, `category_broad`."""
    reads: ClassVar[tuple[str, ...]] = ()

    def __call__(self, sample: Sample, output: Output) -> Score:
        questions = read_json(sample.fields.get(self.questions))
        if not isinstance(questions, list) or not questions:
            return no_target(sample, f"column {self.questions!r} with propositions")
        parents = {
            str(question["proposition_id"]): parents_of(question)
            for question in questions
        }
        views = saved(sample, output, "answers")
        if isinstance(views, Mapping):
            views = [views]
        if not isinstance(views, Sequence) or isinstance(views, str) or not views:
            return no_verdict("no answers to the propositions were saved")
        plain = [
            {str(key): is_yes(value) for key, value in view.items()} for view in views
        ]
        missing = [key for key in parents if any(key not in view for view in plain)]
        if missing:
            return no_verdict(f"no answer was saved for proposition {missing[0]}")
        try:
            fulfilled = [settle(view, parents) for view in plain]
        except CycleError:
            return data_error("propositions depend on each other in a circle")
        per_view = [sum(view.values()) / len(view) for view in fulfilled]
        details = {
            "views": per_view,
            "fulfilled": [
                sum(sum(view.values()) for view in fulfilled),
                len(parents) * len(fulfilled),
            ],
            "categories": _by_category(questions, plain),
        }
        return Score(sum(per_view) / len(per_view), details=details)


def settle(
    answers: Mapping[str, bool],
    parents: Mapping[str, Sequence[str]],
) -> dict[str, bool]:
    """Return the ids of the fulfilled propositions. They and all their parents were answered with yes."""
    fulfilled: dict[str, bool] = {}
    for key in TopologicalSorter(parents).static_order():
        # A parent that is not among the questions is ignored.
        if key in parents:
            fulfilled[key] = answers[key] and all(
                fulfilled.get(parent, True) for parent in parents[key]
            )
    return fulfilled


def parents_of(question: Mapping[str, Any]) -> list[str]:
    """Return the ids of the propositions that this one depends on; `0` means none."""
    cell = question.get("dependency")
    if isinstance(cell, list):
        entries = cell
    else:
        entries = str("" if cell is None else cell).split(",")
    names = (str(entry).strip() for entry in entries)
    return [name for name in names if name not in ("", "0", "-")]


def is_yes(answer: object) -> bool:
    """Return True if an answer is exactly yes: the word, 1 or true."""
    if isinstance(answer, str):
        return answer.strip().lower() in ("yes", "1", "true")
    return bool(answer == 1)


def _by_category(
    questions: Sequence[Mapping[str, Any]],
    views: Sequence[Mapping[str, bool]],
) -> dict[str, list[int]]:
    """Return the number of yes answers and of all answers, by category.

    Parents are ignored, as in the official breakdown.
    """
    counts: dict[str, list[int]] = {}
    for question in questions:
        category = str(question.get("category_broad", ""))
        key = str(question["proposition_id"])
        count = counts.setdefault(category, [0, 0])
        for view in views:
            count[0] += view[key]
            count[1] += 1
    return counts
