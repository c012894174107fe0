"""Find where an answer names its options, and mark these positions in its text.

Markdown, HTML and LaTeX wrappers are removed first. Then each letter that may name an
option, and each option's text, is replaced by one character from Unicode's private use
area. The other characters of an option's text, and a text after its own letter, become
`OWN_TEXT` characters, so that `B. dog` and `B` look the same. Offsets do not change:
the marked text is as long as the plain text.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FIRST_LETTER_MARK, FIRST_TEXT_MARK, OWN_TEXT = "\ue000", "\ue040", "\ue100"
LETTER_MARKS, TEXT_MARKS = f"{FIRST_LETTER_MARK}-\ue019", f"{FIRST_TEXT_MARK}-\ue059"
HEAD_CHARS, TAIL_CHARS = 4_000, 24_000
"""Characters read at the beginning and at the end of a longer output, so that 1 MB of noise takes little time."""
_CHINESE_JAPANESE_KOREAN = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
DENSE = _CHINESE_JAPANESE_KOREAN + "\u0e01-\u0e5b"
"""Characters of scripts that put no spaces between words, such as Thai."""

_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0e\ufe0f\ufeff\ue000-\uf8ff]"
)
_NEEDS_FLATTENING = re.compile(r"[^ -}\n\t]|[<*_`\\]|\d,\d")
_QUOTES = str.maketrans("‘’“”„«»−‑\r", '\'\'"""""--\n')
_HTML_TAGS = "b|i|u|strong|em|p|span|div|mark|code|center"
_LATEX_FONTS = "text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol"
_EMPHASIS = "|".join(
    (
        r"\*\*+",
        "`+",
        r"(?<!\w)__+(?=\w)",
        r"(?<=\w)__+(?!\w)",
        r"(?<![\w*])\*(?=[\w(\"'])",
        r"(?<=[\w.)!?:,\"'])\*(?![\w*])",
    )
)
MARKUP: tuple[tuple[str, str], ...] = (
    # "\(B\)", "\[ 4 \]"
    (r"\\[()\[\]]", "$"),
    # "~~A~~ B", "10\,N", "10\ N", "\quad"
    (r"~~[^~\n]{1,200}~~|\\[,;! ]|~(?=\w)|\\(?:quad|ldots|dots)\b", " "),
    # "\frac{1}{6}", "10^{-4}", "H_{2}O"
    (r"\\[dt]?frac\{(\d{1,9})\}\{(\d{1,9})\}", r"\1/\2"),
    (r"([\^_])\{(-?\d{1,9})\}", r"\1\2"),
    # "\sqrt{2}"
    (r"\\sqrt\{(\w)\}", r"\\sqrt\1"),
    # "1,000"
    (r"(?<=\d),(?=\d{3}(?:,\d{3})*(?![\d,.]\d))(?<!\d{4},)", ""),
    # "B<br>Paris"
    (r"<br ?/?>", "\n"),
    # "<b>B</b>"
    (rf"</?(?:{_HTML_TAGS})(?:\s[^<>\n]{{0,80}})?>", ""),
    # "**B** Because" becomes "B. Because"
    (r"(?<=\b[A-Z])(?:\*\*|__)(?= [A-Z])", "."),
    # "**B**", "`B`", "__B__", "*B*"
    (_EMPHASIS, ""),
    # "\text{B}", "\mathbf{B}"
    (rf"\\(?:{_LATEX_FONTS})\s{{0,2}}\{{\s?([^{{}}\n]*)\}}", r"\1"),
)
"""Patterns that remove markup from an answer, each with its replacement, in the order in which they are applied."""
_MARKUP_PATTERNS = [(re.compile(pattern), text) for pattern, text in MARKUP]
BOLD = re.compile(r"(\*\*|__)(?=\S)([^\n]{1,200}?)(?<=\S)\1")
"""Words in bold: "**Paris**"."""

