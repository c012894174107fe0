"""Fixture files: how cases are written down, for the scripts that make the fixtures of `assay conformance`."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "src" / "assay" / "conformance" / "fixtures"
BY_HAND = "known vectors, checked by hand"
Plain = dict[str, Any]

WORDS = [
    "the",
    "a",
    "red",
    "blue",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat",
    "tree",
    "and",
    "then",
    "quickly",
    "home",
    "today",
    "not",
    "it",
    "was",
]
HAN = "今天天气很好我们去公园看花红绿蓝大小"
CHINESE = [
    ("今天天气很好", "今天天汽好"),
    ("今天，天气很好。", "今天天气很好"),
    ("今天 天气", "今天天气"),
    ("二零二四年", "2024年"),
]


def write(
    name: str, source: str, made_by: str, cases: Iterable[Plain], **more: Any
) -> None:
    """One fixture file."""
    plain = {
        "name": name,
        **more,
        "source": source,
        "made_by": made_by,
        "cases": list(cases),
    }
    lines = json.dumps(plain, ensure_ascii=False, indent=1)
    (FOLDER / f"{name}.json").write_text(lines + "\n", encoding="utf-8")


def case(target: Any, output: Any, score: Any = None, **more: Any) -> Plain:
    """Return a case with a target."""
    sample = {"target": target, **more.pop("sample", {})}
    return {
        "sample": sample,
        "output": output,
        **({} if score is None else {"score": score}),
        **more,
    }


def called(score: Any, *args: Any, **options: Any) -> Plain:
    """Return a case of a function."""
    return {
        "args": list(args),
        **({"options": options} if options else {}),
        "score": score,
    }


def sentence(drawn: random.Random, longest: int = 9) -> str:
    """Return a few words in random order."""
    return " ".join(drawn.choices(WORDS, k=drawn.randint(1, longest)))
