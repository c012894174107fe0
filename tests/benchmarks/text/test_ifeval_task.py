"""IFEval end to end: GPT-4's published responses through the runner, beside the figures of the paper.

Published (arXiv 2311.07911, table 3, GPT-4): prompt strict 76.89, instruction strict 83.57, prompt loose 79.30,
instruction loose 85.37; the differences are explained in docs/ifeval.md.
"""

import json
from pathlib import Path

import pytest

from assay.benchmarks.text_tasks import ifeval
from assay.models.scripted import Scripted
from assay.runner.run import run

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "ifeval"
ANSWERS = DATA / "input_response_data_gpt4_20231107_145030.jsonl"
PUBLISHED = {
    "ifeval.prompt_strict": 0.7689,
    "ifeval.prompt_loose": 0.7930,
    "ifeval.instruction_strict": 0.8357,
    "ifeval.instruction_loose": 0.8537,
}


def test_the_published_responses_give_the_published_aggregates(tmp_path):
    pytest.importorskip("langdetect")
    if not ANSWERS.exists():
        pytest.skip("GPT-4's responses are not at hand")
    responses = [
        json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()
    ]
    prompts = [
        json.loads(line)
        for line in (DATA / "input_data.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    script = {
        row["prompt"]: answer["response"]
        for row, answer in zip(prompts, responses, strict=True)
    }

    results = run(
        ifeval, Scripted(script), data=str(DATA), output=str(tmp_path / "run")
    ).results

    assert {result.metric: result.value for result in results} == pytest.approx(
        PUBLISHED, abs=0.004
    )
    by_metric = {result.metric: result for result in results}
    assert by_metric["ifeval.prompt_strict"].value == pytest.approx(417 / 541)
    assert by_metric["ifeval.instruction_strict"].value == pytest.approx(698 / 834)
    kinds = by_metric["ifeval.instruction_strict"].groups["instruction"]
    assert len(kinds) == 25 and sum(kind.n for kind in kinds.values()) == 834
