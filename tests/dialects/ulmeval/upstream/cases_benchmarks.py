"""Cases of ULMEvalKit (e8f5eaa): the benchmarks it ships, their evaluations and helpers."""

# ruff: noqa: SIM112 - inputs stand on one line each; LMUData is the guest's own spelling

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
from differential import Cases
from PIL import Image
from tables import picture, write

cases = Cases()


def unchecked(cls: Any) -> Any:
    """A class that takes our tables for its own."""
    cls.DATASET_MD5 = dict.fromkeys(cls.DATASET_MD5)
    return cls


TABLES: dict[str, tuple[str, str, list[list[Any]]]] = {
    "geneval.GenEval": (
        "GenEval",
        "index question tag include_class include_count include_color include_position exclude_class exclude_count",
        [
            [0, "a photo of a cat", "single_object", "cat", 1, None, None, None, None],
            [1, "two dogs", "counting", "dog", 2, None, None, "dog", 3],
            [
                2,
                "a red car left of a bench",
                "position",
                "bench, car",
                "1, 1",
                ", red",
                ", left of; 0",
                None,
                None,
            ],
            [3, "a blue cup", "colors", "cup", 1, "blue", None, None, None],
        ],
    ),
    "dpgbench.DPGBench": (
        "DPG_Bench",
        "index text questions",
        [
            [
                0,
                "a cat on a mat",
                json.dumps(
                    [
                        {
                            "proposition_id": 1,
                            "dependency": [0],
                            "category_broad": "entity",
                            "category_detailed": "whole",
                            "question_natural_language": "Is there a cat?",
                        },
                        {
                            "proposition_id": 2,
                            "dependency": [1],
                            "category_broad": "attribute",
                            "category_detailed": "color",
                            "question_natural_language": "Is the cat red?",
                        },
                        {
                            "proposition_id": 3,
                            "dependency": [1, 2],
                            "category_broad": "relation",
                            "category_detailed": "spatial",
                            "question_natural_language": "Is it on a mat?",
                        },
                    ]
                ),
            ],
            [
                1,
                "a dog",
                json.dumps(
                    [
                        {
                            "proposition_id": 1,
                            "dependency": [0],
                            "category_broad": "entity",
                            "category_detailed": "whole",
                            "question_natural_language": "Is there a dog?",
                        }
                    ]
                ),
            ],
        ],
    ),
    "wise.WISE": (
        "WISE_all",
        "index prompt explanation discipline",
        [
            [0, "a lamp", "it is lit", "CULTURE"],
            [1, "ice", "it melts", "Physics"],
            [2, "a clock", "noon", "TIME"],
            [3, "x", "y", "other"],
        ],
    ),
    "imagine_bench.ImagineBench": (
        "ImagineBench",
        "index id question note type",
        [
            [0, "a", "glass cat", "n", "color"],
            [1, "b", "stone bird", "m", "shape"],
            [2, "c", "paper car", "k", "color"],
        ],
    ),
    "geneval_pp.GenEvalPP": (
        "GenEvalPP",
        "index question include tag",
        [
            [0, "two cats", [{"class": "cat", "count": 2}], "count"],
            [1, "red dog", [{"class": "dog", "color": "red"}], "color"],
            [2, "x", "broken", "t"],
            [3, "y", [], "t"],
        ],
    ),
    "omni_context.OmniContext": (
        "OmniContext",
        "index image question key task_type",
        [
            [0, picture((1, 2, 3)), "put it there", "k0", "single_object"],
            [1, [picture((4, 5, 6)), picture((7, 8, 9))], "both", "k1", "multi_scene"],
        ],
    ),
    "genai_bench.GenAI_Bench": (
        "GenAI_Bench",
        "index prompt labels",
        [
            [0, "a cat", ["basic", "scene"]],
            [1, "two dogs", ["counting", "advanced"]],
            [2, "no tree", ["negation", "advanced", "scene"]],
        ],
    ),
    "t2i_compbench.T2ICompBench": (
        "T2ICompBench_VAL",
        "index question category",
        [[0, "a red ball", "Color"], [900, "a cat on the left of a dog", "Spatial"]],
    ),
}


