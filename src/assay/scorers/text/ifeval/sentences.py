"""Sentence counting for English prose, without trained data.

The official checker asks nltk's trained Punkt model, whose tables we do not ship. This splitter follows what
that model does to text and replaces its learned tables by short lists (common abbreviations
it knows too, and common opening words):

- a run of `.`, `?` or `!` ends a sentence where white space or a bracket, quote, asterisk or colon follows;
  closing quotes and brackets stay with the sentence they close;
- line breaks alone end nothing, while the number of a list item ("1.") before a capital, and a closing `}`
  or `**` after the last period, each count as a sentence: surprising, but published scores rest on it;
- after an abbreviation, initials or dots of omission, a period ends a sentence only before a word that
  often opens one ("The", "However"). "e.g.", "i.e." and "etc." are not among the abbreviations, as in Punkt.

One pass: each terminator looks at a bounded stretch before it and at one word after it.
"""

import re
from collections.abc import Iterator

# The look behind and the bounds keep a long row of marks from being read again from each of its members.
_TERMINATOR = re.compile(
    r"(?<![.?!]) [.?!]++ (?: [\"')\]}”’»]{1,8} [.?!]++ ){0,3}+ (?= [\s\"')\]}”’»“‘*:;({\[@] )",
    re.VERBOSE,
)
_CLOSING = re.compile(r"\s*+[\"')\]}”’»]++(?=\s|\Z)")
_GAP = re.compile(r"[\s\"')\]}”’»“‘]*+")
_WORD = re.compile(r"[^\W_]{0,20}")
# Bounded: no abbreviation is longer, and reading back to the last blank is quadratic on text without blanks.
_LOOK_BACK = 16
_TOKEN_BEFORE = re.compile(r"[^\s\"'()\[\]{}*_“”‘’/-]*\Z")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]\Z")
_POSTSCRIPTS = frozenset({"P.S", "P.P.S"})

_ABBREVIATIONS = frozenset(
    {
        "a.m",
        "aug",
        "ave",
        "bros",
        "co",
        "col",
        "corp",
        "d.c",
        "dec",
        "dr",
        "feb",
        "fri",
        "ft",
        "gen",
        "inc",
        "jan",
        "jr",
        "lt",
        "ltd",
        "maj",
        "mr",
        "mrs",
        "ms",
        "nov",
        "oct",
        "p.m",
        "ph.d",
        "prof",
        "rep",
        "sen",
        "sep",
        "sept",
        "sr",
        "st",
        "tues",
        "u.k",
        "u.n",
        "u.s",
        "u.s.a",
        "vs",
        "wed",
    }
)
_OPENERS = frozenset(
    {
        "a",
        "after",
        "all",
        "also",
        "although",
        "an",
        "and",
        "another",
        "any",
        "are",
        "as",
        "at",
        "because",
        "before",
        "but",
        "by",
        "can",
        "did",
        "do",
        "does",
        "each",
        "even",
        "every",
        "finally",
        "first",
        "for",
        "from",
        "given",
        "had",
        "has",
        "have",
        "he",
        "her",
        "here",
        "his",
        "how",
        "however",
        "i",
        "if",
        "in",
        "instead",
        "is",
        "it",
        "its",
        "just",
        "last",
        "let",
        "many",
        "maybe",
        "more",
        "most",
        "my",
        "next",
        "no",
        "not",
        "now",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "over",
        "perhaps",
        "please",
        "she",
        "since",
        "so",
        "some",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "though",
        "through",
        "thus",
        "to",
        "under",
        "unfortunately",
        "until",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "would",
        "yes",
        "yet",
        "you",
        "your",
    }
)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, blanks at their ends removed."""
    ends = [*_boundaries(text), len(text)]
    starts = [0, *ends[:-1]]
    pieces = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return [piece for piece in pieces if piece]


def count_sentences(text: str) -> int:
    """How many sentences; a text of blanks has none."""
    return len(split_sentences(text))


def _boundaries(text: str) -> Iterator[int]:
    for mark in _TERMINATOR.finditer(text):
        if _ends_sentence(text, mark):
            closing = _CLOSING.match(text, mark.end())
            yield closing.end() if closing else mark.end()


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    run = mark.group()
    if run.strip(
        "."
    ):  # a question, an exclamation, or a period after a closing mark as in "etc.)."
        return True
    token = _token_before(text, mark.start())
    if token.isdecimal():
        return not _following(text, mark.end())[:1].islower()
    if len(token) == 1 and token.isalpha():
        following = _following(text, mark.end())
        return not following or _opens(following)
    if len(run) > 1 or _is_abbreviation(token):
        return _opens(_following(text, mark.end()))
    return True


def _token_before(text: str, end: int) -> str:
    match = _TOKEN_BEFORE.search(text[max(0, end - _LOOK_BACK) : end])
    return match.group() if match else ""


def _is_abbreviation(token: str) -> bool:
    if token.lower() in _ABBREVIATIONS:
        return True
    return token not in _POSTSCRIPTS and _INITIALS.match(token) is not None


def _following(text: str, position: int) -> str:
    """The next word after blanks and closing or opening quotes; empty before any other mark."""
    gap = _GAP.match(text, position)
    word = _WORD.match(text, gap.end() if gap else position)
    return word.group() if word else ""


def _opens(word: str) -> bool:
    return word[:1].isupper() and word.lower() in _OPENERS
