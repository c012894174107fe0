"""The words of one answer: which option each names, and the sentence around it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from .choice_grammar import ENTRY, LETTER, SENTENCE_END, SUPPOSITION_BEFORE, WOULD
from .choice_mentions import FIRST_LETTER_MARK, OWN_TEXT, mark
from .choice_words import classify

BEFORE_LETTER = (
    *("declared", "chosen", "boxed"),
    *("concluded", "leading-text", "option-text"),
)
"""Rules whose evidence ends with the option; that of the others begins with it."""
EVIDENCE_CHARS = 160
SENTENCE_WORDS = 400
"""Words on either side in which the sentence around a word is searched."""


class Extraction(NamedTuple):
    """The answer, the rule that read it or says why there is none, and the words it relied on, shortened."""

    answer: str | None
    rule: str
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""


class AnswerWords:
    """An answer with its options marked and its words classified.

    An index counts words; `starts` has the offset of each word in the plain text.
    """

    def __init__(self, plain: str, options: Mapping[str, str], is_cut: bool) -> None:
        self.plain = plain
        self.options = options
        self.is_cut = is_cut
        self.marked = mark(plain, options, is_cut=is_cut)
        self.classes, self.starts = classify(self.marked)

    def letter_at(self, index: int) -> str | None:
        """Return the letter of the option that a word names; None if it names no option."""
        mark_char = self.marked[self.starts[index]]
        # Marks of texts follow 64 behind those of letters.
        number = (ord(mark_char) - ord(FIRST_LETTER_MARK)) % 64
        letter = chr(ord("A") + number)
        return letter if letter in self.options else None

    def has_own_text(self, index: int) -> bool:
        """Return True if the option's own text follows its letter."""
        start = self.starts[index]
        return OWN_TEXT in self.marked[start : start + 5]

    def sentence_before(self, index: int) -> str:
        """Return the classes of a sentence up to a word."""
        words = self.classes[max(0, index - SENTENCE_WORDS) : index]
        return SENTENCE_END.split(words)[-1]

    def sentence_behind(self, index: int) -> str:
        """Return the classes of a sentence from a word on."""
        words = self.classes[index : index + SENTENCE_WORDS]
        return SENTENCE_END.split(words, maxsplit=1)[0]

    def is_supposed(self, start: int, end: int) -> bool:
        """Return True if words say what would be the case, and the sentence before them supposes it."""
        if WOULD not in self.classes[max(0, start - 3) : end]:
            return False
        words_before = self.classes[max(0, start - 200) : start]
        return SUPPOSITION_BEFORE.search(words_before) is not None

    @cached_property
    def entries(self) -> dict[int, str | None]:
        """The entries of a list: the option with which a line or sentence opens, by index."""
        ends = (entry.end() - 1 for entry in ENTRY.finditer(self.classes))
        return {index: self.letter_at(index) for index in ends}

    def letters_named(self) -> set[str | None]:
        """Return the options that the answer names by their letters."""
        indexes = (
            index
            for index, word_class in enumerate(self.classes)
            if word_class == LETTER
        )
        return {self.letter_at(index) for index in indexes}

    def evidence_from(self, index: int) -> str:
        """Return the plain text from a word on, shortened."""
        return self.plain[self.starts[index] :][:EVIDENCE_CHARS]

    def result(
        self,
        letter: str | None,
        rule: str,
        first: int,
        option: int,
    ) -> Extraction:
        """Return what a rule read from the words `first` to `option`; without a letter several were named."""
        begin = self.starts[first]
        if rule not in BEFORE_LETTER:
            end = self.starts[option] + 40
        elif option + 1 < len(self.starts):
            end = self.starts[option + 1]
        else:
            end = len(self.plain)
        words = self.plain[begin:end]
        evidence = words[:EVIDENCE_CHARS].strip()
        if letter is None:
            return Extraction(None, "ambiguous", "unparsed", evidence)
        return Extraction(letter, rule, "scored", evidence)
