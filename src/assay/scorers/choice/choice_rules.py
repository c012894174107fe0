"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed and mentions of options are marked. A sentence declares an option only if all of it is understood:
what leads up to the declaration, what declares, what follows. The first declaration stands; a later one replaces it
only as a correction or as a final answer. Where nothing is declared, a lone or leading letter, an option's text, a
verdict or a last clause that only names a letter is read. All else is `unparsed`, or `refused` where it declines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..reasoning import first_turn, strip_reasoning
from . import choice_phrases as phrases
from .choice_marks import ENTRY, FIRST, OptionTexts, flatten, mark


class Extraction(NamedTuple):
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
_SHORT = re.compile(
    r"(?i)\s*(?P<claim>(?P<cue>(?:(?:so |thus |therefore,? )?the )?(?:(?:correct |final )?answer(?: is:?|:) ?))?"
    r"[(\[\"']?(?P<letter>[A-Z]))[)\]\"']?[.:,)]?\s*"
)
_STRUCTURED = ("boxed", "answer-tag", "answer-key")


def extract_choice(text: str, options: Mapping[str, str], *, is_cut: bool = False) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    A text of `options` may be empty where it is not known. Of an answer cut by the token limit (`is_cut`) only what it
    declared is read, or its letter where that is all it says.
    """
    texts = OptionTexts(options)
    # What most models are asked for, a letter or one sentence, is read at once as the rules below would read it.
    short = _SHORT.fullmatch(text) if len(text) < 60 else None
    if short and short["letter"].upper() in texts.options and not (is_cut and text[-3:-1].strip()):
        rule = "declared" if short["cue"] else "lone-letter"
        return Extraction(short["letter"].upper(), rule, "scored", short["claim"])
    spoken = strip_reasoning(text)
    turn = first_turn(spoken)
    found = _read(flatten(turn), texts, is_cut)
    if found.answer is None and len(turn) < len(spoken) and (whole := _read(flatten(spoken), texts, is_cut)).answer:
        return whole
    return found


def _read(plain: str, texts: OptionTexts, is_cut: bool) -> Extraction:
    answer = _Answer(plain, mark(plain, texts, is_cut=is_cut), texts, is_cut)
    found = answer.declared() or answer.leading()
    if found is None and not is_cut:
        found = answer.by_text() or answer.verdict() or answer.concluded(0) or answer.refusal()
    return found or Extraction(None, "none" if plain else "empty", "unparsed")


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
        stands = claims[0]
        for claim in claims[1:]:
            corrects = phrases.CORRECTION.search(self.text, stands.end, claim.start)
            is_better = corrects or stands.answer is None or (claim.is_final and not stands.is_final)
            stands = claim if claim.answer != stands.answer and claim.start >= stands.end and is_better else stands
        if taken_back := phrases.CORRECTION.search(self.text, stands.end):
            if newer := self.concluded(taken_back.start()):
                return newer._replace(rule="corrected")
            if phrases.WITHDRAWN.search(self.text, taken_back.start(), taken_back.start() + 80):
                return Extraction(None, "retracted", "unparsed", self.plain[taken_back.start() :][:160])
        # Two in a sentence or in a row are one utterance, of several letters.
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        is_pair = other and stands is claims[0] and phrases.BESIDE.fullmatch(self.text, stands.end, other.start)
        return self.took(None if is_pair else stands.answer, stands.rule, stands.start, stands.end)

    def claims(self, rule: str, start: int = 0, stop: int = 1 << 30) -> Iterator[_Claim]:
        """Every place where a sentence names an answer, and all of the sentence is understood."""
        cues = list(phrases.RULES[rule].finditer(self.text, start, stop))
        for cue in cues if len(cues) <= 2 * _MOST_CUES else cues[:_MOST_CUES] + cues[-_MOST_CUES:]:
            name, end = self.named_at(cue.start("mark") if "mark" in cue.groupdict() else cue.end("cue"))
            before, is_structured = self.text[self.sentence_start(cue.start()) : cue.start()], rule in _STRUCTURED
            if name and rule == "verdict" and phrases.GOES_ON.match(self.text, cue.end()):
                name = None
            if name and (joined := self.joined_end(name, end)):
                name, end = None, joined
            is_doubtful = "would be" in cue["cue"] or before.strip().lower().startswith("then")
            if is_doubtful and phrases.IDLE.search(self.text, max(0, cue.start() - 160), cue.start()):
                continue
            if name != "" and (is_structured or (is_led(before) and (rule == "verdict" or self.is_closed(end)))):
                is_final = is_structured or "final" in (before[-12:] + cue["cue"]).lower()
                yield _Claim(end, cue.start("cue"), rule, name, is_final)

    def sentence_start(self, place: int) -> int:
        begin = max(0, place - 240)
        ends = phrases.SENTENCE_END.finditer(self.text, begin, place + 24)
        return max((end.end() for end in ends if end.end() <= place), default=begin)

    def is_closed(self, end: int) -> bool:
        """Whether what follows an answer leaves it standing: no question, no condition, no word that is not known."""
        stop = phrases.SENTENCE_END.search(self.text, end, end + 300)
        last = stop.start() if stop else min(len(self.text), end + 300)
        rest = phrases.REASON.split(self.text[end:last], maxsplit=1)[0]
        is_open = phrases.IF.search(rest) or phrases.REPORTS_BACK.match(self.text, last) or (stop and stop[0][0] == "?")
        return not is_open and phrases.ENDS.match(self.text, end) is not None

    def joined_end(self, name: str | None, end: int) -> int:
        """Where the option ends that is named together with this one; 0 where this one stands alone."""
        joined = phrases.JOINED.match(self.text, end)
        if joined is None or joined.lastgroup is None:
            return 0
        step = ord(joined[joined.lastgroup]) - ord(FIRST) + ord("A") - ord(name or " ")
        return joined.end() if step == 1 or (step and joined.lastgroup != "next") else 0

    def named_at(self, start: int) -> tuple[str | None, int]:
        """The option named at a place, with its end: `None` for several or one that no option has, "" for nothing."""
        skipped = _end(phrases.SKIP, self.text, start)
        begin = _end(phrases.OPEN, self.text, skipped)
        if phrases.A_MARK.match(self.text, begin):
            letter = chr(ord(self.text[begin]) - ord(FIRST) + ord("A"))
            return letter if letter in self.texts.options else None, begin + 1
        return self.texts.at(self.plain, skipped) or self.texts.at(self.plain, start) or ("", 0)

    def leading(self) -> Extraction | None:
        """The first paragraph with an option opens with its letter, then its text, a reason or nothing, and no list."""
        first = phrases.A_MARK.search(self.text)
        begin = max(self.text.rfind("\n\n", 0, first.start()), 0) if first and not self.is_cut else 0
        opening = phrases.LEADING.match(self.text, begin)
        if opening is None or self.text[:begin].endswith(":"):
            return self.with_text()
        place, end, way = opening.start("mark"), opening.end(), opening.lastgroup
        name, is_lone = self.named_at(place)[0], way == "bare" and end == len(self.text)
        others = (phrases.LINE_MARK if way == "bare" else ENTRY).finditer(self.text, end)
        listed = [one for one in others if one["mark"] != opening["mark"]]
        other = listed[0] if listed else None
        is_next = other and ord(other["mark"]) == ord(opening["mark"]) + 1
        is_next = is_next and (way == "remark" or "option" in opening[0].lower())
        is_heading = len(listed) > 1 and opening[0].lstrip()[0] in "#*-•"
        is_list = other and (way == "bare" or is_next or is_heading or "\n\n" not in self.text[end : other.start()])
        is_open = self.is_cut and (way == "remark" or (way == "own" and name == min(self.texts.options)))
        is_word = way == "remark" and self.plain[place].islower()
        if not name or is_list or is_open or is_word or self.joined_end(name, place + 1):
            return None
        corrected = phrases.CORRECTION.search(self.text, place + 1)
        newer = (self.concluded(corrected.start()) or self.verdict()) if corrected else None
        return newer or self.took(name, "lone-letter" if is_lone else "leading-letter", begin, end + 60)

    def with_text(self) -> Extraction | None:
        """An option's letter and text open an output that names no other and denies nothing: "C. ice is cold"."""
        opening = phrases.WITH_TEXT.match(self.text)
        if opening is None or self.is_cut or set(phrases.A_MARK.findall(self.text)) != {opening["mark"]}:
            return None
        name = self.named_at(opening.start("mark"))[0]
        is_doubtful = "?" in self.text or phrases.DENIES.search(self.text) or phrases.IDLE.search(self.text)
        return None if is_doubtful or not name else self.took(name, "leading-letter", 0, opening.end() + 60)

    def by_text(self) -> Extraction | None:
        """A paragraph opens with an option's text, or the output is one sentence that ends in it: "It is a dog"."""
        starts = {0, _end(phrases.FRAME, self.text[:200], 0)} | {end.end() for end in re.finditer(r"\n\n+", self.text)}
        for begin in sorted(starts):
            name, end = self.texts.at(self.plain, begin) or ("", 0)
            marked = phrases.MARKED.match(self.text, begin)  # "A. cat" names A, "H. G. Wells" may be a text
            is_own = marked and not re.match(rf"{self.plain[marked.end() - 1]}\W", self.texts.options.get(name, ""))
            closed = phrases.TEXT_ENDS.match(self.plain, end) if name and not is_own else None
            is_head = self.plain[begin - 1 : begin] in ("", "\n")
            is_short = is_head and len(self.plain) < 321
            is_whole = closed and (closed.end() == len(self.plain) or is_short or (is_head and closed["line"]))
            if is_whole and not phrases.IDLE.search(self.text[:begin].split("\n")[-1]):
                return self.took(name, "leading-text" if is_head else "option-text", begin, end)
        return None

    def verdict(self) -> Extraction | None:
        """The one option that is called right, since the last correction."""
        corrected = max((found.end() for found in phrases.CORRECTION.finditer(self.text)), default=0)
        claims = list(self.claims("verdict", corrected)) or list(self.claims("verdict"))
        is_one = len({claim.answer for claim in claims}) == 1 and claims[0].answer
        return self.took(claims[0].answer, "verdict", claims[0].start, claims[0].end + 40) if is_one else None

    def concluded(self, start: int) -> Extraction | None:
        """A last clause that says nothing but its letter: "So it must be (C)."""
        last = max((found.end() for found in phrases.A_MARK.finditer(self.text)), default=0)
        stop = (self.text + "\n\n").find("\n\n", last)  # "I hope this helps!" may follow
        for claim in self.claims("concluded", max(start, stop - 240), stop):
            is_other = claim.end < claim.start + 4 and phrases.NO_CONCLUSION.search(self.text[:claim.start][-240:])
            if claim.answer and self.plain[claim.end - 1].isupper() and not is_other:
                return self.took(claim.answer, "concluded", claim.start, len(self.text))
        return None

    def refusal(self) -> Extraction | None:
        """The output declines to answer, unless to say so is one of the options."""
        found = phrases.REFUSAL.search(self.plain[:320]) or phrases.REFUSAL.search(self.plain[-320:])
        if found and (option := self.texts.at(found.string, found.start())):
            return Extraction(option[0], "option-text", "scored", found[0])
        return Extraction(None, "refusal", "refused", found[0].strip()[:160]) if found else None


def is_led(before: str) -> bool:
    """Whether all that a sentence says before its declaration only leads up to it."""
    before, start, contrast = before.lstrip(), 0, False
    for found in phrases.BREAK.finditer(before):
        start, contrast = found.end(), bool(phrases.CONTRAST.match(found[0]))
    if start and not contrast and phrases.REPORTED.search(before, 0, start):
        return False
    for comma in (start, *(found.end() for found in phrases.CLAUSE.finditer(before, start))):
        if phrases.LEAD.fullmatch(before, comma):
            head = before[start:comma]
            is_opened = phrases.OPENER.match(head) and not phrases.IDLE.search(head)
            return not head or bool(is_opened or (phrases.CONCEDES.match(head) and head.rstrip()[-1] in ",、:–—"))
    return False


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
