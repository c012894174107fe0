"""Convert an answer to a string with one letter for each word: the letter of the word's class.

For example, "So the answer is (B)." is `kfaim.`: concludes, filler, answer, is, letter,
stop. The words of each class are in `words/`, one file for each language. The functions
here are the parts of patterns over such strings; the patterns are in `choice_grammar`.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .choice_mentions import DENSE, LETTER_MARKS, OWN_TEXT, TEXT_MARKS


class WordClass(StrEnum):
    """The function of a word in an answer. The value is its letter in the string of classes."""

    ANSWER = "a"
    """Words such as answer, solution, verdict, 答案."""
    OPTION_WORD = "o"
    """Words such as option, choice, letter."""
    RIGHT = "g"
    """Words such as right, correct, best, final, ✅."""
    IS = "i"
    """Words such as is, must be, corresponds to."""
    TAKES = "c"
    """Words such as choose, go with, settle on."""
    LEAVES = "e"
    """Words such as leaves, makes.

    They choose the option whose letter follows: "That leaves B", not "That leaves 12".
    """
    FITS = "v"
    """Words such as fits, matches, remains."""
    FILLER = "f"
    """Words that do not affect which option is chosen, such as the, I, think, overall."""
    CONCLUDES = "k"
    """Words such as so, therefore, →."""
    BECAUSE = "r"
    """Words such as because, since, which."""
    COMPARES = "l"
    """Words such as although, unlike, rather than."""
    LIMITS = "p"
    """Words such as in, under, for, assuming. They begin a condition that limits the statement."""
    WOULD = "w"
    """Words such as would, then."""
    DENIES = "n"
    """Words such as not, wrong, except, isn't."""
    IS_NOT_BUT = "x"
    """Words such as ではなく, which deny the option before them and choose the one after them."""
    SUPPOSES = "s"
    """Words such as if, suppose, perhaps, might."""
    REPORTS = "h"
    """Words such as students, according to, often."""
    WAS = "E"
    """Words such as was, were. Their clause only reports an answer; the next clause may still declare one."""
    CONTRASTS = "q"
    """Words such as but, however, instead."""
    CORRECTS = "y"
    """Words such as wait, actually, correction."""
    JOINS = "j"
    """Words such as and, or, &."""
    DECLINES = "z"
    """Phrases such as I cannot, I don't know, as an AI."""
    LETTER = "m"
    """The letter of an option, with the option's own text if that follows."""
    TEXT = "t"
    """The text of an option without its letter."""
    BOX = "b"
    """The beginning of a box, an answer tag or the value of a JSON key."""
    NUMBER = "d"
    UNKNOWN = "u"
    """A word that is not listed for any class."""
    FIRST = "1"
    SECOND = "2"
    THIRD = "3"
    FOURTH = "4"
    FIFTH = "5"
    LAST = "0"
    """Words for the last position in a list: "the last option". Away from words such as
    "option" they count as `UNKNOWN`.
    """
    COLON = ":"
    COMMA = ","
    DASH = "-"
    QUOTE = '"'
    STOP = "."
    """A mark that ends a sentence."""
    QUESTION = "?"
    """A mark that ends a question."""
    LINE = "|"
    """A line break."""
    PARAGRAPH = "¶"
    """A line break that ends a paragraph."""


def word(name: str) -> str:
    """Return the letter of a word class, given the name of the class: `word("IS")` is `i`."""
    return str(WordClass[name])


def letters(names: str) -> str:
    """Return the letters of several word classes: `letters("IS WOULD")` is `iw`."""
    return "".join(word(name) for name in names.split())


def any_of(names: str) -> str:
    """Return a pattern for one word of any of these classes: `any_of("IS WOULD")` is `[iw]`."""
    return f"[{letters(names)}]"


def none_of(names: str) -> str:
    """Return a pattern for one word of none of these classes: `none_of("IS WOULD")` is `[^iw]`."""
    return f"[^{letters(names)}]"


def either(*parts: str) -> str:
    """Return a pattern that matches any of the given patterns."""
    return f"(?:{'|'.join(parts)})"


def named(name: str, part: str) -> str:
    """Return a pattern as a named group."""
    return f"(?P<{name}>{part})"


def before(part: str) -> str:
    """Return a lookahead pattern: `part` follows at this position."""
    return f"(?={part})"


def not_before(part: str) -> str:
    """Return a negative lookahead pattern: `part` does not follow at this position."""
    return f"(?!{part})"


def after(part: str) -> str:
    """Return a lookbehind pattern: `part` precedes this position."""
    return f"(?<={part})"


def not_after(part: str) -> str:
    """Return a negative lookbehind pattern: `part` does not precede this position."""
    return f"(?<!{part})"


