"""References of pipeline tasks: `dataset/evaluator?{"keyword": value}`, or a file before a colon.

`register_mmlu_pro.py`, `register_mmlu_pro.py:mmlu_pro`, `gsm8k/generation`, `mmlu_pro/mmlu_pro?{"noise": 0.5}`.
"""

import json
from dataclasses import dataclass, field

from ...code.userfiles import split_reference
from ...core import EMPTY, UsageError
from ..shapes import Fields


@dataclass(frozen=True, slots=True)
class Reference:
    """The parts of a reference; missing parts are chosen."""

    file: str | None = None
    dataset: str | None = None
    evaluator: str | None = None
    settings: Fields = field(default_factory=lambda: EMPTY)

    def __str__(self) -> str:
        names = f"{self.dataset}/{self.evaluator}"
        if self.settings:
            return f"{names}?{json.dumps(dict(self.settings), sort_keys=True)}"
        return names


def parse(text: str) -> Reference:
    """Parse a reference."""
    bare, mark, settings = text.partition("?")
    file: str | None = None
    names: str | None = bare
    if bare.endswith(".py") or ".py:" in bare:
        file, names = split_reference(bare)
    dataset, _, evaluator = (names or "").partition("/")
    try:
        keywords = json.loads(settings) if mark else {}
    except ValueError as error:
        raise UsageError(
            f"the settings are not valid JSON: {error}", where=text
        ) from error
    return Reference(file, dataset or None, evaluator or None, keywords)
