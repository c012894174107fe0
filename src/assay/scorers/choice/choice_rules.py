"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed. The first declaration stands; a later one replaces it only as a correction or as a final answer.
Where nothing is declared, a lone or leading letter, an option's text alone or a last clause that only names a letter
is read. Remarks about other options never count, and no answer is guessed: a refusal is `refused`, the rest `unparsed`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..reasoning import strip_reasoning
from . import choice_phrases as phrases
from .choice_text import OptionTexts, first_turn, flatten


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
_OPEN = re.compile(r"[\s\"'(\[{<$\\【「『]{0,6}")
_LETTER = re.compile(r"[A-Za-z](?![A-Za-z0-9_\u00c0-\u04ff]|'[a-z])")
_CLOSE = re.compile(r"[)\]}.:,\"'】」』>$<]|\s{0,99}(?:$|\n)|[^\x00-\x7f]|\s?[-–—]\s|\s\(")
_NO_LETTER = re.compile(r"\(|\.[A-Za-z]\b|\s?[+*^=°/\\&|×]|[-–]\w|#|\.\s[a-z](?!ecause|ince)|\s(?:[a-z]\b(?!\))|\d)")
_WORD = re.compile(r"\s+(?!(?:because|since|as|due|based|which|with|for|not|rather|and|or|but|would)\b)[a-z]")
_REMARK = re.compile(r"[)\]\"']?(?:[.:](?=\s?\w)|\s+(?!and\b|or\b|plus\b|are\b|both\b)[a-zß-ÿа-я]{2,}|[项选是不])")
_ENTRY = re.compile(r"(?:^|[\s,;(\[。?])[(\[]?([A-Za-z])(?:\.\)|[.):、]|\s[-=]\s|(?=[\u3400-\u9fff]))(?=\s?\w)")
_LINE_ENTRY = re.compile(r"(?im)^[ \t>#*•(\[-]{0,6}(?:option )?([A-Z])[ \t]?[.:)\]、-]{1,3}(?=[^\n]{0,9}\w)")
_SENTENCE_END = re.compile(
    r"\n|[!?。;]|(?<!\b[A-Za-z])\.(?=[\"')]?(?:\s|$))|(?<=\b[A-Za-z])\.(?=\s{1,4}[A-Z][a-z]*\b)"
)
_REASON = re.compile(r"(?i)\b(?:because|since|as|not|while|whereas|but|rather|unlike|which|is|are|was|than)\b|[因不而]")
_TEXT_GOES_ON = re.compile(r"\s?(?:[-+*/^=>%$\\]|<(?!/))|!\s?[\d/(]|\(|\s\d")
_TEXT_JOINED = re.compile(r"\s*(?:,|/|\bor\b|\band\b|或|和)\s*(?:or\b|and\b)?\s*")
_BESIDE = re.compile(r"\W*(?:the|and|or|so|和|或)?\W*", re.IGNORECASE)
_NO_CONCLUSION = re.compile(
    r"(?i)\b(?:(?:wrong|incorrect|false|not)\b[^.!]{0,40}\?|(?:each|options|choices)\b[^.!]{0,30}:)$"
)
_ENDS = " .!)]}\"'。$】*"


