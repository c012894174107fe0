"""Where an answer names its options: each letter that may name one becomes a mark, so that rules need not know which.

An option's own text behind its letter is blanked (`OWN`): `B. dog` and `B` look alike. Marks that are joined ("A and
B") or list the options are `SEVERAL`. No place moves: what stands at a place can be read in the text itself.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from itertools import islice, pairwise

from .choice_text import flatten

FIRST, SEVERAL, OWN = "\ue000", "\ue0ff", "\ue100"
MARK = f"{FIRST}-{SEVERAL}"

_CJK = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?|[{_CJK}]|(?:(?![{_CJK}_])[^\W\d])+(?:'[a-z]{{1,2}}\b)?"
    rf"|[%+=<>^/°√∞≤≥≠≈π¬∧∨→∀∃]"
)
_ARTICLES = ("a", "an", "the")
_TEXT_GOES_ON = re.compile(r"\s?(?:[-+*/^=>%$\\]|<(?!/))|!\s?[\d/(]|\(|\s\d")
_WORDLY = "A-Za-z0-9_\u00c0-\u04ff"
_LETTER = re.compile(
    rf"(?<![{_WORDLY}'°\\@])(?<![A-Za-z]\.)(?<!\w-)(?<!\w/)(?<![^A-Za-z][A-Za-z]\()[A-Za-z]"
    rf"(?![{_WORDLY}]|'[a-z]|\.[A-Za-z]\b|#|[-–]\w)|(?<=[A-Z]/)[A-Z](?![{_WORDLY}])|(?<=')[A-Z](?=')"
)
"""A letter by itself, and no part of an abbreviation (D.C.), a unit (25 °C), a name (Louis C. K.) or a call: P(A)."""
_NO_MENTION = re.compile(
    r"\(|\s?[+*^=°\\×]|[^\S\n](?:[a-z]\b(?!\))|\d)|\.\s[a-z](?!ecause\b|ince\b)"
    r"|(?<=A)(?<![a-zà-ÿ,;] A)[^\S\n]+(?!(?:is|was|because|since|as|due|based|which|with|for|not|rather|and"
    r"|or|but|it|can|cannot)\b)[a-zß-ÿа-я]"
    r"|(?<=I)(?!\s+(?:is|because|since|and|or|it|rather|can|not)\b)[^\S\n]+[a-zß-ÿа-я]"
    r"|(?<=[a-z])(?!\s?(?:[.,:)]\s*)?(?:$|\n|because\b|since\b)|\))"
)
"""What follows the letter of a formula, a name (E. coli), an article (A man), a pronoun (I was), a small word."""
_UNIT = re.compile(r"\d ")
_SIGN = re.compile(r"[.。:)\]】、,–—-]{0,2}")
_LINE_ENTRY = re.compile(
    rf"(?im)^[ \t>#*•(\[-]{{0,6}}(?:option )?(?P<mark>[{MARK}])"
    rf"(?:[ \t]?[.:)\]、-]{{1,3}}(?=[^\n]{{0,9}}\w)|[.:)]{{0,3}}{OWN})"
)
_ENTRY = re.compile(
    rf"(?:^|[\s,:;(\[。?])[(\[]?(?P<mark>[{MARK}])(?:\.\)|[.):、](?=\s?\w)|\s[-=]\s|{OWN}|(?=[\u3400-\u9fff]))",
    re.MULTILINE,
)
_SEPARATOR = re.compile(
    rf"[)\]\"'.}}$:\s(】{OWN}]*+(?P<word>(?:,\s*)?(?:\b(?:and/or|and|or|plus|as well as|but also|y|o|u|und|oder|et|ou|e"
    r"|of|en|lub|albo|i|veya|ya da|ve|hoặc|hay|và|atau|dan|и|или)\b|和|或者?|与|及|以及|跟|还是|とか?|か|または"
    r"|それとも|および|및|또는|아니면|이나|[와과]|أو|या|और)|[,;/&+|、])?\s*+(?:(?:and|or|also|und|oder|possibly|maybe|perhaps)\b\s*+)*"
    r"(?:(?:option|choice|选项)\s?)?(?:\\f?boxed)?[(\[\"'{$\s【]*", re.IGNORECASE,
)  # fmt: skip
_CLOSED = re.compile(
    rf"[)\]\"'}}\s.】{OWN}]*+(?:$|[,;/&+|、。!?)\n<]|(?:and|or|both)\b|都"
    r"|are\b(?! (?:wrong|incorrect|not|false|all wrong)))",
    re.IGNORECASE,
)


def tokens(text: str, most: int | None = None) -> list[tuple[str, int]]:
    """The first `most` lower-case words, numbers, operators and single CJK characters with their ends."""
    found = []
    for match in islice(_TOKEN.finditer(text), most):
        word = match[0].lower()
        if word[0].isdigit() or word[0] == "-":
            word = word.replace(",", "")
            word = word.rstrip("0").rstrip(".") if "." in word else word
        found.append((word, match.end()))
    return found


class OptionTexts:
    """Recognises an option by its text: whole words, case and punctuation aside, the longest text first.

    Texts that normalize alike are left out, and so are single Latin letters, which would be taken for option letters.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = {letter.upper(): text for letter, text in options.items()}

    @cached_property
    def _keys(self) -> list[tuple[str, str | None]]:
        """Each text with its letter, the longest first. Made when first asked for: most answers say their letter."""
        owners: dict[str, list[str]] = {}
        for letter, text in self.options.items():
            words = [word for word, _ in tokens(flatten(text))]
            while len(words) > 1 and words[0] in _ARTICLES:
                words = words[1:]
            key = " ".join(words)
            if key and not (len(key) == 1 and key.isascii() and key.isalpha()):
                owners.setdefault(key, []).append(letter)
        keys = [(key, one[0] if len(one) == 1 else None) for key, one in owners.items()]
        return sorted(keys, key=lambda pair: -len(pair[0]))

    def at(self, text: str, start: int) -> tuple[str, int] | None:
        """The option whose text stands at a place, and where it ends; an article may lead."""
        if not self._keys:
            return None
        words = tokens(text[start : start + 2_000], 3 + max(key.count(" ") for key, _ in self._keys))
        while words and words[0][0] in _ARTICLES:
            words = words[1:]
        joined = " ".join(word for word, _ in words) + " "
        for key, letter in self._keys:
            if joined.startswith(key + " "):
                end = start + words[key.count(" ")][1]
                return (letter, end) if letter and not _TEXT_GOES_ON.match(text, end) else None
        return None

    def own_end(self, letter: str, text: str, start: int) -> int:
        """Where the text of an option that follows its letter ends; `start` where it does not follow."""
        found = self.at(text, start)
        if found and found[0] == letter:
            return found[1]
        own = self.options.get(letter, "").strip(" .()\"'")  # a letter, where blood groups are asked
        single = (
            re.compile(rf"[\s.:()\"']{{1,4}}{own}(?!\w)").match(text, start)
            if len(own) == 1 and own.isalpha()
            else None
        )
        return single.end() if single else start


