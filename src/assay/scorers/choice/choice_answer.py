"""Represent an answer as classified words, and read it by the texts of its options.

`AnswerWords` returns the option that a word names, and the sentence around the word.
`TextReader` reads answers without a statement such as "the answer is B". It is careful,
because an answer may mention an option without choosing it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from .choice_grammar import (
    BECAUSE,
    BREAKS_OFF,
    CONCLUDED_TEXT,
    CONCLUDES,
    CONCLUSION,
    CONTRASTS,
    CORRECTS,
    DECLINES,
    DENIED,
    DENIES,
    DENIES_OR_DOUBTS,
    ENTRY,
    FILLER,
    IS_NOT_BUT,
    LEAVES_OPEN,
    LETTER,
    LIMITED,
    MAY_NOT_ANSWER,
    MAY_NOT_TAKE,
    NEW_THOUGHT,
    NOT_BUT,
    NUMBER,
    NUMBERED_STEP,
    OPENS,
    OPTION_TEXT,
    OPTION_WORD,
    PLACED_OPTION,
    PLACES,
    QUESTION,
    REPORTS,
    RESULT,
    SENTENCE_END,
    SET_ASIDE,
    SUPPOSITION_BEFORE,
    TEXT,
    TEXT_AND_LETTER,
    TWO_SENTENCES,
    UNKNOWN,
    WOULD,
)
from .choice_mentions import (
    OWN_TEXT,
    UNCLOSED_FORMULA,
    flatten,
    letter_of,
    letters_in_bold,
    mark,
)
from .choice_words import classify, word

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
"""Rules that quote the answer up to the chosen option. The other rules quote the answer from the option on."""
EVIDENCE_CHARS = 160
SENTENCE_WORDS = 400
"""Maximum number of words searched before and after a word for the limits of its sentence."""


class Extraction(NamedTuple):
    """The result of reading an answer: the letter, the rule (or why none applied), the outcome, and a quotation."""

    answer: str | None
    rule: str
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""


def letter_of_number(
    number: int,
    options: Mapping[str, str],
) -> str | None:
    """Return the letter of the option at position `number`: 1 -> A, 2 -> B; None for any other number."""
    names = list(options)
    return names[number - 1] if 1 <= number <= len(names) else None


class AnswerWords:
    """An answer whose mentions of options are marked and whose words are classified.

    An index is the number of a word. `starts` has the offset of each word in the plain
    text.
    """

    def __init__(
        self,
        source: str,
        options: Mapping[str, str],
        is_cut: bool,
    ) -> None:
        self.source = source
        self.plain = flatten(source)
        self.options = options
        self.is_cut = is_cut
        self.marked = mark(self.plain, options, is_cut=is_cut)
        classes, self.starts = classify(self.marked)
        self.letters_by_place: dict[int, str] = {}
        if OPTION_WORD in classes:
            classes = PLACED_OPTION.sub(self._as_letter, classes)
        classes = classes.translate(_PLACES_AS_UNKNOWN)
        if DENIES in classes or IS_NOT_BUT in classes:
            classes = NOT_BUT.sub(_as_contrast, classes)
        self.classes = classes

    def _as_letter(self, match: re.Match[str]) -> str:
        """Return the word classes of "option C" for a match such as "third option" or "option 3".

        Return the match unchanged if there are too few options for the number.
        """
        if match["another"]:
            return match[0]
        option_word = match.start() + match[0].index(OPTION_WORD)
        if NOT_LISTED.match(self.plain, self.starts[option_word]):
            return match[0]
        place_class = match["before"] or match["behind"]
        if place_class is None:
            digits = NUMBER_OF_OPTION.match(
                self.plain, self.starts[match.start("number")]
            )
            number = int(digits[0]) if digits else 0
        elif place_class == word("LAST"):
            number = len(self.options)
        else:
            number = PLACES.index(place_class) + 1
        letter = letter_of_number(number, self.options)
        if letter is None:
            return match[0]
        last = match.end() - 1
        self.letters_by_place[last] = letter
        return OPTION_WORD + LETTER

    def letter_at(self, index: int) -> str | None:
        """Return the letter of the option named by the word `index`; None if it names no option."""
        if index in self.letters_by_place:
            return self.letters_by_place[index]
        letter = letter_of(self.marked[self.starts[index]])
        return letter if letter in self.options else None

    def has_own_text(self, index: int) -> bool:
        """Return True if the letter at the word `index` is followed by its option's text, as in "B. dog"."""
        start = self.starts[index]
        return OWN_TEXT in self.marked[start : start + 5]

    def sentence_before(self, index: int) -> str:
        """Return the word classes of the part of a sentence before the word `index`."""
        words = self.classes[max(0, index - SENTENCE_WORDS) : index]
        return SENTENCE_END.split(words)[-1]

    def sentence_behind(self, index: int) -> str:
        """Return the word classes of the part of a sentence from the word `index` on."""
        words = self.classes[index : index + SENTENCE_WORDS]
        return SENTENCE_END.split(words, maxsplit=1)[0]

    def is_supposed(self, start: int, end: int) -> bool:
        """Return True if the statement has "would" and an "if" precedes it: "If it barked, B would be right"."""
        if WOULD not in self.classes[max(0, start - 3) : end]:
            return False
        words_before = self.classes[max(0, start - 200) : start]
        return SUPPOSITION_BEFORE.search(words_before) is not None

    @cached_property
    def entries(self) -> dict[int, str | None]:
        """The options that begin a line or sentence: the index of the word, and the option's letter."""
        ends = (entry.end() - 1 for entry in ENTRY.finditer(self.classes))
        return {index: self.letter_at(index) for index in ends}

    def letters_named(self) -> set[str | None]:
        """Return the letters of the options that the answer names by letter rather than by text."""
        indexes = (
            index
            for index, word_class in enumerate(self.classes)
            if word_class == LETTER
        )
        return {self.letter_at(index) for index in indexes}

    def evidence_from(self, index: int) -> str:
        """Return the answer's text from the word `index` on, cut to `EVIDENCE_CHARS` characters."""
        return self.plain[self.starts[index] :][:EVIDENCE_CHARS]

    def result(
        self,
        letter: str | None,
        rule: str,
        first: int,
        option: int,
    ) -> Extraction:
        """Return the extraction of a rule. Its evidence is the words from `first` to
        `option`; `letter` is None if ambiguous.
        """
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


