"""Whether there is an answer at all."""

import pytest

from assay.core import Output, Sample
from assay.scorers.text.match import answered


@pytest.mark.parametrize(("text", "value"), [("yes", 1.0), ("", 0.0), (" \n", 0.0)])
def test_any_content_counts_as_an_answer(text, value):
    assert answered(Sample("1", "q"), Output.of(text)).value == value


def test_the_record_keeps_what_was_answered():
    assert answered(Sample("1", "q"), Output.of("yes")).answer == "yes"
