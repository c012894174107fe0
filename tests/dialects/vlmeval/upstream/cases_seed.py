"""Cases of the documented revision of VLMEvalKit (7057afc9): `TSVDataset`, matching, `vlmeval.eval`, `vlmeval.infer`."""

# ruff: noqa: E501 - inputs stand on one line each; LMUData is the guest's own spelling

from typing import Any

import pandas as pd
from differential import Cases
from tables import MME_CATEGORIES, core_mm, mme, mmvet, plain_choice, rotated

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
    "A dog",
    "a dog",
    "It is a dog.",
    "dog",
    "DOG",
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
    "so the final answer is A",
    "C" * 40,
    "dog " * 40,
    "B " * 3,
)
CHOICES: dict[str, Any] = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}


@cases.add("can_infer", *ANSWERS)
def can_infer(answer: Any) -> Any:
    from vlmeval.utils import can_infer

    return [can_infer(answer, dict(CHOICES)), can_infer(answer, {"A": "yes", "B": 1})]


@cases.add(
    "can_infer_option", *(answer for answer in ANSWERS if isinstance(answer, str))
)
def can_infer_option(answer: str) -> Any:
    from vlmeval.utils import can_infer_option

    return [
        can_infer_option(answer),
        can_infer_option(answer, num_choice=4),
        can_infer_option(answer, 2),
    ]


@cases.add(
    "can_infer_text",
    "a dog",
    "cat dog",
    "",
    "Bird!",
    "FISH and more words than all of the options together have",
)
def can_infer_text(answer: str) -> Any:
    from vlmeval.utils import can_infer_text

    return can_infer_text(answer, dict(CHOICES))


NAMES = (
    "MMBench",
    "MMBench_DEV_CN",
    "CCBench",
    "SEEDBench_IMG",
    "MME",
    "MMEx",
    "CORE_MM",
    "MMVet",
    "ccbench",
    "Mine",
)


@cases.add("dataset_type", *NAMES)
def dataset_type(name: str) -> Any:
    from vlmeval.utils import DATASET_TYPE

    return DATASET_TYPE(name)


@cases.add("names")
def names() -> Any:
    from vlmeval.utils import dataset_URLs, img_root_map

    return [
        sorted(dataset_URLs),
        dict(sorted(img_root_map.items())),
        dataset_URLs["MMBench_DEV_EN"],
    ]


TABLES = {
    "MMBench_DEV_EN": rotated,
    "MMBench_DEV_CN": lambda: rotated("MMBench_DEV_CN", hint=False),
    "CCBench": lambda: rotated("CCBench", split=True),
    "SEEDBench_IMG": plain_choice,
    "MME": mme,
    "MMVet": mmvet,
    "CORE_MM": core_mm,
}


def shown(struct: Any) -> Any:
    """A prompt with the pixels behind its paths."""
    from PIL import Image

    paths = struct["image"] if isinstance(struct["image"], list) else [struct["image"]]
    return [
        struct,
        [
            (Image.open(path).size, Image.open(path).convert("RGB").getpixel((3, 3)))
            for path in paths
        ],
    ]


@cases.add("build_prompt", *TABLES)
def build_prompt(name: str) -> Any:
    from vlmeval.utils import TSVDataset

    TABLES[name]()
    dataset = TSVDataset(name)
    return [
        shown(dataset.build_prompt(place)) for place in range(min(len(dataset), 12))
    ]


@cases.add("build_prompt.series_equals_int", *TABLES)
def series_equals_int(name: str) -> Any:
    from vlmeval.utils import TSVDataset

    TABLES[name]()
    dataset = TSVDataset(name)
    return [
        dataset.build_prompt(dataset.data.iloc[at]) == dataset.build_prompt(at)
        for at in range(2)
    ]


