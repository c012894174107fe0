"""Cases of the newest revision of VLMEvalKit (e8e78f05): letters, yes and no, grades, and the tables made of them."""

from typing import Any

import pandas as pd
from differential import Cases
from tables import by_split

cases = Cases()


ANSWERS = (
    "B",
    "b",
    "B.",
    "(B)",
    "**B**",
    "B) dog",
    "Answer: B",
    "The answer is B",
    "The answer is B because it barks a lot.",
    "The correct answer is **B**. Here's why: the ears.",
    "The correct answer is **B**.",
    "A dog",
    "a dog",
    "dog",
    "DOG",
    "It is a dog.",
    "cat and dog",
    "I think it is B, not A.",
    "A or B",
    "both B",
    "the third: bird",
    "E",
    "Z",
    "F",
    "",
    " ",
    "None of the above",
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "Cannot determine the answer",
    "I'm sorry, but without the image provided I cannot say",
    "(Z)",
    "Z or A",
    "Failed to obtain answer via API.",
    "A cat sits on the mat",
    "答案是B",
    "B 。",
    "选B",
    "<think>A or C?</think> B",
    "A. No wait, the answer is B",
    "option\nB",
    "B\n\nA",
    "{B}",
    "#B#",
    "[B]",
    "B:",
    "B;",
    "B!",
    "'B'",
    '"B"',
    "B/C",
    "B-C",
    "1",
    1,
    2.0,
    None,
    True,
    "bird fish",
    "fishing",
    "the answer is d",
    "answer is D",
    "Answer is (C)",
    "C" * 40,
    "dog " * 40,
    "so the final answer is A",
    "B " * 3,
    "B is my choice, and I am quite sure of it",
    "ANSWER IS **c**",
    "answer is  ***A***",
    "Yes",
    "yes, no",
    "a b c d",
    "A B",
    "fish fish",
    "The bird is on the left of the fish, so it is D in the end",
)
CHOICES: dict[str, Any] = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}


@cases.add("can_infer", *ANSWERS)
def can_infer(answer: Any) -> Any:
    from vlmeval.utils import can_infer

    return [
        can_infer(answer, dict(CHOICES)),
        can_infer(answer, {"A": "yes", "B": "no"}),
        can_infer(answer, {"A": 1, "B": 2}),
    ]


@cases.add(
    "can_infer_option", *(answer for answer in ANSWERS if isinstance(answer, str))
)
def can_infer_option(answer: str) -> Any:
    from vlmeval.utils.matching_util import can_infer_option, can_infer_text

    return [
        can_infer_option(answer, dict(CHOICES)),
        can_infer_option(answer, {"A": "x", "B": "y"}),
        can_infer_text(answer, dict(CHOICES)),
    ]


YES_NO = (
    "Yes",
    "No",
    "yes.",
    "NO!",
    "Yes and no",
    "Maybe",
    "Nothing",
    "Yesterday",
    "I know",
    "not yes",
    "",
    "Yes, it is.",
    "There is none",
    "No, no, no",
    "Yes\nNo",
    "yes/no",
    "Y",
    "n",
    "1,000 yes",
    "no.",
    "(yes)",
    "yes-man",
    "no_way",
    "**Yes**",
    "Answer:No",
    "no!yes",
    "YES 1,2",
    "'yes'",
)


@cases.add("YOrN_Extraction", *YES_NO)
def yorn_extraction(text: str) -> Any:
    from vlmeval.dataset.utils.yorn import YOrN_Extraction

    return YOrN_Extraction(text)


class Judge:
    """Replies in turn, and keeps what it was asked with."""

    fail_msg = "Failed to obtain answer via API."

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, []  # type: ignore[var-annotated]

    def generate(self, prompt: Any, **settings: Any) -> str:
        self.asked.append(sorted(settings.items()))
        return self.replies[(len(self.asked) - 1) % len(self.replies)]


@cases.add(
    "YOrN_auxeval", ("Yes",), ("no",), ("hm", "Yes"), ("hm",), ("yes no", "No way, no")
)
def yorn_auxeval(replies: tuple[str, ...]) -> Any:
    from vlmeval.dataset.utils.yorn import YOrN_auxeval

    judge = Judge(*replies)
    return [
        YOrN_auxeval(judge, pd.Series({"question": "q", "prediction": "p"})),
        judge.asked,
    ]