ENDS = "STOP QUESTION LINE PARAGRAPH"
"""The classes that end a sentence."""
SAME_SENTENCE = none_of(ENDS)
SENTENCE_BEGINS = not_after(SAME_SENTENCE)
SENTENCE_ENDS = not_before(SAME_SENTENCE)
STATEMENT_ENDS = not_before(none_of("STOP LINE PARAGRAPH"))
"""The end of a sentence without a question mark."""


LANGUAGES = (
    *("en", "es", "pt", "it", "fr", "de", "nl", "sv", "ru", "uk"),
    *("pl", "cs", "tr", "vi", "id", "ar", "hi", "zh", "ja", "ko", "th"),
)
"""The languages of the word files, in reading order. If two languages give a word
different classes, the first one counts.
"""
WORDS = Path(__file__).with_name("words")

_SIGN_CLASSES = {
    **dict.fromkeys(":=|", WordClass.COLON),
    **dict.fromkeys("–—…", WordClass.DASH),
    **dict.fromkeys("&+/", WordClass.JOINS),
    '"': WordClass.QUOTE,
}

# "dog. Cats", "dog!", "dog; cat", "dog\n": but not "D.C.", "e.g." or the list "A; B"
_STOP_AFTER_WORD = (
    r"(?<![^°\w][a-z])(?<!^[a-z])\."
    r"[\"')\]_$\\]*(?=\s|$|<)"
)
# "<answer>C</answer> The final answer", "\boxed{C} The final answer"
_BOX_CLOSED = (
    r"(?:<\s?/\s?(?:final_?)?(?:answer|choice|option)\s?>|\})"
    r"[$*]{0,2}(?=\s{1,4}(?-i:[A-Z][a-z]))"
)
_SENTENCE_END = "|".join(
    (
        r"\s*\n\s*",
        r"[!?。।]+[\"')」]*",
        rf";(?!\s*[(\[]?[{LETTER_MARKS}]\W*(?:$|\n))",
        _STOP_AFTER_WORD,
        r"\.[$\\\]]+(?=\s|$)",
        r"\.(?=\s{1,4}(?-i:[A-Z][a-z]))",
        _BOX_CLOSED,
    )
)


def _words_of(
    word_class: str,
    languages: Sequence[str],
) -> str:
    """Return a pattern for the words of one class from the word files of several languages."""
    words = [
        re.escape(word)
        for language in languages
        for word in _read_file(language).get(word_class, ())
    ]
    return either(*sorted(words, key=len, reverse=True))


def _read_file(language: str) -> dict[str, list[str]]:
    """Return the words of one word file, by the name of their class."""
    return tomllib.loads((WORDS / f"{language}.toml").read_text("utf-8"))


# "correcta", "最终"
_RIGHT_WORD = _words_of("right", LANGUAGES)
# "respuesta", "答案": the English words are listed, since "conclusion" and others have texts
_ANSWER_WORD = _words_of("answer", LANGUAGES[1:])
# "\boxed", "<answer>", '"final_answer":', '"respuesta_correcta":', '"最终答案":'
_BOX = "|".join(
    (
        r"\\f?boxed",
        r"<\s?(?:final_?)?(?:answer|choice|option)\s?>",
        r"[\"'](?!wrong|incorrect|not_)(?:\w{2,9}_)?(?:answer|choice|option|letter|prediction)[\"']\s?:",
        rf"[\"'](?:{_RIGHT_WORD}\w?[_ ]?)?{_ANSWER_WORD}(?:[_ ]?{_RIGHT_WORD}\w?)?[\"']\s?:",
    )
)
# "isn't", "'s", "and/or", "->", one Chinese character, "3.5", "dog"
_NEGATION = r"[a-z]{2,7}n't\b"
_SHORT_FORM = r"'(?:s|d|ll|m|ve|re)\b|and/or"
_ARROW = "[-=]>|[→⇒⟹⟶➜➡]"
_NUMBER = r"\d+(?:[.,]\d+)*"
_WORD = rf"(?:(?![{DENSE}_])[^\W\d][\u0900-\u0963\u0966-\u0dff]*)+"
# ",", ":", "…", " - ", "(" that opens no option, a quotation mark that quotes no option
_MARK = f"{LETTER_MARKS}{TEXT_MARKS}"
_SIGN = "|".join(
    (
        "[,،、;:=–—…&+/|✅✓✔❌✗✘]",
        rf"\.\.\.+(?=\s*[{LETTER_MARKS}])",
        r"\.\.+(?=\.)",
        r"\s-\s",
        rf"\((?!\s?[{LETTER_MARKS}])",
        rf"(?<=[{LETTER_MARKS}]\s)\(",
        rf'(?<![{_MARK}{OWN_TEXT}])"(?!\s?\$?(?:an? |the )?[{_MARK}])',
    )
)
# A group is named by the letter of the class that its tokens have.
TOKEN = re.compile(
    "(?i)"
    + "|".join(
        (
            f"(?P<end>{_SENTENCE_END})",
            f"(?P<b>{_BOX})",
            f"(?P<m>[{LETTER_MARKS}]{OWN_TEXT}*)",
            f"(?P<t>[{TEXT_MARKS}]{OWN_TEXT}*)",
            f"(?P<n>{_NEGATION})",
            _SHORT_FORM,
            f"(?P<k>{_ARROW})",
            f"[{DENSE}]",
            f"(?P<d>{_NUMBER})",
            _WORD,
            f"(?P<sign>{_SIGN})",
        )
    )
)
# "answer", "the correct … option", "option correct"
_HEADING_NOUN = either(
    word("ANSWER"),
    word("RIGHT")
    + any_of("FILLER RIGHT OPTION_WORD UNKNOWN")
    + "*"
    + word("OPTION_WORD"),
    word("OPTION_WORD") + word("RIGHT"),
)
HEADING = re.compile(
    f"{SENTENCE_BEGINS}({none_of(f'LETTER COLON {ENDS}')}*{_HEADING_NOUN}{any_of('FILLER IS WOULD COLON')}*)"
    f"({any_of('LINE PARAGRAPH')}+)"
)
r"""A heading and the line break after it, which is read as a colon: "The correct answer is\
B"."""


