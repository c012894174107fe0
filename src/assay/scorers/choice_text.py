"""Text of a multiple-choice answer made plain: reasoning removed, markup flattened, option texts found.

Pure functions on strings, each linear in the length of its input. They know nothing about rules.
"""

import re
import unicodedata
from collections.abc import Mapping
from itertools import islice

HEAD_CHARS = 4_000
TAIL_CHARS = 24_000
"""A longer output is read at both ends only: answers stand there, and the rules stay cheap on 1 MB of noise."""

_TAG_NAMES = (
    r"think(?:ing)?|thoughts?|reasoning|reflection|scratch_?pad|analysis|inner_monologue|seed:think"
    r"|rationale|cot"
)
_REASONING = re.compile(
    rf"<\s*(?P<close>/)?\s*(?:{_TAG_NAMES})\s*>"
    r"|\[(?P<close2>/)?(?:THINK|think)\]|◁(?P<close3>/)?think▷"
    r"|<\|(?:begin_of_thought|START_THINKING)\|>|(?P<close4><\|(?:end_of_thought|END_THINKING)\|>)"
    r"|<\|channel\|>\s*(?:analysis|commentary)\s*(?:<\|message\|>)?"
    r"|(?P<final><\|channel\|>\s*final\s*(?:<\|message\|>)?|<\s*(?:final_?)?answer\s*>)",
    re.IGNORECASE,
)
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|eom_id|return)\|>|</s>|<eos>|<end_of_turn>|<\|im_start\|>"
    r"|\n\s*(?:#+\s*)?(?:\*\*)?(?:Questions?|Q|Problem|User|Human|问题|题目|问|用户)\s*\d{0,4}\s*(?:\*\*)?\s*[:：]",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f\x00-\x08\x0b-\x1f\x7f]")
