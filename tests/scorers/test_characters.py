"""Characters are replaced by their Unicode category, each looked up once."""

import unicodedata

from assay.scorers.plain_text import MOST_KEPT, CategoryTable


def test_every_character_is_replaced_by_the_rule():
    def rule(character: str, category: str) -> str | None:
        return {"P": None, "Z": " ", "S": f"<{character}>"}.get(category[0], character)

    everything = "".join(map(chr, range(0x3000)))

    expected = "".join(
        rule(character, unicodedata.category(character)) or ""
        for character in everything
    )
    assert everything.translate(CategoryTable(rule)) == expected


def test_a_character_is_looked_up_once():
    asked = []
    table = CategoryTable(
        lambda character, category: asked.append((character, category)) or "x"
    )

    assert ("a。a。".translate(table), "a。".translate(table)) == ("xxxx", "xx")
    assert asked == [("a", "Ll"), ("。", "Po")]


def test_a_text_of_every_character_does_not_fill_the_memory():
    table = CategoryTable(lambda character, category: character)

    text = "".join(map(chr, range(MOST_KEPT * 2)))

    assert text.translate(table) == text and len(table) == MOST_KEPT
