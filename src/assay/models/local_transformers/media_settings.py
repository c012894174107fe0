"""Convert request options to `generate` arguments, and find settings that only `generate` supports."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ...core import GenerateOptions, UsageError
from ..prompting.fitting import Limits
from ..prompting.weighing import NOT_FINITE
from .generation_rows import Stops
from .sampling import are_finite, has_penalties, penalised

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

PLAIN_SETTINGS = frozenset(
    {
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "do_sample",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
    }
    | {
        "max_length",
        "max_new_tokens",
        "use_cache",
        "cache_implementation",
        "generation_kwargs",
    }
    | {"transformers_version", "_from_model_config"}
)
"""Generation settings of a model that are ignored: the request sets them, or they change no answer."""
NOTHING_AT_ONE = frozenset(
    {
        "repetition_penalty",
        "num_beams",
        "num_return_sequences",
        "length_penalty",
        "typical_p",
    }
)


BEAM_SETTINGS = frozenset(
    {"num_beams", "length_penalty", "early_stopping", "diversity_penalty"}
)
"""Settings of beam search, which assay does not support."""


def room_for(
    options: GenerateOptions,
    limits: Limits,
    length: int,
) -> tuple[int, int | None]:
    """Return the token limit of an answer; then the same limit again if the context lowered it, or else None.

    `length` is the number of prompt tokens.
    """
    if options.max_tokens is None:
        most = limits.max_tokens
    else:
        most = options.max_tokens
    room = max(1, min(most, limits.context - length))
    return room, room if room < most else None


def more_settings(
    model: "PreTrainedModel",
    settings: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the settings of the user or the model that need the model's own `generate`."""
    config = getattr(model, "generation_config", None)
    if config is None:
        model_settings = {}
    else:
        model_settings = config.to_diff_dict()
    names = list(settings)
    for name, value in model_settings.items():
        is_plain = not value or name in PLAIN_SETTINGS
        has_no_effect = value == 1 and name in NOTHING_AT_ONE
        if not is_plain and not has_no_effect:
            names.append(name)
    return tuple(names)


def text_settings(model: "PreTrainedModel") -> tuple[str, ...]:
    """Return generation settings of a text model that the engine does not support.

    Beam search is ignored, and the repetition penalty is supported.
    """
    apart = {*BEAM_SETTINGS, "repetition_penalty"}
    return tuple(name for name in more_settings(model, {}) if name not in apart)


def model_penalty(model: "PreTrainedModel") -> float | None:
    """Return the repetition penalty in a model's generation settings, or None."""
    config = getattr(model, "generation_config", None)
    penalty = getattr(config, "repetition_penalty", None)
    if penalty and penalty != 1:
        return float(penalty)
    return None


class NotFinite(ArithmeticError):
    """Raised if no token can be chosen, because logits are not finite."""

    def __init__(self) -> None:
        super().__init__(NOT_FINITE)


def finite_only(model: "PreTrainedModel") -> Any:
    """Raise `NotFinite` inside the block when the model computes logits that are not finite."""

    def check(
        _: object,
        __: object,
        out: object,
    ) -> None:
        logits = getattr(out, "logits", None)
        if logits is not None and not all(are_finite(logits[:, -1])):
            raise NotFinite

    return model.register_forward_hook(check)


class Penalties:
    """Applies a request's penalties inside `generate`. They count generated tokens, but no prompt tokens."""

    def __init__(self, options: GenerateOptions) -> None:
        self.options = options
        self.are_asked = has_penalties(options)
        self._first = 0
        """Index of the first generated token."""
        self._last = -1

    def __call__(self, input_ids: "Tensor", scores: "Tensor") -> Any:
        length = input_ids.shape[1]
        # A long audio clip is read in several turns, each with a new sequence.
        self._first = self._first if length == self._last + 1 else length
        self._last = length
        return penalised(scores, self.options, input_ids[:, self._first :].tolist())

    def check(self) -> None:
        """Raise if `generate` did not apply the requested penalties."""
        if self.are_asked and self._last < 0:
            raise UsageError(
                "the model's own `generate` takes no penalties", fix="ask without them"
            )


class Ending:
    """Records which answers of a batch reach their token limit.

    The tokens of the answers do not always show this: `generate` may remove end tokens,
    or read a long clip in several turns that each have the limit.
    """

    def __init__(
        self,
        rows: int,
        room: int,
        ends: Collection[int],
    ) -> None:
        self.rows = rows
        self.room = room
        self.ends = ends
        self._full: set[int] = set()
        self._turns = 0
        self._first = 0
        self._last = -1
        self._sees_rows = True

    def __call__(
        self,
        input_ids: "Tensor",
        scores: "Tensor",
        **kwargs: object,
    ) -> Any:
        length = input_ids.shape[1]
        if length != self._last + 1:
            self._turns += 1
            self._first = length - 1
            # With beam search, an answer has several rows.
            self._sees_rows = self._sees_rows and len(input_ids) <= self.rows
        self._last = length
        if length - self._first == self.room:
            last_tokens = input_ids[:, -1].tolist()
            for row, token in enumerate(last_tokens):
                if token not in self.ends:
                    self._full.add(row)
        return input_ids.new_zeros(len(input_ids), dtype=bool)

    @property
    def is_unclear(self) -> bool:
        """Return True if it is unknown which answer of the batch reached its token limit.

        `generate` may reorder the batch between the turns of a long clip.
        """
        return (
            self._sees_rows and self.rows > 1 and self._turns > 1 and bool(self._full)
        )

    def reached_limit(self, row: int, count: int) -> bool:
        """Return True if the answer at index `row` reached its token limit. `count` is its number of tokens."""
        if not self._sees_rows:
            return count >= self.room
        if self.rows == 1:
            return bool(self._full)
        return row in self._full


class Stopping:
    """A stopping criterion for `generate` that ends an answer after a stop string."""

    def __init__(self, stops: Stops, length: int) -> None:
        self.stops = stops
        self.length = length
        """Number of tokens of the prompt."""

    def __call__(
        self,
        input_ids: "Tensor",
        scores: "Tensor",
        **kwargs: object,
    ) -> Any:
        done = []
        for row in input_ids.tolist():
            answer = row[self.length :]
            done.append(bool(answer and self.stops(answer)))
        return input_ids.new_tensor(done, dtype=bool)
