"""Makes the fixtures of `assay conformance` that official code for images and sounds gives on inputs of our own.

    python tools/make_vision_fixtures.py mmmu CHECKOUT COMMIT        MMMU-Benchmark/MMMU
    python tools/make_vision_fixtures.py mathvista CHECKOUT COMMIT   lupantech/MathVista
    python tools/make_vision_fixtures.py hallusion CHECKOUT COMMIT   tianyi-lab/HallusionBench
    python tools/make_vision_fixtures.py refcoco CHECKOUT COMMIT     EvolvingLMMs-Lab/lmms-eval
    python tools/make_vision_fixtures.py compbench CHECKOUT COMMIT   Karine-Huang/T2I-CompBench
    python tools/make_vision_fixtures.py mmau CHECKOUT COMMIT        Sakshi113/MMAU

A checkout is a working tree of the official repository; only its functions that read and compare answers are called,
on answers of our own.
"""

import ast
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from fixture_files import called, case, write

PIECES = [
    "The answer is ",
    "so ",
    "thus ",
    "= ",
    "final ",
    "result ",
    "could be ",
    "is ",
    "\n",
    ". ",
    "3.50",
    "1,234",
    "1e5",
    "-7",
    "x",
    "red",
    "blue ball",
    "5 cm",
    ":",
    "0.333",
    "50%",
    "$12.5",
]
GOLDS = [
    "3.5",
    "1234",
    "100000",
    "-7",
    "x",
    "red",
    "ball",
    "5",
    "12.5",
    "50",
    "0.33",
    ["3.5", "red"],
    ["blue ball", "7"],
]
SAID = [
    ("50", "The sum is 20 + 30 = 50."),
    ("50", "50"),
    ("50", "It could be 50 or 60"),
    ("red", "The ball is Red."),
    ("a", "It is a b"),
    ("a", "ab"),
    ("1,000", "So 1000"),
    ("0.5", "0.504"),
    ("0.5", "0.51"),
    ("ten", "10"),
]
MATHVISTA = [
    ("integer", "3", None, ("3", "3.0", "4", "3.9", "-3", "1e1")),
    ("float", "12.5", 1, ("12.5", "12.46", "12.4", "12.54", "12.56", "-12.5")),
    ("float", "0.33", 2, ("0.33", "0.334", "0.336", "0.3", "1.33")),
    ("list", "[20, 30]", None, ("[20, 30]", "[30, 20]", "[20]", "[20, 31]")),
]


