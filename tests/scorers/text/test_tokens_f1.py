"""Token F1 on multisets."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.text.word_overlap import TokenF1, token_f1


def f1(answer, target, **options):
    return TokenF1(**options)(Sample(id="a", target=target), Output.of(answer)).value


@pytest.mark.parametrize(
    ("answer", "target", "value"),
    [
        ("The Eiffel Tower", "Eiffel Tower", 1.0),
        ("in Paris, France", "Paris", 0.5),
        ("no no no", "no", 0.5),
        ("", "", 1.0),
        ("", "x", 0.0),
        ("the", "a", 1.0),
        ("3.5", "35", 1.0),
        ("U.S.A.", "USA", 1.0),
        ("巴黎", "巴黎。", 0.0),
    ],
)
def test_f1_agrees_with_the_squad_script(answer, target, value):
    assert f1(answer, target) == pytest.approx(value, abs=1e-9)


def test_the_best_of_several_targets_counts():
    assert f1("in Paris, France", ("Lyon", "Paris France")) == pytest.approx(0.8)


def test_cjk_text_is_compared_by_character_and_latin_words_whole():
    assert f1("巴黎", "巴黎。", tokens="cjk") == 1.0
    assert f1("我用python写", "我用Python写代码", tokens="cjk") == pytest.approx(
        2 * 4 / (4 + 6)
    )


def test_full_width_letters_equal_plain_ones_in_cjk_text():
    assert f1("ＡＢＣ", "abc", tokens="cjk") == 1.0


words = st.lists(st.sampled_from("abcde"), max_size=8)


@given(words, words)
def test_f1_is_that_of_the_multisets(answer, target):
    shared = (Counter(answer) & Counter(target)).total()
    expected = 2 * shared / (len(answer) + len(target)) if answer or target else 1.0

    assert token_f1(answer, target) == pytest.approx(expected)
    assert token_f1(target, answer) == token_f1(answer, target)


def test_unknown_tokens_are_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know tokens='bytes'"):
        TokenF1(tokens="bytes")


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert TokenF1()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR
