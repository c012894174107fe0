"""The built-in evaluators: their maths, their files, and what they refuse to guess."""

import json
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from pipeline_files import write_rows

import assay
from assay.core import Likelihood, Output
from assay.dialects.pipeline.pipeline_prompts import (
    first_letter,
    read_choice,
    right_letter,
)
from assay.models.scripted import Scripted
from assay.runner.options import RunOptions

BIGRAM = f"{Path(__file__).parents[3] / 'examples' / 'bigram.py'}:Bigram"


def evaluate(
    folder: Path,
    reference: str,
    rows: list[dict[str, Any]],
    model: Any,
    **settings: Any,
) -> Any:
    path = write_rows(folder / "rows.jsonl", rows)
    options = RunOptions(
        tasks=(reference,),
        data=str(path),
        dialect="pipeline",
        output=str(folder / "run"),
    )
    if isinstance(model, str):
        return assay.run(options=options.but(models=(model,), **settings))
    return assay.run(model=model, options=options.but(**settings))


def test_exact_match_ignores_case_and_blanks_and_accepts_references_other_than_text(
    tmp_path: Path,
):
    rows = [
        {"question": "1", "answer": " Paris"},
        {"question": "2", "answer": 0},
        {"question": "3", "answer": "no"},
    ]

    result = evaluate(
        tmp_path, "qa/exact_match", rows, Scripted(["paris ", "0", "yes"])
    )

    assert [(r.metric, r.value) for r in result] == [
        ("accuracy", 2 / 3),
        ("correct", 2.0),
        ("total", 3.0),
    ]


def test_perplexity_of_lambada_equals_the_one_computed_by_hand(tmp_path: Path):
    rows = [{"text": "the cat sat on the mat"}, {"text": "on the rug"}]

    result = evaluate(
        tmp_path,
        "lambada/perplexity",
        rows,
        BIGRAM,
        model_args={"text": "the cat sat on the mat ."},
    )

    # Words: . <unk> cat mat on sat the, so V = 7; `the` begins two pairs: P(mat | the) = 2/9, P(rug | the) = 1/9.
    assert result.value("perplexity") == pytest.approx(
        exp(-(log(2 / 9) + log(1 / 9)) / 2), abs=1e-4
    )
    assert (result.value("accuracy"), result.value("total")) == (0.0, 2.0)
    assert result[0].protocol == "lambada/perplexity@last_word"


def test_perplexity_is_by_item_not_by_token(tmp_path: Path):
    weights = {"one": -1.0, "two": -3.0}

    class Known:
        def generate(self, requests: Any) -> list[Output]:
            raise AssertionError("nothing is generated")

        def likelihood(self, requests: Any) -> list[Output]:
            words = [request.prompt.continuations[0] for request in requests]
            return [
                Output(likelihoods=(Likelihood(weights[word], word == "one", 5),))
                for word in words
            ]

    rows = [
        {"question": "a", "answer": "one", "text": "stray"},
        {"question": "b", "answer": "two", "text": "a stray"},
    ]

    result = evaluate(tmp_path, "qa/perplexity", rows, Known())

    assert result.value("perplexity") == pytest.approx(exp(2), abs=1e-4)
    assert result.value("accuracy") == 0.5
    assert result[0].protocol == "qa/perplexity@reference"


def test_a_text_of_one_word_has_no_target_and_is_a_counted_failure(tmp_path: Path):
    rows = [{"text": "the cat"}, {"text": "alone"}]

    result = evaluate(tmp_path, "completion/perplexity", rows, BIGRAM)

    assert (result.value("total"), result[0].n, result[0].n_expected) == (1.0, 1, 2)
    assert (result.status, result[0].outcomes) == ("partial", {"data_error": 1})
    assert "1: there is no target to score" in result.notes[0]


