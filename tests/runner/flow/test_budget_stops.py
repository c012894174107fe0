"""`--budget`: a run stops cleanly, says so, and goes on with a larger one."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

import assay
from assay.core import Output, Usage, UsageError
from assay.runner.resume.spent import SECONDS

ROWS = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(300)]


def counting(text):
    return replace(Output.of("y"), usage=Usage(90, 10))


def task(name="sums", **more):
    return assay.Task(name, dataset=ROWS, scorers="exact_match", **more)


def run(folder, model=counting, tasks=None, **settings):
    return assay.run(
        tasks or task(), model, output=str(folder), batch_size=10, **settings
    )


def asked(folder):
    return sum(
        '"kind":"output"' in line
        for line in (Path(folder) / "records.jsonl").read_text().splitlines()
    )


def test_a_spent_budget_ends_the_run_as_partial_with_what_was_answered(tmp_path):
    result = run(tmp_path, budget="5k_tokens")

    assert (result.status, result.exit_code) == ("partial", 3)
    assert 50 <= result[0].n <= 80 and result[0].n_expected == 300
    [said] = [
        note
        for note in result.notes
        if note.startswith("--budget 5k_tokens is spent (5,")
    ]
    assert said.endswith("the same command with a larger --budget continues")


def test_a_resumed_run_counts_earlier_spending_and_a_larger_budget_continues(tmp_path):
    first = run(tmp_path, budget="5k_tokens")

    again = run(tmp_path, budget="5k_tokens")
    assert (again[0].n, again.status) == (first[0].n, "partial"), (
        "nothing more is asked, nothing is forgotten"
    )
    more = run(tmp_path, budget="12k_tokens")
    rest = run(tmp_path)

    assert 120 <= more[0].n <= 150
    assert (rest.status, rest[0].n, asked(tmp_path)) == ("complete", 300, 300)


def test_tasks_that_were_answered_before_keep_their_numbers(tmp_path):
    tasks = [task("one"), task("two")]
    run(tmp_path, tasks=tasks, limit=20)

    result = run(tmp_path, tasks=tasks, budget="4k_tokens", limit=30)

    assert [(row.task, row.n) for row in result] == [("one", 20), ("two", 20)]
    assert result.status == "partial"


def test_a_budget_of_time_ends_a_slow_run(tmp_path):
    def slow(text):
        time.sleep(0.02)
        return "y"

    result = run(tmp_path, slow, budget="0.2s")

    assert result.status == "partial" and result[0].n < 300
    assert json.loads((tmp_path / "run.json").read_text())[SECONDS] >= 0.2
    again = run(tmp_path, slow, budget="0.2s")
    assert again[0].n == result[0].n, "the time of the run before counts"


def test_money_is_watched_by_the_prices_and_an_unknown_cost_ends_with_the_first_answers(
    tmp_path,
):
    unknown = run(tmp_path / "a", budget="1usd")
    priced = run(
        tmp_path / "b",
        budget="0.05usd",
        model_args={"price_input": 10, "price_output": 10},
    )

    assert unknown[0].n <= 20
    assert any(
        "what counting costs is not known; fix: the prices" in note
        for note in unknown.notes
    )
    assert 50 <= priced[0].n <= 80, "0.001 for each answer"


def test_answers_of_a_judge_count(tmp_path):
    (tmp_path / "judge.py").write_text(
        "from dataclasses import replace\n\nfrom assay.core import Output, Usage\n\n\ndef generate(text):\n"
        '    return replace(Output.of(\'{"score": 5, "reason": "fine"}\'), usage=Usage(900, 100))\n'
    )
    judged = assay.Task("essays", dataset=ROWS, scorers="judge")
    judges = {"judge": f"{tmp_path}/judge.py:generate"}

    result = run(
        tmp_path / "run",
        tasks=judged,
        judges=judges,
        budget="20k_tokens",
        concurrency=1,
    )

    assert result.status == "partial"
    assert asked(tmp_path / "run") < 150, (
        "300 answers of the model alone would have been within the budget of 30k"
    )


def test_a_wrong_amount_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="--budget '5euro' is not an amount"):
        run(tmp_path / "run", budget="5euro")

    assert not (tmp_path / "run").exists()


def test_an_evaluator_that_drives_the_model_can_be_stopped_and_resumed(tmp_path):
    from assay.core import Message, Prompt

    def drive(engine):
        said = []
        for row in ROWS:
            said += engine.generate(
                [Prompt((Message.of("user", row["question"]),))], ids=[row["id"]]
            )
        return {"right": sum(output.text == "y" for output in said) / len(said)}

    driven = assay.Task("driven", dataset=ROWS, driver=drive)

    stopped = assay.run(driven, counting, output=str(tmp_path), budget="5k_tokens")
    asked_first = asked(tmp_path)
    whole = assay.run(driven, counting, output=str(tmp_path))

    assert stopped.status == "partial" and 50 <= asked_first < 60
    assert (whole.status, whole.results[0].value, asked(tmp_path)) == (
        "complete",
        1,
        300,
    )
