"""Cases of the documented revision of VLMEvalKit (7057afc9): `TSVDataset`, matching, `vlmeval.eval`, `vlmeval.infer`."""

# ruff: noqa: E501 - inputs stand on one line each; LMUData is the guest's own spelling

from typing import Any

import pandas as pd
from differential import Cases
from tables import core_mm, mme, mmvet, plain_choice, rotated

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
