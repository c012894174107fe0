"""Handwritten digits, 8 x 8 pixels, from scikit-learn. One half trains models that
draw, the other trains judges.

No image is in both halves, so a judge never scores an image it was trained on. A digest
identifies the images, labels and split. Models trained on a half are cached under this
digest.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..core import Image, library

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Labels = NDArray[np.int64]

SIDE = 8
DARKEST = 16
"""Value of a black pixel in scikit-learn's data; 0 is white."""


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class Half:
    """One half of the dataset: images as rows of 64 numbers from 0 to 1, and their labels."""

    pixels: "Floats"
    labels: "Labels"


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class Digits:
    """The two halves of the images, and a digest of both halves."""

    drawing: Half
    judging: Half
    digest: str


@cache
def digits() -> Digits:
    """Return the 1,797 images: those at even indexes for drawing, those at odd indexes for judging."""
    import numpy as np

    datasets = library(
        "sklearn.datasets",
        "scikit-learn, which brings the handwritten digits,",
        "scikit-learn",
    )
    pixels, labels = datasets.load_digits(return_X_y=True)
    scaled = (pixels / DARKEST).astype(np.float32)
    whole_labels = labels.astype(np.int64)
    drawing, judging = (
        Half(scaled[start::2], whole_labels[start::2]) for start in (0, 1)
    )
    digest = hashlib.sha256()
    for half in (drawing, judging):
        digest.update(half.pixels.tobytes() + half.labels.tobytes())
    return Digits(drawing, judging, digest.hexdigest())


def digit_pixels(image: Image) -> "Floats":
    """Convert an image of any size to 64 numbers from 0 (black) to 1 (white). Digits are white on black."""
    import numpy as np
    from PIL import Image as pillow

    from .images import decode_image

    grey = decode_image(image).convert("L")
    if grey.size != (SIDE, SIDE):
        grey = grey.resize((SIDE, SIDE), pillow.Resampling.BOX)
    return (np.asarray(grey, np.float32) / np.float32(255)).reshape(-1)
