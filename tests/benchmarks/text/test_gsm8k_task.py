"""GSM8K: the prompts, and the published verdicts on four models' solutions."""

import json
import re
from pathlib import Path

import pytest

from assay.benchmarks.text_tasks import gsm8k, gsm8k_completion
from assay.core import Output, Sample
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.scorers.math.numbers import Gsm8k

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "gsm8k"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def write_rows(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def numbered(kind: str, count: int) -> list[dict]:
    return [
        {"question": f"{kind} {i}?", "answer": f"It is {i}.\n#### {i}"}
        for i in range(count)
    ]


def published() -> list[dict]:
    path = DATA / "example_model_solutions_first200.jsonl"
    if not path.exists():
        pytest.skip("the published GSM8K solutions are not at hand")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("model", MODELS)
def test_the_published_verdicts_are_reproduced_by_numbers(model):
    rows = published()
    score = Gsm8k()

    ours = [
        score(
            Sample("a", target=row["ground_truth"]), Output.of(row[model]["solution"])
        ).value
        for row in rows
    ]

    assert [value["numeric"] == 1.0 for value in ours] == [
        row[model]["is_correct"] for row in rows
    ]
    assert len(rows) == 200


@pytest.mark.parametrize("model", MODELS)
def test_the_published_verdicts_are_reproduced_by_the_filters_once_the_answer_is_marked_as_in_the_data(
    model,
):
    rows = published()
    score = Gsm8k()

    def marked(text: str) -> str:
        return re.sub(r"(?m)^A: ", "#### ", text)

    ours = [
        score(
            Sample("a", target=marked(row["ground_truth"])),
            Output.of(marked(row[model]["solution"])),
        ).value
        for row in rows
    ]

    expected = [row[model]["is_correct"] for row in rows]
    assert [value["strict"] == 1.0 for value in ours] == expected
    assert [value["flexible"] == 1.0 for value in ours] == expected


def test_examples_come_from_train_if_the_data_has_it(tmp_path):
    write_rows(tmp_path / "test.jsonl", numbered("test", 3))
    write_rows(tmp_path / "train.jsonl", numbered("train", 9))
    model = Scripted("#### 1")

    result = run(gsm8k, model, data=str(tmp_path), output=str(tmp_path / "run"))

    texts = [
        message.text
        for message in model.calls[0].prompt.messages
        if message.role == "user"
    ]
    assert len(texts) == 6
    assert all(text.startswith("Question: train ") for text in texts[:-1])
    assert [r.value for r in result.results] == pytest.approx([1 / 3] * 3)


def test_without_train_the_examples_are_other_questions_of_the_same_file(tmp_path):
    write_rows(tmp_path / "test.jsonl", numbered("test", 7))
    model = Scripted("#### 1")

    run(gsm8k, model, data=str(tmp_path / "test.jsonl"), output=str(tmp_path / "run"))

    assert len(model.calls) == 7
    for call in model.calls:
        *shots, question = [
            message.text for message in call.prompt.messages if message.role == "user"
        ]
        assert len(shots) == 5 and question not in shots


def test_as_a_completion_the_prompt_is_one_text_that_ends_with_the_answer_begun(
    tmp_path,
):
    write_rows(tmp_path / "test.jsonl", numbered("test", 7))
    model = Scripted("#### 1")

    run(
        gsm8k_completion,
        model,
        data=str(tmp_path),
        limit=1,
        output=str(tmp_path / "run"),
    )

    prompt = model.calls[0].prompt
    assert not prompt.is_chat
    assert prompt.text.count("Question: ") == 6 and prompt.text.endswith(
        "Question: test 0?\nAnswer:"
    )
