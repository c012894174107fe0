"""LPIPS: how far an image is from the one it should be, in the eyes of a given model; 0 for equal ones.

The model under the role `lpips` is shown the reference and then the image that was made, and replies with
`{"distance": 0.21}`. Its backbone belongs to the name of any number made of it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...core import Image, ModelError, Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..asked import ask_specialist, structure_of
from ..given_models import GivenModels


@scorers.register("lpips")
@dataclass(frozen=True)
class Lpips(GivenModels):
    """The distance between the image that was made and the target image."""

    reference: str = ""
    """A column with the image to compare with; left out, it is the target."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("lpips",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    async def __call__(self, sample: Sample, output: Output) -> Score:
        wanted = sample.fields.get(self.reference) if self.reference else sample.target
        if not isinstance(wanted, Image):
            return no_target(sample, "image to compare with")
        image = next((one for one in output.media if isinstance(one, Image)), None)
        if image is None:
            # There is no worst distance to give an image that is not there.
            return Score(
                None, Outcome.MODEL_ERROR, details={"error": "no image was made"}
            )
        try:
            found = structure_of(
                await ask_specialist(self.models, "lpips", (wanted, image))
            )
        except ModelError as error:
            return no_verdict(str(error))
        distance = found.get("distance") if isinstance(found, Mapping) else found
        if (
            isinstance(distance, bool)
            or not isinstance(distance, (int, float))
            or not math.isfinite(distance)
        ):
            return no_verdict("no distance was given")
        if distance < 0:
            return no_verdict(f"the distance is {distance:g}, below 0")
        return Score(
            float(distance), details={"shown": image.digest, "reference": wanted.digest}
        )
