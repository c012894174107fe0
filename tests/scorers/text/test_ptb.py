"""The tokenizer of captions, against what Stanford's (3.4.1, as coco-caption runs it) made of the same lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scorers.text.meteor import ptb_tokens


@pytest.mark.parametrize(
    ("caption", "tokens"),
    [
        (
            "A man can't ride; he's on it (brown).",
            "a man ca n't ride he 's on it -lrb- brown -rrb-",
        ),
        ('the "big" horse', "the big horse"),
        (
            "She said: don't go... I'll stay -- we've no time!",
            "she said do n't go i 'll stay we 've no time",
        ),
        (
            "The well-known t-shirt costs $5.99, i.e.",
            "the well-known t-shirt costs $ 5.99 i.e.",
        ),
        ("50% off & more.", "50 % off & more"),
        (
            "I cannot, gonna, wanna, gimme, lemme do it.",
            "i can not gon na wan na gim me lem me do it",
        ),
        (
            "U.S. flag at 3:30 p.m. near St. John's house.",
            "u.s. flag at 3:30 p.m. near st. john 's house",
        ),
        (
            "black/white cat and/or dog; 1,000 people #1 @home",
            "black/white cat and/or dog 1,000 people # 1 @home",
        ),
        ("the dogs' bowls and the boys' hats", "the dogs bowls and the boys hats"),
        ("It's 'quoted' text and ``ticks''", "it 's quoted text and ticks"),
        ("rock'n'roll o'clock y'all 'tis", "rock 'n' roll o'clock y' all 't is"),
        (
            "[brackets] {curly} <angle> a*b a+b = c",
            "-lsb- brackets -rsb- -lcb- curly -rcb- <angle> a * b a + b = c",
        ),
        ("café naïve ’quote’ “double” don’t – —", "café naïve quote double do n't"),
        ("what?! really!! yes... no..", "what ?! really !! yes no"),
        ("No. 5 is here. A. B. c.", "no. 5 is here a. b. c."),
        (
            "it is 20 %, 7pm 7:00pm 10am 1/2 3/4 cup",
            "it is 20 % 7pm 7:00 pm 10am 1/2 3/4 cup",
        ),
        ("a man,a woman.and child", "a man a woman.and child"),
        (
            "would've couldn't've shouldn't they'd we're I'm",
            "would 've could n't 've should n't they 'd we 're i 'm",
        ),
    ],
)
def test_captions_are_cut_as_stanfords_tokenizer_cuts_them(caption, tokens):
    assert " ".join(ptb_tokens(caption)) == tokens


@settings(deadline=None)
@given(st.text(max_size=60))
def test_tokens_are_never_empty_and_have_no_blanks(text):
    assert all(token and not token.isspace() for token in ptb_tokens(text))
