"""Score single choice from transcripts of Chinese speech: by the letter that an answer finally chooses.

Spoken answers give explanations, so letters of rejected options occur as well. If the
question asks for the wrong statement, 「B是错误的」 chooses B; otherwise it rejects B.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import data_error, gold_letters, named, no_answer, no_target
from ..judge.exchange import question_of
from ..spans import evidence_span, with_span

_GAP = r"[\s,。.、:;'\"“”‘’()\[\]【】*]{0,6}"
_WRONG = (
    r"(?:错误|不正确|不对|有误|不符合|不属于|不合理|不恰当|不当|不合适|无效|有问题)"
)
_RIGHT = r"(?:正确|对|合适|合理|恰当|准确|符合(?:题意|要求)?|最佳|答案)"
_NOUN = r"(?:说法|选项|描述|叙述|陈述|观点|做法|表述|一项|一个)"
_IS = r"(?:应该是|应该选|应当是|应当选|应是|应为|应选|就是|会是|可能是|选择|选|是|为|:)"

_WITHIN_SENTENCE = r"[^。?]{0,80}"
_IS_NOT = r"(?:不是|不包括|不包含|不能|不应|不可能)"
_NEGATIVE_QUESTION = re.compile(
    rf"(?:哪|何|什么|下列|以下|下面){_WITHIN_SENTENCE}{_WRONG}"  # 下列说法错误
    rf"|{_WRONG}(?:的)?{_NOUN}?{_GAP}(?:是|为|有)"  # 错误的选项是
    rf"|(?:哪|下列|以下|下面){_WITHIN_SENTENCE}{_IS_NOT}"  # 以下哪项不是
)


class Reading(NamedTuple):
    """The letter that was read from an answer, and the rule that read it. The letter is None if no rule applied."""

    letter: str | None
    rule: str
    evidence: str = ""


@scorers.register("single_choice_zh")
@dataclass(frozen=True)
class SingleChoiceZh:
    """Two metrics: `cover` is 1 if an option could be read from the answer, `correct` if it is the target's letter."""

    letters: str = "ABCD"
    cushion: bool = False
    """True to use the only letter in an answer if no rule applies. The answer may in fact reject this letter."""
    question: str = ""
    """The column with the text of the question, for prompts that contain the question only as speech."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        golds = gold_letters(sample)
        if not golds:
            return no_target(sample)
        if not golds <= set(self.letters):
            return data_error(
                f"target {'/'.join(sorted(golds))} is not among the letters {self.letters}"
            )
        reading = read_choice(
            output.text,
            self._question(sample),
            self.letters,
            cushion=self.cushion,
        )
        details = {"rule": reading.rule, "evidence": reading.evidence}
        if reading.letter is None:
            silence = no_answer(output) or Score.unparsed()
            return named(
                Score(0.0, silence.outcome, details=details),
                "correct",
                "cover",
            )
        correct = float(reading.letter in golds)
        with_span(details, evidence_span(output.text, reading.evidence, reading.letter))
        return Score(
            {"correct": correct, "cover": 1.0},
            answer=reading.letter,
            details=details,
        )

    def _question(self, sample: Sample) -> str:
        if self.question:
            return str(sample.fields.get(self.question, ""))
        return question_of(sample) or str(
            sample.fields.get("query") or sample.fields.get("question") or ""
        )


def read_choice(
    answer: str,
    question: str = "",
    letters: str = "ABCD",
    *,
    cushion: bool = False,
) -> Reading:
    """Return the letter that an answer chooses, by the last match of the strictest rule that matches.

    Example: `read_choice("A不对，所以应该选B").letter == "B"`
    """
    text = unicodedata.normalize("NFKC", answer)
    asks_for_wrong = bool(
        _NEGATIVE_QUESTION.search(unicodedata.normalize("NFKC", question))
    )
    for rule, pattern in _patterns(letters, asks_for_wrong):
        claims = list(_claims(pattern, text))
        if claims:
            last = claims[-1]
            return Reading(last["letter"].upper(), rule, last[0].strip()[:80])
    if cushion:
        present = set(re.findall(rf"(?<![A-Za-z0-9])[{letters}](?![A-Za-z0-9])", text))
        if len(present) == 1:
            return Reading(present.pop(), "cushion", text.strip()[:80])
    return Reading(None, "none")


def _claims(
    pattern: re.Pattern[str],
    text: str,
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, except those directly after a negation (不, 没有, 非)."""
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - 4) : match.start()]
        if not re.search(r"(?:不|没有?|非|排除|并不|不能|不应该?|不会)$", before):
            yield match


@lru_cache(maxsize=16)
def _patterns(
    letters: str,
    asks_for_wrong: bool,
) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the names and patterns of the rules, the strictest first."""
    both = letters + letters.lower()
    plain = rf"(?<![A-Za-z0-9])[{both}](?![A-Za-z0-9])"
    letter = rf"(?P<letter>{plain})"
    claim = (
        rf"(?:答案|结论|选项|正确(?:的)?{_NOUN}?|符合(?:题意|要求)?的?{_NOUN}?|最(?:有)?可能的?{_NOUN}?|我)"
        rf"{_GAP}(?:应该|应当|可能)?{_IS}"
    )
    if asks_for_wrong:
        claim = rf"(?:{claim}|{_WRONG}(?:的)?{_NOUN}?{_GAP}{_IS})"
        verdict = _WRONG
    else:
        verdict = rf"(?:最)?{_RIGHT}"
    claim = rf"(?:{claim}|(?:不是|不选){_GAP}[{both}]{_GAP}(?:而|应该)?(?:是|选))"
    option = rf"{letter}(?:选项|项)?"
    conclusion = r"(?:综上(?:所述)?|总之|总的来说|综合(?:来看|分析)?|最终|因此|所以|由此可见|可见)"
    denied = r"(?!(?:选项|项)?(?:的)?(?:说法)?(?:是|并)?(?:不|错))"
    # A claim with two letters is ignored. So is one that then calls its letter wrong, unless the question asks for it.
    tail = rf"(?!{_GAP}(?:或者?|和|与|及|以及|还是|、)[^。]{{0,4}}?{plain})"
    tail += "" if asks_for_wrong else denied
    rules = (
        (
            "conclusion",
            rf"{conclusion}{_GAP}(?:{claim}|{_IS}|(?:应该|应当|我)?(?:选择|选)){_GAP}{_NOUN}?{_GAP}{option}{tail}",
        ),
        (
            "declared",
            rf"(?:{claim}|(?:应该|应当|我)?(?:选择|选)){_GAP}{_NOUN}?{_GAP}{option}{tail}",
        ),
        ("verdict", rf"{option}(?:的)?{_NOUN}?{_GAP}(?:是|为|才是|最)?{_GAP}{verdict}"),
        ("alone", rf"\A{_GAP}(?:选项)?{_GAP}{option}{_GAP}\Z"),
        (
            "opening",
            rf"\A{_GAP}(?:选项)?{_GAP}{option}(?:{_GAP}因为|[\s.、:,。)](?!.*{plain}))",
        ),
    )
    return tuple((name, re.compile(pattern, re.DOTALL)) for name, pattern in rules)
