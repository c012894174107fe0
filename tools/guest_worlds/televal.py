"""What of a TELEVAL checkout runs here: its registry, kind by kind, and its infer tasks to a number.

The registry stays where it is; data with the columns it asks for lies in a folder of its own, which is the working
folder. A tiny model answers, and helpers that give fixed verdicts judge, listen and transcribe.
"""

import contextlib
import io
import json
import math
import re
import struct
import tempfile
import warnings
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core import AssayError
from assay.dialects.televal.claims import kinds_in
from assay.dialects.televal.task_builder import TaskBuilder
from assay.dialects.televal.televal_command import CommandLine, execute
from assay.dialects.televal.tree import Entry, Tree, read_tree
from assay.runner.events import Silent
from assay.runner.options import RunOptions

from .outcome import Outcome, State

TINY = """
import numpy, soundfile
from src.models.base import Model

class Tiny(Model):
    def generate_once(self, audio, **kwargs):
        return self._say("答案是A", kwargs)

    def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
        return self._say("东京", kwargs)

    def _say(self, text, kwargs):
        if not kwargs.get("pred_audio"):
            return {"pred": text}
        soundfile.write(kwargs["pred_audio"], numpy.zeros(16000) + 0.01, 16000)
        return {"pred": text, "pred_audio": kwargs["pred_audio"]}
"""
HELPERS = """
import json

def judge(messages):
    return json.dumps({"Explanation": "fixed", "Score": 4})

def asr(messages):
    return "答案是A"

def emotion(messages):
    return json.dumps({"happy": 0.6, "neutral": 0.3})

def dialect(messages):
    return json.dumps({"ct": 0.9, "mand": 0.1})
"""
ROLES = ("judge", "asr", "emotion", "dialect")
INSTEAD = {"emotion_understand": "empathetic_response"}
"""An eval task that upstream's registry names and does not have, and the one that its comment names beside it."""
KINDS = ("dataset", "template", "evaluator", "summarizer", "eval_task", "model")
_NAME = re.compile(r"\{\{\s*(?!getvar)([A-Za-z_]\w*)|getvar\(\"([a-z_]+)\"\s*~")


def is_checkout(folder: Path) -> bool:
    """Whether a folder is a checkout of TELEVAL."""
    return (
        len(kinds_in(folder / "registry")) > 3
        and (folder / "src" / "task.py").is_file()
    )


