"""What tells a file of ULMEvalKit from one of VLMEvalKit, whose names are the same: it speaks of drawing images."""

import re
from pathlib import Path

_DRAWS = re.compile(
    r"""['"](I?T2I|TI2I)['"]|\b(NUM_GENERATIONS|num_generations|batch_generat(e|ion)_inner)\b"""
    r"""|\bimages(\.generate\b|\.edit\b|/generations|/edits)"""
)


def speaks_of_drawing(path: Path) -> bool:
    """Whether a file is about models that draw."""
    return _DRAWS.search(path.read_text(encoding="utf-8", errors="replace")) is not None
