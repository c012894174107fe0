"""Makes the fixtures of VLMEvalKit's rules for short answers: yes or no, relaxed accuracy, ANLS, VQA, OCRBench.

    python tools/make_vlmeval_fixtures.py CHECKOUT COMMIT    (needs numpy and pandas)

A checkout is a working tree of the official repository. Its functions are loaded from their files and run on answers of
our own; its helpers that read files or draw tables are stood in for. Nothing here asks assay.
"""

import ast
import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from fixture_files import Plain, case, write

YES_NO = [
    "Yes", "yes.", "YES!", "No", "no, it is not", "No.", "Yes, there is a dog.", "There is no dog.", "nothing to see",
    "yesterday", "none", "I know", "Yes and no.", "maybe", "", "not at all", "yes/no", "no-one", "(Yes)", "[no]",
    '"Yes"',
    "yes,no", "Yes,1,000 of them", "The answer is yes", "answer:yes", "it's a no from me", "Nope", "yes\nno", "\nNo\n",
    "Yes;", "no?", "yes...", "no.5", "5.no", "**Yes**", "是", "yes 1.", "No - there isn't", "cannot say; no", "oh-no",
]  # fmt: skip
RELAXED = [
    ("100", "104"), ("100", "105"), ("100", "105.1"), ("100", "95"), ("100", "94.9"), ("100", "-100"), ("-20", "-21"),
    ("0", "0"), ("0", "0.0"), ("0", "0.01"), ("0.0", "0"), ("50%", "0.5"), ("0.5", "50%"), ("50%", "52%"), ("50%",
    "50"),
    ("2010", "2000"), ("2010", "1900"), ("1,000", "1,000"), ("1,000", "1000"), ("1000", "1,000"), ("Yes", "yes"),
    ("Yes", "yes."), ("blue", " Blue "), ("blue", "light blue"), ("1e3", "1000"), ("3", "three"), ("12 %", "0.12"),
    ("5", "5.0%"), ("%", "%"), ("[Red, Blue]", "[red, blue]"), (["10", "ten"], "Ten"), (["10", "20"], "19.5"),
]  # fmt: skip
ANLS = [
    ("hello world", "hello word"), ("hello world", "Hello World"), ("hello  world", "hello world"), ("abcd", "ab"),
    ("abcd", "abx"), ("abcd", "a"), ("12.5", "12,5"), ("Paris", " paris "), ("Paris", "paris, france"), ("a", "b"),
    ("New York", "new\nyork"), ("new   york", "new yor"), ("北京", "北京市"), ("ÄÖ", "äö"), ("$1,000", "1000"), ("x y",
    "xy"),
    (["cat", "a cat"], "a  cat"), (["one", "two"], "tow"), (["1990", "in 1990"], "In 1990."), ("tall tree",
    "tall  tre"),
    ("total: 15", "total : 15"), ("aaaa", "aabb"), ("aaaaa", "aabbb"), ("straße", "strasse"),
]  # fmt: skip
VQA = [
    "yes", "Yes.", "no", "two", "2", "2.", "the dog", "a dog", "dog!", "dont know", "don't know", "1,000", "1000",
    "3.5",
    "top-left", "top left", "red/blue", "red / blue", "none", "0", "12 .", "it's", "its", "St. Mary", "st mary", "u.s.",
    "5.", "at 5. then", "\tyes\n", "(yes)", "yes ,", "ten", "an hour", "somebodyd", "2.5.", "@home", "50%", "",
]  # fmt: skip
OCR = [
    ("HELLO", "It says hello there"), ("hello", "HELL O"), ("two words", "Two\nWords"), ("two words", "two  words"),
    ("a b", "a\nb\n"), ("STOP ", "stop"), ("123", "0123456"), ("12 3", "123"), (["cat", "dog"], "Dog."), ("x", "y"),
    (["a b", "c"], "C"), ("Café", "CAFÉ"), ("cafe", "café"), ("line\none", "Line one"), ("10%", "10 %"), ("北京",
    "在北京。"),
]  # fmt: skip
FORMULAS = [
    ("x ^ { 2 }", "x^{2}"), ("x^{2}", "So x ^ {2} = 4"), ("X + y", "x + y"), ("a \n b", "ab"), ("\\frac { 1 } { 2 }",
    "\\frac{1}{2}"),
    ("a=b", "a = b + c"), (["a+b", "b+a"], "b + a"), ("x_1", "x_{1}"),
]  # fmt: skip
MME = [
    "OCR",
    "artwork",
    "celebrity",
    "color",
    "count",
    "existence",
    "landmark",
    "position",
    "posters",
    "scene",
    "code_reasoning",
    "commonsense_reasoning",
    "numerical_calculation",
    "text_translation",
]
FORMULA = "Handwritten Mathematical Expression Recognition"


