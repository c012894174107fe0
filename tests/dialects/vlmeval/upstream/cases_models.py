"""Cases of the newest revision of VLMEvalKit (e8e78f05): base classes of models and APIs, and the helpers of `smp`."""

from typing import Any

import pandas as pd
from differential import Cases
from tables import picture

cases = Cases()


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
        "str": "hello",
        "dict": {"type": "text", "value": "hi"},
        "liststr": ["a", path, "b"],
        "listdict": [{"type": "image", "value": path}, {"type": "text", "value": "q"}],
        "data_url": [url, "what?"],
        "data_url_dict": [{"type": "image", "value": url}],
        "wrong_type": [{"type": "text", "value": path}],
        "mixed_list": ["a", {"type": "text", "value": "b"}],
        "empty": [],
        "number": 3,
        "missing_value": [{"type": "text"}],
        "none": None,
        "role": [
            {"type": "text", "value": "s", "role": "system"},
            {"type": "text", "value": "u"},
        ],
        "no_file": ["nowhere.png"],
        "url_words": ["https://example.invalid/page"],
        "words_url": ["see https://example.invalid/x.png"],
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
    "role",
    "no_file",
    "words_url",
    "dot",
)


@cases.add("generate", *MESSAGES)
def generate(kind: str) -> Any:
    model = model_class()()
    return [
        model.check_content(messages(kind)),
        model.generate(messages(kind), dataset="Mine"),
    ]


@cases.add("generate.allowed_types")
def generate_allowed() -> Any:
    return model_class(allowed_types=["text"])().generate(messages("listdict"))


@cases.add("preproc_content", *MESSAGES)
def preproc_content(kind: str) -> Any:
    return model_class()().preproc_content(messages(kind))


@cases.add("message_to_promptimg", 0, 1, 2)
def message_to_promptimg(count: int) -> Any:
    parts = [
        {"type": "text", "value": "a"},
        *({"type": "image", "value": f"{n}.png"} for n in range(count)),
        {"type": "text", "value": "b"},
    ]
    return model_class()().message_to_promptimg(parts, dataset="Mine")


@cases.add("message_to_promptvideo", 0, 1, 2)
def message_to_promptvideo(count: int) -> Any:
    parts = [
        {"type": "text", "value": "a"},
        *({"type": "video", "value": f"{n}.mp4"} for n in range(count)),
        {"type": "text", "value": "b"},
    ]
    return model_class(VIDEO_LLM=True)().message_to_promptvideo(parts)


@cases.add("model.defaults")
def model_defaults() -> Any:
    model = model_class()()
    model.set_dump_image(lambda line: [f"{line}.png"])
    return [
        model.use_custom_prompt("Mine"),
        model.dump_image(7, "Mine"),
        model.INTERLEAVE,
        model.allowed_types,
    ]


@cases.add("chat")
def chat() -> Any:
    def chat_inner(self: Any, messages: Any, dataset: str | None = None) -> Any:
        if len(messages) > 3:
            raise ValueError("too long")
        return [messages, dataset]

    talk = [
        {"role": role, "content": f"t{n}"}
        for n, role in enumerate(["user", "assistant", "user", "assistant", "user"])
    ]
    return model_class(chat_inner=chat_inner)().chat(talk, dataset="Mine")


def api_class(*replies: Any) -> Any:
    from vlmeval.api.base import BaseAPI

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
    [(0, "", "empty")],
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


@cases.add("api.message_to_promptimg", 1, 2)
def api_promptimg(count: int) -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    type(api).INTERLEAVE = False
    parts = [
        {"type": "text", "value": "a"},
        *({"type": "image", "value": f"{n}.png"} for n in range(count)),
        {"type": "text", "value": "b"},
    ]
    return api.message_to_promptimg(parts)


@cases.add("api.chat")
def api_chat() -> Any:
    api = api_class((0, "fine", "log"))(retry=1, wait=0, verbose=False)
    talk = [
        {"role": role, "content": f"t{n}"}
        for n, role in enumerate(["user", "assistant", "user"])
    ]
    return [api.chat(talk, dataset="Mine"), api.asked]


# smp


@cases.add(
    "smp.toliststr", "a", "['a', 'b']", "[1, 2]", ["x", 1], "[", "[]", "[a", "['a'"
)
def toliststr(cell: Any) -> Any:
    from vlmeval.smp import toliststr

    return toliststr(cell)


@cases.add(
    "smp.istype",
    ("1", int),
    ("1.5", int),
    ("a", int),
    (3, int),
    ("[1]", list),
    ("True", bool),
    ("-4", int),
    ("'x'", str),
    ("1e3", float),
    (None, int),
)
def istype(given: Any) -> Any:
    from vlmeval.smp import istype

    return istype(*given)


@cases.add("smp.misc")
def misc() -> Any:
    from vlmeval.smp import (
        cn_string,
        d2df,
        get_rank_and_world_size,
        listinstr,
        process_punctuation,
        splitlen,
        version_cmp,
    )

    return [
        listinstr(["a", "b"], "xbx"),
        listinstr([], "x"),
        cn_string("中"),
        cn_string("x"),
        splitlen("a/b/c"),
        d2df({"b": 1, "a": None}),
        get_rank_and_world_size(),
        version_cmp("1.2", "1.10", "lt"),
        process_punctuation("a, b. c-d 1,000 (e)!"),
    ]


@cases.add(
    "smp.extract_json_objects",
    'a {"x": 1} b {"y": [2]}',
    "none",
    '{"a": {"b": 1}} {broken {"c": 3}',
    "{}",
)
def extract_json_objects(text: str) -> Any:
    from vlmeval.smp import extract_json_objects

    return list(extract_json_objects(text))


