"""Inputs of our own for everything user code sees of rwkv-benchmark, and how one is put to either of the two.

`tools/guest_fixtures_pipeline.py` runs them through upstream's own code and keeps what came out; the tests run them
through ours. A `World` says how a module is imported and how an engine over the same little model is made.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import stub_lm


class World(Protocol):
    """Upstream's code or ours."""

    arity: int
    """How many values `generate_batch` gives in this era."""

    def load(self, name: str) -> Any: ...

    def engine(self) -> Any: ...

    def model(self) -> Any:
        """What `EvaluationPipeline` is given as its model."""

    def command(self, *arguments: str) -> str:
        """What the command line prints."""


Case = Callable[[World], Any]


class OwnEngine:
    """A user's engine with the members evaluators call, and nothing else; 0.5 seconds a batch."""

    def __init__(self, arity: int = 3) -> None:
        self.tokenizer = stub_lm.Tokenizer()
        self.model = OwnNet()
        self.arity = arity
        self.calls: list[Any] = []

    def generate_batch(self, prompts, max_length=100, noise=0.0, return_speed=False):
        import numpy

        self.calls.append([len(prompts), max_length, noise, return_speed])
        rows = []
        for prompt in prompts:
            history = list(self.tokenizer.encode(prompt))
            for _ in range(max_length):
                history.append(stub_lm.greedy(tuple(history)))
            rows.append(history[len(history) - max_length :] if max_length else [])
        speed = {
            "forward_tps": 10.0 * len(prompts),
            "full_tps": 8.0,
            "step_forward_ms_p50": 1.0,
            "step_full_ms_p50": 2.0,
        }
        made = (numpy.array(rows), 0.5, speed if return_speed else None)
        return made[: self.arity]

    def decode_tokens(self, tokens, utf8_errors="ignore"):
        return [self.tokenizer.decode(row, utf8_errors=utf8_errors) for row in tokens]

    def measure_decode_speed(self, batch_size=128, length=32, percentile=50):
        self.calls.append(["speed", batch_size, length])
        return {
            "batch_size": batch_size,
            "forward_tps": 123.456,
            "full_tps": 99.999,
            "step_forward_ms_p50": 1.23456,
            "step_full_ms_p50": 2.34567,
        }


class OwnNet:
    def generate_zero_state(self, bsz):
        return [None] * bsz

    def forward_batch(self, tokens, state=None, full_output=False):
        import torch

        every = [
            torch.tensor(
                [stub_lm.logits_after(tuple(ids[: at + 1])) for at in range(len(ids))],
                dtype=torch.float64,
            )
            for ids in tokens
        ]
        return every if full_output else torch.stack([rows[-1] for rows in every])


# -- registries ------------------------------------------------------------------------------------


def datasets_known(world: World) -> Any:
    registry = world.load("tasks.dataset_registry").DatasetRegistry
    world.load("tasks")
    return [
        [
            name,
            registry.get(name).default_batch_size,
            registry.get(name).default_max_length,
        ]
        for name in registry.list_datasets()
    ]


def evaluators_known(world: World) -> Any:
    world.load("evaluators")
    registry = world.load("evaluators.evaluator_registry").EvaluatorRegistry
    return [
        [name, list(registry.get(name).metrics)] for name in registry.list_evaluators()
    ]


def one_registry(world: World) -> Any:
    """Whichever way it is imported, it is the same registry."""
    tasks, evaluators = world.load("tasks"), world.load("evaluators")
    return [
        tasks.DatasetRegistry is world.load("tasks.dataset_registry").DatasetRegistry,
        evaluators.EvaluatorRegistry
        is world.load("evaluators.evaluator_registry").EvaluatorRegistry,
    ]