def shipped(name: str) -> Any:
    """A shipped benchmark over our table."""
    import importlib

    module, _, attribute = name.partition(".")
    write(*TABLES[name])
    cls = unchecked(
        getattr(importlib.import_module(f"ulmeval.dataset.{module}"), attribute)
    )
    if attribute == "GenAI_Bench":
        cls.DATASET_URL = {
            "GenAI_Bench": str(Path(os.environ["LMUData"]) / "GenAI_Bench.tsv")
        }
    return cls(dataset=next(iter(cls.DATASET_URL)))


@cases.add("build_prompt", *TABLES)
def build_prompt(name: str) -> Any:
    dataset = shipped(name)
    return [
        [dataset.build_prompt(place), dataset.build_prompt(dataset.data.iloc[place])]
        for place in range(len(dataset))
    ]


@cases.add("dataset.attributes", *TABLES)
def attributes(name: str) -> Any:
    dataset = shipped(name)
    frame = (
        dataset.data.drop(columns=["image"])
        if "image" in dataset.data
        else dataset.data
    )
    return [
        len(dataset),
        dataset.dataset_name,
        dataset.TYPE,
        dataset.MODALITY,
        getattr(dataset, "NUM_GENERATIONS", None),
        frame,
        list(dataset[0]),
        sorted(type(dataset).supported_datasets()),
    ]


def drawn(dataset: Any, each: int = 1, as_text: bool = True) -> str:
    """A prediction file as `run.py` leaves it."""
    from ulmeval.smp import dump

    data = dataset.data.copy()
    if as_text:
        data["index"] = data["index"].astype(str)
    data["prediction"] = [
        [Image.new("RGB", (40, 30), (10 * n, 20 * i, 30)) for i in range(each)]
        for n in range(len(data))
    ]
    dump(data, "m_d.pkl")
    return "m_d.pkl"


