"""Lists of options inside an answer: a list that is only repeated, and one whose entries are marked right or wrong.

"Let us look at each option:", then A to D line by line, chooses none of them by its first letter; where every entry is
called true or false and one alone is true, that one is the answer.
"""

import re

from .choice_text import OptionTexts

_ENTRY = re.compile(
    r"[ \t>#\-•·\"'(\[]{0,6}(?:option[ \t]{1,2})?(?P<letter>[A-Z])[ \t]?[.:)\]、-]+[ \t]*(?P<rest>[^\n]*)"
)
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
