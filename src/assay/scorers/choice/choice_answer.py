"""The words of one answer: which option each names, the sentence around it, and options named by their text.

Read an answer by the text of an option, where nothing is declared and no letter stands for it.

Only short answers and last sentences are read: a text may be mentioned without being taken.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from .choice_grammar import (
    CONCLUDED_SUBJECT,
    CONCLUDED_TEXT,
    CORRECTS,
    DENIED,
    DENIES_OR_DOUBTS,
    ENTRY,
    LEAVES_OPEN,
    LETTER,
    MAY_NOT_ANSWER,
    NEW_THOUGHT,
    NUMBER,
    NUMBERED_STEP,
    OPTION_TEXT,
    REPORTS,
    SENTENCE_END,
    SUPPOSITION_BEFORE,
    TEXT,
    TEXT_AND_LETTER,
    TWO_SENTENCES,
    UNKNOWN,
    WOULD,
)
from .choice_mentions import FIRST_LETTER_MARK, OWN_TEXT, mark
from .choice_words import classify

# <|im_end|>, </s>, <end_of_turn>
_END_TOKEN = (
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|eom_id|return)\|>"
    r"|</s>|<eos>|<end_of_turn>|<\|im_start\|>"
)
# "\n## Question 2:", "\n**User**:", "\n问题："
_NEXT_QUESTION = (
    r"\n[^\S\n]{0,8}(?:#{1,6} ?)?(?:\*\*)?"
    r"(?:Questions?|Q|Problem|User|Human|问题|题目|问|用户)"
    r" ?\d{0,4} ?(?:\*\*)? ?[:：]"
)
_TURN_END = re.compile(f"{_END_TOKEN}|{_NEXT_QUESTION}", re.IGNORECASE)


def first_turn(text: str) -> str:
    """Return the text up to an end-of-turn token, or up to a next question that a base model has invented."""
    if "<" not in text and "\n" not in text:
        return text
    begin = len(text) - len(text.lstrip())
    for end in _TURN_END.finditer(text):
        if end.start() > begin:
            return text[: end.start()]
    return text


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
