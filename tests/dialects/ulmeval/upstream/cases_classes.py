"""Cases of ULMEvalKit (e8f5eaa): dataset classes of users, base classes of models and APIs, helpers of `smp`."""

from pathlib import Path
from typing import Any

import pandas as pd
from differential import Cases
from PIL import Image
from tables import picture, write

cases = Cases()


def user_class(base: str, **members: Any) -> Any:
    import importlib

    kind = {"text": "TextBaseDataset", "image": "ImageBaseDataset"}[base]
    cls = getattr(importlib.import_module(f"ulmeval.dataset.{base}_base"), kind)
    return type(
        "Mine",
        (cls,),
        {
            "DATASET_URL": {"toy": "https://example.invalid/toy.tsv"},
            "DATASET_MD5": {"toy": None},
            **members,
        },
    )


def image_table(kind: str) -> None:
    one, two = picture((9, 0, 0)), picture((0, 9, 0))
    columns = "index image question"
    rows: dict[str, tuple[str, list[list[Any]]]] = {
        "single": (columns, [[1, one, "a?"], [2, two, "b?"]]),
        "named": (
            "index image image_path question",
            [[1, one, "first.png", "a?"], [2, two, "sub/second.jpg", "b?"]],
        ),
        "list": (columns, [[1, [one, two], "a?"], [2, [two], "b?"]]),
        "named_list": (
            "index image image_path question",
            [[1, [one, two], ["p.png", "q.png"], "a?"]],
        ),
        "reference": (columns, [["a", one, "a?"], ["b", "a", "b?"]]),
        "alpha": (
            columns,
            [[1, picture((9, 9, 9, 128), "RGBA"), "a?"], [2, picture(7, "L"), "b?"]],
        ),
        "missing": (columns, [[1, one, "a?"], [2, "", "b?"]]),
    }
    write("toy", *rows[kind])


KINDS = ("single", "named", "list", "named_list", "reference", "alpha", "missing")


@cases.add("toy_edit.build_prompt", *KINDS)
def toy_edit(kind: str) -> Any:
    image_table(kind)
    dataset = user_class("image")(dataset="toy")
    prompts = [dataset.build_prompt(place) for place in range(len(dataset))]
    paths = [
        part["value"]
        for prompt in prompts
        for part in prompt
        if part["type"] == "image"
    ]
    return [
        prompts,
        [
            (
                Image.open(path).size,
                Image.open(path).mode,
                Image.open(path).convert("RGB").getpixel((3, 3)),
            )
            for path in paths
        ],
    ]


@cases.add("toy_edit.attributes", *KINDS)
def toy_edit_attributes(kind: str) -> Any:
    image_table(kind)
    dataset = user_class("image")(dataset="toy")
    return [
        len(dataset),
        dataset.img_root,
        dataset.meta_only,
        dataset.data.drop(columns="image"),
        [isinstance(cell, list) for cell in dataset.data["image"]],
    ]


@cases.add("toy_edit.dump_image", *KINDS)
def toy_edit_dump(kind: str) -> Any:
    image_table(kind)
    dataset = user_class("image")(dataset="toy")
    return [
        dataset.dump_image(dataset.data.iloc[place]) for place in range(len(dataset))
    ]


@cases.add("toy_t2i", "numbers", "words", "mixed")
def toy_t2i(kind: str) -> Any:
    indices = {"numbers": [1, 2], "words": ["a", "b"], "mixed": ["a", 2]}[kind]
    write(
        "toy",
        "index question extra",
        [[index, f"draw {index}", 0.5] for index in indices],
    )
    dataset = user_class("text")(dataset="toy")
    return [
        dataset.build_prompt(0),
        dataset.build_prompt(dataset.data.iloc[1]),
        dataset.data,
        dataset.dump_image(dataset.data.iloc[0]),
        dataset.dataset_name,
    ]


# Models


def model_class(**members: Any) -> Any:
    from ulmeval.ulm.base import BaseModel

    def generate_inner(self: Any, message: Any, dataset: str | None = None) -> Any:
        self.asked = [*getattr(self, "asked", []), [message, dataset]]
        return f"image {len(self.asked)}"

    return type("M", (BaseModel,), {"generate_inner": generate_inner, **members})


def messages(kind: str) -> Any:
    Image.new("RGB", (4, 4), (1, 2, 3)).save("p.png")
    url = f"data:image/png;base64,{picture((4, 5, 6))}"
    return {
        "str": "hello",
        "dict": {"type": "text", "value": "hi"},
        "liststr": ["a", "p.png", "b"],
        "listdict": [
            {"type": "image", "value": "p.png"},
            {"type": "text", "value": "q"},
        ],
        "data_url": [url, "what?"],
        "data_url_dict": [{"type": "image", "value": url}],
        "wrong_type": [{"type": "text", "value": "p.png"}],
        "mixed_list": ["a", {"type": "text", "value": "b"}],
        "number": 3,
        "missing_value": [{"type": "text"}],
        "none": None,
        "no_file": ["nowhere.png"],
        "dot": ["."],
    }[kind]


MESSAGES = (
    "str",
    "dict",
    "liststr",
    "listdict",
    "data_url",
    "data_url_dict",
    "wrong_type",
    "mixed_list",
    "number",
    "missing_value",
    "none",
    "no_file",
    "dot",
)