def functions(path: Path, *names: str, **known: Any) -> Any:
    """Return the named functions of an official file, without running its imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wanted = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and (not names or node.name in names)
    ]
    scope: dict[str, Any] = {"re": re, **known}
    code = compile(ast.Module(wanted, []), str(path), "exec")
    exec(code, scope)  # noqa: S102 - the official code, as the caller named it
    return scope


def mmmu(checkout: Path, commit: str) -> None:
    """Open questions: whether the official rule finds the reference in a response."""
    official = functions(
        checkout / "mmmu" / "utils" / "eval_utils.py",
        "check_is_number",
        "normalize_str",
        "extract_numbers",
        "parse_open_response",
        "eval_open",
    )
    drawn = random.Random(11)
    made = [
        ("".join(drawn.choices(PIECES, k=drawn.randint(1, 8))), drawn.choice(GOLDS))
        for _ in range(60)
    ]
    cases = []
    for response, gold in [*((said, gold) for gold, said in SAID), *made]:
        score = float(
            official["eval_open"](gold, official["parse_open_response"](response))
        )
        cases.append(case(gold, response, score))
    write(
        "mmmu@open",
        f"MMMU-Benchmark/MMMU {commit[:8]}, eval_open",
        f"make_vision_fixtures.py mmmu, {commit[:8]}",
        cases,
        scorer="mmmu",
    )


def mathvista(checkout: Path, commit: str) -> None:
    """Free-form answers: what the official script makes of an answer that was extracted already."""
    official = functions(
        checkout / "evaluation" / "calculate_score.py",
        "normalize_extracted_answer",
        "safe_equal",
    )
    cases = []
    for kind, gold, precision, answers in MATHVISTA:
        for answer in answers:
            read = official["normalize_extracted_answer"](
                answer, [], "free_form", kind, precision
            )
            fields = {
                "answer": gold,
                "answer_type": kind,
                **({} if precision is None else {"precision": precision}),
            }
            cases.append(
                case(
                    gold,
                    answer,
                    float(official["safe_equal"](read, gold)),
                    sample={"fields": fields},
                )
            )
    write(
        "mathvista@free-form",
        f"lupantech/MathVista {commit[:8]}, calculate_score.py",
        f"make_vision_fixtures.py mathvista, {commit[:8]}",
        cases,
        scorer="mathvista",
    )


def hallusion(checkout: Path, commit: str) -> None:
    """HallusionBench: questions and figures all of which are right, of sets of both categories."""
    official = functions(
        checkout / "utils.py",
        "get_eval_fig",
        "get_eval_pair_all",
        "get_eval_all",
        np=np,
    )
    drawn = random.Random(5)
    rows = [
        {
            "category": category,
            "subcategory": kind,
            "set_id": str(number),
            "figure_id": figure,
            "question_id": question,
            "visual_input": "1" if figure != "0" else "0",
            "correct": drawn.randint(0, 3) > 0,
            "same": "0",
        }
        for category, kind in (("VD", "ocr"), ("VS", "ocr"), ("VS", "map"))
        for number in range(3)
        for figure in ("0", "1", "2")
        for question in ("0", "1")
    ]
    for row in rows:
        row["verdict"] = str(int(row["correct"]))
    pairs, figures = (
        official["get_eval_pair_all"](rows, "verdict"),
        official["get_eval_fig"](rows),
    )
    single = official["get_eval_all"](rows, "verdict")
    shares = {
        name: one["correct"] / one["total"]
        for name, one in (("aAcc", single), ("qAcc", pairs), ("fAcc", figures))
    }
    cases = [
        case(
            "yes",
            "yes" if row["correct"] else "no",
            float(row["correct"]),
            sample={
                "tags": {
                    "category": row["category"],
                    "l2-category": row["subcategory"],
                    "set_id": row["set_id"],
                    "figure_id": row["figure_id"],
                    "question_id": row["question_id"],
                }
            },
        )
        for row in rows
    ]
    counted = {
        "name": "hallusionbench",
        "set": ["category", "l2-category", "set_id"],
        "figureless": ["VS", "0"],
    }
    write(
        "yes_no@hallusionbench-official",
        f"tianyi-lab/HallusionBench {commit[:8]}, utils.py",
        f"make_vision_fixtures.py hallusion, {commit[:8]}",
        cases,
        scorer="yes_no",
        corpus=[{"summarizer": counted, "results": shares}],
    )


def refcoco(checkout: Path, commit: str) -> None:
    """RefCOCO: the box lmms-eval reads in an answer, and its overlap with the right one."""
    official = functions(
        checkout / "lmms_eval" / "tasks" / "refcoco" / "utils_rec.py",
        "parse_float_sequence_within",
        "compute_iou",
        "compute_accuracy",
    )
    drawn = random.Random(3)
    cases = []
    for number in range(40):
        left, top = drawn.randint(0, 40), drawn.randint(0, 30)
        wide, high = drawn.randint(10, 50), drawn.randint(10, 60)
        moved = [left / 100, top / 100, (left + wide) / 100, (top + high) / 100]
        said = [
            round(min(max(edge + drawn.choice((0, 0.02, -0.05, 0.1)), 0), 1), 2)
            for edge in moved
        ]
        if said[0] >= said[2] or said[1] >= said[3]:
            continue
        answer = ("{}", "The box is {}.", "{} or [0, 0, 1, 1]")[number % 3].format(said)
        read = official["parse_float_sequence_within"](answer)
        score = {
            "iou": official["compute_iou"](moved, read),
            "acc@0.5": float(official["compute_accuracy"](moved, read)),
        }
        cases.append(
            case(
                [left, top, wide, high],
                answer,
                score,
                sample={"fields": {"width": 100, "height": 100}},
            )
        )
    write(
        "box_iou@lmms-eval",
        f"EvolvingLMMs-Lab/lmms-eval {commit[:8]}, utils_rec.py",
        f"make_vision_fixtures.py refcoco, {commit[:8]}",
        cases,
        tolerance=1e-9,
        scorer={"name": "box_iou", "scale": "unit", "target_corners": "xywh"},
    )


def compbench(checkout: Path, commit: str) -> None:
    """T2I-CompBench: how well one box lies where the words say, seen from the other."""
    official = functions(
        checkout / "UniDet_eval" / "2D_spatial_eval.py", "determine_position"
    )["determine_position"]
    drawn = random.Random(9)
    edges = ("x_min", "y_min", "x_max", "y_max")
    words = (
        "next to",
        "near",
        "on side of",
        "on the left of",
        "on the right of",
        "on the top of",
        "on the bottom of",
        "on top of",
    )
    cases = []
    for number in range(64):
        boxes = []
        for _ in range(2):
            left, top = drawn.randint(0, 400), drawn.randint(0, 400)
            boxes.append(
                [left, top, left + drawn.randint(20, 300), top + drawn.randint(20, 300)]
            )
        place = words[number % len(words)]
        score = official(place, *(dict(zip(edges, box, strict=True)) for box in boxes))
        cases.append(called(float(score), place, *boxes))
    write(
        "t2i_compbench@place",
        f"Karine-Huang/T2I-CompBench {commit[:8]}, determine_position",
        f"make_vision_fixtures.py compbench, {commit[:8]}",
        cases,
        function="scorers.image.t2i_compbench:place_score",
        tolerance=1e-9,
    )


def mmau(checkout: Path, commit: str) -> None:
    """MMAU: whether an answer names the right option and no other."""
    official = functions(checkout / "evaluation.py", "string_match")["string_match"]
    options = ["a man speaks", "A dog barks loudly", "rain on a roof", "man and dog"]
    answers = [
        "",
        "a man speaks",
        "A man speaks.",
        "The man speaks",
        "man speaks a",
        "a dog barks loudly",
        "B",
        "B. A dog barks loudly",
        "It is rain on a roof, not a dog",
        "rain on a roof",
        "Man and dog!",
        "a man and dog",
        "roof rain on a",
    ]
    cases = [
        called(float(official(right, said, options)), right, said, options)
        for right in options
        for said in answers
    ]
    write(
        "mmau@string-match",
        f"Sakshi113/MMAU {commit[:8]}, string_match",
        f"make_vision_fixtures.py mmau, {commit[:8]}",
        cases,
        function="benchmarks.speech_tasks:names_option",
    )


MAKERS = {
    "mmmu": mmmu,
    "mathvista": mathvista,
    "hallusion": hallusion,
    "refcoco": refcoco,
    "compbench": compbench,
    "mmau": mmau,
}

if __name__ == "__main__":
    MAKERS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
