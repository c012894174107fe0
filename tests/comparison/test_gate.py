"""Whether a run may pass: decided by intervals, and refused where they would mean nothing."""

import json
import shutil

import pytest

import assay
from assay.comparison.gate import judge_run
from assay.comparison.policy import Policy, Rule, read_policy
from assay.core import AssayError, UsageError

ROWS = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(300)]


def right(share: float, start: int = 0):
    """A model that is right on a share of the questions."""
    return lambda text: "y" if (int(text) + start) % 100 < 100 * share else "n"


def lengths(sample, output):
    return float(output.text == "n")


lengths.higher_is_better = False


def run(folder, model, *, scorers="exact_match", rows=ROWS, name="sums", **settings):
    return assay.run(
        assay.Task(name, dataset=rows, scorers=scorers),
        model,
        output=str(folder),
        **settings,
    )


def policy(**limits) -> Policy:
    shared = {
        key: limits.pop(key)
        for key in ("max_unresolved", "allow_changed")
        if key in limits
    }
    return Policy("policy.yaml", Rule(**limits), {}, **shared)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Three runs, made once; nobody may change them."""
    folder = tmp_path_factory.mktemp("finished")
    for name, share in (("good", 0.7), ("near", 0.69), ("bad", 0.5)):
        run(folder / name, right(share))
    return folder


@pytest.fixture
def runs(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "runs")


def test_a_run_as_good_as_its_baseline_passes(runs):
    verdict = judge_run(policy(max_drop=0.05), runs / "near", runs / "good")

    assert verdict.decision == "pass"
    assert "0.700 → 0.690, -0.010" in verdict.checks[0].found


def test_a_run_that_is_surely_worse_fails(runs):
    assert (
        judge_run(policy(max_drop=0.05), runs / "bad", runs / "good").decision == "fail"
    )


def test_an_inconclusive_check_names_the_number_of_samples_that_would_decide(runs):
    [check] = judge_run(policy(max_drop=0.02), runs / "near", runs / "good").checks

    assert check.decision == "inconclusive"
    assert check.needed is not None and check.needed > 300
    assert check.reason == f"about {check.needed:,} samples would decide"


def test_a_metric_that_is_better_the_lower_it_is_fails_when_it_rises(tmp_path):
    run(tmp_path / "low", right(0.7), scorers=lengths)
    run(tmp_path / "high", right(0.5), scorers=lengths)

    assert (
        judge_run(policy(max_drop=0.05), tmp_path / "high", tmp_path / "low").decision
        == "fail"
    )
    assert (
        judge_run(policy(max_drop=0.05), tmp_path / "low", tmp_path / "high").decision
        == "pass"
    )


@pytest.mark.parametrize(
    ("floor", "decision"), [(0.6, "pass"), (0.69, "inconclusive"), (0.8, "fail")]
)
def test_a_floor_is_decided_by_the_interval_of_the_value(runs, floor, decision):
    [check] = judge_run(policy(min_value=floor), runs / "good").checks

    assert (check.decision, check.limit) == (decision, f"min_value {floor:g}")


@pytest.mark.parametrize(
    ("ceiling", "decision"), [(0.4, "pass"), (0.3, "inconclusive"), (0.2, "fail")]
)
def test_a_ceiling_is_for_metrics_that_should_be_low(tmp_path, ceiling, decision):
    run(tmp_path / "run", right(0.7), scorers=lengths)

    assert judge_run(policy(max_value=ceiling), tmp_path / "run").decision == decision


def test_a_floor_under_a_number_that_should_be_low_is_refused(tmp_path, runs):
    run(tmp_path / "run", right(0.7), scorers=lengths)

    with pytest.raises(
        UsageError,
        match=r"has min_value, but lower is better; fix: max_value: 0.3",
    ):
        judge_run(policy(min_value=0.3), tmp_path / "run")
    with pytest.raises(
        UsageError,
        match=r"has max_value, but higher is better; fix: min_value: 0.3",
    ):
        judge_run(policy(max_value=0.3), runs / "good")


def test_points_of_a_hundred_for_a_share_are_refused(runs):
    with pytest.raises(
        UsageError, match=r"max_drop 2 allows sums\.exact_match to lose everything"
    ):
        judge_run(policy(max_drop=2), runs / "near", runs / "good")


def test_one_failure_fails_though_others_pass(runs, tmp_path):
    for folder, other in (("a", right(0.7)), ("b", right(0.5))):
        tasks = [
            assay.Task(task, dataset=ROWS, scorers="exact_match")
            for task in ("one", "two")
        ]
        assay.run(tasks, other, output=str(tmp_path / folder))
    rules = {"one": Rule(max_drop=0.5), "two": Rule(max_drop=0.05)}

    verdict = judge_run(Policy("p", Rule(), rules), tmp_path / "b", tmp_path / "a")

    assert [check.decision for check in verdict.checks] == ["pass", "fail"]
    assert verdict.decision == "fail"
    assert (
        verdict.headline()
        == f"FAIL: {tmp_path / 'b'} against {tmp_path / 'a'} (1 pass, 1 fail)"
    )


def test_tasks_that_the_policy_does_not_name_are_noted(tmp_path):
    tasks = [
        assay.Task(name, dataset=ROWS, scorers="exact_match") for name in ("one", "two")
    ]
    assay.run(tasks, right(0.7), output=str(tmp_path / "a"))

    verdict = judge_run(
        Policy("p", Rule(), {"one": Rule(min_value=0.5)}), tmp_path / "a"
    )

    assert len(verdict.checks) == 1
    assert verdict.notes == ["not checked, since the policy does not name them: two"]


def test_a_policy_with_a_drop_needs_a_baseline(runs):
    with pytest.raises(UsageError, match="needs an earlier run; fix: --baseline RUN"):
        judge_run(policy(max_drop=0.1), runs / "good")


def test_wrong_names_are_answered_with_the_nearest(runs):
    with pytest.raises(UsageError, match="no task 'sum'; fix: did you mean 'sums'"):
        judge_run(Policy("p", Rule(), {"sum": Rule(min_value=0.1)}), runs / "good")
    with pytest.raises(
        UsageError, match="no metric 'exact'; fix: did you mean 'exact_match'"
    ):
        judge_run(policy(min_value=0.1, metric="exact"), runs / "good")


def test_a_task_that_the_baseline_lacks_is_not_decided(tmp_path, runs):
    run(tmp_path / "other", right(0.7), name="else")

    [check] = judge_run(policy(max_drop=0.1), tmp_path / "other", runs / "good").checks

    assert (check.decision, check.reason) == (
        "inconclusive",
        "the baseline has no task 'else'",
    )


def test_a_handful_of_samples_is_not_decided(tmp_path):
    for name in ("a", "b"):
        run(
            tmp_path / name,
            right(1.0),
            rows=[{**row, "group": n % 4} for n, row in enumerate(ROWS[:8])],
        )

    [check] = judge_run(policy(max_drop=0.01), tmp_path / "a", tmp_path / "b").checks

    assert check.decision == "inconclusive"


def flaky(text):
    if text in ("5", "6"):
        raise TimeoutError("no reply")
    return "y"


def test_a_run_with_samples_without_a_verdict_is_refused_unless_the_policy_allows_it(
    tmp_path,
):
    run(tmp_path / "run", flaky)

    with pytest.raises(
        UsageError,
        match=r"2 of 300 samples have no verdict; fix: .*max_unresolved: 0.007",
    ):
        judge_run(policy(min_value=0.5), tmp_path / "run")
    assert (
        judge_run(
            policy(min_value=0.5, max_unresolved=0.007), tmp_path / "run"
        ).decision
        == "pass"
    )


def test_a_damaged_run_is_refused(runs):
    journal = runs / "good" / "records.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"scored"', b'"scoreD"', 1))

    with pytest.raises(UsageError, match="the run is damaged: "):
        judge_run(policy(min_value=0.5), runs / "good")
    with pytest.raises(UsageError, match="the run is damaged: "):
        judge_run(policy(max_drop=0.5), runs / "near", runs / "good")


def test_a_run_that_was_interrupted_is_refused(runs):
    manifest = runs / "good" / "run.json"
    manifest.write_text(
        json.dumps({**json.loads(manifest.read_text()), "status": "interrupted"})
    )

    with pytest.raises(UsageError, match="the run is not finished: interrupted"):
        judge_run(policy(min_value=0.5), runs / "good")


def test_other_data_are_refused_unless_the_policy_allows_them(tmp_path, runs):
    run(
        tmp_path / "new",
        right(0.7),
        rows=[{**row, "question": f"{row['question']} "} for row in ROWS],
    )

    with pytest.raises(UsageError, match="task 'sums' has other data than this run"):
        judge_run(policy(max_drop=0.1), tmp_path / "new", runs / "good")
    allowed = policy(max_drop=0.1, allow_changed=frozenset({"data"}))
    assert judge_run(allowed, tmp_path / "new", runs / "good").decision == "pass"


def test_a_changed_scorer_is_refused(runs):
    manifest = runs / "good" / "run.json"
    plain = json.loads(manifest.read_text())
    plain["cells"][0]["scorers"]["exact_match"] = "other"
    manifest.write_text(json.dumps(plain))

    with pytest.raises(
        UsageError,
        match=r"scorer 'exact_match' of task 'sums' has changed since; fix: `assay score",
    ):
        judge_run(policy(max_drop=0.1), runs / "near", runs / "good")


FAULTS = [
    ("maxdrop: 0.1", "unknown key 'maxdrop'; fix: did you mean 'max_drop'?"),
    ("max_drop: -1", "`max_drop` must be a number from 0, got -1; fix: max_drop: 0.02"),
    ("max_drop: two", "`max_drop` must be a number from 0, got 'two'"),
    ("max_drop: true", "`max_drop` must be a number from 0, got True"),
    ("max_drop: .nan", "`max_drop` must be a number from 0, got '.nan'"),
    (
        "tasks: {a: {min_val: 1}}",
        "policy.yaml, task 'a': unknown key 'min_val'; fix: did you mean 'min_value'?",
    ),
    ("max_drop: 0.1\ntasks: 3", "`tasks` must be a list or a mapping, got 3"),
    (
        "max_drop: 0.1\ntasks: {a: 3}",
        "policy.yaml, task 'a': the rule of a task must be a mapping, got 3",
    ),
    (
        "tasks: {a: {metric: acc}}",
        "task 'a' has no limit; fix: max_drop: 0.02, or min_value: 0.5",
    ),
    ("max_unresolved: 0.1", "the policy has no limit"),
    (
        "max_drop: 0.1\nmax_unresolved: 3",
        "`max_unresolved` must be a share from 0 to 1, got 3",
    ),
    (
        "max_drop: 0.1\nallow_changed: [date]",
        "`allow_changed` cannot have 'date'; fix: did you mean 'data'?",
    ),
    ("max_drop: 0.1\nmetric: [a]", "`metric` must be text, got ['a']"),
    ("- a", "a policy must be a mapping"),
    ("", "a policy must be a mapping"),
    ("max_drop: [", "not valid YAML"),
]


@pytest.mark.parametrize(
    ("text", "said"),
    FAULTS,
    ids=[text.partition("\n")[0] or "empty" for text, _ in FAULTS],
)
def test_a_faulty_policy_is_one_line(tmp_path, text, said, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(text)

    with pytest.raises(AssayError) as caught:
        read_policy("policy.yaml")

    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_policy_that_is_not_there_is_answered_with_the_nearest(tmp_path):
    (tmp_path / "policy.yaml").write_text("max_drop: 0.1")

    with pytest.raises(
        UsageError, match=r"no such policy; fix: did you mean .*policy.yaml"
    ):
        read_policy(tmp_path / "polcy.yaml")


def test_limits_of_a_task_override_those_of_the_policy(tmp_path):
    (tmp_path / "policy.yaml").write_text(
        "max_drop: 0.02\ntasks:\n  a: {min_value: 0.5}\n  b: {max_drop: 0.1}\n  c:\n"
    )

    tasks = read_policy(tmp_path / "policy.yaml").tasks

    assert tasks == {"a": Rule(0.02, 0.5), "b": Rule(0.1), "c": Rule(0.02)}


def test_a_run_that_stopped_early_is_decided_by_the_interval_that_allows_for_it(
    tmp_path,
):
    rows = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(1500)]
    run(tmp_path / "old", right(0.8), rows=rows)
    run(tmp_path / "other", right(0.8), rows=rows)
    old = str(tmp_path / "old")

    run(
        tmp_path / "new",
        right(0.5),
        rows=rows,
        until="decided",
        baseline=old,
        batch_size=10,
    )
    [failed] = judge_run(policy(max_drop=0.05), tmp_path / "new", old).checks
    [other] = judge_run(
        policy(max_drop=0.05), tmp_path / "new", tmp_path / "other"
    ).checks

    assert (
        failed.decision == "fail" and "at any time" in failed.found and failed.n < 500
    )
    assert (
        other.decision == "inconclusive"
        and "stopped early, and not by this baseline" in other.reason
    )
