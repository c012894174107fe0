"""`--until`: a run ends when it has seen enough, and its numbers say how they came to be."""

import json
import random
from pathlib import Path

import pytest

import assay
from assay.core import UsageError

ROWS = [{"id": f"s{n}", "question": f"{n}", "answer": "y"} for n in range(2000)]


def right(share, seed=1):
    draws = random.Random(seed)
    known = [draws.random() < share for _ in ROWS]
    return lambda text: "y" if known[int(text)] else "n"


def graded(sample, output):
    return (int(sample.input) % 5) / 4


def unbounded(sample, output):
    return 3.0


unbounded.bounds = None


def task(scorers="exact_match", rows=ROWS, **more):
    return assay.Task("sums", dataset=rows, scorers=scorers, **more)


def run(folder, model, tasks=None, **settings):
    return assay.run(
        tasks or task(), model, output=str(folder), batch_size=10, **settings
    )


def answers(folder):
    lines = (Path(folder) / "records.jsonl").read_text().splitlines()
    return [json.loads(line)["id"] for line in lines if '"kind":"output"' in line]


def test_a_run_stops_when_the_value_is_known_well_enough_and_says_so(tmp_path):
    result = run(tmp_path, right(0.8), until="ci=0.08")

    [row] = result
    low, high = row.ci
    assert (result.status, result.exit_code) == ("complete", 0)
    assert 100 < row.n < 800 and row.n == row.n_expected
    assert high - low <= 0.16 and low <= 0.8 <= high
    assert row.interval == "anytime: betting confidence sequence"
    assert "stopped early by --until ci=0.08" in row.flags
    assert (
        row.details["until"]["rule"] == "ci=0.08"
        and row.details["until"]["stopped"] is True
    )
    assert (
        row.details["until"]["fixed_n_ci"][1] - row.details["until"]["fixed_n_ci"][0]
        < high - low
    )
    assert (
        f"sums: stopped early by --until ci=0.08 after {row.n} samples in random order"
        in result.notes
    )


def test_samples_come_in_random_order(tmp_path):
    run(tmp_path, right(0.8), until="ci=0.1")

    asked = answers(tmp_path)
    assert asked != [row["id"] for row in ROWS[: len(asked)]]
    assert json.loads((tmp_path / "run.json").read_text())["config"]["shuffle"] is True


def test_the_same_command_again_prints_the_table_and_a_stricter_rule_continues(
    tmp_path,
):
    first = run(tmp_path, right(0.8), until="ci=0.1")
    asked = answers(tmp_path)

    again = run(tmp_path, right(0.8), until="ci=0.1")
    assert again[0].to_plain() == first[0].to_plain() and answers(tmp_path) == asked
    stricter = run(tmp_path, right(0.8), until="ci=0.06")

    assert stricter[0].n > first[0].n
    assert answers(tmp_path)[: len(asked)] == asked and len(
        set(answers(tmp_path))
    ) == len(answers(tmp_path))


def test_without_the_rule_the_rest_is_asked(tmp_path):
    rows = ROWS[:600]
    first = run(tmp_path, right(0.9), task(rows=rows), until="ci=0.1")

    rest = run(tmp_path, right(0.9), task(rows=rows), shuffle=True)

    assert first[0].n < 600 and rest[0].n == 600
    assert "until" not in rest[0].details and rest[0].interval == "wilson"


def test_an_interrupted_run_ends_with_the_same_result(tmp_path):
    whole = run(tmp_path / "whole", right(0.8), until="ci=0.08")

    run(tmp_path / "cut", right(0.8), until="ci=0.08", limit=100)
    assert (
        run(tmp_path / "cut", right(0.8), until="ci=0.08")[0].to_plain()
        == whole[0].to_plain()
    )


