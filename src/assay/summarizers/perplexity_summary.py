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
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield perplexity by word, by byte and by token, and bits per byte.

    Perplexity by token can be compared only between models with the same tokenizer. It is left out if tokens were
    not counted.
    """
    for name, unit in (
        ("word_perplexity", "words"),
        ("byte_perplexity", "bytes"),
        ("token_perplexity", "tokens"),
    ):
        counts = (("logprob",), (unit,))
        recipe = Recipe("perplexity", counts)
        if unit != "tokens" or any(
            recipe.read(record) is not None for record in records
        ):
            yield corpus_result(records, context, name, recipe, higher_is_better=False)
    counts = (("logprob",), ("bytes",))
    bits = Recipe("bits", counts)
    yield corpus_result(records, context, "bits_per_byte", bits, higher_is_better=False)


@summarizers.register("item_perplexity")
@pools
def item_perplexity(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield perplexity by item, as LAMBADA reports it: each item counts once, however many tokens it has."""
    counts = (("logprob",), (ONE,))
    recipe = Recipe("perplexity", counts)
    yield corpus_result(records, context, "perplexity", recipe, higher_is_better=False)


def perplexity_from(sums: "Floats") -> "Floats":
    """Return exp(-log-likelihood / units) of each row of sums; infinite if it does not fit a float."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean_logprobs = sums[:, 0]
        return np.asarray(np.exp(-mean_logprobs / sums[:, 1]), float)


def bits_from(sums: "Floats") -> "Floats":
    """Return -log-likelihood / (units ln 2) of each row of sums."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        bits = sums[:, 1] * np.log(2)
        bits_per_unit = -sums[:, 0] / bits
        return np.asarray(bits_per_unit, float)