class Judge:
    """Replies in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, []  # type: ignore[var-annotated]

    def generate(self, message: Any = None, **settings: Any) -> str:
        self.asked.append(message)
        return self.replies[(len(self.asked) - 1) % len(self.replies)]


def judged_by(*replies: str) -> Judge:
    """The judge of the benchmarks that build theirs when they evaluate."""
    from ulmeval.dataset.utils import judge_util

    judge = Judge(*replies)
    judge_util.build_judge = lambda **kwargs: judge
    return judge


def files() -> list[str]:
    return sorted(
        name for name in os.listdir(".") if name.startswith("m_d") and "tmp" not in name
    )


@cases.add(
    "genevalpp.evaluate",
    ('{"correct": 1}',),
    ('{"correct": 0, "reason": "x"}', '```json\n{"correct": 1}\n```'),
    ("nothing", '{"correct": 1}'),
    ("Failed to obtain answer via API.",),
)
def genevalpp(replies: tuple[str, ...]) -> Any:
    dataset = shipped("geneval_pp.GenEvalPP")
    judged_by(*replies)
    return [
        dataset.evaluate(drawn(dataset), model="gpt-4o", nproc=1),
        files(),
        json.loads(Path("m_d_gpt-4o_rating.json").read_text()),
    ]


RATED = "Fantasy Fulfillment: {}\nReason: a\nIdentity Preservation: {}\nReason: b\nAesthetic Quality: {}\nReason: c"


@cases.add(
    "imagine.evaluate",
    (RATED.format(9, 9, 8),),
    (RATED.format(10, 8, 6), RATED.format(1, 5, 10)),
    ("Fantasy Fulfillment 12", RATED.format(3, 3, 3)),
)
def imagine(replies: tuple[str, ...]) -> Any:
    dataset = shipped("imagine_bench.ImagineBench")
    judged_by(*replies)
    return [dataset.evaluate(drawn(dataset), model="gpt-4o", nproc=1), files()]


@cases.add(
    "omnicontext.evaluate",
    ('{"score": 7, "reasoning": "x"}',),
    ('{"score": 3}', "no json"),
)
def omnicontext(replies: tuple[str, ...]) -> Any:
    dataset = shipped("omni_context.OmniContext")
    judged_by(*replies)
    return [dataset.evaluate(drawn(dataset), model="gpt-4o", nproc=1), files()]


WISE_REPLY = "Consistency: {}\nRealism: {}\nAesthetic Quality: {}"


@cases.add(
    "wise.evaluate",
    (WISE_REPLY.format(2, 1, 0),),
    (WISE_REPLY.format(2, 2, 2), WISE_REPLY.format(1, 0, 1)),
    ("2 1 0", "nothing"),
)
def wise(replies: tuple[str, ...]) -> Any:
    from ulmeval.dataset import wise

    dataset = shipped("wise.WISE")
    judge = Judge(*replies)
    wise.build_judge = lambda **kwargs: judge
    return [dataset.evaluate(drawn(dataset), model="gpt-4o", nproc=1), files()]


@cases.add("wise.evaluate.two_images")
def wise_two() -> Any:
    from ulmeval.dataset import wise

    dataset = shipped("wise.WISE")
    judge = Judge(*(WISE_REPLY.format(n % 3, (n + 1) % 3, n % 2) for n in range(8)))
    wise.build_judge = lambda **kwargs: judge
    return dataset.evaluate(drawn(dataset, each=2), model="gpt-4o", nproc=1)


@cases.add("dpg.evaluate", ("yes",), ("no",), ("yes", "no"), ("no", "yes", "yes"))
def dpg(answers: tuple[str, ...]) -> Any:
    from ulmeval.dataset import dpgbench

    class Vqa:
        asked = 0

        def vqa(self, image: Any, question: str) -> str:
            self.asked += 1
            return answers[(self.asked - 1) % len(answers)]

    dpgbench.build_judge = lambda **kwargs: Vqa()
    dataset = shipped("dpgbench.DPGBench")
    return [
        dpgbench.DPGBench.evaluate(drawn(dataset, each=2)),
        files(),
        Path("m_d_eval_0.csv").read_text(),
    ]


def boxes(*found: tuple[str, list[float]]) -> Any:
    """What a detector gives: boxes with their confidence by class."""
    import numpy as np
    from ulmeval.dataset.utils.geneval import CLASS_NAMES

    by_class = {
        name: [box for own, box in found if own == name] for name in CLASS_NAMES
    }
    return [
        np.array(by_class[name], dtype=float).reshape(-1, 5) for name in CLASS_NAMES
    ]


SEEN = {
    "all": (
        ("cat", [0, 0, 10, 10, 0.9]),
        ("dog", [0, 0, 10, 10, 0.95]),
        ("dog", [20, 0, 30, 10, 0.92]),
        ("bench", [20, 0, 30, 10, 0.8]),
        ("car", [0, 0, 10, 10, 0.7]),
        ("cup", [1, 1, 5, 5, 0.5]),
    ),
    "few": (
        ("cat", [0, 0, 10, 10, 0.2]),
        ("dog", [0, 0, 10, 10, 0.95]),
        ("car", [40, 0, 50, 10, 0.7]),
        ("bench", [20, 0, 30, 10, 0.8]),
    ),
    "many": (
        *(("dog", [n, 0, n + 10, 10, 0.91 + n / 100]) for n in range(4)),
        ("cup", [1, 1, 5, 5, 0.5]),
    ),
}


@cases.add(
    "geneval.evaluate", *((seen, colour) for seen in SEEN for colour in ("red", "blue"))
)
def geneval(given: tuple[str, str]) -> Any:
    from types import SimpleNamespace

    from ulmeval.dataset import geneval as module
    from ulmeval.dataset.utils import geneval as helpers
    from ulmeval.smp import load

    seen, colour = given
    module.build_judge = lambda **kwargs: SimpleNamespace(model=None)
    helpers.inference_detector = lambda model, image: boxes(*SEEN[seen])
    helpers.color_classification = lambda clip, image, found, name, *args, **kwargs: (
        [colour] * len(found)
    )
    dataset = shipped("geneval.GenEval")
    score = module.GenEval.evaluate(drawn(dataset, each=2), nproc=1)
    verdicts = load("m_d_eval.pkl")
    return [score, files(), verdicts[["index", "tag", "correct", "reason", "details"]]]


@cases.add(
    "relative_position",
    *(
        ([0, 0, 10, 10], [x, y, x + 10, y + 10])
        for x in (-20, 0, 3, 30)
        for y in (-20, 0, 25)
    ),
)
def relative_position(given: Any) -> Any:
    from ulmeval.dataset.utils.geneval import relative_position

    return [
        relative_position((given[0], None), (given[1], None)),
        relative_position((given[0], None), (given[1], None), 0.5),
    ]


@cases.add(
    "compute_iou",
    ([0, 0, 9, 9], [0, 0, 9, 9]),
    ([0, 0, 9, 9], [5, 5, 14, 14]),
    ([0, 0, 1, 1], [5, 5, 6, 6]),
    ([0, 0, -1, -1], [0, 0, -1, -1]),
    ([0, 0, 10.5, 4], [2, 1, 7, 9.25]),
)
def compute_iou(given: Any) -> Any:
    from ulmeval.dataset.utils.geneval import compute_iou

    return compute_iou(*given)


@cases.add("GenEval_acc")
def geneval_acc() -> Any:
    from ulmeval.dataset.utils.geneval import GenEval_acc
    from ulmeval.smp import dump

    dump(
        pd.DataFrame(
            {
                "tag": ["b", "a", "b", "c", "a"],
                "correct": [True, False, False, True, True],
            }
        ),
        "x.pkl",
    )
    return GenEval_acc("x.pkl")


@cases.add("wiscore", (2, 2, 2), (0, 0, 0), (1, 2, 0), (1.5, 0.5, 1))
def wiscore(given: Any) -> Any:
    from ulmeval.dataset.utils.wise import calculate_wiscore

    return calculate_wiscore(*given)


@cases.add(
    "parse_score_dict",
    WISE_REPLY.format(2, 1, 0),
    "2 1 0",
    "nothing",
    None,
    {"consistency": 2, "realism": 1, "aesthetic_quality": 0},
    {"consistency": 2},
    "consistency:1 realism : 2 aesthetic: 0",
    "**Consistency:** 2\n**Realism:** 1\n**Aesthetic Quality:** 2",
    "Consistency: 3\nRealism: 1",
    "0,1,2,2",
    7,
)
def parse_score_dict(reply: Any) -> Any:
    from ulmeval.dataset.utils.wise import parse_score_dict

    return parse_score_dict(reply)


@cases.add("get_dimension_rating", 0, 1)
def get_dimension_rating(mode: int) -> Any:
    from ulmeval.dataset.utils.wise import get_dimension_rating
    from ulmeval.smp import dump

    rows = [
        {"discipline": d, "score": WISE_REPLY.format(n % 3, 2, 1)}
        for n, d in enumerate(["CULTURE", "time", "SPACE", "x", "BIOLOGY", "CULTURE"])
    ]
    dump(pd.DataFrame(rows), "s.xlsx")
    return get_dimension_rating(mode, "s.xlsx")


@cases.add("wise.encode_image", (400, 200), (20, 30))
def wise_encode(size: Any) -> Any:
    from ulmeval.dataset.utils.wise import encode_image_to_base64

    image = Image.open(
        io.BytesIO(
            base64.b64decode(
                encode_image_to_base64(Image.new("RGB", size, (9, 90, 200)))
            )
        )
    )
    return [image.format, image.size, image.getpixel((3, 3))]


@cases.add(
    "extract_json",
    '{"correct": 1}',
    '```json\n{"correct": 0}\n```',
    'so {"a": {"b": 1}} and',
    "none",
    "{broken",
    "  {} ",
)
def extract_json(text: str) -> Any:
    from ulmeval.dataset.geneval_pp import GenEvalPP

    return GenEvalPP.extract_json_from_response(None, text)


@cases.add(
    "checklist",
    [],
    [{"class": "cat"}],
    [{"class": "dog", "count": 3, "color": "red"}, {"class": "bus", "count": 1}],
    [{"class": "cup", "color": ""}],
)
def checklist(include: Any) -> Any:
    from ulmeval.dataset.geneval_pp import GenEvalPP

    return GenEvalPP.metadata_to_explanation(GenEvalPP, {"include": include})


@cases.add(
    "imagine.extract_scores",
    RATED.format(1, 2, 3),
    "",
    "Fantasy Fulfillment 7",
    "Aesthetic Quality：99",
    "Identity Preservation: -4",
    RATED.format(10, 11, 0),
)
def imagine_extract(text: str) -> Any:
    from ulmeval.dataset.imagine_bench import ImagineBench

    return ImagineBench.extract_scores(None, text)


@cases.add(
    "omnicontext.extract_scores",
    '{"score": 7, "reasoning": "x"}',
    "none",
    '{"score": }',
    '{"a": 1}',
    'x {"score": "9"} {"score": 1}',
    "Failed to obtain answer via API.",
)
def omni_extract(text: str) -> Any:
    from ulmeval.dataset.omni_context import OmniContext

    return OmniContext.extract_scores(None, text)["score"]


@cases.add(
    "request_parts",
    "geneval_pp.GenEvalPP",
    "imagine_bench.ImagineBench",
    "omni_context.OmniContext",
)
def request_parts(name: str) -> Any:
    """Which parts a judge is sent; its words are not part of it."""
    dataset = shipped(name)
    row = dataset.data.iloc[1].copy()
    row["prediction"] = [Image.new("RGB", (9, 9))]
    if name.endswith("OmniContext"):
        made = [
            dataset.prepare_score_prompt(row, task)
            for task in ("prompt_following", "subject_consistency")
        ]
        prompts = [prompt for own in made for prompt in own]
    else:
        prompts = [dataset.prepare_score_prompt(row)]
    return [
        [
            (
                part.get("role"),
                part.get("type"),
                part["value"].startswith("data:image/jpeg;base64,"),
            )
            for part in prompt
        ]
        for prompt in prompts
    ]


class Number(float):
    """A score as a tensor of one number gives it."""

    def item(self) -> float:
        return float(self)


@cases.add("genai.category_scores", {}, {"0": 0.5}, {"0": 0.25, "1": 0.75, "2": 1.0})
def genai_categories(scores: Any) -> Any:
    from ulmeval.dataset.genai_bench import GenAI_Bench

    labels = {
        "0": ["basic", "scene"],
        "1": ["counting", "advanced"],
        "2": ["negation", "advanced", "scene"],
    }
    found = GenAI_Bench.calculate_category_scores(
        {key: Number(value) for key, value in scores.items()}, labels
    )
    return dict(sorted(found.items()))


@cases.add("genai.merge")
def genai_merge() -> Any:
    from ulmeval.dataset.genai_bench import GenAI_Bench

    parts = [
        {"a": {"average": 0.5, "count": 2}, "all": {"average": 0.5, "count": 2}},
        {"a": {"average": 1.0, "count": 1}, "b": {"average": 0.0, "count": 0}},
    ]
    return dict(sorted(GenAI_Bench.merge_category_scores_weighted(parts).items()))


@cases.add("genai.evaluate")
def genai_evaluate() -> Any:
    from types import SimpleNamespace

    from ulmeval.dataset import genai_bench

    class Scored(Number):
        def cpu(self) -> Any:
            return self

    genai_bench.t2v_metrics = SimpleNamespace(
        VQAScore=lambda model: lambda images, texts: Scored(len(texts[0]) / 10)
    )
    dataset = shipped("genai_bench.GenAI_Bench")
    return [
        dict(sorted(genai_bench.GenAI_Bench.evaluate(drawn(dataset)).items())),
        files(),
        sorted(os.listdir("genai_bench_generated_images")),
    ]


@cases.add("t2icompbench.tasks", (6, 0, 1), (6, 1, 3), (5, 0, 2), (5, 1, 2), (2, 1, 2))
def t2i_tasks(given: Any) -> Any:
    from ulmeval.dataset.t2i_compbench import T2ICompBench

    count, rank, size = given
    return T2ICompBench.get_tasks_for_rank(None, list(range(count)), rank, size)


@cases.add("t2icompbench.images")
def t2i_images() -> Any:
    from ulmeval.dataset.t2i_compbench import T2ICompBench

    os.makedirs("out/samples")
    frame = pd.DataFrame(
        {
            "question": ["a cat", "b"],
            "prediction": [[Image.new("RGB", (4, 4))] * 2, [Image.new("RGB", (4, 4))]],
        }
    )
    T2ICompBench.save_temp_images(None, frame, "out/samples")
    found = sorted(os.listdir("out/samples"))
    T2ICompBench.remove_temp_images(None, "out/samples")
    return [found, os.path.exists("out")]
