"""The word classes for reading an answer, and the parts from which patterns over them are assembled.

An answer becomes a string with one letter for each word: "So the answer is (B)." is `kfaim.`, for concludes,
filler, answer, is, letter, stop.
"""

from enum import StrEnum


class WordClass(StrEnum):
    """The function of a word in an answer. The value is its letter in the string of classes."""

    ANSWER = "a"
    """answer, solution, verdict, 答案"""
    OPTION_WORD = "o"
    """option, choice, letter"""
    RIGHT = "g"
    """right, correct, best, final, ✅"""
    IS = "i"
    """is, must be, corresponds to"""
    TAKES = "c"
    """choose, go with, settle on"""
    FITS = "v"
    """fits, matches, remains"""
    FILLER = "f"
    """A word that does not affect which option is chosen: the, I, think, overall."""
    CONCLUDES = "k"
    """so, therefore, →"""
    BECAUSE = "r"
    """because, since, which"""
    COMPARES = "l"
    """although, unlike, rather than"""
    LIMITS = "p"
    """in, under, for, assuming: the statement holds under a condition."""
    WOULD = "w"
    """would, then"""
    DENIES = "n"
    """not, wrong, except, isn't"""
    IS_NOT_BUT = "x"
    """ではなく: the option before it is denied, the one after it is chosen."""
    SUPPOSES = "s"
    """if, suppose, perhaps, might"""
    REPORTS = "h"
    """students, according to, was, often"""
    CONTRASTS = "q"
    """but, however, instead"""
    CORRECTS = "y"
    """wait, actually, correction"""
    JOINS = "j"
    """and, or, &"""
    DECLINES = "z"
    """I cannot, I don't know, as an AI"""
    LETTER = "m"
    """The letter of an option, with the option's own text if that follows."""
    TEXT = "t"
    """The text of an option without its letter."""
    BOX = "b"
    """The beginning of a box, an answer tag or the value of a JSON key."""
    NUMBER = "d"
    UNKNOWN = "u"
    """A word that is in no word file."""
    COLON = ":"
    COMMA = ","
    DASH = "-"
    QUOTE = '"'
    STOP = "."
    """Ends a sentence."""
    QUESTION = "?"
    """Ends a question."""
    LINE = "|"
    """Ends a line."""
    PARAGRAPH = "¶"
    """Ends a paragraph."""


def word(name: str) -> str:
    """Return the letter of one word class."""
    return str(WordClass[name])


def letters(names: str) -> str:
    """Return the letters of several word classes."""
    return "".join(word(name) for name in names.split())


def any_of(names: str) -> str:
    """Return a pattern for one word of these classes."""
    return f"[{letters(names)}]"


def none_of(names: str) -> str:
    """Return a pattern for one word of any other class."""
    return f"[^{letters(names)}]"


def either(*parts: str) -> str:
    """Return a pattern for one of several parts."""
    return f"(?:{'|'.join(parts)})"


def named(name: str, part: str) -> str:
    """Return a part whose match can be looked up by name."""
    return f"(?P<{name}>{part})"


def before(part: str) -> str:
    """Return a condition: the part follows here."""
    return f"(?={part})"


def not_before(part: str) -> str:
    """Return a condition: the part does not follow here."""
    return f"(?!{part})"


def after(part: str) -> str:
    """Return a condition: the part precedes this position."""
    return f"(?<={part})"


def not_after(part: str) -> str:
    """Return a condition: the part does not precede this position."""
    return f"(?<!{part})"


ENDS = "STOP QUESTION LINE PARAGRAPH"
"""The classes that end a sentence."""
SAME_SENTENCE = none_of(ENDS)
SENTENCE_BEGINS = not_after(SAME_SENTENCE)
SENTENCE_ENDS = not_before(SAME_SENTENCE)
STATEMENT_ENDS = not_before(none_of("STOP LINE PARAGRAPH"))
"""The end of a sentence without a question mark."""
