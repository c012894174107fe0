"""Rules that may end a run early, as they are typed and as they decide."""

import pytest

from assay.core import UsageError
from assay.runner.plan.stopping import parse_until
from assay.summarizers.statistics import Estimate

FAULTS = {
    "c=0.02": "did you mean ci=0.02",
    "decide": "did you mean decided",
    "tomorrow": "fix: ci=0.02, or decided with --baseline RUN",
    "ci": "is not a number from 0.002 to 0.5",
    "ci=": "is not a number from 0.002 to 0.5",
    "ci=2": "is not a number from 0.002 to 0.5",
    "ci=nan": "is not a number from 0.002 to 0.5",
    "decided=0": "is not a number from 0.002 to 0.5",
}


def at(low, high, n=100):
    return Estimate(
        (low + high) / 2, 0.1, low, high, n, None, "betting confidence sequence"
    )


def test_a_wrong_rule_is_one_line_with_the_nearest():
    for text, said in FAULTS.items():
        with pytest.raises(UsageError, match="--until") as caught:
            parse_until(text)
        assert said in str(caught.value), text


def test_an_interval_that_is_narrow_enough_ends_the_run_when_it_is_inspected():
    rule = parse_until("ci=0.02")

    assert rule.ends(at(0.50, 0.539), count=100, seed=0)
    assert not rule.ends(at(0.50, 0.55), count=100, seed=0)
    assert not rule.ends(at(0.50, 0.539), count=101, seed=0), "looks are planned"


def test_a_difference_is_decided_when_its_interval_excludes_none():
    plain, margin = parse_until("decided"), parse_until("decided=0.05")

    assert [
        plain.verdict(at(*ends)) for ends in ((0.01, 0.1), (-0.1, -0.01), (-0.04, 0.04))
    ] == ["higher", "lower", ""]
    assert [margin.verdict(at(*ends)) for ends in ((-0.04, 0.04), (-0.06, 0.04))] == [
        "alike",
        "",
    ]
