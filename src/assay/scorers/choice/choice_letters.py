"""Read the letter of an answer that declares none: from a marked list, a leading letter, a verdict or a conclusion."""

import re

from .choice_answer import LABEL, Extraction, TextReader
from .choice_grammar import (
    ALONE,
    ANSWER_NUMBER,
    BESIDE_ANOTHER,
    COLON,
    COMPARES,
    CONCLUDES,
    CONTRASTS,
    CORRECTS,
    DASH,
    DENIED,
    DOUBTS,
    ENDS_ON_LINK_WORD,
    JOINED,
    LAST,
    LEAD,
    LEADING,
    LETTER,
    LIMITS_OR_DOUBTS,
    LINE,
    LIST_FOLLOWS,
    LISTS_OPTIONS,
    MARKED_ENTRY,
    MARKED_LINE,
    NEW_THOUGHT,
    OPTION_WORD,
    PARAGRAPH,
    PLAIN_WORDS,
    REST_AFTER_LAST_LETTER,
    SINGLED_OUT,
    TEXT,
    UNFINISHED,
    VERDICT,
)
from .choice_mentions import OWN_TEXT
from .choice_words import letters

_STOPS = letters("STOP LINE PARAGRAPH")
_BEFORE_VERDICT = letters("OPTION_WORD IS")
_BEFORE_CONCLUSION = letters("IS OPTION_WORD FILLER WOULD TAKES LEAVES FITS COLON")


def is_lead(words: str, *, may_limit: bool = False) -> bool:
    """Return True if the words before a cue ("the answer is") only introduce it: "In the short run, the answer is".

    A clause before a comma may not be a supposition or a report. Without `may_limit`,
    it may not be a limitation either.
    """
    lead = LEAD.fullmatch(NEW_THOUGHT.split(words)[-1])
    if lead is None:
        return False
    opener = lead["opener"] or ""
    if opener.startswith(COMPARES):
        return True
    barred = DOUBTS if may_limit else LIMITS_OR_DOUBTS
    return barred.search(opener) is None


