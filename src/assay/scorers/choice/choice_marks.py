"""Where an answer names its options: it is made plain, then each letter or text that may name one becomes a mark.

The rest of a text, and a text behind its own letter, is blanked (`OWN`): `B. dog` and `B` look alike. No place moves:
what stands at a place can be read in the plain text.
"""

import re
import unicodedata
from collections.abc import Mapping

FIRST, FIRST_TEXT, OWN = "\ue000", "\ue040", "\ue100"
MARK, TEXT = f"{FIRST}-\ue019", f"{FIRST_TEXT}-\ue059"
HEAD_CHARS, TAIL_CHARS = 4_000, 24_000
"""A longer output is read at both ends only: answers stand there, and the rules stay cheap on 1 MB of noise."""
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0e\ufe0f\ufeff\ue000-\uf8ff]"
)
_QUOTES = str.maketrans("‘’“”„«»−‑\r", '\'\'"""""--\n')
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"~~[^~\n]{1,200}~~|\\[,;!]|~(?=\w)|\\(?:quad|ldots|dots)\b", " "),
    (
        r"</?(?:b|i|u|strong|em|p|span|div|mark|code|center|br ?/?)(?:\s[^<>\n]{0,80})?>",
        "",
    ),
    (r"(?<=\b[A-Z])(?:\*\*|__)(?= [A-Z])", "."),
    (
        r"\*\*+|`+|(?<!\w)__+(?=\w)|(?<=\w)__+(?!\w)|(?<![\w*])\*(?=[\w(\"'])|(?<=[\w.)!?:,\"'])\*(?![\w*])",
        "",
    ),
    (
        r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol)\s{0,2}\{\s?([^{}\n]*)\}",
        r"\1",
    ),
)
_NOT_PLAIN = re.compile(r"[^ -}\n\t]|[<*_`\\]")
DENSE = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_ARTICLE = re.compile(r"^(?:a|an|the)\s+(?=\w)")
_LEAD_IN = re.compile(r"[\s。.:)\]】、,–—(\"'$-]*(?:(?:[Aa]n?|[Tt]he)\s+)?")
_INSIDE = re.compile(
    rf"(?![{DENSE}])\w(?![{DENSE}])\w$|[\d-][.,-]?\d$|[\^/]\d$"
)  # it begins within a word or number
_GOES_ON = re.compile(
    rf"(?![{DENSE}])\w(?![{DENSE}])\w|.(?:\s?(?:[+*/^=>%\\]|-(?!\s[^\W\d]))|\(|\s\d|[.,]\d)"
)
_WORDLY = "A-Za-z0-9_\u00c0-\u04ff"
_LETTER = re.compile(
    rf"(?<![{_WORDLY}'°\\@])(?<![A-Za-z]\.)(?<!\w[-–])(?<!\w/)(?<![^A-Za-z][A-Za-z]\()[A-Za-z]"
    rf"(?![{_WORDLY}]|'[a-z]|\.[A-Za-z]\b|#|[-–]\w)|(?<=[A-Z]/)[A-Z](?![{_WORDLY}])|(?<=')[A-Z](?=')"
)
"""A letter by itself, and no part of an abbreviation (D.C.), a unit (25 °C), a name (Louis C. K.) or a call: P(A)."""
_NO_MENTION = re.compile(
    r"\(|\s?[+*^=°\\×]|[^\S\n](?:[a-z]\b(?!\))|\d)|\.\s[a-z](?!ecause\b|ince\b)|(?<=A)(?<![a-zà-ÿ,;] A)[^\S\n]+"
    r"(?!(?:is|was|because|since|as|due|based|which|with|for|not|rather|and|or|but|it|can|cannot)\b)[a-zß-ÿа-я]"
    r"|(?<=I)(?!\s+(?:is|because|since|and|or|it|rather|can|not)\b(?!'))[^\S\n]+[a-zß-ÿа-я]"
    r"|(?<=[a-z])(?!\s?(?:[.,:)]\s*)?(?:$|\n|because\b|since\b)|\))"
)
"""What follows the letter of a formula, a name (E. coli), an article (A man), a pronoun (I was), a small word."""