@cases.add("build_prompt.other_dataset_argument", *TABLES)
def other_dataset_argument(name: str) -> Any:
    from vlmeval.utils import TSVDataset

    TABLES[name]()
    dataset = TSVDataset(name)
    others = ["MME", "SEEDBench_IMG", "Mine"]
    return [dataset.build_prompt(0, dataset=other) for other in others]


@cases.add("dataset.attributes", *TABLES)
def attributes(name: str) -> Any:
    from vlmeval.utils import TSVDataset

    TABLES[name]()
    dataset = TSVDataset(name)
    frame = dataset.data.drop(columns=["image"])
    return [
        len(dataset),
        dataset.dataset,
        dataset.dataset_type,
        dataset.img_root,
        dataset.data_root,
        frame,
    ]


@cases.add("dataset.img_root")
def img_root() -> Any:
    from vlmeval.utils import TSVDataset

    plain_choice()
    dataset = TSVDataset("SEEDBench_IMG", img_root="elsewhere")
    return [dataset.img_root, dataset.build_prompt(1)]


@cases.add("shared_image", "MME", "MMBench_DEV_EN")
def shared_image(name: str) -> Any:
    from vlmeval.utils import TSVDataset

    TABLES[name]()
    data = TSVDataset(name).data
    cells = dict(zip(data["index"], data["image"], strict=True))
    shared = (
        [(i, i - 1) for i in (1, 3)]
        if name == "MME"
        else [(i, i % 1_000_000) for i in cells if i >= 1_000_000]
    )
    return [cells[own] == cells[lent] for own, lent in shared]


def predicted(name: str, predictions: list[Any]) -> str:
    """A prediction file as `run.py` writes it, and its name."""
    from vlmeval.smp import dump
    from vlmeval.utils import TSVDataset

    data = TSVDataset(name).data
    data["prediction"] = [predictions[at % len(predictions)] for at in range(len(data))]
    data.pop("image")
    dump(data, f"m_{name}.xlsx")
    return f"m_{name}.xlsx"


PREDICTIONS = ("A", "B", "it is a dog", "no idea", "C", "The answer is A")


@cases.add("prefetch_acc", "MMBench_DEV_EN", "SEEDBench_IMG", "CCBench")
def prefetch_acc(name: str) -> Any:
    from vlmeval.infer.inference import prefetch_acc

    TABLES[name]()
    return prefetch_acc(predicted(name, list(PREDICTIONS)))


@cases.add("prefetch_answer", *range(6))
def prefetch_answer(place: int) -> Any:
    from vlmeval.eval.multiple_choice import prefetch_answer

    row = {
        "A": "cat",
        "B": "dog",
        "C": None if place % 2 else "bird",
        "D": float("nan"),
        "prediction": PREDICTIONS[place],
    }
    return prefetch_answer(pd.Series(row))


@cases.add(
    "extract_options",
    {"A": 1, "B": 2},
    {"A": "x", "B": float("nan"), "C": "z"},
    {"B": "x"},
    {"A": "a", "B": "b", "C": "c", "D": "d", "E": "e"},
    {"A": 0, "B": ""},
)
def extract_options(row: dict[str, Any]) -> Any:
    from vlmeval.eval.multiple_choice import build_choices, extract_options

    whole = {**dict.fromkeys("ABCD", float("nan")), **row}
    return [
        extract_options(pd.Series(row, dtype=object)),
        build_choices(pd.Series(whole, dtype=object)),
    ]


@cases.add("build_options", ["a", "b"], ["a", float("nan"), "c"], [], [1, 2.5, True])
def build_options(options: list[Any]) -> Any:
    from vlmeval.smp import build_options

    return build_options(options)


def hits(
    split: bool = False, above: bool = True, category: bool = True
) -> pd.DataFrame:
    """Verdicts with what they are grouped by."""
    rows = {"index": range(8), "hit": [1, 0, 1, 1, 0, 0, 1, 1]}
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


