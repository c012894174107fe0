"""No summarizer prints certainty it does not have: an interval has a width, or there is none and it says why."""

from each_row import each
from summary_context import Context, record

from assay.core import Result
from assay.registry import summarizers

WORTH = {
    "confusion": [1, 0, 0, 0, 0, 0],
    "stats": [5, 5, 5, 4, 3, 2, 5, 4, 3, 2],
    "signature": "s",
    "references": 1,
    "gold": "yes",
    "fulfilled": [1.0, 1.0],
    "S": 0,
    "N": 4,
    "logprob": -3.0,
    "words": 2,
    "bytes": 7,
    "tokens": 3,
    "strict": 1,
    "loose": 1,
    "asked": 1,
}
TAGS = {
    "t": "x",
    "category": "count",
    "level": "mild",
    "complexity": "high",
    "l2-category": "a",
    "set_id": "1",
    "figure_id": "1",
    "question_id": "1",
}
SUMMARIZERS = {
    "mean": {},
    "grouped": {},
    "pass_at_k": {"k": 1},
    "majority": {},
    "threshold": {"bar": 0.5},
    "rescaled": {},
    "group_mean": {"by": "t"},
    "worst_case": {},
    "auroc": {},
    "yes_no": {},
    "pooled": {"numerator": "S", "denominator": "N"},
    "perplexity": {},
    "item_perplexity": {},
    "bleu": {},
    "instructions": {},
    "core_mm": {},
    "dpg": {},
    "mme": {},
    "hallusionbench": {},
}
SHAPES = ("one", "alike", "clustered", "unparsed", "lost")


def records(shape):
    n = 1 if shape == "one" else 6
    outcome = {"unparsed": "unparsed", "lost": "model_error"}.get(shape, "scored")
    value = {"unparsed": 0.0, "lost": None}.get(shape, 1.0)
    details = (
        {} if shape == "lost" else WORTH if shape != "unparsed" else {"gold": "yes"}
    )
    for number in range(n):
        more = {"cluster": f"c{number % 2}"} if shape == "clustered" else {}
        own = {**details, "gold": "yes" if number % 2 else "no"} if details else {}
        answer = None if outcome != "scored" else own["gold"]
        yield record(
            str(number),
            value,
            outcome,
            details=own,
            tags=TAGS,
            group=f"g{number}",
            answer=answer,
            **more,
        )


def everything_in(result):
    yield result
    for group in result.groups.values():
        for part in group.values():
            if isinstance(part, Result):
                yield from everything_in(part)


@each("shape", SHAPES)
@each("name", SUMMARIZERS)
def test_an_interval_has_a_width_or_is_missing(name, shape):
    summarizer = summarizers.build({"name": name, **SUMMARIZERS[name]})

    results = list(summarizer(list(records(shape)), Context()))

    assert results
    for result in (part for whole in results for part in everything_in(whole)):
        if result.ci is None:
            assert result.stderr is None and result.interval.startswith("none: ")
        else:
            assert (
                result.ci[0] < result.ci[1]
                and result.ci[0] <= result.value <= result.ci[1]
            )
        if shape == "lost":
            assert result.value is None
