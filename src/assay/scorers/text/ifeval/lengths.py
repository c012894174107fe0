"""Checks on the length of a response: words, sentences, paragraphs."""

from .relations import holds
from .sentences import count_sentences
from .tokens import count_words

_WORD_ENDS = ".,?!'\""


def has_number_of_words(response: str, *, num_words: int, relation: str) -> bool:
    """Return True if there are at least, or less than, `num_words` words."""
    return holds(count_words(response), relation, num_words)


def has_number_of_sentences(
    response: str,
    *,
    num_sentences: int,
    relation: str,
) -> bool:
    """Return True if there are at least, or less than, `num_sentences` sentences."""
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
    """Return True for exactly `num_paragraphs` paragraphs, of which the n-th (from 1) begins with the word.

    Blank lines separate paragraphs. As in the official checker, the n-th is looked up among all parts between blank
    lines, while only those with content are counted.
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
    """Return the first word in lower case, without quotes before it and cut at the first mark inside it."""
    tokens = paragraph.split(maxsplit=1)
    if not tokens:
        return None
    word = tokens[0].lstrip("'").lstrip('"')
    cut = next(
        (index for index, letter in enumerate(word) if letter in _WORD_ENDS), len(word)
    )
    return word[:cut].lower()
