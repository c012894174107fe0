"""A folder with three rows and two models, and a way to call the command line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.cli.main import main

sys.path.insert(
    0, str(Path(__file__).parent)
)  # the planted faults lie beside the tests


class Said(NamedTuple):
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """The one document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [("2+2?", "4"), ("3+3?", "6"), ("5+5?", "10")]
    lines = [
        json.dumps({"question": question, "answer": answer})
        for question, answer in rows
    ]
    (tmp_path / "sums.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "four.py").write_text(
        "def generate(messages):\n    print('loading')\n    return '4'\n"
    )
    (tmp_path / "adder.py").write_text(
        "def generate(messages):\n    return str(2 * int(messages[-1]['content'][0]))\n"
    )
    monkeypatch.delenv("COLUMNS", raising=False)  # lines would be folded to it
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def assay(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def call(*arguments: str) -> Said:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return call
