"""Which option a generated answer takes: a stack of rules, the first that finds an answer decides.

The order follows the evidence: reasoning is removed, then explicit declarations (the last one counts), a lone
letter, a leading answer, a concluding letter, an option's text, a letter in the last line. No answer is ever
guessed: a refusal is `refused`, anything else that stays open is `unparsed`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from .choice_claims import Claim, denied_after, denies, find_claims
from .choice_cues import Firmness
from .choice_letters import LAST_CHARS, last_sentence, unique_letter
from .choice_lists import LONGEST_LIST, graded_list, list_end
from .choice_text import OptionTexts, first_turn, flatten, strip_reasoning


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found, and which rule found it."""

    answer: str | None
    rule: str
    """The rule that fired; `ambiguous`, `retracted`, `refusal`, `empty` and `none` are those that find no answer."""
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""
    """The words the rule relied on, shortened."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """An output prepared once for all rules."""

    text: str
    letters: frozenset[str]
    texts: OptionTexts
    claims: list[Claim]


_Rule = Callable[[_Reading], Extraction | None]

_SHORT_CHARS = 320
_RETRACTION = re.compile(
    r"\b(?:wait|hold\s+on|scratch\s+that|correction|on\s+second\s+thou?ghts?|oops|my\s+mistake|sorry"
    r"|let\s+me\s+(?:re\w+|correct|fix|double)|upon\s+(?:re\w+|reflection)|i\s+made\s+an?\s+(?:mistake"
    r"|error)|no,)"
    r"|(?:^|[.!?\n]\s*)(?:hmm+|actually|no)\b|\bactually,|不对|不對|等等|等一下|更正|纠正|重新|修正|说错了|搞错了",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"(?:that|this|it)(?:'s|\s+is|\s+was|\s+can't\s+be|\s+cannot\s+be)\s*(?:not\s+(?:right|correct|quite)"
    r"|wrong|incorrect|right)|n't\s+(?:right|correct)"
    r"|scratch\s+that|my\s+mistake|i\s+made\s+an?\s+(?:mistake|error)|不对|不對|错了|有误",
    re.IGNORECASE,
)
_BARE = re.compile(r"[ \n\t]*[(\[\"']?([A-Za-z])[)\]\"']?[.:,)]?[ \n\t]*")
_SENTENCE = re.compile(
    r"[ \n\t]*(?:(?:[Ss]o |[Tt]hus |[Tt]herefore,? )?[Tt]he )?(?:correct |final )?"
    r"(?P<claim>(?:[Aa]nswer|ANSWER)(?: is:?|:) ?[(\"']?(?P<letter>[A-Z]))[)\"']?\.?[ \n\t]*"
)
_LONE = re.compile(
    r"(?:[^\w]|\\text|\\boxed|\\\w+)*(?:(?:option|choice|letter|answer|选项|选择|选"
    r"|答)\W{0,4})?(?P<letter>[A-Za-z])(?:\s?(?:选项|项|吧|啊|呀|呢|哦))?[\W_]*",
    re.IGNORECASE,
)
_DENIED_REST = re.compile(
    r"[\s:,-]*(?:is\s+|are\s+)?(?:not\b|wrong|incorrect|no\b|false|错|不|or\b|and\b)", re.IGNORECASE
)
_LINE_START = re.compile(
    r"^[ \t>#\-•·\"'(\[【]{0,6}(?:(?:option|choice"
    r"|选项)[ \t]{0,2})?(?P<letter>[A-Za-z])(?P<mark>[ \t]?[.:)\]】、,\-–—]|[ \t]*$|(?=[ \t]+(?:because|since"
    r"|as|due)\b)|(?=(?:选项|项)?[,，。因]))",
    re.MULTILINE,
)
_INLINE_START = re.compile(r"(?<![\w.])[(\[]?([A-Z])[.):、]\s?(?=\S)")
_LETTER_LIST = re.compile(
    r"\W*([A-Z])(?:[)\]\"'】]\s?(?=[(\[\"'【])|[)\]\"']?\s*(?:,|/|&|、|\+|\||\bplus\b|\band\b|\bor\b|和|或|及|与)\s*(?:and\b"
    r"|or\b)?\s*)[(\[\"'【]?([A-Z])(?![A-Za-z'])(?!\s[a-z]{2})"
)
_BETWEEN_CLAIMS = re.compile(r"[})\]\"'$ ]{0,6}(?:</\w{1,12}>)?\s?(?:,|、|;|/|&|\band\b|\bor\b|和|或)?[$\\ ]{0,4}")
_DESCRIBED = re.compile(
    r"(?:\b(?:option|choice|answer|statement|letter)\s+[A-Z]\s+\w+(?:\s+(?:an?|the))?|选项[A-Z](?:是|为|指))\s*$",
    re.IGNORECASE,
)
_CLOSING_MARKS = (".", ":", ")")
_DASHES = (",", "-", "–", "—")
_TEXT_ENDS = re.compile(r"\s*(?:$|[.,:;!\n。，(-])")
_LINE_ENDS = re.compile(r"[ \t.!。\"')]*(?:\n|$)")
_ARTICLE_FIRST = re.compile(r"[\W_]*(?:an?|the)(?![a-z])", re.IGNORECASE)
_HEAD_ENDS = re.compile(r"[.\n。!]")
_ALTERNATIVE = re.compile(r"\s*(?:,|/|\bor\b|\band\b)\s*(?:or\b|and\b)?\s*")
_REFUSAL = re.compile(
    r"\b(?:i|we|one)\s*(?:'m|am|are)?\s*(?:really\s+|truly\s+|simply\s+|currently\s+|also\s+)?(?:cannot"
    r"|can\s?not|can't|could\s?n't|could\s+not|won't|will\s+not|unable\s+to|not\s+able\s+to"
    r"|not\s+comfortable|don't|do\s+not|lack|must\s+(?:decline|refuse)|have\s+to\s+(?:decline|refuse)"
    r"|refuse|decline|would\s+rather\s+not)"
    r"(?:\s+(?:to|be\s+able\s+to|really|in\s+good\s+conscience|confidently|reliably|accurately|definitively"
    r"|actually|currently|directly|have|possibly|personally))*"
    r"\s*(?:answer|assist|help|provide|determine|identify|see|view|tell|say|know|comply|choose|select|pick"
    r"|fulfil+|respond|discuss|engage|give|process|access|decide|make|offer|solve|complete|do\s+that|enough"
    r"|the\s+ability|sufficient|support|continue|recommend|judge|recogni[sz]e|analy[sz]e|open|hear|listen"
    r"|participate|advise|answering|helping|providing)?\b"
    r"|\b(?:unable|not\s+able)\s+to\s+(?:answer|assist|help|determine|identify|provide|tell|choose|select"
    r"|see|view|respond|process|comply|give|complete)"
    r"|\b(?:cannot|can't|can\s+not|could\s+not|couldn't|impossible\s+to)\s+(?:be\s+)?(?:answer|determine"
    r"|tell|say|know|decide|identif|help|assist|conclude)\w*"
    r"|\bas\s+an?\s+(?:ai|artificial|(?:large\s+)?language\s+model|assistant|text-based|virtual)\b"
    r"|\bi'?m\s+(?:just\s+)?an\s+ai\b"
    r"|\bi(?:'m|\s+am)\s+(?:so\s+|very\s+|truly\s+)?sorry\b|\bmy\s+apologies\b|\bi\s+apologi[sz]e\b"
    r"|^\s*(?:sorry|unfortunately)\b|\b(?:inappropriate|not\s+appropriate|unethical"
    r"|irresponsible)\s+(?:for\s+me\s+)?to\b|\bagainst\s+my\s+(?:guidelines|policy|programming)|\b(?:no"
    r"|not)\s+(?:enough|sufficient)\s+information|\binsufficient\s+information"
    r"|\bneed\s+(?:more|additional|further)\s+(?:context|information|details)"
    r"|(?:无法|不能|没法|無法|没有办法|不便|不宜|难以|拒绝|不予)(?:[^。\n]{0,16})(?:回答|回應|判断|确定|確定|作答|提供|给出|选择|选出|帮助|协助|识别|看到|查看"
    r"|解答|讨论|得出|回复|分析|看见|辨认|处理|满足)"
    r"|(?:抱歉|对不起|對不起|很遗憾|不好意思)|作为(?:一个|一名|一款)?(?:人工智能|AI|语言模型|大语言模型|大模型)|(?:我)?不知道|不清楚|信息不足|無可奉告|无可奉告",
    re.IGNORECASE,
)
_OPEN_OPTION = re.compile(
    r"determin|information|unknown|not sure|uncertain|unclear|insufficient|cannot|can't"
    r"|无法|不确定|未知|不足|不能|不知道",
    re.IGNORECASE,
)


def extract_choice(text: str, options: Mapping[str, str]) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    `options` maps each letter to its text; a text may be empty when it is not known.

    Example: `extract_choice("A dog is shown, so B.", {"A": "cat", "B": "dog"}).answer == "B"`
    """
    letters = frozenset(map(str.upper, options))
    # Most short answers are a letter, or the sentence that was asked for: what the rules below say of them, at once.
    if (bare := _BARE.fullmatch(text)) and bare[1].upper() in letters:
        return Extraction(bare[1].upper(), "lone-letter", "scored", text.strip())
    if (sentence := _SENTENCE.fullmatch(text)) and sentence["letter"] in letters:
        return Extraction(sentence["letter"], "declared-en", "scored", sentence["claim"])
    said = strip_reasoning(text)
    texts = OptionTexts({letter.upper(): option for letter, option in options.items()})
    readings = [flatten(first_turn(said))]
    if len(readings[0]) < len(said.strip()):
        readings.append(flatten(said))
    if not readings[-1]:
        return Extraction(None, "empty", "unparsed")
    results = [_extract(plain, letters, texts) for plain in readings if plain]
    return next((result for result in results if result.outcome == "scored"), results[0])


