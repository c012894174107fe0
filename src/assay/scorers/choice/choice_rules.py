"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed and mentions of options are marked. The first declaration stands; a later one replaces it only as
a correction or as a final answer. Where nothing is declared, a lone or leading letter, an option's text, a verdict or a
last clause that only names a letter is read. What a clause denies, supposes or reports never counts, and no answer is
guessed: a refusal is `refused`, the rest `unparsed`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..reasoning import first_turn, strip_reasoning
from . import choice_phrases as phrases
from .choice_marks import FIRST, SEVERAL, OptionTexts, mark
from .choice_text import flatten


@dataclass(frozen=True, slots=True)
class Extraction:
    """The answer, the rule that found it or says why there is none, and the words it relied on, shortened."""

    answer: str | None
    rule: str
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""


class _Claim(NamedTuple):
    """One place that names an answer; `None` where it names several at once, or a letter no option has."""

    end: int
    start: int
    rule: str
    answer: str | None
    is_final: bool


_MOST_CUES = 50  # of a phrase repeated without end only the first and the last are read
_STRUCTURED = ("boxed", "answer-tag", "answer-key")
_SHORT = re.compile(
    r"\s*(?P<claim>(?:(?:so |thus |therefore,? )?(?:the )?(?:correct |final )?answer(?: is:?|:) ?)?[(\[\"']?"
    r"(?P<letter>[A-Z]))[)\]\"']?[.:,)]?\s*", re.IGNORECASE,
)  # fmt: skip


