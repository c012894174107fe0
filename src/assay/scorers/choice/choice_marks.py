"""Where an answer names its options: its text is made plain, then each letter that may name one becomes a mark.

An option's own text behind its letter is blanked (`OWN`): `B. dog` and `B` look alike. No place moves: what stands at
a place can be read in the text itself.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property
from itertools import islice

FIRST, OWN = "\ue000", "\ue100"
MARK = f"{FIRST}-\ue019"
HEAD_CHARS, TAIL_CHARS = 4_000, 24_000
"""A longer output is read at both ends only: answers stand there, and the rules stay cheap on 1 MB of noise."""
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f\ue000-\uf8ff\x00-\x08\x0b-\x1f\x7f]"
)
_QUOTES = str.maketrans("‘’“”„«»−‑\r", '\'\'"""""--\n')
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"~~[^~\n]{1,200}~~|\\[,;!]|~(?=\w)|\\(?:quad|ldots|dots)\b", " "),
    # Capitals stay: `<B>` is an answer in brackets.
    (r"</?(?:b|i|u|strong|em|p|span|div|mark|code|center|br ?/?)(?:\s[^<>\n]{0,80})?>", ""),
    (r"(?<=\b[A-Z])(?:\*\*|__)(?= [A-Z])", "."),
    (r"\*\*+|`+|(?<!\w)__+(?=\w)|(?<=\w)__+(?!\w)|(?<![\w*])\*(?=[\w(\"'])|(?<=[\w.)!?:,\"'])\*(?![\w*])", ""),
    (r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol)\s{0,2}\{", "{"),
)
_NOT_PLAIN = re.compile(r"[^ -}\n\t]|[<*_`\\]")
"""What `flatten` may have to change: all else, nearly every short answer, is plain already."""
DENSE = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?|[{DENSE}]|(?:(?![{DENSE}_])[^\W\d][\u0900-\u0dff]*)+(?:'[a-z]{{1,2}}\b)?|[%+=<>^/°√∞≤≥≠≈π¬∧∨→∀∃]"
)
_TEXT_GOES_ON = re.compile(r"\s?(?:-(?!\s[^\W\d])|[+*/^=>%$\\]|<(?!/))|!\s?[\d/(]|\(|\s\d")
_WORDLY = "A-Za-z0-9_\u00c0-\u04ff"
_LETTER = re.compile(
    rf"(?<![{_WORDLY}'°\\@])(?<![A-Za-z]\.)(?<!\w-)(?<!\w/)(?<![^A-Za-z][A-Za-z]\()[A-Za-z]"
    rf"(?![{_WORDLY}]|'[a-z]|\.[A-Za-z]\b|#|[-–]\w)|(?<=[A-Z]/)[A-Z](?![{_WORDLY}])|(?<=')[A-Z](?=')"
)
"""A letter by itself, and no part of an abbreviation (D.C.), a unit (25 °C), a name (Louis C. K.) or a call: P(A)."""
_NO_MENTION = re.compile(
    r"\(|\s?[+*^=°\\×]|[^\S\n](?:[a-z]\b(?!\))|\d)|\.\s[a-z](?!ecause\b|ince\b)|(?<=A)(?<![a-zà-ÿ,;] A)[^\S\n]+"
    r"(?!(?:is|was|because|since|as|due|based|which|with|for|not|rather|and|or|but|it|can|cannot)\b)[a-zß-ÿа-я]"
    r"|(?<=I)(?!\s+(?:is|because|since|and|or|it|rather|can|not)\b)[^\S\n]+[a-zß-ÿа-я]"
    r"|(?<=[a-z])(?!\s?(?:[.,:)]\s*)?(?:$|\n|because\b|since\b)|\))"
)
"""What follows the letter of a formula, a name (E. coli), an article (A man), a pronoun (I was), a small word."""
_SIGN = re.compile(r"[.。:)\]】、,–—-]{0,2}")


def flatten(text: str) -> str:
    """Full-width forms, quotes, invisible characters, markdown, HTML and LaTeX wrappers made plain."""
    text = text.strip()
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n\n" + text[-TAIL_CHARS:]
    if _NOT_PLAIN.search(text) is None:
        return text
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text).translate(_QUOTES))
    for pattern, replacement in _MARKUP:
        plain = re.sub(pattern, replacement, plain)
    return plain.strip()


def tokens(text: str, most: int | None = None) -> list[tuple[str, int]]:
    """The first `most` lower-case words, numbers, operators and single CJK characters with their ends; no articles."""
    found: list[tuple[str, int]] = []
    for match in islice(_TOKEN.finditer(text), most):
        word = match[0].lower()
        if word[0].isdigit() or word[0] == "-":
            word = word.replace(",", "")
            word = word.rstrip("0").rstrip(".") if "." in word else word
        if found or word not in ("a", "an", "the"):
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
            key = " ".join(word for word, _ in tokens(flatten(text)))
            if key and not (len(key) == 1 and key.isascii() and key.isalpha()):
                owners.setdefault(key, []).append(letter)
        keys = [(key, one[0] if len(one) == 1 else None) for key, one in owners.items()]
        return sorted(keys, key=lambda pair: -len(pair[0]))

    def at(self, text: str, start: int) -> tuple[str, int] | None:
        """The option whose text stands at a place, and where it ends; an article may lead."""
        if not self._keys:
            return None
        words = tokens(text[start : start + 2_000], 3 + max(key.count(" ") for key, _ in self._keys))
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
        option = self.options.get(letter, "").strip(" .()\"'")  # a letter, where blood groups are asked
        is_letter = len(option) == 1 and option.isalpha()
        single = re.compile(rf"[\s.:()\"']{{1,4}}{option}(?!\w)").match(text, start) if is_letter else None
        return single.end() if single else start


def mark(plain: str, texts: OptionTexts, *, is_cut: bool) -> str:
    """The text with its mentions of options marked."""
    chars, done = list(plain), 0
    for found in _LETTER.finditer(plain):
        place, end, name = found.start(), found.end(), found[0].upper()
        own_end = texts.own_end(name, plain, end)
        is_article = name == "A" and own_end == end and plain[end : end + 1] == " " and texts.at(plain, end)  # "A dog"
        is_word = bool(is_article) or (name == "I" and name not in texts.options)
        is_word = is_word or (own_end == end and _NO_MENTION.match(plain, end) is not None)
        is_cut_off = is_cut and name in "AI" and 2 < len(plain) == end
        is_unit = done < place - 1 and plain[place - 1] == " " and plain[place - 2].isdigit()
        if place < done or is_word or is_cut_off or is_unit:
            continue
        chars[place] = chr(ord(FIRST) + ord(name) - ord("A"))
        own_start = _SIGN.match(plain, end).end()  # type: ignore[union-attr]  # it matches anything
        chars[own_start:own_end] = [one if one == "\n" else OWN for one in plain[own_start:own_end]]
        done = own_end
    return "".join(chars)