def _extract(plain: str, letters: frozenset[str], texts: OptionTexts) -> Extraction:
    reading = _Reading(plain, letters, texts, find_claims(plain, letters, texts))
    for rule in RULES:
        if found := rule(reading):
            return found
    return Extraction(None, "none", "unparsed")


def _scored(answer: str, rule: str, evidence: str) -> Extraction:
    return Extraction(answer, rule, "scored", evidence[:160].strip())


def declared(reading: _Reading) -> Extraction | None:
    """The last explicit declaration, unless the output takes it back afterwards."""
    firm = [claim for claim in reading.claims if claim.firmness is Firmness.DECLARED]
    if not firm:
        return None
    last = firm[-1]
    # A cue inside another claim ("I choose: the answer is B") ends at the same letter: one claim, not two.
    rest = reading.text[last.end :]
    if retraction := _RETRACTION.search(rest):
        later = [
            c for c in reading.claims if c.start >= last.end + retraction.start() and c.firmness is Firmness.CONCLUDED
        ]
        if later and later[-1].answer:
            return _scored(later[-1].answer, "corrected", later[-1].evidence)
        corrected = unique_letter(rest[retraction.end() :], reading.letters)
        if corrected:
            return _scored(corrected, "corrected", rest[retraction.start() :])
        if _WITHDRAWN.search(rest[retraction.start() : retraction.start() + 80]):
            return Extraction(None, "retracted", "unparsed", rest[retraction.start() :][:160])
    if last.answer is None or (len(firm) > 1 and _declared_beside(reading.text, firm[-2], last)):
        return Extraction(None, "ambiguous", "unparsed", last.evidence)
    return _scored(last.answer, last.rule, last.evidence)


