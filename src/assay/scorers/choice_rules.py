"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed. The first declaration stands; a later one replaces it only as a correction or as a final answer.
Where nothing is declared, a lone or leading letter, an option's text alone or a last clause that only names a letter
is read. Remarks about other options never count, and no answer is guessed: a refusal is `refused`, the rest `unparsed`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from . import choice_phrases as phrases
from .choice_text import OptionTexts, first_turn, flatten
from .reasoning import strip_reasoning


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found, and which rule found it."""

    answer: str | None
    rule: str
    """The rule that fired; `ambiguous`, `retracted`, `refusal`, `empty` and `none` are those that find no answer."""
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""
    """The words the rule relied on, shortened."""


class _Claim(NamedTuple):
    """One place that names an answer; `None` where it names several at once, or a letter no option has."""

    end: int
    start: int
    rule: str
    answer: str | None
    is_final: bool


_MOST_CUES = 50
"""Of a phrase repeated without end only the first and the last are read."""
_STRUCTURED = ("boxed", "answer-tag", "answer-key")
_BARE = re.compile(r"[ \n\t]*[(\[\"']?([A-Za-z])[)\]\"']?[.:,)]?[ \n\t]*")
_PLAIN = re.compile(
    r"[ \n\t]*(?:(?:[Ss]o |[Tt]hus |[Tt]herefore,? )?[Tt]he )?(?:correct |final )?"
    r"(?P<claim>(?:[Aa]nswer|ANSWER)(?: is:?|:) ?[(\"']?(?P<letter>[A-Z]))[)\"']?\.?[ \n\t]*"
)
_LONE = re.compile(
    r"(?:[^\w]|\\[a-z]+)*(?:(?:option|choice|letter|answer|选项|选择?|答)\W{0,4})?(?P<letter>[a-z])"
    r"(?:\W{1,3}(?P=letter)){0,60}(?:\s?(?:选项|项|吧|です|입니다))?[\W_]*",
    re.IGNORECASE,
)
_SKIP = re.compile(
    r"(?:[\s:=,>…–—-]|\.\.\.|\b(?:the|option|choice|letter|answer|alternative|most|likely|probably|clearly|definitely"
    r"|therefore|thus|indeed|simply|actually|obviously|it|is|i think|be|number|la|die|opci[óo]n|opção|opzione"
    r"|вариант|буква|lettre|(?:a )?letra|r[ée]ponse|respuesta|r[ei]sposta|antwort|ответ)\b|选项?|選項|选择|是|为){0,6}",
    re.IGNORECASE,
)
_OPEN = re.compile(r"[\s\"'(\[{<$\\【「『]{0,6}")
_LETTER = re.compile(r"[A-Za-z](?![A-Za-z0-9_\u00c0-\u04ff]|'[a-z])")
_RUN = re.compile(r"[A-Z]{2,10}(?![A-Za-z])")
_CLOSE = re.compile(r"[)\]}.:,\"'】」』>$<]|\s{0,99}(?:$|\n)|[^\x00-\x7f]|\s?[-–—]\s|\s\(")
_SEVERAL = re.compile(r"(?:both|either|all of|any of|an? (?:combination|mix)|among|between|one of)\b|都|以上", re.I)
_NO_LETTER = re.compile(r"\(|\.[A-Za-z]\b|\s?[+*^=°/\\&|×]|[-–]\w|#|\.\s[a-z](?!ecause|ince)|\s(?:[a-z]\b(?!\))|\d)")
_WORD = re.compile(r"\s+(?!(?:because|since|as|due|based|which|with|for|not|rather|and|or|but|would)\b)[a-z]")
_JOIN = re.compile(
    r"[)\]\"'.}$】\s]{0,4}(?:\([^()\n]{1,60}\)\s?)?(?P<sep>[,;/&+|、]|\b(?:and|or|plus|and/or|as well as|y|o|und|oder"
    r"|et|ou|e|и|или)\b|和|或者?|与|及|以及|跟|と|か|または|및|또는|[와과])?\s{0,4}"
    r"(?:(?:and|or|also|und|oder|possibly|maybe)\s{1,2}){0,2}(?P<noun>(?:option|choice|选项)\s?)?(?:\\f?boxed)?[(\[\"'【{$]{0,3}"
    r"(?P<letter>[A-Za-z])(?![A-Za-z0-9'\u00c0-\u04ff])(?P<after>[^\n]{0,24})"
)
_REMARK = re.compile(r"[)\]\"']?(?:[.:](?=\s?\w)|\s+(?!and\b|or\b|plus\b|are\b|both\b)[a-z]{2,}|[项选是不])")
_ENTRY = re.compile(
    r"(?:^|[\s,;(\[。?])[(\[]?(?P<letter>[A-Za-z])(?:\.\)|[.):、]|\s[-=]\s|(?=[\u3400-\u9fff]))(?=\s?\w)"
)
_LINE_ENTRY = re.compile(
    r"^[ \t>#*•(\[-]{0,6}(?:option )?(?P<letter>[A-Z])[ \t]?[.:)\]、-]{1,3}(?=[^\n]{0,9}\w)", re.M | re.IGNORECASE
)
_REASON = re.compile(
    r"\b(?:because|since|as|not|while|whereas|but|rather|instead|unlike|which|is|are|was|than)\b|[因不而]", re.I
)
_SENTENCE_END = re.compile(
    r"\n|[!?。;]|(?<!\b[A-Za-z])\.(?=[\"')]?(?:\s|$))|(?<=\b[A-Za-z])\.(?=\s{1,4}[A-Z][a-z]*\b)"
)
_LEADING = re.compile(
    r"[ \t>#\-•✓✔✅\"'(\[【]{0,6}(?:(?:option|choice|选项) ?)?(?P<letter>[a-z])(?P<mark>[ \t]?[.:)\]】、,–—-]{1,3}"
    r"|[ \t]*(?=\n)|,?(?=[ \t]+(?:because|since|as|due|rather than|not)\b)|(?=(?:选项|项)?[,。因]))",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"\W*(?:the|this|that|it|an?|because|since|as|in|explanation|reason\w*|if|we|by|there|these|they|when|here|its|to|for|based"
    r"|using|given|from|my|although|while|other|option|both|all|only|what|not|many|some|most|students|people|do|don't|be|one"
    r"|note|selecting|choosing|picking|beware|[a-j])\b|\W*[\u3040-\uffff]",
    re.IGNORECASE,
)
_TEXT_GOES_ON = re.compile(r"\s?(?:[-+*/^=>%$\\]|<(?!/))|!\s?[\d/(]|\(|\s\d")
_CONNECTIVES = re.compile(
    r"\W{0,9}(?:(?:so|therefore|thus|hence|overall|in conclusion|i think|i believe|the|my|best|correct|right|final"
    r"|that)\W{1,9}){0,6}",
    re.IGNORECASE,
)
_ASKS_WRONG = re.compile(r"\b(?:wrong|incorrect|false|not)\b[^.!]{0,40}\?$", re.IGNORECASE)
_YES_NO = ("yes,", "no,", "true,", "false,", "是,", "否,")
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
            found = self.verdict(text) or self.concluded(text) or self.option_text(text) or self.refusal(text)
        return found or Extraction(None, "none", "unparsed")

    def declared(self, text: str) -> Extraction | None:
        """The first declaration, or the later one that corrects it or is called final."""
        claims = sorted(self.claims(text))
        if not claims:
            return None
        stands, is_corrected = claims[0], False
        for claim in claims[1:]:
            corrects = phrases.CORRECTION.search(text, stands.end, claim.start) is not None
            if claim.answer != stands.answer and ((claim.is_final and not stands.is_final) or corrects):
                stands, is_corrected = claim, True
        evidence = text[stands.start : min(stands.end, stands.start + 160)].strip()
        other = next((one for one in claims if one.answer != stands.answer and one.start >= stands.end), None)
        beside = re.compile(r"\W*(?:the|and|or|so|和|或)?\W*", re.IGNORECASE)
        # Two in a row are one utterance, of several letters: `\boxed{A} and \boxed{C}`.
        gap = other.start - stands.end if other else 99
        is_pair = other is not None and gap < 60 and beside.fullmatch(text, stands.end, other.start) is not None
        if is_pair and not is_corrected and claims[-1].answer != stands.answer:
            return Extraction(None, "ambiguous", "unparsed", evidence)
        if taken_back := phrases.CORRECTION.search(text, stands.end):
            rest = text[taken_back.start() :]
            if newer := self.concluded(rest):
                return Extraction(newer.answer, "corrected", "scored", newer.evidence)
            if phrases.WITHDRAWN.search(rest[:80]):
                return Extraction(None, "retracted", "unparsed", rest[:160])
        if stands.answer is None:
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
                name, end = self.letter_at(text, cue.end()) or self.marked_later(text, cue.end()) or ("", 0)
                is_own = bool(name) and self.texts.is_own(name or "", text[end : end + 2_000])
                is_denied = not is_own and phrases.DENIED_AFTER.match(text, end)
                if name != "" and not is_denied and not phrases.SUPPOSED_AFTER.match(text, end):
                    is_final = rule in _STRUCTURED or "final" in (before[-12:] + cue[0]).lower()
                    yield _Claim(end, cue.start(), rule, name, is_final)

    def letter_at(self, text: str, start: int, *, takes_text: bool = True) -> tuple[str | None, int] | None:
        """The answer at a place, with its end; `(None, end)` where it is several letters or not one of the options."""
        skipped = _end(_SKIP, text, start)
        begin = _end(_OPEN, text, skipped)
        letter = _LETTER.match(text, begin)
        closed = letter is not None and _CLOSE.match(text, letter.end()) is not None
        if takes_text and not closed and (by_text := self.text_at(text, skipped) or self.text_at(text, start)):
            return by_text
        run = _RUN.match(text, begin)
        if (run and set(run[0]) <= self.letters and len(set(run[0])) == len(run[0])) or _SEVERAL.match(text, skipped):
            return None, run.end() if run else skipped
        if letter is None:
            return None
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
        joined = re.match(r"\s*(?:,|/|\bor\b|\band\b|或|和)\s*(?:or\b|and\b)?\s*", window[found[1] :])
        other = self.texts.at_start(window[found[1] + joined.end() :]) if joined else None
        return (None if other and other[0] != found[0] else found[0]), start + found[1]

    def marked_later(self, text: str, start: int) -> tuple[str | None, int] | None:
        """A letter in brackets at the end of the sentence: "the answer is 12 kJ (option C)"."""
        end = _SENTENCE_END.search(text, start, start + 300)
        sentence = text[start : end.start() if end else start + 300]
        named = re.findall(r"[(\[](?:option |choice )?([A-Z])[)\]]|\b(?:option|choice) ([A-Z])\b", sentence)
        name = (named[0][0] or named[0][1]) if len(named) == 1 else ""
        return (name, start + len(sentence)) if name in self.letters and not phrases.DENIED.search(sentence) else None

    def joined(self, text: str, first: re.Match[str]) -> bool:
        """Whether another letter is named with the first: "B and C", "(A)(B)", "A/D"."""
        found = _JOIN.match(text, first.end())
        if found is None or (name := found["letter"].upper()) not in self.letters or name == first[0].upper():
            return False
        is_word = found["letter"].islower() and (first[0].isupper() or not found["sep"])
        if is_word or (found["letter"] in "AI" and _WORD.match(found["after"])):
            return False
        own = self.texts.options.get(first[0].upper(), "").strip(" .()\"'")  # a letter where blood groups are asked
        if name == own or phrases.DENIED_AFTER.match(text, found.end("letter")):
            return False
        if found["sep"] is None and ("\n" in found[0] or found["noun"]):
            return False
        return not (found["sep"] in (None, ",", ";") and _REMARK.match(found["after"]))

    def is_listed(self, text: str, begin: int) -> bool:
        """Whether the letter at a place opens a list of the options: "A. cat B. dog", or one a line."""
        line_end = text.find("\n", begin)
        line = text[begin : line_end if line_end >= 0 else len(text)][:2_000]
        entries = [entry for entry in _ENTRY.finditer(line) if entry["letter"].upper() in self.letters]
        others = [entry for entry in entries if entry["letter"].upper() > line[0].upper()]
        between = line[1 : others[0].start()] if others else ""
        if others and entries[0].start() <= 1 and not _REASON.search(between):
            pair = (entries[0], others[0])
            has_texts = all(self.texts.is_own(one["letter"].upper(), line[one.end() :]) for one in pair)
            is_judged = phrases.DENIED.search(line, others[0].end(), others[0].end() + 80)
            has_sentences = re.search(r"[.!?]\s{1,9}[A-Za-z]{2,}[^\n]*[.!?]", between)
            return (has_texts and not is_judged) or (len(others) > 1 and not has_sentences)
        following = _LINE_ENTRY.match(text, line_end + 1) if line_end >= 0 and _LINE_ENTRY.match(line) else None
        return following is not None and ord(following["letter"].upper()) == ord(line[0].upper()) + 1

    def lone(self, text: str) -> Extraction | None:
        """The whole output is one letter, whatever its case, punctuation or markup."""
        lone = _LONE.fullmatch(text) if len(text) <= 60 else None
        if lone and lone["letter"].upper() in self.letters:
            return Extraction(lone["letter"].upper(), "lone-letter", "scored", text)
        if len(text) <= 60 and len(names := set(re.findall(r"[^\W\d_]+", text))) > 1 and names <= self.letters:
            return Extraction(None, "ambiguous", "unparsed", text)
        return None

    def leading(self, text: str) -> Extraction | None:
        """The output opens with one option's letter, or with its text as a line of its own, and lists no other."""
        opening = _LEADING.match(text)
        if opening is None or opening["letter"].upper() not in self.letters:
            return None if self.is_cut else self.leading_text(text)
        name, rest, mark = opening["letter"].upper(), text[opening.end() :], opening["mark"].strip()
        gives_reason = mark == "" or re.match(r"\s{1,2}(?:because|since|as|due)\b", rest) is not None
        is_bare = not rest.strip() or rest.startswith("\n") or gives_reason
        own, end = self.texts.is_own(name, rest), opening.end("letter")
        letter = re.compile("[A-Za-z]").match(text, end - 1)
        alone = set(re.findall(r"^[^\w\n]{0,6}([A-Z])[^\w\n]{0,6}$", rest, re.MULTILINE)) if is_bare else set()
        if (letter and self.joined(text, letter)) or alone & self.letters - {name}:
            return Extraction(None, "ambiguous", "unparsed", text[:80])
        entries = (*_LINE_ENTRY.finditer(rest), *_ENTRY.finditer(rest))
        denied = phrases.DENIED
        listed = {
            one["letter"].upper() for one in entries if not denied.search(rest, max(0, one.start() - 8), one.start())
        }
        stands_apart = is_bare or (own and "\n\n" in rest)
        is_list = self.is_listed(text, end - 1) or (not stands_apart and listed & self.letters - {name})
        is_denied = not own and phrases.DENIED_AFTER.match(text, end)
        is_numeral = name == "I" and re.search(r"\bII\b", rest)
        is_open = self.is_cut and not is_bare and not (own and name != min(self.letters))
        is_word = opening["letter"].islower() or (mark in (",", "-") and name in "AI")
        says_why = _OPENER.match(rest) and not _NO_LETTER.match(text, end) and not is_word
        is_marked = mark in (":", ")", "]", "】", "、") and opening["letter"].isupper()
        is_read = is_bare or own or is_marked or says_why
        if is_list or is_denied or is_numeral or is_open or not is_read:
            return None
        corrected = phrases.CORRECTION.search(text, opening.end())
        newer = self.concluded(text[corrected.start() :]) if corrected else None
        return newer or Extraction(name, "leading-letter", "scored", text[: opening.end() + 60])

    def leading_text(self, text: str) -> Extraction | None:
        """The output opens with an option's text: as its first line, or in a short output as its first sentence."""
        first = self.texts.at_start(text[:2_000])
        closing = r"[ \t.!。\"')]*(?:\n|$)" if len(text) > 320 else r"[ \t\"')]*(?:\n|$|[.!。](?!\w))"
        if first and (text[: first[1] + 1].lower() in _YES_NO or re.match(closing, text[first[1] :])):
            return Extraction(first[0], "leading-text", "scored", text[: first[1]])
        return None

    def verdict(self, text: str) -> Extraction | None:
        """The one option that is called right."""
        verdicts: dict[str, str] = {}
        for found in phrases.VERDICT.finditer(text):
            name = found["letter"] or found["cjk"] or found["other"] or found["short"]
            name = name.upper() if "(" in found[0][:12] else name
            between, before = (found["text"] or "").strip(" .:),"), _sentence_before(text, found.start())
            is_joined = re.search(r"(?<!nlike )\b[A-Z]\W{0,3}(?:,|and|or|&|、|和|或)\s?$", before)
            is_plain = name in self.letters and (not between or self.texts.is_own(name, between)) and not is_joined
            if is_plain and not _is_idle(before, found[0]) and not phrases.SUPPOSED_AFTER.match(text, found.end()):
                verdicts.setdefault(name, found[0])
        if len(verdicts) != 1:
            return None
        name, words = next(iter(verdicts.items()))
        return Extraction(name, "verdict", "scored", words.strip())

    def concluded(self, text: str) -> Extraction | None:
        """A last clause that says nothing but its letter: "So it must be (C)."""
        last = _last_sentence(text)
        named = {entry["letter"].upper() for entry in _LINE_ENTRY.finditer(text[-4_000:])}
        named |= {entry["letter"].upper() for entry in _ENTRY.finditer(text[-400:])}
        if (_LINE_ENTRY.match(last) and len(named) > 1) or len(_ENTRY.findall(last)) > 1:
            return None
        window = last[-200:]
        if _ASKS_WRONG.search(text[: text.rfind(last)][-80:].rstrip()):
            return None  # "Which one is wrong? B."
        for start in (*([0] if window == last else []), *(turn.end() for turn in phrases.TURN.finditer(window))):
            lead = _end(phrases.CONCLUSION, window, start)
            name, end = self.letter_at(window, lead, takes_text=False) or (None, 0)
            if name is None or window[end - 1].islower() or _is_idle(window[:start], window[start:lead]):
                continue
            if start == 0 and chr(ord(name) - 1) in named and len(window) < 4:
                continue  # the next entry of a list that was cut
            own = self.texts.at_start(window[end:])
            rest = window[end + own[1] :] if own and own[0] == name else window[end:]
            if not rest.strip(_ENDS) or re.match(r"[)\]]?,? (?:not|rather than|instead of) ", rest):
                return Extraction(name, "concluded", "scored", last[-160:])
        return None

    def option_text(self, text: str) -> Extraction | None:
        """An answer of one sentence that ends in one option's text, with its letter in brackets or without."""
        lettered = re.search(r"\(?(?:\boption |\bchoice )?\(?\b([A-Z])\)\W*$", text[-40:])
        body = text[: len(text) - len(lettered[0])] if lettered else text
        name, begin = (self.texts.at_end(body) if len(body) <= 200 else None) or ("", 0)
        frame = body[:begin]
        is_framed = lettered[1] == name if lettered else phrases.FRAME.fullmatch(frame) is not None
        if name and is_framed and not _is_idle("", frame) and not re.search(r"\b[A-Z]\b[^(]*$|[.;!?]\s", frame[1:]):
            return Extraction(name, "option-text", "scored", text[-160:])
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
    if is_denied or phrases.ATTRIBUTED.search(clause) or phrases.SUPPOSED.search(clause):
        return True
    return "would be" in cue and _CONNECTIVES.fullmatch(before) is None


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
