"""Reducers: every number has the one that was asked for, or the run does not start."""

from typing import ClassVar

import pytest

import assay
from assay import registry
from assay.core import Abilities, Output, Sample, Score
from assay.core.errors import UsageError

RIGHT = "the cat sat"
ROWS = [
    Sample(
        str(n),
        f"q{n}",
        RIGHT,
        group=str(n // 2),
        tags={
            "category": "ocr",
            "complexity": "high",
            "l2-category": "a",
            "set_id": "1",
            "figure_id": str(n // 2),
            "question_id": str(n),
        },
    )
    for n in range(4)
]


class RightOnce:
    """Right in the first of its epochs."""

    abilities = Abilities()
    identity: ClassVar = {"right": 1}
    calls = 0

    def generate(self, requests):
        type(self).calls += len(requests)
        return [Output.of("no" if request.repeat else RIGHT) for request in requests]


def run(tmp_path, **changes):
    RightOnce.calls = 0
    settings = {"dataset": ROWS, "epochs": 3, "scorers": "exact_match", **changes}
    return assay.run(
        assay.Task("t", **settings),
        RightOnce(),
        on_error="continue",
        output=str(tmp_path / "run"),
    )


REDUCING = {
    "mean": ("mean", {"exact_match"}, 1.0),
    "grouped": ("grouped", {"exact_match.grouped", "exact_match"}, 1.0),
    "group_mean": ({"name": "group_mean", "by": "category"}, {"overall"}, 1.0),
    "worst_case": (
        {"name": "worst_case", "by": "category"},
        {"worst(exact_match)"},
        1.0,
    ),
    "mme": ("mme", {"perception"}, 200.0),
    "hallusionbench": ("hallusionbench", {"aAcc", "qAcc", "fAcc"}, 1.0),
    "core_mm": ("core_mm", {"core_mm", "core_mm.ocr"}, 100.0),
    "threshold": (
        {"name": "threshold", "bar": 0.5},
        {"exact_match>=0.5", "exact_match"},
        1.0,
    ),
    "rescaled": ({"name": "rescaled", "to": 1.0}, {"exact_match"}, 1.0),
    "mmvet": ("mmvet", {"mmvet"}, 100.0),
    "wise_legacy": (
        {"name": "group_mean", "by": "category", "weights": {"ocr": 2.0}},
        {"overall"},
        1.0,
    ),
}


@pytest.mark.parametrize("entry", REDUCING.values(), ids=REDUCING)
@pytest.mark.parametrize(
    ("reducer", "share"),
    [("mean", 1 / 3), ("max", 1.0), ("majority", 0.0), ("pass@3", 1.0)],
)
def test_the_reducer_reaches_the_summarizer_and_the_row_says_it(
    tmp_path, entry, reducer, share
):
    summarizer, metrics, whole = entry

    result = run(tmp_path, summarizers=[summarizer], reducer=reducer)

    assert {row.metric: row.value for row in result} == pytest.approx(
        dict.fromkeys(metrics, share * whole)
    )
    assert all(
        row.n == row.n_expected or row.metric.endswith("grouped") for row in result
    )
    assert all(
        (f"reducer {reducer}" in row.flags) == (reducer != "mean") for row in result
    )


POOLING = (
    *("auroc", "bleu", "caption", "chrf", "instructions", "item_perplexity"),
    *("meteor", "perplexity", "ter", "yes_no"),
)


@pytest.mark.parametrize(
    "entry",
    [
        *POOLING,
        {"name": "yes_no", "counting": "lmms_eval"},
        {"name": "pooled", "numerator": "a", "denominator": "b"},
        {"name": "worst_case", "numerator": "a", "denominator": "b"},
        {"name": "formula", "metric": "m", "value": "right", "counts": {"right": 1}},
    ],
    ids=str,
)
def test_a_number_that_counts_every_answer_refuses_a_reducer_before_anything_is_asked(
    tmp_path, entry
):
    with pytest.raises(
        UsageError, match="counts every answer to a sample and has no 'max' over them"
    ):
        run(tmp_path, summarizers=[entry], reducer="max")

    assert RightOnce.calls == 0


def test_a_scorer_whose_own_summarizer_pools_refuses_a_reducer(tmp_path):
    with pytest.raises(UsageError, match=r"summarizer 'pooled' counts every answer"):
        run(tmp_path, scorers="wer", reducer="max")


def test_a_number_that_counts_every_answer_says_it_beside_one_that_is_reduced(tmp_path):
    result = run(tmp_path, scorers=["exact_match", "wer"], reducer="max")

    flags = {row.metric: row.flags for row in result}
    assert "reducer max" in flags["exact_match"]
    assert "reducer max not applied: every answer counts" in flags["wer[none]"]


def test_with_one_answer_to_a_sample_there_is_nothing_to_reduce(tmp_path):
    result = run(tmp_path, scorers="wer", reducer="max", epochs=1)

    assert result.status == "complete" and result[0].value == 0.0


def test_every_summarizer_that_ships_either_reduces_or_says_that_it_does_not():
    own_way = {
        "majority",
        "pass_at_k",
        "pass_hat_k",
    }  # their names say how answers are taken together
    both = {
        "dpg"
    }  # one row by picture, which is reduced, and one by question, which says that it is not
    wise = {"wise_legacy", "wise_verified"}

    assert set(registry.summarizers.names()) == {
        *POOLING,
        "pooled",
        "formula",
        *REDUCING,
        *own_way,
        *both,
        *wise,
    }


def test_propositions_are_reduced_by_picture_and_say_that_questions_are_not(tmp_path):
    def drawn(sample, output):
        right = output.text == RIGHT
        return Score(float(right), details={"fulfilled": [int(right), 1]})

    by_image, by_question = run(
        tmp_path, scorers=drawn, summarizers=["dpg"], reducer="max"
    )

    assert (by_image.value, by_image.flags) == (1.0, ("reducer max",))
    assert by_question.value == pytest.approx(1 / 3) and by_question.flags == (
        "no reducer: every answer counts",
    )


def test_a_summarizer_of_ones_own_that_cannot_know_the_reducer_says_so(tmp_path):
    def share(records):
        return sum(record.value for record in records) / len(records)

    def knowing(records, context):
        return {"known": {"max": 1.0}[context.options["reducer"]]}

    unaware, aware = run(tmp_path, summarizers=[share, knowing], reducer="max")

    assert unaware.flags == (
        "reducer max not applied: the summarizer was given every answer",
    )
    assert (aware.value, aware.flags) == (1.0, ())
