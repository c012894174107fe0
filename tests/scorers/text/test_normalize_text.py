"""The normalizers of short answers."""

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.scorers.text.normalize_text import ascii_words, cjk_words, squad_words

texts = st.text(
    st.one_of(
        st.characters(max_codepoint=127), st.sampled_from("aAnThe .,\n\x1céK中，")
    )
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The U.S.A., an  ally", ["usa", "ally"]),
        ("theatre", ["theatre"]),
        ("a\u00a0b", ["b"]),
        ("“quoted”", ["“quoted”"]),
        ("巴黎。", ["巴黎。"]),
    ],
)
def test_squad_drops_ascii_punctuation_and_articles_only(text, words):
    assert squad_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("巴黎。", ["巴", "黎"]),
        ("我用Python，写。", ["我", "用", "python", "写"]),
        ("ひらカナ", ["ひ", "ら", "カ", "ナ"]),
        ("한글 a b", ["한", "글", "a", "b"]),
        ("x-ray", ["x", "ray"]),
        ("１２３", ["123"]),
    ],
)
def test_cjk_characters_are_tokens_and_all_punctuation_ends_a_word(text, words):
    assert cjk_words(text) == words


@given(texts)
@example("a\x00an")
@example("\u212aelvin")
def test_the_fast_path_for_ascii_gives_the_words_of_the_definition(text):
    bare = "".join(mark for mark in text.lower() if mark not in string.punctuation)

    assert squad_words(text) == re.sub(r"\b(a|an|the)\b", " ", bare).split()
    assert ascii_words(text) == re.findall("[a-z0-9]+", text.lower())
