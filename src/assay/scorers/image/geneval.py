"""GenEval: does the image show what the prompt asked for, judged from saved detections?

The row says what must be there: `{"tag": "position", "include": [{"class": "dog", "count": 1}, {"class": "cat",
"count": 1, "position": ["right of", 0]}]}`. The saved entry `detections` has, for each class, boxes
`[x1, y1, x2, y2, score]` or `{"box": …, "score": …, "color": …}`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..saved import read_json, saved

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Detection:
    """One thing that was found."""

    box: Box
    score: float = 1.0
    color: str | None = None


class NoColor(ValueError):
    """A colour must be checked and the detector did not say one."""


@scorers.register("geneval")
@dataclass(frozen=True)
class GenEval:
    """1 if every wanted object is there in its number, colour and place, and no unwanted one is."""

    threshold: float = 0.3
    """How sure the detector must be."""
    counting_threshold: float = 0.9
    """The same for prompts whose tag is `counting`."""
    most: int = 16
    """Objects of a class that are looked at, the surest first."""
    position_threshold: float = 0.1
    """The share of both sizes that an offset must exceed to be a direction."""
    reads: ClassVar[tuple[str, ...]] = ()

    def __call__(self, sample: Sample, output: Output) -> Score:
        wanted = metadata_of(sample)
        if wanted is None:
            return no_target(sample, "list of objects to include")
        detections = saved(sample, output, "detections")
        if not isinstance(detections, Mapping):
            return no_verdict("no detections were saved for this image")
        least = (
            self.counting_threshold
            if wanted.get("tag") == "counting"
            else self.threshold
        )
        try:
            found = {
                name: self._sure(things, least) for name, things in detections.items()
            }
            faults = faults_of(wanted, found, self.position_threshold)
        except NoColor as error:
            return no_verdict(str(error))
        except (LookupError, TypeError, ValueError) as error:
            return no_verdict(
                f"detections or metadata cannot be read: {type(error).__name__}: {error}"
            )
        counts = {name: len(things) for name, things in found.items() if things}
        return Score(
            float(not faults),
            details={"faults": faults, "counts": counts, "tag": wanted.get("tag")},
        )

    def _sure(self, things: Sequence[Any], least: float) -> list[Detection]:
        read = [as_detection(thing) for thing in things]
        ranked = sorted(
            enumerate(read), key=lambda pair: (pair[1].score, pair[0]), reverse=True
        )
        return [thing for _, thing in ranked if thing.score > least][: self.most]


def metadata_of(sample: Sample) -> Mapping[str, Any] | None:
    """What the prompt asks for: the row itself, its column `metadata`, or the target."""
    for place in (
        sample.fields,
        read_json(sample.fields.get("metadata")),
        read_json(sample.target),
    ):
        if isinstance(place, Mapping) and ("include" in place or "exclude" in place):
            return {key: read_json(value) for key, value in place.items()}
    return _from_columns(sample.fields) if "include_class" in sample.fields else None


def _from_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The clauses as ULMEvalKit's table has them: `include_class` is `bench, car`, `include_count` is `1, 1`."""
    wanted: dict[str, Any] = {}
    for kind in ("include", "exclude"):
        names = _listed(row.get(f"{kind}_class"))
        counts, colours, positions = (
            _listed(row.get(f"{kind}_{part}"))
            for part in ("count", "color", "position")
        )
        counted = list(zip(names, counts, strict=True))
        clauses = []
        for (name, count), colour, position in zip_longest(
            counted, colours[: len(names)], positions[: len(names)]
        ):
            clause: dict[str, Any] = {"class": name, "count": int(float(count))}
            if colour:
                clause["color"] = colour
            if position:
                relation, _, target = position.partition("; ")
                clause["position"] = [relation, int(target)]
            clauses.append(clause)
        if clauses:
            wanted[kind] = clauses
    return wanted


def _listed(cell: Any) -> list[str]:
    return [] if cell is None or cell != cell or cell == "" else str(cell).split(", ")


def faults_of(
    wanted: Mapping[str, Any],
    found: Mapping[str, Sequence[Detection]],
    threshold: float,
) -> list[str]:
    """What is missing or too much; empty for an image that is right."""
    faults: list[str] = []
    groups: list[Sequence[Detection] | None] = []
    for clause in wanted.get("include") or ():
        things = list(found.get(clause["class"], ()))[: clause["count"]]
        wrong = _faults_of_clause(clause, things, groups, threshold)
        groups.append(None if wrong else things)
        faults += wrong
    for clause in wanted.get("exclude") or ():
        n = len(found.get(clause["class"], ()))
        if n >= clause["count"]:
            faults.append(f"expected {clause['class']}<{clause['count']}, found {n}")
    return faults


def _faults_of_clause(
    clause: Mapping[str, Any],
    things: Sequence[Detection],
    groups: Sequence[Sequence[Detection] | None],
    threshold: float,
) -> list[str]:
    name, count = clause["class"], clause["count"]
    if len(things) < count:
        return [f"expected {name}>={count}, found {len(things)}"]
    if clause.get("color"):
        colors = [thing.color for thing in things]
        if None in colors:
            raise NoColor(f"the colour of {name!r} must be checked and none was saved")
        if colors.count(clause["color"]) < count:
            return [
                f"expected {clause['color']} {name}>={count}, found {', '.join(map(str, colors))}"
            ]
    if clause.get("position"):
        relation, target = clause["position"]
        others = groups[target]
        if others is None:
            return [f"no target for {name} to be {relation}"]
        for thing in things:
            for other in others:
                relations = directions(thing.box, other.box, threshold)
                if relation not in relations:
                    return [
                        f"expected {name} {relation} target, found {' and '.join(sorted(relations)) or 'neither'}"
                    ]
    return []


def directions(box: Box, other: Box, threshold: float = 0.1) -> set[str]:
    """Where a box lies as seen from another; nowhere if the offset is small beside their sizes."""
    offset = [(box[i] + box[i + 2] - other[i] - other[i + 2]) / 2 for i in (0, 1)]
    sizes = [abs(box[i + 2] - box[i]) + abs(other[i + 2] - other[i]) for i in (0, 1)]
    beyond = [
        math.copysign(max(abs(shift) - threshold * size, 0.0), shift)
        for shift, size in zip(offset, sizes, strict=True)
    ]
    if all(abs(shift) < 1e-3 for shift in beyond):
        return set()
    across, down = (shift / math.hypot(*offset) for shift in beyond)
    sides = {
        "left of": across < -0.5,
        "right of": across > 0.5,
        "above": down < -0.5,
        "below": down > 0.5,
    }
    return {name for name, holds in sides.items() if holds}


def as_detection(thing: Any) -> Detection:
    """A detection from a list of four or five numbers, or from a dictionary with `box`."""
    if isinstance(thing, Mapping):
        box, color = thing["box"], thing.get("color")
        score = thing.get("score", box[4] if len(box) > 4 else 1.0)
    else:
        box, color, score = thing, None, thing[4] if len(thing) > 4 else 1.0
    left, top, right, bottom = (float(edge) for edge in box[:4])
    return Detection((left, top, right, bottom), float(score), color)
