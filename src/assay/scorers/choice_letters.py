"""Letters in the last words of an answer: the one that stands where an answer would.

A capital by itself may be an article, a pronoun, a name or a variable; the words around it tell.
"""

import re

from .choice_claims import denied_after, denies

LAST_CHARS = 400
"""How far from its end an output may say what it takes."""
_STANDALONE = re.compile(
    r"(?<![A-Za-z0-9_'\\^/+*=$-])(?<!° )(?<![A-Z]\|)(?P<letter>[A-Z])"
    r"(?![A-Za-z0-9_'^/+*=$\\{°-]|\s?[=+*<>|^_\\/]|\s?->|\.[A-Za-z]|\(|\s\()"
)
_JOINED = re.compile(r"[)\]\"']?\s*(?:,|、|(?:,\s*)?\b(?:or|nor|and)\b|或者?|和)\s*(?:option\s+)?[(\[\"']?")
_WORD_NEXT = re.compile(r"\s+[a-z]")
_REASONS_NEXT = re.compile(r"\s+(?:because|since|as|due|based|not|rather|instead|for)\b|\s+it\s+is\W*$")
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=\S{2})|(?<=[。！？])|\n")
_LISTED_AFTER = re.compile(r"\s+(?:(?:and|or|plus|&)\s|[A-Z](?![A-Za-z']))|\s?&\s?[A-Z](?![A-Za-z'])")
_LISTED_BEFORE = re.compile(r"\b[A-Z],?\s(?:(?:and|or|plus|&)\s)?$|\b[A-Z]\s?&\s?$")
_ANSWER_WORD = re.compile(
    r"(?:^|[:;,(\[\"'.!?。,、】>|→]|\b(?:so|is|be|was|thus|therefore|hence|then|option|choice|answer|letter"
    r"|with|for|pick|say|guess|choose|select|think|believe"
    r"|probably|likely|definitely|maybe|perhaps|certainly|to|means|it's|that's|actually|final|yes|okay|ok"
    r"|just|simply|go|of|statement|only|and|or|but)|[^\x00-\x7f])[\s\"'(\[]*$",
    re.IGNORECASE,
)


def last_sentence(text: str) -> str:
    """The last piece that is more than a mark; of a long text only the end is looked at."""
    tail = text[-2 * LAST_CHARS :].rstrip()
    pieces = _SENTENCES.split(tail)
    return next((piece for piece in reversed(pieces) if len(piece.strip()) > 1), tail)


def unique_letter(passage: str, letters: frozenset[str]) -> str | None:
    """The one letter of the passage in the place of an answer, or `None` when there are none or several."""
    found: set[str] = set()
    denied_end = -1
    for match in _STANDALONE.finditer(passage):
        letter = match["letter"]
        # What is denied of the first of a list is denied of all: "it cannot be A or B".
        if denied_end >= 0 and _JOINED.fullmatch(passage[denied_end : match.start()]):
            denied_end = match.end()
            continue
        denied_end = match.end() if denies(passage[: match.start()]) else -1
        before, after = passage[: match.start()], passage[match.end() : match.end() + 40]
        marked = before[-1:] in "([\"'【" and before != ""
        if letter not in letters or denies(before) or denied_after(passage, match.end()):
            continue
        word_next = _WORD_NEXT.match(after) is not None
        reasons = _REASONS_NEXT.match(after)
        if _LISTED_AFTER.match(after) or _LISTED_BEFORE.search(before[-12:]):
            found.add(letter)
        if not marked and ((word_next and not reasons) or (letter == "I" and after.strip(" .!"))):
            continue
        if marked or _ANSWER_WORD.search(before[-24:]):
            found.add(letter)
    return found.pop() if len(found) == 1 else None
