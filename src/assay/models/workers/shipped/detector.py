"""Find objects in an image with one of three families of models, and their colours with CLIP.

A request has an image and `{"classes": ["cat", "dog"], "colors": true}`. The answer is `{"detections": {"cat":
[{"box": [x1, y1, x2, y2], "score": 0.97, "color": "red"}], "dog": []}}`, with boxes in pixels. `model` is a folder or
hub id of an instance segmenter (Mask2Former, as in official GenEval), a detector with fixed classes (such as DETR),
or a zero-shot detector (OWL-ViT, OWLv2, Grounding DINO). `clip` names the CLIP model for colours. It sees the object
cut out by its mask over grey if there is a mask, or else the object's box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image
    from transformers import BatchFeature
    from transformers.utils import ModelOutput

    from assay.models.workers.serve import Request


COLORS = (
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "pink",
    "brown",
    "black",
    "white",
)
PHRASES = (
    "a photo of a {color} {name}",
    "a photo of a {color}-colored {name}",
    "a photo of a {color} object",
)
GREY = "#999"
OTHER_NAMES = {
    "computer mouse": "mouse", "tv remote": "remote", "computer keyboard": "keyboard", "hair drier": "hair dryer",
    "airplane": "aeroplane", "motorcycle": "motorbike", "couch": "sofa", "tv": "tvmonitor",
    "potted plant": "pottedplant", "dining table": "diningtable",
}  # fmt: skip
"""The names of some GenEval classes in other label sets, such as `couch -> sofa`."""


class Detector:
    """One detector, optionally with a CLIP model for colours."""

    accepts = {"text", "image"}  # noqa: RUF012 - read as a literal by the parent process

    def __init__(
        self,
        model: str,
        clip: str = "",
        threshold: float = 0.1,
        text_threshold: float = 0.25,
        device: str = "cpu",
        dtype: str = "float32",
        revision: str | None = None,
    ) -> None:
        import torch
        import transformers

        self.device = device
        self.threshold = threshold
        self.text_threshold = text_threshold
        config = transformers.AutoConfig.from_pretrained(model, revision=revision)
        # The order matters: DETR is listed among the segmenters as well.
        families = {
            "zero_shot": transformers.AutoModelForZeroShotObjectDetection,
            "fixed": transformers.AutoModelForObjectDetection,
            "segments": transformers.AutoModelForUniversalSegmentation,
        }
        family = next(
            (
                name
                for name, auto in families.items()
                if type(config) in auto._model_mapping
            ),
            None,
        )
        if family is None:
            raise ValueError(
                f"{model} is a {config.model_type} model, neither a detector nor an instance segmenter"
            )
        self.find = {
            "segments": self._segments,
            "zero_shot": self._zero_shot,
            "fixed": self._fixed,
        }[family]
        reads_words = family == "zero_shot"
        if reads_words:
            auto = transformers.AutoProcessor
        else:
            auto = transformers.AutoImageProcessor
        self.processor = auto.from_pretrained(model, revision=revision)
        loaded = families[family].from_pretrained(
            model,
            revision=revision,
            dtype=getattr(torch, dtype),
        )
        self.model = loaded.to(device).eval()
        self.labels = {
            str(label).lower(): int(number) for number, label in config.id2label.items()
        }
        self.clip = Colors(clip, device, dtype) if clip else None

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the detected objects of the requested classes, most certain first."""
        image = request.image()
        names = [str(name) for name in request.asked.get("classes") or ()]
        if not names:
            raise ValueError('no classes to look for: ask with {"classes": ["cat"]}')
        detections = self.find(image, names)
        if request.asked.get("colors"):
            if self.clip is None:
                raise ValueError(
                    "colours are asked for and no CLIP model was given: option clip=PATH"
                )
            for name, objects in detections.items():
                for item in objects:
                    item["color"] = self.clip.name(image, item, name)
        width, height = image.size
        for objects in detections.values():
            for item in objects:
                item.pop("mask", None)
                item["box"] = [
                    min(max(edge, 0), (width, height)[i % 2])
                    for i, edge in enumerate(item["box"])
                ]
        return {"detections": detections}

    def _fixed(
        self,
        image: Image,
        names: list[str],
    ) -> dict[str, list[dict[str, Any]]]:
        """Detect objects with a model for a fixed set of classes. Return them by class name."""
        class_names = {self.number_of(name): name for name in names}
        outputs = self._look(image)
        (result,) = self.processor.post_process_object_detection(
            outputs,
            threshold=self.threshold,
            target_sizes=[image.size[::-1]],
        )
        detections: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for score, label, box in zip(
            result["scores"],
            result["labels"],
            result["boxes"],
            strict=True,
        ):
            name = class_names.get(int(label))
            if name is None:
                continue
            detection = {"box": box.tolist(), "score": float(score)}
            detections[name].append(detection)
        return ranked(detections)

    def _zero_shot(
        self,
        image: Image,
        names: list[str],
    ) -> dict[str, list[dict[str, Any]]]:
        """Detect objects with a model that receives class names as text. Return them by class name."""
        is_grounded = self.model.config.model_type in (
            "grounding-dino",
            "mm-grounding-dino",
        )
        text = ". ".join(names) + "." if is_grounded else [names]
        inputs = self.processor(
            images=image,
            text=text,
            return_tensors="pt",
        ).to(self.device)
        outputs = self._run(inputs)
        further: dict[str, Any] = {"text_labels": [names]}
        if is_grounded:
            further = {
                "input_ids": inputs["input_ids"],
                "text_threshold": self.text_threshold,
            }
        (result,) = self.processor.post_process_grounded_object_detection(
            outputs,
            threshold=self.threshold,
            target_sizes=[image.size[::-1]],
            **further,
        )
        detections: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for score, label, box in zip(
            result["scores"],
            result["text_labels"],
            result["boxes"],
            strict=True,
        ):
            # Grounding DINO returns the matched words. If they belong to two classes, they count for neither.
            matches = [name for name in names if name == label]
            if not matches:
                matches = [name for name in names if name in str(label)]
            if len(matches) == 1:
                detection = {"box": box.tolist(), "score": float(score)}
                detections[matches[0]].append(detection)
        return ranked(detections)

    def _segments(
        self,
        image: Image,
        names: list[str],
    ) -> dict[str, list[dict[str, Any]]]:
        """Detect objects with an instance segmenter. Return them by class name.

        A box encloses the mask. A score is the product of the scores of class and mask.
        """
        import torch

        outputs = self._look(image)
        classes = outputs.class_queries_logits[0].float().softmax(-1)[:, :-1]
        height, width = image.size[::-1]
        masks = torch.nn.functional.interpolate(
            outputs.masks_queries_logits.float(),
            size=(height, width),
            mode="bilinear",
            align_corners=False,
        )[0]
        detections: dict[str, list[dict[str, Any]]] = {}
        for name in names:
            detections[name] = []
            scores = classes[:, self.number_of(name)]
            for query in (scores > self.threshold).nonzero().flatten().tolist():
                mask = masks[query] > 0
                if not bool(mask.any()):
                    continue
                sure = float(scores[query] * masks[query].sigmoid()[mask].mean())
                rows = mask.any(1).nonzero().flatten()
                columns = mask.any(0).nonzero().flatten()
                box = [
                    int(columns[0]),
                    int(rows[0]),
                    int(columns[-1]) + 1,
                    int(rows[-1]) + 1,
                ]
                detections[name].append(
                    {"box": box, "score": sure, "mask": mask.cpu().numpy()}
                )
        return ranked(detections)

    def number_of(self, name: str) -> int:
        """Return the number under which the detector knows a class, such as 16 for "dog".

        Raise for an unknown class, because its absence from the detections would mean
        nothing.
        """
        for label in (name, OTHER_NAMES.get(name, name)):
            if label.lower() in self.labels:
                return self.labels[label.lower()]
        raise ValueError(f"the detector does not know the class {name!r}")

    def _look(self, image: object) -> ModelOutput:
        return self._run(
            self.processor(images=image, return_tensors="pt").to(self.device)
        )

    def _run(self, inputs: BatchFeature) -> ModelOutput:
        import torch

        with torch.inference_mode():
            inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
            return self.model(**inputs)


