"""The splitter against the behaviours it promises; expected splits as nltk's Punkt gives unless noted."""

from each_row import each

from assay.scorers.text.ifeval.lengths import split_sentences


@each(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("No end\nin sight", ["No end\nin sight"]),
        ("Really?! Yes!! Good", ["Really?!", "Yes!!", "Good"]),
        ("Pi is 3.14 at example.com today", ["Pi is 3.14 at example.com today"]),
        ("1. Do this.\n2. do that.", ["1.", "Do this.", "2. do that."]),
        ('He said "Stop." and left.', ['He said "Stop."', "and left."]),
        ("He said “Stop.” Then left.", ["He said “Stop.”", "Then left."]),
        ('The end.\n"', ['The end.\n"']),
        (
            "All of it (goods, stock, etc.). Next.",
            ["All of it (goods, stock, etc.).", "Next."],
        ),
        ("Hello.**", ["Hello.", "**"]),
        ("We saw Mr. Smith. He left.", ["We saw Mr. Smith.", "He left."]),
        ("In the U.S. Congress met.", ["In the U.S. Congress met."]),
        ("In the U.S. The man left.", ["In the U.S.", "The man left."]),
        ("By J.K. Rowling.", ["By J.K. Rowling."]),
        ("P.S. I love you", ["P.S.", "I love you"]),
        ("Bush v. Gore ended it.", ["Bush v. Gore ended it."]),
        ("So do I. We go.", ["So do I.", "We go."]),
        ("Wait... what?", ["Wait... what?"]),
        ("See i.e. that", ["See i.e.", "that"]),
    ],
)
def test_sentences_end_where_they_should(text, expected):
    assert split_sentences(text) == expected


def test_a_capital_that_opens_sentences_ends_dots_of_omission():
    """Punkt keeps this one whole: its table does not know `What` as an opener."""
    assert split_sentences("Wait... What?") == ["Wait...", "What?"]
