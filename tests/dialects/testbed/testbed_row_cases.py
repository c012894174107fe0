"""Cases of rows, contexts and conversations: inputs, loaders, samplers, post-processing and registration."""

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from testbed_families import IMAGE, Case, Load, raised


def register(load: Load) -> None:
    """Retrievers of our own, with texts alone, with an image, with two extras."""
    common = load("testbed.data")

    @common.register_dataset_retriever("texts")
    def texts(item: Any, is_last: bool) -> Any:
        answer = (
            {"role": "assistant"}
            if is_last
            else {"role": "assistant", "content": item["label"]}
        )
        return [{"role": "user", "content": item["text"]}, answer]

    @common.register_dataset_retriever("images")
    def images(item: Any, is_last: bool) -> Any:
        return [
            {"role": "image", "content": [IMAGE]},
            {"role": "caption", "last": is_last},
        ], item["image"]

    @common.register_dataset_retriever("extras")
    def extras(item: Any, is_last: bool) -> Any:
        return [{"role": "user", "content": item["text"]}], item["image"], is_last

    @common.register_dataset_retriever("notes")
    def notes(item: Any, is_last: bool) -> Any:
        return [{"role": "note", "content": item["text"], "last": is_last}]

    @common.register_dataset_retriever("annotated")
    def annotated(item: Any, is_last: bool) -> list:
        return [{"role": "note", "content": str(item)}]

    @common.register_postprocess("texts")
    def read(prediction: str) -> Any:
        return {"yes": 1, "no": 0}.get(prediction.lower(), prediction)


def row(number: int) -> dict[str, Any]:
    return {"text": f"t{number}", "label": f"l{number}", "image": f"i{number}"}


