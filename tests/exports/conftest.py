"""A run with text, an image, reasoning, a failed sample and two models, for exporters."""

import json
from pathlib import Path

import pytest

from assay.cli.main import main

MODELS = """
def generate(messages):
    if "boom" in str(messages):
        raise ValueError("no answer for this")
    return "<think>hm</think>4"

def other(messages):
    return "5"
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run folder: of three samples one has an image and one fails."""
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8), (200, 10, 30)).save(tmp_path / "four.png")
    rows = [
        {"id": "a", "question": "2 + 2?", "answer": "4"},
        {"id": "b", "question": "What is drawn?", "image": "four.png", "answer": "4"},
        {"id": "c", "question": "boom?", "answer": "5"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "sums.jsonl").write_text(lines)
    (tmp_path / "m.py").write_text(MODELS)
    words = "run sums.jsonl --model m.py:generate --scorer exact_match -o out"
    main([*words.split(" "), "--on_error", "continue"])
    return tmp_path / "out"
