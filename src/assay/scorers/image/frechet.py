"""Fréchet distance between two sets of images, by the means and covariances of their features (FID).

|m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½). The trace of the root is that of the symmetric (S1^½ S2 S1^½)^½, whose
eigenvalues are real: it needs no iteration and gives no complex numbers.
"""

from typing import TYPE_CHECKING, TypeAlias

from ...core import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
FEWEST = 2048
"""The number of Inception features: with fewer images the covariance is singular."""
TRUSTED = 10_000


def frechet_distance(
    features: "Floats",
    reference: "Floats",
    *,
    fewest: int = FEWEST,
) -> tuple[float, tuple[str, ...]]:
    """Return the distance between two tables of features, one row for each image, and flags to report with it."""
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
    few_images(fewer, fewest)
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


def few_images(number: int, fewest: int) -> None:
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
    """Return the distance between two normal distributions."""
    import numpy as np

    s1 = np.atleast_2d(covariance1)
    s2 = np.atleast_2d(covariance2)
    root = _root(s1)
    between = root @ s2 @ root
    # Rounding can make tiny eigenvalues negative.
    eigenvalues = np.clip(np.linalg.eigvalsh((between + between.T) / 2), 0, None)
    shift = np.asarray(mean1, float) - np.asarray(mean2, float)
    value = shift @ shift + np.trace(s1) + np.trace(s2) - 2 * np.sqrt(eigenvalues).sum()
    return max(float(value), 0.0)


def _root(covariance: "Floats") -> "Floats":
    import numpy as np

    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T, float)
