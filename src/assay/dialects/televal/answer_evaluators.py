"""TELEVAL's evaluators of text, their base class, and classes that read an option or a score from a reply."""

import importlib
import json
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from ...core import MissingExtra, Outcome, Output, Sample, Score
from ...scorers.choice.single_choice_zh import SingleChoiceZh
from ...scorers.speech.exists_match import ExistsMatch, spoken_tokens
from ...scorers.speech.speech_normalize import simplify
from ..protocol import is_upstream
from ..shapes import Fields, Record
from .eras import SEED, era_here
from .facade.utils import parallel_batch
from .structures import as_reference, as_target

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
"""Unicode ranges whose characters each become one token: Chinese characters and many symbols.

Those from 0x2001 to 0x2EBE are copied from upstream, so that the scores are the same.
They look like the extensions B to F (0x20000 to 0x2EBEF) with their last digits missing.
"""


class SimpleTokenizer:
    """Splits text into words and individual Chinese characters, to search for a reference in an answer."""

    @staticmethod
    def is_punctuation(char: str) -> bool:
        """Return True if a character is punctuation according to Unicode."""
        return len(char) == 1 and unicodedata.category(char)[0] == "P"

    @staticmethod
    def is_chinese_char(char: str) -> bool:
        """Return True for a Chinese character, which is a separate token."""
        code = ord(char)
        return any(first <= code <= last for first, last in TAKEN_FOR_CHINESE)

    @staticmethod
    def unicode_normalize(text: str) -> str:
        """Decompose letters into base letters and combining marks (NFD)."""
        return unicodedata.normalize("NFD", text)

    @classmethod
    def tokenize(
        cls,
        text: str,
        uncased: bool = False,
        keep_punc: bool = False,
    ) -> list[str]:
        """Return the tokens of a text. Punctuation marks are either dropped or separate tokens."""
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
        cls,
        refs: Iterable[object],
        pred: str,
        uncased: bool = True,
        keep_punc: bool = False,
    ) -> bool:
        """Return True if the answer contains one of the references: any of a list, all of a tuple."""
        tokens = cls.tokenize(pred, uncased, keep_punc)

        def occurs(reference: object) -> bool:
            if not isinstance(reference, str):
                raise ValueError(
                    f"a reference is a text, a list or a tuple, not a {type(reference).__name__}"
                )
            return _contains_sequence(
                cls.tokenize(reference, uncased, keep_punc), tokens
            )

        return any(_reference_occurs(reference, occurs) for reference in refs)


def _reference_occurs(
    reference: object,
    occurs: Callable[[object], bool],
) -> bool:
    """Return True if a reference occurs. For a list, one of its entries is enough; for a tuple, all must occur."""
    if not isinstance(reference, (list, tuple)):
        return occurs(reference)
    combine = all if isinstance(reference, tuple) else any
    return combine(_reference_occurs(part, occurs) for part in reference)


def _contains_sequence(
    sought: list[str],
    tokens: list[str],
) -> bool:
    """Return True if `tokens` contains the tokens in `sought` consecutively."""
    size = len(sought)
    return any(
        tokens[start : start + size] == sought
        for start in range(len(tokens) - size + 1)
    )


def _pieces(text: str) -> Iterator[str]:
    """Split a text into runs of letters, digits and combining marks, and other visible characters one by one."""
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
    """Reads the option (A to D) that a Chinese answer chooses. A question may ask which statement is wrong."""

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
    def extract(
        cls,
        pred: str,
        question: str,
        cushion: bool = False,
    ) -> str | None:
        """Return the option letter that the answer `pred` chooses. None if the choice is unclear.

        Usually a phrase such as "the answer is B" is required. With `cushion`, a letter
        without such a phrase is accepted if it is the only one in the answer.
        """
        for pattern in (
            cls.WRONG_CLAIMS if cls.ASKS_FOR_WRONG.search(question) else cls.CLAIMS
        ):
            if match := pattern.search(pred):
                return match["option"].upper()
        if cushion:
            present = {letter.upper() for letter in re.findall(_LETTER, pred)}
        else:
            present = set()
        return present.pop() if len(present) == 1 else None

    @classmethod
    def has_answer(
        cls,
        ref: str,
        pred: str,
        question: str,
        cushion: bool = False,
    ) -> dict[str, int]:
        """Return two flags: `cover` is 1 if a letter was found in the answer; `correct` is 1 if it equals `ref`."""
        letter = cls.extract(pred, question, cushion=cushion)
        if letter is None:
            return {"cover": 0, "correct": 0}
        return {"cover": 1, "correct": int(letter == ref.upper())}