SUFFIXES = (
    "_acc",
    "_tmp",
    "_judge",
    "_gpt-4o_score",
    "_rating",
    "_response",
    "_fine",
    "_metrics",
    "_openai_result",
    "_x_tmp",
)


@cases.add("smp.get_intermediate_file_path", *SUFFIXES)
def get_intermediate_file_path(suffix: str) -> Any:
    from vlmeval.smp import get_intermediate_file_path

    return [
        get_intermediate_file_path(file, suffix)
        for file in ("a/m_d.xlsx", "m.v1_d.tsv", "x.json")
    ] + [get_intermediate_file_path("a/m_d.xlsx", suffix, "csv")]


@cases.add("smp.file_names")
def file_names() -> Any:
    import os

    from vlmeval.smp import (
        get_eval_file_format,
        get_file_extension,
        get_pred_file_format,
        get_pred_file_path,
    )

    found = [
        get_pred_file_format(),
        get_eval_file_format(),
        get_pred_file_path("w", "m", "d"),
        get_pred_file_path("w", "m", "d", use_env_format=False),
        get_file_extension("a.b.c"),
    ]
    os.environ.update({"PRED_FORMAT": "tsv", "EVAL_FORMAT": "json"})
    return [
        *found,
        get_pred_file_path("w", "m", "d"),
    ]


@cases.add("smp.load_dump", "xlsx", "csv", "tsv", "json", "jsonl", "pkl")
def load_dump(suffix: str) -> Any:
    from vlmeval.smp import dump, load

    frame = pd.DataFrame(
        {
            "index": [0, 1, 2],
            "text": ["a", "b c", "1"],
            "number": [0.0, 1.5, 2.0],
            "flag": [True, False, True],
            "odd": ["NA", "None", ""],
        }
    )
    plain = [{"a": 1, "b": "ü"}, {"a": None, "b": [1, 2]}]
    dump(plain if suffix in ("json", "jsonl") else frame, f"x.{suffix}")
    return load(f"x.{suffix}")


@cases.add("smp.load_frame_json")
def load_frame_json() -> Any:
    from vlmeval.smp import dump, load

    dump(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), "x.json")
    return load("x.json")


@cases.add(
    "smp.parse_file",
    "p.png",
    "p.txt",
    "p.unknown",
    "words",
    "data",
    "p.PNG",
    "p.webp",
    "p.mp4",
    "nowhere.png",
    ".",
)
def parse_file(name: str) -> Any:
    from pathlib import Path

    from vlmeval.smp import parse_file

    if name.startswith("p."):
        media_file("p.png")
        Path(name).write_bytes(Path("p.png").read_bytes())
    return parse_file(
        f"data:image/png;base64,{picture((4, 5, 6))}" if name == "data" else name
    )


@cases.add("smp.md5", "text", "file", "中")
def md5(kind: str) -> Any:
    from vlmeval.smp import md5

    return md5(media_file() if kind == "file" else kind)


@cases.add(
    "smp.base64",
    ("RGB", 200),
    ("RGBA", 200),
    ("P", 200),
    ("L", 200),
    ("RGB", 8),
    ("LA", 200),
)
def base64_round(given: Any) -> Any:
    from PIL import Image
    from vlmeval.smp import (
        decode_base64_to_image,
        decode_base64_to_image_file,
        encode_image_file_to_base64,
        encode_image_to_base64,
    )

    mode, side = given
    image = Image.new(
        mode,
        (side, side + 10),
        {"RGB": (9, 8, 7), "RGBA": (9, 8, 7, 100), "P": 3, "L": 77, "LA": (77, 100)}[
            mode
        ],
    )
    back = decode_base64_to_image(encode_image_to_base64(image))
    small = decode_base64_to_image(encode_image_to_base64(image, target_size=64))
    image.save("x.png")
    decode_base64_to_image_file(encode_image_file_to_base64("x.png"), "sub/y.png")
    file = Image.open("sub/y.png")
    return [
        (i.mode, i.size, i.convert("RGB").getpixel((3, 3))) for i in (back, small, file)
    ]


@cases.add("smp.images", "rescale", "factor", "concat", "read_ok")
def images(kind: str) -> Any:
    from PIL import Image
    from vlmeval.smp import concat_images_vlmeval, read_ok, rescale_img
    from vlmeval.smp.vlm import resize_image_by_factor

    image = Image.new("RGB", (30, 20), (9, 8, 7))
    if kind == "rescale":
        return [rescale_img(image, (-1, 10)).size, rescale_img(image, (10, -1)).size]
    if kind == "factor":
        return [
            resize_image_by_factor(image, 2).size,
            resize_image_by_factor(image, 0.5).size,
        ]
    image.save("a.png")
    Image.new("RGB", (10, 40), (1, 2, 3)).save("b.png")
    if kind == "concat":
        return [
            concat_images_vlmeval(["a.png", "b.png"], return_image=True),
            concat_images_vlmeval(
                ["a.png", "b.png"], target_size=10, return_image=True
            ).size,
        ]
    with open("broken.png", "w") as file:
        file.write("x")
    return [read_ok("a.png"), read_ok("broken.png"), read_ok("nowhere.png")]


@cases.add("track_progress_rich")
def track_progress_rich() -> Any:
    from vlmeval.smp import dump, load
    from vlmeval.utils import track_progress_rich

    dump({"old": 1}, "save.pkl")
    results = track_progress_rich(
        lambda a, b=2: a * b,
        [(1,), (2, 3), {"a": 5}, 7],
        nproc=2,
        save="save.pkl",
        keys=["w", "x", "y", "z"],
    )
    return [results, load("save.pkl")]
