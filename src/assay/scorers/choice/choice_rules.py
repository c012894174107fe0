"""Read which option a generated answer chooses.

Reasoning is removed, options are marked (`choice_mentions`), and the answer becomes a
string of word classes (`choice_words`, `choice_answer`). The patterns over this string
are in `choice_grammar`.

A declaration is a statement such as "the answer is B": filler words, a cue, an option
and an end. The first declaration is used, unless a later one corrects it or is called
final. If an answer has no declaration, the rules in `choice_letters` and
`choice_answer` look for a marked list, a leading letter, an option's text, a verdict,
or a last sentence that only names a letter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ...core.reasoning import answer_of
from .choice_answer import (
    Extraction,
    first_turn,
    letter_of_number,
)
from .choice_grammar import (
    AGAIN,
    ANSWER,
    BOX,
    CALLED_FINAL,
    CLAIM,
    COLON,
    CORRECTS,
    DASH,
    DECLINES,
    DENIED,
    DENIED_BOX,
    HEADS_A_DENIAL,
    JOINED,
    LAST_VERDICT,
    LETTER,
    NEGATED_BEFORE,
    NUMBERED_HEADING,
    RETRACTION,
    ROW,
    SUPPOSES,
    TAIL,
    TEXT,
    WOULD,
)
from .choice_letters import LetterReader, is_lead

MOST_CLAIMS = 100
"""How many statements such as "the answer is B" are read from each end of an answer.
Some answers repeat themselves endlessly.
"""


class Finality(IntEnum):
    """How final a declaration is. A later declaration replaces an earlier one that is less final."""

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
    """Return the option that a single-choice answer chooses, the rule that found it, and the outcome.

    An option whose text is unknown has an empty text in `options`. If the token limit
    cut the answer (`is_cut`), it is read only by declarations, unless it is a single
    letter.
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
    """Read an answer that is a single letter. The rules would return the same result, but take longer."""
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
    """Return the letter of the option that a single character names: "I" if an option's
    text is "I", "2" for option B.
    """
    if len(word) != 1:
        return None
    names = [letter for letter, option in options.items() if option.upper() == word]
    if len(names) == 1:
        return names[0]
    has_numbers = re.search(r"\d", "".join(options.values()))
    if has_numbers or word not in "123456789":
        return None
    return letter_of_number(int(word), options)


class AnswerReader(LetterReader):
    """Reads one answer with all rules, in their order."""

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
        """Return the first declaration, or a later one that corrects it or is called final."""
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
        """Return the verdict after `claim` that is called final: "So B is my final
        answer."; None if there is none.
        """
        if claim.finality == Finality.CALLED_FINAL:
            return None
        if LETTER not in self.classes[claim.end :]:
            return None
        verdict = self.verdict(claim.end)
        if verdict is None or CALLED_FINAL.search(verdict.evidence) is None:
            return None
        return verdict

    def claims(self) -> Iterator[Claim]:
        """Yield the declarations of the answer, boxes included."""
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
        """Return the end of further mentions of the same option: "B, option B"."""
        while letter is not None:
            again = AGAIN.match(self.classes, end)
            if again is None or self.letter_at(again.end() - 1) != letter:
                break
            end = again.end()
        return end

    def _is_boxed(self, match: re.Match[str]) -> bool:
        """Return True if the option is in a box or tag, and no denial precedes or follows it."""
        if BOX not in match["all"]:
            return False
        start, end = match.span("all")
        before = self.sentence_before(start)
        if NEGATED_BEFORE.search(before):
            return False
        behind = self.sentence_behind(end)
        return DENIED_BOX.match(behind) is None

    def _is_heading(self, match: re.Match[str]) -> bool:
        """Return True if the match is a heading such as "Answer A:". It is then not a
        statement that A is the answer.
        """
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
        """Return True if no word around a cue and its option retracts the statement."""
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
        """Return True if the words after the option neither limit nor change the statement."""
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
        """Return True if a condition limits the statement but no other option is named:
        "In the short run, the answer is B".
        """
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
        """Return the first claim, or the last one that replaces an earlier claim."""
        current = claims[0]
        for later in claims[1:]:
            if self._replaces(current, later):
                current = later
        return current

    def _replaces(self, current: Claim, later: Claim) -> bool:
        """Return True if a later claim replaces the current one."""
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
        """Return True if a correction only denies the declaration, without naming another option."""
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
        """Return True if another option is declared directly after `claim`, or in a
        final conclusion: "So C is right.".
        """
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
