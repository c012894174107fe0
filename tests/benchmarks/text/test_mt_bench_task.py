"""MT-Bench end to end: both turns graded, references where the categories have them, temperatures by category."""

import json
from pathlib import Path

import pytest

import assay
from assay.benchmarks.text_rows import _WORDING, _wording
from assay.core import UsageError
from assay.store import RunReader

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "mt_bench"
FILE = """
import json
def model(messages):
    return f"answer {len(messages)}"
def judge(messages):
    text = messages[-1]["content"]
    second = "TURN" in text or "answer 3" in text
    grade = 4 if second else 8
    return f"So: [[{grade}]]" if "[[5]]" in str(messages) else json.dumps({"score": grade})
"""


@pytest.fixture
def graded(tmp_path):
    (tmp_path / "mt.py").write_text(FILE)

    def run(task, data="mini", **options):
        file = f"{tmp_path / 'mt.py'}"
        options = {
            "judges": {"judge": f"{file}:judge"},
            "output": str(tmp_path / "run"),
            **options,
        }
        return assay.run(task, f"{file}:model", data=data, **options)

    return run


@pytest.mark.parametrize(
    ("task", "metric"), [("mt_bench", "judge"), ("mt_bench_published", "mt_bench")]
)
def test_both_turns_are_graded_by_category(graded, task, metric):
    results = {result.metric: result for result in graded(task).results}

    values = {
        name: results[f"{metric}.{name}"].value
        for name in ("overall", "round_1", "round_2")
    }
    assert values == {"overall": 6.0, "round_1": 8.0, "round_2": 4.0}
    assert set(results[f"{metric}.overall"].groups["category"]) == {
        "writing",
        "math",
        "reasoning",
        "humanities",
    }


def test_the_judge_sees_references_only_where_the_protocol_shows_them(graded, tmp_path):
    graded("mt_bench_published")

    asked = [
        record.prompt[-1]["content"]
        for record in RunReader(tmp_path / "run").outputs("mt_bench_published#judge")
    ]
    assert sum("[Reference]" in text or "References:" in text for text in asked) == 4
    assert any("References: 84 eggs. / 79 eggs are whole." in text for text in asked)


def test_the_category_sets_the_temperature_and_the_run_overrides_it(tmp_path):
    (tmp_path / "hot.py").write_text(
        "def generate(request):\n    return f'{request.options.temperature} {request.options.max_tokens}'\n"
    )

    def answers(**options):
        folder = tmp_path / str(len(options))
        model = f"{tmp_path / 'hot.py'}:generate"
        task = assay.Task(
            "hot", dataset=[{"id": "a", "question": "q", "answer": "a"}], template=_warm
        )
        assay.run(task, model, output=str(folder), **options)
        (record,) = RunReader(folder).outputs("hot")
        return record.output["candidates"][0]["text"]

    assert answers() == "0.7 None"
    assert answers(generation={"temperature": 0.0, "max_tokens": 9}) == "0.0 9"


def _warm(sample):
    return assay.Prompt(
        (assay.Message.of("user", "q"),), options=assay.GenerateOptions(temperature=0.7)
    )


def test_without_published_prompts_the_published_protocol_is_refused(graded, tmp_path):
    (tmp_path / "question.jsonl").write_text(
        '{"question_id": 1, "category": "math", "turns": ["a", "b"]}\n'
    )

    with pytest.raises(UsageError, match=r"judge_prompts.jsonl is missing"):
        graded("mt_bench_published", data=str(tmp_path / "question.jsonl"))


def test_published_prompts_may_contain_other_line_separators(tmp_path):
    file = tmp_path / "judge_prompts.jsonl"
    lines = []
    for names in _WORDING.values():
        for name in names:
            prompt = {"name": name, "prompt_template": "one\u2028two\u0085three"}
            lines.append(json.dumps(prompt, ensure_ascii=False))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    prompts = _wording(file)

    assert {entry["prompt_template"] for entry in prompts.values()} == {
        "one\u2028two\u0085three"
    }


def test_the_real_questions_have_their_references(graded, tmp_path):
    if not DATA.is_dir():
        pytest.skip("MT-Bench's questions are not at hand")

    result = graded("mt_bench_published", data=str(DATA))

    assert result.results[0].n == 80
    records = RunReader(tmp_path / "run").outputs("mt_bench_published#judge")
    asked = [json.dumps(record.prompt) for record in records]
    assert len(asked) == 160
    assert sum("Start of Reference Answer" in text for text in asked) == 60
