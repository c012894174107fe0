"""Text of a multiple-choice answer made plain: pure functions on strings, each linear in the length of its input."""

import re
import unicodedata

HEAD_CHARS = 4_000
TAIL_CHARS = 24_000
"""A longer output is read at both ends only: answers stand there, and the rules stay cheap on 1 MB of noise."""

_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f\ue000-\uf8ff\x00-\x08\x0b-\x1f\x7f]"
)
_QUOTES = str.maketrans("‘’“”„«»−‑\r", '\'\'"""""--\n')
_MARKUP: tuple[tuple[str, str], ...] = (
    (r"~~[^~\n]{1,200}~~", " "),
    # Capitals stay: `<B>` is an answer in brackets.
    (r"</?(?:b|i|u|strong|em|p|span|div|mark|code|center|br ?/?)(?:\s[^<>\n]{0,80})?>", ""),
    (r"\*\*+|`+|(?<!\w)__+(?=\w)|(?<=\w)__+(?!\w)|(?<![\w*])\*(?=[\w(\"'])|(?<=[\w.)!?:,\"'])\*(?![\w*])", ""),
    (r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|bf|rm|mbox|bm|boldsymbol)\s{0,2}\{", "{"),
    (r"\\[,;!]|~(?=\w)|\\(?:quad|ldots|dots)\b", " "),
)
_NOT_PLAIN = re.compile(r"[^ -}\n\t]|[<*_`\\]")
"""What `flatten` may have to change: all else, nearly every short answer, is plain already."""


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
