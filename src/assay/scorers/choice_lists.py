"""Lists of options inside an answer: lists that are only repeated, and one whose entries are marked right or wrong.

"Let us look at each option:", then A to D line by line, chooses none of them by its first letter; where every entry is
called true or false and one alone is true, that one is the answer.
"""

import re

from .choice_text import OptionTexts

LONGEST_LIST = 2_000
"""How far a list within a line is followed."""
_ENTRY = re.compile(
    r"[ \t>#\-•·\"'(\[]{0,6}(?:option[ \t]{1,2})?(?P<letter>[A-Z])[ \t]?[.:)\]、-]+[ \t]*(?P<rest>[^\n]*)"
)
_INLINE = re.compile(r"(?<![\w.])[(\[]?(?P<letter>[A-Z]|[a-z](?=[.):]))(?P<mark>[ \t]?[.:)\]、=-][ \t]?|[ \t]?)")
_LEADS = re.compile(r"[ \t\"'*:-]{0,6}")
_JUDGES = re.compile(r"\b(?:wrong|incorrect|false|not)\b|n't|错|不|排除|误", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;.、)]{0,4}(?:\b(?:and|or)\b|和|或)?\s{0,2}")
_BLANK = re.compile(r"\s*")
_OPENS = re.compile(r"[ \t\"']{0,4}\n\s*")
_RIGHT = re.compile(r"\W*(?:true|correct|right|yes|✓|✔|✅|对|正确)\W*", re.IGNORECASE)
_WRONG = re.compile(r"\W*(?:false|incorrect|wrong|no|not\s+correct|✗|✘|❌|×|错误?|不正确)\W*", re.IGNORECASE)
_MARKS = frozenset({"true", "false", "correct", "incorrect", "right", "wrong", "yes", "no", "对", "错", "正确", "错误"})


def opens_list(text: str, start: int) -> bool:
    """Whether a list of options, not one answer, begins on the line after `start`: A's entry, then B's."""
    opened = _OPENS.match(text, start)
    first = _ENTRY.match(text, opened.end()) if opened else None
    if first is None or not first["rest"].strip():
        return False
    blank = _BLANK.match(text, first.end())
    second = _ENTRY.match(text, blank.end()) if blank else None
    return second is not None and ord(second["letter"]) == ord(first["letter"]) + 1


def lists_options(text: str, start: int, letters: frozenset[str], texts: OptionTexts) -> bool:
    """Whether the options follow `start` on its line, one after the other: "A. cat B. dog C. bird"."""
    leads = _LEADS.match(text, start)
    begin = leads.end() if leads else start
    first = _INLINE.match(text, begin)
    if first is None or first["letter"].upper() != min(letters):
        return False
    line = text[begin : begin + LONGEST_LIST].split("\n", 1)[0]
    named, end = _named_in_a_row(line, texts)
    if len(named) > 1 and (named >= letters or not line[end:].strip(" .。;!?\"'")):
        return True
    return not _JUDGES.search(line) and len(letters) > 2 and _marked(line).keys() >= letters


def list_end(line: str, letters: frozenset[str], texts: OptionTexts) -> int:
    """Where a list of options within a line ends, or 0: two or more letters with their own texts, or all letters.

    A line that calls options wrong is an argument, not a list.
    """
    if _JUDGES.search(line):
        return 0
    own: dict[str, int] = {}
    for entry in _INLINE.finditer(line):
        letter = entry["letter"].upper()
        named = texts.at_start(line[entry.end() : entry.end() + 400]) if letter in letters else None
        if named is not None and named[0] == letter:
            own[letter] = entry.end() + named[1]
    if len(own) > 1:
        return max(own.values())
    marked = _marked(line)
    return max(marked.values()) if len(letters) > 2 and marked.keys() >= letters else 0


def _named_in_a_row(line: str, texts: OptionTexts) -> tuple[set[str], int]:
    """The letters a line begins with, each followed by its own text and nothing else, and where they end."""
    found: set[str] = set()
    at = end = 0
    while entry := _INLINE.match(line, at):
        named = texts.at_start(line[entry.end() : entry.end() + 400])
        if named is None or named[0] != entry["letter"].upper():
            break
        found.add(named[0])
        end = entry.end() + named[1]
        between = _BETWEEN.match(line, end)
        at = between.end() if between else end
    return found, end


def _marked(line: str) -> dict[str, int]:
    """The letters that open an entry within a line, and where each entry's text begins."""
    return {entry["letter"].upper(): entry.end() for entry in _INLINE.finditer(line) if entry["mark"].strip()}


def graded_list(text: str, letters: frozenset[str], texts: OptionTexts) -> str | None:
    """The one entry called right in a list that calls all the others wrong; `None` where options are such words."""
    if "\n" not in text or any(texts.at_start(mark) for mark in _MARKS):
        return None
    right: set[str] = set()
    wrong: set[str] = set()
    for line in text.split("\n"):
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry["letter"] not in letters:
            continue
        if _RIGHT.fullmatch(entry["rest"]):
            right.add(entry["letter"])
        elif _WRONG.fullmatch(entry["rest"]):
            wrong.add(entry["letter"])
    if len(right) == 1 and len(wrong) >= len(letters) - 1 and not right & wrong:
        return next(iter(right))
    return None
