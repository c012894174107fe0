"""Language models that also generate images, as tokens (the Janus family).

The model's own decoder turns the tokens into pixels. Each candidate has its own seed,
so that the third image of a request is the same whether three or ten were requested.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core import Candidate, Image, Output, Request, Usage, UsageError
from ..draws import torch_draws
from ..prompting.weighing import not_finite
from .loading import quiet
from .media_settings import NotFinite
from .sampling import are_finite, has_penalties

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

NO_IMAGE = "the model computed an image that is not finite"
GUIDANCE = 5.0
"""Classifier-free guidance scale that the model's authors use."""


def can_draw(config: Mapping[str, Any]) -> bool:
    """Return True for the configuration of a model that can generate images (Janus)."""
    return "vq_config" in config and any(
        "Janus" in name for name in config.get("architectures") or ()
    )


def _name_beginning(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
) -> None:
    """Set the begin-of-image and padding tokens that the model's generation settings lack."""
    settings = model.generation_config
    if not getattr(settings, "generation_kwargs", None):
        settings.generation_kwargs = {
            "boi_token_id": tokenizer.convert_tokens_to_ids(tokenizer.boi_token)
        }
    if settings.pad_token_id is None:
        settings.pad_token_id = tokenizer.pad_token_id


def _checked(_: object, logits: "Tensor") -> Any:
    if not all(are_finite(logits)):
        raise NotFinite
    return logits


def draw(
    model: "PreTrainedModel",
    processor: "ProcessorMixin",
    text: str,
    how: Mapping[str, Any],
    request: Request,
    settings: Mapping[str, Any],
) -> Output:
    """Generate `n` images for a text prompt; `how` has further arguments for the processor."""
    import torch
    from transformers import LogitsProcessorList

    _name_beginning(model, processor.tokenizer)
    inputs = processor(
        text=[text],
        generation_mode="image",
        return_tensors="pt",
        **how,
    ).to(model.device)
    options = request.options
    if has_penalties(options):
        raise UsageError(
            "a model that draws takes no penalties", fix="ask without them"
        )
    arguments: dict[str, Any] = {
        "guidance_scale": GUIDANCE,
        "do_sample": True,
        **settings,
    }
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(options, name)
        if value is not None:
            arguments[name] = value
    if options.temperature == 0:
        arguments |= {"do_sample": False, "temperature": None}
    candidates = []
    for index in range(options.n):
        checks = LogitsProcessorList(
            [_checked]
        )  # a new list each time, because `generate` appends to it
        try:
            with torch.inference_mode(), torch_draws(request, index), quiet():
                tokens = model.generate(
                    **inputs,
                    generation_mode="image",
                    logits_processor=checks,
                    **arguments,
                )
                pixels = model.decode_image_tokens(tokens)
        except NotFinite:
            return not_finite(NO_IMAGE)
        if not bool(pixels.isfinite().all()):
            return not_finite(NO_IMAGE)
        image = _image(pixels[0], processor.image_processor)
        candidates.append(
            Candidate((Image(image),), "stop", (), tuple(tokens[0].tolist()))
        )
    output_tokens = sum(len(candidate.token_ids) for candidate in candidates)
    return Output(
        tuple(candidates), usage=Usage(int(inputs["input_ids"].shape[1]), output_tokens)
    )


def _image(pixels: "Tensor", processor: "ProcessorMixin") -> Any:
    """Convert decoded pixels to an image, reversing the processor's normalization.

    Pixels have the shape (height, width, color).
    """
    import torch
    from PIL import Image as pillow

    mean = torch.tensor(processor.image_mean)
    std = torch.tensor(processor.image_std)
    colors = (pixels.float().cpu() * std + mean).clamp(0, 1) * 255
    return pillow.fromarray(colors.round().to(torch.uint8).numpy())
