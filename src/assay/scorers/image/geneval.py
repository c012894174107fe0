"""GenEval: whether the image shows what the prompt requests, judged from saved object detections.

The row names the expected objects: `{"tag": "position", "include": [{"class": "dog",
"count": 1}, {"class": "cat", "count": 1, "position": ["right of", 0]}]}`. The
detections are saved under the key `detections`: for each class, boxes `[x1, y1, x2, y2,
score]` or `{"box": …, "score": …, "color": …}`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..saved_media import read_json, saved

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Detection:
    """One detected object."""

    box: Box
    score: float = 1.0
    color: str | None = None


class NoColor(ValueError):
    """Raised if a colour must be checked but the detector reported none."""


@scorers.register("geneval")
@dataclass(frozen=True)
class GenEval:
    """1 if the image has every expected object in the right number, colour and position, and no excluded object."""

    threshold: float = 0.3
    """The score above which a detection is accepted."""
    counting_threshold: float = 0.9
    """The same threshold for prompts with the tag `counting`."""
    most: int = 16
    """The maximum number of objects of one class to consider. Those with the highest scores are kept."""
    position_threshold: float = 0.1
    """How far apart two boxes must be to count as left, right, above or below, as a share of their sizes."""
    reads: ClassVar[tuple[str, ...]] = ()

    def __call__(self, sample: Sample, output: Output) -> Score:
        expected = metadata_of(sample)
        if expected is None:
            return no_target(sample, "list of objects to include")
        detections = saved(sample, output, "detections")
        if not isinstance(detections, Mapping):
            return no_verdict("no detections were saved for this image")
        if expected.get("tag") == "counting":
            least = self.counting_threshold
        else:
            least = self.threshold
        try:
            sure = {
                name: self._sure(entries, least) for name, entries in detections.items()
            }
            faults = faults_of(expected, sure, self.position_threshold)
        except NoColor as error:
            return no_verdict(str(error))
        except (LookupError, TypeError, ValueError) as error:
            return no_verdict(
                f"detections or metadata cannot be read: {type(error).__name__}: {error}"
            )
        counts = {name: len(entries) for name, entries in sure.items() if entries}
        return Score(
            float(not faults),
            details={"faults": faults, "counts": counts, "tag": expected.get("tag")},
        )

    def _sure(
        self,
        entries: Sequence[Any],
        least: float,
    ) -> list[Detection]:
        """Return the detections whose score exceeds `least`, highest score first. At most `most` are kept.

        If scores are equal, the later detection comes first.
        """
        detections = [as_detection(entry) for entry in entries]
        detections.reverse()
        detections.sort(
            key=lambda detection: detection.score,
            reverse=True,
        )
        sure = [detection for detection in detections if detection.score > least]
        return sure[: self.most]


def metadata_of(sample: Sample) -> Mapping[str, Any] | None:
    """Return the expected objects of a prompt, from the row itself, its column `metadata`, or the target."""
    for source in (
        sample.fields,
        read_json(sample.fields.get("metadata")),
        read_json(sample.target),
    ):
        if isinstance(source, Mapping) and ("include" in source or "exclude" in source):
            return {key: read_json(value) for key, value in source.items()}
    if "include_class" in sample.fields:
        return _from_columns(sample.fields)
    return None


def _from_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected objects of a prompt from the columns of ULMEvalKit's table.

    The columns hold lists as text: `bench, car` in `include_class`, `1, 1` in
    `include_count`.
    """
    expected: dict[str, Any] = {}
    for kind in ("include", "exclude"):
        names = _listed(row.get(f"{kind}_class"))
        counts, colours, positions = (
            _listed(row.get(f"{kind}_{part}"))
            for part in ("count", "color", "position")
        )
        counted = list(zip(names, counts, strict=True))
        clauses = []
        for (name, count), colour, position in zip_longest(
            counted,
            colours[: len(names)],
            positions[: len(names)],
        ):
            clause: dict[str, Any] = {"class": name, "count": int(float(count))}
            if colour:
                clause["color"] = colour
            if position:
                relation, _, target = position.partition("; ")
                clause["position"] = [relation, int(target)]
            clauses.append(clause)
        if clauses:
            expected[kind] = clauses
    return expected


def _listed(cell: object) -> list[str]:
    """Return the entries of a comma-separated cell: `bench, car` -> `["bench", "car"]`;
    an empty list for an empty cell.
    """
    if cell is None or cell != cell or cell == "":
        return []
    return str(cell).split(", ")


def faults_of(
    wanted: Mapping[str, Any],
    found: Mapping[str, Sequence[Detection]],
    threshold: float,
) -> list[str]:
    """Return one line for each fault of the image: a missing, misplaced or excess object. Empty if there is none."""
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
    """Return one line for each fault of an expected class: a wrong number, colour or position."""
    name = clause["class"]
    count = clause["count"]
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


def directions(
    box: Box,
    other: Box,
    threshold: float = 0.1,
) -> set[str]:
    """Return the directions (left, right, above, below) in which `box` is seen from `other`.

    The result is empty if the offset is small compared with the sizes of the boxes.
    """
    left, top, right, bottom = box[:4]
    other_left, other_top, other_right, other_bottom = other[:4]
    across = (left + right - other_left - other_right) / 2
    down = (top + bottom - other_top - other_bottom) / 2
    widths = abs(right - left) + abs(other_right - other_left)
    heights = abs(bottom - top) + abs(other_bottom - other_top)
    across_beyond = _shrink(across, threshold * widths)
    down_beyond = _shrink(down, threshold * heights)
    if all(abs(offset) < 1e-3 for offset in (across_beyond, down_beyond)):
        return set()
    distance = math.hypot(across, down)
    across_share = across_beyond / distance
    down_share = down_beyond / distance
    sides = set()
    if across_share < -0.5:
        sides.add("left of")
    if across_share > 0.5:
        sides.add("right of")
    if down_share < -0.5:
        sides.add("above")
    if down_share > 0.5:
        sides.add("below")
    return sides


def _shrink(offset: float, margin: float) -> float:
    """Move an offset towards 0 by `margin`, but not beyond 0."""
    return math.copysign(max(abs(offset) - margin, 0.0), offset)


def as_detection(entry: Mapping[str, Any] | Sequence[Any]) -> Detection:
    """Return a detection from a list of four or five numbers, or from a dictionary with the key `box`."""
    if not isinstance(entry, Mapping):
        return Detection(_edges(entry), float(_fifth(entry)))
    box = entry["box"]
    score = entry.get("score", _fifth(box))
    return Detection(_edges(box), float(score), entry.get("color"))


def _edges(box: Sequence[Any]) -> Box:
    left, top, right, bottom = map(float, box[:4])
    return left, top, right, bottom


def _fifth(box: Sequence[float]) -> float:
    """Return the score of a box: the fifth number of `[x1, y1, x2, y2, score]`, or 1 for a box of four numbers."""
    if len(box) > 4:
        return box[4]
    return 1.0