def test_a_rule_that_is_never_reached_asks_all_and_keeps_the_anytime_interval(tmp_path):
    result = run(tmp_path, right(0.5), task(rows=ROWS[:200]), until="ci=0.02")

    assert result[0].n == 200 and result[0].interval.startswith("anytime")
    assert result[0].details["until"]["stopped"] is False
    assert not any("stopped early" in flag for flag in result[0].flags)
    assert (
        "sums: --until ci=0.02 was not reached: all 200 samples asked" in result.notes
    )


def test_a_clear_difference_from_the_baseline_is_decided_early(tmp_path):
    run(tmp_path / "old", right(0.8))

    result = run(
        tmp_path / "new",
        right(0.5, seed=2),
        until="decided",
        baseline=str(tmp_path / "old"),
    )

    found = result[0].details["until"]["difference"]
    assert result.status == "complete" and result[0].n < 500
    assert found["decision"] == "worse" and found["ci"][1] < 0
    assert any(
        note.startswith(f"sums.exact_match: worse than {tmp_path / 'old'}: -0.")
        for note in result.notes
    )


@pytest.mark.parametrize("rows", [ROWS[:20], ROWS[:60]], ids=len)
def test_a_baseline_outside_of_the_scale_is_flagged(tmp_path, rows):
    def earlier(sample, output):
        return 7.0

    earlier.bounds = (0.0, 10.0)
    earlier.__name__ = "graded"
    run(tmp_path / "old", right(0.8), task(earlier, rows))

    result = run(
        tmp_path / "new",
        right(0.8),
        task(graded, rows),
        until="decided",
        baseline=str(tmp_path / "old"),
    )

    assert result.status == "complete" and result[0].n == len(rows)
    difference = result[0].details["until"]["difference"]
    assert difference == {"n": 0, "decision": "not decided"}
    [flag] = [flag for flag in result[0].flags if "no difference" in flag]
    assert "is outside -1..1" in flag


def test_equal_models_are_not_decided_but_alike_within_a_margin(tmp_path):
    run(tmp_path / "old", right(0.8))
    old = str(tmp_path / "old")

    never = run(
        tmp_path / "a", right(0.8), task(rows=ROWS[:300]), until="decided", baseline=old
    )
    alike = run(tmp_path / "b", right(0.8), until="decided=0.05", baseline=old)

    assert (
        never[0].n == 300
        and never[0].details["until"]["difference"]["decision"] == "not decided"
    )
    assert (
        alike[0].n < 600
        and alike[0].details["until"]["difference"]["decision"] == "alike"
    )


def test_lower_is_better_is_shown_in_words(tmp_path):
    def wrong(sample, output):
        return float(output.text != "y")

    wrong.higher_is_better = False
    run(tmp_path / "old", right(0.5), task(wrong))

    new = run(
        tmp_path / "new",
        right(0.9, seed=2),
        task(wrong),
        until="decided",
        baseline=str(tmp_path / "old"),
    )

    assert new[0].details["until"]["difference"]["decision"] == "better"


def test_repeats_and_scores_between_are_values_too(tmp_path):
    result = run(
        tmp_path, right(0.8), task(graded, rows=ROWS[:900]), until="ci=0.1", epochs=2
    )

    low, high = result[0].ci
    assert result[0].n < 900 and low <= 0.5 <= high and high - low <= 0.2


def test_samples_without_a_verdict_and_bad_rows_do_not_hold_the_rule_up(tmp_path):
    def flaky(text):
        if int(text) % 50 == 7:
            raise TimeoutError("no reply")
        return "y" if int(text) % 5 else "n"

    rows = [
        {**row, "question": 3} if n % 100 == 11 else row for n, row in enumerate(ROWS)
    ]

    result = run(
        tmp_path, flaky, task(rows=rows), until="ci=0.08", on_error="continue", epochs=2
    )

    assert result[0].n < 900
    assert {"model_error", "data_error"} <= result[0].outcomes.keys()


def test_other_numbers_of_the_run_have_anytime_intervals_too(tmp_path):
    result = run(
        tmp_path, right(0.8), task(["exact_match", "includes"]), until="ci=0.1"
    )

    assert [row.interval for row in result] == [
        "anytime: betting confidence sequence"
    ] * 2