def registering(world: World) -> Any:
    registry = world.load("tasks").DatasetRegistry
    judges = world.load("evaluators").EvaluatorRegistry
    registry.register("mine", lambda path: [], lambda item: "")
    made = registry.get("mine")
    seen: list[Any] = [
        made.name,
        made.description,
        made.default_batch_size,
        made.default_max_length,
    ]
    registry.register(
        name="mine",
        loader=list,
        prompt_template=str,
        description="again",
        default_batch_size=1,
        default_max_length=2,
    )
    again = registry.get("mine")
    seen += [
        again.description,
        again.default_batch_size,
        again.default_max_length,
        registry.get("nobody"),
    ]
    again.default_batch_size = 7
    seen.append(registry.get("mine").default_batch_size)
    judges.register("mine", lambda engine, data, **kwargs: {"n": len(data), **kwargs})
    seen += [
        judges.get("mine").metrics,
        judges.get("mine").description,
        judges.get("nobody"),
    ]
    seen.append(judges.evaluate("mine", None, [1, 2], a=1))
    for attempt in (
        lambda: judges.evaluate("nobody", None, []),
        lambda: registry.load_dataset("nobody", "x"),
    ):
        seen.append(raised(attempt))
    return [
        *seen,
        registry.list_datasets().count("mine"),
        judges.list_evaluators().count("mine"),
    ]