def lone_letter(reading: _Reading) -> Extraction | None:
    """The whole output is one letter, whatever its case, punctuation or markup."""
    if len(reading.text) > 60:
        return None
    match = _LONE.fullmatch(reading.text)
    if match and match["letter"].upper() in reading.letters:
        return _scored(match["letter"].upper(), "lone-letter", reading.text)
    return None


def leading_answer(reading: _Reading) -> Extraction | None:
    """The output opens with one option's letter or text and gives reasons after it, listing no other options."""
    text = reading.text
    opening = _LINE_START.match(text)
    if opening and opening["letter"].upper() in reading.letters:
        letter = opening["letter"].upper()
        rest = text[opening.end() :]
        later = [m for m in _LINE_START.finditer(text, opening.end()) if m["letter"].isupper() or m["mark"].strip()]
        listed = {m["letter"].upper() for m in later}
        alone = any(not m["mark"].strip() and m["letter"].upper() != letter for m in later)
        listed |= {m[1] for m in _INLINE_START.finditer(text, opening.end(), opening.end() + 600)}
        bare = opening["mark"].strip() == "" or not rest.strip() or rest.startswith("\n")
        listed &= reading.letters - {letter}
        mark = opening["mark"].strip()
        lower_word = opening["letter"].islower() and not (bare or mark in _CLOSING_MARKS)
        if lower_word or (opening["letter"] in "AI" and mark in _DASHES and not _names(reading, rest, letter)):
            return None
        several = _listed_together(text[: opening.end() + 40], reading.letters)
        if several:
            return Extraction(None, "ambiguous", "unparsed", text[:80])
        if list_end(text[:LONGEST_LIST].split("\n", 1)[0], reading.letters, reading.texts):
            return None
        denied = _DENIED_REST.match(rest)
        # A long text after "A." that is not option A's own may be the first point of an argument cut short.
        is_short = len(text) <= _SHORT_CHARS and opening["letter"].isupper()
        has_reasons = not listed and (is_short or bare or _names(reading, rest, letter))
        # Above a list of all options the answer stands apart, by a blank line.
        stands_apart = listed and not alone and _blank_line_after(text, opening.end())
        heads_list = stands_apart and (bare or _names(reading, rest, letter))
        if (has_reasons or heads_list) and not denied and not _overruled(reading, letter):
            return _scored(letter, "leading-letter", text[: opening.end() + 60])
        return None
    first = reading.texts.at_start(text[:400])
    # In a long output the opening text counts only as a line of its own: working may begin with any option's words.
    closing = _TEXT_ENDS if len(text) <= _SHORT_CHARS else _LINE_ENDS
    if first and closing.match(text[first[1] :]):
        head = _HEAD_ENDS.split(text[: first[1]], maxsplit=1)[0]
        # A head of no words but the option's own mentions no other.
        is_own = len(head) == first[1] and not _ARTICLE_FIRST.match(head)
        mentioned = set() if is_own else {letter for letter, _, _ in reading.texts.mentions(head)}
        if mentioned <= {first[0]} and not _overruled(reading, first[0]):
            tail = _ALTERNATIVE.match(text[first[1] :])
            other = reading.texts.at_start(text[first[1] + tail.end() :][:400]) if tail else None
            if other is None or other[0] == first[0]:
                return _scored(first[0], "leading-text", text[: first[1]])
    return None


