"""Sentence counting for English prose, without trained data.

The official checker uses nltk's trained Punkt model, whose tables are not included here. This
splitter behaves like that
model, with short lists in place of the learned tables (common abbreviations it knows too, and common opening words):

- a run of `.`, `?` or `!` ends a sentence if white space or a bracket, quote, asterisk or colon follows;
  closing quotes and brackets belong to the sentence they close;
- line breaks alone end nothing, while the number of a list item ("1.") before a capital, and a closing `}`
  or `**` after the last period, each count as a sentence: surprising, but published scores depend on it;
- after an abbreviation, initials or an ellipsis, a period ends a sentence only before a word that often begins
  one ("The", "However"). "e.g.", "i.e." and "etc." are not among the abbreviations, as in Punkt.

It takes one pass: each terminator looks at a bounded span before it and at one word after it.
"""

import re
from collections.abc import Iterator

# The lookbehind and the bounds prevent a long row of marks from being scanned again from each mark.
_TERMINATOR = re.compile(
    r"(?<![.?!]) [.?!]++ (?: [\"')\]}”’»]{1,8} [.?!]++ ){0,3}+ (?= [\s\"')\]}”’»“‘*:;({\[@] )",
    re.VERBOSE,
)
_CLOSING = re.compile(r"\s*+[\"')\]}”’»]++(?=\s|\Z)")
_GAP = re.compile(r"[\s\"')\]}”’»“‘]*+")
_WORD = re.compile(r"[^\W_]{0,20}")
# Bounded: no abbreviation is longer, and a search back to the last blank is quadratic on text without blanks.
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
    """Return the sentences of `text` in order, without blanks at their ends."""
    ends = [*_boundaries(text), len(text)]
    starts = [0, *ends[:-1]]
    pieces = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return [piece for piece in pieces if piece]


def count_sentences(text: str) -> int:
    """Return the number of sentences; 0 for a text of blanks."""
    return len(split_sentences(text))


def _boundaries(text: str) -> Iterator[int]:
    """Yield the offset after each sentence but the last."""
    for mark in _TERMINATOR.finditer(text):
        if _ends_sentence(text, mark):
            closing = _CLOSING.match(text, mark.end())
            yield closing.end() if closing else mark.end()


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    """Return True if a run of marks ends a sentence."""
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
    """Return the token directly before an offset."""
    match = _TOKEN_BEFORE.search(text[max(0, end - _LOOK_BACK) : end])
    return match.group() if match else ""


def _is_abbreviation(token: str) -> bool:
    if token.lower() in _ABBREVIATIONS:
        return True
    return token not in _POSTSCRIPTS and _INITIALS.match(token) is not None


def _following(text: str, position: int) -> str:
    """Return the next word after blanks and quotes; empty before any other mark."""
    gap = _GAP.match(text, position)
    word = _WORD.match(text, gap.end() if gap else position)
    return word.group() if word else ""


def _opens(word: str) -> bool:
    """Return True if a capitalized word often begins a sentence."""
    return word[:1].isupper() and word.lower() in _OPENERS
