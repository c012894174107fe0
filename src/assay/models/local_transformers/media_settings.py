"""Options of a request as a model's own `generate` takes them, and what only that can do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import GenerateOptions
from .sampling import is_greedy
from .text import Limits

PLAIN_SETTINGS = frozenset(
    {"bos_token_id", "eos_token_id", "pad_token_id", "do_sample", "temperature", "top_p", "top_k", "min_p"}
    | {"max_length", "max_new_tokens", "use_cache", "cache_implementation", "generation_kwargs"}
    | {"transformers_version", "_from_model_config"}
)
"""What a model's own settings of generation may say without changing what is written for given options."""
NOTHING_AT_ONE = frozenset({"repetition_penalty", "num_beams", "num_return_sequences", "length_penalty", "typical_p"})


def settings_of(options: GenerateOptions, limits: Limits, length: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """What `generate` is told after so many tokens; what is given besides yields to what the options say."""
    room = limits.max_tokens if options.max_tokens is None else options.max_tokens
    room = max(1, min(room, limits.context - length))
    settings: dict[str, Any] = {"max_new_tokens": room, "do_sample": not is_greedy(options), **given}
    if not is_greedy(options):
        names = ("temperature", "top_p", "top_k", "min_p")
        settings |= {name: value for name in names if (value := getattr(options, name)) is not None}
        settings.setdefault("top_k", 0)
    if options.repetition_penalty:
        settings["repetition_penalty"] = options.repetition_penalty
    return settings


def more_settings(model: Any, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What is asked by the user's settings or the model's own, and only the model's own `generate` does."""
    config = getattr(model, "generation_config", None)
    own = {} if config is None else config.to_diff_dict()
    asked = {name: value for name, value in own.items() if name not in PLAIN_SETTINGS and value}
    return (*settings, *(name for name, value in asked.items() if not (value == 1 and name in NOTHING_AT_ONE)))


def stopper(tokenizer: Any, stops: Sequence[str], length: int) -> Callable[..., Any]:
    """Ends generation when a stop string was written."""
    from transformers import StoppingCriteria

    class _AtString(StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
            import torch

            texts = [tokenizer.decode(row[length:], skip_special_tokens=True) for row in input_ids.tolist()]
            done = [any(stop in text for stop in stops) for text in texts]
            return torch.tensor(done, device=input_ids.device)

    made: Callable[..., Any] = _AtString()
    return made
