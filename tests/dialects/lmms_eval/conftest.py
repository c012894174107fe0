"""What the tests of lmms-eval tasks share: a working folder with task files, and rows with images."""

import importlib.util
import io
from pathlib import Path

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

YAML = """
task: pictures
dataset_path: json
test_split: test
output_type: generate_until
doc_to_visual: !function utils.visual
doc_to_text: !function utils.text
doc_to_target: answer
generation_kwargs: {max_new_tokens: 8, until: ["x"], image_aspect_ratio: pad}
process_results: !function utils.results
metric_list:
  - {metric: score, aggregation: !function utils.percent, higher_is_better: true}
  - {metric: right, aggregation: mean, higher_is_better: true}
lmms_eval_specific_kwargs:
  default: {post_prompt: " In one word."}
metadata: {version: 1.0}
"""
HELPERS = """
def visual(doc):
    return [doc["image"].convert("RGB")]

def text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"] + lmms_eval_specific_kwargs["post_prompt"]

def results(doc, results):
    right = float(results[0] == doc["answer"])
    return {"score": {"id": doc["question"], "score": right}, "right": right, "unnamed": 1}

def percent(items):
    return 100 * sum(item["score"] for item in items) / len(items)
"""


def pytest_collection_modifyitems(items):
    is_missing = importlib.util.find_spec("lmms_eval") is None
    for item in items:
        is_ours = "dialects/lmms_eval" in str(item.path)
        if is_ours and is_missing and not item.get_closest_marker("without_lmms_eval"):
            reason = "pip install 'assay[lmms-eval]' and lmms_eval; `make interop-lmms` runs it"
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config):
    config.addinivalue_line("markers", "without_lmms_eval: needs no lmms_eval package")


class Folder:
    """A working folder in which tasks and rows are written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return str(file)

    def pictures(self, count: int = 6, name: str = "pictures.parquet") -> str:
        """Write rows whose answers are yes for odd numbers."""
        rows = []
        for number in range(count):
            buffer = io.BytesIO()
            Image.new("RGB", (8, 6), (number * 20, 9, 9)).save(buffer, "PNG")
            image = {"bytes": buffer.getvalue(), "path": None}
            answer = "yes" if number % 2 else "no"
            rows.append({"image": image, "question": f"q{number}?", "answer": answer})
        file = self.path / name
        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        return str(file)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


@pytest.fixture
def task(here):
    here.write("tasks/utils.py", HELPERS)
    return here.write("tasks/pictures.yaml", YAML)
