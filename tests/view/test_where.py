"""The language of `--where`: what it means, and that nothing in it is ever run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import UsageError
from assay.view.where import chosen


class Five:
    """Five samples."""

    def names(self):
        return ["score", "wer[none]", "id", "outcome", "tag.subject"]

    def numbers(self, name):
        columns = {
            "score": [0.0, 0.5, 1.0, np.nan, 0.25],
            "wer[none]": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
        column = columns.get(name.removeprefix("metric."))
        return None if column is None else np.array(column)

    def texts(self, name):
        if name == "id":
            return ["a", "b", "c", "d", "12"], np.arange(5)
        if name == "outcome":
            return [None, "scored", "unparsed"], np.array([1, 1, 1, 2, 1])
        if name == "tag.subject":
            return ["law", "maths", None], np.array([0, 1, 0, 2, 1])
        return None


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("score<0.5", [0, 4]),
        ("score <= .5", [0, 1, 4]),
        ('score < 0.5 and tag.subject == "law"', [0]),
        ("score<0.5 or tag.subject=='law'", [0, 2, 4]),
        ("not score < 0.5", [1, 2, 3]),
        ("not (score < 0.5 or score == none)", [1, 2]),
        ("score == none", [3]),
        ("score != none and score != 1", [0, 1, 4]),
        ("outcome == unparsed", [3]),
        ("outcome != scored", [3]),
        ('tag.subject in (law, "none of these")', [0, 2]),
        ("tag.subject == none", [3]),
        ("tag.subject ~ 'MAT'", [1, 4]),
        ('tag."subject" = law', [0, 2]),
        ('metric."wer[none]" > 3.5', [3, 4]),
        ("wer[none] >= 5e0", [4]),
        ("id == 12", [4]),
        ("a_or_b == 1 and score<1", None),
        ("score < 0.5 AND NOT id == a", [4]),
    ],
)
def test_an_expression_chooses(expression, found):
    if found is None:
        with pytest.raises(UsageError, match="no 'a_or_b'"):
            chosen(expression, Five())
    else:
        assert np.flatnonzero(chosen(expression, Five())).tolist() == found


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "a name is missing"),
        ("score", "expected ==, !=, <, <=, >, >=, ~ or in after 'score'"),
        ("score <", "a value is missing"),
        ("score < 0.5 and", "a name is missing"),
        ("(score < 0.5", "a bracket is not closed"),
        ("score < 0.5)", "unexpected"),
        ('score < "a"', "is a number, and cannot be compared with 'a'"),
        ("scoer < 1", "did you mean 'score'?"),
        ("tag.subjekt == 'x'", "did you mean 'tag.subject'?"),
        ("__import__('os').system('x')", "--where"),
        ("score < 1 ; rm", "cannot read the part that starts with '; rm'"),
        ("score in 1", "expected values in brackets after `in`"),
        ("(" * 60 + "score<1" + ")" * 60, "more than 50 brackets"),
        ("not " * 3000 + "score<1", "--where has"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_why(expression, said):
    with pytest.raises(UsageError) as caught:
        chosen(expression, Five())

    assert said in str(caught.value) and "\n" not in str(caught.value)


@given(
    st.text(alphabet="score<>=!~()'\"\\., andortin0123.5tag{}[]_-\n\x00é", max_size=60)
)
def test_any_text_is_an_answer_or_a_usage_error(expression):
    try:
        assert chosen(expression, Five()).shape == (5,)
    except UsageError as error:
        assert str(error)
