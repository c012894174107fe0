"""The similarity of two images: PSNR and SSIM by pixel, LPIPS by a model's features.

Programs compute SSIM in different ways. The default here follows its paper (11 x 11 Gaussian window, sigma 1.5, biased
covariance; only windows completely inside the image). `skimage` is the default of scikit-image (7 x 7 flat window,
sample covariance); `torchmetrics` mirrors the image beyond its edges and counts every pixel; `piq` first averages
squares of pixels until the shorter side is near 256. Channels are averaged.

LPIPS is a perceptual distance, 0 for equal images. The model with the role `lpips` gets the reference and then the
generated image, and replies with `{"distance": 0.21}`. Always report the model's backbone with the number.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from ...core import DataError, Image, Media, ModelError, Outcome, Output, Sample, Score
from ...media import decode_image
from ...registry import scorers
from ..answers import no_target, no_verdict
from ..asked import ask_specialist, structure_of
from ..given_models import GivenModels
from ..scorer_options import check_option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pixels = NDArray[Any]

Window = Literal["wang", "skimage", "torchmetrics", "piq"]
K1, K2 = 0.01, 0.03
POOLED_SIDE = 256
HIGHEST_PSNR = 100.0
"""The PSNR reported for equal images. It would be infinite, and so would every mean."""


@scorers.register("image_similarity")
@dataclass(frozen=True)
class ImageSimilarity:
    """PSNR in decibels (at most 100) and SSIM of the generated image, against the target image."""

    ssim_window: Window = "wang"
    reference: str = ""
    """A column with the image to compare with; by default the target."""
    keep: str = ""
    """A column with a mask that is white where the edit should change nothing. Only these pixels are compared."""
    resize: bool = False
    """Whether an image of another size is first resized to the size of the reference."""
    reads: ClassVar[tuple[str, ...]] = ("image",)
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_option(
            "image_similarity",
            "ssim_window",
            self.ssim_window,
            get_args(Window),
        )

    def __call__(self, sample: Sample, output: Output) -> Score:
        if self.reference:
            reference = sample.fields.get(self.reference)
        else:
            reference = sample.target
        if reference is None:
            return no_target(sample, "image to compare with")
        if not output.media:
            return Score(
                {"psnr": 0.0, "ssim": 0.0},
                Outcome.UNPARSED,
                details={"reason": "no image was made"},
            )
        expected = pixels_of(reference)
        try:
            pixels = pixels_of(
                output.media[0], size=expected.shape[:2] if self.resize else None
            )
        except (
            DataError
        ) as error:  # The model's output is no image: its fault, not the scorer's.
            return Score(
                {"psnr": 0.0, "ssim": 0.0},
                Outcome.UNPARSED,
                details={"reason": error.what},
            )
        if pixels.shape != expected.shape:
            size = _format_size(pixels)
            expected_size = _format_size(expected)
            reason = f"the image is {size}, the reference {expected_size}: resize: true compares them"
            return Score(
                {"psnr": 0.0, "ssim": 0.0},
                Outcome.UNPARSED,
                details={"reason": reason},
            )
        mask = None
        if self.keep:
            mask = (
                pixels_of(sample.fields[self.keep], size=expected.shape[:2]).mean(
                    axis=2
                )
                > 127
            )
        ratio = psnr(expected, pixels, mask=mask)
        similar = ssim(
            expected,
            pixels,
            window=self.ssim_window,
            mask=mask,
        )
        details = {"identical": math.isinf(ratio), "window": self.ssim_window}
        return Score(
            {"psnr": min(ratio, HIGHEST_PSNR), "ssim": similar}, details=details
        )


def psnr(
    one: "Pixels",
    other: "Pixels",
    data_range: float | None = None,
    *,
    mask: "Pixels | None" = None,
) -> float:
    """Return 10 log10(range² / mean squared error); infinite for equal images."""
    import numpy as np

    span = _range_of(one, other, data_range)
    squares = (np.asarray(one, float) - np.asarray(other, float)) ** 2
    error = float(squares.mean() if mask is None else squares[mask].mean())
    if error:
        return 10 * math.log10(span**2 / error)
    return math.inf


def ssim(
    first: "Pixels",
    other: "Pixels",
    data_range: float | None = None,
    *,
    window: Window = "wang",
    mask: "Pixels | None" = None,
) -> float:
    """Return the structural similarity, -1 to 1; 1 for equal images.

    With `mask`, only windows whose centre is in the mask are used.
    """
    import numpy as np

    span = _range_of(first, other, data_range)
    if window == "skimage":
        weights = np.full(7, 1 / 7)
    else:
        weights = gaussian(11, 1.5)
    side = len(weights)
    if window == "piq":
        first = _averaged(first)
        other = _averaged(other)
        mask = mask if mask is None else _averaged(mask)
    if min(first.shape[:2]) < side:
        raise ValueError(
            f"SSIM needs an image of at least {side} x {side} pixels, this one is {_format_size(first)}"
        )
    # The unbiased covariance of n = side² equally weighted pixels.
    if window == "skimage":
        correction = side**2 / (side**2 - 1)
    else:
        correction = 1.0
    if window == "torchmetrics":
        margins = [(side // 2, side // 2)] * 2 + [(0, 0)] * (first.ndim - 2)
        first = np.pad(first, margins, mode="reflect")
        other = np.pad(other, margins, mode="reflect")
    if first.ndim == 2:
        channels = [(first, other)]
    else:
        channels = []
        for c in range(first.shape[2]):
            channels.append((first[..., c], other[..., c]))
    maps = []
    for x, y in channels:
        maps.append(
            _ssim_map(
                np.asarray(x, float),
                np.asarray(y, float),
                weights,
                span,
                correction,
            )
        )
    if mask is None:
        return float(np.mean(maps))
    margin = side // 2
    if window == "torchmetrics":
        inside = mask
    else:
        inside = mask[margin:-margin, margin:-margin]
    return float(np.mean([values[inside].mean() for values in maps]))


def _averaged(image: "Pixels") -> "Pixels":
    """Return the image with squares of pixels averaged, so that its shorter side is near 256.

    In a mask, a square is set only if all its pixels are.
    """
    import numpy as np

    step = max(1, round(min(image.shape[:2]) / POOLED_SIDE))
    if step == 1:
        return image
    height = image.shape[0] // step
    width = image.shape[1] // step
    squares = image[: height * step, : width * step].reshape(
        height,
        step,
        width,
        step,
        *image.shape[2:],
    )
    return np.asarray(
        squares.all(axis=(1, 3)) if image.dtype == bool else squares.mean(axis=(1, 3))
    )


def _ssim_map(
    x: "Floats",
    y: "Floats",
    weights: "Floats",
    span: float,
    correction: float,
) -> "Floats":
    """Return the structural similarity of two channels at each position of the window."""
    mean_x = smooth(x, weights)
    mean_y = smooth(y, weights)
    square_x = mean_x**2
    square_y = mean_y**2
    product = mean_x * mean_y
    variance_x = correction * (smooth(x * x, weights) - square_x)
    variance_y = correction * (smooth(y * y, weights) - square_y)
    covariance = correction * (smooth(x * y, weights) - product)
    # The two constants keep the quotients finite where an image is black or has one colour.
    c1 = (K1 * span) ** 2
    c2 = (K2 * span) ** 2
    luminance_above = 2 * mean_x * mean_y + c1
    luminance_below = square_x + square_y + c1
    structure_above = 2 * covariance + c2
    structure_below = variance_x + variance_y + c2
    above = luminance_above * structure_above
    below = luminance_below * structure_below
    return above / below


def smooth(image: "Floats", weights: "Floats") -> "Floats":
    """Return the image filtered along both axes, at positions where the window is completely inside the image."""
    import numpy as np

    windows = np.lib.stride_tricks.sliding_window_view
    side = len(weights)
    columns = windows(image, side, axis=0) @ weights
    return np.asarray(windows(columns, side, axis=1) @ weights)


def gaussian(side: int, sigma: float) -> "Floats":
    """Return the weights of a Gaussian window, which add up to 1."""
    import numpy as np

    steps = np.arange(side) - side // 2
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    return np.asarray(weights / weights.sum(), float)


def pixels_of(
    image: object,
    *,
    size: tuple[int, ...] | None = None,
) -> "Pixels":
    """Return the pixels of an image as an array of height x width x 3 bytes. If `size` is given, resize to it.

    The image is a medium, a path or bytes; `size` is (height, width).
    """
    import numpy as np
    from PIL import Image as Pillow

    if isinstance(image, Image):
        medium = image
    else:
        medium = Image(_source(image))
    rgb = decode_image(medium)
    if size is not None:
        height = size[0]
        width = size[1]
        if rgb.size != (width, height):
            rgb = rgb.resize((width, height), Pillow.Resampling.BICUBIC)
    return np.asarray(rgb)


def _source(image: object) -> object:
    """Return the path or bytes of an image. Hugging Face datasets store them in a mapping."""
    if isinstance(image, Media):
        return image.data()
    if isinstance(image, Mapping) and image.get("bytes"):
        return image["bytes"]
    return image


def _range_of(
    one: "Pixels",
    other: "Pixels",
    data_range: float | None,
) -> float:
    """Return the range of the pixel values: 255 for bytes, `data_range` for other types. Raise if it is missing."""
    if one.shape != other.shape:
        raise ValueError(f"images of different sizes: {one.shape} and {other.shape}")
    if data_range is not None:
        return data_range
    if str(one.dtype) == str(other.dtype) == "uint8":
        return 255.0
    raise ValueError(
        "data_range must be given for images that are not bytes: 1.0 for values from 0 to 1"
    )


def _format_size(image: "Pixels") -> str:
    return f"{image.shape[1]} x {image.shape[0]}"


@scorers.register("lpips")
@dataclass(frozen=True)
class Lpips(GivenModels):
    """LPIPS: the perceptual distance between the generated image and the target image, measured by a model."""

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
            # A missing image gets no distance, because there is no highest one.
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
        if isinstance(reply, Mapping):
            distance = reply.get("distance")
        else:
            distance = reply
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