def flatten(text: str) -> str:
    """Full-width forms, quotes, invisible characters, markdown, HTML and LaTeX wrappers made plain."""
    text = text.strip()
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n\n" + text[-TAIL_CHARS:]
    if _NOT_PLAIN.search(text) is None:
        return text
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text).translate(_QUOTES))
    for pattern, replacement in _MARKUP:
        plain = re.sub(pattern, replacement, plain)
    return plain.strip()


def text_spans(plain: str, options: Mapping[str, str]) -> dict[int, tuple[int, str]]:
    """Where options stand by their texts, the longest first: start, end and letter, or letters that share the text."""
    owners: dict[str, str] = {}
    for letter, text in options.items():
        key = _ARTICLE.sub("", flatten(text).replace("İ", "i").lower()).strip(" .$")
        if len(key) > 1 or not (
            key.isascii() and key.isalpha()
        ):  # it would be taken for an option's letter
            owners[key] = owners.get(key, "") + letter
    lower, spans = plain.replace("İ", "i").lower(), {}
    for key in sorted(filter(None, owners), key=len, reverse=True):
        start = lower.find(key)
        while start >= 0:
            end = start + len(key)
            if not (
                _INSIDE.search(plain[max(0, start - 2) : start + 1])
                or _GOES_ON.match(plain, end - 1)
            ):
                spans[start] = end, owners[key]
                lower = lower[:start] + "\0" * len(key) + lower[end:]
            start = lower.find(key, end)
    return spans


def mark(plain: str, options: Mapping[str, str], *, is_cut: bool) -> str:
    """The text with its mentions of options marked."""
    chars, done, texts = list(plain), 0, text_spans(plain, options)
    for found in _LETTER.finditer(plain):
        place, end, name = found.start(), found.end(), found[0].upper()
        begin = _LEAD_IN.match(plain, end).end()  # type: ignore[union-attr]  # it matches anything
        own_end, owner = texts.get(begin, (end, ""))
        if (
            options.get(name) == plain[begin : begin + 1] != ""
            and not plain[begin + 1 : begin + 2].isalnum()
        ):
            own_end, owner = (
                begin + 1,
                name,
            )  # a letter itself, where blood groups are asked
        is_article = (
            name == "A"
            and plain[end : end + 1] == " "
            and owner
            and (found[0] == "a" or name not in owner)
        )
        own_end = own_end if name in owner else end
        is_word = (
            bool(is_article) or place in texts or (name == "I" and name not in options)
        )
        is_called = plain[max(0, place - 7) : place].lower() in (
            "option ",
            "choice ",
            "letter ",
        )
        is_word = is_word or (
            own_end == end
            and not is_called
            and _NO_MENTION.match(plain, end) is not None
        )
        is_unit = (
            done < place - 1
            and plain[place - 1] == " "
            and plain[done:place].rstrip(" $")[-1:].isdigit()
        )
        if (
            place < done
            or is_word
            or is_unit
            or (is_cut and name in "AI" and 2 < len(plain) == end)
        ):
            continue
        chars[place] = chr(ord(FIRST) + ord(name) - ord("A"))
        chars[begin:own_end] = OWN * (own_end - begin)
        chars[end : min(begin, own_end)] = [
            one if one in "\n:,-" else OWN for one in plain[end : min(begin, own_end)]
        ]
        done = own_end
    for start, (end, name) in texts.items():
        if len(name) == 1 and chars[start] == plain[start]:
            chars[start:end] = (
                chr(ord(FIRST_TEXT) + ord(name) - ord("A")),
                *OWN * (end - start - 1),
            )
    return "".join(chars)