SHAPES: tuple[tuple[bool, bool, bool], ...] = tuple(
    (s, a, c) for s in (0, 1) for a in (0, 1) for c in (0, 1)
)  # type: ignore[misc]


@cases.add("report_acc", *SHAPES)
def report_acc(shape: tuple[bool, bool, bool]) -> Any:
    from vlmeval.eval.multiple_choice import report_acc

    return report_acc(hits(*shape))


class Judge:
    """Replies in turn, and keeps what it was asked with."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, []  # type: ignore[var-annotated]

    def generate(self, prompt: Any, **settings: Any) -> str:
        self.asked.append(sorted(settings.items()))
        return self.replies[(len(self.asked) - 1) % len(self.replies)]


@cases.add(
    "extract_answer_from_item",
    ("A",),
    ("B",),
    ("hm", "C"),
    ("Failed to obtain answer via API.", "dog"),
    ("E",),
)
def extract_answer_from_item(replies: tuple[str, ...]) -> Any:
    from vlmeval.eval.multiple_choice import extract_answer_from_item

    judge = Judge(*replies)
    row = pd.Series({"question": "What?", **CHOICES, "prediction": "it has fur"})
    return [extract_answer_from_item(judge, row), len(judge.asked)]


def rotations(predictions: list[str]) -> tuple[pd.DataFrame, dict[int, str]]:
    rows = [
        {"index": n * 1_000_000, "question": "q", **CHOICES, "prediction": p}
        for n, p in enumerate(predictions)
    ]
    return pd.DataFrame(rows), {0: "A", 1_000_000: "B"}


@cases.add(
    "prefetch_sub_data",
    ["A", "B"],
    ["A", "A"],
    ["hm", "B"],
    ["A", "hm"],
    ["hm", "A"],
    ["C", "hm"],
)
def prefetch_sub_data(predictions: list[str]) -> Any:
    from vlmeval.eval.multiple_choice import prefetch_sub_data

    group, answers = rotations(predictions)
    return [
        prefetch_sub_data(group, answers),
        prefetch_sub_data(group, answers, verbose=True),
    ]


@cases.add("eval_sub_data", ["A", "B"], ["hm", "B"], ["A", "hm"], ["hm", "hm"])
def eval_sub_data(predictions: list[str]) -> Any:
    from vlmeval.eval.multiple_choice import eval_sub_data

    return [
        eval_sub_data(Judge(reply), *rotations(predictions))
        for reply in ("A", "B", "dog")
    ]


@cases.add(
    "circular_pred",
    list("AB"),
    list("ABBC"),
    ["A", "B", "A", "A"],
    ["A", None, "A", "B"],
    ["Z", "A", "C", "D"],
)
def circular_pred(letters: list[Any]) -> Any:
    from vlmeval.smp import circular_pred

    indices = [n // 2 + (n % 2) * 1_000_000 for n in range(len(letters))]
    return circular_pred(pd.DataFrame({"index": indices, "prediction": letters}))


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
    "нет",
    "No, no, no",
    "Yes\nNo",
    "yes/no",
    "Y",
    "n",
)


@cases.add("MME_answer_extraction", *YES_NO)
def mme_answer_extraction(text: str) -> Any:
    from vlmeval.eval.mme_eval import MME_answer_extraction

    return MME_answer_extraction(text)


@cases.add("MME_postproc")
def mme_postproc() -> Any:
    from vlmeval.eval import MME_postproc

    frame = pd.DataFrame(
        {
            "index": range(len(YES_NO)),
            "prediction": YES_NO,
            "answer": ["Yes", "No", "Unknown"][:1] * 19,
        }
    )
    return MME_postproc(frame)


def mme_predictions(wrong: int = 5) -> list[str]:
    return [
        "Yes" if n % 2 == 0 else "No" if n % wrong else "Hm"
        for n in range(4 * len(MME_CATEGORIES))
    ]


@cases.add("MME_rating", 3, 5, 7, 1000)
def mme_rating(wrong: int) -> Any:
    from vlmeval.eval import MME_postproc, MME_rating
    from vlmeval.smp import dump, load

    mme()
    file = predicted("MME", mme_predictions(wrong))
    dump(MME_postproc(load(file)), file)
    return MME_rating(file)


@cases.add("MME_rating.125_each")
def mme_rating_125() -> Any:
    from vlmeval.eval import MME_rating
    from vlmeval.smp import dump

    rows = [
        {"index": n, "category": c, "image_path": f"{c}{n // 2}", "score": n != 3}
        for c in MME_CATEGORIES
        for n in range(4)
    ]
    dump(pd.DataFrame(rows), "scores.xlsx")
    return MME_rating("scores.xlsx")


@cases.add("MME_auxeval", "Yes", "no", "hm", "YES no")
def mme_auxeval(reply: str) -> Any:
    from vlmeval.eval.mme_eval import MME_auxeval

    return MME_auxeval(
        Judge(reply), pd.Series({"question": "q", "raw_prediction": "p"})
    )


@cases.add(
    "MMVet_auxeval",
    ("1",),
    ("0.5",),
    ("-1", "0.3"),
    ("x", "y", "z", "1", "0"),
    ("2", "-1", "x", "7", "y"),
    (" 0.7 ",),
    ("1/10", "0.1"),
    ("nan",),
    ("1e-1",),
    ("inf",),
)
def mmvet_auxeval(replies: tuple[str, ...]) -> Any:
    from vlmeval.eval.mmvet_eval import MMVet_auxeval

    judge = Judge(*replies)
    row = pd.Series({"question": "q", "answer": "1<AND>2", "prediction": 3})
    return [MMVet_auxeval(judge, row), judge.asked]


@cases.add("MMVet_acc", [0.0, 1.0, 0.5, 0.25, 1], [1, 1, 1, 1, 1])
def mmvet_acc(scores: list[float]) -> Any:
    from vlmeval.eval.mmvet_eval import MMVet_acc
    from vlmeval.smp import dump

    every = ["rec,gen", "ocr,math", "rec,know,gen", "spat,ocr", "ocr,math"]
    dump(
        pd.DataFrame({"index": range(5), "category": every, "score": scores}),
        "scored.xlsx",
    )
    return MMVet_acc("scored.xlsx")


@cases.add("infer_data", "SEEDBench_IMG", "MMBench_DEV_EN", "MMVet", "MME", "CORE_MM")
def infer_data(name: str) -> Any:
    from functools import partial

    from vlmeval.config import supported_VLM
    from vlmeval.infer.inference import infer_data
    from vlmeval.smp import load

    asked: list[Any] = []

    class Model:
        MULTI_IMG = True

        def generate(
            self, image_path: Any, prompt: str, dataset: str | None = None
        ) -> str:
            asked.append(["generate", image_path, prompt, dataset])
            return "B"

        def multi_generate(
            self, image_paths: Any, prompt: str, dataset: str | None = None
        ) -> str:
            asked.append(["multi_generate", image_paths, prompt, dataset])
            return "C"

    TABLES[name]()
    supported_VLM["mine"] = partial(Model)
    infer_data("mine", dataset_name=name, out_file="out.pkl")
    return [asked, {str(k): v for k, v in load("out.pkl").items()}]


@cases.add("infer_data.own_prompt")
def infer_own() -> Any:
    from functools import partial

    from vlmeval.config import supported_VLM
    from vlmeval.infer.inference import infer_data

    asked: list[Any] = []

    class Model:
        def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
            return {
                "image": f"pictures/{line['index']}.bin",
                "text": f"{dataset}: {line['question']} {line['A']}",
            }

        def generate(
            self, image_path: Any, prompt: str, dataset: str | None = None
        ) -> str:
            asked.append([image_path, prompt, dataset])
            return prompt[-3:]

    plain_choice()
    supported_VLM["own"] = partial(Model)
    infer_data("own", dataset_name="SEEDBench_IMG", out_file="out.pkl")
    return asked


def with_judge(module: Any, *replies: str) -> None:
    """The module's judge class gives scripted replies."""
    module.OpenAIWrapper = lambda *args, **kwargs: Judge(*replies)


