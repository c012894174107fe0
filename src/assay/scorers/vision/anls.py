"""ANLS: how near the answer is to a target, letter by letter; less than half right counts as wrong.

s = 1 - edits / length of the longer one, on lower-case text with single blanks; 0 where s < 0.5. The best target
counts.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from ...core import Output, Score
from ...registry import scorers
from ..answers import AgainstTargets
from ..options import check_option

Lengths = Literal["definition", "vlmevalkit"]
THRESHOLD = 0.5


@scorers.register("anls")
@dataclass(frozen=True)
class Anls(AgainstTargets):
    """Normalized edit similarity to the best target, 0 below one half."""

    v: Lengths = "definition"
    """`vlmevalkit` measures lengths before blanks are squeezed, so that extra blanks raise the score."""

    def __post_init__(self) -> None:
        check_option("anls", "v", self.v, get_args(Lengths))

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """The score of an answer against the best target."""
        answer = output.text
        best = max(similarity(target, answer, self.v) for target in targets)
        return Score(
            kept(best),
            answer=squeezed(answer),
            details={"similarity": best, "v": self.v},
        )


def similarity(target: str, answer: str, v: Lengths = "definition") -> float:
    """1 - edits / longer length; two empty texts are equal."""
    from rapidfuzz.distance import Levenshtein

    wanted, plain = squeezed(target), squeezed(answer)
    length = max(map(len, (target, answer) if v == "vlmevalkit" else (wanted, plain)))
    return 1.0 - int(Levenshtein.distance(wanted, plain)) / length if length else 1.0


def kept(similar: float) -> float:
    """The similarity, or 0 where less than half is right; one half itself is kept."""
    return similar if similar >= THRESHOLD else 0.0


def squeezed(text: str) -> str:
    """Lower case, single blanks, none at the ends."""
    return " ".join(text.lower().split())
