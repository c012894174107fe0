"""The normalizers of short answers."""

import pytest

from assay.scorers.normalize_text import cjk_words, squad_words


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
def test_cjk_characters_stand_alone_and_all_punctuation_ends_a_word(text, words):
    assert cjk_words(text) == words
