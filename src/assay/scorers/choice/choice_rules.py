"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed, options are marked, and each sentence becomes a string of word classes (`choice_words`). A
declaration has a lead that says nothing, a cue, an option and an end; a clause that neither supposes nor reports may
stand before it. The first declaration stands; a later one replaces it only as a correction or as a final answer. Where
nothing is declared, a leading letter, an option's text, a verdict or a last sentence that only names a letter is read.
All else is `unparsed`, or `refused` where it declines.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from ..reasoning import first_turn, strip_reasoning
from .choice_marks import FIRST, MARK, OWN, OptionTexts, flatten, mark
from .choice_words import Sentence, sentences

_SHORT = re.compile(
    r"(?i)\s*(?P<claim>(?P<cue>(?:(?:so |thus |therefore,? )?the )?(?:(?:correct |final )?answer(?: is:?|:) ?))?"
    r"[(\[\"']?(?P<letter>[A-Z]))[)\]\"']?[.:,)]?\s*"
)
# The grammar, over the classes of `choice_words`: what declares, what may stand before it, between, behind; and so on.
_CUE = re.compile(
    r"(?P<declared>(?:a|g[fgou]{0,4}o|og|o(?=[fr][fpgoudvli]{1,7}i))"
    r"(?:,?(?:[fplgo][fpgoudvlr]{0,6}|[fr][fpgouvdi]{1,6}),?)?[iw:-]+|a(?=[fo]*m|n[iw]*[fo]*m(?:[j,][fo]*m)*,?q)|[iw]+[fg]*a(?=[fo:]*m)|^[fg]*g:|g[fg]*o(?=m))|(?P<chosen>c)|(?P<boxed>b)"
)
_LEAD = re.compile(r"(?:\"|(?P<opener>.*)[,:-])?(?:[fgojwkdar]|i(?=[fg]*f))*")
_SKIP = re.compile(r"[fgoaiwykb:,-]*(?:n[iwfo]*m(?:[j,][fo]*m)*,?[qf]+[io]*|m[fo]*x[,f]*)?")
_TAIL = re.compile(
    r"(?!,?f*h)(?:$|[rlq]|(?:[,:ykd\"-]|[fog]+(?=$|[,r:])|j?[fo]*n[fo]*m|j[fo]*m[inv]|i$)[^srlqw]*(?:[rlqw]|$))"
)
_JOINED = re.compile(r"[,f]*j[fo,]*m(?![invg])|[,:]?[fo]*m(?=$|[,j:])|jm|k[foy]*m")
_AGAIN = re.compile("[,fo]*m")
_BESIDE = re.compile("(?<!,)j$|(?:^|[^nlifo])[ifo]*m[,:jfo]*$")
_HEAD_TAIL = re.compile(r"(?![:,-]*u{0,2},?m)(?:$|[:,-]?[rl]|(?::(?!n)|[,-](?:[yqf]|$)|[,-]?n[fo]*m)[^sh]*(?:r|$))")
_LAST_TAIL = re.compile("f*(?:$|,?j?[fo]*(?:n[fo]*m|l))")
_VERDICT = re.compile(
    r"(?<=^g)m(?=$|[:,-])|mo?(?:,[fu]{0,5},)?(?:[iw]+(?=[fgw]*[ga])[fgwa]*+o?+|v|r?f*g+f*[ao]|[rf]+a|f?i$"
    r"|[:-]*g(?=$|[,r]))(?![foi]*[pshn]|,?q)"
)
_ENTRY = re.compile("[do]*m(?:[:,-]|$)")
_ROW = re.compile(r"(?i)(?:[^\w\n]|the\b|and\b|or\b|so\b|和|或)*")
_INITIAL = re.compile(r"[\W_]*([A-Za-z])\b(?! \w)")
_TEXT_ENDS = re.compile(
    r"(?:[^\S\n]|[\"')])*(?:\((?:option |choice )?\(?[A-Z]\)\W*|, (?:which is )?option [A-Z]\b)?"
    r"(?:(?P<line>[.!。]?\s?\n|\Z)|[.!。](?!\w)\s*|, (?:not|rather)\b[^.\n]*\.?\Z)"
)
_REFUSAL = re.compile(
    r"(?i)\b(?:i|we)(?:'m| am| are)? (?:\w+ )?(?:can(?:not| not|'t)|could(?:n't| not)|won't|will not|lack|unable to"
    r"|not able to|do(?:n't| not) (?:know|have)|(?:must |have to )?decline|refuse|sorry|apologi[sz]e)\b|\b(?:unable"
    r"|impossible|inappropriate)(?: for me)? to \w+|\bcan(?:not|'t| not) (?:be (?:answer|determin|decid)\w*|say)"
    r"|\ban ai\b|^\W{0,3}(?:sorry|unfortunately)\b|\b(?:not? enough|insufficient|need more) (?:information|context)"
    r"|(?:无法|不能|没法|無法|难以|拒绝)[^。\n]{0,16}(?:回答|判断|确定|確定|作答|提供|给出|选择|帮助|识别|看到|讨论)"
    r"|抱歉|对不起|不知道|不清楚|信息不足"
)
BEFORE_LETTER = ("declared", "chosen", "boxed")
"""Rules whose words stand before the letter."""


