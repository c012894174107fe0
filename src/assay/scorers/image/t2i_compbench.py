"""T2I-CompBench: attributes, positions and actions in an image, judged by three specialists.

The row's `category` decides how the value is computed. For `color`, `shape` and
`texture`, the role `vqa` gets the question "PHRASE?" for each noun phrase of the
prompt, and the probabilities of yes are multiplied. For `spatial`, the value is
computed from boxes (role `detector`). For `non_spatial`, it is the cosine of image and
prompt, at least 0 (role `clip`). For `complex`, it is the mean of the attributes and of
the parts that the column `relation` names: `spatial`, `action`, otherwise both.

The official code takes noun phrases and objects from spaCy. Here they come from the
columns `phrases` and `objects`, or are split by rule, with the same result for "a red
ball and a blue box".
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
from ..saved_media import read_json
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
"""Words for a position. A prompt is searched for them in this order."""
PERSONS = frozenset({"girl", "boy", "man", "woman"})
FAR_PIXELS, MOST_OVERLAP = 150.0, 0.1
_COMMA = r",\s*(?:and\s+)?"
_VERB = r"\b(?:is|was|are|were)\b"
_POSITION = "|".join(PLACES)
_APART = re.compile(
    rf"\s*(?:{_COMMA}|{_VERB}|\band\b|\bwith\b|\bin\b|{_POSITION}|\bon\b|\bof\b)\s*",
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
    """One value from 0 to 1 for each image. The category of the prompt decides how it is computed."""

    category: str = "category"
    """The column with the category of the prompt, such as `color` or `spatial`."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("vqa", "detector", "clip")

    async def __call__(self, sample: Sample, output: Output) -> Score:
        image = next((item for item in output.media if isinstance(item, Image)), None)
        if image is None:
            return Score(
                0.0,
                Outcome.UNPARSED,
                details={"reason": "no image in the output"},
            )
        parts = parts_of(sample.fields, self.category)
        if not parts:
            return no_target(
                sample, f"known kind of prompt in column {self.category!r}"
            )
        values = {}
        replies = {}
        try:
            for role in parts:
                values[role], replies[role] = await self._value(role, sample, image)
        except (ModelError, LookupError, TypeError, ValueError) as error:
            return no_verdict(str(error))
        details = {"shown": image.digest, "parts": values, "said": replies}
        return Score(sum(values.values()) / len(values), details=details)

    async def _value(
        self,
        role: str,
        sample: Sample,
        image: Image,
    ) -> tuple[float, Any]:
        """Call the specialist of one role. Return its value, 0 to 1, and the reply from which it was computed."""
        prompt = question_of(sample)
        if role == "clip":
            cosine = float(_entry(await self._ask(role, image, prompt), "cosine"))
            return min(max(cosine, 0.0), 1.0), cosine
        if role == "vqa":
            questions = {}
            for n, phrase in enumerate(phrases_of(sample.fields, prompt), 1):
                questions[str(n)] = f"{phrase}?"
            yes = _entry(
                await self._ask(role, image, json.dumps({"questions": questions})),
                "yes",
            )
            shares = {key: float(yes[key]) for key in questions}
            if any(not 0 <= share <= 1 for share in shares.values()):
                raise ValueError("a share of yes is outside 0 … 1")
            return math.prod(shares.values()), shares
        first, second = objects_of(sample.fields, prompt)
        detections = _entry(
            await self._ask(role, image, json.dumps({"classes": [first, second]})),
            "detections",
        )
        return spatial_score(prompt, first, second, detections), detections

    async def _ask(
        self,
        role: str,
        image: Image,
        text: str,
    ) -> object:
        return structure_of(
            await ask_specialist(self.models, role, (image, Text(text)))
        )


def parts_of(
    row: Mapping[str, Any],
    column: str = "category",
) -> tuple[str, ...]:
    """Return the specialists that a prompt's category needs, as roles; empty for an unknown category.

    The value of the prompt is the mean of the specialists' values.
    """
    cell = str(row.get(column) or "")
    kind = cell.strip().lower().replace("-", "_").removesuffix("_val")
    if kind != "complex":
        if kind in _KINDS:
            return (_KINDS[kind],)
        return ()
    relation = str(row.get("relation") or "").strip().lower()
    if relation == "spatial":
        return ("vqa", "detector")
    if relation == "action":
        return ("vqa", "clip")
    return ("vqa", "detector", "clip")


def phrases_of(
    row: Mapping[str, Any],
    prompt: str,
) -> list[str]:
    """Return the noun phrases of a prompt: its column `phrases`, or the parts between words such as "and"."""
    listed = read_json(row.get("phrases"))
    if isinstance(listed, list) and listed:
        return [str(phrase) for phrase in listed]
    return [
        phrase
        for phrase in _APART.split(prompt.strip().rstrip("."))
        if phrase and phrase.strip()
    ]


def objects_of(
    row: Mapping[str, Any],
    prompt: str,
) -> tuple[str, str]:
    """Return the two objects whose positions are compared.

    They are in the column `objects`; otherwise they are the last words of the first and
    of the last noun phrase.
    """
    listed = read_json(row.get("objects"))
    if not isinstance(listed, list) or len(listed) != 2:
        phrases = phrases_of({}, prompt)
        listed = ["", ""]
        if phrases:
            listed = [phrases[0].split()[-1], phrases[-1].split()[-1]]
    first, second = listed
    return _class_of(first), _class_of(second)


def _class_of(name: object) -> str:
    """Return the detector's class for the name of an object: `person` for man or girl."""
    plain = str(name).strip().lower()
    return "person" if plain in PERSONS else plain


def spatial_score(
    prompt: str,
    first: str,
    second: str,
    detections: Mapping[str, Sequence[Any]],
) -> float:
    """Return the score for two objects and their positions.

    It adds a quarter of each object's detection confidence and half of the position
    score. A sum below 0.5 becomes 0.
    """
    surest = {}
    confidence = 0.0
    for name in (first, second):
        entries = detections.get(name) or ()
        candidates = [as_detection(entry) for entry in entries]
        if candidates:
            surest[name] = max(candidates, key=lambda candidate: candidate.score)
            confidence += surest[name].score
    score = 0.25 * confidence
    if first in surest and second in surest:
        relation = _relation_in(prompt)
        position = place_score(relation, surest[first].box, surest[second].box)
        score += position / 2
    return score if score >= 0.5 else 0.0


def _relation_in(prompt: str) -> str:
    """Return the words for a position that a prompt contains, such as "next to"; empty if it contains none."""
    lower = prompt.lower()
    for words in PLACES:
        if words in lower:
            return words
    return ""


def place_score(
    place: str,
    one: Box,
    other: Box,
) -> float:
    """Return how well the positions of two boxes agree with words such as "on the left of", 0 to 1.

    Unknown words give 0.
    """
    across = (other[0] + other[2] - one[0] - one[2]) / 2
    down = (other[1] + other[3] - one[1] - one[3]) / 2
    if place in ("next to", "on side of", "near"):
        if abs(across) < FAR_PIXELS or abs(down) < FAR_PIXELS:
            return 1.0
        return FAR_PIXELS / max(abs(across), abs(down))
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
    if overlap < MOST_OVERLAP:
        return 1.0
    return MOST_OVERLAP / overlap


def _entry(reply: object, name: str) -> Any:
    """Return one entry of a specialist's reply. Raise `ValueError` if it is missing."""
    if not isinstance(reply, Mapping) or name not in reply:
        raise ValueError(f"the specialist gave no {name!r}")
    return reply[name]
