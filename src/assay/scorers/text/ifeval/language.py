"""The language of a text, by `langdetect`, made repeatable.

The official checker calls `langdetect` unseeded, so its verdict on short or mixed texts changes from run to
run. Here a detector of our own is seeded; the library's shared one is left as it is.
"""

from functools import cache
from importlib import import_module
from typing import Any


def detect_language(text: str) -> str | None:
    """The ISO 639-1 code `langdetect` gives (`zh-cn`, `zh-tw` for Chinese); `None` if nothing can be told."""
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except _langdetect("lang_detect_exception").LangDetectException:
        return None


def is_language(text: str, code: str) -> bool:
    """A text without any sign of a language counts as following, as in the official checker."""
    found = detect_language(text)
    return found is None or found == code


@cache
def _factory() -> Any:
    module = _langdetect("detector_factory")
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.seed = 0
    return factory


def _langdetect(module: str) -> Any:
    try:
        return import_module(f"langdetect.{module}")
    except ImportError as missing:
        raise ImportError(
            "IFEval's language and letter-case checks need the library `langdetect`\n"
            "  fix: pip install langdetect"
        ) from missing
