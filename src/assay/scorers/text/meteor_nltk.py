"""METEOR of nltk: a different number than METEOR 1.5, with synonyms from WordNet, which nltk does not include.

"a cat" against itself is 0.9375 here and 1 with METEOR 1.5. Texts are split at blanks, as in nltk's own examples.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Requirement, Score, UsageError
from ...registry import scorers
from ..answers import AgainstTargets


@scorers.register("meteor_nltk")
@dataclass(frozen=True)
class MeteorNltk(AgainstTargets):
    """nltk's METEOR of one text against its best reference, 0 to 1."""

    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        nltk = Requirement("nltk", "nltk", "nltk").library(
            "nltk", "scorer 'meteor_nltk'"
        )
        try:
            nltk.data.find("corpora/wordnet.zip")
        except LookupError as error:
            raise UsageError(
                "nltk's METEOR needs the WordNet data of nltk, which are not on this machine",
                where="scorer 'meteor_nltk'",
                fix="python -m nltk.downloader wordnet, or the scorer 'meteor' (METEOR 1.5, needs Java)",
            ) from error

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """Return nltk's METEOR of an answer."""
        from nltk.translate.meteor_score import meteor_score

        return Score(
            float(
                meteor_score(
                    [target.split() for target in targets], output.text.split()
                )
            )
        )
