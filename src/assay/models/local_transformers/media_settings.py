"""Options of a request as a model's own `generate` takes them, and what only that can do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...core import GenerateOptions, UsageError
from .sampling import are_finite, has_penalties, is_greedy, penalised
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
    return settings


def more_settings(model: Any, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What is asked by the user's settings or the model's own, and only the model's own `generate` does."""
    config = getattr(model, "generation_config", None)
    own = {} if config is None else config.to_diff_dict()
    asked = {name: value for name, value in own.items() if name not in PLAIN_SETTINGS and value}
    return (*settings, *(name for name, value in asked.items() if not (value == 1 and name in NOTHING_AT_ONE)))


class NotFinite(ArithmeticError):
    """Logits from which no token can be chosen."""

    def __init__(self) -> None:
        super().__init__("the model computed logits that are not finite")


@contextmanager
def finite_only(model: Any) -> Iterator[None]:
    """Raises inside as soon as a model computes logits from which no token can be chosen."""

    def check(_: Any, __: Any, out: Any) -> None:
        logits = getattr(out, "logits", None)
        if logits is not None and not all(are_finite(logits[:, -1])):
            raise NotFinite

    handle = model.register_forward_hook(check)
    try:
        yield
    finally:
        handle.remove()


class Penalties:
    """Penalties of a request, told to a model's own `generate`; they count what was written, not the prompt."""

    def __init__(self, options: GenerateOptions) -> None:
        self.options = options
        self.are_asked = has_penalties(options)
        self._first = 0
        """Where what was written begins."""
        self._last = -1

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        length = input_ids.shape[1]
        # A long sound is gone through in several turns, each of which begins anew.
        self._first = self._first if length == self._last + 1 else length
        self._last = length
        return penalised(scores, self.options, input_ids[:, self._first :].tolist())

    def check(self) -> None:
        """Refuses what was written where `generate` did not ask for them."""
        if self.are_asked and self._last < 0:
            raise UsageError("the model's own `generate` takes no penalties", fix="ask without them")


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