_ARTICLE = re.compile(r"^(?:a|an|the)\s+(?=\w)")
# Between a letter and its own text: "B. the dog", "(B) dog", "B: dog"
_BETWEEN_LETTER_AND_TEXT = re.compile(
    r"[\s。.:)\]】、,–—(\"'$-]*(?:(?:[Aa]n?|[Tt]he)\s+)?"
)
_LETTER_OF_A_WORD = rf"(?![{_CHINESE_JAPANESE_KOREAN}])[\w\u0e01-\u0e5b]"
# An option's text does not begin here: "hot|dog", "1|5", "x^|2", "5|\sqrt2"
_INSIDE_WORD = re.compile(
    rf"{_LETTER_OF_A_WORD}{_LETTER_OF_A_WORD}$"
    r"|[\d-][.,-]?\d$"
    r"|[\^/]\d$"
    r"|\w\\$|\d \\$"
)
# An option's text does not end here: "dog|s", "15| + 2", "15|.5"
_GOES_ON = re.compile(
    rf"{_LETTER_OF_A_WORD}{_LETTER_OF_A_WORD}"
    r"|.(?:\s?(?:[+*/^=>%\\]|-(?!\s[^\W\d]))|\((?![A-J]\))|\s\d|[.,]\d)"
)

_WORDLY = "A-Za-z0-9_\u00c0-\u04ff\u1e00-\u1eff"
_NOT_BEFORE_LETTER = "".join(
    (
        rf"(?<![{_WORDLY}'°\\@])",
        r"(?<![A-Za-z]\.)",
        r"(?<!\w[-–])",
        r"(?<!\w/)",
        r"(?<![^A-Za-z][A-Za-z]\()",
    )
)
# "C's", but "C'dir", which is Turkish for "is C"
_NOT_BEHIND_LETTER = rf"(?![{_WORDLY}]|'(?!d[ıiuü]r\b)[a-z]|\.[A-Za-z]\b|#|[-–]\w)"
LETTER = re.compile(
    rf"{_NOT_BEFORE_LETTER}[A-Za-z]{_NOT_BEHIND_LETTER}"
    rf"|(?<=[A-Z]/)[A-Z](?![{_WORDLY}])"
    r"|(?<=')[A-Z](?=')"
)
"""A single letter outside an abbreviation (D.C.), a unit (25 °C), a name (Louis C. K.) and a function call (P(A))."""

_SMALL_LETTER = "[a-zß-ÿа-я]"
_BLANKS = r"[^\S\n]+"
_AFTER_ENTRY = "because|since|yes|no|correct|incorrect|true|false|right|wrong"
_AFTER_A = "is|was|because|since|as|due|based|which|with|for|not|rather|and|or|but|it|can|cannot|seçene[kğ]i?|şıkkı"
_AFTER_I = "is|because|since|and|or|it|rather|can|not"
OTHER_USE = re.compile(
    "|".join(
        (
            r"\(",  # "f(x)"
            r"\s?[+*^=°\\×]",  # "A + B"
            r"[^\S\n](?:[a-z]\b(?!\))|\d)",  # "a b c", "A 5"
            rf"\.\s(?!(?:{_AFTER_ENTRY})\b)[a-z]",  # "E. coli"
            rf"(?<=A)(?<![a-zà-ÿ,;] A){_BLANKS}(?!(?:{_AFTER_A})\b){_SMALL_LETTER}",  # "A man"
            rf"(?<=I)(?!\s+(?:{_AFTER_I})\b(?!')){_BLANKS}{_SMALL_LETTER}",  # "I was"
            r"(?<=[a-z])(?!\s?(?:[.,:)]\s*)?(?:$|\n|because\b|since\b)|\))",  # "a dog"
        )
    )
)
"""Text after a single letter that shows that the letter names no option: "f(x)", "E. coli", "a dog", "I was"."""
_FORMULA_START = r"(?:(?<!: )\$|\\[(\[]\s?)[A-Za-z\\({]"
_FORMULA_PERIOD = r"\.(?!\s)"
_FORMULA_COMMAND = r"\\(?!boxed|[()\[\]])"
UNCLOSED_FORMULA = re.compile(
    rf"{_FORMULA_START}(?:[^$\n.\\]|{_FORMULA_PERIOD}|{_FORMULA_COMMAND})*\Z"
)
"""A formula that is still open at the end of a truncated output: "so we have $a"."""
BEFORE_VARIABLE = re.compile(r"\$$|=\s?$")
"""Text that may precede a lower-case letter that is a variable: "Hence $c$", "a = b"."""
AFTER_ENUMERATOR = re.compile(r"\)\s+\w")
"""Text that may follow a letter that numbers a part of a solution: "a) Given that …"."""
_WORD_OF_ONE_LETTER = re.compile(r"I|[EOY]\s[a-zß-ÿ]")
"""A word of one letter: the pronoun "I", or an article or "and" of a Romance language."""
_OPTION_WORDS = ("option ", "choice ", "letter ")

