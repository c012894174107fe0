"""Claims: the places where an output says which option it takes, with how firmly it says so.

A cue ("the answer is", "故选", `\\boxed{`) is looked up first; what follows it is then read as letters or as
an option's text. Cues are data, reading is one function, so a new phrase needs no new code.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from .choice_cues import (
    ADJACENT_LETTER,
    ARTICLE_NEXT,
    CLAUSE_END,
    COMPARED,
    CONNECTIVE,
    CONTRAST,
    COPULA,
    CUES,
    DENIED_AFTER,
    DENIES_NEXT,
    DOUBTED_BEFORE,
    GAP_DENIES,
    GAP_DOUBTS,
    LETTER,
    MARKED,
    MOST_PER_CUE,
    NEGATED_START,
    NEXT_LETTER,
    NOT_BEFORE,
    OPEN,
    QUESTION_AFTER,
    RUN,
    SENTENCE_END,
    SEPARATORS_ONLY,
    SKIP,
    SUPPOSED_BEFORE,
    UNFIT_BEFORE,
    VERDICT,
    VERDICT_WORDS,
    Cue,
    Firmness,
)
from .choice_lists import lists_options, opens_list
from .choice_text import OptionTexts

_WORDS = re.compile(r"[a-z]+|[=-]>")
_CUE_WORDS = frozenset(word for cue in CUES for word in cue.words)


@dataclass(frozen=True, slots=True)
class Claim:
    """One place that names an answer."""

    rule: str
    start: int
    end: int
    answer: str | None
    """`None`: several letters at once, or a letter no option has."""
    firmness: Firmness
    evidence: str


def find_claims(text: str, letters: frozenset[str], texts: OptionTexts) -> list[Claim]:
    """Every claim in reading order; denials, suppositions and plain mentions are left out."""
    said = words_of(text)
    claims = [
        claim
        for cue in possible_cues(said)
        for match in deque(cue.pattern.finditer(text), MOST_PER_CUE)
        if (claim := _claim_at(text, match, cue, letters, texts))
    ]
    if verdict_is_possible(text, said):
        verdicts = deque(VERDICT.finditer(text), MOST_PER_CUE)
        claims += [claim for match in verdicts if (claim := _verdict_at(text, match, letters))]
    return sorted(claims, key=lambda claim: (claim.end, claim.start)) if len(claims) > 1 else claims


def words_of(text: str) -> frozenset[str] | None:
    """The words that decide which cues are searched for; `None` where other scripts may hold any cue."""
    return frozenset(_WORDS.findall(text.lower())) if text.isascii() else None


def possible_cues(said: frozenset[str] | None) -> Sequence[Cue]:
    """The cues a text of these words can have. Searching for each of them costs more than reading a short answer."""
    if said is None:
        return CUES
    found = said & _CUE_WORDS
    return [cue for cue in CUES if not found.isdisjoint(cue.words)] if found else ()


def verdict_is_possible(text: str, said: frozenset[str] | None) -> bool:
    """Whether a text of these words can say that an option is right."""
    return said is None or not said.isdisjoint(VERDICT_WORDS) or "correct" in text.lower()


def _claim_at(
    text: str, cue_match: re.Match[str], cue: Cue, letters: frozenset[str], texts: OptionTexts
) -> Claim | None:
    before = _clause_before(text, cue_match.start())
    cue_text = cue_match[0]
    contrast = CONTRAST.match(text, cue_match.end())
    denied = NOT_BEFORE.search(before) or GAP_DENIES.search(cue_text) or NEGATED_START.match(text, cue_match.end())
    if SUPPOSED_BEFORE.search(before) or (denied and not contrast):
        return None
    start = contrast.end() if contrast else cue_match.end()
    firmness = cue.firmness
    if DOUBTED_BEFORE.search(before) or GAP_DOUBTS.search(cue_text):
        firmness = Firmness.TENTATIVE
    is_strict = cue.firmness is not Firmness.DECLARED
    read = _read(text, start, letters, texts, reads_text=cue.reads_text, strict=is_strict)
    if read is None and cue.firmness is Firmness.DECLARED and "answer" in cue_text.lower():
        read = _read_later(text, start, letters)
        if read is None and cue.reads_text:
            read = _mentioned_later(text, start, texts)
            firmness = Firmness.TENTATIVE
    if read is None:
        return None
    answer, end = read
    if opens_list(text, start) or lists_options(text, start, letters, texts):
        return None
    if QUESTION_AFTER.match(text, end):
        firmness = Firmness.TENTATIVE
    return Claim(cue.rule, cue_match.start(), end, answer, firmness, _quote(text, cue_match.start(), end))


def _read(
    text: str, start: int, letters: frozenset[str], texts: OptionTexts, *, reads_text: bool, strict: bool
) -> tuple[str | None, int] | None:
    """The answer that stands at `start`, with its end; `(None, end)` when it is not one of the options."""
    skipped = SKIP.match(text, start)
    begin = skipped.end() if skipped else start
    fillers = text[start:begin].lower()
    opened = OPEN.match(text, begin)
    begin = opened.end() if opened else begin
    found = LETTER.match(text, begin)
    marked_letter = found and (SEPARATORS_ONLY.match(text, found.end()) or text[begin - 1 : begin] in "([{\"'【")
    if reads_text and not marked_letter:
        by_text = _read_text(text, start, texts) or _read_text(text, begin, texts)
        if by_text:
            return by_text
    run = RUN.match(text, begin)
    if run and set(run[0]) <= letters and list(run[0]) == sorted(set(run[0])):
        return None, run.end()
    if found is None or not _is_letter(text, found, fillers, letters, strict=strict):
        return None
    letter, end = found[0].upper(), found.end()
    if DENIED_AFTER.match(text, end):
        return None
    several = _several(text, end, letter, found[0].islower()) or _another(text, end, letter, letters, texts)
    if several:
        return None, several
    return (letter if letter in letters else None), end


def _is_letter(text: str, found: re.Match[str], fillers: str, letters: frozenset[str], *, strict: bool) -> bool:
    """Whether a lone letter names an option rather than being an article, a pronoun, a name or a variable."""
    after = text[found.end() : found.end() + 24]
    closed = not after or not (after[0].isspace() or after[0].isalnum()) or after[0] == "\n" or not after.strip()
    if not closed and not after[0].isspace() and not after[0].isascii():
        closed = True
    named = re.search(r"(?:option|choice|letter|选项|選項)\W*$", fillers) is not None
    if re.match(r"\s*(?:[=^*<]|\+\s|-\s?\d|->|→|\\|_)", after) and strict:
        return False
    if found[0].upper() not in letters and (strict or not closed or found[0].islower() or found[0] == "I"):
        return False
    if closed or named or _joined_to_another(text, found, letters):
        return True
    connected = CONNECTIVE.match(after) is not None
    if found[0] in "AaI" or found[0].islower() or strict:
        return connected and not (found[0] in "aIi" and not re.match(r"\s+(?:because|since|due|based|as)\b", after))
    return True


def _joined_to_another(text: str, found: re.Match[str], letters: frozenset[str]) -> bool:
    """Whether a capital is the first of several: no article or name is joined to a letter, as in "A & C"."""
    following = NEXT_LETTER.match(text, found.end())
    return following is not None and found[0].isupper() and {found[0], following["letter"]} <= letters


def _another(text: str, end: int, first: str, letters: frozenset[str], texts: OptionTexts) -> int:
    """Where another letter ends that stands beside the first with no word between, or 0.

    A letter that is the first one's own text, as where blood groups are the options, is no other.
    """
    following = ADJACENT_LETTER.match(text, end)
    if following is None:
        return 0
    letter = following["letter"] or following["last"]
    own = texts._options.get(first, "").strip(" .()\"'")
    is_other = letter in letters and letter not in (first, own)
    return following.end() if is_other and not DENIED_AFTER.match(text, following.end()) else 0


def _several(text: str, end: int, first: str, lower: bool) -> int:
    """Where a list of different letters ends, or 0 when only one is named."""
    several = 0
    following = NEXT_LETTER.match(text, end)
    while following:
        letter = following["letter"]
        article = (
            letter in "AaI"
            and ARTICLE_NEXT.match(text, following.end())
            and not DENIED_AFTER.match(text, following.end())
        )
        if article or (letter.islower() and not lower) or DENIED_AFTER.match(text, following.end()):
            break
        if following["sep"].strip() in ",;" and re.match(
            r"\s+(?:is|was|has|does|can|would|if)\b", text[following.end() : following.end() + 10]
        ):
            break
        if letter.upper() != first:
            several = following.end()
        following = NEXT_LETTER.match(text, following.end())
    return several


def _read_text(text: str, start: int, texts: OptionTexts) -> tuple[str | None, int] | None:
    window = text[start : start + 400]
    found = texts.at_start(window)
    if not found:
        return None
    letter, end = found
    if re.match(r"\s*(?:is|are|was)\s+(?:not|wrong|incorrect)\b|\s*(?:不|错)", window[end:]):
        return None
    alternative = re.match(r"\s*(?:,?\s*\b(?:or|and)\b|/|或者?|和|还是|、)\s*", window[end:])
    if alternative and (other := texts.at_start(window[end + alternative.end() :])) and other[0] != letter:
        return None, start + end
    return letter, start + end


def _read_later(text: str, start: int, letters: frozenset[str]) -> tuple[str | None, int] | None:
    """A marked letter further on in the sentence: "the answer is 12 kJ (option C)"."""
    sentence_end = _sentence_end(text, start)
    named: dict[str, int] = {}
    for mark in MARKED.finditer(text, start, sentence_end):
        letter = mark["letter"].upper()
        if (
            letter in letters
            and not NOT_BEFORE.search(text[max(start, mark.start() - 30) : mark.start()])
            and not DENIED_AFTER.match(text, mark.end())
        ):
            named[letter] = mark.end()
    if not named:
        named = {
            m["letter"]: m.end()
            for m in COPULA.finditer(text, start, min(len(text), sentence_end + 1))
            if m["letter"] in letters
        }
    if len(named) == 1:
        return next(iter(named.items()))
    return None


def _mentioned_later(text: str, start: int, texts: OptionTexts) -> tuple[str | None, int] | None:
    end = _sentence_end(text, start)
    found = {
        letter
        for letter, at, _ in texts.mentions(text[start:end])
        if not denies(text[start : start + at]) and not texts.is_number(letter)
    }
    return (found.pop(), end) if len(found) == 1 else None


def _verdict_at(text: str, match: re.Match[str], letters: frozenset[str]) -> Claim | None:
    raw, gap = match["letter"], match["gap"]
    letter = raw.upper()
    before = _clause_before(text, match.start())
    bare = not match["marked"] and not gap.lstrip().startswith((".", ":", ",", ")"))
    if (
        letter not in letters
        or (bare and (gap.strip() or raw.islower()))
        or (raw.islower() and raw in "ai" and not match["marked"])
    ):
        return None
    if (
        GAP_DENIES.search(gap)
        or re.search(r"\b(?:is|are|was|and|or|if|why)\b|[和或与、]|错|误|(?<![A-Za-z])[A-Z](?![A-Za-z])", gap)
        or SUPPOSED_BEFORE.search(before)
    ):
        return None
    # "A, B is right" judges the two; "between B and D, D is right" repeats the one.
    if UNFIT_BEFORE.search(before) and not re.search(rf"\b{letter},\s*$", before):
        return None
    if re.match(r"\s*(?:only\s+)?(?:if|when|were)\b|\s*(?:吗|\?)", text[match.end() : match.end() + 12]):
        return None
    tentative = DOUBTED_BEFORE.search(before) or COMPARED.search(match[0])
    firmness = Firmness.TENTATIVE if tentative else Firmness.CONCLUDED
    if not tentative and re.search(
        r"(?:answer|choice|option|pick|guess|selection|best)$|答案$|题意$", match[0], re.IGNORECASE
    ):
        firmness = Firmness.DECLARED
    return Claim("verdict", match.start(), match.end(), letter, firmness, _quote(text, match.start(), match.end()))


def denied_after(text: str, end: int) -> bool:
    """Whether the words just after a mention deny it: "is wrong", "can be ruled out", "错误"."""
    return DENIED_AFTER.match(text, end) is not None


def denies(before: str) -> bool:
    """Whether the words just before a mention deny it: "not a", "rather than the", "不是"."""
    return DENIES_NEXT.search(before[-40:]) is not None


def _clause_before(text: str, start: int) -> str:
    window = text[max(0, start - 80) : start]
    cut = 0
    for end in CLAUSE_END.finditer(window):
        cut = end.end()
    return window[cut:]


def _sentence_end(text: str, start: int) -> int:
    end = SENTENCE_END.search(text, start, min(len(text), start + 300))
    return end.start() if end else min(len(text), start + 300)


def _quote(text: str, start: int, end: int) -> str:
    return text[start : min(end, start + 160)].strip()