def raised(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return f"raises {type(error).__name__}"


# -- loaders and prompts ---------------------------------------------------------------------------


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FILES: dict[str, tuple[str, str]] = {
    "lambada": (
        "lambada",
        jsonl(
            [
                {"text": "the quick brown fox"},
                {"text": "Single"},
                {"text": ""},
                {"text": "a b "},
            ]
        ),
    ),
    "lambada_extra": (
        "lambada",
        jsonl(
            [
                {"text": "x y", "answer": "z"},
                {"text": "x y", "reference": "r"},
                {"other": 1},
            ]
        ),
    ),
    "qa": (
        "qa",
        jsonl(
            [
                {"question": "1+1?", "answer": "2"},
                {"question": "Ä?", "reference": "ja"},
                {"answer": "x"},
            ]
        ),
    ),
    "qa_falsy": (
        "qa",
        jsonl(
            [
                {"question": "q", "answer": value, "reference": "r"}
                for value in (0, "", None, False, [], 0.0, "0", 3)
            ]
        ),
    ),
    "qa_none": (
        "qa",
        jsonl(
            [
                {"question": None, "answer": None},
                {"question": 5, "answer": {"a": 1}},
                {},
            ]
        ),
    ),
    "qa_no_newline_at_end": (
        "qa",
        '{"question": "a", "answer": "b"}\n{"question": "c"}',
    ),
    "qa_blank_line": ("qa", '{"question": "a"}\n\n{"question": "b"}\n'),
    "qa_broken_line": ("qa", '{"question": "a"}\n{"question": \n'),
    "qa_not_objects": ("qa", "1\n2\n"),
    "qa_empty": ("qa", ""),
    "completion": (
        "completion",
        jsonl(
            [{"prompt": "p"}, {"text": "t"}, {"prompt": "", "text": "t"}, {"other": 1}]
        ),
    ),
    "completion_none": (
        "completion",
        jsonl([{"prompt": None, "text": "t"}, {"text": None}]),
    ),
    "cot_list": (
        "cot",
        json.dumps([{"question": "q1", "answer": "1"}, {"question": "q2"}, {}]),
    ),
    "cot_data": (
        "cot",
        json.dumps({"data": [{"question": "q1"}], "examples": [{"question": "other"}]}),
    ),
    "cot_examples": (
        "cot",
        json.dumps({"examples": [{"question": "q1", "reference": "r"}]}),
    ),
    "cot_empty_data": (
        "cot",
        json.dumps({"data": [], "examples": [{"question": "q"}]}),
    ),
    "math": (
        "math",
        json.dumps(
            [
                {"problem": "x=1", "answer": "1"},
                {"question": "y", "answer": 2},
                {"other": 1},
            ]
        ),
    ),
    "math_single": ("math", json.dumps({"problem": "x=1", "answer": "1"})),
    "math_single_with_list": (
        "math",
        json.dumps({"problem": "x=1", "steps": [1, 2], "answer": "1"}),
    ),
    "math_both": (
        "math",
        json.dumps(
            [{"problem": "p", "question": "q"}, {"problem": None, "question": "q"}]
        ),
    ),
    "math_broken": ("math", "{"),
    "math_empty_list": ("math", "[]"),
}

OPTIONS = [
    {
        "question": "Best metal?",
        "options": ["Iron", "Gold"],
        "category": "chemistry",
        "answer": "B",
    },
    {
        "question": "Ten?",
        "options": [str(n) for n in range(10)],
        "category": "math",
        "answer": "J",
        "answer_index": 9,
    },
    {
        "question": "Twelve?",
        "options": [str(n) for n in range(12)],
        "category": "math",
        "answer": "A",
    },
    {
        "question": "Blank?",
        "options": ["a ", "", None, " b"],
        "category": "",
        "answer": "A",
    },
    {"question": "None left?", "options": [], "category": "law", "answer": "A"},
]
PROMPTED = [
    *OPTIONS,
    {"question": "Choices?", "choices": ["x", "y"], "subject": "law", "answer": "A"},
    {
        "question": "Both?",
        "options": ["o"],
        "choices": ["c"],
        "category": "cat",
        "subject": "sub",
        "answer": 0,
    },
    {"question": "As text?", "options": "one, two,,three", "answer": 1},
    {"question": "No category", "options": ["a"], "answer": "A"},
    {"question": "None", "options": None, "category": None, "answer": None},
    {"options": ["a"], "category": "c"},
    {},
]


def load_case(dataset: str, content: str, **kwargs: Any) -> Case:
    def case(world: World) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / (
                "rows.jsonl"
                if dataset in ("lambada", "qa", "completion")
                else "rows.json"
            )
            file.write_text(content, encoding="utf-8")
            world.load("tasks")
            return world.load("tasks.dataset_registry").DatasetRegistry.load_dataset(
                dataset, str(file), **kwargs
            )

    return case


def parquet_case(dataset: str, **kwargs: Any) -> Case:
    """MMLU-Pro as it is published: a folder with the test split in Parquet."""

    def case(world: World) -> Any:
        import datasets

        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "data"
            home.mkdir()
            datasets.Dataset.from_list(OPTIONS[:2]).to_parquet(
                str(home / "test-00000-of-00001.parquet")
            )
            datasets.Dataset.from_list(OPTIONS[2:4]).to_parquet(
                str(home / "validation-00000-of-00001.parquet")
            )
            world.load("tasks")
            return world.load("tasks.dataset_registry").DatasetRegistry.load_dataset(
                dataset, str(home), **kwargs
            )

    return case


def prompt_case(dataset: str, item: dict[str, Any]) -> Case:
    def case(world: World) -> Any:
        world.load("tasks")
        return (
            world.load("tasks.dataset_registry")
            .DatasetRegistry.get(dataset)
            .prompt_template(dict(item))
        )

    return case


def load_cases() -> Iterator[tuple[str, Case]]:
    for name, (dataset, content) in FILES.items():
        yield f"load.{name}", load_case(dataset, content)
    for limit in (0, 1, 2, 100, -1, None):
        yield f"load.limit_{limit}", load_case("qa", FILES["qa_falsy"][1], limit=limit)
    for dataset in ("mmlu_pro", "mmlu_pro_cot"):
        yield f"load.{dataset}", parquet_case(dataset)
        yield f"load.{dataset}.limit", parquet_case(dataset, limit=1)
        for at, item in enumerate(PROMPTED):
            yield f"prompt.{dataset}.{at}", prompt_case(dataset, item)
    for dataset in ("lambada", "qa", "completion", "cot", "math"):
        odd = (
            {"text": "a  b"},
            {"question": "q"},
            {"prompt": "p"},
            {},
            {"text": "x\ny z"},
            {"problem": 1},
        )
        for at, item in enumerate(odd):
            yield f"prompt.{dataset}.{at}", prompt_case(dataset, item)
    yield (
        "load.missing_file",
        lambda world: world.load("tasks").DatasetRegistry.load_dataset(
            "qa", "/nowhere/x.jsonl"
        ),
    )
    yield "load.loader_jsonl", loader_case("load_jsonl", "qa")
    yield "load.loader_json", loader_case("load_json", "cot_data")
    yield "load.prompt_fails", prompt_fails


def loader_case(function: str, name: str) -> Case:
    def case(world: World) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows"
            file.write_text(FILES[name][1], encoding="utf-8")
            return getattr(world.load("tasks.dataset_registry"), function)(str(file))

    return case


def prompt_fails(world: World) -> Any:
    """One row whose prompt cannot be made."""
    registry = world.load("tasks").DatasetRegistry
    registry.register("fails", lambda path: [{"a": 1}, {}], lambda item: str(item["a"]))
    return registry.load_dataset("fails", "x")


# -- evaluators ------------------------------------------------------------------------------------


def item(prompt: str, reference: Any = "", **raw: Any) -> dict[str, Any]:
    return {"prompt": prompt, "reference": reference, "raw": raw}


LAMBADA = [
    item("", "", text=text)
    for text in ("the cat and the dog", "a the", "Single", "", "naïve café déjà vu")
]
REFERENCES = [item("the", " and"), item("A B", "C"), item("", "x"), item("é", "é")]


def evaluate_case(
    name: str, data: list[Any], *, engine: str = "own", **kwargs: Any
) -> Case:
    def case(world: World) -> Any:
        world.load("evaluators")
        registry = world.load("evaluators.evaluator_registry").EvaluatorRegistry
        chosen = OwnEngine(world.arity) if engine == "own" else world.engine()
        with quiet_folder() as folder:
            made = rounded(registry.evaluate(name, chosen, data, **kwargs))
            written = [
                file
                for file in sorted(folder.rglob("*.jsonl"))
                if not file.name.startswith(".")
            ]
            files = {
                timeless(file.name): file.read_text(encoding="utf-8")
                for file in written
            }
        return [
            without_speeds(made, engine, world.arity),
            files,
            chosen.calls if engine == "own" else None,
        ]

    return case


TIMED = (
    "total_time",
    "throughput",
    "forward_tps",
    "full_tps",
    "step_forward_ms_p50",
    "step_full_ms_p50",
)


def without_speeds(made: Any, engine: str, arity: int) -> Any:
    """Of an engine that is timed, only that there are speeds; the earlier eras measured two fewer."""
    if engine == "own":
        return made
    later = TIMED[2:] if arity == 2 else ()
    return {
        key: key if key in TIMED else value
        for key, value in made.items()
        if key not in later
    }


@contextlib.contextmanager
def quiet_folder() -> Iterator[Path]:
    """A working folder of its own, and nothing on the screen."""
    before = Path.cwd()
    quiet = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
    ):
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def timeless(name: str) -> str:
    return re.sub(r"\d{8}_\d{6}(_\d+)?", "TIME", name)


