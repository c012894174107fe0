"""A TELEVAL project in a folder: a registry, classes under `src/`, and data."""

import json
import math
import struct
import wave
from pathlib import Path

import pytest
import yaml

from assay.dialects.televal.televal_command import CommandLine, execute
from assay.runner.events import Silent
from assay.runner.options import RunOptions
from assay.runner.run import run

ECHO = """
from src.models.base import Model

class Echo(Model):
    def __init__(self, path="", sample_params=None, log=None):
        super().__init__(sample_params)
        self.log = log

    def generate_once(self, audio, **kwargs):
        return {"pred": f"echo {kwargs['query']}"}
"""
CONTAINS = """
from src.utils import parallel_batch

class Contains:
    def __init__(self, max_workers=None):
        self.max_workers = max_workers

    @parallel_batch(default_workers=4)
    def evaluate(self, pred, ref, pred_info, **kwargs):
        return {"key": pred_info["key"], "score": int(str(ref) in pred)}
"""


class Project:
    """What a user has on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = root / "registry"
        self.args = {
            "infer_task": {
                "dataset": "data",
                "template": "ask",
                "model": "echo",
                "eval_task": "judge",
            },
            "eval_task": {"evaluator": "contains", "summarizer": "avg"},
            "dataset": {
                "file": "data/rows.jsonl",
                "ref_col": "answer",
                "query_col": "query",
            },
        }
        self.entry(
            "infer_task", "task", "src.config.InferTaskCfg", self.args["infer_task"]
        )
        self.entry(
            "eval_task", "judge", "src.config.EvalTaskCfg", self.args["eval_task"]
        )
        self.entry("dataset", "data", "src.dataset.BatchLoader", self.args["dataset"])
        text = [{"role": "user", "content": {"text": "{{query}}"}}]
        self.entry(
            "template", "ask", "src.prompt.template.DataTemplate", {"template": text}
        )
        self.entry("model", "echo", "src.models.echo.Echo", {"path": "weights"})
        self.entry("evaluator", "contains", "src.evaluator.contains.Contains", {})
        self.entry("summarizer", "avg", "src.summarizer.summarizer.AvgInfo", {})
        self.write("src/models/echo.py", ECHO)
        self.write("src/evaluator/contains.py", CONTAINS)
        self.rows(
            {"key": "a", "query": "is it 1949?", "answer": "1949"},
            {"key": "b", "query": "null", "answer": "no"},
        )

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def entry(self, kind: str, name: str, cls: str, args: dict) -> Path:
        """One YAML file for each entry."""
        return self.write(
            f"registry/{kind}/{name}.yaml",
            yaml.safe_dump({name: {"class": cls, "args": args}}),
        )

    def change(self, kind: str, name: str, **args) -> None:
        """The entry with some arguments changed."""
        file = self.registry / kind / f"{name}.yaml"
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))
        plain[name]["args"].update(args)
        file.write_text(yaml.safe_dump(plain), encoding="utf-8")

    def rows(self, *rows: dict, file: str = "data/rows.jsonl") -> Path:
        return self.write(
            file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        )

    def wav(
        self, path: str, rate: int = 16000, channels: int = 1, seconds: float = 0.1
    ) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(file), "wb") as sound:
            sound.setnchannels(channels)
            sound.setsampwidth(2)
            sound.setframerate(rate)
            for frame in range(int(rate * seconds)):
                value = int(8000 * math.sin(frame * 440 * 2 * math.pi / rate))
                sound.writeframes(struct.pack("<h", value) * channels)
        return file

    def model(self, code: str) -> None:
        """Another body for the class `Echo`; one that is built from nothing gets no arguments."""
        if "__init__" not in code:
            self.entry("model", "echo", "src.models.echo.Echo", {})
        self.write(
            "src/models/echo.py",
            f"import json\nfrom src.models.base import Model\n\nclass Echo(Model):\n{code}",
        )

    def run(self, *tasks: str, output: str = "out", **settings):
        """Run `assay run registry/ --tasks …`."""
        settings = {"dialect": "televal", **settings}
        return run(
            [str(self.registry), *tasks], output=str(self.root / output), **settings
        )

    def televal(
        self, mode: str, task: str = "task", base: RunOptions | None = None, **asked
    ):
        """Run `assay televal --mode … --task …`."""
        given = CommandLine(
            mode, task, str(self.registry), save_dir=str(self.root / "save"), **asked
        )
        return execute(given, base or RunOptions(), Silent())

    def lines(self, path: str) -> list:
        return [
            json.loads(line)
            for line in (self.root / path).read_text(encoding="utf-8").splitlines()
        ]

    def records(self, output: str = "out", kind: str = "output") -> list:
        return [
            record
            for record in self.lines(f"{output}/records.jsonl")
            if record["kind"] == kind
        ]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")
