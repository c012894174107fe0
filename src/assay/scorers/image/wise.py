"""WISE: whether an image shows what the prompt only implies. The values of its two versions are not comparable.

`wise_legacy` is a weighted sum of a judge's ratings of consistency, realism and
aesthetics, each 0 to 2. `wise_verified`, the default of the benchmark since April 2026,
is a judge's verdict, right or wrong. The summarizer of the same name computes the
overall value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import no_verdict
from ..saved_media import saved

WEIGHTS = {"consistency": 0.7, "realism": 0.2, "aesthetic": 0.1}
HIGHEST = 2
_RATING = re.compile(
    r"(consistency|realism|aesthetic)\w{0,9}(?: quality)?"  # "aesthetics", "aesthetic quality"
    r"\W{0,20}?"  # ": ", "**: "
    r"([-−–]?\d+(?:\.\d+)?)"  # "2", "1.5"
)


@scorers.register("wise_legacy")
@dataclass(frozen=True)
class WiseLegacy:
    """WiScore, 0 to 1: (0.7 consistency + 0.2 realism + 0.1 aesthetic quality) / 2.

    The three ratings were saved earlier: under the key `rating`, or as the output's
    text.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "wise_legacy")

    def __call__(self, sample: Sample, output: Output) -> Score:
        rating = saved(sample, output, "rating")
        ratings = read_ratings(output.text if rating is None else rating)
        if ratings is None:
            return no_verdict(
                "no rating of consistency, realism and aesthetic quality from 0 to 2 was saved"
            )
        return Score(
            sum(WEIGHTS[name] * value for name, value in ratings.items()) / HIGHEST,
            details=ratings,
        )


@scorers.register("wise_verified")
@dataclass(frozen=True)
class WiseVerified:
    """1 if a judge called the image right. The verdict, 0 or 1, was saved earlier:
    under `score`, or as the output's text.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "wise_verified")

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = saved(sample, output, "score")
        text = (output.text if score is None else str(score)).strip()
        verdict = re.fullmatch(
            r"(?:score\W*)?(?<![-−–])([01])(?:\.0*)?\W*|(true|false)",
            text,
            re.IGNORECASE,
        )
        if verdict is None:
            return no_verdict("no score of 0 or 1 was saved")
        return Score(float(verdict[1] == "1" or (verdict[2] or "").lower() == "true"))


def read_ratings(reply: object) -> dict[str, float] | None:
    """Return the three ratings from a dictionary or from a judge's lines; `None` unless all three are from 0 to 2."""
    if isinstance(reply, Mapping):
        pairs = [(str(name), value) for name, value in reply.items()]
    else:
        pairs = _RATING.findall(str(reply).lower())
    ratings: dict[str, float] = {}
    for name, value in pairs:
        aspect = next((key for key in WEIGHTS if name.lower().startswith(key)), None)
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        if aspect is not None:
            ratings[aspect] = number
    is_whole = set(ratings) == set(WEIGHTS) and all(
        0 <= value <= HIGHEST for value in ratings.values()
    )
    return ratings if is_whole else None
