"""`src.evaluator.text_utils`: Chinese and English text made comparable, as TELEVAL's ASR evaluator does it.

TELEVAL's own libraries (zhconv, WeTextProcessing) are used where they are installed, else those of `assay[speech]`.
"""

import importlib
import re
import string
from collections.abc import Callable
from functools import cache
from typing import Any

from .....core import MissingExtra
from .....scorers.speech.chinese_text import simplify

CHINESE_MARKS = (
    "＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､\u3000、〃〈〉《》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿"
    "–—‘’‛“”„‟…‧﹏﹑﹔·．！？｡。"
)
LANGUAGES = {"zh": "chinese", "en": "english"}


class TextProcessor:
    """Simplified characters, spoken numbers, no punctuation, no blanks."""

    RE_PUNCTUATION = re.compile(f"[{re.escape(CHINESE_MARKS + string.punctuation)}]")
    RE_SPACES = re.compile(r"[\s\u3000]+")

    def __init__(self, language: str = "zh") -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language is zh or en, not {language!r}")
        self.language = language

    @staticmethod
    def clean_text(
        text: str, remove_punct: bool = True, remove_space: bool = True
    ) -> str:
        """The text without punctuation and without blanks."""
        text = TextProcessor.RE_PUNCTUATION.sub("", text) if remove_punct else text
        return TextProcessor.RE_SPACES.sub("", text) if remove_space else text

    @staticmethod
    def convert_cn(text: str) -> str:
        """Traditional characters as simplified ones."""
        zhconv = _optional("zhconv")
        return str(zhconv.convert(text, "zh-cn")) if zhconv else simplify(text)

    def normalize_text(self, text: str) -> str:
        """Numbers, dates and units as they are spoken."""
        return _speller(self.language)(text)

    def normalize_and_clean(
        self,
        text: str,
        do_normalize: bool = True,
        simplified_zh: bool = True,
        remove_punct: bool = True,
        remove_space: bool = True,
    ) -> str:
        """All of it, in the order that counts."""
        text = self.convert_cn(text) if simplified_zh else text
        text = self.normalize_text(text) if do_normalize else text
        return self.clean_text(
            text, remove_punct=remove_punct, remove_space=remove_space
        )


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@cache
def _speller(language: str) -> Callable[[str], str]:
    theirs = _optional(f"tn.{LANGUAGES[language]}.normalizer")
    if theirs is not None:
        spell: Callable[[str], str] = theirs.Normalizer().normalize
        return spell
    wetext = _optional("wetext")
    if wetext is None:
        raise MissingExtra("wetext", "assay[speech]", where="TextProcessor")
    spell = wetext.Normalizer(lang=language, operator="tn").normalize
    return spell