def input_case(name: Any, batch: Any, *args: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        register(load)
        made = load("testbed.data").prepare_input(
            copy.deepcopy(name), copy.deepcopy(batch), *args, **kwargs
        )
        return [type(made).__name__, made if isinstance(made, list) else list(made)]

    return case


def contexts(sizes: list[int], start: int = 0) -> list[list[dict[str, Any]]]:
    made, number = [], start
    for size in sizes:
        made.append([row(number + at) for at in range(size)])
        number += size
    return made


def input_cases() -> Iterator[tuple[str, Case]]:
    for size in (1, 2, 4):
        for name in ("texts", "images", "extras"):
            yield (
                f"prepare_input.{name}_{size}",
                input_case(name, contexts([size, size])),
            )
    yield (
        "prepare_input.instruction",
        input_case("texts", contexts([2]), instruction="Do it."),
    )
    yield (
        "prepare_input.instruction_positional",
        input_case("images", contexts([2]), "Do it."),
    )
    yield (
        "prepare_input.instruction_empty",
        input_case("texts", contexts([1]), instruction=""),
    )
    yield (
        "prepare_input.names_per_context",
        input_case(["texts", "notes"], contexts([2, 2])),
    )
    yield "prepare_input.same_names", input_case(["texts", "texts"], contexts([2, 2]))
    yield "prepare_input.names_of_rows", input_case(["texts", "texts"], contexts([2]))
    yield (
        "prepare_input.names_of_contexts",
        input_case(["texts", "texts", "texts"], contexts([2, 2, 2])),
    )
    yield (
        "prepare_input.names_of_rows_differ",
        input_case(["texts", "notes"], contexts([2])),
    )
    yield (
        "prepare_input.names_three",
        input_case(["texts", "notes", "texts"], contexts([3, 3, 3])),
    )
    yield (
        "prepare_input.extras_differ",
        input_case(["images", "extras"], contexts([2, 2])),
    )
    yield (
        "prepare_input.extras_of_some",
        input_case(["texts", "images"], contexts([2, 2])),
    )
    yield "prepare_input.wrong_count", input_case(["texts", "texts"], contexts([3]))
    yield "prepare_input.unknown", input_case("nobody", contexts([1]))
    yield (
        "prepare_input.unknown_in_list",
        input_case(["texts", "nobody"], contexts([2, 2])),
    )
    yield (
        "prepare_input.annotations_differ",
        input_case(["texts", "annotated"], contexts([2])),
    )
    yield "prepare_input.unequal_contexts", input_case("texts", contexts([1, 3]))
    yield "prepare_input.shot_equals_query", input_case("texts", [[row(1), row(1)]])
    yield (
        "prepare_input.shot_equals_query_images",
        input_case("images", [[row(1), row(2), row(1)]]),
    )
    yield "prepare_input.annotated", input_case("annotated", [[1, 2], [3, 4]])
    yield "prepare_input.numbers", input_case("annotated", [[0], [False]])
    yield (
        "prepare_input.missing_column",
        input_case("texts", [[{"text": "x"}, {"text": "y"}]]),
    )
    yield "prepare_input.missing_label_of_query", input_case("texts", [[{"text": "y"}]])
    for label in (True, 0, 3.5, None, "", ["a"]):
        rows = [[{"text": "t", "label": label}, {"text": "u", "label": "x"}]]
        yield f"prepare_input.label_{label!r}", input_case("texts", rows)
    for name, rows in BUILTIN_ROWS.items():
        yield f"prepare_input.{name}", input_case(name, [rows])
        yield f"prepare_input.{name}_zero", input_case(name, [rows[:1]])


BUILTIN_ROWS: dict[str, list[dict[str, Any]]] = {
    **{
        name: [
            {"image": f"i{at}", "question": f"Is it {at}?", "answer": f"a{at}", "answers": [{"answer": f"a{at}"}]}
            for at in range(2)
        ]
        for name in ("vqav2", "ok_vqa", "ocr_vqa")
    },
    **{
        name: [{"image": f"i{at}", "caption": f"c{at}", "sentences_raw": [f"c{at}", "more"]} for at in range(2)]
        for name in ("coco", "flickr")
    },
    "hateful_memes": [{"img": f"i{at}", "text": f't"{at}', "label": at} for at in range(3)],
    "seed_bench": [
        {"image": image, "question": "Which?", "choice_a": "a", "choice_b": "b", "choice_c": 3, "choice_d": None,
         "answer": letter}
        for image, letter in (("i", "A"), (["i", "j"], "B"))
    ],
}  # fmt: skip


def postprocess_case(name: str, predictions: Any, *args: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        register(load)
        return load("testbed.data").postprocess_generation(
            name, predictions, *args, **kwargs
        )

    return case


PREDICTIONS = [
    "yes",
    " No \n",
    "Yes. Because\nit is",
    "",
    "a;b;c",
    "  two words  ",
    "Question: x",
    "ja?nein",
]


def postprocess_cases() -> Iterator[tuple[str, Case]]:
    for name in ("vqav2", "coco", "flickr", "ocr_vqa", "seed_bench", "texts"):
        yield f"postprocess.{name}", postprocess_case(name, PREDICTIONS)
    for at, words in enumerate(
        (
            ["\n"],
            ["Question", "\n"],
            [".", "?", "("],
            ["o", "yes"],
            [" "],
            ["a;"],
            [],
            [""],
        )
    ):
        yield (
            f"postprocess.stop_words_{at}",
            postprocess_case("texts", PREDICTIONS, words),
        )
        yield (
            f"postprocess.stop_words_{at}_single",
            postprocess_case("texts", "Yes. Because\nit is", stop_words=words),
        )
    yield "postprocess.single", postprocess_case("texts", "YES")
    yield "postprocess.empty_list", postprocess_case("texts", [])
    yield "postprocess.unknown", postprocess_case("nobody", "x")
    yield "postprocess.tuple", postprocess_case("texts", ("yes", "no"))
    yield "postprocess.none", postprocess_case("texts", None)
    yield "postprocess.numbers", postprocess_case("texts", [1])


def registering(load: Load) -> Any:
    common = load("testbed.data.common")
    seen = []
    for takes in (
        lambda: None,
        lambda a: a,
        lambda a, b: a,
        lambda a, b, c: a,
        lambda *a: a,
        lambda a, b=1: a,
    ):
        seen.append(
            raised(
                lambda takes=takes: callable(
                    common.register_dataset_retriever("x")(takes)
                )
            )
        )
        seen.append(
            raised(
                lambda takes=takes: callable(common.register_postprocess("x")(takes))
            )
        )
    whole = common.register_dataset_retriever("again")(lambda item, is_last: [1])
    common.register_dataset_retriever("again")(lambda item, is_last: [2])
    mapping = load("testbed.data").DATASET_RETRIEVER_MAPPING
    return [
        seen,
        mapping["again"](None, True),
        whole(None, False),
        "again" in common.DATASET_RETRIEVER_MAPPING,
    ]


def known_names(load: Load) -> Any:
    data = load("testbed.data")
    built = {
        "vqav2",
        "ok_vqa",
        "ocr_vqa",
        "coco",
        "flickr",
        "hateful_memes",
        "seed_bench",
    }
    return [
        sorted(built & set(data.DATASET_RETRIEVER_MAPPING)),
        sorted(built & set(data.POSTPROCESS_MAPPING)),
    ]


def most_common(load: Load) -> Any:
    of = load("testbed.data.common").most_common_from_dict
    return [
        of([{"answer": "a"}, {"answer": "b"}, {"answer": "b"}]),
        of([{"answer": "x"}]),
        raised(lambda: of([])),
        raised(lambda: of([{}])),
    ]


def splits(load: Load) -> Any:
    """Split generators over files of which some are missing."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("train.json", "val.json", "one.json"):
            (home / name).write_text("[]")
        (home / "images").mkdir()
        table = {
            "questions": {
                "train": "train.json",
                "val": "val.json",
                "test": "gone.json",
                "extra": ["one.json"],
            },
            "images": {"train": "images", "val": "images", "extra": "images"},
        }

        def expand(kind: str, split: str) -> Any:
            found = table[kind][split]
            return (
                [home / name for name in found]
                if isinstance(found, list)
                else home / found
            )

        split_generators = load("testbed.data.common").split_generators
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made = raised(lambda: split_generators(expand, table))
        told = len(seen)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            raised(lambda: split_generators(expand, table, verbose=False))
        table["images"]["test"] = "images"
        whole = split_generators(expand, table, False)
        listed = sorted(
            [
                str(one.name),
                one.gen_kwargs["split"],
                sorted(one.gen_kwargs),
                relative(one.gen_kwargs, home),
            ]
            for one in whole
        )
        none = raised(
            lambda: split_generators(lambda k, s: home / "nowhere", table, False)
        )
        return [
            listed,
            told,
            len(seen),
            none,
            type(made).__name__ if not isinstance(made, str) else made,
        ]


def relative(value: Any, home: Any) -> Any:
    if isinstance(value, dict):
        return {key: relative(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [relative(inner, home) for inner in value]
    return value if isinstance(value, str) else str(value.relative_to(home))


def loader_case(
    sizes: list[int] | int,
    *args: Any,
    samplers: Any = None,
    seed: int | None = None,
    **kwargs: Any,
) -> Case:
    """Batches of a loader over ranges; with a seed, of whatever torch draws from it."""

    def case(load: Load) -> Any:
        starts = [
            100 * at for at in range(len(sizes) if isinstance(sizes, list) else 1)
        ]
        ranges = [
            range(s, s + n)
            for s, n in zip(
                starts, sizes if isinstance(sizes, list) else [sizes], strict=True
            )
        ]
        if seed is not None:
            import torch

            torch.manual_seed(seed)
        more = {} if samplers is None else {"samplers": samplers()}
        loader = load("testbed.data").prepare_dataloader(
            ranges if isinstance(sizes, list) else ranges[0], *args, **more, **kwargs
        )
        first = list(loader)
        return [len(loader), first, list(loader)]

    return case


def loader_cases() -> Iterator[tuple[str, Case]]:
    for shots in (0, 1, 2, 4, 9, 10):
        yield f"dataloader.single_{shots}shot", loader_case(10, 2, shots)
        yield (
            f"dataloader.single_{shots}shot_drop_last",
            loader_case(10, 2, shots, drop_last=True),
        )
    yield "dataloader.batch_1", loader_case(7, 1, 2)
    yield "dataloader.batch_100", loader_case(7, 100, 1)
    yield "dataloader.train_val_2plus1", loader_case([10, 6], 2, 2, [2, 1])
    yield "dataloader.train_val_1plus2", loader_case([10, 6], 2, 2, [1, 2])
    yield "dataloader.three_datasets", loader_case([4, 5, 6], 2, 3, [1, 2, 1])
    yield "dataloader.num_per_dataset_int", loader_case(10, 2, num_per_dataset=3)
    yield (
        "dataloader.num_per_dataset_list",
        loader_case([10, 10], 3, num_per_dataset=[1, 1]),
    )
    yield "dataloader.list_of_one", loader_case([10], 2, 2)
    yield "dataloader.zero_of_one", loader_case([10, 6], 2, 0, [0, 1])
    yield (
        "dataloader.collate_fn",
        loader_case(
            9, 2, 2, collate_fn=lambda batch: {"batch": batch, "n": len(batch)}
        ),
    )
    yield "dataloader.sum_wrong", loader_case([10, 6], 2, 3, [2, 1])
    yield "dataloader.length_wrong", loader_case([10, 6], 2, 2, [3])
    yield "dataloader.neither", loader_case(10, 2)
    yield "dataloader.two_without_numbers", loader_case([10, 6], 2, 2)
    yield "dataloader.batch_0", loader_case(10, 0, 1)
    yield "dataloader.batch_text", loader_case(10, "2", 1)
    yield "dataloader.empty", loader_case(0, 2, 1)
    yield "dataloader.unknown_option", loader_case(10, 2, 1, nonsense=3)
    yield "dataloader.workers", loader_case(6, 2, 1, num_workers=0, pin_memory=False)
    yield "dataloader.sampler", loader_case(10, 2, 1, sampler=[3, 1, 4, 1, 5])
    yield (
        "dataloader.sampler_and_samplers",
        loader_case(10, 2, 1, sampler=[1], samplers=lambda: [[1]]),
    )
    yield (
        "dataloader.samplers_ints",
        loader_case(
            [10, 6], 2, 2, [2, 1], samplers=lambda: [range(9, 0, -1), [5, 4, 3]]
        ),
    )
    yield (
        "dataloader.samplers_lists",
        loader_case(
            [10, 6],
            2,
            2,
            [2, 1],
            samplers=lambda: [[[1, 2], [3, 4], [5, 6]], [0, 1, 2]],
        ),
    )
    yield (
        "dataloader.samplers_none",
        loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [[[1, 2], [3, 4]], None]),
    )
    yield (
        "dataloader.samplers_wrong_size",
        loader_case(10, 2, 2, samplers=lambda: [[[1, 2]]]),
    )
    yield (
        "dataloader.samplers_texts",
        loader_case(10, 2, 2, samplers=lambda: [["a", "b"]]),
    )
    yield (
        "dataloader.samplers_too_few",
        loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [[1]]),
    )
    yield (
        "dataloader.samplers_one",
        loader_case(10, 2, 1, samplers=lambda: [2, 1, 0, 5]),
    )
    yield "dataloader.shuffle", loader_case(10, 2, 1, shuffle=True, seed=0)
    yield (
        "dataloader.shuffle_two",
        loader_case([8, 5], 2, 2, [2, 1], shuffle=True, seed=7),
    )
    yield "dataloader.torch_sampler", torch_sampler
    yield "dataloader.hf_dataset", hf_dataset
    yield "dataloader.attributes", loader_attributes


def torch_sampler(load: Load) -> Any:
    import torch
    from torch.utils.data import RandomSampler, SequentialSampler

    rows = list(range(8))
    drawn = RandomSampler(rows, generator=torch.Generator().manual_seed(3))
    loader = load("testbed.data").prepare_dataloader(
        [range(8), range(100, 108)],
        2,
        2,
        [2, 1],
        samplers=[drawn, SequentialSampler(rows)],
    )
    return list(loader)


def hf_dataset(load: Load) -> Any:
    import datasets

    rows = datasets.Dataset.from_list(
        [{"q": f"q{at}", "a": bool(at % 2)} for at in range(5)]
    )
    return list(load("testbed.data").prepare_dataloader(rows, 2, 1))


def loader_attributes(load: Load) -> Any:
    from torch.utils.data import DataLoader

    loader = load("testbed.data").prepare_dataloader(range(10), 2, 1)
    return [
        isinstance(loader, DataLoader),
        len(loader.dataset),
        list(loader.batch_sampler),
        loader.num_workers,
    ]


def sampler_case(make: Callable[[Any], Any]) -> Case:
    def case(load: Load) -> Any:
        made = make(load("testbed.data.sampler"))
        return [len(made), list(made), made.batch_size]

    return case


def sampler_cases() -> Iterator[tuple[str, Case]]:
    from torch.utils.data import BatchSampler, SequentialSampler

    def batch(count: int, size: int) -> Any:
        return BatchSampler(SequentialSampler(range(count)), size, True)

    def two(m):
        samplers = [SequentialSampler(range(3)), SequentialSampler(range(5))]
        return m.ConcatSampler(samplers, [3, 8])

    yield "sampler.concat", sampler_case(two)
    yield (
        "sampler.concat_no_sizes",
        sampler_case(lambda m: m.ConcatSampler([batch(4, 2), batch(3, 1)])),
    )
    yield (
        "sampler.concat_batches",
        sampler_case(lambda m: m.ConcatSampler([batch(6, 2), batch(4, 1)], [6, 10])),
    )
    yield (
        "sampler.concat_lists",
        sampler_case(lambda m: m.ConcatSampler([[1, 2, 3], [[4, 5], [6, 7]]], [9, 20])),
    )
    yield "sampler.concat_empty", sampler_case(lambda m: m.ConcatSampler([[]], [0]))
    for drop in (False, True):
        for size in (1, 2, 3, 5):
            yield (
                f"sampler.multi_{size}_{drop}",
                sampler_case(
                    lambda m, s=size, d=drop: m.MultiBatchSampler(two(m), s, d)
                ),
            )
    yield (
        "sampler.multi_0",
        sampler_case(lambda m: m.MultiBatchSampler(two(m), 0, False)),
    )
    yield (
        "sampler.multi_true",
        sampler_case(lambda m: m.MultiBatchSampler(two(m), True, False)),
    )
    yield (
        "sampler.multi_drop_text",
        sampler_case(lambda m: m.MultiBatchSampler(two(m), 2, "no")),
    )
    yield (
        "sampler.multi_ints",
        sampler_case(
            lambda m: m.MultiBatchSampler(SequentialSampler(range(4)), 2, False)
        ),
    )
