"""Corpus scores computed from counts of samples: BLEU, chrF, TER, METEOR and perplexity."""

from collections.abc import Iterator, Sequence

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import ONE, Recipe
from .statistics.estimate import Floats

_ORDERS = 4


@summarizers.register("bleu")
@pools
def bleu(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield corpus BLEU, 0 to 100."""
    recipe = Recipe("bleu", "stats")
    yield corpus_result(
        records,
        context,
        "bleu",
        recipe,
        details={"signature": signature(records)},
    )


@summarizers.register("chrf")
@pools
def chrf(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield corpus chrF, 0 to 100. The metric's name contains beta, and `++` if word n-grams are included."""
    beta = int(next((r.details["beta"] for r in records if "beta" in r.details), 2))
    line = signature(records)
    name = f"chrf{beta}" + ("++" if "|nw:2|" in line else "")
    recipe = Recipe("chrf", "stats", options={"beta": beta})
    yield corpus_result(records, context, name, recipe, details={"signature": line})


def corpus_bleu_from(sums: "Floats") -> "Floats":
    """Return the BLEU of each row of sums: hypothesis length, reference length, four matches, four totals.

    As in sacreBLEU, an order of n-grams without a match counts as 1/2, 1/4, … of a
    match. If nothing matches at all, or if there are no n-grams of the highest order,
    the score is 0 by definition.
    """
    import numpy as np

    hypothesis = sums[:, 0]
    reference = sums[:, 1]
    matches = sums[:, 2 : 2 + _ORDERS]
    totals = sums[:, 2 + _ORDERS : 2 + 2 * _ORDERS]
    is_missing = matches == 0
    smoothing = 0.5 ** np.cumsum(is_missing, axis=1)
    smoothed = np.where(is_missing, smoothing, matches)
    with np.errstate(
        divide="ignore",
        invalid="ignore",
        over="ignore",
    ):
        precisions = smoothed / np.maximum(totals, 1)
        logs = np.where(totals > 0, np.log(precisions), -np.inf)
        excess = 1 - reference / np.maximum(hypothesis, 1e-300)
        penalty = np.where(hypothesis < reference, np.exp(excess), 1.0)
        scores = 100 * penalty * np.exp(logs.mean(axis=1))
    has_match = matches.any(axis=1)
    return np.asarray(np.where(has_match, scores, 0.0), float)


def corpus_chrf_from(sums: "Floats", beta: int = 2) -> "Floats":
    """Return the chrF of each row of sums: for each order, the n-grams of hypothesis
    and reference, and the shared ones.
    """
    import numpy as np

    by_order = sums.reshape(len(sums), -1, 3)
    hypothesis = by_order[:, :, 0]
    reference = by_order[:, :, 1]
    shared = by_order[:, :, 2]
    is_used = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(is_used.sum(axis=1), 1)

    def mean_share(totals: "Floats") -> "Floats":
        """Divide the shared n-grams by `totals` for each order, and return the mean over the orders."""
        shares = np.where(is_used, shared / np.maximum(totals, 1), 0.0)
        return np.asarray(shares.sum(axis=1) / orders, float)

    precision = mean_share(hypothesis)
    recall = mean_share(reference)
    weight = beta**2
    above = 100 * (1 + weight) * precision * recall
    below = weight * precision + recall
    return np.asarray(above / np.where(below > 0, below, 1.0), float)


def signature(records: Sequence[ScoreRecord]) -> str:
    """Return the signature that sacreBLEU would print; `nrefs:var` if samples have different numbers of references."""
    lines = set()
    counts = set()
    for record in records:
        if "signature" in record.details:
            lines.add(str(record.details["signature"]))
            counts.add(record.details["references"])
    if len(lines) > 1:
        raise ValueError(
            f"scores were made with different settings and cannot be pooled: {sorted(lines)}"
        )
    if not lines:
        return ""
    references = counts.pop() if len(counts) == 1 else "var"
    return f"nrefs:{references}|{lines.pop()}"


@summarizers.register("ter")
@pools
def ter(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield corpus TER: the edits per hundred words of the references. Lower is better."""
    details = {"signature": signature(records)}
    yield corpus_result(
        records,
        context,
        "ter",
        Recipe("ter", "stats"),
        details=details,
        higher_is_better=False,
    )


def corpus_ter_from(sums: "Floats") -> "Floats":
    """Return TER of each row of sums (edits, words of the references). If there are edits but no words, TER is 100."""
    import numpy as np

    edits = sums[:, 0]
    words = sums[:, 1]
    return np.asarray(
        100 * np.where(words > 0, edits / np.where(words > 0, words, 1.0), edits > 0),
        float,
    )


ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
STAGES = (1.0, 0.6, 0.8, 0.6)
"""The weights of METEOR's four stages: exact match, stem, synonym and paraphrase."""


@summarizers.register("meteor")
@pools
def meteor(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield METEOR over all samples together, 0 to 1."""
    yield corpus_result(records, context, "meteor", Recipe("meteor", "stats"))


def corpus_meteor_from(sums: "Floats") -> "Floats":
    """Return the METEOR of each row of sums.

    A row begins with the numbers of words and of function words on both sides. For each
    of the four stages it has the matched content words and matched function words on
    both sides. It ends with the number of chunks and the numbers of matched words on
    both sides.
    """
    import numpy as np

    length, reference_length, answer_function, reference_function = sums[:, :4].T
    matched = sums[:, 4:20].reshape(len(sums), len(STAGES), 4)
    worth = np.asarray(STAGES)
    precision = _share(
        matched[:, :, 0] @ worth,
        matched[:, :, 2] @ worth,
        length - answer_function,
        answer_function,
    )
    recall = _share(
        matched[:, :, 1] @ worth,
        matched[:, :, 3] @ worth,
        reference_length - reference_function,
        reference_function,
    )
    below = ALPHA * precision + (1 - ALPHA) * recall
    mean = np.where(
        below > 0,
        precision * recall / np.where(below > 0, below, 1.0),
        0.0,
    )
    words = (sums[:, 21] + sums[:, 22]) / 2
    broken = np.where(words > 0, sums[:, 20] / np.where(words > 0, words, 1.0), 0.0)
    return np.asarray(mean * (1 - GAMMA * broken**BETA), float)


def meteor_of(rows: "Floats") -> float:
    """Return METEOR over several samples, computed from their counts. Conformance tests use it."""
    return float(corpus_meteor_from(rows.sum(axis=0, keepdims=True))[0])


def _share(
    content: "Floats",
    function: "Floats",
    all_content: "Floats",
    all_function: "Floats",
) -> "Floats":
    import numpy as np

    below = DELTA * all_content + (1 - DELTA) * all_function
    return np.asarray(
        (DELTA * content + (1 - DELTA) * function) / np.where(below > 0, below, 1.0),
        float,
    )


@summarizers.register("perplexity")
@pools
def perplexity(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield the perplexity per word, per byte and per token, and the bits per byte.

    Perplexity per token can be compared only between models with the same tokenizer. It
    is left out if tokens were not counted.
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
    """Yield the perplexity per item, as LAMBADA reports it: all items have the same weight, whatever their length."""
    counts = (("logprob",), (ONE,))
    recipe = Recipe("perplexity", counts)
    yield corpus_result(records, context, "perplexity", recipe, higher_is_better=False)


def perplexity_from(sums: "Floats") -> "Floats":
    """Return exp(-log-likelihood / units) of each row of sums; infinite if the result is too large for a float."""
    import numpy as np

    with np.errstate(
        divide="ignore",
        invalid="ignore",
        over="ignore",
    ):
        mean_logprobs = sums[:, 0]
        return np.asarray(np.exp(-mean_logprobs / sums[:, 1]), float)


def bits_from(sums: "Floats") -> "Floats":
    """Return -log-likelihood / (units ln 2) of each row of sums."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        bits = sums[:, 1] * np.log(2)
        bits_per_unit = -sums[:, 0] / bits
        return np.asarray(bits_per_unit, float)
