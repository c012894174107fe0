"""Cases of the newest revision of VLMEvalKit (e8e78f05): dataset classes of users, prompts, files, evaluations."""

# ruff: noqa: RUF012, SIM112 - classes as users write them; LMUData is the guest's own spelling

from typing import Any

from differential import Cases
from tables import by_split, mme, picture, plain_choice, rotated, write

cases = Cases()


def image_table(name: str, kind: str) -> None:
    """One way in which rows may hold their pictures."""
    one, two = picture((9, 0, 0)), picture((0, 9, 0))
    columns = "index image question answer"
    rows: dict[str, tuple[str, list[list[Any]]]] = {
        "single": (columns, [[1, one, "a?", "x"], [2, two, "b?", "y"]]),
        "named": (
            "index image image_path question answer",
            [[1, one, "first.png", "a?", "x"], [2, two, "sub/second.jpg", "b?", "y"]],
        ),
        "list": (columns, [[1, [one, two], "a?", "x"], [2, [two], "b?", "y"]]),
        "named_list": (
            "index image image_path question answer",
            [
                [1, [one, two], ["p.png", "q.png"], "a?", "x"],
                [2, [two], ["r.png"], "b?", "y"],
            ],
        ),
        "reference": (
            columns,
            [["a", one, "a?", "x"], ["b", "a", "b?", "y"], ["c", two, "c?", "z"]],
        ),
        "numbers": (
            columns,
            [[10, one, "a?", 1], [11, "10", "b?", 2.5], [12, two, "3", ""]],
        ),
        "alpha": (
            columns,
            [
                [1, picture((9, 9, 9, 128), "RGBA"), "a?", "x"],
                [2, picture(7, "L"), "b?", "y"],
                [3, picture(3, "P"), "c?", "z"],
            ],
        ),
        "jpeg": (columns, [[1, picture((9, 0, 0), fmt="JPEG"), "a?", "x"]]),
        "missing": (columns, [[1, one, "a?", "x"], [2, "", "b?", "y"]]),
        "mixed_index": (columns, [["x1", one, "a?", "x"], ["2", two, "b?", "y"]]),
    }
    write(name, *rows[kind])


KINDS = (
    "single",
    "named",
    "list",
    "named_list",
    "reference",
    "numbers",
    "alpha",
    "jpeg",
    "missing",
    "mixed_index",
)


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
    return [
        messages,
        [
            (
                Image.open(p).size,
                Image.open(p).mode,
                Image.open(p).convert("RGB").getpixel((3, 3)),
            )
            for p in paths
        ],
    ]


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
    paths = [
        dataset.dump_image(dataset.data.iloc[place]) for place in range(len(dataset))
    ]
    found = sorted(
        os.path.relpath(os.path.join(d, f), dataset.img_root)
        for d, _, fs in os.walk(dataset.img_root)
        for f in fs
    )
    return [paths, found]


@cases.add("my_vqa.attributes", *KINDS)
def my_vqa_attributes(kind: str) -> Any:
    image_table("my_vqa", kind)
    dataset = vqa_class()(dataset="my_vqa")
    frame = dataset.data
    lists = [isinstance(cell, list) for cell in frame["image"]]
    row = {key: value for key, value in dataset[0].items() if key != "image"}
    return [
        len(dataset),
        dataset.dataset_name,
        dataset.img_root,
        dataset.meta_only,
        dataset.MODALITY,
        dataset.TYPE,
        dataset.skip_noimg,
        dataset.supported_datasets(),
        lists,
        frame.drop(columns="image"),
        row,
    ]


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
    cell = {
        "absolute": os.path.join(folder, "a.png"),
        "relative": "a.png",
        "list": ["a.png", "b.png"],
    }[kind]
    write("my_vqa", "index image_path question answer", [[1, cell, "q?", "x"]])
    dataset = vqa_class()("my_vqa")
    line = dataset.data.iloc[0]
    return [
        dataset.meta_only,
        dataset.dump_image(line),
        dataset.build_prompt(0),
        dataset.build_prompt(line),
    ]


@cases.add(
    "img_root_map",
    "MMBench",
    "MMBench_DEV_EN",
    "MMBench_DEV_EN_V11",
    "MMBench_V11",
    "COCO_VAL",
    "OCRVQA_TEST",
    "CRPE_EXIST",
    "MM_NIAH_VAL",
    "QSpatial_plus",
    "Mine",
    "MMBench_dev_en",
    "CCBench",
)
def img_root_map(name: str) -> Any:
    from vlmeval.dataset.image_base import img_root_map

    return img_root_map(name)


def mcq_class(name: str, **members: Any) -> Any:
    from vlmeval.dataset.image_mcq import ImageMCQDataset

    return type(
        "MyMCQ",
        (ImageMCQDataset,),
        {"DATASET_URL": {name: ""}, "DATASET_MD5": {}, **members},
    )


MCQ_TABLES = {
    "my_mcq": lambda: plain_choice("my_mcq"),
    "my_two": lambda: plain_choice("my_two", options=2),
    "my_eight": lambda: plain_choice("my_eight", options=8),
    "MyMMBench": lambda: rotated("MyMMBench"),
    "my_circular": lambda: rotated("my_circular", split=True, hint=False),
    "my_split": lambda: plain_choice("my_split", split=["dev", "test"]),
    "my_hint": lambda: plain_choice("my_hint", hint=["look", ""]),
}