def extract_choice(text: str, options: Mapping[str, str], *, is_cut: bool = False) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    `options` maps each letter to its text; a text may be empty when it is not known. Of an answer cut by the token
    limit (`is_cut`) only what it declared is read, or its letter where that is all it says.

    Example: `extract_choice("A dog is shown, so the answer is B.", {"A": "cat", "B": "dog"}).answer == "B"`
    """
    texts = OptionTexts(options)
    # Most short answers are a letter, or the sentence that was asked for: what the rules below say of them, at once.
    short = _SHORT.fullmatch(text) if len(text) < 60 else None
    if short and short["letter"].upper() in texts.options and not (is_cut and text[-3:-1].strip()):
        rule = "declared" if short.end("claim") - short.start("claim") > 3 else "lone-letter"
        return Extraction(short["letter"].upper(), rule, "scored", short["claim"])
    spoken = strip_reasoning(text)
    turn = first_turn(spoken)
    found = _read(flatten(turn), texts, is_cut)
    if found.answer is None and len(turn) < len(spoken) and (whole := _read(flatten(spoken), texts, is_cut)).answer:
        return whole
    return found


def _read(plain: str, texts: OptionTexts, is_cut: bool) -> Extraction:
    if not plain:
        return Extraction(None, "empty", "unparsed")
    answer = _Answer(plain, mark(plain, texts, is_cut=is_cut), texts, is_cut)
    found = answer.declared() or answer.leading()
    if found is None and not is_cut:
        found = answer.by_text() or answer.verdict() or answer.concluded(0) or answer.refusal()
    return found or Extraction(None, "none", "unparsed")


@dataclass(frozen=True, slots=True)
class _Answer:
    """An output, the same with its options marked, and the ways to read it."""

    plain: str
    text: str
    texts: OptionTexts
    is_cut: bool

    def took(self, name: str | None, rule: str, start: int, end: int) -> Extraction:
        evidence = self.plain[start : min(end, start + 160)].strip()
        return Extraction(name, rule if name else "ambiguous", "scored" if name else "unparsed", evidence)

    def declared(self) -> Extraction | None:
        """The first declaration, or the later one that corrects it or is called final."""
        claims = sorted(claim for rule in phrases.DECLARATIONS for claim in self.claims(rule))
        if not claims:
            return None
        stands = first = claims[0]
        for claim in claims[1:]:
            corrects = phrases.CORRECTION.search(self.text, stands.end, claim.start)
            is_past = " was " in self.text[stands.start : stands.end]
            is_better = corrects or is_past or stands.answer is None or (claim.is_final and not stands.is_final)
            if claim.answer != stands.answer and is_better:
                stands = claim
        if taken_back := phrases.CORRECTION.search(self.text, stands.end):
            if newer := self.concluded(taken_back.start()):
                return Extraction(newer.answer, "corrected", "scored", newer.evidence)
            if phrases.WITHDRAWN.search(self.text, taken_back.start(), taken_back.start() + 80):
                return Extraction(None, "retracted", "unparsed", self.plain[taken_back.start() :][:160])
        # Two in a sentence or in a row are one utterance, of several letters.
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        is_pair = other and stands is first and phrases.BESIDE.fullmatch(self.text, stands.end, other.start)
        return self.took(None if is_pair else stands.answer, stands.rule, stands.start, stands.end)

    def claims(self, rule: str, start: int = 0) -> Iterator[_Claim]:
        """Every place where a sentence names an answer, and all of the sentence is understood."""
        cues = list(phrases.RULES[rule].finditer(self.text, start))
        for cue in cues if len(cues) <= 2 * _MOST_CUES else cues[:_MOST_CUES] + cues[-_MOST_CUES:]:
            if "mark" in cue.groupdict():
                name, end = self.name(cue.start("mark")), cue.end("mark")
            else:
                name, end = self.named_at(cue.end("cue")) or ("", 0)
            if name == "" or self.is_asked(end):
                continue
            before, is_structured = self.sentence_before(cue.start()), rule in _STRUCTURED
            if rule == "verdict" and phrases.GOES_ON.match(self.text, cue.end()):
                name = None
            if is_structured or (is_led(before) and (rule == "verdict" or self.is_closed(end))):
                is_final = is_structured or "final" in (before[-12:] + cue["cue"]).lower()
                yield _Claim(end, cue.start("cue"), rule, name, is_final)

    def is_closed(self, end: int) -> bool:
        """Whether what follows an answer leaves it standing."""
        closed = phrases.ENDS.match(self.text, end)
        sentence = self.sentence_end(end)
        rest = phrases.REASON.split(self.text[end:sentence], 1)[0]
        if closed is None and not re.match(r"[.:]?[)\]]", rest):
            return False
        return not phrases.IF.search(rest) and not phrases.REPORTS_BACK.match(self.text, sentence)

    def sentence_end(self, start: int) -> int:
        found = phrases.SENTENCE_END.search(self.text, start, start + 300)
        return found.start() if found else min(len(self.text), start + 300)

    def is_asked(self, end: int) -> bool:
        """Whether the sentence of an answer is a question."""
        found = phrases.SENTENCE_END.search(self.text, end, end + 200)
        return found is not None and found[0] == "?"

    def named_at(self, start: int) -> tuple[str | None, int] | None:
        """The option named at a place, with its end; `(None, end)` for several or a letter that no option has."""
        skipped = _end(phrases.SKIP, self.text, start)
        begin = _end(phrases.OPEN, self.text, skipped)
        if (name := self.name(begin)) != "":
            return name, begin + 1
        if found := self.texts.at(self.plain, skipped) or self.texts.at(self.plain, start):
            after = phrases.TEXT_JOINED.match(self.text, found[1])
            other = self.texts.at(self.plain, after.end()) if after else None
            return (None if other and other[0] != found[0] else found[0]), found[1]
        return None

    def name(self, place: int) -> str | None:
        """The letter of the mark at a place; `None` for several or one that no option has, "" where no mark is."""
        one = self.text[place : place + 1]
        if not one or not FIRST <= one <= SEVERAL:
            return ""
        letter = chr(ord(one) - ord(FIRST) + ord("A"))
        return letter if letter in self.texts.options else None

    def leading(self) -> Extraction | None:
        """The output opens with one option's letter, then its text, a reason or nothing, and lists no other."""
        opening = phrases.LEADING.match(self.text)
        name = self.name(opening.start("mark")) if opening else ""
        if opening is None or name == "":
            return None
        place, end, way = opening.start("mark"), opening.end(), opening.lastgroup
        is_lone = way == "bare" and end == len(self.text)
        others = phrases.LINE_MARK if way == "bare" else phrases.OTHER_ENTRY
        listed = {one["mark"] for one in others.finditer(self.text, end)} - {opening["mark"]}
        if way == "bare" and ((name is None and is_lone) or listed):
            return self.took(None, "", 0, 80)
        is_list = listed and (way == "remark" or (way == "own" and "\n\n" not in self.text[end:]))
        is_open = self.is_cut and (way == "remark" or (way == "own" and name == min(self.texts.options)))
        is_word = self.plain[place].islower() and way == "remark"
        if not name or is_list or is_open or is_word or (not is_lone and phrases.UNDONE.match(self.text, place + 1)):
            return None
        corrected = phrases.CORRECTION.search(self.text, place + 1)
        newer = self.concluded(corrected.start()) if corrected else None
        return newer or self.took(name, "lone-letter" if is_lone else "leading-letter", 0, end + 60)

    def by_text(self) -> Extraction | None:
        """The output opens with an option's text, as a line or a sentence, or is one sentence that ends in it."""
        for begin in sorted({0, _end(phrases.FRAME, self.text[:200], 0)}):
            name, end = self.texts.at(self.plain, begin) or ("", 0)
            rest, frame = self.plain[end:], self.text[:begin]
            if (
                not name
                or phrases.IDLE.search(frame)
                or phrases.NO_FRAME.search(frame)
                or phrases.MARKED_FIRST.match(self.text)
            ):
                continue
            closed = re.match(rf"[ \t.!。\"')]*(?:\(?(?:option |choice )?\(?{name}\)\W*)?(?:\n|$)", rest)
            is_sentence = not frame and len(self.plain) <= 320 and re.match(r"[ \t\"')]*[.!。](?!\w)", rest)
            is_yes_no = not frame and re.match(r"(?:yes|no|true|false|[是否]),", self.plain, re.IGNORECASE)
            if is_sentence or is_yes_no or (closed and (not frame or closed.end() == len(rest))):
                return self.took(name, "option-text" if frame else "leading-text", begin, end)
        return None

    def verdict(self) -> Extraction | None:
        """The one option that is called right."""
        verdicts = {claim.answer: claim for claim in self.claims("verdict")}
        claim = next(iter(verdicts.values())) if len(verdicts) == 1 and None not in verdicts else None
        return self.took(claim.answer, "verdict", claim.start, claim.end + 40) if claim else None

    def concluded(self, start: int) -> Extraction | None:
        """A last clause that says nothing but its letter: "So it must be (C)."""
        start = max(start, len(self.text) - 240)
        for claim in self.claims("concluded", start):
            asked = self.text[: claim.start].rstrip()[-80:]  # "Which one is wrong? B."
            if claim.answer and self.plain[claim.end - 1].isupper() and not asked.endswith("?"):
                return self.took(claim.answer, "concluded", claim.start, len(self.text))
        return None

    def refusal(self) -> Extraction | None:
        """The output declines to answer, unless to say so is one of the options."""
        found = phrases.REFUSAL.search(self.plain[:320]) or phrases.REFUSAL.search(self.plain[-320:])
        if found and (option := self.texts.at(found.string, found.start())):
            return Extraction(option[0], "option-text", "scored", found[0])
        return Extraction(None, "refusal", "refused", found[0].strip()[:160]) if found else None

    def sentence_before(self, start: int) -> str:
        begin = max(0, start - 240)
        ends = [end.end() for end in phrases.SENTENCE_END.finditer(self.text, begin, start + 24) if end.end() <= start]
        return self.text[ends[-1] if ends else begin : start]


def is_led(before: str) -> bool:
    """Whether all that a sentence says before its declaration only leads up to it."""
    before, start, contrast = before.lstrip(), 0, False
    for found in phrases.BREAK.finditer(before):
        start, contrast = found.end(), bool(phrases.CONTRAST.match(found[0]))
    if start and not contrast and phrases.REPORTED.search(before, 0, start):
        return False
    commas = [start] + [start + found.end() for found in re.finditer(r"[,:–—]", before[start:])]
    for comma in commas:
        if phrases.LEAD.fullmatch(before, comma):
            head = before[start:comma]
            is_opened = phrases.OPENER.match(head) or re.search(r"[\u3040-\uffff][,、]\s*\Z", head)
            return comma == start or bool(phrases.CONCEDES.match(head)) or (
                bool(is_opened) and not phrases.IDLE.search(head))
    return False


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
