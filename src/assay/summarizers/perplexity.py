"""Perplexity of a whole corpus: log-likelihoods and lengths are summed first and divided last."""

from collections.abc import Iterator, Sequence

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import ONE, Recipe
from .statistics.estimate import Floats


@summarizers.register("perplexity")
@pools
def perplexity(
    records: Sequence[ScoreRecord], context: SummaryContext
) -> Iterator[Result]:
    """Yield perplexity by word, by byte and by token, and bits per byte.

    Perplexity by token can be compared only between models with the same tokenizer. It is left out if tokens were not
    counted.
    """
    for name, unit in (
        ("word_perplexity", "words"),
        ("byte_perplexity", "bytes"),
        ("token_perplexity", "tokens"),
    ):
        recipe = Recipe("perplexity", (("logprob",), (unit,)))
        if unit != "tokens" or any(
            recipe.read(record) is not None for record in records
        ):
            yield corpus_result(records, context, name, recipe, higher_is_better=False)
    bits = Recipe("bits", (("logprob",), ("bytes",)))
    yield corpus_result(records, context, "bits_per_byte", bits, higher_is_better=False)


@summarizers.register("item_perplexity")
@pools
def item_perplexity(
    records: Sequence[ScoreRecord], context: SummaryContext
) -> Iterator[Result]:
    """Yield perplexity by item, as LAMBADA reports it: each item counts once, however many tokens it has."""
    recipe = Recipe("perplexity", (("logprob",), (ONE,)))
    yield corpus_result(records, context, "perplexity", recipe, higher_is_better=False)


def perplexity_from(sums: "Floats") -> "Floats":
    """Return exp(-log-likelihood / units) of each row of sums; infinite if it does not fit a float."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.exp(-sums[:, 0] / sums[:, 1]), float)


def bits_from(sums: "Floats") -> "Floats":
    """Return -log-likelihood / (units ln 2) of each row of sums."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-sums[:, 0] / (sums[:, 1] * np.log(2)), float)