def main(checkout: str, commit: str) -> None:
    """All fixture files."""
    root = Path(checkout) / "vlmeval"
    _stand_in("sty").fg = None  # type: ignore[attr-defined]
    misc = _load("misc", root / "smp" / "misc.py")
    smp = _stand_in("vlmeval.smp")
    smp.__dict__.update(
        process_punctuation=misc.process_punctuation,
        istype=misc.istype,
        load=lambda rows: rows,
    )
    smp.__dict__.update(
        d2df=lambda plain: plain,
        listinstr=lambda names, text: any(name in text for name in names),
    )
    _stand_in("vlmeval")
    folder = root / "dataset" / "utils"
    made = f"called by tools/make_vlmeval_fixtures.py CHECKOUT {commit}"
    source = f"VLMEvalKit {commit}"
    _yes_no(
        _load("yorn", folder / "yorn.py"),
        source,
        f"YOrN_Extraction of vlmeval/dataset/utils/yorn.py, {made}",
    )
    _short(
        _load("vqa_eval", folder / "vqa_eval.py"),
        source,
        f"process_line and hit_calculate of vqa_eval.py, {made}",
    )
    made = f"OCRBench.evaluate of vlmeval/dataset/image_vqa.py, {made}"
    write(
        "ocrbench@vlmeval",
        source,
        made,
        _ocr_cases(root / "dataset" / "image_vqa.py"),
        scorer="ocrbench",
    )


def _yes_no(script: Any, source: str, made: str) -> None:
    """Each answer against both golds, and the tables of POPE, MME and HallusionBench made of them."""
    cases, table = [], []
    for place, answer in enumerate(YES_NO):
        said = script.YOrN_Extraction(answer)
        for gold in ("Yes", "No"):
            score = float(said == gold)
            tags = {"category": MME[place % len(MME)]}
            cases.append(
                case(gold, answer, score, sample={"group": str(place), "tags": tags})
            )
            table.append(
                {
                    "answer": gold,
                    "extracted": said,
                    "score": bool(score),
                    "image_path": str(place),
                    **tags,
                }
            )
    rows = pd.DataFrame(table)
    pope = script.POPE_rating(rows.copy()).iloc[0]
    named = {
        "accuracy": "acc",
        "precision": "precision",
        "recall": "recall",
        "f1": "Overall",
    }
    results = {name: float(pope[theirs]) / 100 for name, theirs in named.items()}
    whole = script.MME_rating(rows.copy())
    scores = {
        "perception": float(whole["perception"]),
        "cognition": float(whole["reasoning"]),
    }
    corpus: list[Plain] = [
        {"summarizer": "yes_no", "results": results},
        {"summarizer": "mme", "results": scores},
    ]
    everywhere = {"scorer": {"name": "yes_no", "rule": "words"}, "tolerance": 1e-9}
    also = made.replace("Extraction", "Extraction, POPE_rating and MME_rating")
    write("yes_no@vlmeval-pope-mme", source, also, cases, corpus=corpus, **everywhere)
    _hallusion(script, source, made, everywhere)