class LLMExtractor:
    """Reads the score and the explanation from a judge's reply."""

    EXPLANATION = re.compile(
        r'["\s]*Explanation["\s]*:\s*'
        r'"([\s\S]*?)"'
        r'(?=\s*("Score":|,|\}|\n))'  # the end of the text, which may contain quotation marks
    )
    SCORE = re.compile(r'["\s]*score["\s]*:\s*"?([0-9]+(?:\.[0-9]+)?)"?', re.IGNORECASE)

    @classmethod
    def extract(
        cls,
        llm_output: str,
        explain_col: str,
        score_col: str,
    ) -> tuple[float, str]:
        """Return the score and the explanation in a judge's reply.

        TELEVAL's own rule truncates a number to an integer and raises for a text with
        decimals; assay's rule keeps the decimals.
        """
        number: Callable[[Any], float] = int if is_upstream("televal") else _number
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
            # No JSON, other JSON, or a score that is not a number: read the reply as text. If that also fails,
            # raise the first error.
            reason, score = (
                cls.EXPLANATION.search(llm_output),
                cls.SCORE.search(llm_output),
            )
            if reason is None or score is None:
                raise
        return number(score[1]), reason[1]


def _number(score: float | str) -> float:
    value = float(score)
    if value.is_integer():
        return int(value)
    return value


CHINESE_MARKS = (
    "＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､\u3000、〃〈〉《》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿"
    "–—‘’‛“”„‟…‧﹏﹑﹔·．！？｡。"
)
LANGUAGES = {"zh": "chinese", "en": "english"}


class TextProcessor:
    """Normalizes text: simplified characters, spelled-out numbers, no punctuation, no spaces."""

    RE_PUNCTUATION = re.compile(f"[{re.escape(CHINESE_MARKS + string.punctuation)}]")
    RE_SPACES = re.compile(r"[\s\u3000]+")

    def __init__(self, language: str = "zh") -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language is zh or en, not {language!r}")
        self.language = language

    @staticmethod
    def clean_text(
        text: str,
        remove_punct: bool = True,
        remove_space: bool = True,
    ) -> str:
        """Remove punctuation and spaces."""
        if remove_punct:
            text = TextProcessor.RE_PUNCTUATION.sub("", text)
        if remove_space:
            return TextProcessor.RE_SPACES.sub("", text)
        return text

    @staticmethod
    def convert_cn(text: str) -> str:
        """Convert traditional characters to simplified ones."""
        zhconv = _optional("zhconv")
        if zhconv:
            return str(zhconv.convert(text, "zh-cn"))
        return simplify(text)

    def normalize_text(self, text: str) -> str:
        """Spell out numbers, dates and units."""
        return _speller(self.language)(text)

    def normalize_and_clean(
        self,
        text: str,
        do_normalize: bool = True,
        simplified_zh: bool = True,
        remove_punct: bool = True,
        remove_space: bool = True,
    ) -> str:
        """Simplify characters, spell out numbers, and remove punctuation and spaces, in this order."""
        if simplified_zh:
            text = self.convert_cn(text)
        if do_normalize:
            text = self.normalize_text(text)
        return self.clean_text(
            text,
            remove_punct=remove_punct,
            remove_space=remove_space,
        )


def _optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@cache
def _speller(language: str) -> Callable[[str], str]:
    """Return the function that spells out numbers: TELEVAL's normalizer `tn`, or wetext with the same rules."""
    own_normalizer = _optional(f"tn.{LANGUAGES[language]}.normalizer")
    wetext = _optional("wetext")
    if own_normalizer is not None:
        normalizer = own_normalizer.Normalizer()
    elif wetext is not None:
        normalizer = wetext.Normalizer(lang=language, operator="tn")
    else:
        raise MissingExtra("wetext", "assay[speech]", where="TextProcessor")
    return normalizer.normalize  # type: ignore[no-any-return]


