"""LPIPS: the distance of two images in the features of AlexNet, weighted by learned heads (arXiv 1801.03924, v0.1).

A request has two images of one size; the answer is `{"distance": 0.21}`. `backbone` is a file with AlexNet's weights
under torchvision's names (`features.0.weight`, …), `heads` the published linear heads (`lin0.model.1.weight`, …);
both as .pth or .safetensors. Features are scaled to length 1 at each position; squared differences are weighted by
channel, averaged over positions and summed over five layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

    from assay.models.workers.serve import Request


SHIFT, SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
# (index among torchvision's layers, channels in, channels out, kernel, stride, padding, whether pooling comes first)
CONVOLUTIONS = (
    (0, 3, 64, 11, 4, 2, False),
    (3, 64, 192, 5, 1, 2, True),
    (6, 192, 384, 3, 1, 1, True),
    (8, 384, 256, 3, 1, 1, False),
    (10, 256, 256, 3, 1, 1, False),
)


class Lpips:
    """Computes the LPIPS distance of two images."""

    accepts = {"image", "text"}  # noqa: RUF012 - read as a literal by the parent process

    def __init__(
        self,
        backbone: str,
        heads: str,
        device: str = "cpu",
    ) -> None:
        self.device = device
        self.backbone = weights_of(backbone, device)
        head_weights = weights_of(heads, device)
        self.heads = [
            _entry(head_weights, f"lin{index}.model.1.weight", heads)
            for index in range(len(CONVOLUTIONS))
        ]
        for index, inputs, outputs, kernel, _, _, _ in CONVOLUTIONS:
            shape = tuple(
                _entry(self.backbone, f"features.{index}.weight", backbone).shape
            )
            if shape != (outputs, inputs, kernel, kernel):
                raise ValueError(
                    f"{backbone} is not an AlexNet: features.{index}.weight is {shape}"
                )

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the distance of the two images of a request."""
        images = request.images()
        if len(images) != 2:
            raise ValueError(f"compares two images, got {len(images)}")
        if images[0].size != images[1].size:
            raise ValueError(
                f"images of different sizes: {images[0].size} and {images[1].size}"
            )
        if min(images[0].size) < 63:
            raise ValueError("AlexNet needs images of at least 63 x 63 pixels")
        return {"distance": self.distance(*(self.tensor(image) for image in images))}

    def tensor(self, image: Image) -> torch.Tensor:
        """Convert an image to values from -1 to 1, then shift and scale it as in the training of the heads."""
        import torch

        values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).to(
            self.device
        )
        width, height = image.size
        plain = (
            values.reshape(1, height, width, 3).permute(0, 3, 1, 2).float() / 127.5 - 1
        )
        shift, scale = (
            torch.tensor(three, device=self.device).reshape(1, 3, 1, 1)
            for three in (SHIFT, SCALE)
        )
        return (plain - shift) / scale

    def distance(self, one: object, other: object) -> float:
        """Return the distance of two images: the mean weighted difference of their features, summed over all layers."""
        import torch

        total = 0.0
        with torch.inference_mode():
            for head, a, b in zip(
                self.heads,
                self.layers(one),
                self.layers(other),
                strict=True,
            ):
                difference = (_unit(a) - _unit(b)) ** 2
                total += float((difference * head.reshape(1, -1, 1, 1)).sum(1).mean())
        return total

    def layers(self, values: object) -> list[Any]:
        """Return AlexNet's features after each of its five convolutions."""
        from torch.nn import functional

        layers = []
        for index, _, _, _, stride, padding, pools in CONVOLUTIONS:
            if pools:
                values = functional.max_pool2d(values, 3, 2)
            weight, bias = (
                self.backbone[f"features.{index}.{name}"] for name in ("weight", "bias")
            )
            values = functional.relu(
                functional.conv2d(
                    values,
                    weight,
                    bias,
                    stride=stride,
                    padding=padding,
                )
            )
            layers.append(values)
        return layers


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


def _entry(
    weights: dict[str, Any],
    name: str,
    path: str,
) -> torch.Tensor:
    if name not in weights:
        raise ValueError(f"{path} has no {name}")
    return weights[name]


def _unit(features: torch.Tensor) -> torch.Tensor:
    """Scale the feature vector at each position to length 1."""
    return features / ((features**2).sum(1, keepdim=True).sqrt() + 1e-10)