class Colors:
    """Chooses one of ten colours for an object: the one whose descriptions CLIP finds most similar to the image."""

    def __init__(
        self,
        model: str,
        device: str,
        dtype: str,
    ) -> None:
        import torch
        from transformers import AutoProcessor, CLIPModel

        self.device = device
        self.processor = AutoProcessor.from_pretrained(model)
        self.model = (
            CLIPModel.from_pretrained(model, dtype=getattr(torch, dtype))
            .to(device)
            .eval()
        )
        self._known: dict[str, Any] = {}

    def name(
        self,
        image: Image,
        thing: dict[str, Any],
        name: str,
    ) -> str:
        """Return the name of a detected object's colour."""
        import torch

        inputs = self.processor(
            images=cut_out(image, thing),
            return_tensors="pt",
        ).to(self.device)
        with torch.inference_mode():
            vision = self.model.vision_model(
                pixel_values=inputs["pixel_values"].to(self.model.dtype)
            )
            features = _unit(self.model.visual_projection(vision.pooler_output))
        return COLORS[int((features @ self._words(name).T).argmax())]

    def _words(self, name: str) -> torch.Tensor:
        """Return one text embedding per colour for a class of objects: the normalized mean over several phrasings."""
        import torch

        if name not in self._known:
            texts = [
                phrase.format(color=color, name=name)
                for color in COLORS
                for phrase in PHRASES
            ]
            inputs = self.processor(
                text=texts,
                return_tensors="pt",
                padding=True,
                truncation=True,
            ).to(self.device)
            with torch.inference_mode():
                read = self.model.text_model(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                )
                rows = _unit(self.model.text_projection(read.pooler_output))
            self._known[name] = _unit(
                rows.reshape(len(COLORS), len(PHRASES), -1).mean(1)
            )
        return self._known[name]


def cut_out(
    image: Image,
    thing: dict[str, Any],
) -> Image:
    """Crop the object to its box. If its mask is known, replace the background by grey."""
    from PIL import Image

    if thing.get("mask") is not None:
        background = Image.new("RGB", image.size, GREY)
        mask = Image.fromarray(thing["mask"])
        image = Image.composite(image, background, mask)
    left, top, right, bottom = (round(edge) for edge in thing["box"])
    width, height = image.size
    left = min(max(left, 0), width - 1)
    top = min(max(top, 0), height - 1)
    box = (
        left,
        top,
        min(max(right, left + 1), width),
        min(max(bottom, top + 1), height),
    )
    return image.crop(box)


def ranked(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Sort the objects of each class by score, highest first."""
    return {
        name: sorted(things, key=lambda thing: -thing["score"])
        for name, things in found.items()
    }


def _unit(rows: torch.Tensor) -> torch.Tensor:
    rows = rows.float()
    return rows / rows.norm(dim=-1, keepdim=True)
