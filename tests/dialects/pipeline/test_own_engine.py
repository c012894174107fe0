"""Built-in evaluators and pipelines on an engine of the user's own, which has only what the documents name."""

import json
from pathlib import Path

import numpy
import pytest
from pipeline_cases import OwnEngine
from pipeline_files import write_rows

from assay.dialects.pipeline import script_names as pipeline
from assay.dialects.pipeline.dataset_registry import DatasetRegistry
from assay.dialects.pipeline.evaluator_registry import EvaluatorRegistry

ROWS = [
    {"prompt": "1+1=", "reference": "2", "raw": {}},
    {"prompt": "2+2=", "reference": "5", "raw": {}},
]


class Twos:
    """Writes a 2, and knows nothing but the two methods."""

    def generate_batch(self, prompts, max_length=100, noise=0.0):
        tokens = numpy.zeros((len(prompts), max_length), int)
        tokens[:, 0] = ord("2")
        return tokens, 0.5

    def decode_tokens(self, tokens):
        return ["".join(chr(token) for token in row if token) for row in tokens]


def test_exact_match_and_mmlu_pro_drive_a_users_engine():
    assert EvaluatorRegistry.evaluate("exact_match", Twos(), ROWS) == {
        "accuracy": 0.5,
        "correct": 1,
        "total": 2,
    }
    letters = [{"prompt": "?", "reference": "A", "raw": {"options": ["2", "3"]}}]
    assert EvaluatorRegistry.evaluate("mmlu_pro", Twos(), letters)["total"] == 1


def test_generation_counts_the_tokens_and_seconds_of_a_users_engine(
    tmp_path: Path,
):
    file = tmp_path / "out.jsonl"

    made = EvaluatorRegistry.evaluate(
        "generation", Twos(), ROWS, max_length=4, batch_size=1, output_file=str(file)
    )

    assert (made["total_tokens"], made["total_time"], made["throughput"]) == (
        8,
        1.0,
        8.0,
    )
    assert [
        json.loads(line)["generated"] for line in file.read_text().splitlines()
    ] == ["2", "2"]


def test_perplexity_uses_the_logits_of_a_users_engine():
    pytest.importorskip("torch")

    made = EvaluatorRegistry.evaluate(
        "perplexity", OwnEngine(), [{"prompt": "the", "reference": " and", "raw": {}}]
    )

    assert made["total"] == 1 and made["perplexity"] > 1 and made["mode"] == "reference"


def test_a_row_without_a_target_is_left_out_with_a_warning_where_no_run_can_count_it():
    pytest.importorskip("torch")
    rows = [
        {"prompt": "the", "reference": " and", "raw": {}},
        {"prompt": "x", "reference": "", "raw": {}},
    ]

    with pytest.warns(
        UserWarning, match="a row is left out: there is no target to score"
    ):
        made = EvaluatorRegistry.evaluate("perplexity", OwnEngine(), rows)

    assert made["total"] == 1


def test_a_pipeline_drives_the_engine_that_was_put_into_it(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "qa.jsonl", [{"question": "1+1?", "answer": "2"}])
    made = pipeline.EvaluationPipeline(
        "any/model", output_dir=str(tmp_path / "results")
    )
    made.engine = Twos()

    result = made.run("qa", "qa.jsonl", "exact_match")

    assert result["metrics"]["accuracy"] == 1.0 and result["dataset"]["size"] == 1
    assert [
        file.suffix for file in (tmp_path / "results").glob("qa_exact_match_*")
    ] == [".json"]


def test_rows_that_could_not_be_loaded_are_reported_with_the_numbers():
    DatasetRegistry.register(
        "odd", lambda path: [{"a": "1"}, {}], lambda item: item["a"]
    )
    with pytest.warns(UserWarning, match=r"1 of 2 rows left out.*KeyError"):
        data = DatasetRegistry.load_dataset("odd", "x")

    with pytest.warns(UserWarning, match="the numbers leave out 1 of 2 rows"):
        made = EvaluatorRegistry.evaluate("exact_match", Twos(), data)

    assert (made["total"], made["left_out"]) == (1, 1)