@cases.add("MME_eval", ("Yes",), ("No",), ("hm",))
def mme_eval(replies: tuple[str, ...]) -> Any:
    from vlmeval.eval import mme_eval
    from vlmeval.smp import load

    mme()
    with_judge(mme_eval, *replies)
    file = predicted("MME", mme_predictions())
    score = mme_eval.MME_eval(file, nproc=1)
    return [score, load("m_MME_auxmatch.xlsx"), load("m_MME_score.csv")]


@cases.add(
    "MMVet_eval.no_single_capability", ("1",), ("0.3",), ("2", "-1", "x", "7", "y")
)
def mmvet_eval(replies: tuple[str, ...]) -> Any:
    import os

    from vlmeval.eval import mmvet_eval
    from vlmeval.smp import dump, load

    with_judge(mmvet_eval, *replies)
    every = ["rec,gen", "ocr,math", "rec,know,gen", "spat,ocr", "ocr,math"]
    rows = {
        "index": range(5),
        "question": list("abcde"),
        "answer": "1",
        "prediction": "2",
        "category": every,
    }
    dump(pd.DataFrame(rows), "m_MMVet.xlsx")
    mmvet_eval.MMVet_eval("m_MMVet.xlsx", nproc=1)
    tables = [
        f"m_MMVet_gpt-4-turbo{end}"
        for end in (".xlsx", "_score.csv", "_score_fine.csv")
    ]
    return [
        sorted(f for f in os.listdir(".") if f.startswith("m_")),
        *(load(table) for table in tables),
    ]


