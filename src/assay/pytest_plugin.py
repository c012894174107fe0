"""The pytest plugin: the fixture `assay_run`, and assertions on metrics that are decided by their intervals.

pytest loads this module in every session in which assay is installed, so it imports
nothing else of assay until the fixture is used.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .comparison.gate import Check
    from .runner.result import RunResult


class LimitMissed(AssertionError):
    """Raised if the whole interval of a metric is on the wrong side of its limit."""


class NotEnoughSamples(AssertionError):
    """Raised if the interval of a metric contains its limit.

    The message has the number of samples that would decide.
    """


class CheckedRun:
    """The result of a run inside a test."""

    def __init__(self, result: "RunResult") -> None:
        self.result = result

    @property
    def folder(self) -> Path:
        """The run folder, for `assay view` and `assay compare`."""
        return self.result.folder

    def value(
        self,
        metric: str,
        task: str | None = None,
    ) -> float | None:
        """Return the value of a metric."""
        return self.result.value(metric, task)

    def at_least(
        self,
        metric: str,
        limit: float,
        task: str | None = None,
    ) -> bool:
        """Return True if the 95 % interval of a metric is at or above `limit`; otherwise raise with the reason.

        `LimitMissed` means that the metric is too low, `NotEnoughSamples` that more samples are needed to decide.
        """
        __tracebackhide__ = True
        return self._check(metric, task, min_value=limit)

    def at_most(
        self,
        metric: str,
        limit: float,
        task: str | None = None,
    ) -> bool:
        """Return True if the 95 % interval of a metric is at or below `limit`.
        Otherwise raise, as `at_least` does.

        Use this method for metrics where lower is better.
        """
        __tracebackhide__ = True
        return self._check(metric, task, max_value=limit)

    def _check(
        self,
        metric: str,
        task: str | None,
        **limits: float,
    ) -> bool:
        """Compare a metric with its limits as `assay gate` does, and raise unless they are met."""
        __tracebackhide__ = True
        from .comparison.gate import FAIL, PASS, judge_run
        from .comparison.policy import Policy, Rule
        from .core import AssayError

        rule = Rule(metric=metric, **limits)
        policy = Policy("the test", rule, {} if task is None else {task: rule})
        try:
            verdict = judge_run(policy, self.folder)
        except AssayError as error:
            raise AssertionError(str(error)) from None
        if verdict.decision == PASS:
            return True
        undecided = [check for check in verdict.checks if check.decision != PASS]
        lines = "\n".join(_check_line(check) for check in undecided)
        if verdict.decision == FAIL:
            raise LimitMissed(lines)
        raise NotEnoughSamples(lines)

    def __repr__(self) -> str:
        return repr(self.result)


def _check_line(check: "Check") -> str:
    """Return one line about a check: the metric with its interval, the limit, and how
    many samples would decide it.
    """
    line = f"{check.name}: {check.found}, {check.limit}: {check.decision}"
    if check.reason:
        return f"{line}; {check.reason}"
    return line


@pytest.fixture
def assay_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CheckedRun]:
    """Return a function that runs tasks on a model: `assay_run("data.jsonl", "my.py:fn", limit=100)`.

    It takes the arguments of `assay.run`. Without `output`, each run gets a new folder, so that no answer is
    reused.
    """

    def run(
        tasks: object,
        model: object = None,
        **settings: Any,
    ) -> CheckedRun:
        __tracebackhide__ = True
        from .core import AssayError
        from .runner.run import run as run_tasks

        settings.setdefault("output", str(tmp_path_factory.mktemp("assay") / "run"))
        try:
            return CheckedRun(run_tasks(tasks, model, **settings))
        except AssayError as error:
            pytest.fail(str(error), pytrace=False)

    return run