NUMBER_OF_OPTION = re.compile(r"\d{1,2}(?![.,]?\d)")
NOT_LISTED = re.compile(
    r"letter|statement|response|selection|letra|lettera|wahl|elección|scelta|keuze|choix|выбор|вибір|wybór|volba",
    re.IGNORECASE,
)
"""Words that show that "first" or "third" does not count the options: "the first letter", "a drug of first choice"."""
_PLACES_AS_UNKNOWN = str.maketrans(dict.fromkeys(PLACES, UNKNOWN))
SHORT_WORDS = 60
"""Maximum number of words and punctuation marks of a short answer. A short answer chooses the option that it names."""
MOST_MENTIONS = 60
"""Maximum number of mentions of one option that are checked, because an answer may repeat itself endlessly."""
LONE_CAPITAL = re.compile(r"\b[B-HJ-Z]\b")
"""A single capital letter. It may be something other than an option: "44 B.C.", "point C"."""
LABEL = re.compile(r"\b[B-HJ]\b|\b[A-J]{2}\b|\b(?:best|most|only)-")
"""A label that contains a letter, such as the name of a point, a line or a quantity, or "best" in "best-selling"."""
TALKS_ABOUT = re.compile(
    r"""
    \b(?:
      about | question | mention\w* | compar\w+ | look\w*(?!\ for) | think\ of | start\w* | check\w*
    | next(?!\ step\ (?:in|is|for|of))
    | first(?=[,:]) | step\ \d | include\w* | define | let | hope | help\w* | feel\ free | ask\w* | details
    | candidate | discuss\w* | decide\w* | unclear | uncertain | unsure | hard\ to | difficult\ to | depends
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words that show that a sentence may discuss an option without choosing it."""
YES_OR_NO = re.compile(
    r"""
    (?:
      yes | no | true | false
    | sí | sì | sim | não | oui | non | ja | nein | nee | nej
    | да | нет | так | ні | tak | nie | evet | hayır
    | có | không | ya | tidak | نعم | لا | हाँ | नहीं
    )
    \s*[,،.;:–—-]
    """,
    re.VERBOSE | re.IGNORECASE,
)
""""Yes" or "no" followed by punctuation. The rest of such an answer usually gives reasons."""


class TextReader(AnswerWords):
    """Reads answers that name an option by its text, such as "a dog" for "(B) dog"."""

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
        """Read an option's text followed by its own letter, if no other letter is named: "… seems a dog (B)."."""
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
        """Read a last sentence that concludes and names an option by its text: "So it is a dog."."""
        match = CONCLUDED_TEXT.search(self.classes)
        if match is None:
            return None
        if match[0][0] != CONCLUDES and self.letters_named() - {None}:
            return None
        index = match.start("text")
        letter = self.letter_at(index)
        if letter is None:
            return None
        return self.result(letter, "concluded", match.start(), index)

    def result_of_equation(self) -> Extraction | None:
        """Read an answer whose last line is an equation. Its right side must be an
        option's text: "v = s/t = 5 m/s.".
        """
        match = RESULT.search(self.marked)
        names_letter = self.letters_named() - {None}
        is_open = names_letter or DECLINES in self.classes
        if match is None or is_open or UNCLOSED_FORMULA.search(self.plain):
            return None
        index = self.starts.index(match.start("text"))
        letter = self.letter_at(index)
        if letter is None:
            return None
        return self.result(letter, "concluded", index, index)

    def yes_or_no(self) -> Extraction | None:
        """Read an answer that opens with an option such as yes or no: "No, the text says something else."."""
        if YES_OR_NO.match(self.plain) is None or not self.classes.startswith(TEXT):
            return None
        letter = self.letter_at(0)
        first_sentence = self.sentence_behind(1)
        others = {LETTER, CORRECTS, DECLINES}
        is_taken_back = not others.isdisjoint(self.classes)
        if letter is None or is_taken_back or LEAVES_OPEN.search(first_sentence):
            return None
        return self.result(letter, "leading-text", 0, 0)

    def only_option(self) -> Extraction | None:
        """Read the only option that an answer names, the only one in bold, or the only one in its conclusion."""
        if DECLINES in self.classes or CORRECTS in self.classes:
            return None
        named = self._options_named()
        readings = (
            named if self._is_plain_statement(named) else [],
            self._in_bold(named),
            self._in_conclusion(named),
        )
        for indexes in readings:
            reading = self._only_stated(indexes)
            if reading is not None:
                return reading
        return None

    def _options_named(self) -> list[int]:
        """Return the indexes of the words that name an option. Rejected options are
        left out, such as "a cat" in "a dog, not a cat".
        """
        classes = SET_ASIDE.sub(_without_options, self.classes)
        return [i for i, name in enumerate(classes) if name in (LETTER, TEXT)]

    def _is_plain_statement(self, named: Sequence[int]) -> bool:
        """Return True if an answer is short and simple, so that it chooses the option it names."""
        is_long = len(self.classes) > SHORT_WORDS
        if is_long or MAY_NOT_ANSWER.search(self.classes):
            return False
        if TALKS_ABOUT.search(self.plain) or BREAKS_OFF.search(self.classes):
            return False
        return all(map(self._is_distinct, named))

    def _in_bold(self, named: Sequence[int]) -> list[int]:
        """Return the indexes in `named` whose option is in bold and does not open a sentence."""
        letters = letters_in_bold(self.source, self.options)
        return [
            index
            for index in named
            if self.letter_at(index) in letters
            and self._is_clear(index)
            and not OPENS.search(self.classes, 0, index)
        ]

    def _in_conclusion(self, named: Sequence[int]) -> list[int]:
        """Return the indexes in `named` that are in the last sentence, if this sentence is a conclusion."""
        match = CONCLUSION.search(self.classes)
        if match is None:
            return []
        named_last = [index for index in named if index >= match.start()]
        if len(named_last) > MOST_MENTIONS:
            return []
        # "…, which corresponds to option B": the letter identifies the text.
        has_letter = any(self.classes[index] == LETTER for index in named_last)
        is_distinct = has_letter or all(map(self._is_distinct, named_last))
        return named_last if is_distinct else []

    def _only_stated(self, indexes: Sequence[int]) -> Extraction | None:
        """Return the option that the words at `indexes` name, if they all name the same
        one and their sentences affirm it.
        """
        letters = {self.letter_at(index) for index in indexes}
        if len(letters) != 1 or len(indexes) > MOST_MENTIONS:
            return None
        if not all(map(self._is_stated_at, indexes)):
            return None
        letter = letters.pop()
        if letter is None:
            return None
        return self.result(letter, "option-text", indexes[0], indexes[-1])

    def _is_stated_at(self, index: int) -> bool:
        """Return True if the sentence around the option at `index` affirms the option.
        A denial, doubt, question or report does not.
        """
        if not self._is_clear(index) or DENIED.match(self.classes, index + 1):
            return False
        begin = index - len(self.sentence_before(index))
        behind = self.sentence_behind(index)
        end = index + len(behind)
        is_asked = self.classes.startswith(QUESTION, end)
        if is_asked or self.talks_about(begin, end):
            return False
        statement, *_reasons = behind.split(BECAUSE)
        end = index + len(statement)
        if REPORTS in self.classes[begin:end]:
            return False
        words = SET_ASIDE.sub("", self.classes[begin:end])
        return MAY_NOT_TAKE.search(words) is None

    def talks_about(self, begin: int, end: int) -> bool:
        """Return True if the words from `begin` to `end` suggest that an option is only discussed, not chosen."""
        first = self.starts[begin]
        if end < len(self.starts):
            last = self.starts[end]
        else:
            last = len(self.plain)
        return TALKS_ABOUT.search(self.plain, first, last) is not None

    def _is_clear(self, index: int) -> bool:
        """Return True if the word `index` can only mean an option, such as "(B)", but not the article "a"."""
        if self.classes[index] == LETTER:
            return self._is_called_option(index)
        letter = self.letter_at(index)
        if letter:
            text = self.options[letter].strip()
        else:
            text = ""
        return len(text) > 1 or text.isdigit()  # 猫 is part of 熊猫

    def _is_called_option(self, index: int) -> bool:
        """Return True if the word names an option in the form "option B", "(B)" or "B. dog"."""
        is_entry = index in self.entries
        if is_entry or LIMITED.match(self.classes, index + 1):
            return False
        if self.has_own_text(index):
            return True
        start = self.starts[index]
        in_brackets = self.plain[max(0, start - 1) : start + 2 : 2] == "()"
        return in_brackets or self.classes[:index].endswith(OPTION_WORD)

    def _is_distinct(self, index: int) -> bool:
        """Return True if the word can only name an option.

        Examples are a letter, and an option text that is an uncommon word or the only
        number of its sentence.
        """
        if self.classes[index] == LETTER:
            return True
        is_step = NUMBERED_STEP.match(self.plain, self.starts[index])
        if is_step or LONE_CAPITAL.search(self.marked):
            return False
        letter = self.letter_at(index)
        if letter:
            text = self.options[letter].strip()
        else:
            text = ""
        classes, _ = classify(text)
        if NUMBER in classes:
            sentence = self.sentence_before(index) + self.sentence_behind(index)
            return NUMBER not in sentence
        return UNKNOWN in classes


def _as_contrast(match: re.Match[str]) -> str:
    """Rewrite the classes of "not A but", in "not A but B", so that they name no option. The length stays the same."""
    sentence_before = SENTENCE_END.split(match.string[: match.start()])[-1]
    if DENIES in sentence_before:
        return match[0]  # "The wrong one is not A but B"
    return FILLER * (len(match[0]) - 1) + CONTRASTS


def _without_options(match: re.Match[str]) -> str:
    """Return the word classes of a clause, in which options are marked as unknown words."""
    return match[0].replace(TEXT, UNKNOWN).replace(LETTER, UNKNOWN)
