"""Run text models that the engine does not support, with transformers' own code.

These are encoder-decoder models, models with recurrent state, and models whose
attention cannot be replaced. `generate` gets batches of prompts with equal lengths, or
with different lengths if the model handles left padding correctly. Both are tested with
short prompts before the first answer. A logits processor chooses the tokens of each
answer, so options, seeds and stop strings work as in the engine.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Likelihood, Meter, ModelError
from ..prompting.pairs import Pair
from .engine import (
    depends_on_neighbours,
    device_of,
    plain_logits,
    probe_rows,
    tolerance_of,
)
from .generation_rows import Row, choose_tokens
from .loading import quiet
from .media_batches import by_length, handles_padding, join_inputs
from .shared_likelihoods import Tally

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

BATCH = 8
"""Number of sequences to score in one pass."""


class PlainText:
    """Generates answers and scores continuations with a text model's own code."""

    def __init__(self, model: "PreTrainedModel", filler: int) -> None:
        self.model = model
        self.filler = filler
        self.is_seq2seq = bool(getattr(model.config, "is_encoder_decoder", False))
        self._pads: bool | None = None
        self._joins: bool | None = None
        self._is_causal: bool | None = None

    def write(
        self,
        rows: Sequence[Row],
        batch: int,
        meter: Meter,
    ) -> None:
        """Generate the answers of all rows, in batches of prompts with similar lengths."""
        import torch

        can_pad = self._can_pad()
        if not can_pad and not self._can_join():
            batch = 1
        for group in by_length(rows, lambda row: len(row.prompt), batch, can_pad):
            with torch.inference_mode(), quiet():
                self._generate(group)
            meter.advance(len(group) / len(rows))

    def _generate(self, rows: Sequence[Row]) -> None:
        chooser = Chooser(rows, self.filler)
        if not self.is_seq2seq and any(len(row.prompt) == 1 for row in rows):
            # RecurrentGemma keeps its state in its modules, and a prompt of one token would continue the last one.
            # A pass without a cache removes the state.
            plain_logits(self.model, rows[0].prompt)
        settings: dict[str, Any] = {}
        if not self.is_seq2seq or any(row.options.repetition_penalty for row in rows):
            # `Chooser` applies the penalty of the model's settings or of the request.
            settings["repetition_penalty"] = 1.0
        self.model.generate(
            **settings,
            **join_inputs([self._inputs(row.prompt) for row in rows], self.filler),
            max_new_tokens=max(row.max_tokens for row in rows),
            do_sample=False,
            num_beams=1,
            pad_token_id=self.filler,
            logits_processor=[chooser],
            stopping_criteria=[chooser.finished],
        )
        if not all(row.is_done for row in rows):
            raise ModelError(
                "the model's own `generate` ended before its answers did",
                fix="it must take `logits_processor` and `stopping_criteria`",
            )

    def _inputs(self, tokens: Sequence[int]) -> dict[str, Any]:
        import torch

        ids = torch.tensor([list(tokens)], device=device_of(self.model))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def _can_pad(self) -> bool:
        """Return True if left padding does not change the model's logits."""
        if self._pads is None:
            long, short, *_ = probe_rows(self.model)
            self._pads = not depends_on_neighbours(
                self.model.config
            ) and self._gives_the_same([short, long])
        return self._pads

    def _can_join(self) -> bool:
        """Return True if prompts of equal length have the same logits in a batch as alone.

        This is not so for RWKV models.
        """
        if self._joins is None:
            long, short, *_ = probe_rows(self.model)
            self._joins = self._gives_the_same([short, long[: len(short)]])
        return self._joins

    def _gives_the_same(self, prompts: Sequence[Sequence[int]]) -> bool:
        pair = [self._inputs(tokens) for tokens in prompts]
        with quiet():
            return bool(handles_padding(self.model, pair, self.filler))

    def weigh(
        self,
        pairs: Sequence[Pair],
        meter: Meter,
    ) -> list[Likelihood]:
        """Return the likelihood of each continuation. Equal sequences are computed once."""
        if not pairs:
            return []
        if self.is_seq2seq:
            return self._weigh_decoder(pairs, meter)
        self._check_causal()
        import torch

        tally = Tally(pairs)
        pairs_of: dict[tuple[int, ...], list[int]] = {}
        for index, pair in enumerate(pairs):
            if pair.computed:
                pairs_of.setdefault(pair.computed, []).append(index)
        for sequences in by_length(list(pairs_of), len, BATCH):
            ids = torch.tensor(sequences, device=device_of(self.model))
            with torch.inference_mode():
                logits = self.model(input_ids=ids, use_cache=False).logits
            for line, sequence in zip(logits, sequences, strict=True):
                members = pairs_of[sequence]
                for index in members:
                    positions = range(pairs[index].start - 1, len(sequence))
                    predictions = [(row, index, row) for row in positions]
                    tally.add(line, predictions)
                meter.advance(len(members) / len(pairs))
        return tally.results()

    def _weigh_decoder(
        self,
        pairs: Sequence[Pair],
        meter: Meter,
    ) -> list[Likelihood]:
        """Score continuations in the decoder, with their contexts in the encoder."""
        import torch

        tally = Tally(pairs)
        device = device_of(self.model)
        for index, pair in enumerate(pairs):
            start = pair.start
            ids = torch.tensor([pair.tokens[:start]], device=device)
            labels = torch.tensor([pair.tokens[start:]], device=device)
            if labels.numel():
                with torch.inference_mode():
                    out = self.model(input_ids=ids, labels=labels)
                logits = out.logits[0]
                predictions = []
                for row in range(len(logits)):
                    predictions.append((row, index, start - 1 + row))
                tally.add(logits, predictions)
            meter.advance(1 / len(pairs))
        return tally.results()

    def _check_causal(self) -> None:
        """Raise if the logits of a token depend on later tokens, as XLNet's do."""
        if self._is_causal is None:
            long, *_ = probe_rows(self.model)
            whole = plain_logits(self.model, long)
            without_end = plain_logits(self.model, long[:-2])
            differences = (whole[: len(without_end)] - without_end).abs()
            # Logits that are not finite prove nothing, and their samples fail anyway.
            limit = tolerance_of(self.model.dtype)
            self._is_causal = not float(differences.max()) > limit
        if not self._is_causal:
            raise ModelError(
                "the model's logits depend on later tokens, so it has no likelihoods",
                fix="ask it to generate, or choose a causal model",
            )


class Chooser:
    """A logits processor for `generate` that chooses each row's token by the row's own options."""

    def __init__(
        self,
        rows: Sequence[Row],
        filler: int,
    ) -> None:
        self.rows = rows
        self.filler = filler

    def __call__(self, input_ids: "Tensor", scores: "Tensor") -> Any:
        """Choose a token for each row, and return scores that allow only this token."""
        tokens = [self.filler] * len(self.rows)
        unfinished = []
        for index, row in enumerate(self.rows):
            if not row.is_done:
                unfinished.append(index)
        rows = [self.rows[index] for index in unfinished]
        choices = choose_tokens(scores[unfinished], rows)
        for index, choice in zip(unfinished, choices, strict=True):
            self.rows[index].take(choice)
            if choice is not None:
                tokens[index] = choice.token
        forced = scores.new_full(scores.shape, float("-inf"))
        lines = range(len(tokens))
        forced[lines, tokens] = 0.0
        return forced

    def finished(
        self,
        input_ids: "Tensor",
        scores: "Tensor",
        **kwargs: object,
    ) -> Any:
        """Return for each row whether it is done. `generate` calls this as a stopping criterion."""
        done = [row.is_done for row in self.rows]
        return input_ids.new_tensor(done, dtype=bool)