def mme_scores(wrong: int) -> pd.DataFrame:
    from tables import MME_CATEGORIES

    rows = [
        {
            "index": n,
            "category": c,
            "image_path": f"{c}{n // 2}",
            "score": (n * 7 + len(c)) % wrong != 0,
        }
        for c in MME_CATEGORIES
        for n in range(4)
    ]
    return pd.DataFrame(rows)


@cases.add("MME_rating", 3, 5, 1000)
def mme_rating(wrong: int) -> Any:
    from vlmeval.dataset.utils.yorn import MME_rating
    from vlmeval.smp import dump

    dump(mme_scores(wrong), "s.xlsx")
    return MME_rating("s.xlsx")


def yes_no_frame(count: int = 12) -> pd.DataFrame:
    rows = [
        {
            "index": n,
            "question": f"Is {n}?",
            "answer": "Yes" if n % 3 else "No",
            "category": ["random", "popular,adversarial"][n % 2],
            "l2-category": f"k{n % 3}",
            "extracted": ["Yes", "No", "Unknown", "Yes"][n % 4],
        }
        for n in range(count)
    ]
    frame = pd.DataFrame(rows)
    frame["score"] = frame["answer"] == frame["extracted"]
    return frame


@cases.add("POPE_rating", 4, 12, 13)
def pope_rating(count: int) -> Any:
    from vlmeval.dataset.utils.yorn import POPE_rating
    from vlmeval.smp import dump

    dump(yes_no_frame(count), "s.xlsx")
    return by_split(POPE_rating("s.xlsx"))


@cases.add("Hallusion_rating", 3, 4)
def hallusion_rating(every: int) -> Any:
    from vlmeval.dataset.utils.yorn import Hallusion_rating
    from vlmeval.smp import dump

    rows = [
        {
            "index": f"VD_figure_x_{s}_{f}_{q}",
            "category": "VD" if s else "VS",
            "l2-category": ["chart", "map"][s],
            "score": (s + f + q) % every > 0,
        }
        for s in range(2)
        for f in range(3)
        for q in range(2)
    ]
    dump(pd.DataFrame(rows), "s.xlsx")
    return by_split(Hallusion_rating("s.xlsx"))


@cases.add("other_ratings", "AMBER_rating", "VSR_rating", "default_rating")
def other_ratings(name: str) -> Any:
    import importlib

    from vlmeval.smp import dump

    frame = yes_no_frame()
    kinds = [
        "discriminative-attribute-state",
        "discriminative-hallucination",
        "relation",
        "other",
    ]
    frame["category"] = [kinds[n % 4] for n in range(len(frame))]
    frame["image_path"] = [f"{n // 2}.jpg" for n in range(len(frame))]
    dump(frame, "s.xlsx")
    return getattr(importlib.import_module("vlmeval.dataset.utils.yorn"), name)(
        "s.xlsx"
    )


def hits(
    split: bool = False, above: bool = True, category: bool = True
) -> pd.DataFrame:
    rows = {
        "index": range(8),
        "hit": [1, 0, 1, 1, 0, 0, 1, 1],
        "question": ["a", "a", "b", "b", "c", "c", "d", "d"],
    }
    if split:
        rows["split"] = ["dev", "test"] * 4
    if above:
        rows["l2-category"] = [
            "coarse_perception",
            "logic_reasoning",
            "other",
            "coarse_perception",
        ] * 2
    if category:
        rows["category"] = ["b", "a"] * 4
    return pd.DataFrame(rows)


SHAPES: tuple[Any, ...] = tuple(
    (s, a, c) for s in (0, 1) for a in (0, 1) for c in (0, 1)
)


@cases.add("report_acc", *SHAPES)
def report_acc(shape: Any) -> Any:
    from vlmeval.dataset.utils.multiple_choice import report_acc

    return by_split(report_acc(hits(*shape)))