def rounded(value: Any) -> Any:
    """Numbers to six digits: the two sides add in another order."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


QUESTIONS = [
    item("the", "the answer", question="q1", options=["a", "b"], category="law"),
    item("A", "a", question="q2", options=["a"], category="law"),
    item("B B", 1, question="q3", choices=["x"], subject="math"),
    item("C.", "C", question="q4"),
    item("", "(d)", question="q5", category="art"),
    item("x", "zzz", category="law"),
    item("y", None, category="art"),
    item("z", 2.0, category="art"),
    item("w", True, category="art"),
]


def exact_data(length: int) -> list[Any]:
    """Rows whose references are what the model writes, with other blanks and case, and some that are not."""
    engine = OwnEngine()
    written = engine.decode_tokens(
        engine.generate_batch(["the", "A B", "x"], max_length=length)[0]
    )
    return [
        item("the", f" {written[0].upper()} "),
        item("A B", "no"),
        item("x", written[2]),
        item("the", ""),
    ]


def evaluator_cases() -> Iterator[tuple[str, Case]]:
    yield "exact_match", evaluate_case("exact_match", exact_data(5), max_length=5)
    yield "mmlu_pro", evaluate_case("mmlu_pro", QUESTIONS[:5], max_length=3)
    yield "generation", evaluate_case("generation", QUESTIONS[:3], max_length=4)
    yield (
        "exact_match.batches",
        evaluate_case(
            "exact_match", exact_data(4), batch_size=2, max_length=4, noise=0.5
        ),
    )
    yield "exact_match.defaults", evaluate_case("exact_match", exact_data(100))
    yield "exact_match.empty", evaluate_case("exact_match", [])
    yield (
        "exact_match.more",
        evaluate_case("exact_match", exact_data(3), max_length=3, anything=1),
    )
    for engine in ("own", "world"):
        for name, rows in (
            ("lambada", LAMBADA),
            ("references", REFERENCES),
            ("mixed", [*LAMBADA[:2], *REFERENCES[:1]]),
        ):
            yield (
                f"perplexity.{name}.{engine}",
                evaluate_case("perplexity", rows, engine=engine),
            )
        yield (
            f"perplexity.batches.{engine}",
            evaluate_case("perplexity", LAMBADA, engine=engine, batch_size=2),
        )
        stray = [item("the", " and", text="something else"), item("A", "B")]
        yield (
            f"perplexity.stray_text_column.{engine}",
            evaluate_case("perplexity", stray, engine=engine),
        )
    yield "perplexity.no_end", evaluate_case("perplexity", REFERENCES, pad_eod=False)
    yield "perplexity.empty", evaluate_case("perplexity", [])
    yield "perplexity.one_word", evaluate_case("perplexity", LAMBADA[2:3])
    yield "mmlu_pro.odd_references", evaluate_case("mmlu_pro", QUESTIONS, max_length=2)
    yield "mmlu_pro.default_length", evaluate_case("mmlu_pro", QUESTIONS[:4])
    yield (
        "mmlu_pro.inferoutput",
        evaluate_case(
            "mmlu_pro", QUESTIONS[:5], max_length=2, inferoutput="deep/er/out.jsonl"
        ),
    )
    yield (
        "mmlu_pro.batches",
        evaluate_case(
            "mmlu_pro", QUESTIONS[:5], max_length=2, batch_size=2, use_cot=True
        ),
    )
    yield "mmlu_pro.empty", evaluate_case("mmlu_pro", [])
    yield "mmlu_pro.bad_index", evaluate_case("mmlu_pro", [item("x", 11)])
    yield (
        "generation.named",
        evaluate_case(
            "generation", QUESTIONS[:3], max_length=2, output_file="named.jsonl"
        ),
    )
    yield (
        "generation.unsaved",
        evaluate_case("generation", QUESTIONS[:3], max_length=2, save_outputs=False),
    )
    yield (
        "generation.batches",
        evaluate_case(
            "generation", QUESTIONS[:5], max_length=2, batch_size=2, noise=0.1
        ),
    )
    yield "generation.empty", evaluate_case("generation", [])
    yield (
        "generation.unicode",
        evaluate_case(
            "generation", [item("ß é", "ü")], max_length=3, output_file="u.jsonl"
        ),
    )
    for name in ("exact_match", "mmlu_pro", "generation"):
        rows = QUESTIONS[:4] if name == "mmlu_pro" else exact_data(4)
        yield f"{name}.engine", evaluate_case(name, rows, engine="world", max_length=4)


# -- the engine ------------------------------------------------------------------------------------


def engine_generates(world: World) -> Any:
    engine = world.engine()
    made = engine.generate_batch(["the", "A B", "ß"], max_length=6)
    tokens = made[0]
    more = (
        []
        if world.arity == 2
        else engine.generate_batch(["x"], max_length=2, return_speed=True)
    )
    return [
        tokens.tolist(),
        list(tokens.shape),
        made[1] > 0,
        engine.decode_tokens(tokens),
        engine.decode_tokens(tokens[:1, :2]),
        engine.tokenizer.encode("the word é"),
        engine.tokenizer.decode(engine.tokenizer.encode("the word é")),
        len(more),
        sorted(more[2]) if more else [],
    ]


def engine_logprobs(echo: bool, top: int) -> Case:
    def case(world: World) -> Any:
        return rounded(
            world.engine().generate_with_logprobs(
                ["the and", "A"], max_length=3, echo=echo, top_logprobs=top
            )
        )

    return case


def engine_weighs(world: World) -> Any:
    """What evaluators of likelihood do themselves with the engine."""
    import math

    engine = world.engine()
    made = []
    for context, target in (
        ("the", " and a"),
        ("caf", "é"),
        ("naïve ", "déjà vu"),
        ("x", "ß"),
        ("日", "本"),
    ):
        ids, more = (
            [0, *engine.tokenizer.encode(context)],
            engine.tokenizer.encode(target),
        )
        [out] = engine.model.forward_batch(
            [ids + more], engine.model.generate_zero_state(1), full_output=True
        )
        total, right = 0.0, True
        for at, token in enumerate(more):
            row = [float(value) for value in out[len(ids) - 1 + at]]
            high = max(row)
            total += (
                row[token]
                - high
                - math.log(sum(math.exp(value - high) for value in row))
            )
            right = right and row.index(high) == token
        made.append([len(ids), len(more), round(total, 4), right])
    return made


def engine_saves(world: World) -> Any:
    engine = world.engine()
    with quiet_folder() as folder:
        told = engine.save_qa_to_jsonl(
            ["p1", "p2"], ["r1", "ü"], "mine", "out", {"m": 1}
        )
        responses, file = engine.generate_and_save(
            ["the"], "other", max_length=3, output_dir="out", metadata={"k": 2}
        )
        wrong = raised(lambda: engine.save_qa_to_jsonl(["p"], [], "x"))
        again, whole = engine.generate_and_save(
            ["the"], "tokens", max_length=3, output_dir="t", save_tokens=True
        )
        lines = [
            [
                timeless(Path(name).as_posix()),
                [plain_line(line) for line in (folder / name).read_text().splitlines()],
            ]
            for name in (told, file, whole)
        ]
    return [responses, again, wrong, lines]


def plain_line(line: str) -> Any:
    timed = ("timestamp", "inference_time", "total_time", "throughput")
    return {
        key: key if key in timed else value for key, value in json.loads(line).items()
    }


def engine_analyzes(world: World) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        world.engine().analyze_next_token(["the", "A B"], top_k=3)
    return told.getvalue()


def engine_cases() -> Iterator[tuple[str, Case]]:
    yield "engine.generate_batch", engine_generates
    yield "engine.forward_batch", engine_weighs
    yield "engine.save", engine_saves
    yield "engine.analyze_next_token", engine_analyzes
    yield (
        "engine.speed",
        lambda world: sorted(
            world.engine().measure_decode_speed(batch_size=2, length=2)
        ),
    )
    for echo in (False, True):
        for top in (1, 3):
            yield (
                f"engine.generate_with_logprobs.echo_{echo}.top_{top}",
                engine_logprobs(echo, top),
            )


# -- pipelines and commands ------------------------------------------------------------------------


def rows_file(folder: Path, rows: list[Any], name: str = "rows.jsonl") -> str:
    file = folder / name
    file.write_text(jsonl(rows), encoding="utf-8")
    return name


QA = [
    {"question": "the", "answer": "a"},
    {"question": "A B", "answer": "b"},
    {"question": "x", "answer": 0},
]


def document(made: Any) -> Any:
    """A result without what a clock gave."""
    plain = json.loads(json.dumps(made))
    plain["timestamp"] = bool(re.fullmatch(r"\d{8}_\d{6}", plain["timestamp"]))
    plain["metrics"] = {
        key: key if key in TIMED else rounded(value)
        for key, value in plain["metrics"].items()
    }
    return [list(plain), list(plain["metrics"]), plain]


def run_case(dataset: str, rows: list[Any], evaluator: str, **kwargs: Any) -> Case:
    def case(world: World) -> Any:
        module = world.load("pipeline")
        with quiet_folder() as folder:
            path = rows_file(folder, rows)
            made = module.EvaluationPipeline(world.model(), output_dir="results").run(
                dataset, path, evaluator, **kwargs
            )
            files = sorted((folder / "results").glob("*.json"))
            saved = [
                [timeless(file.name), json.loads(file.read_text()) == made]
                for file in files
            ]
        return [document(made), saved]

    return case


def own_engine_run(world: World) -> Any:
    """A pipeline whose engine was replaced by the user's own."""
    module = world.load("pipeline")
    made_with: list[Any] = []

    class Engine(OwnEngine):
        def __init__(self, model_path, vocab_path=None, seed=42):
            super().__init__(world.arity)
            made_with.append([model_path, vocab_path, seed])

    before = module.RWKVInferenceEngine
    module.RWKVInferenceEngine = Engine
    try:
        with quiet_folder() as folder:
            path = rows_file(folder, QA)
            pipeline = module.EvaluationPipeline(
                model_path="any/model", vocab_path="v", seed=7, output_dir="r"
            )
            first = pipeline.run(
                "qa", path, "generation", batch_size=2, max_length=3, save_outputs=False
            )
            second = pipeline.run("qa", path, "perplexity", limit=2)
            calls = pipeline.engine.calls
            names = sorted(timeless(file.name) for file in (folder / "r").iterdir())
    finally:
        module.RWKVInferenceEngine = before
    timed = [first.pop("timestamp"), second.pop("timestamp")]
    return [
        made_with,
        rounded(first),
        list(first["metrics"]),
        rounded(second),
        calls,
        names,
        len(timed),
    ]