class LetterReader(TextReader):
    """Reads answers that name an option's letter without declaring it."""

    def marked_list(self) -> Extraction | None:
        """Return the only entry of a list that is marked as right, if all others are
        marked as wrong: "A: wrong. B: right.".
        """
        if self.is_cut:
            return None
        entries = list(MARKED_ENTRY.finditer(self.marked))
        if len(entries) < 2 and "\n" in self.plain:
            entries = list(MARKED_LINE.finditer(self.marked))
            if len(entries) < len(self.options):
                return None
        names = {entry["name"] for entry in entries}
        if len(entries) < 2 or len(names) != len(entries):
            return None
        right = [entry.start("name") for entry in entries if entry["yes"]]
        if len(right) != 1:
            return None
        index = self.starts.index(right[0])
        letter = self.letter_at(index)
        return self.result(letter, "verdict", index, index)

    def leading(self) -> Extraction | None:
        """Read the first sentence that names an option, if it opens with the option and does not begin a list."""
        match = self._leading_match()
        if match is None:
            return None
        first, index = match.span("head")
        letter = self.letter_at(index)
        if letter is None or DENIED.match(self.classes, index + 1):
            return None
        if self._is_part(match) or self._is_first_of_cut_list(match):
            return None
        if self.is_cut and (first or match.end() > index + 1):
            return None
        if self._is_label(first, index):
            return None
        correction = self.classes.find(CORRECTS, index)
        is_corrected = self.classes.find(LETTER, correction) > 0
        if correction > 0 and is_corrected:
            return self.concluded(correction) or self.verdict()
        words_behind = self.classes[index + 1 :]
        if TEXT in words_behind:
            concluded = self.concluded_text()
            if concluded is not None:
                return concluded
        goes_on = words_behind.strip(_STOPS)
        rule = "leading-letter" if goes_on else "lone-letter"
        return self.result(letter, rule, first, index)

    def _leading_match(self) -> re.Match[str] | None:
        """Return the match of an option at the beginning. If more words follow its
        letter, they must begin with its text.
        """
        match = LEADING.match(self.classes)
        if match is not None:
            return match
        match = ALONE.match(self.classes)
        if match is None:
            return None
        option = match.end("head")
        is_apart = self.classes.startswith(DASH, option + 1)
        is_capital = self.plain[self.starts[option]].isupper()
        is_answer = self.has_own_text(option) or (is_apart and is_capital)
        return match if is_answer else None

    def _is_part(self, match: re.Match[str]) -> bool:
        """Return True if a leading letter begins a list of options, or is joined with another letter: "A and B"."""
        first, index = match.span("head")
        if self._begins_list(index):
            return True
        words_before = self.classes[:first]
        if LIST_FOLLOWS.search(words_before):
            return True
        return JOINED.match(self.classes, index + 1) is not None

    def _begins_list(self, index: int) -> bool:
        """Return True if the option at `index` begins a list.

        It does if another entry follows in its paragraph, or if it is A and B follows.
        """
        letter = self.letter_at(index)
        later = [entry for entry in self.entries if entry > index]
        if not later:
            return False
        next_letter = self.entries[later[0]]
        if next_letter == letter:
            return False
        words_between = self.classes[index : later[0]]
        is_a_then_b = (letter, next_letter) == ("A", "B")
        return is_a_then_b or PARAGRAPH not in words_between

    def _is_first_of_cut_list(self, match: re.Match[str]) -> bool:
        """Return True if the output is cut while it describes the first option of a
        list: "A. cat: a small animal that".
        """
        first, index = match.span("head")
        first_letter = next(iter(self.options))
        if self.letter_at(index) != first_letter or not UNFINISHED.search(self.plain):
            return False
        words_behind = self.classes[index + 1 :]
        if not words_behind.strip(_STOPS + COLON):
            return False
        if first > 0:
            return True
        if words_behind.startswith(COLON) and self._is_text_next(index):
            return True
        is_headed = OPTION_WORD in match["head"]
        return is_headed and ENDS_ON_LINK_WORD.search(self.plain) is not None

    def _is_text_next(self, index: int) -> bool:
        """Return True if the option's letter and text form one label: "A. cat:" does, "A: cat" does not."""
        behind_letter = self.starts[index] + 1
        return self.marked.startswith(OWN_TEXT, behind_letter)

    def verdict(self, start: int = 0) -> Extraction | None:
        """Return the option that the answer calls right; None if it is not exactly one.

        Only words from index `start` on are read, and only those after the last correction ("wait") if any verdict is
        there.
        """
        indexes = []
        for match in VERDICT.finditer(self.classes, start):
            index = match.start()
            before = self.sentence_before(index)
            lead = before.rstrip(_BEFORE_VERDICT)
            if is_lead(lead) and not BESIDE_ANOTHER.search(lead):
                indexes.append(index)
        correction = self.classes.rfind(CORRECTS)
        corrected = [index for index in indexes if index > correction]
        indexes = corrected or indexes
        letters_called_right = {self.letter_at(index) for index in indexes}
        if len(letters_called_right) != 1:
            return None
        letter = letters_called_right.pop()
        is_taken_back = not corrected and LETTER in self.classes[correction:]
        if letter is None or (correction > 0 and is_taken_back):
            return None
        return self.result(letter, "verdict", indexes[0], indexes[0])

    def concluded(self, start: int = 0) -> Extraction | None:
        """Read a last sentence that has only an option's letter and filler words: "So it must be (C)."."""
        last = self.classes.rfind(LETTER)
        return self._concluded_at(last, start) or self._concluded_before(last, start)

    def singled_out(self) -> Extraction | None:
        """Return the only option that a sentence singles out: "Only B …", "The most likely … is B"."""
        indexes = []
        for match in SINGLED_OUT.finditer(self.classes):
            index = self.classes.index(LETTER, match.start())
            before = self.sentence_before(match.start())
            lead = before.rstrip(_BEFORE_VERDICT)
            is_plain = is_lead(lead, may_limit=True) or PLAIN_WORDS.fullmatch(lead)
            if not is_plain or BESIDE_ANOTHER.search(lead):
                continue
            if match["praised"] and LETTER in self.classes[match.end() :]:
                return None  # "Option A costs most. Option B is popular."
            indexes.append(index)
        letters_singled_out = {self.letter_at(index) for index in indexes}
        if len(letters_singled_out) != 1 or LABEL.search(self.marked):
            return None
        letter = letters_singled_out.pop()
        first = indexes[0]
        begin = first - len(self.sentence_before(first))
        goes_on = CONTRASTS in self.classes[first:]
        if letter is None or goes_on or self.talks_about(begin, len(self.classes)):
            return None
        return self.result(letter, "verdict", first, first)

    def _concluded_before(
        self,
        last: int,
        start: int,
    ) -> Extraction | None:
        """Read a conclusion before other sentences that suppose or report something.

        Example: "So it is B. If it barked, C would be right."
        """
        while last >= 0:
            before = self.sentence_before(last)
            sentence = before + self.sentence_behind(last)
            if DOUBTS.search(sentence) is None:
                break
            last = self.classes.rfind(LETTER, 0, last - len(before))
        if last < 0 or CONCLUDES not in self.sentence_before(last):
            return None
        return self._concluded_at(last, start)

    def _concluded_at(
        self,
        last: int,
        start: int,
    ) -> Extraction | None:
        """Read the sentence around the letter at `last`. Besides the letter, the
        sentence may have only filler words.
        """
        if last < start:
            return None
        numbered_answers = ANSWER_NUMBER.findall(self.classes)
        if len(numbered_answers) > 1:
            return None
        words = self.sentence_before(last) + LETTER
        first = last + 1 - len(words)
        # "C, not A": the option is the one that is not denied.
        shortened = REST_AFTER_LAST_LETTER.sub(LETTER, words)
        index = first + len(shortened) - 1
        if index >= start:
            letter = self.letter_at(index)
        else:
            letter = None
        if letter is None or self._is_small_word(index):
            return None
        if self._is_label(first, index):
            return None
        lead = words[: index - first].rstrip(_BEFORE_CONCLUSION)
        if not is_lead(lead) or BESIDE_ANOTHER.search(lead):
            return None
        if self.is_supposed(first, index):
            return None
        behind = last + 1
        if self.has_own_text(last) and self.classes[behind : behind + 1] == COLON:
            behind += 1  # "It is B: 1799."
        if CONCLUDES in words:
            rest = self.sentence_behind(behind)
        else:
            rest = self.classes[behind:]
        if not LAST.match(rest):
            return None
        if not start and self._is_last_entry(first, index):
            return None
        return self.result(letter, "concluded", first, index)

    def _is_small_word(self, index: int) -> bool:
        """Return True for a lower-case letter without brackets that may be a word or a variable: "so we get a"."""
        start = self.starts[index]
        if not self.plain[start].islower():
            return False
        is_closed = self.plain.startswith((".", ")", "]"), start + 1)
        is_called = self.classes[:index].endswith(OPTION_WORD)
        return not is_closed and not is_called

    def _is_label(self, first: int, index: int) -> bool:
        """Return True if the last line is only the label of the next part of a
        solution: "… = 90\\n(e)", "… = 90\\n(D".
        """
        words_before = self.classes[:first]
        begins_line = words_before.endswith((LINE, PARAGRAPH))
        if first != index or not begins_line:
            return False
        start = self.starts[index]
        if self.plain[start].islower():
            return True
        is_last = start + 1 == len(self.plain)
        return is_last and self.plain.endswith("(", 0, start)

    def _is_last_entry(self, first: int, index: int) -> bool:
        """Return True if the option is only the last entry of a list of options."""
        if index not in self.entries:
            return False
        words_before = self.classes[:first]
        if LISTS_OPTIONS.search(words_before):
            return True
        letter = self.letter_at(index)
        earlier = {name for entry, name in self.entries.items() if entry < index}
        if not earlier - {letter}:
            return False
        if self.classes[first - 1] != PARAGRAPH:
            return True
        follows_option = self.classes[first - 2] == LETTER
        return follows_option and letter not in earlier
