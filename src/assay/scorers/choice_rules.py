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

from . import choice_phrases as phrases
from .choice_marks import FIRST, SEVERAL, OptionTexts, mark
from .choice_text import flatten
from .reasoning import first_turn, strip_reasoning


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
_BARE = re.compile(r"[ \n\t]*[(\[\"']?([A-Za-z])[)\]\"']?[.:,)]?[ \n\t]*")
_PLAIN = re.compile(
    r"[ \n\t]*(?:(?:[Ss]o |[Tt]hus |[Tt]herefore,? )?[Tt]he )?(?:correct |final )?"
    r"(?P<claim>(?:[Aa]nswer|ANSWER)(?: is:?|:) ?[(\"']?(?P<letter>[A-Z]))[)\"']?\.?[ \n\t]*"
)


def extract_choice(text: str, options: Mapping[str, str], *, is_cut: bool = False) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    `options` maps each letter to its text; a text may be empty when it is not known. Of an answer cut by the token
    limit (`is_cut`) only what it declared is read, or its letter where that is all it says.

    Example: `extract_choice("A dog is shown, so the answer is B.", {"A": "cat", "B": "dog"}).answer == "B"`
    """
    texts = OptionTexts(options)
    # Most short answers are a letter, or the sentence that was asked for: what the rules below say of them, at once.
    if (bare := _BARE.fullmatch(text)) and bare[1].upper() in texts.options:
        return Extraction(bare[1].upper(), "lone-letter", "scored", text.strip())
    if (plain := _PLAIN.fullmatch(text)) and plain["letter"] in texts.options and not (is_cut and text[-1] in "AI"):
        return Extraction(plain["letter"], "declared", "scored", plain["claim"])
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
    found = answer.declared() or answer.lone() or answer.leading()
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
        claims, text = sorted(self.claims()), self.text
        if not claims:
            return None
        stands = first = claims[0]
        for claim in claims[1:]:
            corrects = phrases.CORRECTION.search(text, stands.end, claim.start)
            if claim.answer != stands.answer and (corrects or (claim.is_final and not stands.is_final)):
                stands = claim
        if taken_back := phrases.CORRECTION.search(text, stands.end):
            if newer := self.concluded(taken_back.start()):
                return Extraction(newer.answer, "corrected", "scored", newer.evidence)
            if phrases.WITHDRAWN.search(text, taken_back.start(), taken_back.start() + 80):
                return Extraction(None, "retracted", "unparsed", self.plain[taken_back.start() :][:160])
        # Two in a row are one utterance, of several letters.
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        is_pair = other and stands is first and phrases.BESIDE.fullmatch(text, stands.end, other.start)
        return self.took(None if is_pair else stands.answer, stands.rule, stands.start, stands.end)

    def claims(self) -> Iterator[_Claim]:
        """Every declaration that is neither denied, supposed, nor put in another's mouth."""
        for rule, pattern in phrases.DECLARATIONS.items():
            cues = list(pattern.finditer(self.text))
            for cue in cues if len(cues) <= 2 * _MOST_CUES else cues[:_MOST_CUES] + cues[-_MOST_CUES:]:
                before = self.sentence_before(cue.start())
                if rule not in _STRUCTURED and is_idle(before, cue[0]):
                    continue
                name, end = self.named_at(cue.end()) or ("", 0)
                if name != "" and not self.is_undone(end):
                    is_final = rule in _STRUCTURED or "final" in (before[-12:] + cue[0]).lower()
                    yield _Claim(end, cue.start(), rule, name, is_final)

    def named_at(self, start: int) -> tuple[str | None, int] | None:
        """The option named at a place, with its end; `(None, end)` for several or a letter that no option has."""
        skipped = _end(phrases.SKIP, self.text, start)
        begin = _end(phrases.OPEN, self.text, skipped)
        if (name := self.name(begin)) != "":
            return name, begin + 1
        if phrases.SEVERAL.match(self.text, skipped):
            return None, skipped
        for place in (skipped, start):
            if found := self.texts.at(self.plain, place):
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

    def is_undone(self, end: int) -> bool:
        """Whether what follows an answer says that it is wrong or only supposed."""
        return bool(phrases.DENIED_AFTER.match(self.text, end) or phrases.SUPPOSED_AFTER.match(self.text, end))

    def lone(self) -> Extraction | None:
        """The whole output is one letter, whatever its case, punctuation or markup; several are none."""
        lone = phrases.LONE.fullmatch(self.text)
        return self.took(self.name(lone.start("mark")), "lone-letter", 0, 160) if lone else None

    def leading(self) -> Extraction | None:
        """The output opens with one option's letter, gives a reason, its text or nothing, and lists no other."""
        opening = phrases.LEADING.match(self.text)
        if opening is None or not (name := self.name(place := opening.start("mark"))):
            return None
        end, mark_, way = opening.end(), opening["mark"], opening.lastgroup
        if way == "bare" and set(phrases.LINE_MARK.findall(self.text, end)) - {mark_}:
            return self.took(None, "", 0, 80)
        denied = phrases.DENIED.search
        entries = [one for one in phrases.OTHER_ENTRY.finditer(self.text, end) if one["mark"] != mark_]
        lists = any(not denied(self.text, max(0, one.start() - 8), one.start()) for one in entries)
        is_list = lists and (way == "remark" or (way == "own" and "\n\n" not in self.text[end:]))
        is_word = self.plain[place].islower() and way == "remark"
        is_open = self.is_cut and (way == "remark" or (way == "own" and name == min(self.texts.options)))
        if is_list or is_word or is_open or self.is_undone(place + 1):
            return None
        corrected = phrases.CORRECTION.search(self.text, place + 1)
        newer = self.concluded(corrected.start()) if corrected else None
        return newer or self.took(name, "leading-letter", 0, end + 60)

    def by_text(self) -> Extraction | None:
        """The output opens with an option's text, as a line or a sentence, or is one sentence that ends in it."""
        text = self.plain
        for begin in sorted({0, _end(phrases.FRAME, text[:200], 0)}):
            name, end = self.texts.at(text, begin) or ("", 0)
            rest, frame = text[end:], self.text[:begin]
            if not name or (frame and is_idle("", frame)) or phrases.NO_FRAME.search(self.text, 0, end):
                continue
            closed = re.match(rf"[ \t.!。\"')]*(?:\(?(?:option |choice )?\(?{name}\)\W*)?(?:\n|$)", rest)
            is_sentence = not frame and len(text) <= 320 and re.match(r"[ \t\"')]*[.!。](?!\w)", rest)
            is_yes_no = not frame and re.match(r"(?:yes|no|true|false|[是否]),", text, re.IGNORECASE)
            if is_sentence or is_yes_no or (closed and (not frame or closed.end() == len(rest))):
                return self.took(name, "option-text" if frame else "leading-text", begin, end)
        return None

    def verdict(self) -> Extraction | None:
        """The one option that is called right."""
        verdicts: dict[str | None, Extraction] = {}
        for found in phrases.VERDICT.finditer(self.text):
            before, name = self.sentence_before(found.start()), self.name(found.start("mark"))
            is_said = phrases.CLAUSE_START.search(before) and not is_idle(before, found[0])
            if is_said and not phrases.SUPPOSED_AFTER.match(self.text, found.end()):
                verdicts.setdefault(name, self.took(name, "verdict", found.start(), found.end()))
        return next(iter(verdicts.values())) if len(verdicts) == 1 and None not in verdicts else None

    def concluded(self, start: int) -> Extraction | None:
        """A last clause that says nothing but its letter: "So it must be (C)."""
        text = self.text
        first = max(start, len(text) - 800)
        ends = [end.end() for end in phrases.SENTENCE_END.finditer(text, first) if phrases.ENDS.fullmatch(text, end.end()) is None]
        begin = max(ends[-1] if ends else first, len(text) - 200)
        if phrases.NO_CONCLUSION.search(text[:begin].rstrip()[-80:]):  # "Which one is wrong? B."
            return None
        for turn in (begin, *(turn.end() for turn in phrases.TURN.finditer(text, begin))):
            lead = _end(phrases.OPEN, text, _end(phrases.SKIP, text, _end(phrases.CONCLUSION, text, turn)))
            name = self.name(lead)
            if not name or self.plain[lead].islower() or is_idle(text[begin:turn], text[turn:lead]):
                continue
            is_next = turn == begin and not start and chr(ord(text[lead]) - 1) in text[:lead] and len(text) - begin < 4
            if not is_next and phrases.ENDS.fullmatch(text, lead + 1) or phrases.NOT_OTHERS.match(text, lead + 1):
                return self.took(name, "concluded", begin, len(text))
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


def is_idle(before: str, cue: str) -> bool:
    """Whether the clause of a cue denies, supposes, doubts or reports what follows."""
    clause_start = comma = 0
    concedes = phrases.CONCEDES.match(before)
    for found in phrases.BREAK.finditer(before):
        comma = found.end() if found[0] != ":" or before[found.end() :].strip() else comma
        if found[0] not in ",:" or concedes:
            clause_start = comma = found.end()
    clause = before[clause_start:] + cue
    is_supposed = "would be" in cue and not phrases.CONNECTIVES.fullmatch(before)
    is_denied = phrases.DENIED.search(before[comma:] + cue)
    return bool(is_supposed or is_denied or phrases.ATTRIBUTED.search(clause) or phrases.SUPPOSED.search(clause))


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
