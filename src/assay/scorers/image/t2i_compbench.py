"""T2I-CompBench: attributes, places, actions and all of them in one image, from what three specialists say of it.

By the row's `category`: colour, shape and texture take the product, over the prompt's noun phrases, of the yes-shares
of the questions "PHRASE?" (role `vqa`); spatial takes boxes (role `detector`); non-spatial the cosine of image and
prompt, 0 where it is below (role `clip`); complex the mean of the attributes and of the parts its column `relation`
names: `spatial`, `action`, else both. The official code takes noun phrases and objects from spaCy; here they are the
columns `phrases` and `objects`, or are split off by rule, which is the same for "a red ball and a blue box".
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Image, ModelError, Outcome, Output, Sample, Score, Text
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..asked import ask_specialist, structure_of
from ..given_models import GivenModels
from ..judge.exchange import question_of
from ..saved import read_json
from ..vision.boxes import iou
from .geneval import Box, as_detection

PLACES = (
    "on side of",
    "next to",
    "near",
    "on the left of",
    "on the right of",
    "on the bottom of",
    "on the top of",
)
"""Words for a place, in the order in which they are looked for."""
PERSONS = frozenset({"girl", "boy", "man", "woman"})
FAR_PIXELS, MOST_OVERLAP = 150.0, 0.1
_APART = re.compile(
    rf"\s*(?:,\s*(?:and\s+)?|\b(?:is|was|are|were)\b|\band\b|\bwith\b|\bin\b|{'|'.join(PLACES)}|\bon\b|\bof\b)\s*",
    re.IGNORECASE,
)
_KINDS = {
    "color": "vqa",
    "shape": "vqa",
    "texture": "vqa",
    "spatial": "detector",
    "non_spatial": "clip",
}


@scorers.register("t2i_compbench")
@dataclass(frozen=True)
class T2ICompBench(GivenModels):
    """One value from 0 to 1 an image, by the kind of its prompt."""

    category: str = "category"
    """The column that says which kind a prompt is."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("vqa", "detector", "clip")

    async def __call__(self, sample: Sample, output: Output) -> Score:
        image = next((one for one in output.media if isinstance(one, Image)), None)
        if image is None:
            return Score(
                0.0, Outcome.UNPARSED, details={"reason": "no image in the output"}
            )
        parts = parts_of(sample.fields, self.category)
        if not parts:
            return no_target(
                sample, f"known kind of prompt in column {self.category!r}"
            )
        values, replies = {}, {}
        try:
            for role in parts:
                values[role], replies[role] = await self._value(role, sample, image)
        except (ModelError, LookupError, TypeError, ValueError) as error:
            return no_verdict(str(error))
        details = {"shown": image.digest, "parts": values, "said": replies}
        return Score(sum(values.values()) / len(values), details=details)

    async def _value(
        self, role: str, sample: Sample, image: Image
    ) -> tuple[float, Any]:
        prompt = question_of(sample)
        if role == "clip":
            cosine = float(_entry(await self._ask(role, image, prompt), "cosine"))
            return min(max(cosine, 0.0), 1.0), cosine
        if role == "vqa":
            questions = {
                str(n): f"{phrase}?"
                for n, phrase in enumerate(phrases_of(sample.fields, prompt), 1)
            }
            yes = _entry(
                await self._ask(role, image, json.dumps({"questions": questions})),
                "yes",
            )
            shares = {key: float(yes[key]) for key in questions}
            if any(not 0 <= share <= 1 for share in shares.values()):
                raise ValueError("a share of yes lies outside 0 … 1")
            return math.prod(shares.values()), shares
        first, second = objects_of(sample.fields, prompt)
        found = _entry(
            await self._ask(role, image, json.dumps({"classes": [first, second]})),
            "detections",
        )
        return spatial_score(prompt, first, second, found), found

    async def _ask(self, role: str, image: Image, text: str) -> Any:
        return structure_of(
            await ask_specialist(self.models, role, (image, Text(text)))
        )


def parts_of(row: Mapping[str, Any], column: str = "category") -> tuple[str, ...]:
    """The roles whose values a prompt's value is the mean of; none for a kind that is not known."""
    kind = (
        str(row.get(column) or "")
        .strip()
        .lower()
        .replace("-", "_")
        .removesuffix("_val")
    )
    if kind != "complex":
        return (_KINDS[kind],) if kind in _KINDS else ()
    relation = str(row.get("relation") or "").strip().lower()
    return {"spatial": ("vqa", "detector"), "action": ("vqa", "clip")}.get(
        relation, ("vqa", "detector", "clip")
    )


def phrases_of(row: Mapping[str, Any], prompt: str) -> list[str]:
    """The noun phrases of a prompt: its column `phrases`, or what stands between joining words."""
    listed = read_json(row.get("phrases"))
    if isinstance(listed, list) and listed:
        return [str(phrase) for phrase in listed]
    return [
        phrase
        for phrase in _APART.split(prompt.strip().rstrip("."))
        if phrase and phrase.strip()
    ]


def objects_of(row: Mapping[str, Any], prompt: str) -> tuple[str, str]:
    """The two things a place is about: the column `objects`, or the last words of the first and the last phrase."""
    listed = read_json(row.get("objects"))
    if not isinstance(listed, list) or len(listed) != 2:
        phrases = phrases_of({}, prompt)
        listed = (
            [phrases[0].split()[-1], phrases[-1].split()[-1]] if phrases else ["", ""]
        )
    first, second = (str(name).strip().lower() for name in listed)
    return ("person" if first in PERSONS else first), (
        "person" if second in PERSONS else second
    )


def spatial_score(
    prompt: str, first: str, second: str, detections: Mapping[str, Sequence[Any]]
) -> float:
    """A quarter for how sure each of the two was found, half for their place; below one half it is 0."""
    surest = {}
    for name in (first, second):
        things = [as_detection(thing) for thing in detections.get(name) or ()]
        if things:
            surest[name] = max(things, key=lambda thing: thing.score)
    score = 0.25 * sum(surest[name].score for name in (first, second) if name in surest)
    if first in surest and second in surest:
        place = next((words for words in PLACES if words in prompt.lower()), "")
        score += place_score(place, surest[first].box, surest[second].box) / 2
    return score if score >= 0.5 else 0.0


def place_score(
    place: str,
    one: Box,
    other: Box,
    most_overlap: float = MOST_OVERLAP,
    far_pixels: float = FAR_PIXELS,
) -> float:
    """How well one box lies where the words say, seen from the other: 0 to 1; 0 for words that are not known."""
    across = (other[0] + other[2] - one[0] - one[2]) / 2
    down = (other[1] + other[3] - one[1] - one[3]) / 2
    if place in ("next to", "on side of", "near"):
        near = abs(across) < far_pixels or abs(down) < far_pixels
        return 1.0 if near else far_pixels / max(abs(across), abs(down))
    sides = {
        "on the right of": (-across, down),
        "on the left of": (across, down),
        "on the bottom of": (-down, across),
        "on the top of": (down, across),
    }
    if place not in sides:
        return 0.0
    ahead, aside = sides[place]
    if ahead <= 0 or ahead <= abs(aside):
        return 0.0
    overlap = iou(one, other)
    return 1.0 if overlap < most_overlap else most_overlap / overlap


def _entry(reply: Any, name: str) -> Any:
    if not isinstance(reply, Mapping) or name not in reply:
        raise ValueError(f"the specialist gave no {name!r}")
    return reply[name]
