"""CLIP: the cosine similarity of an image and a text, and the features of an image.

A request has an image and a text. For a plain text the answer is `{"cosine": 0.31}`. For the text `{"features":
true}` the answer is `{"features": "…"}`, the image's projected features as base64 of little-endian 32-bit floats.
`model` is a folder or a hub id of a CLIP model in transformers' format.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from assay.models.workers.serve import Request


class Clip:
    """A CLIP model that compares images with texts."""

    accepts = {"text", "image"}  # noqa: RUF012 - read as a literal by the parent process

    def __init__(
        self,
        model: str,
        device: str = "cpu",
        dtype: str = "float32",
        revision: str | None = None,
    ) -> None:
        import torch
        from transformers import AutoProcessor, CLIPModel

        self.device = device
        self.processor = AutoProcessor.from_pretrained(model, revision=revision)
        loaded = CLIPModel.from_pretrained(
            model,
            revision=revision,
            dtype=getattr(torch, dtype),
        )
        self.model = loaded.to(device).eval()
        self.longest = int(self.model.config.text_config.max_position_embeddings)

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the cosine similarity of image and text, or the image's features if the request asks for them."""
        features = self.image_features(request.image())
        if request.asked.get("features"):
            values = features[0].float().cpu().numpy().astype("<f4")
            return {"features": base64.b64encode(values.tobytes()).decode("ascii")}
        if not request.text.strip():
            raise ValueError("there is no text to compare the image with")
        return {
            "cosine": float((unit(features) @ unit(self.words([request.text])).T)[0, 0])
        }

    def image_features(self, image: object) -> torch.Tensor:
        """Return the features of one image in CLIP's common space, as one row."""
        import torch

        inputs = self.processor(images=image, return_tensors="pt").to(self.device)
        with torch.inference_mode():
            vision = self.model.vision_model(
                pixel_values=inputs["pixel_values"].to(self.model.dtype)
            )
            return self.model.visual_projection(vision.pooler_output)

    def words(self, texts: list[str]) -> torch.Tensor:
        """Return the features of texts in CLIP's common space, one row each.

        A text that is longer than the model's limit is truncated.
        """
        import torch

        inputs = self.processor(
            text=texts,
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=self.longest,
        ).to(self.device)
        with torch.inference_mode():
            read = self.model.text_model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
            )
            return self.model.text_projection(read.pooler_output)


def unit(rows: torch.Tensor) -> torch.Tensor:
    """Scale rows to length 1."""
    rows = rows.float()
    return rows / rows.norm(dim=-1, keepdim=True)
