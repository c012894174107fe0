"""Likelihoods after prompts with images and clips, as the model itself computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Likelihood
from ..prompting.pairs import Pair
from .media_batches import BESIDE
from .shared_likelihoods import Tally


@dataclass
class Weigher:
    """Scores continuations with one model, each after its whole prompt."""

    model: Any

    def weigh(
        self,
        inputs: Mapping[str, Any],
        pairs: Sequence[Pair],
    ) -> list[Likelihood]:
        """Return the likelihood of each continuation of one prompt, whose tensors are on the device."""
        tally = Tally(pairs)
        for number, pair in enumerate(pairs):
            length = len(pair.computed)
            logits = self.logits(inputs, pair.computed[pair.start :])
            # A model may write several tokens for each mark of a medium.
            more = len(logits) - length
            predictions = []
            for index in range(pair.start - 1, length):
                predictions.append((index + more, number, index))
            tally.add(logits, predictions)
        return tally.results()

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
