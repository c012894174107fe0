"""Prompts and loaders of the datasets that ship."""

import json
from pathlib import Path

import pytest
from pipeline_files import write_rows

from assay.dialects import protocol
from assay.dialects.pipeline.dataset_registry import DatasetRegistry, has_assay_wording
from assay.dialects.pipeline.pipeline_rows import load_jsonl

QUESTION = {
    "question": "Best metal?",
    "options": ["Iron", "Gold"],
    "category": "chemistry",
    "answer": "B",
}


def prompts_of(name: str, path: Path) -> list[str]:
    return [row["prompt"] for row in DatasetRegistry.load_dataset(name, str(path))]


def test_mmlu_pro_asks_in_upstreams_format(tmp_path: Path):
    file = write_rows(tmp_path / "rows.jsonl", [QUESTION, {**QUESTION, "category": ""}])

    assert prompts_of("mmlu_pro", file) == [
        "Category: chemistry\n\nUser: Best metal?\nA. Iron\nB. Gold\n\nAssistant:",
        "User: Best metal?\nA. Iron\nB. Gold\n\nAssistant:",
    ]
    [thought, _] = prompts_of("mmlu_pro_cot", file)
    assert thought.startswith(
        "Question: Best metal?\n\nA. Iron\nB. Gold\n\n"
    ) and thought.endswith(":")


def test_options_written_as_one_text_are_split_at_commas(tmp_path: Path):
    file = write_rows(tmp_path / "rows.jsonl", [{**QUESTION, "options": "Iron, Gold"}])

    assert "A. Iron\nB. Gold" in prompts_of("mmlu_pro", file)[0]


def test_a_json_file_that_is_one_object_is_one_row(tmp_path: Path):
    (tmp_path / "one.json").write_text(
        json.dumps({"problem": "1+1", "steps": [1], "answer": "2"})
    )

    assert prompts_of("math", tmp_path / "one.json") == ["Problem: 1+1\n\nSolution:\n"]


def test_load_jsonl_splits_rows_at_newlines_only(tmp_path: Path):
    questions = ["one\u2028two", "one\u2029two", "one\u0085two", "plain\r"]
    file = tmp_path / "rows.dat"
    lines = [json.dumps({"q": text}, ensure_ascii=False) for text in questions]
    file.write_bytes("\r\n".join(lines).encode() + b"\n")

    rows = load_jsonl(str(file))

    assert [row["q"] for row in rows] == questions


def test_a_passage_of_one_word_is_its_own_prompt(tmp_path: Path):
    assert prompts_of(
        "lambada", write_rows(tmp_path / "l.jsonl", [{"text": "Single"}])
    ) == ["Single"]


def test_whose_words_a_prompt_is_in_is_known():
    protocol.choose("pipeline", protocol.UPSTREAM)
    try:
        assert has_assay_wording("mmlu_pro_cot") and not has_assay_wording("mmlu_pro")
    finally:
        protocol.choose("pipeline", protocol.OURS)


TASK_FILE = """
from .dataset_registry import DatasetRegistry

DatasetRegistry.register(
    name="mmlu_pro_cot", loader=lambda path: [{}], prompt_template=lambda item: "in their words",
    description="theirs", default_batch_size=3,
)
"""
REGISTRY_FILE = """
class DatasetRegistry:
    pass

DatasetRegistry.register(name="lambada", loader=None, description="their words", default_batch_size=256)
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch):
    """A tree of upstream's shape, with other words in it, as the working folder."""
    code = tmp_path / "local_batch_benchmark"
    for part, text in (
        ("tasks", REGISTRY_FILE),
        ("evaluators", "class EvaluatorRegistry: pass"),
    ):
        (code / part).mkdir(parents=True)
        name = {"tasks": "dataset", "evaluators": "evaluator"}[part]
        (code / part / f"{name}_registry.py").write_text(text)
    (code / "tasks" / "register_mmlu_pro.py").write_text(TASK_FILE)
    monkeypatch.chdir(code)
    protocol.choose("pipeline", protocol.UPSTREAM)
    yield code
    protocol.choose("pipeline", protocol.OURS)


def test_a_checkout_at_hand_lends_its_words_and_sizes_as_upstream(checkout: Path):
    thinking, passages = (
        DatasetRegistry.get("mmlu_pro_cot"),
        DatasetRegistry.get("lambada"),
    )

    assert thinking is not None and passages is not None
    assert (thinking.prompt_template({}), thinking.default_batch_size) == (
        "in their words",
        3,
    )
    assert (passages.description, passages.default_batch_size) == ("their words", 256)
    assert not has_assay_wording("mmlu_pro_cot")


def test_by_default_a_checkout_lends_nothing(checkout: Path):
    protocol.choose("pipeline", protocol.OURS)
    passages = DatasetRegistry.get("lambada")

    assert passages is not None and passages.default_batch_size == 64
