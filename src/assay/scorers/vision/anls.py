"""ANLS: edit similarity of the answer to a target; less than half right counts as wrong.

s = 1 - edits / length of the longer one, on lower-case text with single blanks; 0 if s < 0.5. The best target
counts.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ...core import Output, Score
from ...registry import scorers
from ..answers import AgainstTargets
from ..scorer_options import check_option

Lengths = Literal["definition", "vlmevalkit"]
THRESHOLD = 0.5


@scorers.register("anls")
@dataclass(frozen=True)
class Anls(AgainstTargets):
    """Normalized edit similarity to the best target, 0 below one half."""

    v: Lengths = "definition"
    """`vlmevalkit` measures lengths before blanks are squeezed, so that extra blanks raise the score."""
    keeps_unicode_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_option("anls", "v", self.v, get_args(Lengths))

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """Return the score of an answer against the best target."""
        answer = output.text
        best = max(similarity(target, answer, self.v) for target in targets)
        return Score(
            apply_threshold(best),
            answer=squeezed(answer),
            details={"similarity": best, "v": self.v},
        )


def similarity(target: str, answer: str, v: Lengths = "definition") -> float:
    """Return 1 - edits / longer length; two empty texts are equal."""
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
    """Return a text in lower case, with single blanks and none at the ends."""
    return " ".join(text.lower().split())