def drawing(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """The messages a model was asked with; what it draws are words here, which only upstream takes."""
    model = cls()
    answers = model.generate(*args, **kwargs)
    return [answers, model.asked]


@cases.add("generate", *MESSAGES)
def generate(kind: str) -> Any:
    images = [Image.new("RGB", (2, 2), (n, 0, 0)) for n in range(3)]

    def generate_inner(self: Any, message: Any, dataset: str | None = None) -> Any:
        self.asked = [*getattr(self, "asked", []), [message, dataset]]
        return images[len(self.asked) - 1]

    return drawing(
        model_class(generate_inner=generate_inner),
        messages(kind),
        dataset="toy",
        num_generations=2,
    )


@cases.add("preproc_content", *MESSAGES)
def preproc_content(kind: str) -> Any:
    model = model_class()()
    return [model.check_content(messages(kind)), model.preproc_content(messages(kind))]


@cases.add("generate.batch_hook")
def batch_hook() -> Any:
    def batch_generate_inner(
        self: Any, message: Any, dataset: Any, num_generations: int
    ) -> Any:
        self.asked = [[message, dataset, num_generations]]
        return [Image.new("RGB", (2, 2))] * num_generations

    return drawing(
        model_class(batch_generate_inner=batch_generate_inner),
        ["a"],
        dataset="toy",
        num_generations=3,
    )


@cases.add("model.defaults")
def model_defaults() -> Any:
    model = model_class()()
    model.set_dump_image(lambda line: [f"{line}.png"])
    return [
        model.use_custom_prompt("toy"),
        model.dump_image(7, "toy"),
        model.INTERLEAVE,
        model.allowed_types,
    ]


@cases.add("message_to_promptimg", 0, 1, 2)
def message_to_promptimg(count: int) -> Any:
    parts = [
        {"type": "text", "value": "a"},
        *({"type": "image", "value": f"{n}.png"} for n in range(count)),
        {"type": "text", "value": "b"},
    ]
    return model_class()().message_to_promptimg(parts, dataset="toy")


def api_class(*replies: Any) -> Any:
    from ulmeval.api.base import BaseAPI

    def generate_inner(self: Any, inputs: Any, **kwargs: Any) -> Any:
        self.asked.append([inputs, kwargs])
        reply = replies[(len(self.asked) - 1) % len(replies)]
        if isinstance(reply, Exception):
            raise reply
        return reply

    return type(
        "A", (BaseAPI,), {"is_api": True, "generate_inner": generate_inner, "asked": []}
    )


@cases.add(
    "api.generate",
    [(0, "fine", "log")],
    [(-1, "", "no"), (0, "later", "log")],
    [(-1, "", "no")],
    [ValueError("x"), (0, "ok", "")],
    [(-1, "partly", "no")],
)
def api_generate(replies: list[Any]) -> Any:
    api = api_class(*replies)(retry=2, wait=0, verbose=False, temperature=0)
    answer = api.generate(
        [
            {"type": "text", "value": "s", "role": "system"},
            {"type": "text", "value": "u"},
        ],
        max_tokens=5,
    )
    return [answer, api.asked, api.system_prompt]


@cases.add("api.inputs", *MESSAGES)
def api_inputs(kind: str) -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    return [api.generate(messages(kind)), api.asked]


# smp


@cases.add(
    "smp.parse_file",
    "p.png",
    "p.txt",
    "p.unknown",
    "words",
    "data",
    "p.PNG",
    "p.webp",
    "nowhere.png",
    ".",
    "https://example.invalid/page",
)
def parse_file(name: str) -> Any:
    from ulmeval.smp import parse_file

    if name.startswith("p."):
        Image.new("RGB", (4, 4), (1, 2, 3)).save("p.png")
        Path(name).write_bytes(Path("p.png").read_bytes())
    return parse_file(
        f"data:image/png;base64,{picture((4, 5, 6))}" if name == "data" else name
    )


@cases.add("smp.toliststr", "a", "['a', 'b']", "[1, 2]", ["x", 1], "[", "[]")
def toliststr(cell: Any) -> Any:
    from ulmeval.smp import toliststr

    return toliststr(cell)


@cases.add(
    "smp.istype",
    ("1", int),
    ("1.5", int),
    ("a", int),
    (3, int),
    ("[1]", list),
    ("-4", int),
)
def istype(given: Any) -> Any:
    from ulmeval.smp import istype

    return istype(*given)


@cases.add("smp.load_dump", "xlsx", "csv", "tsv", "json", "pkl")
def load_dump(suffix: str) -> Any:
    from ulmeval.smp import dump, load

    frame = pd.DataFrame(
        {
            "index": [0, 1, 2],
            "text": ["a", "b c", "1"],
            "number": [0.0, 1.5, 2.0],
            "flag": [True, False, True],
        }
    )
    dump([{"a": 1, "b": "ü"}] if suffix == "json" else frame, f"x.{suffix}")
    return load(f"x.{suffix}")


@cases.add("smp.misc")
def misc() -> Any:
    from ulmeval.smp import cn_string, d2df, listinstr, md5, splitlen

    return [
        listinstr(["a", "b"], "xbx"),
        cn_string("中"),
        splitlen("a/b/c"),
        d2df({"b": 1, "a": None}),
        md5("text"),
    ]
