"""Summarizers people write, and what is said of those that cannot be used."""

import math
from collections.abc import Sequence

import pytest
from summary_context import Context, record

from assay.core import Result, SummarizerError
from assay.summarizers.adapt import adapt_summarizer
from assay.summarizers.mean import Mean

RECORDS = [record("a", 1.0), record("b", 0.0), record("c", None, "model_error")]


def run(function, name="mine"):
    return list(adapt_summarizer(function, name)(RECORDS, Context(n_expected=3)))


def test_a_nested_dict_gives_a_metric_for_each_number():
    def summarize(records):
        return {
            "right": sum(r.value or 0 for r in records),
            "by": {"law": 0.5, "art": {"old": 1}},
        }

    results = run(summarize)

    assert {r.metric: r.value for r in results} == {
        "right": 1.0,
        "by.law": 0.5,
        "by.art.old": 1.0,
    }
    first = results[0]
    assert (first.interval, first.stderr, first.ci) == (
        "none: user summarizer",
        None,
        None,
    )
    assert (first.n, first.n_expected, first.outcomes) == (
        2,
        3,
        {"scored": 2, "model_error": 1},
    )


def test_a_single_number_is_named_after_the_summarizer():
    assert [(r.metric, r.value) for r in run(lambda records: len(records))] == [
        ("mine", 3.0)
    ]


class Journal(Sequence):
    """Records that are read anew in each pass, as those of a run are. Their length takes a pass, too."""

    def __init__(self, records):
        self.records = records
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(self.records)

    def __len__(self):
        return sum(1 for _ in self)

    def __getitem__(self, position):
        return self.records[position]


@pytest.mark.parametrize(
    ("records", "passes"),
    # A failed record needs the names of all metrics, which takes the pass that counts, too.
    [(RECORDS[:2], 2), (RECORDS, 3)],
)
def test_the_outcomes_are_counted_in_one_pass_beside_that_of_the_summarizer(
    records, passes
):
    journal = Journal(records)

    adapt_summarizer(lambda records: {"all": sum(1 for _ in records)}, "mine")(
        journal, Context(n_expected=3)
    )

    assert journal.passes == passes


def test_a_summarizer_that_sums_and_counts_reads_the_journal_three_times():
    journal = Journal(RECORDS)

    def summarize(records):
        return sum(r.value or 0 for r in records) / len(records)

    results = adapt_summarizer(summarize, "mine")(journal, Context(n_expected=3))

    assert [r.value for r in results] == [pytest.approx(1 / 3)]
    assert journal.passes == 3  # the sum, the number, and the outcomes


def test_a_number_of_numpy_is_a_number():
    numpy = pytest.importorskip("numpy")

    assert run(lambda records: {"x": numpy.float32(0.5)})[0].value == 0.5


def test_a_function_of_two_gets_the_context():
    def summarize(records, context):
        return {context.task: 1}

    assert run(summarize)[0].metric == "demo"


def test_an_option_with_a_default_is_not_the_context():
    def summarize(records, digits=2):
        return {"digits": digits}

    assert run(summarize)[0].value == 2.0


def test_results_pass_through():
    given = Result("demo", "scripted", "mine", 0.5, 2, 3)

    assert run(lambda records: [given]) == [given]
    assert run(lambda records: given) == [given]


def test_summarizers_of_assay_are_not_wrapped():
    summarizer = Mean()

    assert adapt_summarizer(summarizer, "mean") is summarizer


def test_a_value_that_is_not_finite_is_flagged_and_not_printed():
    (result,) = run(lambda records: {"x": math.nan})

    assert (result.value, result.flags) == (None, ("the summarizer gave nan",))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (
            {"by": {"law": "good"}},
            r"gave 'good' for 'by.law', which is not a number; fix: return a number",
        ),
        ("fine", r"returned 'fine', which is not a number"),
        (None, r"returned None, which is not a number"),
        ([1, 2], r"returned \[1, 2\], which is not a number"),
        ({"x": None}, r"gave None for 'x'"),
    ],
)
def test_anything_but_numbers_is_an_error_that_names_the_summarizer_and_the_place(
    given, what
):
    with pytest.raises(SummarizerError, match=rf"summarizer 'mine': .*{what}"):
        run(lambda records: given)


def test_an_error_inside_names_the_summarizer_and_the_line():
    def summarize(records):
        return {"x": 1 / 0}

    with pytest.raises(
        SummarizerError,
        match=r"summarizer 'mine': ZeroDivisionError.*test_adapt\.py:\d+",
    ):
        run(summarize)


def test_an_error_inside_a_generator_is_blamed_too():
    def summarize(records):
        yield from [Result("demo", "scripted", "mine", 0.5, 2, 3)]
        raise KeyError("law")

    with pytest.raises(SummarizerError, match="summarizer 'mine': KeyError"):
        run(summarize)


@pytest.mark.parametrize("thing", [lambda: 1, lambda a, b, c: 1, lambda a, *, key: 1])
def test_a_function_that_cannot_take_the_records_is_refused_at_once(thing):
    with pytest.raises(
        SummarizerError, match=r"takes \(.*fix: write `def summarize\(records\)`"
    ):
        adapt_summarizer(thing, "mine")


def test_an_object_that_cannot_be_called_is_refused():
    with pytest.raises(SummarizerError, match="summarizer 'mine': 5 cannot be called"):
        adapt_summarizer(5, "mine")