def several(world: World) -> Any:
    module = world.load("pipeline")
    with quiet_folder() as folder:
        path = rows_file(folder, QA)
        builder = module.PipelineBuilder(world.model(), output_dir="r")
        same = builder.add_task(
            "qa", path, "generation", max_length=2, save_outputs=False
        )
        made = same.add_task("qa", path, "perplexity", batch_size=2).run()
        files = sorted((folder / "r").glob("*.json"))
        names = [timeless(file.name) for file in files]
        summary = json.loads(
            next(file for file in files if file.name.startswith("summary")).read_text()
        )
    told = [list(summary), summary["total_tasks"], len(summary["results"])]
    return [same is builder, [document(one) for one in made], sorted(names), told]


def quick(world: World) -> Any:
    module = world.load("pipeline")
    with quiet_folder() as folder:
        path = rows_file(folder, QA)
        made = module.quick_eval(
            world.model(),
            "qa",
            path,
            "generation",
            limit=1,
            max_length=2,
            save_outputs=False,
        )
        names = sorted(
            timeless(file.name) for file in (folder / "eval_results").glob("*.json")
        )
    return [document(made), names]


def pipeline_errors(world: World) -> Any:
    module = world.load("pipeline")
    with quiet_folder() as folder:
        path = rows_file(folder, QA)
        pipeline = module.EvaluationPipeline(world.model(), output_dir="r")
        return [
            (folder / "r").is_dir(),
            raised(lambda: pipeline.run("nobody", path, "generation")),
            raised(lambda: pipeline.run("qa", path, "nobody")),
            raised(lambda: pipeline.run("qa", "none.jsonl", "generation")),
        ]


