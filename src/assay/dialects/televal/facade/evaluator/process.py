"""`src.evaluator.process`: how TELEVAL itself reads answers: tokens, the letter of an option, a judge's verdict.

These are upstream's rules under upstream's names. The evaluators judge by assay's own scorers, and by these where
upstream's rule was chosen.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from ....protocol import is_upstream

TAKEN_FOR_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x2001, 0x2A6D),
    (0x2A71, 0x2B73),
    (0x2B75, 0x2B81),
    (0x2B83, 0x2CEA),
    (0x2CEC, 0x2EBE),
    (0xF900, 0xFAFF),
)
"""Code points that stand alone: besides Chinese characters many signs, `’` and `—` too, but none above U+FFFF."""


class SimpleTokenizer:
    """Words and single Chinese characters, by which a reference is looked for in an answer."""

    @staticmethod
    def is_punctuation(char: str) -> bool:
        """Whether Unicode calls one character punctuation."""
        return len(char) == 1 and unicodedata.category(char)[0] == "P"

    @staticmethod
    def is_chinese_char(char: str) -> bool:
        """Whether a character stands alone."""
        code = ord(char)
        return any(first <= code <= last for first, last in TAKEN_FOR_CHINESE)

    @staticmethod
    def unicode_normalize(text: str) -> str:
        """Letters apart from their marks."""
        return unicodedata.normalize("NFD", text)

    @classmethod
    def tokenize(
        cls, text: str, uncased: bool = False, keep_punc: bool = False
    ) -> list[str]:
        """The tokens of a text; punctuation is dropped, or stands alone."""
        tokens: list[str] = []
        for piece in _pieces(cls.unicode_normalize(text)):
            word = ""
            for char in piece.lower() if uncased else piece:
                alone = cls.is_chinese_char(char)
                if not alone and not cls.is_punctuation(char):
                    word += char
                elif alone or keep_punc:
                    tokens += [word, char] if word else [char]
                    word = ""
            tokens += [word] if word else []
        return tokens

    @classmethod
    def has_answer(
        cls, refs: Any, pred: str, uncased: bool = True, keep_punc: bool = False
    ) -> bool:
        """Whether one of the references occurs: of a list any, of a tuple all."""
        tokens = cls.tokenize(pred, uncased, keep_punc)

        def holds(wanted: Any) -> bool:
            if isinstance(wanted, str):
                return cls._match_tokens(tokens, wanted, uncased, keep_punc)
            if isinstance(wanted, (list, tuple)):
                return (all if isinstance(wanted, tuple) else any)(map(holds, wanted))
            raise ValueError(
                f"a reference is a text, a list or a tuple, not a {type(wanted).__name__}"
            )

        return any(map(holds, refs))

    @classmethod
    def _match_tokens(
        cls,
        tokens: list[str],
        candidate: str,
        uncased: bool = True,
        keep_punc: bool = False,
    ) -> bool:
        wanted = cls.tokenize(candidate, uncased, keep_punc)
        return any(
            tokens[n : n + len(wanted)] == wanted
            for n in range(len(tokens) - len(wanted) + 1)
        )


def _pieces(text: str) -> Iterator[str]:
    """Runs of letters, digits and marks; every other visible character by itself."""
    run = ""
    for char in text:
        group = unicodedata.category(char)[0]
        if group in "LNM":
            run += char
            continue
        if run:
            yield run
            run = ""
        if group not in "ZC":
            yield char
    if run:
        yield run


_GAP = r"[\s，。、：,.:]*"
_LETTER = r"(?P<option>[A-Da-d])(?![A-Za-z0-9])"
_QUOTED = rf"[(\[【“‘']?{_LETTER}[)\]】”’']?"
_SO = r"(?:综上(?:所述)?|总结|综合(?:分析|来看)?|最终|因此|所以|由此可见|可见|总的来说|结论(?:是)?|可以看出)"
_ANSWER = (
    r"(?:答案|选项|选择|结论|应选|倾向(?:选择)?|应当(?:选择)?|推荐(?:选择)?|应该"
    r"|正确(?:的)?(?:叙述|选项|描述|陈述)|最(?:有)?可能)"
)
_IS = r"(?:为|是|选|应该|应是|应为|可能是|应该是|应该选|会是|选择|就是|是(?:最|更)?(?:合适|合理|正确)(?:的)?)"
_RIGHT = r"(?:正确|最佳|合适|唯一|准确|合理|首选)"
_WRONG = r"(?:错误(?:的|说法|选项|叙述|描述|陈述)?|不正确(?:的)?|不对|无效|不合理|不符合|有问题|不当)"


class OptionExtractor:
    """The letter A to D that a Chinese answer settles on; a question may ask for the wrong statement."""

    ASKS_FOR_WRONG = re.compile(
        rf"{_WRONG}|(?:不是|不属于|不应被选为|不算是|不应该是){_GAP}(?:正确|合理|符合|应选)"
    )
    CLAIMS = tuple(
        re.compile(pattern)
        for pattern in (
            rf"{_SO}{_GAP}{_ANSWER}?{_GAP}{_IS}{_GAP}{_QUOTED}",
            rf"{_ANSWER}{_GAP}{_IS}{_GAP}{_QUOTED}",
            rf"{_ANSWER}{_GAP}{_IS}?{_GAP}{_QUOTED}(?=[\s\S]*?{_RIGHT})",
        )
    )
    WRONG_CLAIMS = tuple(
        re.compile(pattern)
        for pattern in (
            rf"{_SO}{_GAP}{_WRONG}{_GAP}{_IS}{_GAP}{_QUOTED}",
            rf"{_ANSWER}{_GAP}{_IS}{_GAP}{_WRONG}?{_GAP}{_QUOTED}",
            rf"{_ANSWER}{_GAP}{_IS}?{_GAP}{_QUOTED}(?=[\s\S]*?{_WRONG})",
        )
    )

    @classmethod
    def extract(cls, pred: str, question: str, cushion: bool = False) -> str | None:
        """The letter; with `cushion` also the only one that occurs at all."""
        for pattern in (
            cls.WRONG_CLAIMS if cls.ASKS_FOR_WRONG.search(question) else cls.CLAIMS
        ):
            if found := pattern.search(pred):
                return found["option"].upper()
        present = (
            {letter.upper() for letter in re.findall(_LETTER, pred)}
            if cushion
            else set()
        )
        return present.pop() if len(present) == 1 else None

    @classmethod
    def has_answer(
        cls, ref: str, pred: str, question: str, cushion: bool = False
    ) -> dict[str, int]:
        """Whether a letter could be read, and whether it is the right one."""
        letter = cls.extract(pred, question, cushion=cushion)
        if letter is None:
            return {"cover": 0, "correct": 0}
        return {"cover": 1, "correct": int(letter == ref.upper())}


class LLMExtractor:
    """Score and explanation from a judge's reply."""

    EXPLANATION = re.compile(
        r'["\s]*Explanation["\s]*:\s*"([\s\S]*?)"(?=\s*("Score":|,|\}|\n))'
    )
    SCORE = re.compile(r'["\s]*score["\s]*:\s*"?([0-9]+(?:\.[0-9]+)?)"?', re.IGNORECASE)

    @classmethod
    def extract(
        cls, llm_output: str, explain_col: str, score_col: str
    ) -> tuple[Any, Any]:
        """The score first; cut to a whole number where upstream's rule was chosen, else with its decimals."""
        number: Any = int if is_upstream("televal") else _number
        try:
            verdict = json.loads(llm_output.strip("`json"))
            return number(verdict[score_col]), verdict[explain_col]
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            OverflowError,
            RecursionError,
        ):
            # No JSON, other JSON, or a score that is no number: the reply is read as text, and if that fails too the
            # first error is the one to tell.
            reason, score = (
                cls.EXPLANATION.search(llm_output),
                cls.SCORE.search(llm_output),
            )
            if reason is None or score is None:
                raise
        return number(score[1]), reason[1]


def _number(score: Any) -> float:
    value = float(score)
    return int(value) if value.is_integer() else value
