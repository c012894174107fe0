"""Row weights, the headline of a task, and what else says which number counts."""

import pytest

import assay
from assay import Sample, Task

WEIGHTS = [1.0, 4.0, 0.5, 2.5, 1.0, 3.0]
RIGHT = [True, False, True, True, False, True]
ROWS = [
    {
        "id": str(n),
        "question": f"{n}?",
        "answer": "x",
        "points": w,
        "topic": "ab"[n % 2],
    }
    for n, w in enumerate(WEIGHTS)
]
EXPECTED = sum(w for w, r in zip(WEIGHTS, RIGHT, strict=True) if r) / sum(WEIGHTS)


def model(messages):
    number = int(messages[-1]["content"].split("?")[0])
    if number == 6:
        raise ValueError("no answer")
    return "x" if RIGHT[number] else "y"


def run(tmp_path, rows=ROWS, **task):
    settings = {"scorers": "exact_match", "columns": {"weight": "points"}, **task}
    made = Task("t", dataset=rows, **settings)
    output = str(tmp_path / "run")
    return assay.run(made, model=model, output=output, on_error="continue")


def test_a_mean_and_its_groups_count_rows_by_their_weight(tmp_path):
    (result,) = run(tmp_path, tags=("topic",)).results

    assert result.value == pytest.approx(EXPECTED)
    assert (
        result.ci[0] < EXPECTED < result.ci[1]
        and result.ci[0] >= 0
        and result.ci[1] <= 1
    )
    groups = {name: group.value for name, group in result.groups["topic"].items()}
    assert groups == {"a": pytest.approx(1.5 / 2.5), "b": pytest.approx(5.5 / 9.5)}
    total = sum(WEIGHTS)
    effective = total**2 / sum(w * w for w in WEIGHTS)
    assert result.details["weights"] == {
        "sum": total,
        "effective_samples": pytest.approx(effective),
    }


def test_integer_weights_equal_copied_rows(tmp_path):
    rows = [{**row, "points": n + 1} for n, row in enumerate(ROWS)]
    copies = [
        {**row, "id": f"{row['id']}-{k}", "points": 1}
        for row in rows
        for k in range(row["points"])
    ]

    weighted = run(tmp_path / "a", rows).results[0]
    copied = run(tmp_path / "b", copies, cluster="question").results[0]

    assert weighted.value == pytest.approx(copied.value)
    assert weighted.ci == pytest.approx(copied.ci, abs=0.12)


def test_lost_samples_widen_the_bounds_by_their_weight(tmp_path):
    rows = [*ROWS, {**ROWS[0], "id": "6", "question": "6?", "points": 8.0}]

    result = run(tmp_path, rows).results[0]

    total, right = sum(WEIGHTS), EXPECTED * sum(WEIGHTS)
    assert result.value == pytest.approx(EXPECTED)
    assert result.bounds == (
        pytest.approx(right / (total + 8)),
        pytest.approx((right + 8) / (total + 8)),
    )


@pytest.mark.parametrize("summarizer", ["majority", {"group_mean": {"by": "topic"}}])
def test_other_numbers_over_samples_use_the_weights_too(tmp_path, summarizer):
    scorer = {"name": "regex", "pattern": "[xy]"}
    result = run(
        tmp_path, tags=("topic",), scorers=scorer, summarizers=summarizer
    ).results[0]

    macro = (1.5 / 2.5 + 5.5 / 9.5) / 2
    assert result.value == pytest.approx(
        EXPECTED if summarizer == "majority" else macro
    )
    assert result.n == result.n_expected == 6


def test_a_sample_made_in_python_has_a_weight(tmp_path):
    rows = [
        Sample(row["id"], row["question"], "x", weight=row["points"]) for row in ROWS
    ]

    assert run(tmp_path, rows, columns={}).results[0].value == pytest.approx(EXPECTED)


def test_pooled_counts_say_that_weights_are_not_applied(tmp_path):
    result = run(tmp_path, scorers="wer").results[0]

    assert "row weights not applied" in result.flags


def test_a_formula_multiplies_its_counts_by_the_weights(tmp_path):
    formula = {
        "name": "formula",
        "metric": "share",
        "value": "right / asked",
        "counts": {"right": "exact_match", "asked": 1},
        "bounds": [0, 1],
    }
    result = run(tmp_path, scorers="exact_match", summarizers=[formula, "mean"])
    share, mean = result.results

    assert share.value == pytest.approx(EXPECTED) == mean.value
    assert share.flags == ()


