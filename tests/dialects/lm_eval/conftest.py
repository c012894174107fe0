"""What the tests of lm-eval tasks share: a working folder, YAML tasks and rows made on the spot."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

# A metric that lm-eval does not know is looked for on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

CHOICE_YAML = """
task: capitals
output_type: multiple_choice
dataset_path: json
training_split: train
test_split: test
doc_to_text: "Q: {{question}}\\nA:"
doc_to_choice: "{{options}}"
doc_to_target: gold
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
metadata: {version: 2.0}
"""
TEXT_YAML = """
task: sums
output_type: generate_until
dataset_path: json
test_split: test
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 8}
filter_list:
  - name: first
    filter: [{function: take_first}]
  - name: digits
    filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""


def pytest_collection_modifyitems(items):
    is_missing = importlib.util.find_spec("lm_eval") is None
    for item in items:
        is_ours = "dialects/lm_eval" in str(item.path)
        if is_ours and is_missing and not item.get_closest_marker("without_lm_eval"):
            item.add_marker(pytest.mark.skip(reason="pip install 'assay[lm-eval]'"))


def pytest_configure(config):
    config.addinivalue_line("markers", "without_lm_eval: needs no lm_eval package")


class Folder:
    """A working folder in which tasks and rows are written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return str(file)

    def rows(self, name: str, rows: list[dict]) -> str:
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def choices(self, count: int = 6, name: str = "choices.jsonl") -> str:
        options = ["Rome", "Oslo now", "Paris is it"]
        rows = [
            {"question": f"q{n}", "options": options, "gold": n % 3}
            for n in range(count)
        ]
        return self.rows(name, rows)

    def sums(self, count: int = 6, name: str = "sums.jsonl") -> str:
        rows = [{"question": f"{n} + 0", "answer": str(n)} for n in range(count)]
        return self.rows(name, rows)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder; the index of the package is kept elsewhere."""
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


@pytest.fixture
def choice_task(here):
    return here.write("choice.yaml", CHOICE_YAML)


@pytest.fixture
def text_task(here):
    return here.write("text.yaml", TEXT_YAML)
