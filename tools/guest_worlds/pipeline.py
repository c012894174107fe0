"""The survey of an rwkv-benchmark checkout: task files, evaluators and scripts, each where it lies."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.guest_worlds.commands import MODEL, assay, outcome
from tools.guest_worlds.outcome import Outcome, State

CODE = "local_batch_benchmark"
ROW = {
    "question": "1+1?", "answer": "2", "problem": "1+1?",
    "solution": "\\boxed{2}", "prompt": "Say two.", "input": "1+1",
    "body": "There are", "options": ["1", "2"], "choices": ["1", "2"], "category": "math", "subject": "math",
    "A": "1", "B": "2", "outputs": ["2"], "text": "one and two", "language": "en", "answer_index": 1,
}  # fmt: skip


def is_checkout(folder: Path) -> bool:
    """Whether a folder is one."""
    return (folder / CODE / "tasks" / "dataset_registry.py").is_file()


def survey(folder: Path) -> Iterator[Outcome]:
    """Return the outcome of every file."""
    code = folder / CODE
    with TemporaryDirectory() as home:
        work = Path(home)
        (work / "model.py").write_text(MODEL)
        (work / "rows.jsonl").write_text(
            "".join(json.dumps(ROW) + "\n" for _ in range(3))
        )
        _parquet(work / "parquet")
        yield from (
            _task(file, work) for file in sorted((code / "tasks").glob("register_*.py"))
        )
        yield from (
            _evaluator(file, work)
            for file in sorted((code / "evaluators").glob("register_*.py"))
        )
        yield from _scripts(code, work)


def _parquet(folder: Path) -> None:
    import datasets

    folder.mkdir()
    datasets.Dataset.from_list([ROW] * 3).to_parquet(
        str(folder / "test-00000-of-00001.parquet")
    )


def _task(file: Path, work: Path) -> Outcome:
    data = (
        "parquet" if "'parquet'" in file.read_text(encoding="utf-8") else "rows.jsonl"
    )
    done = assay(
        "run",
        str(file),
        "--data",
        data,
        "--model",
        "model.py:generate",
        "--json",
        folder=work,
    )
    if "registers no dataset" in done.stderr:
        return Outcome(
            "task", file.stem, State.LOADS, "registers nothing, as upstream wrote it"
        )
    return outcome("task", file.stem, done)


def _evaluator(file: Path, work: Path) -> Outcome:
    options = (
        "--dataset",
        "mmlu_pro",
        "--dataset-path",
        "parquet",
        "--evaluator",
        "mmlu_pro",
        "--json",
    )
    done = assay(
        "pipeline",
        "--register",
        str(file),
        *options,
        "--model",
        "model.py:generate",
        folder=work,
    )
    return outcome("evaluator", file.stem, done)


def _scripts(code: Path, work: Path) -> Iterator[Outcome]:
    model = ("--model-path", "model.py:generate")
    qa = (
        "--dataset",
        "qa",
        "--dataset-path",
        "rows.jsonl",
        "--evaluator",
        "generation",
        "--max-length",
        "4",
    )
    for name, *options in (
        ("run_pipeline.py", *model, *qa),
        ("run_mmlu_pro.py", *model, "--dataset-path", "parquet"),
        ("example_usage.py",),
    ):
        done = assay("python", "--upstream", str(code / name), *options, folder=work)
        yield outcome("script", name, done, runs="to its end")