class Evaluator:
    """The base of users' evaluators. A subclass defines `evaluate`, which returns `key` and `score` of predictions."""

    def evaluate(
        self,
        preds: object,
        refs: object,
        pred_info_list: object,
        **kwargs: object,
    ) -> object:
        """Judge predictions. A subclass takes lists of predictions or, with `@parallel_batch`, a single prediction."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluate")


class BuiltInEvaluator(Evaluator):
    """Base of TELEVAL's evaluators that use a scorer of assay.

    A subclass may override `judged` to apply TELEVAL's own rule.
    """

    scorer: Any

    def __init__(self, max_workers: int | None = None) -> None:
        # Without a number, the default of `@parallel_batch` applies.
        if max_workers is not None:
            self.max_workers = max_workers

    @parallel_batch(default_workers=4)
    def evaluate(
        self,
        pred: object,
        ref: object,
        pred_info: Record,
        **kwargs: object,
    ) -> Record:
        """Return the verdict on one prediction, a dictionary with `key` and `score`."""
        return self.judged(pred, ref, pred_info)

    def judged(
        self,
        pred: object,
        ref: object,
        pred_info: Record,
    ) -> Record:
        """Score one prediction with assay's scorer. Return a dictionary with `key`, `pred`, `ref` and `score`."""
        key = pred_info.get("key")
        question = str(pred_info.get("query") or "")
        sample = Sample(str("" if key is None else key), question, as_target(ref))
        score: Score = self.scorer(sample, Output.of("" if pred is None else str(pred)))
        return {"key": key, "pred": pred, "ref": ref, "score": score.value}

    @staticmethod
    def result_of(
        line: Fields,
        score: object,
        details: Fields,
    ) -> Record:
        """Convert the score of assay's scorer for a prediction line to the result of TELEVAL's `evaluate`."""
        return {"key": line["key"], "score": score}


@dataclass(frozen=True)
class WithPunctuation:
    """A scorer like `ExistsMatch` that also compares punctuation marks. Each mark is one token."""

    def __call__(
        self,
        sample: Sample,
        output: Output,
    ) -> Score:
        score = ExistsMatch()(sample, output)
        if score.outcome is not Outcome.SCORED or not score.value:
            return score
        tokens = _with_marks(output.text)
        if _reference_occurs(
            as_reference(sample.target),
            lambda reference: _contains_sequence(_with_marks(str(reference)), tokens),
        ):
            return score
        return Score(0.0, details={"rule": "punctuation differs"})


def _with_marks(text: str) -> list[str]:
    """Split a text into words, individual Chinese characters and punctuation marks."""
    tokens: list[str] = []
    word = ""
    for char in unicodedata.normalize("NFKC", text):
        if unicodedata.category(char)[0] == "P":
            tokens += [*spoken_tokens(word), char]
            word = ""
        else:
            word += char
    return [*tokens, *spoken_tokens(word)]


class ExistMatch(BuiltInEvaluator):
    """Scores 1 if a reference occurs in the answer: any entry of a list, all entries of a tuple."""

    def __init__(
        self,
        keep_punc: bool = False,
        max_workers: int | None = None,
    ) -> None:
        super().__init__(max_workers)
        self.keep_punc = keep_punc
        self.scorer = WithPunctuation() if keep_punc else ExistsMatch()

    def judged(
        self,
        pred: object,
        ref: object,
        pred_info: Record,
    ) -> Record:
        """Return the verdict on one prediction. TELEVAL's own rule rejects references that are not a list."""
        if not is_upstream("televal"):
            return super().judged(pred, ref, pred_info)
        if isinstance(ref, str) and era_here() != SEED:
            ref = [ref]
        if not isinstance(ref, list):
            raise ValueError(
                f"ExistMatch needs a list of references, not a {type(ref).__name__}"
            )
        is_there = SimpleTokenizer.has_answer(ref, str(pred), keep_punc=self.keep_punc)
        return {
            "key": pred_info["key"],
            "pred": pred,
            "ref": ref,
            "score": int(is_there),
        }


class SingleOptionMatch(BuiltInEvaluator):
    """Score an option letter. `cover` is 1 if a letter was found in the answer; `correct` is 1 if it is right."""

    def __init__(
        self,
        max_workers: int | None = None,
        cushion: bool = False,
    ) -> None:
        super().__init__(max_workers)
        self.cushion = cushion
        self.scorer = SingleChoiceZh(cushion=cushion)

    def judged(
        self,
        pred: object,
        ref: Any,
        pred_info: Record,
    ) -> Record:
        """Return the verdict on one prediction.

        TELEVAL's own rule needs the text of the question, and one letter as reference.
        """
        if not is_upstream("televal"):
            return super().judged(pred, ref, pred_info)
        if isinstance(ref, list):
            if len(ref) != 1:
                raise AssertionError(
                    f"SingleOptionMatch needs one reference, not {len(ref)}"
                )
            ref = ref[0]
        query: Any = pred_info.get("query")
        verdict = OptionExtractor.has_answer(
            ref, str(pred), query, cushion=self.cushion
        )
        return {"key": pred_info["key"], "pred": pred, "ref": ref, "score": verdict}