class ClassifiedText(NamedTuple):
    """The classes of the words of a text, and the offset at which each word begins."""

    classes: str
    starts: list[int]


class Phrase(NamedTuple):
    """Words that together have one word class, such as "must be"; or a single word."""

    words: list[str]
    word_class: str


def classify(marked: str) -> ClassifiedText:
    """Return the word classes of a text whose options are marked (see `choice_mentions`)."""
    phrases = read_phrases()
    tokens = list(TOKEN.finditer(marked))
    classes: list[str] = []
    starts: list[int] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        word = token[0].lower()
        starts.append(token.start())
        phrase = _phrase_at(phrases, tokens, index, word)
        if phrase is None:
            classes.append(_class_of_token(token, word))
            index += 1
        else:
            classes.append(phrase.word_class)
            index += len(phrase.words)
    text = HEADING.sub(_end_heading_with_colon, "".join(classes))
    return ClassifiedText(text, starts)


@cache
def read_phrases() -> dict[str, list[Phrase]]:
    """Read the word files once; return the phrases by their first word, the longest first."""
    phrases: dict[str, list[Phrase]] = {}
    for language in LANGUAGES:
        for phrase in _read_language(language):
            first_word = phrase.words[0]
            phrases.setdefault(first_word, []).append(phrase)
    for same_start in phrases.values():
        same_start.sort(key=lambda phrase: -len(phrase.words))
    return phrases


def _read_language(language: str) -> Iterator[Phrase]:
    """Yield the phrases of one word file."""
    for name, entries in _read_file(language).items():
        word_class = WordClass[name.upper()]
        for entry in entries:
            words = [match[0] for match in TOKEN.finditer(entry)]
            yield Phrase(words, word_class.value)


def _phrase_at(
    phrases: dict[str, list[Phrase]],
    tokens: list[re.Match[str]],
    index: int,
    word: str,
) -> Phrase | None:
    """Return the longest phrase that begins at the token `index`; None if there is none.

    Its first word may be one letter shorter than `word`, if `word` has more than 5
    letters: "choose" also matches "chooses".
    """
    candidates = phrases.get(word)
    if candidates is None and len(word) > 5:
        candidates = phrases.get(word[:-1])
    for phrase in candidates or ():
        length = len(phrase.words)
        if length == 1:
            return phrase
        following = tokens[index + 1 : index + length]
        if [token[0].lower() for token in following] == phrase.words[1:]:
            return phrase
    return None


def _class_of_token(
    token: re.Match[str],
    word: str,
) -> str:
    """Return the class of a token that is in no word file, such as a number or a punctuation mark."""
    kind = token.lastgroup
    if kind is None:
        if word.endswith("ly"):
            return WordClass.FILLER
        return WordClass.UNKNOWN
    if kind == "end":
        return _class_of_end(word)
    if kind != "sign":
        return kind
    if word[0] in ". ":
        return WordClass.DASH
    return _SIGN_CLASSES.get(word.strip(), WordClass.COMMA)


def _class_of_end(end: str) -> str:
    if end[0] == "?":
        return WordClass.QUESTION
    line_breaks = end.count("\n")
    if line_breaks > 1:
        return WordClass.PARAGRAPH
    return WordClass.LINE if line_breaks else WordClass.STOP


def _end_heading_with_colon(heading: re.Match[str]) -> str:
    return heading[1] + ":" * len(heading[2])
