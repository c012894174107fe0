"""Inception-v3 features of an image for FID: 2,048 numbers after the last pooling.

A request has an image; the answer is `{"features": "…"}`, base64 of little-endian 32-bit floats. `weights` is a file
in the layout of the usual port of the TensorFlow weights of 2015-12-05 (torchvision's names, such as
`Mixed_7c.branch_pool.conv.weight`), as .pth or .safetensors. Two details follow the port and not torchvision:
averages exclude the padding, and the last block takes the maximum. Images are resized to 299 x 299 without
smoothing and scaled to values from -1 to 1.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

    from assay.models.workers.serve import Request


SIDE = 299
# Blocks are branches of convolutions `name: (channels, kernel, stride, padding)`, joined in the listed order;
# `pool` and `max` are poolings before a branch, `double` ends a branch in two convolutions side by side.
STEM = (
    ("Conv2d_1a_3x3", (32, 3, 2, 0)),
    ("Conv2d_2a_3x3", (32, 3, 1, 0)),
    ("Conv2d_2b_3x3", (64, 3, 1, 1)),
    ("max", None),
    ("Conv2d_3b_1x1", (80, 1, 1, 0)),
    ("Conv2d_4a_3x3", (192, 3, 1, 0)),
    ("max", None),
)


class Inception:
    """The Inception-v3 network up to its last pooling."""

    accepts = {"image", "text"}  # noqa: RUF012 - read as a literal by the parent process

    def __init__(
        self,
        weights: str,
        device: str = "cpu",
    ) -> None:
        self.device = device
        self.weights = weights_of(weights, device)
        missing = [name for name in names_of_weights() if name not in self.weights]
        if missing:
            raise ValueError(
                f"{weights} has no {missing[0]}: not Inception-v3 under torchvision's names"
            )

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the features of the image."""
        values = (
            self.features(self.tensor(request.image()))[0].cpu().numpy().astype("<f4")
        )
        return {"features": base64.b64encode(values.tobytes()).decode("ascii")}

    def tensor(self, image: Image) -> torch.Tensor:
        """Convert an image to the network's input."""
        import torch

        width, height = image.size
        values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).to(
            self.device
        )
        plain = values.reshape(1, height, width, 3).permute(0, 3, 1, 2).float() / 255
        sized = torch.nn.functional.interpolate(
            plain,
            size=(SIDE, SIDE),
            mode="bilinear",
            align_corners=False,
        )
        return sized * 2 - 1

    def features(self, values: torch.Tensor) -> torch.Tensor:
        """Return the 2,048 features of each image."""
        import torch

        with torch.inference_mode():
            for name, shape in STEM:
                if shape is None:
                    values = _max(values)
                else:
                    values = self.convolve(name, values, shape)
            for block, branches in blocks():
                values = self._block(block, branches, values)
            return values.mean((2, 3))

    def _block(
        self,
        block: str,
        branches: Iterable[Any],
        values: torch.Tensor,
    ) -> torch.Tensor:
        import torch

        outputs = []
        for branch in branches:
            features = values
            for name, shape in branch:
                if name == "max":
                    features = _max(features)
                elif name == "pool":
                    features = _pool(features, block)
                elif name == "double":
                    features = torch.cat(
                        [
                            self.convolve(f"{block}.{part}", features, form)
                            for part, form in shape
                        ],
                        1,
                    )
                else:
                    features = self.convolve(f"{block}.{name}", features, shape)
            outputs.append(features)
        return torch.cat(outputs, 1)

    def convolve(
        self,
        name: str,
        values: torch.Tensor,
        shape: tuple[Any, ...],
    ) -> torch.Tensor:
        """Apply a convolution, batch normalization and ReLU."""
        from torch.nn import functional

        _, _, stride, padding = shape
        values = functional.conv2d(
            values,
            self.weights[f"{name}.conv.weight"],
            stride=stride,
            padding=padding,
        )
        mean, variance, weight, bias = (
            self.weights[f"{name}.bn.{part}"]
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return functional.relu(
            functional.batch_norm(values, mean, variance, weight, bias, eps=0.001)
        )


def blocks() -> list[tuple[str, list[list[tuple[str, Any]]]]]:
    """Return the eleven blocks of the network in order: their names and the layers of each branch."""
    listed = [
        (f"Mixed_5{letter}", _wide(pool))
        for letter, pool in zip("bcd", (32, 64, 64), strict=True)
    ]
    listed.append(
        (
            "Mixed_6a",
            [
                [("branch3x3", (384, 3, 2, 0))],
                [*_double(64, 96), ("branch3x3dbl_3", (96, 3, 2, 0))],
                [_MAX],
            ],
        )
    )
    listed += [
        (f"Mixed_6{letter}", _long(width))
        for letter, width in zip("bcde", (128, 160, 160, 192), strict=True)
    ]
    seven = [
        ("branch7x7x3_1", (192, 1, 1, 0)),
        ("branch7x7x3_2", (192, (1, 7), 1, (0, 3))),
        ("branch7x7x3_3", (192, (7, 1), 1, (3, 0))),
        ("branch7x7x3_4", (192, 3, 2, 0)),
    ]
    listed.append(
        (
            "Mixed_7a",
            [
                [("branch3x3_1", (192, 1, 1, 0)), ("branch3x3_2", (320, 3, 2, 0))],
                seven,
                [_MAX],
            ],
        )
    )
    listed += [(f"Mixed_7{letter}", _split()) for letter in "bc"]
    return listed


_MAX: tuple[str, Any] = ("max", None)
_POOL: tuple[str, Any] = ("pool", None)


def _double(first: int, second: int) -> list[tuple[str, Any]]:
    return [("branch3x3dbl_1", (first, 1, 1, 0)), ("branch3x3dbl_2", (second, 3, 1, 1))]


def _wide(pool: int) -> list[list[tuple[str, Any]]]:
    return [
        [("branch1x1", (64, 1, 1, 0))],
        [("branch5x5_1", (48, 1, 1, 0)), ("branch5x5_2", (64, 5, 1, 2))],
        [*_double(64, 96), ("branch3x3dbl_3", (96, 3, 1, 1))],
        [_POOL, ("branch_pool", (pool, 1, 1, 0))],
    ]


def _long(width: int) -> list[list[tuple[str, Any]]]:
    across = ((1, 7), 1, (0, 3))
    down = ((7, 1), 1, (3, 0))
    return [
        [("branch1x1", (192, 1, 1, 0))],
        [
            ("branch7x7_1", (width, 1, 1, 0)),
            ("branch7x7_2", (width, *across)),
            ("branch7x7_3", (192, *down)),
        ],
        [
            ("branch7x7dbl_1", (width, 1, 1, 0)),
            ("branch7x7dbl_2", (width, *down)),
            ("branch7x7dbl_3", (width, *across)),
            ("branch7x7dbl_4", (width, *down)),
            ("branch7x7dbl_5", (192, *across)),
        ],
        [_POOL, ("branch_pool", (192, 1, 1, 0))],
    ]


def _split() -> list[list[tuple[str, Any]]]:
    def pair(name: str) -> tuple[str, Any]:
        return (
            "double",
            (
                (f"{name}a", (384, (1, 3), 1, (0, 1))),
                (f"{name}b", (384, (3, 1), 1, (1, 0))),
            ),
        )

    return [
        [("branch1x1", (320, 1, 1, 0))],
        [("branch3x3_1", (384, 1, 1, 0)), pair("branch3x3_2")],
        [
            ("branch3x3dbl_1", (448, 1, 1, 0)),
            ("branch3x3dbl_2", (384, 3, 1, 1)),
            pair("branch3x3dbl_3"),
        ],
        [_POOL, ("branch_pool", (192, 1, 1, 0))],
    ]


def shapes_of_weights() -> dict[str, tuple[int, int, int, int]]:
    """Return the weight shape of every convolution: channels out and in, height, width."""
    shapes: dict[str, tuple[int, int, int, int]] = {}

    def note(
        name: str,
        inputs: int,
        form: tuple[Any, ...],
    ) -> int:
        channels, kernel = form[0], form[1]
        if isinstance(kernel, tuple):
            height, width = kernel
        else:
            height, width = kernel, kernel
        shapes[name] = (channels, inputs, height, width)
        return int(channels)

    channels = 3
    for name, form in STEM:
        if form is not None:
            channels = note(name, channels, form)
    for block, branches in blocks():
        total = 0
        for branch in branches:
            inside = channels
            for name, form in branch:
                if name == "double":
                    inside = sum(
                        note(f"{block}.{part}", inside, shape) for part, shape in form
                    )
                elif form is not None:
                    inside = note(f"{block}.{name}", inside, form)
            total += inside
        channels = total
    return shapes


def names_of_weights() -> list[str]:
    """Return the names of all tensors that the network needs."""
    parts = ("conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var")
    return [f"{name}.{part}" for name in shapes_of_weights() for part in parts]


def weights_of(path: str, device: str) -> dict[str, Any]:
    """Load the weights from a file. Only tensors are unpickled, so no code in the file can run."""
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return dict(load_file(path, device=device))
    import torch

    return dict(
        torch.load(
            path,
            map_location=device,
            weights_only=True,
        )
    )


def _max(values: torch.Tensor) -> torch.Tensor:
    from torch.nn import functional

    return functional.max_pool2d(values, 3, 2)


def _pool(
    values: torch.Tensor,
    block: str,
) -> torch.Tensor:
    from torch.nn import functional

    if block == "Mixed_7c":
        return functional.max_pool2d(values, 3, 1, 1)
    return functional.avg_pool2d(values, 3, 1, 1, count_include_pad=False)