class Extraction(NamedTuple):
    """The answer, the rule that found it or says why there is none, and the words it relied on, shortened."""

    answer: str | None
    rule: str
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""


class _Claim(NamedTuple):
    """One place that names an answer; `None` where it names several at once, or a letter no option has."""

    start: int
    end: int
    rule: str
    answer: str | None
    is_final: bool
    is_joined: bool


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
    answer = _Answer(plain, texts, is_cut)
    found = answer.declared() or answer.leading()
    if found is None and not is_cut:
        found = answer.by_text() or answer.verdict() or answer.concluded(0) or answer.refusal()
    return found or Extraction(None, "none" if plain else "empty", "unparsed")


class _Answer:
    """An output, the same with its options marked, and the ways to read it."""

    def __init__(self, plain: str, texts: OptionTexts, is_cut: bool) -> None:
        self.plain, self.texts, self.is_cut = plain, texts, is_cut
        self.text = mark(plain, texts, is_cut=is_cut)
        self.marks = set(re.findall(f"[{MARK}]", self.text))
        self.sentences = list(sentences(self.text))
        words = [(name, place) for one in self.sentences for name, place in zip(one.classes, one.places, strict=True)]
        self.corrections = [place for name, place in words if name == "y"]
        opened = [(one.classes, one.places[one.classes.find("m")]) for one in self.sentences]
        is_entry = [bool(_ENTRY.match(classes)) or (classes[0] == "m" and self.has_text(at)) for classes, at in opened]
        self.entries = [at for (_, at), opens in zip(opened, is_entry, strict=True) if opens]

    def has_text(self, place: int) -> bool:
        return OWN in self.text[place : place + 5]

    def letter(self, place: int) -> str | None:
        name = chr(ord(self.text[place]) - ord(FIRST) + ord("A"))
        return name if name in self.texts.options else None

    def took(self, name: str | None, rule: str, start: int, end: int) -> Extraction:
        evidence = self.plain[start : min(end, start + 160)].strip()
        return Extraction(name, rule if name else "ambiguous", "scored" if name else "unparsed", evidence)

    def declared(self) -> Extraction | None:
        """The first declaration, or the later one that corrects it or is called final."""
        claims = list(self.claims())
        claims = [one for one in claims if self.text[one.end - 1] in self.marks] or claims  # a letter before a text
        if not claims:
            return None
        stands = claims[0]
        for claim in claims[1:]:
            corrects = any(stands.end <= place <= claim.start for place in self.corrections)
            is_better = corrects or stands.answer is None or (claim.is_final and not stands.is_final)
            stands = claim if claim.answer != stands.answer and claim.start >= stands.end and is_better else stands
        for taken_back in [place for place in self.corrections if stands.end <= place < stands.end + 200][:1]:
            if newer := self.concluded(taken_back):
                return newer._replace(rule="corrected")
            later = next(one.classes for one in self.sentences if one.end > taken_back)
            if re.search("n|y,?y", later) and "m" not in later:
                return Extraction(None, "retracted", "unparsed", self.plain[taken_back:][:160])
        # Two in a row are one utterance, of several letters.
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        is_row = other and (other.is_joined or _ROW.fullmatch(self.text, stands.end, other.start))
        name = None if is_row and stands is claims[0] else stands.answer
        return self.took(name, stands.rule, stands.start, stands.end)

    def claims(self) -> Iterator[_Claim]:
        """Every place where a sentence declares an answer, or where it stands in a box, in a tag, under a key."""
        classes = ["", *(one.classes for one in self.sentences), ""]
        is_list = sum(bool(re.match("[-,]?[do]*a[fo]*m[:-]", one)) for one in classes) > 1  # "Answer A: … Answer B: …"
        for at, one in enumerate(self.sentences):
            before, following = classes[at], classes[at + 2]
            cues = [] if one.asks else list(_CUE.finditer(one.classes))
            for cue in cues if len(cues) < 100 else cues[:50] + cues[-50:]:  # of a phrase repeated without end
                name, end, after = self.named(one, cue.end())
                head, rest, start = one.classes[: cue.start()], one.classes[after:], one.places[cue.start()]
                is_boxed = cue.lastgroup == "boxed" and not re.search("n[ifo,]*$", head) and not re.match("if*n", rest)
                is_headed = cue[0] == "a" and re.match("[:-]" if is_list else "[:-][fi]*n(?![fo]*m)", rest)
                is_doubtful = "w" in cue[0] + head[-3:] and re.search("[sh]", before + head)
                if name == "" or is_headed or not (is_boxed or (is_led(head) and not is_doubtful)):
                    continue
                if _JOINED.match(rest) or (following == "m" and "\n" not in self.text[end:][:4]):
                    name = None
                goes_on = self.has_text(end - 1) and not re.search("[sm]", rest)  # "B. A dog is shown"
                if name and not (is_boxed or goes_on or _TAIL.match(rest)):
                    continue
                is_final = is_boxed or "final" in self.plain[max(0, start - 12) : end].lower()
                yield _Claim(start, end, cue.lastgroup or "", name, is_final, "j" in head)

    def named(self, one: Sentence, start: int) -> tuple[str | None, int, int]:
        """The option named behind a word of a sentence, its end, and the number of the word behind it; "" for none."""
        skip = _SKIP.match(one.classes, start)
        skipped, end, after = skip.end() if skip else start, 0, 0
        name: str | None = ""
        if one.classes[skipped : skipped + 1] == "m":
            name, end, after = self.letter(one.places[skipped]), one.places[skipped] + 1, skipped + 1
        for at in (skipped, start):
            if not after and at < len(one.places) and (found := self.texts.at(self.plain, one.places[at])):
                name, end, after = *found, sum(place < found[1] for place in one.places)
        while (again := _AGAIN.match(one.classes, after)) and name and self.letter(one.places[again.end() - 1]) == name:
            after = again.end()
        return name, end, after

    def leading(self) -> Extraction | None:
        """The first sentence with an option opens with it, then its text, a reason or nothing, and begins no list."""
        at, one = next(((at, one) for at, one in enumerate(self.sentences) if "m" in one.classes), (0, None))
        head, _, rest = one.classes.partition("m") if one else ("", "", "")
        if one is None or one.asks or (self.is_cut and (at or rest)) or head.strip("oficd:-") or _JOINED.match(rest):
            return None
        place = one.places[len(head)]
        name, begin = self.letter(place), self.text.rfind("\n", 0, place) + 1
        is_only = self.has_text(place) and len(self.marks) == 1 and not re.search("[ns]", rest)
        is_name = not rest and any(re.fullmatch("u[ufm]{0,2}", one.classes) for one in self.sentences[at + 1 : at + 2])
        if not name or not (is_only or _HEAD_TAIL.match(rest)) or is_name or self.opens_list(place, begin):
            return None
        corrected = next((correction for correction in self.corrections if correction > place), None)
        newer = (self.concluded(corrected) or self.verdict()) if corrected else None
        is_lone = not rest and one.end >= len(self.text.rstrip(" .)\n"))
        return newer or self.took(name, "lone-letter" if is_lone else "leading-letter", begin, place + 60)

    def opens_list(self, place: int, begin: int) -> bool:
        """Whether a leading option is the first of a list, or may be, where the output was cut."""
        same = [one for one in self.entries if self.text[one] == self.text[place]]
        others = [one for one in self.entries if one > place and one not in same]
        until = others[0] if others else len(self.text)
        is_first = self.letter(place) == min(self.texts.options) and not any(place < one < until for one in same)
        is_paragraph = "\n\n" not in self.text[place:until]
        is_announced = self.text[:begin].rstrip().endswith(":")
        if not others or is_announced:
            return is_announced or (self.is_cut and is_first and is_paragraph and self.has_text(place))
        is_next = is_first and ord(self.text[until]) == ord(self.text[place]) + 1
        return is_paragraph or is_next or (len(others) > 1 and self.text[begin] in "#-•*")

    def by_text(self) -> Extraction | None:
        """A paragraph opens with an option's text, or the output is one sentence that ends in it: "It is a dog"."""
        starts = [0, *(found.end() for found in re.finditer(r"\n\n+", self.text))]
        for one in self.sentences if len(self.sentences) == 1 and len(self.plain) < 321 else ():
            is_plain = not one.asks and not re.search("[mnsh]|:.*:", one.classes)
            behind = [lead.end() for lead in re.finditer("(?:^|[iv:])[fk]*", one.classes) if is_plain]
            starts += [one.places[at] for at in behind if at < len(one.places)]
        for begin in starts:
            name, end = self.texts.at(self.plain, begin) or ("", 0)
            initial = _INITIAL.match(self.plain, begin) if name else None
            is_entry = initial and not self.texts.options[name].startswith(initial[1])  # "A. cat", not "H. G. Wells"
            closed = _TEXT_ENDS.match(self.plain, end) if name and not is_entry else None
            is_head = self.plain[begin - 1 : begin] in ("", "\n")
            if closed and (closed.end() == len(self.plain) or (is_head and (closed["line"] or len(self.plain) < 321))):
                return self.took(name, "leading-text" if is_head else "option-text", begin, end)
        return None

    def verdict(self) -> Extraction | None:
        """The one option that is called right, since the last correction."""
        found: dict[str | None, int] = {}
        for one in self.sentences:
            for match in _VERDICT.finditer(one.classes) if not one.asks else ():
                head = one.classes[: match.start()].rstrip("oi")
                if is_led(head) and not _BESIDE.search(head):
                    found[self.letter(one.places[match.start()])] = one.places[match.start()]
        found = {name: place for name, place in found.items() if place > max(self.corrections, default=0)} or found
        name = next(iter(found), None)
        return self.took(name, "verdict", found[name], found[name] + 40) if name and len(found) == 1 else None

    def concluded(self, start: int) -> Extraction | None:
        """A last sentence with an option that says nothing but its letter: "So it must be (C)."""
        named = [(at, one) for at, one in enumerate(self.sentences) if "m" in one.classes]
        at, last = named[-1] if named else (0, None)
        if last is None or last.asks or last.end < start:
            return None
        is_doubtful = at and "w" in last.classes and re.search("[sh]", self.sentences[at - 1].classes)
        head, _, rest = re.sub("m[f,]*j?[fo]*(?:n[fo]*m|l.*)$", "m", last.classes).rpartition("m")
        place, head = last.places[len(head)], head.rstrip("iofwcv:")
        before, _, paragraph = self.text[: last.end].rpartition("\n\n")
        is_several = len({self.text[at] for at in self.entries}) > 1 or before.endswith(":")
        is_listed = is_several and not start and _ENTRY.match(last.classes) and re.search(rf"\w|{OWN}|\n", paragraph)
        goes_on = re.search(r"\w", self.text[last.end :].partition("\n\n")[0])
        is_open = place < start or not is_led(head) or not _LAST_TAIL.match(rest) or _BESIDE.search(head)
        if is_open or is_listed or goes_on or is_doubtful:
            return None
        name = self.letter(place)
        return self.took(name, "concluded", last.places[0], last.end) if name else None

    def refusal(self) -> Extraction | None:
        """The output declines to answer, unless to say so is one of the options."""
        found = _REFUSAL.search(self.plain[:320]) or _REFUSAL.search(self.plain[-320:])
        if found and (option := self.texts.at(found.string, found.start())):
            return Extraction(option[0], "option-text", "scored", found[0])
        return Extraction(None, "refusal", "refused", found[0].strip()[:160]) if found else None


def is_led(head: str) -> bool:
    """Whether all that a sentence says before its cue only leads up to it."""
    before, concludes, part = head[max(head.rfind("q"), head.rfind("y")) + 1 :].rpartition("k")
    lead = _LEAD.fullmatch(part)
    opener = lead["opener"] or "" if lead else "s"
    return (opener[:1] == "l" or not re.search("^p(?![fo]*$)|[sh]", opener)) and not (concludes and "h" in before)
