"""Read which option a generated answer chooses: from a declaration, or else from the answer as a whole.

Reasoning is removed, options are marked (`choice_mentions`), and the answer becomes a string of word classes
(`choice_words`, `choice_answer`). The patterns over this string are in `choice_grammar`. A declaration has filler
words, a cue, an option and an end. The first declaration counts; a later one replaces it as a correction or a final
answer. If nothing is declared, other rules read a marked list, a leading letter, an option's text, a verdict, or a
last sentence that only names a letter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ...core.reasoning import answer_of
from .choice_answer import (
    LABEL,
    Extraction,
    TextReader,
    first_turn,
    letter_of_number,
)
from .choice_grammar import (
    AGAIN,
    ALONE,
    ANSWER,
    ANSWER_NUMBER,
    BESIDE_ANOTHER,
    BOX,
    CALLED_FINAL,
    CLAIM,
    COLON,
    COMPARES,
    CONCLUDES,
    CONTRASTS,
    CORRECTS,
    DASH,
    DECLINES,
    DENIED,
    DENIED_BOX,
    DOUBTS,
    ENDS_ON_LINK_WORD,
    HEADS_A_DENIAL,
    JOINED,
    LAST,
    LAST_VERDICT,
    LEAD,
    LEADING,
    LETTER,
    LIMITS_OR_DOUBTS,
    LINE,
    LIST_FOLLOWS,
    LISTS_OPTIONS,
    MARKED_ENTRY,
    MARKED_LINE,
    NEGATED_BEFORE,
    NEW_THOUGHT,
    NUMBERED_HEADING,
    OPTION_WORD,
    PARAGRAPH,
    PLAIN_WORDS,
    REST_AFTER_LAST_LETTER,
    RETRACTION,
    ROW,
    SINGLED_OUT,
    SUPPOSES,
    TAIL,
    TEXT,
    UNFINISHED,
    VERDICT,
    WOULD,
)
from .choice_mentions import OWN_TEXT
from .choice_words import letters

MOST_CLAIMS = 100
"""Most declarations to read from either end of an answer, because an answer may repeat itself endlessly."""
_STOPS = letters("STOP LINE PARAGRAPH")
_BEFORE_VERDICT = letters("OPTION_WORD IS")
_BEFORE_CONCLUSION = letters("IS OPTION_WORD FILLER WOULD TAKES LEAVES FITS COLON")


class Finality(IntEnum):
    """How final a declaration is. A later one replaces an earlier one that is less final."""

    STATED = 0
    BOXED = 1
    CALLED_FINAL = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """A declaration: its first word, the word after its option, the chosen option, and how final it is."""

    start: int
    end: int
    result: Extraction
    finality: Finality


def extract_choice(
    text: str,
    options: Mapping[str, str],
    *,
    is_cut: bool = False,
) -> Extraction:
    """Return the option that a single-choice answer chooses, the rule that read it and the outcome.

    A text of `options` may be empty if it is unknown. In an answer cut by the token limit (`is_cut`), only
    declarations are read, or its letter if the answer is nothing else.
    """
    options = {letter.upper(): option for letter, option in options.items()}
    lone = _lone_letter(text, options, is_cut)
    if lone is not None:
        return lone
    answer = AnswerReader(first_turn(answer_of(text)), options, is_cut)
    result = answer.read()
    if result is not None:
        return result
    declines = answer.classes.find(DECLINES)
    if declines >= 0:
        return Extraction(None, "refusal", "refused", answer.evidence_from(declines))
    return Extraction(None, "none" if answer.plain else "empty", "unparsed")


def _lone_letter(
    text: str,
    options: Mapping[str, str],
    is_cut: bool,
) -> Extraction | None:
    """Read an answer that is one letter. The rules would give the same result, but take longer."""
    if len(text) >= 9:
        return None
    word = text.strip("\n ()*.:").upper()
    goes_on = is_cut and text[-3:-1].strip()
    letter = word if word in options else _option_of(word, options)
    if letter is None or goes_on:
        return None
    return Extraction(letter, "lone-letter", "scored", text.strip())


def _option_of(
    word: str,
    options: Mapping[str, str],
) -> str | None:
    """Return the letter of the option whose text ("I" of A: I, B: II) or number ("2") is the character `word`."""
    if len(word) != 1:
        return None
    names = [letter for letter, option in options.items() if option.upper() == word]
    if len(names) == 1:
        return names[0]
    has_numbers = re.search(r"\d", "".join(options.values()))
    if has_numbers or word not in "123456789":
        return None
    return letter_of_number(int(word), options)


def is_lead(words: str, *, may_limit: bool = False) -> bool:
    """Return True if the words of a sentence before its cue ("the answer is") only lead up to it.

    A clause before a comma is skipped unless it supposes, reports, or (without `may_limit`) limits.
    """
    lead = LEAD.fullmatch(NEW_THOUGHT.split(words)[-1])
    if lead is None:
        return False
    opener = lead["opener"] or ""
    if opener.startswith(COMPARES):
        return True
    barred = DOUBTS if may_limit else LIMITS_OR_DOUBTS
    return barred.search(opener) is None


class AnswerReader(TextReader):
    """All rules that read one answer, in their order."""

    def read(self) -> Extraction | None:
        """Return the result of the first rule that applies; None if none does."""
        result = self.declared() or self.marked_list() or self.leading()
        if result is not None or self.is_cut:
            return result
        return (
            self.by_text()
            or self.concluded()
            or self.verdict()
            or self.text_and_letter()
            or self.concluded_text()
            or self.singled_out()
            or self.result_of_equation()
            or self.yes_or_no()
            or self.only_option()
        )

    # --- declarations

    def declared(self) -> Extraction | None:
        """Return the first declaration, or a later one that corrects it or calls itself final."""
        claims = list(self.claims())
        if not claims:
            return None
        claim = self._claim_that_counts(claims)
        correction = self.classes.find(CORRECTS, claim.end, claim.end + 40)
        if correction > 0:
            corrected = self.concluded(correction) or self.verdict(correction)
            if corrected is not None:
                return corrected._replace(rule="corrected")
            if self._only_retracts(correction):
                evidence = self.evidence_from(correction)
                return Extraction(None, "retracted", "unparsed", evidence)
        final = self._final_verdict(claim)
        if final is not None:
            return final
        if claim is claims[0] and self._is_contradicted(claim, claims):
            evidence = claim.result.evidence
            return Extraction(None, "ambiguous", "unparsed", evidence)
        return claim.result

    def _final_verdict(self, claim: Claim) -> Extraction | None:
        """Return the verdict behind a claim that is called final: "So B is my final answer."."""
        if claim.finality == Finality.CALLED_FINAL:
            return None
        if LETTER not in self.classes[claim.end :]:
            return None
        verdict = self.verdict(claim.end)
        if verdict is None or CALLED_FINAL.search(verdict.evidence) is None:
            return None
        return verdict

    def claims(self) -> Iterator[Claim]:
        """Yield the declarations and boxes of the answer."""
        # "Answer A: … Answer B: …" lists the options.
        is_list = len(NUMBERED_HEADING.findall(self.classes)) > 1
        matches = list(CLAIM.finditer(self.classes))
        if len(matches) > 2 * MOST_CLAIMS:
            matches = matches[:MOST_CLAIMS] + matches[-MOST_CLAIMS:]
        for match in matches:
            claim = self._claim_of(match, is_list)
            if claim is not None:
                yield claim

    def _claim_of(
        self,
        match: re.Match[str],
        is_list: bool,
    ) -> Claim | None:
        """Return the declaration in a match of `CLAIM`; None if its sentence retracts it."""
        start, end = match.span("all")
        option = end - 1
        letter = self.letter_at(option)
        end_of_repeats = self._end_of_repeats(letter, end)
        if JOINED.match(self.classes, end_of_repeats):
            letter = None
        is_boxed = self._is_boxed(match)
        if not is_boxed:
            if is_list and self._is_heading(match):
                return None
            if not self._is_stated(match, letter, end_of_repeats):
                return None
        rule = "declared" if match["declared"] else "chosen"
        if not match["declared"] and match["boxed"]:
            rule = "boxed"
        return Claim(
            start,
            end,
            self.result(letter, rule, start, option),
            self._finality(start, end_of_repeats, is_boxed),
        )

    def _end_of_repeats(
        self,
        letter: str | None,
        end: int,
    ) -> int:
        """Return the end of the mentions that repeat the same option: "B, option B"."""
        while letter is not None:
            again = AGAIN.match(self.classes, end)
            if again is None or self.letter_at(again.end() - 1) != letter:
                break
            end = again.end()
        return end

    def _is_boxed(self, match: re.Match[str]) -> bool:
        """Return True if the option is in a box or tag that is not denied."""
        if BOX not in match["all"]:
            return False
        start, end = match.span("all")
        before = self.sentence_before(start)
        if NEGATED_BEFORE.search(before):
            return False
        behind = self.sentence_behind(end)
        return DENIED_BOX.match(behind) is None

    def _is_heading(self, match: re.Match[str]) -> bool:
        """Return True if the match is a heading such as "Answer A:", not a declaration."""
        if match["declared"] != ANSWER:
            return False
        behind = self.sentence_behind(match.end("all"))
        return behind.startswith((COLON, DASH))

    def _is_stated(
        self,
        match: re.Match[str],
        letter: str | None,
        end_of_repeats: int,
    ) -> bool:
        """Return True if nothing around a cue and its option retracts the statement."""
        start, end = match.span("all")
        behind = self.sentence_behind(end)
        is_noun_alone = match["declared"] == ANSWER
        if is_noun_alone and HEADS_A_DENIAL.match(behind):
            return False
        if letter is not None and not self._ends_well(match, behind, end_of_repeats):
            return False
        if DENIED.match(self.classes, end_of_repeats):
            return False
        lead = self.sentence_before(start)
        if not is_lead(lead) and not self._is_only_limited(lead, match["all"], letter):
            return False
        return not self.is_supposed(start, end_of_repeats)

    def _ends_well(
        self,
        match: re.Match[str],
        behind: str,
        end_of_repeats: int,
    ) -> bool:
        """Return True if what follows the option does not limit or change the statement."""
        option = match.end("all") - 1
        is_letter = match["all"].endswith(LETTER)
        goes_on = SUPPOSES in behind or LETTER in behind
        if is_letter and not goes_on and self.has_own_text(option):
            return True
        tail = self.sentence_behind(end_of_repeats)
        return TAIL.match(tail) is not None

    def _is_only_limited(
        self,
        lead: str,
        claim: str,
        letter: str | None,
    ) -> bool:
        """Return True for "In the short run, the answer is B" if no other option is named."""
        if WOULD in claim or not is_lead(lead, may_limit=True):
            return False
        return self.letters_named() <= {letter}

    def _finality(
        self,
        start: int,
        end: int,
        is_boxed: bool,
    ) -> Finality:
        first = max(0, self.starts[start] - 12)
        words = self.plain[first : self.starts[end - 1]]
        if CALLED_FINAL.search(words):
            return Finality.CALLED_FINAL
        return Finality.BOXED if is_boxed else Finality.STATED

    def _claim_that_counts(self, claims: Sequence[Claim]) -> Claim:
        """Return the first claim, or the last claim that revises an earlier one."""
        current = claims[0]
        for later in claims[1:]:
            if self._replaces(current, later):
                current = later
        return current

    def _replaces(self, current: Claim, later: Claim) -> bool:
        """Return True if a later claim counts instead of the current one."""
        names_text = self.classes[current.end - 1] == TEXT
        names_letter = self.classes[later.end - 1] == LETTER
        if names_text and names_letter:
            return True  # "The result is cat, so the answer is A": a letter is exact
        answer = current.result.answer
        if later.result.answer == answer:
            return False
        if answer is None or later.finality > current.finality:
            return True
        words_between = self.classes[current.end : later.start + 1]
        return CORRECTS in words_between

    def _only_retracts(self, correction: int) -> bool:
        """Return True if a correction denies the declaration and names no other option."""
        sentence = self.sentence_before(correction) + self.sentence_behind(correction)
        if LETTER in sentence:
            return False
        says_no = self.plain.startswith("No", self.starts[correction])
        return says_no or RETRACTION.search(sentence) is not None

    def _is_contradicted(
        self,
        claim: Claim,
        claims: Sequence[Claim],
    ) -> bool:
        """Return True if another option is declared directly after `claim`, or at the end: "So C is right."."""
        answer = claim.result.answer
        last = LAST_VERDICT.search(self.classes, claim.end)
        if last is not None and self.letter_at(last.start("option")) != answer:
            return True
        for later in claims:
            if later.start < claim.end or later.result.answer == answer:
                continue
            row = ROW.fullmatch(self.classes, claim.end, later.start)
            return row is not None
        return False

    # --- answers without a declaration

    def marked_list(self) -> Extraction | None:
        """Return the one entry of a list that is marked as right, if the others are marked as wrong."""
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
        """Return the match of a leading option. If more words follow the option, its own text must be there."""
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
        """Return True if a leading letter begins a list of options, or is joined with another ("A and B")."""
        first, index = match.span("head")
        if self._begins_list(index):
            return True
        words_before = self.classes[:first]
        if LIST_FOLLOWS.search(words_before):
            return True
        return JOINED.match(self.classes, index + 1) is not None

    def _begins_list(self, index: int) -> bool:
        """Return True if the option at `index` begins a list: another entry follows in its paragraph, or B after A."""
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
        """Return True if the output breaks off while it describes its first option: "A. cat: a small animal that"."""
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
        """Return True if the letter is marked together with its option's text: "A. cat:" is, "A: cat" is not."""
        behind_letter = self.starts[index] + 1
        return self.marked.startswith(OWN_TEXT, behind_letter)

    def verdict(self, start: int = 0) -> Extraction | None:
        """Return the only option that is called right after the word `start`, or after the last correction ("wait")."""
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
        """Read a last sentence that consists of an option's letter and filler words: "So it must be (C)."."""
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
        """Read the conclusion before remarks that suppose or report: "So it is B. If it barked, C would be right."."""
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
        """Read the sentence with the last letter that counts, if it consists of that letter and filler words."""
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
        """Return True for a small letter without brackets that may be a word or a variable: "so we get a"."""
        start = self.starts[index]
        if not self.plain[start].islower():
            return False
        is_closed = self.plain.startswith((".", ")", "]"), start + 1)
        is_called = self.classes[:index].endswith(OPTION_WORD)
        return not is_closed and not is_called

    def _is_label(self, first: int, index: int) -> bool:
        """Return True if a last line is only the label of a solution's next part: "… = 90\\n(e)", "… = 90\\n(D"."""
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
