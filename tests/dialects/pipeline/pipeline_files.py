"""Files as users of the pipeline dialect write them, and a model that logs what it is asked."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REGISTER = """
from dataset_registry import DatasetRegistry
from evaluator_registry import EvaluatorRegistry
import json


def load_exam(path: str):
    with open(path, "r", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def exam_prompt(item: dict) -> str:
    labels = ["A", "B", "C", "D"]
    options = "\\n".join([f"{labels[i]}. {opt}" for i, opt in enumerate(item["options"])])
    return f"Question: {item['question']}\\n\\n{options}\\n\\nAnswer:"


def exam_evaluator(engine, data, batch_size=64, **kwargs):
    correct = 0
    for i in range(0, len(data), batch_size):
        batch = data[i:i + batch_size]
        tokens, _ = engine.generate_batch([item["prompt"] for item in batch], max_length=10)
        for pred, item in zip(engine.decode_tokens(tokens), batch):
            correct += pred.strip()[:1] == item["reference"]
    return {"accuracy": correct / len(data), "correct": correct, "total": len(data)}


DatasetRegistry.register(
    name="exam", loader=load_exam, prompt_template=exam_prompt, description="an exam", default_batch_size=4,
    default_max_length=10,
)
EvaluatorRegistry.register(
    name="exam", evaluator=exam_evaluator, description="letters", metrics=["accuracy", "correct", "total"]
)
"""

MODEL = """
import os, time

def generate(messages):
    question = messages[-1]["content"]
    log = os.environ.get("CALL_LOG")
    if log:
        with open(log, "a") as file:
            file.write(repr(question) + "\\n")
    time.sleep(float(os.environ.get("CALL_DELAY", "0")))
    return " B. because"
"""


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def exam_rows(count: int, too_many: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Rows whose answer is B every other time; those of `too_many` have more options than the prompt has letters."""
    return [
        {
            "question": f"number {n}?",
            "options": ["w", "x", "y", "z"] * (3 if n in too_many else 1),
            "answer": "B" if n % 2 else "A",
        }
        for n in range(count)
    ]


def make_exam(folder: Path, count: int = 10, too_many: Sequence[int] = ()) -> Path:
    """A folder with `register_exam.py`, `exam.jsonl` and `model.py`."""
    (folder / "register_exam.py").write_text(REGISTER, encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    write_rows(folder / "exam.jsonl", exam_rows(count, too_many))
    return folder
