"""Digit accuracy: whether a drawn digit looks like the requested one.

The judge is a support vector machine that is trained on one half of scikit-learn's digits. Generators that train on
these digits must use the other half. On real digits of the other half, the judge is right in 98 to 99 % of cases.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Image, Outcome, Output, Requirement, Sample, Score
from ...media.digits import digit_pixels, digits
from ...registry import scorers
from ..answers import accepted, no_target

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.svm import SVC

_SKLEARN = Requirement(
    "sklearn",
    "scikit-learn, which judges drawn digits,",
    "scikit-learn",
)
DARKEST = 16
WIDTH_OF_KERNEL = 0.001
"""Kernel width for pixels from 0 to 16, as in scikit-learn's own example."""


@scorers.register("digit_accuracy")
@dataclass(frozen=True)
class DigitAccuracy:
    """1 if a classifier of digits recognises the target's digit in the image. `details`
    names the data that it was trained on.
    """

    reads: ClassVar[tuple[str, ...]] = ("image",)
    requires: ClassVar[tuple[Requirement, ...]] = (_SKLEARN,)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        image = next(
            (medium for medium in output.media if isinstance(medium, Image)), None
        )
        if image is None:
            return Score(
                0.0,
                Outcome.UNPARSED,
                details={"reason": "no image in the output"},
            )
        digit = str(int(judge().predict([digit_pixels(image) * DARKEST])[0]))
        details = {
            "split": digits().digest[:16],
            "judge_on_real_digits": judge_accuracy(),
        }
        return Score(
            float(digit in targets),
            answer=digit,
            details=details,
        )


@cache
def judge() -> "SVC":
    """Return the judge. It is trained once per process, which takes a tenth of a second."""
    half = digits().judging
    return train_classifier(half.pixels, half.labels)


@cache
def judge_accuracy() -> float:
    """Return the judge's accuracy on real digits that it was not trained on: the limit for a perfect generator."""
    half = digits().drawing
    return round(
        float((judge().predict(half.pixels * DARKEST) == half.labels).mean()), 4
    )


def train_classifier(pixels: "NDArray[Any]", labels: "NDArray[Any]") -> "SVC":
    """Return a classifier trained on digits."""
    svm = _SKLEARN.library("sklearn.svm", "scorer 'digit_accuracy'")
    return svm.SVC(gamma=WIDTH_OF_KERNEL).fit(pixels * DARKEST, labels)