def pipeline_cases() -> Iterator[tuple[str, Case]]:
    yield (
        "pipeline.run",
        run_case("qa", QA, "generation", max_length=3, save_outputs=False),
    )
    yield (
        "pipeline.defaults",
        run_case("lambada", [{"text": "the and a"}, {"text": "Single"}], "perplexity"),
    )
    yield (
        "pipeline.limit",
        run_case(
            "qa",
            QA,
            "generation",
            limit=2,
            batch_size=1,
            max_length=2,
            save_outputs=False,
        ),
    )
    yield (
        "pipeline.kwargs_no_save",
        run_case(
            "qa",
            QA,
            "generation",
            max_length=2,
            save_results=False,
            save_outputs=False,
            noise=0.0,
        ),
    )
    yield "pipeline.own_engine", own_engine_run
    yield "pipeline.builder_two_tasks", several
    yield "pipeline.quick_eval", quick
    yield "pipeline.errors", pipeline_errors


def command_lists(world: World) -> Any:
    """The names and numbers of the list; what describes them is prose."""
    told = world.command("--list")
    return [
        re.sub(r" - .*", " -", line)
        for line in told.splitlines()
        if line.lstrip().startswith(("•", "("))
    ]


def command_runs(world: World) -> Any:
    with quiet_folder() as folder:
        path = rows_file(folder, QA)
        told = world.command(
            "--dataset",
            "qa",
            "--dataset-path",
            path,
            "--evaluator",
            "generation",
            "--max-length",
            "3",
            "--output-dir",
            "r",
        )
        file = next((folder / "r").glob("qa_generation_*.json"))
        made = document(json.loads(file.read_text()))
    lines = told[told.index("Final Results:") :].splitlines()
    timed = ("total_time", "throughput", "_tps", "_ms_")
    plain = [
        line.split(":")[0] if any(name in line for name in timed) else line
        for line in lines
        if line.strip()
    ]
    return [plain, made]


