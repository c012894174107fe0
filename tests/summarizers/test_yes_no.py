"""The numbers of POPE, on the answers its official script and VLMEvalKit were run on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_context import Context, record

from assay.core import Output, Sample
from assay.scorers.choice.yes_no import YesNo
from assay.summarizers.classification import yes_no

ANSWERS = [
    ("yes", "Yes"),
    ("yes", "Yes, there is a dog."),
    ("no", "No."),
    ("no", "There is no dog."),
    ("no", "There isn't a dog."),
    ("yes", "I am not sure"),
    ("no", "It is unclear"),
    ("yes", "Yes"),
    ("no", "yes"),
    ("no", "not visible"),
]


def scored(rule, answers=ANSWERS):
    records = []
    for number, (gold, answer) in enumerate(answers):
        score = YesNo(rule)(Sample(id=str(number), target=gold), Output.of(answer))
        records.append(
            record(str(number), score.value, str(score.outcome), details=score.details)
        )
    return records


def values(records):
    return {result.metric: result.value for result in yes_no(records, Context())}


@pytest.mark.parametrize(
    ("rule", "accuracy", "precision", "recall", "f1", "yes_ratio"),
    [
        ("pope_official", 0.6, 0.5, 0.75, 0.6, 0.6),
        ("words", 0.5, 0.75, 0.75, 0.75, 0.4),
    ],
)
def test_each_rule_gives_the_numbers_of_its_script(
    rule, accuracy, precision, recall, f1, yes_ratio
):
    assert values(scored(rule)) == pytest.approx(
        {
            "accuracy": accuracy,
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "yes_ratio": yes_ratio,
        }
    )


def test_precision_of_a_model_that_never_says_yes_is_undefined():
    found = {
        result.metric: result
        for result in yes_no(scored("words", [("yes", "no"), ("no", "no")]), Context())
    }

    assert found["precision"].value is None
    assert found["precision"].interval == "none: the denominator is 0"
    assert (found["f1"].value, found["recall"].value) == (0.0, 0.0)


def test_every_number_has_an_interval():
    for result in yes_no(scored("words"), Context()):
        assert result.ci[0] <= result.value <= result.ci[1]


def test_a_sample_without_an_answer_is_only_counted():
    records = [*scored("words"), record("lost", None, "model_error")]

    accuracy = next(iter(yes_no(records, Context())))

    assert (accuracy.value, accuracy.n, accuracy.outcomes["model_error"]) == (
        0.5,
        10,
        1,
    )


@settings(deadline=None, max_examples=15)
@given(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=8), st.randoms())
def test_the_order_of_samples_does_not_matter(answers, random):
    records = scored("words", answers)

    assert values(records) == values(random.sample(records, len(records)))