def test_a_column_called_weight_is_not_taken_for_one(tmp_path):
    rows = [{**row, "weight": 1000 * n} for n, row in enumerate(ROWS)]

    assert run(tmp_path, rows, columns={}).results[0].value == pytest.approx(4 / 6)


@pytest.mark.parametrize("points", [0, -1, "much", None, True])
def test_a_weight_that_is_not_a_number_above_0_is_a_fault_of_its_row(tmp_path, points):
    rows = [*ROWS, {**ROWS[0], "id": "bad", "points": points}]

    result = run(tmp_path, rows).results[0]

    assert result.outcomes["data_error"] == 1
    assert result.value == pytest.approx(EXPECTED)


def compared(tmp_path, rows_before, rows_after, answers):
    for name, rows in (("a", rows_before), ("b", rows_after)):
        task = Task("t", rows, scorers="exact_match", columns={"weight": "points"})
        folder = str(tmp_path / name / "run")
        assay.run(task, model=answers[name], output=folder)
    runs = [str(tmp_path / name / "run") for name in ("a", "b")]
    return assay.compare(*runs).rows[0]


def test_weighted_means_are_compared_with_their_weights(tmp_path):
    rows = [{**ROWS[n % 6], "id": str(n), "question": f"{n}?"} for n in range(36)]

    def before(text):
        return "x" if int(text.split("?")[0]) % 2 else "y"

    def after(text):
        return "x" if int(text.split("?")[0]) % 3 else "y"

    row = compared(tmp_path, rows, rows, {"a": before, "b": after})

    odd = sum(WEIGHTS[1::2]) / sum(WEIGHTS)
    not_third = (sum(WEIGHTS) - WEIGHTS[0] - WEIGHTS[3]) / sum(WEIGHTS)
    assert row.paired.mean_b == pytest.approx(odd)
    assert row.paired.mean_a == pytest.approx(not_third)
    difference = row.paired.difference
    assert difference.value == pytest.approx(not_third - odd)
    assert difference.low < difference.value < difference.high
    assert (row.paired.wins, row.paired.losses, row.paired.n) == (12, 6, 36)


def test_weighted_means_with_other_weights_are_not_compared(tmp_path):
    others = [{**row, "points": 1.0 + n} for n, row in enumerate(ROWS)]

    row = compared(tmp_path, ROWS, others, {"a": model, "b": model})

    assert row.paired is None
    assert "other weights in the baseline" in row.refused


def test_the_headline_comes_first(tmp_path):
    task = {
        "tags": ("topic",),
        "summarizers": ["mean", {"group_mean": {"by": "topic", "name": "overall"}}],
    }

    plain = run(tmp_path / "a", **task)
    chosen = run(tmp_path / "b", headline="overall", **task)

    assert [row.metric for row in plain.results] == ["exact_match", "overall"]
    assert [row.metric for row in chosen.results] == ["overall", "exact_match"]


def test_a_headline_may_be_the_short_name_of_one_of_several_values(tmp_path):
    def graded(sample, output):
        return {"right": 1.0, "brief": 0.0}

    result = run(tmp_path, scorers=graded, headline="brief")

    assert [row.metric for row in result.results] == ["graded.brief", "graded.right"]
    assert not any("no metric is called" in note for note in result.notes)


def test_an_unknown_headline_is_reported(tmp_path):
    result = run(tmp_path, headline="total")

    assert any("no metric is called 'total'" in note for note in result.notes)


def test_intervals_of_unequal_weights_hold_the_truth():
    import numpy as np

    from assay.summarizers.statistics import ratio_estimate

    rng = np.random.default_rng(0)
    weights = np.random.default_rng(3).lognormal(0, 1, size=30)
    held = 0
    for _ in range(400):
        right = rng.random(30) < 0.5
        products = (right * weights).tolist()
        estimate = ratio_estimate(products, weights.tolist(), ends=(0.0, 1.0))
        held += estimate.low <= 0.5 <= estimate.high

    # 91.5 % of 1,500 before weights counted as sizes of clusters do; the error of 400 runs is 1.1 points.
    assert held / 400 > 0.945
