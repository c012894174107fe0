"""Every block of the how-to document, extracted from it and executed with its text unchanged."""

import ast
import builtins
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pipeline_files import write_rows

from assay.cli.pipeline import command
from assay.dialects.guest import Guest
from assay.dialects.pipeline.claims import NAMES
from assay.dialects.pipeline.dataset_registry import DatasetRegistry
from assay.dialects.pipeline.evaluator_registry import EvaluatorRegistry
from assay.models.scripted import Scripted
from assay.registry import models
from assay.store import RunReader

SEEDS = Path(__file__).parents[3].parent / "shared" / "seeds"
DOCUMENT = next(iter(sorted(SEEDS.glob("002_*.txt"))), None)
LONGEST_PREAMBLE = 10
ABSENT = "/path/to/"
"""Where the document's files lie: nowhere, so the tests put theirs there."""

pytestmark = pytest.mark.skipif(
    DOCUMENT is None, reason="the seed documents are not beside the repository"
)


def blocks() -> list[tuple[str, str]]:
    assert DOCUMENT is not None
    return re.findall(
        r"```(\w*)\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL
    )


@dataclass(frozen=True)
class Fragment:
    """What one block needs before it, and what must hold after it."""

    about: str
    check: Callable[["Desk", str], None]
    preamble: str = ""


class Desk:
    """A user's folder, the document's paths in it, and one guest session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.guest = Guest("pipeline", NAMES, folder)
        self.model = Scripted(
            lambda request: "A" if "0" in request.messages[-1].text else "B"
        )

    def load(self, name: str, number: int) -> Any:
        """A block as a file of the user's, after its preamble."""
        (self.folder / f"{name}.py").write_text(
            FRAGMENTS[number].preamble + blocks()[number][1], encoding="utf-8"
        )
        return self.guest.load(self.folder / f"{name}.py")

    def command(self, number: int) -> int:
        """A block for the shell: what follows the script's name goes to `assay pipeline`."""
        joined = blocks()[number][1].replace("\\\n", " ")  # as a shell joins lines
        python, script, *options = shlex.split(joined, comments=True)
        assert python == "python"
        own = (
            []
            if script == "run_pipeline.py"
            else [script.removeprefix("run_").removesuffix(".py")]
        )
        return command([*own, *options])

    def rows(self, name: str) -> list[dict[str, Any]]:
        rows = [
            {"question": f"{n}?", "options": ["w", "x", "y"], "answer": "AB"[n > 0]}
            for n in range(8)
        ]
        write_rows(self.folder / name, rows)
        return rows


