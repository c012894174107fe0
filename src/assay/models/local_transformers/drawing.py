"""Unified models that draw: pictures written as tokens by the language model and decoded by its own decoder.

The Janus family's image mode. Each candidate is drawn with a seed of its own, so that the third picture of a request is
the same whether two or ten were asked for.
"""

from collections.abc import Mapping
from typing import Any

from ...core import Candidate, Image, Output, Request, Usage
from .loading import quiet
from .sampling import generator_for

GUIDANCE = 5.0
"""How strongly the prompt is held against no prompt, as the model's authors draw."""


def can_draw(config: Mapping[str, Any]) -> bool:
    """Whether a model, by its configuration, has an image mode that is known here."""
    return "vq_config" in config and any("Janus" in name for name in config.get("architectures") or ())


def prepare(model: Any, tokenizer: Any) -> None:
    """Tells the model which token begins a picture where its generation settings were saved without it."""
    settings = model.generation_config
    if not getattr(settings, "generation_kwargs", None):
        settings.generation_kwargs = {"boi_token_id": tokenizer.convert_tokens_to_ids(tokenizer.boi_token)}
    if settings.pad_token_id is None:
        settings.pad_token_id = tokenizer.pad_token_id


def draw(model: Any, processor: Any, text: str, request: Request, settings: Mapping[str, Any]) -> Output:
    """`n` pictures for one prompt."""
    import torch

    inputs = processor(text=[text], generation_mode="image", return_tensors="pt").to(model.device)
    options = request.options
    given: dict[str, Any] = {"guidance_scale": GUIDANCE, "do_sample": True, **settings}
    names = ("temperature", "top_p", "top_k")
    given |= {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.temperature == 0:
        given |= {"do_sample": False, "temperature": None}
    candidates = []
    for index in range(options.n):
        seed = generator_for(options, request.seed, request.key or text, request.repeat, index)
        with torch.inference_mode(), torch.random.fork_rng(), quiet():
            torch.manual_seed(seed.getrandbits(63))
            tokens = model.generate(**inputs, generation_mode="image", **given)
            pixels = model.decode_image_tokens(tokens)
        picture = _picture(pixels[0], processor.image_processor)
        candidates.append(Candidate((Image(picture),), "stop", (), tuple(tokens[0].tolist())))
    written = sum(len(candidate.token_ids) for candidate in candidates)
    return Output(tuple(candidates), usage=Usage(int(inputs["input_ids"].shape[1]), written))


def _picture(pixels: Any, processor: Any) -> Any:
    """Decoded pixels, height by width by color, as a picture; what the processor does to pictures is undone."""
    import torch
    from PIL import Image as pillow

    mean, std = (torch.tensor(getattr(processor, name)) for name in ("image_mean", "image_std"))
    colors = (pixels.float().cpu() * std + mean).clamp(0, 1) * 255
    return pillow.fromarray(colors.round().to(torch.uint8).numpy())
