"""The guard of scorers: one that runs away costs its own sample, even inside a regular expression."""

import re
import signal
import threading
import time

import pytest

import assay
from assay.core import Outcome, Output, Sample, UsageError
from assay.runner.scoring.guard import GUARD, ScorerOverrun
from assay.runner.scoring.scoring import Scoring

ROWS = [
    {"input": f"Say: {word}", "target": word}
    for word in ("fine", "loop", "regex", "swallow", "good")
]


def runs_away(sample: Sample, output: Output) -> float:
    """A scorer that never ends on some answers, each in another way."""
    if output.text == "loop":
        while True:
            pass
    if output.text == "regex":
        return float(re.fullmatch(r"(a+)+b", "a" * 60) is not None)
    while output.text == "swallow":
        try:
            sum(range(1000))
        except Exception:
            continue
    return float(output.text == sample.target)


def test_a_scorer_that_runs_away_is_an_outcome_of_its_sample_with_its_name(tmp_path):
    result = assay.run(
        assay.Task("words", ROWS, scorers=[runs_away]),
        model=lambda prompt: prompt.split()[-1],
        output=str(tmp_path / "run"),
        scorer_seconds=0.2,
        on_error="continue",
    )

    (row,) = result.results
    assert row.outcomes == {"scored": 2, "judge_error": 3}
    assert row.value == 1.0
    journal = (tmp_path / "run" / "records.jsonl").read_text("utf-8")
    assert (
        journal.count(
            "scorer 'runs_away' took more than 0.2 s of CPU time on one answer"
        )
        == 3
    )


def test_the_time_of_many_quick_verdicts_is_not_added_up():
    scoring = Scoring.of(
        "busy", lambda sample, output: float(sum(range(200_000)) > 0), "t", "m"
    )
    sample, output = Sample("a", target="x"), Output.of("x")

    with GUARD.watching(0.05):
        began, outcomes = time.thread_time(), set()
        while time.thread_time() - began < 0.3:
            outcomes.add(scoring.score(sample, output).outcome)

    assert outcomes == {Outcome.SCORED}


def test_nothing_is_raised_between_verdicts_and_the_handler_is_given_back():
    before = signal.getsignal(signal.SIGVTALRM)

    with GUARD.watching(0.02):
        began = time.thread_time()
        while time.thread_time() - began < 0.1:
            pass

    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_has_no_guard_and_disturbs_none():
    thread = threading.Thread(target=lambda: GUARD.watching(0.02).__enter__())

    thread.start()
    thread.join()

    assert GUARD.thread == 0


def test_an_overrun_is_not_an_exception_that_a_scorer_could_swallow():
    assert not issubclass(ScorerOverrun, Exception)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "long", True])
def test_a_limit_that_is_not_a_time_is_refused(seconds):
    with pytest.raises(UsageError, match="--scorer_seconds is"):
        assay.run(
            assay.Task("words", ROWS, scorers=["exact_match"]),
            model=lambda p: p,
            scorer_seconds=seconds,
        )
