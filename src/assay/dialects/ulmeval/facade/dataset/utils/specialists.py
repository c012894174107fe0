"""Judges that are no language models: a detector, CLIP, a model of questions about images.

Each runs in the library it was made for, which must be installed; assay's own benchmarks ask workers instead.
"""

from collections.abc import Sequence
from typing import Any

from ......core import library
from .geneval import COLORS

STANDS_IN = True
__all__ = ["MMDetModel", "MPLUGModel", "OpenCLIPModel"]

DESCRIPTIONS = (
    "a photo of a {colour} {name}",
    "a photo of a {colour}-colored {name}",
    "a photo of a {colour} object",
)


class MMDetModel:
    """A detector of mmdet 2.x: `model` is what `inference_detector` takes."""

    def __init__(
        self,
        model_path: str,
        config_path: str | None = None,
        device: str = "cuda",
        **kwargs: Any,
    ) -> None:
        what = (
            "mmdet 2.x, for GenEval's detector (assay's own `geneval` asks a worker),"
        )
        mmdet = library("mmdet.apis", what, "mmdet")
        self.model = mmdet.init_detector(
            config_path or f"{model_path}.py", f"{model_path}.pth", device=device
        )


class OpenCLIPModel:
    """A CLIP model of open_clip, with its transform and tokenizer."""

    def __init__(
        self,
        model_path: str,
        device: str = "cuda",
        pretrained: str = "openai",
        **kwargs: Any,
    ) -> None:
        what = "open_clip, for GenEval's colours (assay's own `geneval` asks a worker),"
        open_clip = library("open_clip", what, "open_clip_torch")
        self.model, _, self.transform = open_clip.create_model_and_transforms(
            model_path, pretrained=pretrained, device=device
        )
        self.tokenizer = open_clip.get_tokenizer(model_path)

    def colours(
        self,
        image: Any,
        bboxes: Sequence[Any],
        classname: str,
        bgcolor: str = "#999",
        crop: bool = True,
        device: str = "cuda",
    ) -> list[str]:
        """The colour of each object, a box with its mask: the one whose description is nearest to the object alone."""
        import torch

        with torch.no_grad():
            means = torch.stack(
                [self._described(colour, classname, device) for colour in COLORS]
            )
            crops = [
                self.transform(_alone(image, box, mask, bgcolor, crop))
                for box, mask in bboxes
            ]
            features = self.model.encode_image(torch.stack(crops).to(device))
            nearest = (features / features.norm(dim=-1, keepdim=True)) @ means.T
        return [COLORS[int(place)] for place in nearest.argmax(1)]

    def _described(self, colour: str, name: str, device: str) -> Any:
        texts = [text.format(colour=colour, name=name) for text in DESCRIPTIONS]
        found = self.model.encode_text(self.tokenizer(texts).to(device))
        mean = (found / found.norm(dim=-1, keepdim=True)).mean(0)
        return mean / mean.norm()


def _alone(image: Any, box: Any, mask: Any, bgcolor: str, crop: bool) -> Any:
    from PIL import Image

    pixels = image.convert("RGB")
    if mask is not None:
        ground = (
            pixels.copy()
            if bgcolor == "original"
            else Image.new("RGB", pixels.size, color=bgcolor)
        )
        pixels = Image.composite(pixels, ground, Image.fromarray(mask))
    return pixels.crop(tuple(box[:4])) if crop else pixels


class MPLUGModel:
    """mPLUG by modelscope: `vqa(image, question)` answers in a word."""

    def __init__(
        self,
        ckpt: str = "damo/mplug_visual-question-answering_coco_large_en",
        device: str = "gpu",
        **kwargs: Any,
    ) -> None:
        what = (
            "modelscope, for DPG-Bench's mPLUG (assay's own `dpg_bench` asks a worker),"
        )
        pipelines = library("modelscope.pipelines", what, "modelscope")
        task = library(
            "modelscope.utils.constant", what, "modelscope"
        ).Tasks.visual_question_answering
        self.pipeline_vqa = pipelines.pipeline(task, model=ckpt, device=device)

    def vqa(self, image: Any, question: str) -> str:
        """The answer to a question about an image."""
        return str(self.pipeline_vqa({"image": image, "question": question})["text"])
