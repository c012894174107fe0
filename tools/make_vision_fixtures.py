"""Makes the fixtures of `assay conformance` for MMMU's open questions and MathVista's normalization.

    python tools/make_vision_fixtures.py mmmu CHECKOUT COMMIT        MMMU-Benchmark/MMMU
    python tools/make_vision_fixtures.py mathvista CHECKOUT COMMIT   lupantech/MathVista

A checkout is a working tree of the official repository; only its functions that read and compare answers are called,
on answers of our own.
"""

import ast
import random
import re
import sys
from pathlib import Path
from typing import Any

from fixture_files import case, write

PIECES = [
    "The answer is ", "so ", "thus ", "= ", "final ", "result ", "could be ", "is ", "\n", ". ", "3.50", "1,234", "1e5",
    "-7", "x", "red", "blue ball", "5 cm", ":", "0.333", "50%", "$12.5",
]  # fmt: skip
GOLDS = [
    "3.5", "1234", "100000", "-7", "x", "red", "ball", "5", "12.5", "50", "0.33", ["3.5", "red"], ["blue ball", "7"],
]  # fmt: skip
SAID = [
    ("50", "The sum is 20 + 30 = 50."), ("50", "50"), ("50", "It could be 50 or 60"), ("red", "The ball is Red."),
    ("a", "It is a b"), ("a", "ab"), ("1,000", "So 1000"), ("0.5", "0.504"), ("0.5", "0.51"), ("ten", "10"),
]  # fmt: skip
MATHVISTA = [
    ("integer", "3", None, ("3", "3.0", "4", "3.9", "-3", "1e1")),
    ("float", "12.5", 1, ("12.5", "12.46", "12.4", "12.54", "12.56", "-12.5")),
    ("float", "0.33", 2, ("0.33", "0.334", "0.336", "0.3", "1.33")),
    ("list", "[20, 30]", None, ("[20, 30]", "[30, 20]", "[20]", "[20, 31]")),
]


def functions(path: Path, *names: str, **known: Any) -> Any:
    """The named functions of an official file, without what the file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wanted = [node for node in tree.body if isinstance(node, ast.FunctionDef) and (not names or node.name in names)]
    scope: dict[str, Any] = {"re": re, **known}
    code = compile(ast.Module(wanted, []), str(path), "exec")
    exec(code, scope)  # noqa: S102 - the official code, as the caller named it
    return scope


def mmmu(checkout: Path, commit: str) -> None:
    """Open questions: whether the official rule finds the reference in a response."""
    official = functions(
        checkout / "mmmu" / "utils" / "eval_utils.py",
        "check_is_number", "normalize_str", "extract_numbers", "parse_open_response", "eval_open",
    )  # fmt: skip
    drawn = random.Random(11)
    made = [("".join(drawn.choices(PIECES, k=drawn.randint(1, 8))), drawn.choice(GOLDS)) for _ in range(60)]
    cases = []
    for response, gold in [*((said, gold) for gold, said in SAID), *made]:
        score = float(official["eval_open"](gold, official["parse_open_response"](response)))
        cases.append(case(gold, response, score))
    write("mmmu@open", f"MMMU-Benchmark/MMMU {commit[:8]}, eval_open", f"make_vision_fixtures.py mmmu, {commit[:8]}",
          cases, scorer="mmmu")  # fmt: skip


def mathvista(checkout: Path, commit: str) -> None:
    """Free-form answers: what the official script makes of an answer that was extracted already."""
    official = functions(checkout / "evaluation" / "calculate_score.py", "normalize_extracted_answer", "safe_equal")
    cases = []
    for kind, gold, precision, answers in MATHVISTA:
        for answer in answers:
            read = official["normalize_extracted_answer"](answer, [], "free_form", kind, precision)
            fields = {"answer": gold, "answer_type": kind, **({} if precision is None else {"precision": precision})}
            cases.append(case(gold, answer, float(official["safe_equal"](read, gold)), sample={"fields": fields}))
    write("mathvista@free-form", f"lupantech/MathVista {commit[:8]}, calculate_score.py",
          f"make_vision_fixtures.py mathvista, {commit[:8]}", cases, scorer="mathvista")  # fmt: skip


if __name__ == "__main__":
    {"mmmu": mmmu, "mathvista": mathvista}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
