"""BIG-Bench Hard: which answer is read, and what counts as equal."""

import pytest

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.text.bbh import Bbh


@pytest.mark.parametrize(
    ("text", "target", "exact", "lenient"),
    [
        ("We add. So the answer is 24.", "24", 1.0, 1.0),
        ("So the answer is 24", "24", 1.0, 1.0),
        ("The answer is (B).", "(B)", 1.0, 1.0),
        ("So the answer is (B) 12/25/1937.", "(B)", 0.0, 1.0),
        ("So the answer is B.", "(B)", 0.0, 1.0),
        ("So the answer is **no**.", "No", 0.0, 1.0),
        ("So the answer is Nobody.", "No", 0.0, 0.0),
        ("So the answer is Apple pie.", "(A)", 0.0, 0.0),
        ("So the answer is 5.\n\nQ: next\nSo the answer is 7.", "5", 1.0, 1.0),
        ("So the answer is -5.", "5", 0.0, 0.0),
    ],
)
def test_the_first_declared_answer_is_compared(text, target, exact, lenient):
    score = Bbh()(Sample("a", target=target), Output.of(text))

    assert score.value == {"exact": exact, "lenient": lenient}


@pytest.mark.parametrize(
    "text", ["I cannot tell.", "So the answer is", "So the answer is ."]
)
def test_an_answer_that_is_not_declared_is_unparsed(text):
    score = Bbh()(Sample("a", target="Yes"), Output.of(text))

    assert (score.outcome, score.value) == (
        Outcome.UNPARSED,
        {"exact": 0.0, "lenient": 0.0},
    )


def test_without_steps_the_first_line_counts():
    score = Bbh(answer="first_line")(
        Sample("a", target="Yes"), Output.of("\nYes.\nBecause …")
    )

    assert score.value == {"exact": 1.0, "lenient": 1.0}


def test_an_unknown_answer_option_is_refused():
    with pytest.raises(UsageError, match="answer: one of declared, first_line"):
        Bbh(answer="last_line")  # type: ignore[arg-type]
