"""Cases of the newest revision of VLMEvalKit (e8e78f05): dataset classes, their evaluations, helpers, base classes."""

from typing import Any

import pandas as pd
from differential import Cases
from tables import mme, mmvet, picture, plain_choice, rotated, write

cases = Cases()

ANSWERS = (
    "B", "b", "B.", "(B)", "**B**", "B) dog", "Answer: B", "The answer is B", "The answer is B because it barks a lot.",
    "The correct answer is **B**. Here's why: the ears.", "The correct answer is **B**.", "A dog", "a dog", "dog", "DOG",
    "It is a dog.", "cat and dog", "I think it is B, not A.", "A or B", "both B", "the third: bird", "E", "Z", "F", "", " ",
    "None of the above", "Sorry, I can't help with images of people yet.", "I can't process this file.",
    "Cannot determine the answer", "I'm sorry, but without the image provided I cannot say", "(Z)", "Z or A",
    "Failed to obtain answer via API.", "A cat sits on the mat", "答案是B", "B 。", "选B", "<think>A or C?</think> B",
    "A. No wait, the answer is B", "option\nB", "B\n\nA", "{B}", "#B#", "[B]", "B:", "B;", "B!", "'B'", '"B"', "B/C", "B-C",
    "1", 1, 2.0, None, True, "bird fish", "fishing", "the answer is d", "answer is D", "Answer is (C)", "C" * 40, "dog " * 40,
    "so the final answer is A", "B " * 3, "B is my choice, and I am quite sure of it", "ANSWER IS **c**", "answer is  ***A***",
    "Yes", "yes, no", "a b c d", "A B", "fish fish", "The bird is on the left of the fish, so it is D in the end",
)  # fmt: skip
CHOICES: dict[str, Any] = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}


@cases.add("can_infer", *ANSWERS)
def can_infer(answer: Any) -> Any:
    from vlmeval.utils import can_infer

    return [can_infer(answer, dict(CHOICES)), can_infer(answer, {"A": "yes", "B": "no"}), can_infer(answer, {"A": 1, "B": 2})]


@cases.add("can_infer_option", *(answer for answer in ANSWERS if isinstance(answer, str)))
def can_infer_option(answer: str) -> Any:
    from vlmeval.utils.matching_util import can_infer_option, can_infer_text

    return [can_infer_option(answer, dict(CHOICES)), can_infer_option(answer, {"A": "x", "B": "y"}),
            can_infer_text(answer, dict(CHOICES))]  # fmt: skip


@cases.add("can_infer_sequence", "ABCD", "BADC.", "AABC", "first A, then second C, third B, fourth D", "step 1 A step 2 B",
           "Step 1: D, step 2: C, step 3: B, step 4: A", "首先A 其次B 再次C 最后D", "no", "first B second B third C fourth D")  # fmt: skip
def can_infer_sequence(answer: str) -> Any:
    from vlmeval.utils import can_infer_lego, can_infer_sequence

    return [can_infer_sequence(answer), can_infer_lego(answer, "sort", dict(CHOICES)),
            can_infer_lego(answer, "multiple-choice", dict(CHOICES))]  # fmt: skip


@cases.add("detect_repetition", "short", "ab" * 2000, "x" * 2500, "".join(str(n) for n in range(3000)))
def detect_repetition(text: str) -> Any:
    from vlmeval.utils import detect_repetition

    found, matches = detect_repetition(text)
    return [found, matches if matches is None else len(matches)]


YES_NO = (
    "Yes", "No", "yes.", "NO!", "Yes and no", "Maybe", "Nothing", "Yesterday", "I know", "not yes", "", "Yes, it is.",
    "There is none", "No, no, no", "Yes\nNo", "yes/no", "Y", "n", "1,000 yes", "no.", "(yes)", "yes-man", "no_way", "**Yes**",
    "Answer:No", "no!yes", "YES 1,2", "'yes'",
)  # fmt: skip


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


@cases.add("YOrN_auxeval", ("Yes",), ("no",), ("hm", "Yes"), ("hm",), ("yes no", "No way, no"))
def yorn_auxeval(replies: tuple[str, ...]) -> Any:
    from vlmeval.dataset.utils.yorn import YOrN_auxeval

    judge = Judge(*replies)
    return [YOrN_auxeval(judge, pd.Series({"question": "q", "prediction": "p"})), judge.asked]


