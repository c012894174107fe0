"""Likelihoods after prompts with images and clips, as the model itself computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Output, Request
from ..prompting.fitting import Limits, too_long
from ..prompting.pairs import Pair
from ..prompting.weighing import weighed_output
from .media_batches import BESIDE
from .shared_likelihoods import Tally

CANNOT = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)
"""Errors that a model's own code raises if it cannot compute a prompt and its continuation separately."""


@dataclass
class Weigher:
    """Scores continuations with one model, each after its whole prompt."""

    model: Any
    limits: Limits

    def weigh(
        self,
        request: Request,
        inputs: dict[str, Any],
        continuations: Sequence[tuple[int, ...]],
    ) -> Output:
        """Return the likelihoods of one request, whose tensors are on the device."""
        context = tuple(inputs["input_ids"][0].tolist())
        start = len(context)
        pairs = [Pair((*context, *more), start) for more in continuations]
        longest = max(len(pair.computed) for pair in pairs)
        if longest > self.limits.context:
            return too_long(longest, self.limits.context, has_media=True)
        tally = Tally(pairs)
        for number, pair in enumerate(pairs):
            length = len(pair.computed)
            logits = self.logits(inputs, pair.computed[start:])
            # A model may write several tokens for each mark of a medium.
            more = len(logits) - length
            predictions = []
            for index in range(start - 1, length):
                predictions.append((index + more, number, index))
            tally.add(logits, predictions)
        return weighed_output(request, pairs, tally.results(), None)

    def logits(
        self,
        inputs: Mapping[str, Any],
        more: Sequence[int],
    ) -> Any:
        """Return the logits of a whole prompt followed by the tokens `more`."""
        import torch

        arguments = dict(inputs)
        if more:
            ids = arguments["input_ids"]
            tokens = torch.tensor([list(more)], device=ids.device)
            arguments["input_ids"] = torch.cat([ids, tokens], 1)
            for name in BESIDE:
                if name in arguments:
                    beside = arguments[name]
                    value = 1 if name == "attention_mask" else 0
                    filler = beside.new_full((1, len(more)), value)
                    arguments[name] = torch.cat([beside, filler], 1)
        with torch.inference_mode():
            return self.model(**arguments, use_cache=False).logits[0]