def extract_choice(text: str, options: Mapping[str, str], *, is_cut: bool = False) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    `options` maps each letter to its text; a text may be empty when it is not known. Of an answer cut by the token
    limit (`is_cut`) only what it declared is read, or its letter where that is all it says.

    Example: `extract_choice("A dog is shown, so the answer is B.", {"A": "cat", "B": "dog"}).answer == "B"`
    """
    letters = frozenset(map(str.upper, options))
    # Most short answers are a letter, or the sentence that was asked for: what the rules below say of them, at once.
    if (bare := _BARE.fullmatch(text)) and bare[1].upper() in letters:
        return Extraction(bare[1].upper(), "lone-letter", "scored", text.strip())
    if (plain := _PLAIN.fullmatch(text)) and plain["letter"] in letters and not (is_cut and text[-1] in "AI"):
        return Extraction(plain["letter"], "declared-en", "scored", plain["claim"])
    spoken = strip_reasoning(text)
    reader = _Reader(letters, OptionTexts({letter.upper(): option for letter, option in options.items()}), is_cut)
    turn = first_turn(spoken)
    found = reader.read(flatten(turn))
    if found.answer is None and len(turn) < len(spoken) and (whole := reader.read(flatten(spoken))).answer:
        return whole
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads outputs to a question with these options."""

    letters: frozenset[str]
    texts: OptionTexts
    is_cut: bool

    def read(self, text: str) -> Extraction:
        if not text:
            return Extraction(None, "empty", "unparsed")
        found = self.declared(text) or self.lone(text) or self.leading(text)
        if found is None and not self.is_cut:
            found = self.verdict(text) or self.concluded(text) or self.refusal(text)
        return found or Extraction(None, "none", "unparsed")

    def declared(self, text: str) -> Extraction | None:
        """The first declaration, or the later one that corrects it or is called final."""
        claims = sorted(self.claims(text))
        if not claims:
            return None
        stands = first = claims[0]
        for claim in claims[1:]:
            corrects = phrases.CORRECTION.search(text, stands.end, claim.start)
            if claim.answer != stands.answer and (corrects or (claim.is_final and not stands.is_final)):
                stands = claim
        evidence = text[stands.start : min(stands.end, stands.start + 160)].strip()
        if taken_back := phrases.CORRECTION.search(text, stands.end):
            rest = text[taken_back.start() :]
            if newer := self.concluded(rest):
                return Extraction(newer.answer, "corrected", "scored", newer.evidence)
            if phrases.WITHDRAWN.search(rest[:80]):
                return Extraction(None, "retracted", "unparsed", rest[:160])
        # Two in a row are one utterance, of several letters: `\boxed{A} and \boxed{C}`.
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        is_pair = other and stands is first and claims[-1].answer != stands.answer
        if stands.answer is None or (other and is_pair and _BESIDE.fullmatch(text[stands.end : other.start][:60])):
            return Extraction(None, "ambiguous", "unparsed", evidence)
        return Extraction(stands.answer, stands.rule, "scored", evidence)

    def claims(self, text: str) -> Iterator[_Claim]:
        """Every declaration that is neither denied, supposed, nor put in another's mouth."""
        for rule, pattern in phrases.DECLARATIONS.items():
            cues = list(pattern.finditer(text))
            for cue in cues if len(cues) <= 2 * _MOST_CUES else cues[:_MOST_CUES] + cues[-_MOST_CUES:]:
                before = _sentence_before(text, cue.start())
                if rule not in _STRUCTURED and _is_idle(before, cue[0]):
                    continue
                name, end = self.letter_at(text, cue.end()) or ("", 0)
                if name != "" and not self.is_denied(text, name, end) and not phrases.SUPPOSED_AFTER.match(text, end):
                    is_final = rule in _STRUCTURED or "final" in (before[-12:] + cue[0]).lower()
                    yield _Claim(end, cue.start(), rule, name, is_final)

    def is_denied(self, text: str, name: str | None, end: int) -> bool:
        """Whether what follows an answer says that it is wrong, unless these are the words of the option itself."""
        is_own = name is not None and self.texts.is_own(name, text[end : end + 2_000])
        return not is_own and phrases.DENIED_AFTER.match(text, end) is not None

    def letter_at(self, text: str, start: int, *, takes_text: bool = True) -> tuple[str | None, int] | None:
        """The answer at a place, with its end; `(None, end)` where it is several letters or not one of the options."""
        skipped = _end(phrases.SKIP, text, start)
        begin = _end(_OPEN, text, skipped)
        letter = _LETTER.match(text, begin)
        closed = letter is not None and _CLOSE.match(text, letter.end()) is not None
        if takes_text and not closed and (by_text := self.text_at(text, skipped) or self.text_at(text, start)):
            return by_text
        if letter is None or phrases.SEVERAL.match(text, skipped):
            return (None, skipped) if phrases.SEVERAL.match(text, skipped) else None
        name, end, opened = letter[0].upper(), letter.end(), text[begin - 1 : begin] in tuple("([{\"'【「『<$")
        own = name in self.letters and self.texts.is_own(name, text[end : end + 2_000])
        joined, listed, word = self.joined(text, letter), self.is_listed(text, begin), _WORD.match(text, end)
        marked = closed or own or (opened and letter[0].isupper() and not word)
        if ("\n" in text[start:begin] and listed) or (not own and not joined and _NO_LETTER.match(text, end)):
            return None
        if not marked and (letter[0].islower() or (letter[0] in "AI" and not joined and word)):
            return None
        if self.is_cut and letter[0] in "AIai" and not opened and end == len(text):
            return None
        return (name if name in self.letters and not joined and not listed else None), end

    def text_at(self, text: str, start: int) -> tuple[str | None, int] | None:
        """The option whose text stands at a place; `None` for it where another's is joined to it."""
        window = text[start : start + 2_000]
        found = self.texts.at_start(window)
        if found is None or _TEXT_GOES_ON.match(window, found[1]):
            return None
        joined = _TEXT_JOINED.match(window, found[1])
        other = self.texts.at_start(window[joined.end() :]) if joined else None
        return (None if other and other[0] != found[0] else found[0]), start + found[1]

    def joined(self, text: str, first: re.Match[str]) -> bool:
        """Whether another letter is named with the first: "B and C", "(A)(B)", "A/D"."""
        found = phrases.JOIN.match(text, first.end())
        if found is None or (name := found["letter"].upper()) not in self.letters or name == first[0].upper():
            return False
        is_word = found["letter"].islower() and (first[0].isupper() or not found["sep"])
        own = self.texts.options.get(first[0].upper(), "").strip(" .()\"'")  # a letter where blood groups are asked
        if is_word or (found["letter"] in "AI" and _WORD.match(found["after"])) or name == own:
            return False
        if phrases.DENIED_AFTER.match(text, found.end("letter")) or (not found["sep"] and "\n" in found[0]):
            return False
        if found["sep"] in (None, ";") and phrases.DENIED.search(found["after"]):
            return False
        return not (found["sep"] in (None, ",", ";") and _REMARK.match(found["after"]))

    def is_listed(self, text: str, begin: int) -> bool:
        """Whether the letter at a place opens a list of the options: "A. cat B. dog", or one a line."""
        line_end = text.find("\n", begin)
        line = text[begin : line_end if line_end >= 0 else len(text)][:2_000]
        entries = [entry for entry in _ENTRY.finditer(line) if entry[1].upper() in self.letters]
        others = [entry for entry in entries if entry[1].upper() > line[0].upper()]
        if others and entries[0].start() <= 1 and not _REASON.search(line, 1, others[0].start()):
            pair = (entries[0], others[0])
            if all(self.texts.is_own(one[1].upper(), line[one.end() :]) for one in pair):
                return phrases.DENIED.search(line, others[0].end(), others[0].end() + 80) is None
            return len(others) > 1 and not _SENTENCE_END.search(line, 3, others[0].start())
        following = _LINE_ENTRY.match(text, line_end + 1) if line_end >= 0 and _LINE_ENTRY.match(line) else None
        return following is not None and ord(following[1].upper()) == ord(line[0].upper()) + 1

    def lone(self, text: str) -> Extraction | None:
        """The whole output is one letter, whatever its case, punctuation or markup; several are none."""
        lone = phrases.LONE.fullmatch(text) if len(text) <= 60 else None
        if lone and lone["letter"].upper() in self.letters:
            return Extraction(lone["letter"].upper(), "lone-letter", "scored", text)
        if len(text) <= 60 and len(names := set(re.findall(r"[^\W\d_]+", text))) > 1 and names <= self.letters:
            return Extraction(None, "ambiguous", "unparsed", text)
        return None

    def leading(self, text: str) -> Extraction | None:
        """The output opens with one option's letter, or with its text as a line of its own, and lists no other."""
        opening = phrases.LEADING.match(text)
        if opening is None or (name := opening["letter"].upper()) not in self.letters:
            return None if self.is_cut else self.by_text(text)
        rest, mark, end = text[opening.end() :], opening["mark"].strip(), opening.end("letter")
        gives_reason = not mark or re.match(r"\s{1,2}(?:because|since|as|due)\b", rest)
        is_bare = not rest.strip() or rest[0] == "\n" or gives_reason
        own, letter = self.texts.is_own(name, rest), re.compile("[A-Za-z]").match(text, end - 1)
        alone = set(re.findall(r"^[^\w\n]{0,6}([A-Z])[^\w\n]{0,6}$", rest, re.MULTILINE)) if is_bare else set()
        if (letter and self.joined(text, letter)) or alone & self.letters - {name}:
            return Extraction(None, "ambiguous", "unparsed", text[:80])
        entries = [one for pattern in (_LINE_ENTRY, _ENTRY) for one in pattern.finditer(rest)]
        denied = phrases.DENIED.search
        listed = {one[1].upper() for one in entries if not denied(rest, max(0, one.start() - 8), one.start())}
        stands_apart = is_bare or (own and "\n\n" in rest)
        is_list = self.is_listed(text, end - 1) or (not stands_apart and listed & self.letters - {name})
        is_open = self.is_cut and not is_bare and not (own and name != min(self.letters))
        is_word = opening["letter"].islower() or (mark in (",", "-") and name in "AI")
        is_remark = phrases.OPENER.match(rest) or phrases.ATTRIBUTED.match(rest.lstrip())
        says_why = is_remark and not _NO_LETTER.match(text, end)
        is_read = is_bare or own or (not is_word and (says_why or mark in (":", ")", "]", "】", "、")))
        if is_list or is_open or not is_read or self.is_denied(text, name, end):
            return None
        corrected = phrases.CORRECTION.search(text, opening.end())
        newer = self.concluded(text[corrected.start() :]) if corrected else None
        return newer or Extraction(name, "leading-letter", "scored", text[: opening.end() + 60])

    def by_text(self, text: str) -> Extraction | None:
        """The output opens with an option's text, as a line or a sentence, or is one sentence that ends in it."""
        for begin in sorted({0, _end(phrases.FRAME, text[:200], 0)}):
            name, length = self.texts.at_start(text[begin : begin + 2_000]) or ("", 0)
            rest, frame = text[begin + length :], text[:begin]
            if not name or (frame and (_is_idle("", frame) or re.search(r"\b[A-Z]\b|[.;!?]\s", frame[1:]))):
                continue
            closed = re.match(rf"[ \t.!。\"')]*(?:\(?(?:option |choice )?\(?{name}\)\W*)?(?:\n|$)", rest)
            is_sentence = not frame and len(text) <= 320 and re.match(r"[ \t\"')]*[.!。](?!\w)", rest)
            is_yes_no = not frame and re.match(r"(?:yes|no|true|false|[是否]),", text, re.IGNORECASE)
            if is_sentence or is_yes_no or (closed and (not frame or closed.end() == len(rest))):
                return Extraction(name, "option-text" if frame else "leading-text", "scored", text[-160:])
        return None

    def verdict(self, text: str) -> Extraction | None:
        """The one option that is called right."""
        verdicts: dict[str, str] = {}
        for found in phrases.VERDICT.finditer(text):
            name = found["letter"] or found["cjk"]
            between, before = (found["text"] or "").strip(" .:),"), _sentence_before(text, found.start())
            is_joined = re.search(r"(?<!nlike )\b[A-Z]\W{0,3}(?:,|and|or|&|、|和|或)\s?$", before)
            is_plain = name in self.letters and (not between or self.texts.is_own(name, between)) and not is_joined
            if is_plain and not _is_idle(before, found[0]) and not phrases.SUPPOSED_AFTER.match(text, found.end()):
                verdicts.setdefault(name, found[0].strip())
        if len(verdicts) != 1:
            return None
        name, words = next(iter(verdicts.items()))
        return Extraction(name, "verdict", "scored", words)

    def concluded(self, text: str) -> Extraction | None:
        """A last clause that says nothing but its letter: "So it must be (C)."""
        last = _last_sentence(text)
        named = {one[1].upper() for one in (*_LINE_ENTRY.finditer(text[-4_000:]), *_ENTRY.finditer(text[-400:]))}
        is_list = (_LINE_ENTRY.match(last) and len(named) > 1) or len(_ENTRY.findall(last)) > 1
        if is_list or _NO_CONCLUSION.search(text[: text.rfind(last)][-80:].rstrip()):  # "Which one is wrong? B."
            return None
        window = last[-200:]
        for start in (*([0] if window == last else []), *(turn.end() for turn in phrases.TURN.finditer(window))):
            lead = _end(phrases.CONCLUSION, window, start)
            name, end = self.letter_at(window, lead, takes_text=False) or (None, 0)
            is_next = start == 0 and name and chr(ord(name) - 1) in named and len(window) < 4  # of a list that was cut
            if name is None or is_next or window[end - 1].islower() or _is_idle(window[:start], window[start:lead]):
                continue
            own = self.texts.at_start(window[end:])
            rest = window[end + own[1] :] if own and own[0] == name else window[end:]
            if not rest.strip(_ENDS) or re.match(r"[)\]]?,? (?:not|rather than|instead of) ", rest):
                return Extraction(name, "concluded", "scored", last[-160:])
        return None

    def refusal(self, text: str) -> Extraction | None:
        """The output declines to answer, unless to say so is one of the options."""
        found = phrases.REFUSAL.search(text[:320]) or phrases.REFUSAL.search(text[-320:])
        if found and (option := self.texts.at_start(found.string[found.start() :])):
            return Extraction(option[0], "option-text", "scored", found[0])
        return Extraction(None, "refusal", "refused", found[0].strip()[:160]) if found else None