def concluded(reading: _Reading) -> Extraction | None:
    """A conclusion without the word answer: "so B", "it must be (C)", "B is correct", "所以是B"."""
    made = [claim for claim in reading.claims if claim.firmness is Firmness.CONCLUDED]
    if not made:
        return None
    if len({claim.answer for claim in made if claim.rule == "verdict"}) > 1 and made[-1].rule == "verdict":
        corrected = _RETRACTION.search(reading.text, made[0].end, made[-1].start)
        return _scored(made[-1].answer, "concluded", made[-1].evidence) if corrected and made[-1].answer else None
    last = made[-1]
    near_end = last.end >= len(reading.text) - LAST_CHARS
    if last.answer is None:
        return Extraction(None, "ambiguous", "unparsed", last.evidence) if near_end else None
    if near_end or {claim.answer for claim in made} == {last.answer}:
        return _scored(last.answer, last.rule, last.evidence)
    return None


def graded(reading: _Reading) -> Extraction | None:
    """A list of the options in which one is called right and all the others wrong."""
    letter = graded_list(reading.text, reading.letters, reading.texts)
    return _scored(letter, "graded", reading.text) if letter else None


def refusal(reading: _Reading) -> Extraction | None:
    """The output declines to answer, at its start or in its last sentence."""
    said = _REFUSAL.search(reading.text[:_SHORT_CHARS]) or _REFUSAL.search(last_sentence(reading.text))
    if not said:
        return None
    mentioned = {
        letter for letter, at, _ in reading.texts.mentions(reading.text[:1000]) if not denies(reading.text[:at])
    }
    if len(mentioned) == 1:
        letter = mentioned.copy().pop()
        if any(_OPEN_OPTION.search(reading.text[at:end]) for _, at, end in reading.texts.mentions(reading.text[:1000])):
            return _scored(letter, "option-text", said[0])
    return Extraction(None, "refusal", "refused", said[0].strip()[:160])


