"""Which files are written for ULMEvalKit: those that import `ulmeval`, or were cut out of its package."""

import re
from pathlib import Path

NAMES: dict[str, str] = {"ulmeval": "assay.dialects.ulmeval.facade"}

_FROM_THE_PACKAGE = re.compile(r"^\s*from \.(text_base|image_base|base) import ", re.MULTILINE)
_DRAWS = re.compile(r"""['"]I?T2I['"]|\bNUM_GENERATIONS\b|\bbatch_generat(e|ion)_inner\b""")


def claims(path: Path, imports: frozenset[str]) -> str | None:
    """The reason in words; `None` for other people's files."""
    imported = next((name for name in sorted(imports) if name.partition(".")[0] in NAMES), None)
    if imported is not None:
        return f"imports {imported}"
    if path.suffix != ".py" or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    if _FROM_THE_PACKAGE.search(text) and _DRAWS.search(text):
        return "imports its neighbours as a module of ulmeval does, and speaks of drawn images"
    return None
