"""FID: the distance between the set of generated images and the set of reference images.

It is the Fréchet distance, computed from the means m and the covariances S of the images' features: |m1 - m2|² + tr(S1
+ S2 - 2 (S1 S2)^½). The trace of the root equals the trace of the symmetric (S1^½ S2 S1^½)^½, whose eigenvalues are
real: it needs no iteration and gives no complex numbers.

The model under the role `features` gives the features of an image, `{"features": "…"}`: base64 of little-endian
32-bit floats, or a list of numbers. They are stored with each sample, and the distance is computed from all of them
at the end. The feature model is part of the metric's name: `fid@inception` is what papers mean, `fid@clip` is
another scale.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...core import (
    COUNTED_AS_ZERO,
    Image,
    ModelError,
    Outcome,
    Output,
    Result,
    Sample,
    Score,
    ScoreRecord,
    SummaryContext,
    Text,
    UsageError,
)
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..asked import ask_specialist, structure_of
from ..given_models import GivenModels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
FEWEST = 2048
"""The minimum number of images in a set: the number of Inception features. With fewer the covariance is singular."""
TRUSTED = 10_000


def frechet_distance(
    features: "Floats",
    reference: "Floats",
    *,
    fewest: int = FEWEST,
) -> tuple[float, tuple[str, ...]]:
    """Return the Fréchet distance between two tables of features (one row for each image), and flags for the result."""
    import numpy as np

    features = np.asarray(features, float)
    reference = np.asarray(reference, float)
    if (
        features.ndim != 2
        or reference.ndim != 2
        or features.shape[1] != reference.shape[1]
    ):
        raise ValueError(
            f"features must be two tables of equal width, not {features.shape} and {reference.shape}"
        )
    fewer = min(len(features), len(reference))
    check_enough_images(fewer, fewest)
    if fewer < TRUSTED:
        flags = [f"fewer than {TRUSTED} images: compare only with the same number"]
    else:
        flags = []
    if len(features) != len(reference):
        flag = f"{len(features)} images against {len(reference)}: the distance depends on both numbers"
        flags.append(flag)
    value = distance_of_moments(
        features.mean(axis=0),
        np.cov(features, rowvar=False),
        reference.mean(axis=0),
        np.cov(reference, rowvar=False),
    )
    return value, tuple(flags)


def check_enough_images(number: int, fewest: int) -> None:
    """Raise `UsageError` if a set is too small for its covariance."""
    if number < fewest:
        raise UsageError(
            f"a Fréchet distance of {number} images says more about their number than about the model",
            fix=f"make at least {fewest} images, better {TRUSTED}",
        )


def distance_of_moments(
    mean1: "Floats",
    covariance1: "Floats",
    mean2: "Floats",
    covariance2: "Floats",
) -> float:
    """Return the Fréchet distance between two normal distributions, given their means and covariances."""
    import numpy as np

    s1 = np.atleast_2d(covariance1)
    s2 = np.atleast_2d(covariance2)
    root = _root(s1)
    between = root @ s2 @ root
    # Rounding can make tiny eigenvalues negative.
    eigenvalues = np.clip(np.linalg.eigvalsh((between + between.T) / 2), 0, None)
    shift = np.asarray(mean1, float) - np.asarray(mean2, float)
    spread = np.trace(s1) + np.trace(s2)
    overlap = np.sqrt(eigenvalues).sum()
    value = shift @ shift + spread - 2 * overlap
    return max(float(value), 0.0)


def _root(covariance: "Floats") -> "Floats":
    import numpy as np

    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T, float)


@scorers.register("fid")
@dataclass(frozen=True)
class Fid(GivenModels):
    """The FID of all images of a run. Each sample's score stores the features of its
    generated and its target image.
    """

    statistics: str = ""
    """An .npz file with `mu` and `sigma` of the reference images. By default the samples' target images are used."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    name: ClassVar[str] = "fid"
    needs: ClassVar[tuple[str, ...]] = ("features",)
    whole_output: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        if self.statistics and not Path(self.statistics).expanduser().is_file():
            raise UsageError(
                "no such file",
                where=self.statistics,
                fix="statistics: an .npz with mu and sigma",
            )

    @property
    def summarizers(self) -> tuple[Any, ...]:
        """The summarizer that computes one distance from the stored features of all samples."""
        return (FrechetSummary(self.statistics),)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        images = [
            image
            for candidate in output.candidates
            for image in candidate.media
            if isinstance(image, Image)
        ]
        if not images:
            # A set cannot contain a missing image, and there is no highest distance to give to it.
            return Score(
                None,
                Outcome.MODEL_ERROR,
                details={"error": "no image was made"},
            )
        targets: tuple[Image, ...] = ()
        if not self.statistics:
            targets = tuple(
                image for image in sample.targets if isinstance(image, Image)
            )
        if not targets and not self.statistics:
            return no_target(sample, "reference image")
        try:
            features = [await self._features(image) for image in (*images, *targets)]
        except (ModelError, ValueError) as error:
            return no_verdict(str(error))
        parts = {"made": features[: len(images)], "reference": features[len(images) :]}
        return Score(
            None, details={**parts, "shown": [image.digest for image in images]}
        )

    async def _features(self, image: Image) -> str:
        """Return the features of one image from the specialist."""
        request = Text('{"features": true}')
        reply = structure_of(
            await ask_specialist(self.models, "features", (image, request))
        )
        if isinstance(reply, Mapping):
            reply = reply.get("features")
        return packed(reply)