def mme_scores(wrong: int) -> pd.DataFrame:
    from tables import MME_CATEGORIES

    rows = [
        {"index": n, "category": c, "image_path": f"{c}{n // 2}", "score": (n * 7 + len(c)) % wrong != 0}
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
        {"index": n, "question": f"Is {n}?", "answer": "Yes" if n % 3 else "No", "category": ["random", "popular,adversarial"][n % 2],
         "l2-category": f"k{n % 3}", "extracted": ["Yes", "No", "Unknown", "Yes"][n % 4]}
        for n in range(count)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["score"] = frame["answer"] == frame["extracted"]
    return frame


def by_split(frame: Any) -> Any:
    """Upstream's rows come from a set: their order says nothing."""
    return frame.sort_values(by="split", key=lambda column: column.map(str)).reset_index(drop=True)


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
        {"index": f"VD_figure_x_{s}_{f}_{q}", "category": "VD" if s else "VS", "l2-category": ["chart", "map"][s], "score": (s + f + q) % every > 0}
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
    kinds = ["discriminative-attribute-state", "discriminative-hallucination", "relation", "other"]
    frame["category"] = [kinds[n % 4] for n in range(len(frame))]
    frame["image_path"] = [f"{n // 2}.jpg" for n in range(len(frame))]
    dump(frame, "s.xlsx")
    return getattr(importlib.import_module("vlmeval.dataset.utils.yorn"), name)("s.xlsx")


def hits(split: bool = False, above: bool = True, category: bool = True) -> pd.DataFrame:
    rows = {"index": range(8), "hit": [1, 0, 1, 1, 0, 0, 1, 1], "question": ["a", "a", "b", "b", "c", "c", "d", "d"]}
    if split:
        rows["split"] = ["dev", "test"] * 4
    if above:
        rows["l2-category"] = ["coarse_perception", "logic_reasoning", "other", "coarse_perception"] * 2
    if category:
        rows["category"] = ["b", "a"] * 4
    return pd.DataFrame(rows)


SHAPES: tuple[Any, ...] = tuple((s, a, c) for s in (0, 1) for a in (0, 1) for c in (0, 1))


@cases.add("report_acc", *SHAPES)
def report_acc(shape: Any) -> Any:
    from vlmeval.dataset.utils.multiple_choice import report_acc

    return by_split(report_acc(hits(*shape)))


@cases.add("report_acc_MMT", (0, 1, 1), (1, 1, 1))
def report_acc_mmt(shape: Any) -> Any:
    from vlmeval.dataset.utils.multiple_choice import MMT_abbrs, report_acc_MMT

    rows = [
        {"index": n, "l2-category": above, "category": f"{above}-{n % 2}", "hit": (n * 7) % 5 > 1, "split": ["dev", "test"][n // 2 % 2]}
        for n, above in enumerate(sorted(MMT_abbrs) * 4)
    ]
    frame = pd.DataFrame(rows)
    return by_split(report_acc_MMT(frame if shape[0] else frame.drop(columns="split")))


@cases.add("report_acc_MMVP")
def report_acc_mmvp() -> Any:
    from vlmeval.dataset.utils.multiple_choice import report_acc_MMVP

    return report_acc_MMVP(hits())


@cases.add("report_acc_MMSci")
def report_acc_mmsci() -> Any:
    from vlmeval.dataset.utils.multiple_choice import report_acc_MMSci

    frame = pd.DataFrame([
        {"subject": f"s{n % 2}", "category": f"c{n % 2}", "setting": ["Fig2Cap", "SubFig2Cap", "SubCap2Fig"][n % 3], "hit": n % 5 > 1}
        for n in range(12)
    ])  # fmt: skip
    return report_acc_MMSci(frame)


@cases.add("report_topviewrs_acc", (0, 1, 1), (1, 0, 1))
def report_topviewrs_acc(shape: Any) -> Any:
    from vlmeval.dataset.utils.multiple_choice import report_topviewrs_acc

    frame = hits(*shape)
    frame["partial_match"] = [0.5, 0, 1, 1, 0.25, 0, 1, 1]
    return by_split(report_topviewrs_acc(frame))


@cases.add("build_choices", {"A": 1, "B": 2}, {"A": "x", "B": float("nan"), "C": "z"}, {"B": "x"}, {"A": "a", "H": "h"}, {"A": 0, "B": ""})
def build_choices(row: dict[str, Any]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import build_choices, build_option_str

    choices = build_choices(pd.Series(row, dtype=object))
    return [choices, build_option_str(choices)]


@cases.add("prefetch_answer", *ANSWERS[:12])
def prefetch_answer(answer: str) -> Any:
    from vlmeval.dataset.utils.multiple_choice import prefetch_answer

    return prefetch_answer(pd.Series({**CHOICES, "prediction": answer}))


@cases.add("extract_answer_from_item", ("A",), ("B",), ("hm", "C"), ("Failed to obtain answer via API.", "dog"), ("Z",))
def extract_answer_from_item(replies: tuple[str, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import extract_answer_from_item

    judge = Judge(*replies)
    row = pd.Series({"question": "What?", **CHOICES, "prediction": "it has fur", "answer": "A"})
    known = pd.Series({"question": "What?", **CHOICES, "prediction": "C", "answer": "A"})
    return [extract_answer_from_item(judge, row), len(judge.asked), extract_answer_from_item(None, row),
            extract_answer_from_item(judge, known), extract_answer_from_item(judge, row, dataset_name="Mine")]  # fmt: skip


def rotations(predictions: list[str]) -> pd.DataFrame:
    rows = [
        {"index": n * 1_000_000, "g_index": 0, "question": "q", **CHOICES, "prediction": p, "GT": "AB"[n]}
        for n, p in enumerate(predictions)
    ]
    return pd.DataFrame(rows)


GROUPS = (["A", "B"], ["A", "A"], ["hm", "B"], ["A", "hm"], ["hm", "A"], ["C", "hm"], ["hm", "hm"])


@cases.add("prefetch_circular_group", *GROUPS)
def prefetch_circular_group(predictions: list[str]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import prefetch_circular_group

    return [prefetch_circular_group(rotations(predictions)), prefetch_circular_group(rotations(predictions), verbose=True)]


@cases.add("eval_circular_group", *GROUPS)
def eval_circular_group(predictions: list[str]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import eval_circular_group

    return [eval_circular_group(Judge(reply), rotations(predictions)) for reply in ("A", "B")]


@cases.add("eval_vanilla", "A", "hm", "dog")
def eval_vanilla(prediction: str) -> Any:
    from vlmeval.dataset.utils.multiple_choice import eval_vanilla

    row = pd.Series({"question": "What?", **CHOICES, "prediction": prediction, "GT": "A", "answer": "A"})
    return [eval_vanilla(Judge("A"), row), eval_vanilla(None, row)]


def predicted_choice(predictions: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    meta = pd.DataFrame([
        {"index": n, "question": f"q{n}", **CHOICES, "answer": "ABCD"[n % 4], "category": f"c{n % 2}"} for n in range(len(predictions))
    ])  # fmt: skip
    return meta.assign(prediction=predictions), meta


@cases.add("mcq_vanilla_eval", ("A",), ("hm", "B"), (None,))
def mcq_vanilla_eval(replies: tuple[Any, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import mcq_vanilla_eval
    from vlmeval.smp import load

    data, meta = predicted_choice(["A", "hm", "it is a bird", "no idea", "The answer is D", "B"])
    judge = None if replies[0] is None else Judge(*replies)
    return [mcq_vanilla_eval(judge, data, meta, 1, "r.pkl", "Mine"), load("r.pkl")]


@cases.add("mcq_vanilla_eval.MMMU")
def mcq_vanilla_eval_mmmu() -> Any:
    from vlmeval.dataset.utils.multiple_choice import mcq_vanilla_eval

    data, meta = predicted_choice(["A", "Other Answers", "hm"])
    data.loc[1, list("ABCD")] = float("nan")
    data.loc[1, "answer"] = meta.loc[1, "answer"] = "42"
    return mcq_vanilla_eval(None, data, meta, 1, "r.pkl", "MMMU_DEV")


@cases.add("mcq_circular_eval", ("A",), ("B",), (None,))
def mcq_circular_eval(replies: tuple[Any, ...]) -> Any:
    from vlmeval.dataset.utils.multiple_choice import mcq_circular_eval
    from vlmeval.smp import load

    rows = [
        {"index": n + t * 1_000_000, "question": f"q{n}", "A": ["cat", "dog"][t], "B": ["dog", "cat"][t], "answer": "AB"[(n + t) % 2],
         "prediction": ["cat", "A", "hm", "dog", "B", "hm"][(2 * n + t) % 6]}
        for n in range(4)
        for t in range(2)
    ]  # fmt: skip
    data = pd.DataFrame(rows)
    judge = None if replies[0] is None else Judge(*replies)
    verdicts = mcq_circular_eval(judge, data.copy(), data.drop(columns="prediction"), 1, "r.pkl", "Mine_circular")
    found = load("r.pkl")
    return [verdicts, {str(int(key)): found[key] for key in sorted(found)}]


@cases.add("extract_characters_regex", "The best answer is B", "(C)", "none", "The answer: D because", "E", {"a": 1}, "the correct option is a",
           "w " * 12, "The answer is (A).", "point a")  # fmt: skip
def extract_characters_regex(text: Any) -> Any:
    from vlmeval.dataset.utils.multiple_choice import extract_characters_regex

    return extract_characters_regex(text)


@cases.add("MMMU_preproc")
def mmmu_preproc() -> Any:
    from vlmeval.dataset.utils.multiple_choice import MMMU_preproc

    return MMMU_preproc(pd.DataFrame({"A": ["x", None], "B": ["y", None], "answer": ["A", "42"]}))


@cases.add("get_dimension_rating")
def get_dimension_rating() -> Any:
    from vlmeval.dataset.utils.multiple_choice import get_dimension_rating
    from vlmeval.smp import dump

    rows = [
        {"category": f"{['Reasoning', 'Perception'][n % 2]}/{['Monitoring', 'Remote Sensing'][n // 2 % 2]}",
         "l2-category": ["color", "person/attribute/x"][n % 3 > 0], "score": [1, 0, 1, -1, 0, 1][n % 6]}
        for n in range(12)
    ]  # fmt: skip
    dump(pd.DataFrame(rows), "s.xlsx")
    return get_dimension_rating("s.xlsx")


@cases.add("MMVet_auxeval", ("1",), ("0.5",), ("-1", "0.3"), ("x", "y", "z", "1", "0"), ("2", "-1", "x", "7", "y"), (" 0.7 ",), ("1/10", "0.1"),
           ("1e-1",), ("inf",))  # fmt: skip
def mmvet_auxeval(replies: tuple[str, ...]) -> Any:
    from vlmeval.dataset.utils.mmvet import MMVet_auxeval

    judge = Judge(*replies)
    return [MMVet_auxeval(judge, pd.Series({"question": "q", "answer": "1<AND>2", "prediction": 3})), judge.asked]


@cases.add("MMVet_acc", [0.0, 1.0, 0.5, 0.25, 1], [1, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.9])
def mmvet_acc(scores: list[float]) -> Any:
    from vlmeval.dataset.utils.mmvet import MMVet_acc
    from vlmeval.smp import dump

    every = ["rec", "ocr,math", "rec,know,gen", "spat", "ocr,math"]
    dump(pd.DataFrame({"index": range(5), "category": every, "score": scores}), "scored.xlsx")
    return MMVet_acc("scored.xlsx")


# Dataset classes


def image_table(name: str, kind: str) -> None:
    """One way in which rows may hold their pictures."""
    one, two = picture((9, 0, 0)), picture((0, 9, 0))
    columns = "index image question answer"
    rows: dict[str, tuple[str, list[list[Any]]]] = {
        "single": (columns, [[1, one, "a?", "x"], [2, two, "b?", "y"]]),
        "named": ("index image image_path question answer", [[1, one, "first.png", "a?", "x"], [2, two, "sub/second.jpg", "b?", "y"]]),
        "list": (columns, [[1, [one, two], "a?", "x"], [2, [two], "b?", "y"]]),
        "named_list": ("index image image_path question answer", [[1, [one, two], ["p.png", "q.png"], "a?", "x"], [2, [two], ["r.png"], "b?", "y"]]),
        "reference": (columns, [["a", one, "a?", "x"], ["b", "a", "b?", "y"], ["c", two, "c?", "z"]]),
        "numbers": (columns, [[10, one, "a?", 1], [11, "10", "b?", 2.5], [12, two, "3", ""]]),
        "alpha": (columns, [[1, picture((9, 9, 9, 128), "RGBA"), "a?", "x"], [2, picture(7, "L"), "b?", "y"], [3, picture(3, "P"), "c?", "z"]]),
        "jpeg": (columns, [[1, picture((9, 0, 0), fmt="JPEG"), "a?", "x"]]),
        "missing": (columns, [[1, one, "a?", "x"], [2, "", "b?", "y"]]),
        "mixed_index": (columns, [["x1", one, "a?", "x"], ["2", two, "b?", "y"]]),
    }  # fmt: skip
    write(name, *rows[kind])


KINDS = ("single", "named", "list", "named_list", "reference", "numbers", "alpha", "jpeg", "missing", "mixed_index")


def vqa_class() -> Any:
    from vlmeval.dataset.image_base import ImageBaseDataset

    class MyVQA(ImageBaseDataset):
        TYPE = "VQA"
        DATASET_URL = {"my_vqa": ""}

        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
            return {"n": 1}

    return MyVQA


def shown(messages: Any) -> Any:
    """A prompt with the pixels behind its paths."""
    from PIL import Image

    paths = [part["value"] for part in messages if part["type"] == "image"]
    return [messages, [(Image.open(p).size, Image.open(p).mode, Image.open(p).convert("RGB").getpixel((3, 3))) for p in paths]]


@cases.add("my_vqa.build_prompt", *KINDS)
def my_vqa_build_prompt(kind: str) -> Any:
    image_table("my_vqa", kind)
    dataset = vqa_class()("my_vqa")
    return [shown(dataset.build_prompt(place)) for place in range(len(dataset))]


@cases.add("my_vqa.dump_image", *KINDS)
def my_vqa_dump_image(kind: str) -> Any:
    import os

    image_table("my_vqa", kind)
    dataset = vqa_class()("my_vqa")
    paths = [dataset.dump_image(dataset.data.iloc[place]) for place in range(len(dataset))]
    found = sorted(os.path.relpath(os.path.join(d, f), dataset.img_root) for d, _, fs in os.walk(dataset.img_root) for f in fs)
    return [paths, found]


@cases.add("my_vqa.attributes", *KINDS)
def my_vqa_attributes(kind: str) -> Any:
    image_table("my_vqa", kind)
    dataset = vqa_class()(dataset="my_vqa")
    frame = dataset.data
    lists = [isinstance(cell, list) for cell in frame["image"]]
    row = {key: value for key, value in dataset[0].items() if key != "image"}
    return [len(dataset), dataset.dataset_name, dataset.img_root, dataset.meta_only, dataset.MODALITY, dataset.TYPE, dataset.skip_noimg,
            dataset.supported_datasets(), lists, frame.drop(columns="image"), row]  # fmt: skip


@cases.add("my_vqa.skip_noimg", False, True)
def my_vqa_skip(skip: bool) -> Any:
    image_table("my_vqa", "missing")
    dataset = vqa_class()("my_vqa", skip_noimg=skip)
    return [len(dataset), list(dataset.data["index"])]


@cases.add("my_vqa.img_root")
def my_vqa_img_root() -> Any:
    image_table("my_vqa", "single")
    dataset = vqa_class()("my_vqa")
    dataset.img_root = "elsewhere"
    return dataset.build_prompt(0)


@cases.add("my_meta", "absolute", "relative", "list")
def my_meta(kind: str) -> Any:
    import os

    from PIL import Image

    folder = os.path.join(os.environ["LMUData"], "images", "my_vqa")
    os.makedirs(folder)
    for name in ("a.png", "b.png"):
        Image.new("RGB", (8, 8), (5, 6, 7)).save(os.path.join(folder, name))
    cell = {"absolute": os.path.join(folder, "a.png"), "relative": "a.png", "list": ["a.png", "b.png"]}[kind]
    write("my_vqa", "index image_path question answer", [[1, cell, "q?", "x"]])
    dataset = vqa_class()("my_vqa")
    line = dataset.data.iloc[0]
    return [dataset.meta_only, dataset.dump_image(line), dataset.build_prompt(0), dataset.build_prompt(line)]


@cases.add("img_root_map", "MMBench", "MMBench_DEV_EN", "MMBench_DEV_EN_V11", "MMBench_V11", "COCO_VAL", "OCRVQA_TEST", "CRPE_EXIST", "MM_NIAH_VAL",
           "QSpatial_plus", "Mine", "MMBench_dev_en", "CCBench")  # fmt: skip
def img_root_map(name: str) -> Any:
    from vlmeval.dataset.image_base import img_root_map

    return img_root_map(name)


def mcq_class(name: str, **members: Any) -> Any:
    from vlmeval.dataset.image_mcq import ImageMCQDataset

    return type("MyMCQ", (ImageMCQDataset,), {"DATASET_URL": {name: ""}, "DATASET_MD5": {}, **members})


MCQ_TABLES = {
    "my_mcq": lambda: plain_choice("my_mcq"), "my_two": lambda: plain_choice("my_two", options=2),
    "my_eight": lambda: plain_choice("my_eight", options=8), "MyMMBench": lambda: rotated("MyMMBench"),
    "my_circular": lambda: rotated("my_circular", split=True, hint=False),
    "my_split": lambda: plain_choice("my_split", split=["dev", "test"]),
    "my_hint": lambda: plain_choice("my_hint", hint=["look", ""]),
}  # fmt: skip


@cases.add("my_mcq.build_prompt", *MCQ_TABLES)
def my_mcq_build_prompt(name: str) -> Any:
    MCQ_TABLES[name]()
    dataset = mcq_class(name)(name)
    return [dataset.build_prompt(place) for place in range(len(dataset))]


def predicted(dataset: Any, predictions: tuple[Any, ...]) -> str:
    """A prediction file as upstream's inference writes it."""
    from vlmeval.smp import dump

    data = dataset.data.copy()
    data["prediction"] = [str(predictions[at % len(predictions)]) for at in range(len(data))]
    if "image" in data:
        data.pop("image")
    dump(data, f"m_{dataset.dataset_name}.xlsx")
    return f"m_{dataset.dataset_name}.xlsx"


PREDICTIONS = ("A", "both B", "it is a dog", "no idea", "the third: bird", "The answer is A because of many reasons", "Z", "3", "cat")


def files() -> Any:
    import os

    return sorted(name for name in os.listdir(".") if name.startswith("m_"))


@cases.add("my_mcq.evaluate.exact_matching", *MCQ_TABLES)
def my_mcq_evaluate(name: str) -> Any:
    from vlmeval.smp import load

    MCQ_TABLES[name]()

    def evaluate(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
        return super(type(self), self).evaluate(eval_file, **judge_kwargs)

    dataset = mcq_class(name, evaluate=evaluate)(name)
    score = dataset.evaluate(predicted(dataset, PREDICTIONS), model="exact_matching", nproc=1)
    return [by_split(score), files(), load(f"m_{name}_exact_matching_result.xlsx"), by_split(load(f"m_{name}_acc.csv"))]


@cases.add("my_text", "build_prompt", "evaluate", "attributes")
def my_text(what: str) -> Any:
    from vlmeval.dataset.text_mcq import TextMCQDataset
    from vlmeval.smp import load

    class MyText(TextMCQDataset):
        DATASET_URL = {"my_text": "https://example.invalid/my_text.tsv"}
        DATASET_MD5 = {"my_text": None}

    write("my_text", "index question A B answer", [[n, f"q{n}", "cat", "dog", "AB"[n % 2]] for n in range(4)])
    dataset = MyText("my_text")
    if what == "build_prompt":
        return [dataset.build_prompt(0), dataset.build_prompt(dataset.data.iloc[1]), dataset.dump_image(dataset.data.iloc[0])]
    if what == "attributes":
        return [len(dataset), dataset.MODALITY, dataset.TYPE, dataset.dataset_name, dataset.data]
    score = dataset.evaluate(predicted(dataset, PREDICTIONS), model="exact_matching", nproc=1)
    return [score, files(), load("m_my_text_exact_matching_result.xlsx")]


@cases.add("my_text_base")
def my_text_base() -> Any:
    from vlmeval.dataset.text_base import TextBaseDataset

    class MyText(TextBaseDataset):
        DATASET_URL = {"plain": "https://example.invalid/plain.tsv"}
        DATASET_MD5 = {"plain": None}

        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
            return None

    write("plain", "index question answer", [["a", "q?", 1], ["b", "r?", 2]])
    dataset = MyText("plain")
    return [dataset.build_prompt(0), dataset.data, dataset[1], dataset.supported_datasets()]


YORN = {
    "MME": lambda: mme("reference"),
    "POPE": lambda: write("POPE", "index image question answer category", [[n, picture((n, 0, 0)), "Is it?", ["Yes", "No"][n % 2], ["random", "popular,adversarial"][n % 2]] for n in range(6)]),
    "HallusionBench": lambda: write("HallusionBench", "index image question answer category l2-category", [[f"VD_figure_x_{n // 4}_{n // 2 % 2}_{n % 2}", picture((n, 0, 0)), "Is it?", ["Yes", "No"][n % 2], "VD", "chart"] for n in range(8)]),
    "AMBER": lambda: write("AMBER", "index image image_path question answer category", [[n, picture((n, 0, 0)), f"{n}.jpg", "Is it?", ["yes", "no"][n % 2], ["relation", "discriminative-hallucination"][n // 2 % 2]] for n in range(6)]),
    "my_yorn": lambda: write("my_yorn", "index image question answer category", [[n, picture((n, 0, 0)), "Is it?", ["Yes", "No"][n % 2], f"c{n % 2}"] for n in range(6)]),
}  # fmt: skip


def yorn_class(name: str) -> Any:
    from vlmeval.dataset.image_yorn import ImageYORNDataset

    return type("MyYORN", (ImageYORNDataset,), {"DATASET_URL": {name: ""}, "DATASET_MD5": {}})


@cases.add("my_yorn.evaluate", *YORN)
def my_yorn_evaluate(name: str) -> Any:
    from vlmeval.smp import load

    YORN[name]()
    dataset = yorn_class(name)(name)
    file = predicted(dataset, ("Yes", "No, it is not", "Yes.", "Maybe", "no", "Yes and no"))
    score = dataset.evaluate(file, model="exact_matching", nproc=1)
    return [by_split(score) if "split" in score else score, files(), load(f"m_{name}_auxmatch.xlsx")]


@cases.add("my_yorn.build_prompt", "my_yorn", "AMBER")
def my_yorn_build_prompt(name: str) -> Any:
    YORN[name]()
    dataset = yorn_class(name)(name)
    return [dataset.build_prompt(place) for place in range(2)]


@cases.add("my_mt")
def my_mt() -> Any:
    from vlmeval.dataset.image_mt import ImageMTDataset

    class MyMT(ImageMTDataset):
        DATASET_URL = {"my_mt": ""}

        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
            return None

    rows = [
        [1, [picture((1, 1, 1)), picture((2, 2, 2))], ["<ImageHere>First?", "And <ImageHere> this one?", "Why?"], ["a", "b", "c"]],
        [2, picture((3, 3, 3)), ["Only <ImageHere>"], ["x"]],
    ]
    write("my_mt", "index image question answer", rows)
    dataset = MyMT("my_mt")
    return [dataset.build_prompt(0), dataset.build_prompt(1), dataset.TYPE]


@cases.add("MMVet.evaluate_parts")
def mmvet_parts() -> Any:
    from vlmeval.dataset.image_base import ImageBaseDataset

    class MyVet(ImageBaseDataset):
        DATASET_URL = {"MMVet": ""}

        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
            return None

    mmvet()
    dataset = MyVet("MMVet")
    return [dataset.build_prompt(0), dataset.build_prompt(1), list(dataset.data["answer"])]


# Models and APIs


def model_class(**members: Any) -> Any:
    from vlmeval.vlm.base import BaseModel

    def generate_inner(self: Any, message: Any, dataset: str | None = None) -> Any:
        return [message, dataset]

    return type("M", (BaseModel,), {"generate_inner": generate_inner, **members})


def media_file(name: str = "p.png") -> str:
    from PIL import Image

    Image.new("RGB", (4, 4), (1, 2, 3)).save(name)
    return name


def messages(kind: str) -> Any:
    path = media_file()
    url = f"data:image/png;base64,{picture((4, 5, 6))}"
    return {
        "str": "hello", "dict": {"type": "text", "value": "hi"}, "liststr": ["a", path, "b"], "listdict": [{"type": "image", "value": path}, {"type": "text", "value": "q"}],
        "data_url": [url, "what?"], "data_url_dict": [{"type": "image", "value": url}], "wrong_type": [{"type": "text", "value": path}],
        "mixed_list": ["a", {"type": "text", "value": "b"}], "empty": [], "number": 3, "missing_value": [{"type": "text"}], "none": None,
        "role": [{"type": "text", "value": "s", "role": "system"}, {"type": "text", "value": "u"}], "no_file": ["nowhere.png"],
        "url_words": ["https://example.invalid/page"], "words_url": ["see https://example.invalid/x.png"], "dot": ["."],
    }[kind]  # fmt: skip


MESSAGES = ("str", "dict", "liststr", "listdict", "data_url", "data_url_dict", "wrong_type", "mixed_list", "number", "missing_value", "none", "role",
            "no_file", "words_url", "dot")  # fmt: skip


@cases.add("generate", *MESSAGES)
def generate(kind: str) -> Any:
    model = model_class()()
    return [model.check_content(messages(kind)), model.generate(messages(kind), dataset="Mine")]


@cases.add("generate.allowed_types")
def generate_allowed() -> Any:
    return model_class(allowed_types=["text"])().generate(messages("listdict"))


@cases.add("preproc_content", *MESSAGES)
def preproc_content(kind: str) -> Any:
    return model_class()().preproc_content(messages(kind))


@cases.add("message_to_promptimg", 0, 1, 2)
def message_to_promptimg(count: int) -> Any:
    parts = [{"type": "text", "value": "a"}, *({"type": "image", "value": f"{n}.png"} for n in range(count)), {"type": "text", "value": "b"}]
    return model_class()().message_to_promptimg(parts, dataset="Mine")


@cases.add("message_to_promptvideo", 0, 1, 2)
def message_to_promptvideo(count: int) -> Any:
    parts = [{"type": "text", "value": "a"}, *({"type": "video", "value": f"{n}.mp4"} for n in range(count)), {"type": "text", "value": "b"}]
    return model_class(VIDEO_LLM=True)().message_to_promptvideo(parts)


@cases.add("model.defaults")
def model_defaults() -> Any:
    model = model_class()()
    model.set_dump_image(lambda line: [f"{line}.png"])
    return [model.use_custom_prompt("Mine"), model.dump_image(7, "Mine"), model.INTERLEAVE, model.allowed_types]


@cases.add("chat")
def chat() -> Any:
    def chat_inner(self: Any, messages: Any, dataset: str | None = None) -> Any:
        if len(messages) > 3:
            raise ValueError("too long")
        return [messages, dataset]

    talk = [{"role": role, "content": f"t{n}"} for n, role in enumerate(["user", "assistant", "user", "assistant", "user"])]
    return model_class(chat_inner=chat_inner)().chat(talk, dataset="Mine")


def api_class(*replies: Any) -> Any:
    from vlmeval.api.base import BaseAPI

    def generate_inner(self: Any, inputs: Any, **kwargs: Any) -> Any:
        self.asked.append([inputs, kwargs])
        reply = replies[(len(self.asked) - 1) % len(replies)]
        if isinstance(reply, Exception):
            raise reply
        return reply

    return type("A", (BaseAPI,), {"is_api": True, "generate_inner": generate_inner, "asked": []})


@cases.add("api.generate", [(0, "fine", "log")], [(-1, "", "no"), (0, "later", "log")], [(-1, "", "no")], [(0, "", "empty")], [ValueError("x"), (0, "ok", "")],
           [(-1, "partly", "no")])  # fmt: skip
def api_generate(replies: list[Any]) -> Any:
    api = api_class(*replies)(retry=2, wait=0, verbose=False, temperature=0)
    answer = api.generate([{"type": "text", "value": "s", "role": "system"}, {"type": "text", "value": "u"}], max_tokens=5)
    return [answer, api.asked, api.system_prompt]


@cases.add("api.inputs", *MESSAGES)
def api_inputs(kind: str) -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    return [api.generate(messages(kind)), api.asked]


@cases.add("api.message_to_promptimg", 1, 2)
def api_promptimg(count: int) -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    type(api).INTERLEAVE = False
    parts = [{"type": "text", "value": "a"}, *({"type": "image", "value": f"{n}.png"} for n in range(count)), {"type": "text", "value": "b"}]
    return api.message_to_promptimg(parts)


@cases.add("api.chat")
def api_chat() -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    talk = [{"role": role, "content": f"t{n}"} for n, role in enumerate(["user", "assistant", "user"])]
    return [api.chat(talk, dataset="Mine"), api.asked]


# smp


@cases.add("smp.toliststr", "a", "['a', 'b']", "[1, 2]", ["x", 1], "[", "[]", "[a", "['a'")
def toliststr(cell: Any) -> Any:
    from vlmeval.smp import toliststr

    return toliststr(cell)


@cases.add("smp.istype", ("1", int), ("1.5", int), ("a", int), (3, int), ("[1]", list), ("True", bool), ("-4", int), ("'x'", str), ("1e3", float), (None, int))
def istype(given: Any) -> Any:
    from vlmeval.smp import istype

    return istype(*given)


@cases.add("smp.misc")
def misc() -> Any:
    from vlmeval.smp import bincount, cn_string, d2df, get_rank_and_world_size, listinstr, process_punctuation, splitlen, version_cmp

    return [listinstr(["a", "b"], "xbx"), listinstr([], "x"), cn_string("中"), cn_string("x"), splitlen("a/b/c"), d2df({"b": 1, "a": None}),
            dict(bincount("aab")), get_rank_and_world_size(), version_cmp("1.2", "1.10", "lt"), process_punctuation("a, b. c-d 1,000 (e)!")]  # fmt: skip


@cases.add("smp.extract_json_objects", 'a {"x": 1} b {"y": [2]}', "none", '{"a": {"b": 1}} {broken {"c": 3}', "{}")
def extract_json_objects(text: str) -> Any:
    from vlmeval.smp import extract_json_objects

    return list(extract_json_objects(text))


SUFFIXES = ("_acc", "_tmp", "_judge", "_gpt-4o_score", "_rating", "_response", "_fine", "_metrics", "_openai_result", "_x_tmp")


@cases.add("smp.get_intermediate_file_path", *SUFFIXES)
def get_intermediate_file_path(suffix: str) -> Any:
    from vlmeval.smp import get_intermediate_file_path

    return [get_intermediate_file_path(file, suffix) for file in ("a/m_d.xlsx", "m.v1_d.tsv", "x.json")] + [
        get_intermediate_file_path("a/m_d.xlsx", suffix, "csv")
    ]


@cases.add("smp.file_names")
def file_names() -> Any:
    import os

    from vlmeval.smp import get_eval_file_format, get_file_extension, get_pred_file_format, get_pred_file_path
    from vlmeval.smp.file import get_eval_file_path

    found = [get_pred_file_format(), get_eval_file_format(), get_pred_file_path("w", "m", "d"), get_pred_file_path("w", "m", "d", use_env_format=False),
             get_eval_file_path("w/m_d.xlsx", "gpt"), get_file_extension("a.b.c")]  # fmt: skip
    os.environ.update({"PRED_FORMAT": "tsv", "EVAL_FORMAT": "json"})
    return [*found, get_pred_file_path("w", "m", "d"), get_eval_file_path("w/m_d.xlsx", "gpt")]


@cases.add("smp.load_dump", "xlsx", "csv", "tsv", "json", "jsonl", "pkl")
def load_dump(suffix: str) -> Any:
    from vlmeval.smp import dump, load

    frame = pd.DataFrame({"index": [0, 1, 2], "text": ["a", "b c", "1"], "number": [0.0, 1.5, 2.0], "flag": [True, False, True], "odd": ["NA", "None", ""]})
    plain = [{"a": 1, "b": "ü"}, {"a": None, "b": [1, 2]}]
    dump(plain if suffix in ("json", "jsonl") else frame, f"x.{suffix}")
    return load(f"x.{suffix}")


@cases.add("smp.load_frame_json")
def load_frame_json() -> Any:
    from vlmeval.smp import dump, load

    dump(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), "x.json")
    return load("x.json")


@cases.add("smp.parse_file", "p.png", "p.txt", "p.unknown", "words", "data", "p.PNG", "p.webp", "p.mp4", "nowhere.png", ".")
def parse_file(name: str) -> Any:
    from pathlib import Path

    from vlmeval.smp import parse_file

    if name.startswith("p."):
        media_file("p.png")
        Path(name).write_bytes(Path("p.png").read_bytes())
    return parse_file(f"data:image/png;base64,{picture((4, 5, 6))}" if name == "data" else name)


@cases.add("smp.md5", "text", "file", "中")
def md5(kind: str) -> Any:
    from vlmeval.smp import md5

    return md5(media_file() if kind == "file" else kind)


@cases.add("smp.base64", ("RGB", 200), ("RGBA", 200), ("P", 200), ("L", 200), ("RGB", 8), ("LA", 200))
def base64_round(given: Any) -> Any:
    from PIL import Image
    from vlmeval.smp import decode_base64_to_image, decode_base64_to_image_file, encode_image_file_to_base64, encode_image_to_base64

    mode, side = given
    image = Image.new(mode, (side, side + 10), {"RGB": (9, 8, 7), "RGBA": (9, 8, 7, 100), "P": 3, "L": 77, "LA": (77, 100)}[mode])
    back = decode_base64_to_image(encode_image_to_base64(image))
    small = decode_base64_to_image(encode_image_to_base64(image, target_size=64))
    image.save("x.png")
    decode_base64_to_image_file(encode_image_file_to_base64("x.png"), "sub/y.png")
    file = Image.open("sub/y.png")
    return [(i.mode, i.size, i.convert("RGB").getpixel((3, 3))) for i in (back, small, file)]


@cases.add("smp.images", "rescale", "factor", "concat", "read_ok", "isimg")
def images(kind: str) -> Any:
    from PIL import Image
    from vlmeval.smp import concat_images_vlmeval, isimg, read_ok, rescale_img
    from vlmeval.smp.vlm import resize_image_by_factor

    image = Image.new("RGB", (30, 20), (9, 8, 7))
    if kind == "rescale":
        return [rescale_img(image, (-1, 10)).size, rescale_img(image, (10, -1)).size]
    if kind == "factor":
        return [resize_image_by_factor(image, 2).size, resize_image_by_factor(image, 0.5).size]
    image.save("a.png")
    Image.new("RGB", (10, 40), (1, 2, 3)).save("b.png")
    if kind == "concat":
        return [concat_images_vlmeval(["a.png", "b.png"], return_image=True), concat_images_vlmeval(["a.png", "b.png"], target_size=10, return_image=True).size]
    if kind == "isimg":
        return [isimg("a.png"), isimg("http://x/y"), isimg("nowhere.png")]
    with open("broken.png", "w") as file:
        file.write("x")
    return [read_ok("a.png"), read_ok("broken.png"), read_ok("nowhere.png")]


@cases.add("track_progress_rich")
def track_progress_rich() -> Any:
    from vlmeval.smp import dump, load
    from vlmeval.utils import track_progress_rich

    dump({"old": 1}, "save.pkl")
    results = track_progress_rich(lambda a, b=2: a * b, [(1,), (2, 3), {"a": 5}, 7], nproc=2, save="save.pkl", keys=["w", "x", "y", "z"])
    return [results, load("save.pkl")]


@cases.add("smp.ls")
def ls() -> Any:
    import os

    from vlmeval.smp import ls

    os.makedirs("d/e")
    for name in ("d/a.txt", "d/b.csv", "d/e/c.txt"):
        open(name, "w").close()
    return [sorted(ls("d")), sorted(ls("d", match="a")), sorted(ls("d", mode="file")), sorted(ls("d", mode="dir")), sorted(ls("d", level=2)),
            sorted(ls("d", match=["!a", "b"])), sorted(ls("d", match=".txt", level="2+"))]  # fmt: skip
