"""Read an answer by the text of an option, where nothing is declared and no letter stands for it.

Only short answers and last sentences are read: a text may be mentioned without being taken.
"""

import re

from .choice_answer import AnswerWords, Extraction
from .choice_grammar import (
    CONCLUDED_SUBJECT,
    CONCLUDED_TEXT,
    CORRECTS,
    DENIED,
    DENIES_OR_DOUBTS,
    LEAVES_OPEN,
    LETTER,
    MAY_NOT_ANSWER,
    NEW_THOUGHT,
    NUMBER,
    NUMBERED_STEP,
    OPTION_TEXT,
    REPORTS,
    TEXT,
    TEXT_AND_LETTER,
    TWO_SENTENCES,
    UNKNOWN,
)
from .choice_words import classify

SHORT_WORDS = 30
"""Words and signs of an answer that is short: what it names, it takes."""
LONE_CAPITAL = re.compile(r"\b[B-HJ-Z]\b")
"""A letter that may be an option's: "44 B.C." names none for certain."""
TALKS_ABOUT = re.compile(
    r"""
    \b(?:
      about | question | mention\w* | passage | information | picture\ of | image\ of
    | let | please | thanks? | hint | need | ask\w* | instance | compar\w+ | look\w*
    | think\ of | start\w* | step | first | next | check\w* | last\ year | near | than
    | like | candidate | second | again
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words of an answer that speaks about an option and may not take it."""
YES_OR_NO = re.compile(r"(?:yes|no|true|false)\b\s*[,.;:–—-]", re.IGNORECASE)
"""An answer that opens with such an option gives its reasons behind it."""


class TextReader(AnswerWords):
    """Reads one answer by the texts of its options."""

    def by_text(self) -> Extraction | None:
        """Read a paragraph that opens with an option's text, or one sentence that ends in it: "It is a dog"."""
        is_one_sentence = TWO_SENTENCES.search(self.classes) is None
        for match in OPTION_TEXT.finditer(self.classes):
            index = self.classes.index(TEXT, match.start())
            start = self.starts[index]
            if NUMBERED_STEP.match(self.plain, start):
                continue
            if CORRECTS in self.classes[index:]:
                return self.concluded_text()
            letter = self.letter_at(index)
            if not match["lead"]:
                return self.result(letter, "leading-text", index, index)
            if is_one_sentence:
                return self.result(letter, "option-text", index, index)
        return None

    def text_and_letter(self) -> Extraction | None:
        """Read an option's text with its own letter behind it, where no other letter is named: "… seems a dog (B)."."""
        if len(self.letters_named()) != 1 or CORRECTS in self.classes:
            return None
        for match in TEXT_AND_LETTER.finditer(self.classes):
            text = match.start()
            index = match.start("letter")
            letter = self.letter_at(index)
            if letter is None or self.letter_at(text) != letter:
                continue
            thought = NEW_THOUGHT.split(self.sentence_before(text))[-1]
            if DENIES_OR_DOUBTS.search(thought) or DENIED.match(
                self.classes, index + 1
            ):
                continue
            return self.result(letter, "option-text", text, index)
        return None

    def concluded_text(self) -> Extraction | None:
        """Read a last sentence that concludes and names an option by its text, where no letter is named."""
        match = CONCLUDED_TEXT.search(self.classes)
        match = match or CONCLUDED_SUBJECT.search(self.classes)
        if match is None or LETTER in self.classes:
            return None
        index = match.start("text")
        letter = self.letter_at(index)
        if letter is None:
            return None
        return self.result(letter, "concluded", match.start(), index)

    def yes_or_no(self) -> Extraction | None:
        """Read an answer that opens with such an option: "No, the text says something else."."""
        if YES_OR_NO.match(self.plain) is None or not self.classes.startswith(TEXT):
            return None
        letter = self.letter_at(0)
        first_sentence = self.sentence_behind(1)
        is_taken_back = LETTER in self.classes or CORRECTS in self.classes
        if letter is None or is_taken_back or LEAVES_OPEN.search(first_sentence):
            return None
        return self.result(letter, "leading-text", 0, 0)

    def only_text(self) -> Extraction | None:
        """Read the one option that a short answer names by its text: "The arrow points right."."""
        indexes = [i for i, name in enumerate(self.classes) if name == TEXT]
        letters_named = {self.letter_at(index) for index in indexes}
        if LETTER in self.classes or len(letters_named) != 1:
            return None
        if len(self.classes) > SHORT_WORDS or MAY_NOT_ANSWER.search(self.classes):
            return None
        if LONE_CAPITAL.search(self.plain) or TALKS_ABOUT.search(self.plain):
            return None
        index = indexes[0]
        letter = self.letter_at(index)
        is_step = NUMBERED_STEP.match(self.plain, self.starts[index]) is not None
        if letter is None or is_step or self._reports():
            return None
        if not self._is_distinct(self.options[letter].strip()):
            return None
        return self.result(letter, "option-text", index, index)

    def _reports(self) -> bool:
        """Return True if the answer says what others say; "was" alone does not."""
        for index, name in enumerate(self.classes):
            begin = self.starts[index]
            if name == REPORTS and not self.plain.startswith("was", begin):
                return True
        return False

    def _is_distinct(self, text: str) -> bool:
        """Return True if an option's text is not a common word, and is the only number if it is a number."""
        if len(text) == 1 and not text.isdigit():
            return False  # 猫 is part of 熊猫
        classes, _ = classify(text)
        if NUMBER in classes:
            return NUMBER not in self.classes
        return UNKNOWN in classes
