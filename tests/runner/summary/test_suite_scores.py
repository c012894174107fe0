"""Overall scores of suites: the weighted mean of their tasks as a row of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import registry
from assay.core import Sample, Suite, Task
from assay.models.scripted import Scripted


def task(name: str, count: int) -> Task:
    rows = [
        {"id": f"{name}{n}", "question": "?", "answer": "yes" if n % 2 else "no"}
        for n in range(count)
    ]
    return Task(name, rows, scorers=("includes",), protocol=f"{name}@plain")


def weights(sizes: Mapping[str, int]) -> Mapping[str, float]:
    return {"first": 0.75, "second": 0.25 * sizes["second"] / 4}


@pytest.fixture(scope="module")
def suite() -> Iterator[Suite]:
    suite = Suite("both", (task("first", 8), task("second", 4)), "", weights)
    registry.tasks.register("both")(suite)
    yield suite


def answer(request: Any) -> str:
    return "yes" if request.id.startswith("second") else "no"


def test_the_overall_score_weighs_the_tasks_and_has_an_interval(
    tmp_path: Path, suite: Suite
):
    done = assay.run("both", Scripted(lambda r: "yes"), output=str(tmp_path / "run"))

    *parts, overall = done.results
    assert [row.value for row in parts] == [0.5, 0.5]
    assert (overall.task, overall.metric, overall.value) == ("both", "overall", 0.5)
    assert overall.protocol == "both@plain"
    assert (overall.n, overall.n_expected) == (12, 12)
    low = parts[0].ci[0], parts[1].ci[0]
    below = ((0.75 * (0.5 - low[0])) ** 2 + (0.25 * (0.5 - low[1])) ** 2) ** 0.5
    assert overall.ci[0] == pytest.approx(0.5 - below)


def test_a_run_of_one_of_the_tasks_has_no_overall_score(tmp_path: Path, suite: Suite):
    done = assay.run(suite.tasks[0], Scripted(answer), output=str(tmp_path / "run"))

    assert [row.task for row in done.results] == ["first"]


def test_a_rescored_and_a_repeated_run_keep_the_overall_score(
    tmp_path: Path, suite: Suite
):
    first = assay.run("both", Scripted(answer), output=str(tmp_path / "run"))
    again = assay.run("both", Scripted(answer), output=str(tmp_path / "run"))
    rescored = assay.score(tmp_path / "run")

    values = [run.results[-1].value for run in (first, again, rescored)]
    assert values == [0.5, 0.5, 0.5]
    assert rescored.results[-1].metric == "overall"


@dataclass(frozen=True)
class ReadRow:
    """Turns a row into a sample; not hashable, because it holds a list."""

    columns: list[str]

    def __call__(self, row: Mapping[str, Any]) -> Sample:
        return Sample("", str(row[self.columns[0]]), str(row[self.columns[1]]))


def test_a_task_given_as_an_object_need_not_be_hashable(tmp_path: Path):
    rows = [{"question": "2 + 2?", "answer": "4"}]
    sums = Task("sums", rows, to_sample=ReadRow(["question", "answer"]))

    result = assay.run(
        [sums], lambda prompt: "4", scorers=["exact_match"], output=str(tmp_path)
    )

    assert [row.value for row in result.results] == [1.0]