def survey(folder: Path) -> Iterator[Outcome]:
    """Every entry of the registry, every infer task, and the scripts."""
    tree = read_tree(folder / "registry")
    with (
        tempfile.TemporaryDirectory() as made,
        contextlib.chdir(made),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        here = Path(made)
        (here / "src" / "models").mkdir(parents=True)
        (here / "src" / "models" / "tiny.py").write_text(TINY, encoding="utf-8")
        (here / "helpers.py").write_text(HELPERS, encoding="utf-8")
        _write_data(tree, here)
        for kind in KINDS:
            yield from (
                _built(tree, entry)
                for entry in tree.entries[kind].values()
                if entry.cls
            )
        for name in tree.names("infer_task"):
            yield _run(folder, tree, name, here)


def _built(tree: Tree, entry: Entry) -> Outcome:
    """Whether an entry can be built; of a model, whether its class can be imported."""
    builder = TaskBuilder(tree, roles=frozenset(ROLES))
    fault = builder.classes.fault(entry) or next(iter(tree.reached([entry])[1]), None)
    if fault is not None:
        return Outcome(entry.kind, entry.name, State.FAILS, str(fault))
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            if entry.kind == "model":
                builder.classes.find(entry)
            elif entry.kind == "dataset":
                builder.loader(entry.name)
            else:
                builder.build(entry)
    except Exception as error:  # noqa: BLE001 - what became of it is what is asked
        missing = _missing_package(error)
        state = State.PACKAGE if missing else State.FAILS
        return Outcome(
            entry.kind, entry.name, state, missing or f"{type(error).__name__}: {error}"
        )
    return Outcome(entry.kind, entry.name, State.LOADS)


def _missing_package(error: BaseException | None) -> str | None:
    while error is not None:
        if (
            isinstance(error, ModuleNotFoundError)
            and error.name
            and not error.name.startswith("src")
        ):
            return error.name
        error = error.__cause__ or error.__context__
    return None


def _run(folder: Path, tree: Tree, name: str, here: Path) -> Outcome:
    """One infer task: asked, judged by its own eval task, and summed up."""
    base = RunOptions(
        judges={role: f"{here}/helpers.py:{role}" for role in ROLES}, limit=2
    )
    model = f"{here}/src/models/tiny.py:Tiny"
    shared = {
        "registry": str(folder / "registry"),
        "save_dir": str(here / "save"),
        "model": model,
    }
    own = str(tree.entries["infer_task"][name].args.get("eval_task"))
    instead = None if own in tree.entries["eval_task"] else INSTEAD.get(own)
    # The evaluators that listen need a sound, whatever the task itself saves.
    try:
        execute(
            CommandLine("infer", name, save_pred_audio=True, **shared), base, Silent()
        )
        result, _ = execute(
            CommandLine("eval", name, eval_task=instead, **shared), base, Silent()
        )
    except AssayError as error:
        return Outcome("infer_task", name, State.FAILS, str(error))
    numbers = [
        row.value
        for row in result.results
        if row.value is not None and math.isfinite(row.value)
    ]
    if not numbers:
        return Outcome("infer_task", name, State.FAILS, "no number")
    by = f" by --eval_task {instead}" if instead else ""
    return Outcome("infer_task", name, State.RUNS, f"{numbers[0]:.4g}{by}")


def _write_data(tree: Tree, here: Path) -> None:
    """Two rows of Parquet for each dataset, at the path the registry gives, with the columns its tasks ask for."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for entry in tree.entries["dataset"].values():
        path = Path(str(entry.args.get("file", "")))
        if path.is_absolute() or len(path.parts) < 2 or path.suffix == ".jsonl":
            continue
        columns = _columns(tree, entry)
        rows = [_row(str(n), columns, entry, tree) for n in range(2)]
        (here / path).mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), here / path / "test.parquet")


def _columns(tree: Tree, dataset: Entry) -> set[str]:
    args = dataset.args
    names = {
        str(args[part])
        for part in ("key_col", "ref_col", "query_col")
        if args.get(part)
    }
    names |= {"key", "query", "answer", *(args.get("extra_col") or [])}
    for task in tree.entries["infer_task"].values():
        used = task.args.get("dataset")
        if dataset.name in (used if isinstance(used, list) else [used]):
            template = tree.entries["template"].get(str(task.args.get("template")))
            text = json.dumps(template.args if template else {})
            for alone, numbered in _NAME.findall(text.replace('\\"', '"')):
                names |= {alone} if alone else {f"{numbered}1", f"{numbered}2"}
    return names - {"getvar", "i", "loop"}


def _row(key: str, columns: set[str], dataset: Entry, tree: Tree) -> dict[str, Any]:
    is_choice = any(
        task.args.get("eval_task") == "choice"
        and task.args.get("dataset") == dataset.name
        for task in tree.entries["infer_task"].values()
    )
    row: dict[str, Any] = {}
    for name in sorted(columns):
        if name == "key":
            row[name] = key
        elif name == "nrounds":
            row[name] = 2
        elif "audio" in name:
            row[name] = {"bytes": _wav(), "path": None} if "bot" not in name else None
        elif name == "answer_emo":
            row[name] = ["happy", "neutral"]
        elif name == dataset.args.get("ref_col"):
            row[name] = (
                "A" if is_choice else '["东京", "答案"]' if name == "answer" else "粤语"
            )
        else:
            row[name] = f"{name} {key}"
    return row


def _wav() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(
            b"".join(
                struct.pack("<h", int(3000 * math.sin(n / 6))) for n in range(1600)
            )
        )
    return stream.getvalue()
