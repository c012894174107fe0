"""LPIPS: the perceptual distance of an image from its reference, computed by a model; 0 for equal images.

The model with the role `lpips` gets the reference and then the generated image, and replies with `{"distance":
0.21}`. With any number, name the model's backbone.
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
    """The distance between the generated image and the target image."""

    reference: str = ""
    """A column with the image to compare with; by default the target."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("lpips",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if self.reference:
            reference = sample.fields.get(self.reference)
        else:
            reference = sample.target
        if not isinstance(reference, Image):
            return no_target(sample, "image to compare with")
        image = next((item for item in output.media if isinstance(item, Image)), None)
        if image is None:
            # There is no worst distance to give to a missing image.
            return Score(
                None,
                Outcome.MODEL_ERROR,
                details={"error": "no image was made"},
            )
        try:
            reply = structure_of(
                await ask_specialist(self.models, "lpips", (reference, image))
            )
        except ModelError as error:
            return no_verdict(str(error))
        distance = reply.get("distance") if isinstance(reply, Mapping) else reply
        if (
            isinstance(distance, bool)
            or not isinstance(distance, (int, float))
            or not math.isfinite(distance)
        ):
            return no_verdict("no distance was given")
        if distance < 0:
            return no_verdict(f"the distance is {distance:g}, below 0")
        return Score(
            float(distance),
            details={"shown": image.digest, "reference": reference.digest},
        )