def mark(plain: str, texts: OptionTexts, *, is_cut: bool) -> str:
    """The text with its mentions of options marked."""
    chars, done = list(plain), 0
    for found in _LETTER.finditer(plain):
        place, end, name = found.start(), found.end(), found[0].upper()
        own_end = texts.own_end(name, plain, end)
        other = (
            texts.at(plain, end) if name == "A" and own_end == end and plain[end : end + 1] == " " else None
        )  # "A dog"
        is_word = other is not None or (name == "I" and name not in texts.options)
        is_cut_off = is_cut and name in "AI" and 2 < len(plain) == end
        is_unit = done < place - 1 and _UNIT.fullmatch(plain, max(0, place - 2), place)
        if place < done or is_word or is_cut_off or is_unit or (own_end == end and _NO_MENTION.match(plain, end)):
            continue
        chars[place] = chr(ord(FIRST) + ord(name) - ord("A"))
        own_start = _SIGN.match(plain, end).end()  # type: ignore[union-attr]  # it matches anything
        chars[own_start:own_end] = [one if one == "\n" else OWN for one in plain[own_start:own_end]]
        done = own_end
    marks = "".join(chars)
    for place in _listed(marks) | _joined(marks):
        chars[place] = SEVERAL
    return "".join(chars)


def _joined(marks: str) -> set[int]:
    """The places of marks that are joined to another letter's."""
    runs: list[list[int]] = []
    for place in reversed([place for place, one in enumerate(marks) if FIRST <= one <= SEVERAL]):
        if runs and _is_joined(marks, place, runs[-1][-1], runs[-1][0]):
            runs[-1].append(place)
        else:
            runs.append([place])
    return {place for run in runs if len({marks[place] for place in run}) > 1 for place in run}


def _is_joined(marks: str, first: int, second: int, last: int) -> bool:
    """Whether a mark is joined to the next; `last` is the last that the next is joined to itself."""
    gap = _SEPARATOR.fullmatch(marks, first + 1, second) if second - first < 400 else None
    if gap is None:
        return False
    is_weak = gap["word"] in (None, ",", ";")
    return not is_weak or ("\n" not in gap[0] and _CLOSED.match(marks, last + 1) is not None)


def _listed(marks: str) -> set[int]:
    """The places of marks that list options: on lines one below the other, or three in a line."""
    listed: set[int] = set()
    for one, other in pairwise(_LINE_ENTRY.finditer(marks)):
        if marks.count("\n", one.end(), other.start("mark")) == 1 and ord(other["mark"]) == ord(one["mark"]) + 1:
            listed |= {one.start("mark"), other.start("mark")}
    entries = list(_ENTRY.finditer(marks))
    for trio in zip(entries, entries[1:], entries[2:], strict=False):
        names = [one["mark"] for one in trio]
        if names == sorted(set(names)) and "\n" not in marks[trio[0].end() : trio[2].start("mark")]:
            listed |= {one.start("mark") for one in trio}
    return listed