def tentative(reading: _Reading) -> Extraction | None:
    """Only hedged claims, and all of them for the same option."""
    hedged = [claim for claim in reading.claims if claim.firmness is Firmness.TENTATIVE]
    answers = {claim.answer for claim in hedged}
    if len(answers) == 1 and (answer := hedged[-1].answer) and hedged[-1].end >= len(reading.text) - LAST_CHARS:
        return _scored(answer, "tentative", hedged[-1].evidence)
    return None


def option_text(reading: _Reading) -> Extraction | None:
    """Exactly one option's text stands, undenied, in a short output or in the conclusion of a long one."""
    short = len(reading.text) <= _SHORT_CHARS
    passage = reading.text if short else last_sentence(reading.text)
    if not short and (len(passage) > LAST_CHARS or not _CONCLUDES.search(passage)):
        return None
    found = [
        (letter, at, end)
        for letter, at, end in reading.texts.mentions(passage)
        if not denies(passage[:at]) and not denied_after(passage, end)
    ]
    answers = {letter for letter, _, _ in found}
    if len(answers) == 1 and _only_described(passage[: found[0][1]], answers, reading.letters):
        return None
    if len(answers) == 1 and not (len(passage) > 120 and reading.texts.is_number(found[0][0])):
        return _scored(found[0][0], "option-text", passage[found[0][1] : found[0][2]])
    return None


def last_line(reading: _Reading) -> Extraction | None:
    """The only standalone capital of the last line or sentence: not an article, a pronoun, a name or a variable."""
    starts = [match["letter"] for match in _LINE_START.finditer(reading.text)]
    if len(set(starts)) > 1 and starts.count(starts[-1]) == 1 and _LINE_START.match(reading.text.rsplit("\n", 1)[-1]):
        return None  # the last entry of a list of options, not a choice
    line = reading.text.rsplit("\n", 1)[-1][-LONGEST_LIST:]
    # Of a line that lists the options, what comes after the list: "A. cat B. dog: B".
    listed = list_end(line, reading.letters, reading.texts)
    passages = (line, last_sentence(reading.text)) if not listed else (line[listed:],)
    for passage in passages:
        if len(passage) <= LAST_CHARS and (letter := unique_letter(passage, reading.letters)):
            return _scored(letter, "last-line", passage)
    return None


RULES: tuple[_Rule, ...] = (
    declared,
    lone_letter,
    leading_answer,
    concluded,
    graded,
    refusal,
    tentative,
    option_text,
    last_line,
)

_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|conclusion|consequently|overall|finally|in\s+summary|ultimately"
    r"|must\s+be|it\s+is|this\s+is|answer)\b|所以|因此|综上|故|可见|总之|应该是|就是",
    re.IGNORECASE,
)


def _overruled(reading: _Reading, letter: str) -> bool:
    """Whether a later conclusion or correction names another answer than the opening did."""
    made = [claim for claim in reading.claims if claim.firmness is Firmness.CONCLUDED and claim.start > 1]
    if made and made[-1].answer not in (None, letter):
        return True
    retraction = _RETRACTION.search(reading.text, 2)
    return retraction is not None and unique_letter(reading.text[retraction.end() :], reading.letters) not in (
        None,
        letter,
    )


def _declared_beside(text: str, before: Claim, last: Claim) -> bool:
    """Whether two declarations of different letters are one utterance: `\\boxed{A} and \\boxed{C}`."""
    is_other = before.answer != last.answer and before.end <= last.start
    return is_other and _BETWEEN_CLAIMS.fullmatch(text[before.end : last.start]) is not None


def _only_described(before: str, described: set[str], letters: frozenset[str]) -> bool:
    """Whether "option A is" leads to the only text named, after another letter was: B, with a word on A."""
    return _DESCRIBED.search(before) is not None and unique_letter(before, letters) not in (None, *described)


def _names(reading: _Reading, rest: str, letter: str) -> bool:
    """Whether the option's own text follows its letter."""
    own = reading.texts.at_start(rest[:400])
    return own is not None and own[0] == letter


def _listed_together(opening: str, letters: frozenset[str]) -> bool:
    match = _LETTER_LIST.match(opening)
    return match is not None and match[1] != match[2] and match[2] in letters


def _blank_line_after(text: str, end: int) -> bool:
    line_end = text.find("\n", end)
    return line_end >= 0 and text[line_end : line_end + 2] == "\n\n"