def command_cases() -> Iterator[tuple[str, Case]]:
    yield "cli.list", command_lists
    yield "cli.run", command_runs


def cases() -> dict[str, Case]:
    """Every case by name."""
    made: dict[str, Case] = {}
    for name, case in (
        ("registry.datasets", datasets_known),
        ("registry.evaluators", evaluators_known),
        ("registry.one", one_registry),
        ("registry.register", registering),
        *load_cases(),
        *evaluator_cases(),
        *engine_cases(),
        *pipeline_cases(),
        *command_cases(),
    ):
        assert name not in made, name
        made[name] = case
    return made


@contextlib.contextmanager
def unchanged_registries(world: World) -> Iterator[None]:
    """Leaves what is registered as it was."""
    world.load("tasks")
    world.load("evaluators")
    tables = [
        world.load("tasks.dataset_registry").DatasetRegistry._registry,
        world.load("evaluators.evaluator_registry").EvaluatorRegistry._registry,
    ]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)


def is_worded(name: str, era: str) -> bool:
    """Whether what a case gives holds a sentence of upstream's own: its digest is kept instead."""
    return ".mmlu_pro_cot" in name or (era == "9edb4e7" and ".mmlu_pro" in name)


def digest(value: Any) -> Any:
    """A value as its digest."""
    return {
        "sha256": hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    }


def outcome(case: Case, world: World) -> Any:
    """What a case gives, as JSON holds it; an error is known by its kind."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        unchanged_registries(world),
    ):
        warnings.simplefilter("ignore")
        try:
            made = case(world)
        except (Exception, SystemExit) as error:
            return {"raises": type(error).__name__}
    return {"gives": json.loads(json.dumps(made, default=str))}
