"""The error budget: infrastructure errors only, and the table always says how many."""

from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, ErrorBudgetExceeded, ErrorInfo, Output, UsageError
from assay.runner.counts.budget import ErrorBudget

ERROR = ErrorInfo("http", "500")


class Failing:
    """Fails on every sample whose number is in `bad`; asked one by one, in order."""

    abilities = Abilities()
    identity: ClassVar = {"failing": 1}
    concurrency = 1

    def __init__(self, bad, kind="exception"):
        self.bad, self.kind, self.calls = bad, kind, 0

    async def generate(self, requests):
        self.calls += 1
        if int(requests[0].id) in self.bad:
            return [Output.failed(self.kind, "no", retryable=False)]
        return [Output.of("x")]


def task(count):
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(count)]
    return assay.Task("t", dataset=rows, scorers="exact_match")


def spend(policy, errors, expected):
    budget = ErrorBudget(policy)
    for number in range(1, errors + 1):
        budget.note(ERROR)
        budget.check(number, expected)


@pytest.mark.parametrize(
    ("policy", "allowed", "expected"),
    [
        ("stop", 0, 1000),
        ("0.05", 50, 1000),
        ("0.05", 5, 10),
        ("3", 3, 1000),
        ("0", 0, 1000),
        ("1", 1, 10),
    ],
)
def test_a_policy_allows_so_many_errors_and_not_one_more(policy, allowed, expected):
    spend(policy, allowed, expected)

    with pytest.raises(
        ErrorBudgetExceeded, match=f"stopped after {allowed + 1} infrastructure error"
    ):
        spend(policy, allowed + 1, expected)


def test_continue_never_stops():
    spend("continue", 10_000, 10)


@pytest.mark.parametrize("policy", ["never", "-1", "5%", "nan"])
def test_a_wrong_policy_is_refused_before_anything_is_written(policy, tmp_path):
    with pytest.raises(UsageError, match="--on_error takes stop, continue"):
        assay.run(
            task(3), Failing(set()), on_error=policy, output=str(tmp_path / "run")
        )

    assert not (tmp_path / "run").exists()


def test_three_refused_keys_in_a_row_stop_whatever_the_policy(tmp_path):
    model = Failing(set(range(100)), kind="auth")

    result = assay.run(
        task(100), model, on_error="continue", output=str(tmp_path / "run")
    )

    assert result.status == "failed" and model.calls <= 5
    assert any("refused the key 3 times in a row" in note for note in result.notes)


def test_refused_keys_between_answers_do_not_stop(tmp_path):
    model = Failing({1, 3, 5, 7}, kind="auth")

    result = assay.run(
        task(10), model, on_error="continue", output=str(tmp_path / "run")
    )

    assert result.status == "partial" and model.calls == 10


def test_a_stopped_run_keeps_its_answers_and_continues_where_it_stopped(tmp_path):
    first = Failing({4})
    stopped = assay.run(task(10), first, on_error="stop", output=str(tmp_path / "run"))

    second = Failing(set())
    done = assay.run(task(10), second, on_error="stop", output=str(tmp_path / "run"))

    assert (stopped.status, stopped.exit_code, first.calls) == ("failed", 1, 5)
    assert (
        stopped[0].n == 4
        and stopped[0].n_expected == 10
        and stopped[0].outcomes["model_error"] == 1
    )
    assert (done.status, second.calls, done[0].n) == ("complete", 6, 10)


def test_below_the_budget_a_run_is_partial_and_says_how_many(tmp_path):
    result = assay.run(task(10), Failing({4, 5}), output=str(tmp_path / "run"))

    assert (result.status, result.exit_code) == ("partial", 3)
    assert dict(result[0].outcomes) == {"scored": 8, "model_error": 2}


def test_rows_that_cannot_be_asked_never_count(tmp_path):
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(10)]

    def prompt(sample):
        if int(sample.id) < 9:
            raise ValueError("no such column")
        return "hi"

    result = assay.run(
        assay.Task("t", dataset=rows, template=prompt, scorers="exact_match"),
        Failing(set()),
        on_error="stop",
        output=str(tmp_path / "run"),
    )

    assert result.status == "partial" and dict(result[0].outcomes) == {
        "scored": 1,
        "data_error": 9,
    }


def test_a_message_has_one_remedy_that_of_the_first_failure_first():
    budget = ErrorBudget("stop")
    budget.note(ErrorInfo("connection", "cannot connect; fix: start the server"))

    with pytest.raises(ErrorBudgetExceeded) as stopped:
        budget.check(1, 10)

    line = str(stopped.value)
    assert (
        "stopped after 1 infrastructure error, the first: connection: cannot connect; fix: start the server"
        in line
    )
    assert line.count("fix:") == 1 and "and rerun the command" in line