@cases.add("multiple_choice_eval.judge", "MMBench_DEV_EN", "SEEDBench_IMG", "CCBench")
def multiple_choice_eval(name: str) -> Any:
    import os

    from vlmeval.eval import multiple_choice
    from vlmeval.smp import load

    with_judge(multiple_choice, "A")
    TABLES[name]()
    file = predicted(name, ["A", "hm", "B", "dog", "3", "no", "C"])
    score = multiple_choice.multiple_choice_eval(file, dataset=name, nproc=1)
    files = sorted(f for f in os.listdir(".") if f.startswith("m_"))
    return [
        score,
        files,
        load(f"m_{name}_openai_result.xlsx"),
        load(f"m_{name}_acc.csv"),
    ]


@cases.add("smp.load_dump", "xlsx", "csv", "tsv", "json", "jsonl", "pkl")
def load_dump(suffix: str) -> Any:
    from vlmeval.smp import dump, load

    frame = pd.DataFrame(
        {
            "index": [0, 1, 2],
            "text": ["a", "b c", "d,e"],
            "number": [0.0, 1.5, 2.0],
            "flag": [True, False, True],
        }
    )
    plain = [{"a": 1, "b": "ü"}, {"a": None, "b": [1, 2]}]
    dump(plain if suffix in ("json", "jsonl") else frame, f"x.{suffix}")
    return load(f"x.{suffix}")


@cases.add(
    "smp.listinstr",
    (["a"], "abc"),
    (["x", "bc"], "abc"),
    ([], "abc"),
    (["A"], "abc"),
    ([""], "x"),
)
def listinstr(given: Any) -> Any:
    from vlmeval.smp import cn_string, listinstr, splitlen

    return [
        listinstr(*given),
        cn_string(given[1]),
        splitlen(given[1]),
        splitlen("a/b//c"),
        cn_string("中a"),
    ]


@cases.add("smp.d2df")
def d2df() -> Any:
    from vlmeval.smp import d2df

    return d2df({"b": 1, "a": None, "c": "x"})