@pytest.fixture
def desk(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(here)
    really_open = builtins.open

    def open_here(file: Any, *args: Any, **kwargs: Any) -> Any:
        moved = (
            here / file.removeprefix(ABSENT)
            if isinstance(file, str) and file.startswith(ABSENT)
            else file
        )
        return really_open(moved, *args, **kwargs)

    monkeypatch.setitem(made.guest._builtins, "open", open_here)
    monkeypatch.setattr(builtins, "open", open_here)
    monkeypatch.setenv("MODEL_PATH", f"{ABSENT}model")
    before = dict(models._entries)
    models.register(f"{ABSENT}model")(_StandIn)
    yield made
    models._entries.clear()
    models._entries.update(before)


class _StandIn(Scripted):
    """The model that the document calls by a path."""

    def __init__(self) -> None:
        super().__init__(
            lambda request: "A" if "0" in request.messages[-1].text else "B"
        )


def saved(folder: Path, name: str) -> dict[str, Any]:
    [file] = (folder / "eval_results").glob(f"{name}_????????_??????.json")
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def check_register_file(desk: Desk, text: str) -> None:
    module = desk.load("register_mmlu_pro", 0)

    assert (desk.folder / "register_mmlu_pro.py").read_text(encoding="utf-8") == text
    config, evaluator = (
        DatasetRegistry.get("mmlu_pro"),
        EvaluatorRegistry.get("mmlu_pro"),
    )
    assert config is not None and evaluator is not None
    assert (config.loader, config.default_batch_size, config.default_max_length) == (
        module.load_mmlu_pro,
        64,
        10,
    )
    assert (evaluator.evaluator, evaluator.metrics) == (
        module.mmlu_pro_evaluator,
        ["accuracy", "correct", "total"],
    )


def check_command(desk: Desk, text: str) -> None:
    desk.rows("mmlu_pro.jsonl")
    (desk.folder / "register_mmlu_pro.py").write_text(blocks()[0][1], encoding="utf-8")

    assert desk.command(1) == 0
    metrics = saved(desk.folder, "mmlu_pro_mmlu_pro")["metrics"]
    assert (metrics["accuracy"], metrics["correct"], metrics["total"]) == (1.0, 8, 8)


def check_quick_eval(desk: Desk, text: str) -> None:
    desk.rows("mmlu_pro.jsonl")
    (desk.folder / "register_mmlu_pro.py").write_text(blocks()[0][1], encoding="utf-8")

    module = desk.load("script", 2)

    assert module.results["metrics"]["accuracy"] == 1.0


def check_special_script(desk: Desk, text: str) -> None:
    desk.rows("mmlu_pro.jsonl")
    (desk.folder / "register_mmlu_pro.py").write_text(blocks()[0][1], encoding="utf-8")

    assert desk.command(3) == 0
    assert saved(desk.folder, "mmlu_pro_mmlu_pro")["metrics"]["correct"] == 8


def check_loader(desk: Desk, text: str) -> None:
    (desk.folder / "rows.json").write_text('[{"question": "q"}]')

    assert desk.load("loader", 4).load_your_dataset("rows.json") == [{"question": "q"}]


def check_template(desk: Desk, text: str) -> None:
    prompt = desk.load("template", 5).your_prompt_template

    assert prompt({"question": "q"}) == "Question: q\nAnswer:"
    assert (
        prompt({"question": "q", "context": "c"})
        == "Context: c\n\nQuestion: q\nAnswer:"
    )


def check_patterns(desk: Desk, text: str) -> None:
    module = desk.load("patterns", 6)
    item = {
        "question": "q",
        "instruction": "i",
        "input": "n",
        "options": ["x", "y"],
        "answer": "A",
    }
    write_rows(desk.folder / "one.jsonl", [item])
    names = (
        "qa_prompt",
        "instruction_prompt",
        "multiple_choice_prompt",
        "cot_prompt",
        "fewshot_prompt",
    )

    prompts = []
    for name in names:
        DatasetRegistry.register(name, lambda path: [item], getattr(module, name))
        [row] = DatasetRegistry.load_dataset(name, "one.jsonl")
        prompts.append(row["prompt"])

    assert prompts[:2] == ["Q: q\nA:", "i\n\nInput: n\nOutput:"]
    assert prompts[2] == "q\n\n0. x\n1. y\n\nAnswer:"
    assert prompts[3].endswith("Let's think step by step:\n") and prompts[4].endswith(
        "Q: q\nA:"
    )


def check_evaluator(desk: Desk, text: str) -> None:
    desk.rows("rows.jsonl")
    module = desk.load("register_own", 7)
    EvaluatorRegistry.register("own", module.your_evaluator)

    assert (
        command(
            ["--dataset", "qa", "--dataset-path", "rows.jsonl", "--evaluator", "own"]
        )
        == 0
    )
    metrics = saved(desk.folder, "qa_own")["metrics"]
    assert (metrics["accuracy"], metrics["correct"], metrics["total"]) == (1.0, 8, 8)


def check_registration(desk: Desk, text: str) -> None:
    desk.load("register_yours", 8)

    assert (
        "your_dataset" in DatasetRegistry.list_datasets()
        and "your_evaluator" in EvaluatorRegistry.list_evaluators()
    )


def check_gsm8k(desk: Desk, text: str) -> None:
    write_rows(desk.folder / "gsm8k.jsonl", [{"question": "1+1?", "answer": "2"}])
    desk.load("register_gsm8k", 9)

    [row] = DatasetRegistry.load_dataset("gsm8k", "gsm8k.jsonl")

    assert row["prompt"] == "Question: 1+1?\n\nAnswer: Let's solve this step by step.\n"
    assert row["reference"] == "2"


def check_gsm8k_command(desk: Desk, text: str) -> None:
    check_gsm8k(desk, text)

    assert desk.command(10) == 0
    [file] = desk.folder.glob("generation_outputs_*.jsonl")
    assert set(json.loads(file.read_text())) == {"prompt", "generated", "reference"}
    [run] = (desk.folder / "eval_results").glob("gsm8k_generation--*")
    assert [record.prompt[-1]["role"] for record in RunReader(run).outputs()] == [
        "user"
    ]


def check_humaneval(desk: Desk, text: str) -> None:
    write_rows(
        desk.folder / "humaneval.jsonl",
        [{"prompt": "def f():", "task_id": "HumanEval/0"}],
    )
    desk.load("register_humaneval", 11)

    code = command(
        [
            "--dataset",
            "humaneval",
            "--dataset-path",
            "humaneval.jsonl",
            "--evaluator",
            "generation",
        ]
    )

    assert code == 0
    [file] = desk.folder.glob("generation_outputs_*.jsonl")
    assert json.loads(file.read_text())["prompt"] == "def f():\n"


def check_json_example(desk: Desk, text: str) -> None:
    """The example as the data of a run, by the loader that the document has for it."""
    check_nested(desk, text)

    assert (desk.folder / "custom.json").read_text(encoding="utf-8") == text
    [run] = (desk.folder / "eval_results").glob("my_translation_generation--*")
    assert [record.prompt[-1]["content"] for record in RunReader(run).outputs()] == [
        "Translate to French: Hello"
    ]


def check_nested(desk: Desk, text: str) -> None:
    (desk.folder / "custom.json").write_text(blocks()[12][1], encoding="utf-8")
    desk.load("register_custom", 13)
    asked = [
        "--dataset",
        "my_translation",
        "--dataset-path",
        "custom.json",
        "--evaluator",
        "generation",
    ]

    assert command(asked) == 0
    [file] = desk.folder.glob("generation_outputs_*.jsonl")
    assert json.loads(file.read_text())["prompt"] == "Translate to French: Hello"


def check_verification(desk: Desk, text: str) -> None:
    desk.rows("mmlu_pro.jsonl")
    desk.load("register_mmlu_pro", 0)

    module = desk.load("verify", 14)

    assert len(module.data) == 5
    assert set(module.data[0]) == {"prompt", "reference", "raw"}


TYPES = "import json\nfrom typing import Dict, List\n"
DATASETS = "import json\nfrom dataset_registry import DatasetRegistry\n"
FRAGMENTS: dict[int, Fragment] = {
    0: Fragment("the register file", check_register_file),
    1: Fragment("run_pipeline.py", check_command),
    2: Fragment("quick_eval", check_quick_eval),
    3: Fragment("run_mmlu_pro.py", check_special_script),
    4: Fragment("a loader", check_loader, TYPES),
    5: Fragment("a prompt template", check_template, TYPES),
    6: Fragment("five kinds of prompts", check_patterns),
    7: Fragment(
        "an evaluator",
        check_evaluator,
        "def your_matching_logic(pred, ref):\n    return pred == ref\n\n",
    ),
    8: Fragment(
        "registering",
        check_registration,
        "from dataset_registry import DatasetRegistry\nfrom evaluator_registry import EvaluatorRegistry\n"
        "load_your_dataset = your_prompt = your_evaluator = print\n",
    ),
    9: Fragment("GSM8K", check_gsm8k, DATASETS),
    10: Fragment("GSM8K on the command line", check_gsm8k_command),
    11: Fragment("HumanEval", check_humaneval, DATASETS),
    12: Fragment("nested JSON", check_json_example),
    13: Fragment("a loader of nested JSON", check_nested, DATASETS),
    14: Fragment("verification", check_verification),
}


def test_every_block_of_the_document_is_in_the_table():
    assert sorted(FRAGMENTS) == list(range(len(blocks())))


@pytest.mark.parametrize(
    "number", FRAGMENTS, ids=lambda number: FRAGMENTS[number].about.replace(" ", "_")
)
def test_a_preamble_is_short_and_defines_nothing_its_block_defines(number: int):
    language, text = blocks()[number]
    preamble = FRAGMENTS[number].preamble

    assert len(preamble.splitlines()) <= LONGEST_PREAMBLE
    assert language == "python" or not preamble
    if language == "python":
        assert not defined(preamble) & defined(text)


def defined(source: str) -> set[str]:
    """Functions, classes and variables that a source defines; what it imports may be imported twice."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {
                target.id for target in node.targets if isinstance(target, ast.Name)
            }
    return names


@pytest.mark.parametrize(
    "number", FRAGMENTS, ids=lambda number: FRAGMENTS[number].about.replace(" ", "_")
)
def test_a_block_of_the_document_works_unchanged(number: int, desk: Desk):
    FRAGMENTS[number].check(desk, blocks()[number][1])


def test_the_documents_own_file_finishes_on_rows_with_ten_options(desk: Desk):
    rows = [
        {"question": f"{n}?", "options": ["x"] * (10 if n == 2 else 8), "answer": "A"}
        for n in range(4)
    ]
    write_rows(desk.folder / "mmlu_pro.jsonl", rows)
    desk.load("register_mmlu_pro", 0)
    asked = [
        "--dataset",
        "mmlu_pro",
        "--dataset-path",
        "mmlu_pro.jsonl",
        "--evaluator",
        "mmlu_pro",
    ]

    code = command(asked)

    document = saved(desk.folder, "mmlu_pro_mmlu_pro")
    [failed] = document["failed"]
    assert (code, document["metrics"]["total"], document["dataset"]["size"]) == (
        3,
        3,
        4,
    )
    assert "IndexError: list index out of range" in failed["traceback"] and failed[
        "error"
    ].startswith("mmlu_pro.jsonl:3")