@dataclass(frozen=True)
class FrechetSummary:
    """Summarizer that computes the FID from all records of a run. Sets with fewer images than features are refused."""

    statistics: str = ""
    pools: ClassVar[bool] = True

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        import numpy as np

        outcomes = Counter(str(record.outcome) for record in records)
        rows = {
            part: [text for r in records for text in r.details.get(part) or ()]
            for part in ("made", "reference")
        }
        features, reference = (
            np.array([unpacked(text) for text in rows[part]])
            for part in ("made", "reference")
        )
        common: dict[str, Any] = {
            "task": context.task,
            "model": context.model,
            "metric": context.scorer,
            "n": len({record.id for record in records if record.details.get("made")}),
            "n_expected": context.n_expected,
            "protocol": context.protocol,
            "outcomes": dict(outcomes),
            "higher_is_better": False,
        }
        # Answers without an image cannot be part of the set, so they are only counted.
        without = sum(outcomes[str(outcome)] for outcome in COUNTED_AS_ZERO)
        left_out = (
            (f"{without} answers have no image and are left out",) if without else ()
        )
        if not len(features):
            yield Result(
                value=None,
                interval="none: there is no image to compare",
                flags=left_out,
                **common,
            )
            return
        width = features.shape[1]
        if self.statistics:
            mean, covariance = read_statistics(self.statistics, width)
            check_enough_images(len(features), width)
            value = distance_of_moments(
                features.mean(axis=0),
                np.cov(features, rowvar=False),
                mean,
                covariance,
            )
            flags: tuple[str, ...] = (
                "the reference images are known by their statistics alone",
            )
        else:
            value, flags = frechet_distance(features, reference, fewest=width)
        yield Result(
            value=value,
            interval="none: a set-level metric",
            flags=(*flags, *left_out),
            details={
                "pictures": len(features),
                "reference": len(reference),
                "features": width,
            },
            **common,
        )


def packed(features: object) -> str:
    """Encode features as base64 of 32-bit floats. They may be a list of numbers, or already encoded."""
    import numpy as np

    if isinstance(features, str):
        unpacked(features)
        return features
    if not isinstance(features, Sequence) or not features:
        raise ValueError("no features were given")
    values = np.asarray(features, "<f4")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("features are not a list of finite numbers")
    return base64.b64encode(values.tobytes()).decode("ascii")


def unpacked(text: str) -> "Floats":
    """Decode base64 of 32-bit floats."""
    import numpy as np

    try:
        values = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(
            float
        )
    except (binascii.Error, ValueError) as error:
        raise ValueError("features are not base64 of 32-bit floats") from error
    if not len(values) or not np.isfinite(values).all():
        raise ValueError("features are not finite numbers")
    return values


def read_statistics(path: str, width: int) -> "tuple[Floats, Floats]":
    """Return the mean and covariance in a file, whose format is that of common FID programs."""
    import numpy as np

    try:
        with np.load(Path(path).expanduser(), allow_pickle=False) as file:
            mean = np.asarray(file["mu"], float)
            covariance = np.asarray(file["sigma"], float)
    except (OSError, KeyError, ValueError) as error:
        raise UsageError(f"cannot read mu and sigma: {error}", where=path) from error
    if mean.shape != (width,) or covariance.shape != (width, width):
        message = f"statistics of {mean.size} features, images of {width}"
        raise UsageError(message, where=path, fix="one feature model for both")
    return mean, covariance
