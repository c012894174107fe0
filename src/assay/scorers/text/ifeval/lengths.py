"""IFEval's checks of the length of a response, and how its sentences are counted.

Sentences are counted for English prose. The official checker uses nltk's trained Punkt
model, whose tables are not included here. This splitter behaves like that model, with
short lists of common abbreviations and common first words instead of the learned
tables:

- a run of `.`, `?` or `!` ends a sentence if whitespace or a bracket, quote, asterisk or colon follows;
  closing quotes and brackets belong to the sentence they close;
- a line break alone does not end a sentence. The number of a list item ("1.") before a capital letter is treated as a
  sentence, and so is a closing `}` or `**` after the last period. This is surprising, but published scores
  depend on it;
- after an abbreviation, initials or an ellipsis, a period ends a sentence only before a word that often begins
  one ("The", "However"). "e.g.", "i.e." and "etc." are not among the abbreviations, as in Punkt.

The splitter takes one pass: for each terminator it reads a bounded span before it and
one word after it.
"""

import re
from collections.abc import Iterator

from .wording import count_words, holds

# The lookbehind and the bounds prevent a long row of marks from being scanned again from each mark.
_TERMINATOR = re.compile(
    r"(?<![.?!]) [.?!]++ (?: [\"')\]}”’»]{1,8} [.?!]++ ){0,3}+ (?= [\s\"')\]}”’»“‘*:;({\[@] )",
    re.VERBOSE,
)
_CLOSING = re.compile(r"\s*+[\"')\]}”’»]++(?=\s|\Z)")
_GAP = re.compile(r"[\s\"')\]}”’»“‘]*+")
_WORD = re.compile(r"[^\W_]{0,20}")
# Bounded: no abbreviation is longer, and a search back to the last space is quadratic on text without spaces.
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
    """Return the sentences of `text` in order, without surrounding whitespace."""
    ends = [*_boundaries(text), len(text)]
    starts = [0, *ends[:-1]]
    sentences = []
    for start, end in zip(starts, ends, strict=True):
        sentence = text[start:end].strip()
        if sentence:
            sentences.append(sentence)
    return sentences


def count_sentences(text: str) -> int:
    """Return the number of sentences in a text; 0 if it is only whitespace."""
    return len(split_sentences(text))


def _boundaries(text: str) -> Iterator[int]:
    """Yield the offset of the end of each sentence except the last."""
    for mark in _TERMINATOR.finditer(text):
        if _ends_sentence(text, mark):
            closing = _CLOSING.match(text, mark.end())
            yield closing.end() if closing else mark.end()


def _ends_sentence(
    text: str,
    mark: re.Match[str],
) -> bool:
    """Return True if a run of terminators (`.`, `?`, `!`) ends a sentence."""
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
    """Return the word at a position, after spaces and quotes; empty if any other punctuation mark comes first."""
    gap = _GAP.match(text, position)
    word = _WORD.match(text, gap.end() if gap else position)
    return word.group() if word else ""


def _opens(word: str) -> bool:
    """Return True if this capitalized word often begins a sentence."""
    return word[:1].isupper() and word.lower() in _OPENERS


_WORD_ENDS = ".,?!'\""


def has_number_of_words(
    response: str,
    *,
    num_words: int,
    relation: str,
) -> bool:
    """Return True if the number of words is "at least" or "less than" `num_words`, as `relation` requires."""
    return holds(count_words(response), relation, num_words)


def has_number_of_sentences(
    response: str,
    *,
    num_sentences: int,
    relation: str,
) -> bool:
    """Return True if the number of sentences is "at least" or "less than" `num_sentences`, as `relation` requires."""
    return holds(count_sentences(response), relation, num_sentences)


def has_number_of_paragraphs(response: str, *, num_paragraphs: int) -> bool:
    """Return True for exactly `num_paragraphs` paragraphs between `***` dividers.

    Only the first and the last part may be empty.
    """
    parts = [part.strip() for part in response.split("***")]
    if not all(parts[1:-1]):
        return False
    paragraphs = [part for part in parts if part]
    return len(paragraphs) == num_paragraphs


def nth_paragraph_starts_with(
    response: str,
    *,
    num_paragraphs: int,
    nth_paragraph: int,
    first_word: str,
) -> bool:
    """Check for exactly `num_paragraphs` paragraphs, and that paragraph `nth_paragraph` begins with `first_word`.

    Blank lines separate paragraphs. As in the official checker, empty paragraphs count
    when the n-th paragraph is looked up, but not for `num_paragraphs`.
    """
    if nth_paragraph < 1:
        raise ValueError(f"`nth_paragraph` counts from 1, not {nth_paragraph}")
    paragraphs = response.split("\n\n")
    count = sum(1 for paragraph in paragraphs if paragraph.strip())
    if count != num_paragraphs or nth_paragraph > count:
        return False
    paragraph = paragraphs[nth_paragraph - 1]
    return _first_word(paragraph) == first_word.lower()


def _first_word(paragraph: str) -> str | None:
    """Return the first word of a paragraph in lower case, without leading quotes and up
    to its first punctuation mark.
    """
    tokens = paragraph.split(maxsplit=1)
    if not tokens:
        return None
    word = tokens[0].lstrip("'").lstrip('"')
    cut = next(
        (index for index, letter in enumerate(word) if letter in _WORD_ENDS), len(word)
    )
    return word[:cut].lower()