def test_perplexity_is_computed_again_from_the_journal(tmp_path: Path):
    rows = [{"text": "the cat sat on the mat"}, {"text": "on the rug"}]
    first = evaluate(tmp_path, "lambada/perplexity", rows, BIGRAM)

    again = assay.score(tmp_path / "run")

    assert again.value("perplexity") == first.value("perplexity")


def test_generation_writes_prompt_generated_and_reference(here: Path):
    rows = [{"question": "q", "answer": "a"}, {"question": "r", "answer": 0}]
    settings = json.dumps({"output_file": str(here / "out" / "texts.jsonl")})

    result = evaluate(
        here, f"qa/generation?{settings}", rows, Scripted(["one two", "three"])
    )

    lines = [
        json.loads(line)
        for line in (here / "out" / "texts.jsonl").read_text().splitlines()
    ]
    assert lines == [
        {"prompt": "Q: q\nA:", "generated": "one two", "reference": "a"},
        {"prompt": "Q: r\nA:", "generated": "three", "reference": 0},
    ]
    assert (
        result.value("total_samples"),
        result.value("total_tokens"),
        result.value("avg_length"),
    ) == (2, 3, 1.5)
    assert not list(here.glob("generation_outputs_*"))


def test_generation_names_its_file_by_the_time_by_default(here: Path):
    evaluate(here, "qa/generation", [{"question": "q"}], Scripted("x"))

    [file] = here.glob("generation_outputs_*.jsonl")
    assert json.loads(file.read_text())["generated"] == "x"


@pytest.mark.parametrize(
    ("answer", "ours", "upstream"),
    [
        ("The answer is C", "C", "H"),
        ("B", "B", "B"),
        ("(J)", "J", "J"),
        ("???", None, None),
    ],
)
def test_a_letter_is_read_where_it_is_an_answer(
    answer: str, ours: str | None, upstream: str | None
):
    raw = {"question": "?", "options": [f"option {n}" for n in range(10)]}

    assert read_choice(answer, raw) == ours
    assert first_letter(answer) == upstream


@pytest.mark.parametrize(
    ("reference", "letter"),
    [(0, "A"), (9, "J"), ("b", "B"), ("C. law", "C"), ("7", "7")],
)
def test_a_reference_may_be_an_index_or_a_letter(reference: Any, letter: str):
    assert right_letter(reference) == letter


def test_mmlu_pro_takes_ten_options_and_reports_by_subject(here: Path):
    options = [f"option {n}" for n in range(10)]
    rows = [
        {"question": "1", "options": options, "answer": "J", "category": "law"},
        {"question": "2", "options": options, "answer": 0, "category": "law"},
        {"question": "3", "options": options, "answer": "C", "category": "physics"},
    ]
    settings = json.dumps({"inferoutput": str(here / "answers.jsonl")})
    model = Scripted(["The answer is J", "The answer is B", "C"])

    result = evaluate(here, f"mmlu_pro/mmlu_pro?{settings}", rows, model)

    assert (result.value("accuracy"), result.value("num_subjects")) == (2 / 3, 2.0)
    assert (
        result.value("subject_accuracies.law"),
        result.value("subject_accuracies.physics"),
    ) == (0.5, 1.0)
    lines = [
        json.loads(line) for line in (here / "answers.jsonl").read_text().splitlines()
    ]
    assert set(lines[0]) == {
        "question",
        "options",
        "category",
        "prompt",
        "prediction",
        "predicted_answer",
        "correct_answer",
        "is_correct",
    }
    pairs = [(line["predicted_answer"], line["correct_answer"]) for line in lines]
    assert pairs == [("J", "J"), ("B", "A"), ("C", "C")]


def test_mmlu_pro_as_upstream_is_a_protocol_of_its_own(here: Path):
    rows = [{"question": "1", "options": ["a", "b", "c"], "answer": "C"}]

    result = evaluate(
        here, "mmlu_pro/mmlu_pro@upstream", rows, Scripted("The answer is C")
    )

    assert (result[0].protocol, result.value("accuracy")) == (
        "mmlu_pro/mmlu_pro@upstream",
        0.0,
    )