TextSpans = dict[int, tuple[int, str]]
"""The places where option texts begin and end in an answer.

A key is the offset at which a text begins. Its value has the offset at which the text
ends, and the option's letter. If options share the text, the value has all their
letters.
"""


@dataclass(frozen=True, slots=True)
class Mention:
    """An option that is named by its letter."""

    letter: str
    start: int
    """The offset of the letter."""
    text_start: int
    """The start of the option's own text, if it follows the letter."""
    end: int
    """The end of the mention: after the letter, or after the option's own text."""

    @property
    def has_text(self) -> bool:
        """True if the option's own text follows its letter."""
        return self.end > self.start + 1


def flatten(text: str) -> str:
    """Return a text without markdown, HTML, LaTeX wrappers, full-width forms and invisible characters."""
    text = text.strip()
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = text[:HEAD_CHARS] + "\n\n" + text[-TAIL_CHARS:]
    if _NEEDS_FLATTENING.search(text) is None:
        return text
    normal = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    plain = _INVISIBLE.sub("", normal)
    for pattern, replacement in _MARKUP_PATTERNS:
        plain = pattern.sub(replacement, plain)
    return plain.strip()


def mark(
    plain: str,
    options: Mapping[str, str],
    *,
    is_cut: bool,
) -> str:
    """Return the text with its mentions of options marked."""
    texts = find_texts(plain, options)
    chars = list(plain)
    for mention in find_letters(plain, options, texts, is_cut=is_cut):
        _mark_letter(chars, mention)
    for start, (end, letters) in texts.items():
        is_shared = len(letters) > 1
        is_behind_letter = chars[start] != plain[start]
        if not is_shared and not is_behind_letter:
            length = end - start
            text_mark = _shifted(FIRST_TEXT_MARK, letters)
            chars[start:end] = text_mark + OWN_TEXT * (length - 1)
    return "".join(chars)


def letters_in_bold(
    text: str,
    options: Mapping[str, str],
) -> set[str]:
    """Return the letters of the options that a markdown text prints in bold, by letter or by text."""
    words = " | ".join(flatten(bold[2]) for bold in BOLD.finditer(text))
    marked = mark(words, options, is_cut=False)
    marks = re.findall(f"[{LETTER_MARKS}{TEXT_MARKS}]", marked)
    return {letter_of(char) for char in marks}


def letter_of(mark_char: str) -> str:
    """Return the option's letter for a character that marks an option in the text."""
    # The code points of text marks are 64 above those of letter marks.
    number = (ord(mark_char) - ord(FIRST_LETTER_MARK)) % 64
    return chr(ord("A") + number)


def find_texts(
    plain: str,
    options: Mapping[str, str],
) -> TextSpans:
    """Return the spans of option texts in an answer. Longer texts take precedence."""
    owners = _letters_by_text(options)
    lower = _lower(plain)
    spans: TextSpans = {}
    for text in sorted(owners, key=len, reverse=True):
        start = lower.find(text)
        while start >= 0:
            end = start + len(text)
            if _is_whole(plain, start, end):
                spans[start] = end, owners[text]
                hidden = "\0" * len(text)
                lower = lower[:start] + hidden + lower[end:]
            start = lower.find(text, end)
    return spans


def find_letters(
    plain: str,
    options: Mapping[str, str],
    texts: TextSpans,
    *,
    is_cut: bool,
) -> Iterator[Mention]:
    """Yield the mentions of options by letter, each with the option's text if it follows."""
    last = len(plain)
    if "$" in plain or "\\" in plain:
        formula = UNCLOSED_FORMULA.search(plain)
        last = formula.start() if formula else last
    end = 0
    for match in LETTER.finditer(plain, 0, last):
        start = match.start()
        if start < end or _is_unit(plain, end, start):
            continue
        # The last word of an output that was cut may be an article or a pronoun.
        is_half_word = is_cut and match[0] in "AaIi" and 2 < len(plain) == start + 1
        if is_half_word:
            mention = None
        else:
            mention = _mention_at(plain, start, options, texts)
        if mention is not None:
            end = mention.end
            yield mention


