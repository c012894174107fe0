"""GenEval's colours: each object alone on grey, its colour the description that CLIP finds nearest."""

from collections.abc import Sequence
from typing import Any

from .geneval import COLORS

DESCRIPTIONS = ("a photo of a {colour} {name}", "a photo of a {colour}-colored {name}", "a photo of a {colour} object")


def nearest_colours(
    clip: Any,
    image: Any,
    bboxes: Sequence[Any],
    classname: str,
    bgcolor: str = "#999",
    crop: bool = True,
    device: str = "cuda",
) -> list[str]:
    """One colour for each box with its mask."""
    import torch

    with torch.no_grad():
        means = torch.stack([_described(clip, colour, classname, device) for colour in COLORS])
        crops = [clip.transform(_alone(image, box, mask, bgcolor, crop)) for box, mask in bboxes]
        features = clip.model.encode_image(torch.stack(crops).to(device))
        nearest = (features / features.norm(dim=-1, keepdim=True)) @ means.T
    return [COLORS[int(place)] for place in nearest.argmax(1)]


def _described(clip: Any, colour: str, name: str, device: str) -> Any:
    texts = [text.format(colour=colour, name=name) for text in DESCRIPTIONS]
    found = clip.model.encode_text(clip.tokenizer(texts).to(device))
    mean = (found / found.norm(dim=-1, keepdim=True)).mean(0)
    return mean / mean.norm()


def _alone(image: Any, box: Any, mask: Any, bgcolor: str, crop: bool) -> Any:
    from PIL import Image

    picture = image.convert("RGB")
    if mask is not None:
        ground = picture.copy() if bgcolor == "original" else Image.new("RGB", picture.size, color=bgcolor)
        picture = Image.composite(picture, ground, Image.fromarray(mask))
    return picture.crop(tuple(box[:4])) if crop else picture