@cases.add(
    "build_choices",
    {"A": 1, "B": 2},
    {"A": "x", "B": float("nan"), "C": "z"},
    {"B": "x"},
    {"A": "a", "H": "h"},
    {"A": 0, "B": ""},
)
def build_choices(row: dict[str, Any]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import build_choices, build_option_str

    choices = build_choices(pd.Series(row, dtype=object))
    return [choices, build_option_str(choices)]


@cases.add("prefetch_answer", *ANSWERS[:12])
def prefetch_answer(answer: str) -> Any:
    from vlmeval.dataset.utils.multiple_choice import prefetch_answer

    return prefetch_answer(pd.Series({**CHOICES, "prediction": answer}))


@cases.add(
    "extract_answer_from_item",
    ("A",),
    ("B",),
    ("hm", "C"),
    ("Failed to obtain answer via API.", "dog"),
    ("Z",),
)
def extract_answer_from_item(replies: tuple[str, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import extract_answer_from_item

    judge = Judge(*replies)
    row = pd.Series(
        {"question": "What?", **CHOICES, "prediction": "it has fur", "answer": "A"}
    )
    known = pd.Series(
        {"question": "What?", **CHOICES, "prediction": "C", "answer": "A"}
    )
    return [
        extract_answer_from_item(judge, row),
        len(judge.asked),
        extract_answer_from_item(None, row),
        extract_answer_from_item(judge, known),
        extract_answer_from_item(judge, row, dataset_name="Mine"),
    ]


def rotations(predictions: list[str]) -> pd.DataFrame:
    rows = [
        {
            "index": n * 1_000_000,
            "g_index": 0,
            "question": "q",
            **CHOICES,
            "prediction": p,
            "GT": "AB"[n],
        }
        for n, p in enumerate(predictions)
    ]
    return pd.DataFrame(rows)


GROUPS = (
    ["A", "B"],
    ["A", "A"],
    ["hm", "B"],
    ["A", "hm"],
    ["hm", "A"],
    ["C", "hm"],
    ["hm", "hm"],
)


@cases.add("prefetch_circular_group", *GROUPS)
def prefetch_circular_group(predictions: list[str]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import prefetch_circular_group

    return [
        prefetch_circular_group(rotations(predictions)),
        prefetch_circular_group(rotations(predictions), verbose=True),
    ]


@cases.add("eval_circular_group", *GROUPS)
def eval_circular_group(predictions: list[str]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import eval_circular_group

    return [
        eval_circular_group(Judge(reply), rotations(predictions))
        for reply in ("A", "B")
    ]


@cases.add("eval_vanilla", "A", "hm", "dog")
def eval_vanilla(prediction: str) -> Any:
    from vlmeval.dataset.utils.multiple_choice import eval_vanilla

    row = pd.Series(
        {
            "question": "What?",
            **CHOICES,
            "prediction": prediction,
            "GT": "A",
            "answer": "A",
        }
    )
    return [eval_vanilla(Judge("A"), row), eval_vanilla(None, row)]


def predicted_choice(predictions: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    meta = pd.DataFrame(
        [
            {
                "index": n,
                "question": f"q{n}",
                **CHOICES,
                "answer": "ABCD"[n % 4],
                "category": f"c{n % 2}",
            }
            for n in range(len(predictions))
        ]
    )
    return meta.assign(prediction=predictions), meta


@cases.add("mcq_vanilla_eval", ("A",), ("hm", "B"), (None,))
def mcq_vanilla_eval(replies: tuple[Any, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import mcq_vanilla_eval
    from vlmeval.smp import load

    data, meta = predicted_choice(
        ["A", "hm", "it is a bird", "no idea", "The answer is D", "B"]
    )
    judge = None if replies[0] is None else Judge(*replies)
    return [mcq_vanilla_eval(judge, data, meta, 1, "r.pkl", "Mine"), load("r.pkl")]


@cases.add("mcq_circular_eval", ("A",), ("B",), (None,))
def mcq_circular_eval(replies: tuple[Any, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import mcq_circular_eval
    from vlmeval.smp import load

    rows = [
        {
            "index": n + t * 1_000_000,
            "question": f"q{n}",
            "A": ["cat", "dog"][t],
            "B": ["dog", "cat"][t],
            "answer": "AB"[(n + t) % 2],
            "prediction": ["cat", "A", "hm", "dog", "B", "hm"][(2 * n + t) % 6],
        }
        for n in range(4)
        for t in range(2)
    ]
    data = pd.DataFrame(rows)
    judge = None if replies[0] is None else Judge(*replies)
    verdicts = mcq_circular_eval(
        judge, data.copy(), data.drop(columns="prediction"), 1, "r.pkl", "Mine_circular"
    )
    found = load("r.pkl")
    return [verdicts, {str(int(key)): found[key] for key in sorted(found)}]