_QUOTES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "−": "-", "‑": "-", "\r": "\n"}
)
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"~~[^~\n]{1,200}~~"), " "),
    (re.compile(r"<\s*br\s*/?\s*>", re.IGNORECASE), "\n"),
    # Capitals stay: `<B>` is an answer in brackets.
    (re.compile(r"</?(?:b|i|u|strong|em|p|span|div|mark|code|center)(?:\s[^<>\n]{0,80})?>"), ""),
    (re.compile(r"\*\*\s*[(\[]?([A-Z])[)\]]?\s*\*\*"), r"(\1)"),
    (re.compile(r"\*\*+|`+|(?<!\w)__+(?=\w)|(?<=\w)__+(?!\w)"), ""),
    (re.compile(r"(?<![\w*])\*(?=[\w(\"'])|(?<=[\w.)!?:,\"'])\*(?![\w*])"), ""),
    (re.compile(r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol)\s{0,2}\{"), "{"),
    (re.compile(r"\\[,;!]|~(?=\w)|\\(?:quad|ldots|dots)\b"), " "),
)
_NOT_PLAIN = re.compile(r"[^ -}\n\t]|[<*_`\\]")
"""What `flatten` may have to change: all else, nearly every short answer, is plain already."""
_CJK = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?|[{_CJK}]|(?:(?![{_CJK}_])[^\W\d])+(?:'[a-z]{{1,2}}\b)?"
    rf"|[%+=<>^/°√∞≤≥≠≈π¬∧∨→∀∃]"
)
_NUMBER = re.compile(r"-?[\d.]+")
_ARTICLES = ("a", "an", "the")
# A one-character Chinese option ("猫") inside a longer word ("熊猫") is no mention of it; after these it is.
_BEFORE_WORD = frozenset("是为只个条头匹位名张的有选叫了到在项即：像指和或与非选應为爲")


def strip_reasoning(text: str) -> str:
    """What the model said outside its reasoning block; nothing of a block that never closes.

    A closing tag alone drops all before it, since chat templates often open the block in the prompt.
    An answer tag or a final channel ends a block that was left open.
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    kept: list[str] = []
    start, inside = 0, False
    for tag in _REASONING.finditer(text):
        if tag["final"]:
            if not inside:
                kept.append(text[start : tag.start()])
            start, inside = tag.start(), False
        elif tag["close"] or tag["close2"] or tag["close3"] or tag["close4"]:
            if not inside:
                kept.clear()
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return "\n".join(kept)


def first_turn(text: str) -> str:
    """The text up to an end-of-turn token or to a next question a base model went on to invent."""
    if "<" not in text and "\n" not in text:
        return text
    for end in _TURN_END.finditer(text):
        if text[: end.start()].strip():
            return text[: end.start()]
    return text


def flatten(text: str) -> str:
    """Full-width forms, quotes, invisible characters, markdown, HTML and LaTeX wrappers made plain."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n\n" + text[-TAIL_CHARS:]
    if _NOT_PLAIN.search(text) is None:
        return text.strip()
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    plain = _INVISIBLE.sub("", plain)
    for pattern, replacement in _MARKUP:
        plain = pattern.sub(replacement, plain)
    return plain.strip()


def tokens(text: str, most: int | None = None) -> list[tuple[str, int, int]]:
    """The first `most` lower-case words, numbers, operators and single CJK characters with their places."""
    found = []
    for match in islice(_TOKEN.finditer(text), most):
        word = match[0].lower()
        if not word[0].isalpha() and _NUMBER.match(word):
            word = word.replace(",", "")
            if "." in word:
                word = word.rstrip("0").rstrip(".")
        found.append((word, match.start(), match.end()))
    return found


def option_words(text: str) -> list[str]:
    """The words of an option's text, without their places."""
    if text.isascii() and text.replace(" ", "").isalpha():
        return text.lower().split()
    return [word for word, _, _ in tokens(flatten(text))]


class OptionTexts:
    """Finds option texts in prose: whole words, case and punctuation aside, the longest text first.

    Options whose texts normalize alike cannot be told apart by text and are left out, and so are
    single Latin letters, which would be taken for option letters.
    """

    __slots__ = ("_found", "_options")

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._found: tuple[dict[str, str], list[str], int] | None = None

    @property
    def _keys(self) -> tuple[dict[str, str], list[str], int]:
        """The letter of each text, all texts with the longest first, and how many words to read for one.

        Made when first asked for: an answer that says its letter needs none of it.
        """
        if self._found is not None:
            return self._found
        keys: dict[str, list[str]] = {}
        most_words = 0
        for letter, text in self._options.items():
            words = option_words(text)
            while len(words) > 1 and words[0] in _ARTICLES:
                words = words[1:]
            if words and not (len(words) == 1 and len(words[0]) == 1 and words[0].isascii() and words[0].isalpha()):
                keys.setdefault(" ".join(words), []).append(letter)
                most_words = max(most_words, len(words))
        letters = {key: owners[0] for key, owners in keys.items() if len(owners) == 1}
        self._found = letters, sorted(keys, key=len, reverse=True), 2 + most_words
        return self._found

    def at_start(self, text: str) -> tuple[str, int] | None:
        """The option whose text the given text begins with, and where it ends; an article may lead."""
        letters, longest_first, most_words = self._keys
        words = tokens(text, most_words)
        while words and words[0][0] in _ARTICLES:
            words = words[1:]
        joined = " ".join(word for word, _, _ in words) + " "
        for key in longest_first:
            if joined.startswith(key + " "):
                last = words[key.count(" ")]
                return (letters[key], last[2]) if key in letters else None
        return None

    def mentions(self, text: str) -> list[tuple[str, int, int]]:
        """Every mention as (letter, start, end) in order; a text inside a longer option's text is not one."""
        letters, longest_first, _ = self._keys
        words = tokens(text)
        joined = " " + " ".join(word for word, _, _ in words) + " "
        place: dict[int, int] = {}
        position = 1
        for index, (word, _, _) in enumerate(words):
            place[position] = index
            position += len(word) + 1
        taken = bytearray(len(words))
        found: list[tuple[str, int, int]] = []
        for key in longest_first:
            size = key.count(" ") + 1
            at = joined.find(f" {key} ")
            while at >= 0:
                index = place[at + 1]
                if not any(taken[index : index + size]) and _is_word(key, text, words[index][1]):
                    taken[index : index + size] = b"\x01" * size
                    if key in letters:
                        found.append((letters[key], words[index][1], words[index + size - 1][2]))
                at = joined.find(f" {key} ", at + 1)
        return sorted(found, key=lambda mention: mention[1])

    def is_number(self, letter: str) -> bool:
        """Whether the option is a bare number: too common in working to count as a mention."""
        return any(_NUMBER.fullmatch(key) for key, owner in self._keys[0].items() if owner == letter)


def _is_word(key: str, text: str, start: int) -> bool:
    if len(key) != 1 or key.isascii() or start == 0:
        return True
    before = text[start - 1]
    return before in _BEFORE_WORD or not before.isalpha()