def test_a_rule_that_a_task_cannot_keep_is_refused_before_anything_is_written(tmp_path):
    clustered = [{**row, "document": n // 5} for n, row in enumerate(ROWS)]
    cases = [
        (
            task(unbounded),
            {"until": "ci=0.05"},
            "does not declare the bounds of its scores",
        ),
        (
            task(rows=clustered, cluster="document"),
            {"until": "ci=0.05"},
            "go right or wrong together",
        ),
        (task("wer"), {"until": "ci=0.05"}, "is not the mean of its samples"),
        (
            task(),
            {"until": "decided"},
            "no earlier run to decide against; fix: --baseline RUN",
        ),
        (task(), {"until": "decided", "baseline": "nowhere"}, "not a run folder"),
        (
            task(),
            {"until": "ci=0.05", "predict_only": True},
            "--predict_only scores nothing",
        ),
        (task(), {"until": "ci=5"}, "is not a number from 0.002 to 0.5"),
    ]

    for asked, settings, said in cases:
        with pytest.raises(assay.AssayError) as caught:
            run(tmp_path / "run", right(0.8), asked, **settings)
        assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_baseline_of_another_task_is_refused(tmp_path):
    assay.run(
        assay.Task("other", dataset=ROWS[:20], scorers="exact_match"),
        right(0.8),
        output=str(tmp_path / "old"),
    )

    with pytest.raises(
        UsageError, match=r"has no number of 'exact_match' for task 'sums'"
    ):
        run(
            tmp_path / "new",
            right(0.8),
            until="decided",
            baseline=str(tmp_path / "old"),
        )


def test_scoring_again_gives_the_same_table_with_all_samples(tmp_path):
    file = tmp_path / "sums.py"
    file.write_text(f"dataset = {ROWS[:800]!r}\nscorers = 'exact_match'\n")
    run(tmp_path / "old", right(0.8), str(file))
    first = run(
        tmp_path / "new",
        right(0.5, seed=2),
        str(file),
        until="decided",
        baseline=str(tmp_path / "old"),
    )

    again = assay.score(tmp_path / "new")

    assert first[0].n < 500
    assert (again.status, again[0].to_plain()) == ("complete", first[0].to_plain())


def test_until_counts_only_the_samples_it_saw_in_a_folder_with_more(tmp_path):
    from assay.store import RunReader

    run(tmp_path, right(0.8), task(rows=ROWS[:600]), shuffle=True)

    result = run(tmp_path, right(0.8), task(rows=ROWS[:600]), until="ci=0.1")

    reader = RunReader(tmp_path)
    assert result[0].n < 400
    assert len(reader.scores("sums", result[0].model, "exact_match")) == result[0].n


def test_the_methods_paragraph_says_how_the_run_ended(tmp_path):
    from assay.report.methods import methods_paragraph

    run(tmp_path, right(0.9), until="ci=0.1")
    manifest, summary = (
        json.loads((tmp_path / name).read_text())
        for name in ("run.json", "summary.json")
    )

    text = " ".join(methods_paragraph(manifest, summary))

    assert "a betting confidence sequence, which allows for early stopping" in text
    assert (
        "Samples were asked in random order (seed 0) until the rule ci=0.1 held."
        in text
    )


def test_verdicts_that_come_late_and_out_of_order_are_taken_in_the_order_of_the_samples(
    tmp_path,
):
    import asyncio

    async def judged(sample, output):
        # The right ones come first: in the order they arrive they would look like all there is.
        await asyncio.sleep(0 if output.text == "y" else 0.005)
        return float(output.text == "y")

    late = run(tmp_path / "late", right(0.7), task(judged), until="ci=0.1")
    prompt = run(tmp_path / "prompt", right(0.7), until="ci=0.1")

    low, high = late[0].ci
    assert low <= 0.7 <= high and abs(late[0].value - prompt[0].value) < 0.1
    assert answers(tmp_path / "late")[:100] == answers(tmp_path / "prompt")[:100]