def _hallusion(script: Any, source: str, made: str, everywhere: Plain) -> None:
    drawn, cases, table = random.Random(7), [], []
    for place in range(60):
        answer, gold = drawn.choice(YES_NO[:14]), drawn.choice(("Yes", "No"))
        ids = {
            "set_id": str(place % 4),
            "figure_id": str(place % 3),
            "question_id": str(place % 5),
        }
        said = script.YOrN_Extraction(answer)
        # Most are made right, so that whole figures and questions are.
        answer, said = (gold, gold) if place % 6 else (answer, said)
        cases.append(
            case(
                gold,
                answer,
                float(said == gold),
                sample={"tags": {"l2-category": "chart", **ids}},
            )
        )
        table.append(
            {
                "index": f"x_y_z_{'_'.join(ids.values())}",
                "l2-category": "chart",
                "score": said == gold,
            }
        )
    overall = script.Hallusion_rating(pd.DataFrame(table)).iloc[0]
    results = {name: float(overall[name]) / 100 for name in ("aAcc", "qAcc", "fAcc")}
    corpus = [{"summarizer": "hallusionbench", "results": results}]
    also = made.replace("Extraction", "Extraction and Hallusion_rating")
    write(
        "yes_no@vlmeval-hallusionbench",
        source,
        also,
        cases,
        corpus=corpus,
        **everywhere,
    )


def _short(script: Any, source: str, made: str) -> None:
    """ChartQA, DocVQA and TextVQA."""

    def score(dataset: str, method: str, target: Any, answer: str) -> float:
        line = {
            "answer": target if isinstance(target, str) else repr(target),
            "prediction": answer,
        }
        return float(
            script.hit_calculate([script.process_line(line, method=method)], dataset)[0]
        )

    relaxed = [
        case(target, answer, score("ChartQA", "relaxed_accuracy", target, answer))
        for target, answer in RELAXED
    ]
    write("relaxed_accuracy@vlmeval", source, made, relaxed, scorer="relaxed_accuracy")
    anls = [
        case(target, answer, score("DocVQA", "anls", target, answer))
        for target, answer in ANLS
    ]
    write(
        "anls@vlmeval",
        source,
        made,
        anls,
        scorer={"name": "anls", "v": "vlmevalkit"},
        tolerance=1e-9,
    )
    drawn, vqa = random.Random(11), []
    for answer in VQA:
        near = [
            one
            for one in VQA
            if script.process_answer(one) == script.process_answer(answer)
        ]
        targets = drawn.choices(near, k=drawn.randint(1, 4)) + drawn.choices(
            VQA[:-1], k=6
        )
        vqa.append(
            case(targets, answer, score("TextVQA", "vqa_score", targets, answer))
        )
    write(
        "vqa_accuracy@vlmeval",
        source,
        made,
        vqa,
        scorer={"name": "vqa_accuracy", "v": "vlmevalkit"},
        tolerance=1e-9,
    )


def _ocr_cases(path: Path) -> list[Plain]:
    """OCRBench's class without the rest of its file, which imports every model."""
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "OCRBench"
    ]
    scope: dict[str, Any] = {
        "ImageBaseDataset": object,
        "tqdm": list,
        "load": lambda rows: rows,
    }
    scope |= {"dump": lambda *_: None, "get_intermediate_file_path": lambda *_: ""}
    exec(compile(tree, str(path), "exec"), scope)  # noqa: S102  the official class, from a checkout one chose
    cases = []
    for category, pairs in (("Regular Text Recognition", OCR), (FORMULA, FORMULAS)):
        for target, answer in pairs:
            targets = [target] if isinstance(target, str) else target
            row = pd.DataFrame(
                [{"prediction": answer, "answer": repr(targets), "category": category}]
            )
            score = scope["OCRBench"].evaluate(row)["Final Score"]
            cases.append(
                case(
                    targets,
                    answer,
                    float(score),
                    sample={"fields": {"category": category}},
                )
            )
    return cases


def _stand_in(name: str) -> ModuleType:
    sys.modules[name] = ModuleType(name)
    return sys.modules[name]


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


if __name__ == "__main__":
    main(*sys.argv[1:])
