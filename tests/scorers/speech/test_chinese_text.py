"""Chinese text normalization; the spelled-out line is the one wetext 0.1.8 gives."""

import sys

import pytest

from assay.core import MissingExtra
from assay.scorers.speech import speech_normalize
from assay.scorers.speech.speech_normalize import (
    normalize_chinese,
    normalize_mixed,
    simplify,
    spoken_numbers,
    strip_marks,
)


def test_marks_and_blanks_of_every_script_go():
    assert strip_marks("“今天”，　天气 ~ ok! ＄（好）\u200b…—「」") == "今天天气ok好"


def test_the_chinese_digit_zero_is_not_a_mark():
    assert strip_marks("二〇二四年") == "二〇二四年"


def test_numbers_are_spelled_as_they_are_read_out():
    pytest.importorskip("wetext", reason="wetext is not installed")
    written = "我有2.5亿元，2024年3月5日，电话13800138000，占50%"

    spoken = spoken_numbers(written)

    assert (
        spoken
        == "我有二点五亿元，二零二四年三月五日，电话幺三八零零幺三八零零零，占百分之五十"
    )


def test_plain_han_text_needs_no_grammar(monkeypatch):
    monkeypatch.setattr(
        speech_normalize, "_speller", lambda: pytest.fail("the grammar was loaded")
    )

    assert spoken_numbers("今天，天气很好。") == "今天，天气很好。"


def test_traditional_characters_become_simplified():
    pytest.importorskip("opencc", reason="OpenCC is not installed")

    assert simplify("漢語臺灣") == "汉语台湾"


def test_both_recipes_unify_width_and_case():
    pytest.importorskip("opencc", reason="OpenCC is not installed")
    pytest.importorskip("wetext", reason="wetext is not installed")

    assert normalize_chinese("ＡＢ ｃ，好") == "abc好"
    assert normalize_mixed("ＡＢ ｃ，好") == "ab c 好"


@pytest.mark.parametrize(
    ("module", "function", "text"),
    [("opencc", "_converter", "漢"), ("wetext", "_speller", "1")],
)
def test_a_missing_library_is_one_line_with_the_command(
    monkeypatch, module, function, text
):
    monkeypatch.setitem(sys.modules, module, None)
    getattr(speech_normalize, function).cache_clear()

    with pytest.raises(MissingExtra, match=r"fix: pip install 'assay\[speech\]'"):
        simplify(text) if module == "opencc" else spoken_numbers(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2024年", "二〇二四年"),
        ("GPT-4o很好", "GPT 4o很好"),
        ("GPT-4o", "GPT4o"),
        ("COVID-19疫情", "COVID 19疫情"),
        ("4-bit量化", "4 bit量化"),
        ("1990s", "1990年代"),
    ],
)
def test_two_spellings_of_the_same_words_are_equal(one, other):
    pytest.importorskip("wetext")
    pytest.importorskip("opencc")

    assert normalize_chinese(one) == normalize_chinese(other)


def test_a_minus_and_a_range_are_not_changed():
    pytest.importorskip("wetext")
    pytest.importorskip("opencc")

    assert normalize_chinese("气温-5度") == "气温负五度"
    assert normalize_chinese("3-5个") == "三到五个"
