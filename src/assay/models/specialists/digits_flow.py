"""Digits-flow: a small generator of handwritten digits (8 x 8 pixels). It is trained on first use, then cached.

Flow matching: an image x1 and noise x0 are joined by the line x = (1 - t) x0 + t x1,
and a small network learns the direction x1 - x0 from x, t and the digit. Drawing starts
from noise and follows the learned direction in steps. Training takes about ten seconds
on one core, in numpy, on half of scikit-learn's digits; the judge is trained on the
other half.
"""

import hashlib
import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...code.userfiles import file_digest
from ...core import ModelError, Output, Request, digest_of
from ...media import image_from
from ...media.digits import SIDE, Half, digits
from ..draws import generator_for
from ..weights import cache_folder
from .base import DRAWS, Ranges, Specialist, only_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PIXELS, KINDS, WIDTH, WAVES = SIDE * SIDE, 10, 256, 8
BATCH, LEARNING_RATE, WARM_UP = 128, 2e-3, 100
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGIT = re.compile(rf"\b({'|'.join(NAMES)}|\d)\b", re.IGNORECASE)


@dataclass
class DigitsFlow(Specialist):
    """A generator of handwritten digits, for prompts such as `Draw the digit 7.`."""

    abilities = DRAWS
    label: ClassVar[str] = "digits-flow"
    ranges: ClassVar[Ranges] = dict.fromkeys(
        ("training_steps", "drawing_steps"), (1, math.inf)
    )
    draws: ClassVar[bool] = True
    training_steps: int = 3000
    drawing_steps: int = 30
    seed: int = 0
    """Seed of the training. Images are drawn with the seed of the request."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: training data, code, settings, and
        everything else that changes images.
        """
        return {
            self.label: {
                "training_steps": self.training_steps,
                "drawing_steps": self.drawing_steps,
                "seed": self.seed,
            },
            "split": digits().digest,
            "code": file_digest(Path(__file__)),
        }

    def _start(self) -> "list[Floats]":
        from threadpoolctl import threadpool_limits  # installed with scikit-learn

        key = digest_of({**self.identity, self.label: [self.training_steps, self.seed]})
        file = cache_folder() / "digits-flow" / f"{key[:32]}.npz"
        weights = _read(file)
        if weights is None:
            print(
                f"digits-flow: training on first use, about 10 s; kept as {file}",
                file=sys.stderr,
            )
            with threadpool_limits(
                1
            ):  # two threads on a busy machine wait for each other
                weights = train(digits().drawing, self.training_steps, self.seed)
            _write(file, weights)
        return weights

    def _answer(self, request: Request, index: int) -> Output:
        import numpy as np

        digit = asked_digit(only_text(request))
        generator = generator_for(request, index)
        noise = np.random.default_rng(generator.getrandbits(63)).standard_normal(
            (1, PIXELS), dtype=np.float32
        )
        pixels = draw(self._engine, noise, np.array([digit]), self.drawing_steps)
        output = Output.of(image_from(pixels.reshape(SIDE, SIDE)))
        return replace(
            output, details={"digit": digit, "weights": _digest(self._engine)}
        )


def asked_digit(text: str) -> int:
    """Return the digit that a prompt names, as a figure or as a word. Raise unless there is exactly one."""
    names = {name.lower() for name in _DIGIT.findall(text)}
    digits_named = {NAMES.index(name) if name in NAMES else int(name) for name in names}
    if len(digits_named) != 1:
        raise ModelError(
            f"draws one digit from 0 to 9, and the prompt names {len(digits_named)}",
            fix="Draw the digit 7.",
        )
    return digits_named.pop()


def train(
    half: Half,
    steps: int,
    seed: int,
) -> "list[Floats]":
    """Train with Adam and a decreasing learning rate. Return the weights and biases of three layers."""
    import numpy as np

    rng = np.random.default_rng(seed)
    weights = _initial(rng)
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    images = half.pixels * 2 - 1
    for step in range(1, steps + 1):
        chosen = rng.integers(len(images), size=BATCH)
        ends = images[chosen]
        noise = rng.standard_normal(ends.shape, dtype=np.float32)
        times = rng.random((BATCH, 1), dtype=np.float32)
        inputs = _inputs((1 - times) * noise + times * ends, half.labels[chosen], times)
        gradients = _gradients(weights, inputs, ends - noise)
        rate = (
            LEARNING_RATE
            * min(1.0, step / WARM_UP)
            * 0.5
            * (1 + np.cos(np.pi * step / steps))
        )
        for weight, gradient, mean, square in zip(
            weights,
            gradients,
            first,
            second,
            strict=True,
        ):
            mean += 0.1 * (gradient - mean)
            square += 0.01 * (gradient * gradient - square)
            spread = np.sqrt(square / (1 - 0.99**step)) + 1e-8
            weight -= np.float32(rate) * (mean / (1 - 0.9**step)) / spread
    return weights


def draw(
    weights: "list[Floats]",
    noise: "Floats",
    labels: "NDArray[Any]",
    steps: int,
) -> "Floats":
    """Generate images with values from 0 to 1 from noise, with the midpoint method."""
    import numpy as np

    step_count = np.float32(steps)
    images = noise
    for step in range(steps):
        time = (step + 0.5) / steps
        times = np.full((len(noise), 1), time, np.float32)
        inputs = _inputs(images, labels, times)
        direction = _forward(weights, inputs)[-1]
        images = images + direction / step_count
    clipped = np.clip(images, -1.0, 1.0)
    return (clipped + np.float32(1)) / np.float32(2)


def _initial(rng: "np.random.Generator") -> "list[Floats]":
    import numpy as np

    sizes = (PIXELS + KINDS + 1 + 2 * WAVES, WIDTH, WIDTH, PIXELS)
    pairs = list(pairwise(sizes))
    layers = [
        rng.standard_normal(pair, dtype=np.float32) * np.float32(np.sqrt(2 / pair[0]))
        for pair in pairs
    ]
    layers[-1] *= np.float32(0.1)
    return [*layers, *(np.zeros(pair[1], np.float32) for pair in pairs)]


def _inputs(
    at: "Floats",
    labels: "NDArray[Any]",
    times: "Floats",
) -> "Floats":
    import numpy as np

    waves = times * (np.pi / 2 * 2.0 ** np.arange(WAVES)).astype(np.float32)
    kinds = np.eye(KINDS, dtype=np.float32)[labels]
    joined: Floats = np.concatenate(
        [at, kinds, times, np.sin(waves), np.cos(waves)], axis=1
    )
    return joined


def _forward(
    weights: "list[Floats]",
    inputs: "Floats",
) -> "tuple[Floats, Floats, Floats]":
    """Return the activations of both hidden layers, and the direction that the network predicts."""
    import numpy as np

    hidden = np.maximum(inputs @ weights[0] + weights[3], 0)
    deeper = np.maximum(hidden @ weights[1] + weights[4], 0)
    return hidden, deeper, deeper @ weights[2] + weights[5]


def _gradients(
    weights: "list[Floats]",
    inputs: "Floats",
    expected: "Floats",
) -> "list[Floats]":
    """Return the gradient of the mean squared error for each weight and bias."""
    hidden, deeper, direction = _forward(weights, inputs)
    number_type = type(direction[0, 0])
    scale = number_type(2 / len(inputs))
    error = (direction - expected) * scale
    deeper_error = (error @ weights[2].T) * (deeper > 0)
    hidden_error = (deeper_error @ weights[1].T) * (hidden > 0)
    return [
        inputs.T @ hidden_error,
        hidden.T @ deeper_error,
        deeper.T @ error,
        hidden_error.sum(0),
        deeper_error.sum(0),
        error.sum(0),
    ]


def _digest(weights: "list[Floats]") -> str:
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(weight.tobytes())
    return digest.hexdigest()[:16]


def _read(file: Path) -> "list[Floats] | None":
    """Read cached weights; None if the file cannot be read."""
    import zipfile

    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as arrays:
            return [arrays[f"arr_{index}"] for index in range(6)]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _write(file: Path, weights: "list[Floats]") -> None:
    """Write weights to the cache. If that fails, do nothing, because they can be trained again."""
    import numpy as np

    draft = file.with_suffix(f".{os.getpid()}.npz")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(draft, *weights)
        draft.replace(file)
    except OSError:
        return
