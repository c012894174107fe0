"""Text of a multiple-choice answer made plain, and options recognised by their texts.

Pure functions on strings, each linear in the length of its input. They know nothing about rules.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property
from itertools import islice

HEAD_CHARS = 4_000
TAIL_CHARS = 24_000
"""A longer output is read at both ends only: answers stand there, and the rules stay cheap on 1 MB of noise."""

_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|eom_id|return)\|>|</s>|<eos>|<end_of_turn>|<\|im_start\|>|\n[^\S\n]{0,8}"
    r"(?:#{1,6} ?)?(?:\*\*)?(?:Questions?|Q|Problem|User|Human|问题|题目|问|用户) ?\d{0,4} ?(?:\*\*)? ?[:：]",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f\x00-\x08\x0b-\x1f\x7f]")
_QUOTES = str.maketrans("‘’“”„«»−‑\r", "''\"\"\"\"\"--\n")
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"~~[^~\n]{1,200}~~", " "),
    (r"<br ?/?>", "\n"),
    # Capitals stay: `<B>` is an answer in brackets.
    (r"</?(?:b|i|u|strong|em|p|span|div|mark|code|center)(?:\s[^<>\n]{0,80})?>", ""),
    (r"\*\*\s?[(\[]?([A-Z])[)\]]?\s?\*\*", r"(\1)"),
    (r"\*\*+|`+|(?<!\w)__+(?=\w)|(?<=\w)__+(?!\w)|(?<![\w*])\*(?=[\w(\"'])|(?<=[\w.)!?:,\"'])\*(?![\w*])", ""),
    (r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol)\s{0,2}\{", "{"),
    (r"\\[,;!]|~(?=\w)|\\(?:quad|ldots|dots)\b", " "),
)
_NOT_PLAIN = re.compile(r"[^ -}\n\t]|[<*_`\\]")
"""What `flatten` may have to change: all else, nearly every short answer, is plain already."""
_CJK = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?|[{_CJK}]|(?:(?![{_CJK}_])[^\W\d])+(?:'[a-z]{{1,2}}\b)?"
    rf"|[%+=<>^/°√∞≤≥≠≈π¬∧∨→∀∃]"
)
_ARTICLES = ("a", "an", "the")


def first_turn(text: str) -> str:
    """The text up to an end-of-turn token or to a next question a base model went on to invent."""
    if "<" not in text and "\n" not in text:
        return text
    begin = len(text) - len(text.lstrip())
    end = next((end.start() for end in _TURN_END.finditer(text) if end.start() > begin), None)
    return text if end is None else text[:end]


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
        self.options = options

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

    def at_start(self, text: str) -> tuple[str, int] | None:
        """The option whose text the given text begins with, and where it ends; an article may lead."""
        if not self._keys:
            return None
        words = tokens(text[:2_000], 3 + max(key.count(" ") for key, _ in self._keys))
        while words and words[0][0] in _ARTICLES:
            words = words[1:]
        joined = " ".join(word for word, _ in words) + " "
        for key, letter in self._keys:
            if joined.startswith(key + " "):
                return (letter, words[key.count(" ")][1]) if letter else None
        return None

    def is_own(self, letter: str, text: str) -> bool:
        """Whether the given text begins with the text of this option."""
        found = self.at_start(text)
        return found is not None and found[0] == letter