def _is_idle(before: str, cue: str) -> bool:
    """Whether the clause of a cue denies, supposes, doubts or reports what follows."""
    clause_start = comma = 0
    concedes = re.match(r"\W*(?:though|although|while|whereas|unlike|despite|even)\b", before, re.IGNORECASE)
    for found in phrases.BREAK.finditer(before):
        comma = found.end() if found[0] != ":" or before[found.end() :].strip() else comma
        if found[0] not in ",:" or concedes:
            clause_start = comma = found.end()
    clause = before[clause_start:] + cue
    is_denied = phrases.DENIED.search(before[comma:] + cue)
    is_supposed = "would be" in cue and not phrases.CONNECTIVES.fullmatch(before)
    return bool(is_supposed or is_denied or phrases.ATTRIBUTED.search(clause) or phrases.SUPPOSED.search(clause))


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _sentence_before(text: str, start: int) -> str:
    begin = max(0, start - 240)
    ends = [end.end() for end in _SENTENCE_END.finditer(text, begin, start + 24) if end.end() <= start]
    return text[ends[-1] if ends else begin : start]


def _last_sentence(text: str) -> str:
    tail = text[-800:]
    ends = [end.end() for end in _SENTENCE_END.finditer(tail) if tail[end.end() :].strip(_ENDS)]
    return tail[ends[-1] :].strip() if ends else tail
