"""The language of a text, by `langdetect`, made repeatable.

The official checker calls `langdetect` unseeded, so its verdict on short or mixed texts changes from run to run. This
module seeds a detector of its own, and leaves the library's shared one as it is.
"""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langdetect.detector_factory import DetectorFactory


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code by `langdetect` (`zh-cn`, `zh-tw` for Chinese), or `None` if it finds no language."""
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except _langdetect("lang_detect_exception").LangDetectException:
        return None


def is_language(text: str, code: str) -> bool:
    """Return True if a text is in a language.

    As in the official checker, a text without any sign of a language follows.
    """
    detected = detect_language(text)
    return detected is None or detected == code


@cache
def _factory() -> "DetectorFactory":
    module = _langdetect("detector_factory")
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.seed = 0
    return factory


def _langdetect(module: str) -> ModuleType:
    """Return a module of `langdetect`. Raise `ImportError` with a fix if it is not installed."""
    try:
        return import_module(f"langdetect.{module}")
    except ImportError as missing:
        raise ImportError(
            "IFEval's language and letter-case checks need the library `langdetect`\n"
            "  fix: pip install langdetect"
        ) from missing