@cases.add("my_mcq.build_prompt", *MCQ_TABLES)
def my_mcq_build_prompt(name: str) -> Any:
    MCQ_TABLES[name]()
    dataset = mcq_class(name)(name)
    return [dataset.build_prompt(place) for place in range(len(dataset))]


def predicted(dataset: Any, predictions: tuple[Any, ...]) -> str:
    """A prediction file as upstream's inference writes it."""
    from vlmeval.smp import dump

    data = dataset.data.copy()
    data["prediction"] = [
        str(predictions[at % len(predictions)]) for at in range(len(data))
    ]
    if "image" in data:
        data.pop("image")
    dump(data, f"m_{dataset.dataset_name}.xlsx")
    return f"m_{dataset.dataset_name}.xlsx"


PREDICTIONS = (
    "A",
    "both B",
    "it is a dog",
    "no idea",
    "the third: bird",
    "The answer is A because of many reasons",
    "Z",
    "3",
    "cat",
)


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
    score = dataset.evaluate(
        predicted(dataset, PREDICTIONS), model="exact_matching", nproc=1
    )
    return [
        by_split(score),
        files(),
        load(f"m_{name}_exact_matching_result.xlsx"),
        by_split(load(f"m_{name}_acc.csv")),
    ]


@cases.add("my_text", "build_prompt", "evaluate", "attributes")
def my_text(what: str) -> Any:
    from vlmeval.dataset.text_mcq import TextMCQDataset
    from vlmeval.smp import load

    class MyText(TextMCQDataset):
        DATASET_URL = {"my_text": "https://example.invalid/my_text.tsv"}
        DATASET_MD5 = {"my_text": None}

    write(
        "my_text",
        "index question A B answer",
        [[n, f"q{n}", "cat", "dog", "AB"[n % 2]] for n in range(4)],
    )
    dataset = MyText("my_text")
    if what == "build_prompt":
        return [
            dataset.build_prompt(0),
            dataset.build_prompt(dataset.data.iloc[1]),
            dataset.dump_image(dataset.data.iloc[0]),
        ]
    if what == "attributes":
        return [
            len(dataset),
            dataset.MODALITY,
            dataset.TYPE,
            dataset.dataset_name,
            dataset.data,
        ]
    score = dataset.evaluate(
        predicted(dataset, PREDICTIONS), model="exact_matching", nproc=1
    )
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
    return [
        dataset.build_prompt(0),
        dataset.data,
        dataset[1],
        dataset.supported_datasets(),
    ]


YORN = {
    "MME": lambda: mme("reference"),
    "POPE": lambda: write(
        "POPE",
        "index image question answer category",
        [
            [
                n,
                picture((n, 0, 0)),
                "Is it?",
                ["Yes", "No"][n % 2],
                ["random", "popular,adversarial"][n % 2],
            ]
            for n in range(6)
        ],
    ),
    "HallusionBench": lambda: write(
        "HallusionBench",
        "index image question answer category l2-category",
        [
            [
                f"VD_figure_x_{n // 4}_{n // 2 % 2}_{n % 2}",
                picture((n, 0, 0)),
                "Is it?",
                ["Yes", "No"][n % 2],
                "VD",
                "chart",
            ]
            for n in range(8)
        ],
    ),
    "AMBER": lambda: write(
        "AMBER",
        "index image image_path question answer category",
        [
            [
                n,
                picture((n, 0, 0)),
                f"{n}.jpg",
                "Is it?",
                ["yes", "no"][n % 2],
                ["relation", "discriminative-hallucination"][n // 2 % 2],
            ]
            for n in range(6)
        ],
    ),
    "my_yorn": lambda: write(
        "my_yorn",
        "index image question answer category",
        [
            [n, picture((n, 0, 0)), "Is it?", ["Yes", "No"][n % 2], f"c{n % 2}"]
            for n in range(6)
        ],
    ),
}


def yorn_class(name: str) -> Any:
    from vlmeval.dataset.image_yorn import ImageYORNDataset

    return type(
        "MyYORN", (ImageYORNDataset,), {"DATASET_URL": {name: ""}, "DATASET_MD5": {}}
    )


@cases.add("my_yorn.evaluate", *YORN)
def my_yorn_evaluate(name: str) -> Any:
    from vlmeval.smp import load

    YORN[name]()
    dataset = yorn_class(name)(name)
    file = predicted(
        dataset, ("Yes", "No, it is not", "Yes.", "Maybe", "no", "Yes and no")
    )
    score = dataset.evaluate(file, model="exact_matching", nproc=1)
    return [
        by_split(score) if "split" in score else score,
        files(),
        load(f"m_{name}_auxmatch.xlsx"),
    ]


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
        [
            1,
            [picture((1, 1, 1)), picture((2, 2, 2))],
            ["<ImageHere>First?", "And <ImageHere> this one?", "Why?"],
            ["a", "b", "c"],
        ],
        [2, picture((3, 3, 3)), ["Only <ImageHere>"], ["x"]],
    ]
    write("my_mt", "index image question answer", rows)
    dataset = MyMT("my_mt")
    return [dataset.build_prompt(0), dataset.build_prompt(1), dataset.TYPE]