def _letters_by_text(options: Mapping[str, str]) -> dict[str, str]:
    """Return the letters of the options by their lower-case text without an article;
    several letters if options are equal.
    """
    owners: dict[str, str] = {}
    for letter, option in options.items():
        lower = _lower(flatten(option))
        text = _ARTICLE.sub("", lower).strip(" .$")
        # A text of one letter would be taken for the letter of an option.
        is_letter = len(text) == 1 and text.isascii() and text.isalpha()
        if not text or is_letter:
            continue
        others = owners.get(text, "")
        owners[text] = others + letter
    return owners


def _lower(text: str) -> str:
    """Return a text in lower case without changing its length."""
    return text.replace("İ", "i").lower()


def _is_whole(
    plain: str,
    start: int,
    end: int,
) -> bool:
    """Return True if the text from `start` to `end` is not part of a longer word, number or formula."""
    before = plain[max(0, start - 2) : start + 1]
    if _INSIDE_WORD.search(before):
        return False
    return _GOES_ON.match(plain, end - 1) is None


def _mention_at(
    plain: str,
    start: int,
    options: Mapping[str, str],
    texts: TextSpans,
) -> Mention | None:
    """Return the mention that begins with the letter at `start`; None if this letter is not an option."""
    end = start + 1
    letter = plain[start].upper()
    is_word = letter not in options and _WORD_OF_ONE_LETTER.match(plain, start)
    if is_word or start in texts or _is_variable(plain, start):
        return None
    between = _BETWEEN_LETTER_AND_TEXT.match(plain, end)
    text_start = between.end() if between else end
    text_end, owners = texts.get(text_start, (end, ""))
    if _is_own_letter(plain, text_start, options.get(letter)):
        text_end = text_start + 1
        owners = letter
    if _is_article(plain, start, owners):
        return None
    if letter in owners:
        return Mention(letter, start, text_start, text_end)
    if _is_used_otherwise(plain, start, options.get(letter)):
        return None
    return Mention(letter, start, text_start, end)


def _is_own_letter(
    plain: str,
    text_start: int,
    option: str | None,
) -> bool:
    """Return True if the option's text is one character and follows the letter. For
    blood groups, "(A) B" is option A.
    """
    follows = plain[text_start : text_start + 1]
    if not follows or option != follows:
        return False
    return not plain[text_start + 1 : text_start + 2].isalnum()


def _is_article(
    plain: str,
    start: int,
    owners: str,
) -> bool:
    """Return True if the letter at `start` is an article: in "a dog", and in "A dog" unless option A is "dog"."""
    if plain[start] not in "Aa" or not owners or plain[start + 1 : start + 2] != " ":
        return False
    return plain[start] == "a" or "A" not in owners


def _is_variable(plain: str, start: int) -> bool:
    """Return True if the lower-case letter at `start` is a variable of a formula: "$c$", "a = b"."""
    if not plain[start].islower():
        return False
    before = plain[max(0, start - 3) : start]
    return BEFORE_VARIABLE.search(before) is not None


def _is_used_otherwise(
    plain: str,
    start: int,
    option: str | None,
) -> bool:
    """Return True if a letter without its option's text is not an option: a word, a
    name, or a label ("a) Given that").
    """
    end = start + 1
    if OTHER_USE.match(plain, end):
        before = plain[max(0, start - 7) : start]
        if before.lower() not in _OPTION_WORDS:
            return True
    if not option or not plain[start].islower():
        return False
    if AFTER_ENUMERATOR.match(plain, end) is None:
        return False
    line_before = plain[:start].rstrip("(")
    return not line_before or line_before.endswith("\n")


def _is_unit(
    plain: str,
    end: int,
    start: int,
) -> bool:
    """Return True if the letter is a unit, because a number and a space precede it: "10 A", "$10^{-12}$ g"."""
    if start - 1 <= end or plain[start - 1] != " ":
        return False
    return plain[end:start].rstrip(" $}")[-1:].isdigit()


def _mark_letter(
    chars: list[str],
    mention: Mention,
) -> None:
    """Replace an option's letter with its mark, and the option's text after it with `OWN_TEXT` characters."""
    chars[mention.start] = _shifted(FIRST_LETTER_MARK, mention.letter)
    if not mention.has_text:
        return
    for index in range(mention.start + 1, mention.text_start):
        if chars[index] not in "\n:,-":
            chars[index] = OWN_TEXT
    length = mention.end - mention.text_start
    chars[mention.text_start : mention.end] = OWN_TEXT * length


def _shifted(first: str, letter: str) -> str:
    return chr(ord(first) + ord(letter) - ord("A"))
