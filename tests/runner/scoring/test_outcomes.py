"""From outcomes to the headline: what counts as nothing, and what leaves the denominator."""

import json
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, Candidate, Likelihood, Output, Score, Text
from assay.core.errors import DataError, UsageError
from assay.store import RunReader

ROWS = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(10)]


class Saying:
    """Answers by the number of the sample."""

    abilities = Abilities()
    identity: ClassVar = {"saying": 1}

    def __init__(self, **answers):
        self.answers = {
            name.removeprefix("s"): answer for name, answer in answers.items()
        }
        self.calls = 0

    def generate(self, requests):
        self.calls += len(requests)
        return [self.answers.get(request.id, Output.of("x")) for request in requests]


def read_or_give_up(sample, output):
    if output.text == "?":
        return Score.unparsed()
    if output.text == "no!":
        return Score.refused()
    if output.text == "raise":
        raise ValueError("cannot judge this")
    return float(output.text == sample.target)


def run(tmp_path, model, **changes):
    changes = {"dataset": ROWS, "scorers": read_or_give_up, **changes}
    return assay.run(
        assay.Task("t", **changes),
        model,
        on_error="continue",
        output=str(tmp_path / "run"),
    )


def test_unreadable_answers_count_as_0_and_missing_ones_leave_the_denominator(
    tmp_path,
):
    model = Saying(
        s0=Output.of("wrong"),
        s1=Output.of("?"),
        s2=Output.of("no!"),
        s3=Output((Candidate((Text("?"),), "length"),)),
        s4=Output.failed("timeout", "slow", retryable=False),
        s5=Output.of("raise"),
        s6=Output((Candidate((), "content_filter"),)),
    )

    (result,) = run(tmp_path, model)

    assert dict(result.outcomes) == {
        "scored": 4,
        "unparsed": 1,
        "refused": 2,
        "truncated": 1,
        "model_error": 1,
        "judge_error": 1,
    }
    assert result.n == 8 and result.n_expected == 10
    assert result.value == pytest.approx(3 / 8)
    assert result.parsed_value == pytest.approx(3 / 4)
    assert result.bounds == pytest.approx((3 / 10, 5 / 10))
    assert result.flags


def test_an_answer_that_can_be_read_is_scored_though_it_was_cut(tmp_path):
    (result,) = run(tmp_path, Saying(s0=Output((Candidate((Text("x"),), "length"),))))

    assert result.value == 1.0 and dict(result.outcomes) == {"scored": 10}


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), {"a": 1.0, "b": float("-inf")}]
)
def test_a_score_that_is_not_a_number_is_an_error_of_the_scorer(tmp_path, number):
    result = run(
        tmp_path,
        Saying(),
        scorers=lambda sample, output: number if sample.id == "3" else 1.0,
    )

    assert result.status == "partial"
    assert result[0].outcomes["judge_error"] == 1
    assert any("which is not a number to count with" in note for note in result.notes)


def test_whatever_a_scorer_puts_into_details_is_written(tmp_path):
    import numpy

    details = {
        "n": numpy.int64(3),
        "list": numpy.zeros(2),
        ("a", 1): {2, 3},
        "text": "\ud800",
        "huge": 10**30,
    }
    result = run(
        tmp_path,
        Saying(),
        scorers=lambda sample, output: Score(
            {"v": numpy.float32(0.5)}, details=details
        ),
    )

    (record, *_) = RunReader(tmp_path / "run").scores(
        "t", "Saying", result[0].metric.partition(".")[0]
    )
    assert result[0].value == 0.5
    assert (
        record.details["n"] == 3
        and record.details["list"] == [0.0, 0.0]
        and record.details["huge"] == 10**30
    )


@pytest.mark.parametrize(
    ("reducer", "value"),
    [("mean", 2 / 3), ("max", 1.0), ("majority", 1.0), ("pass@1", 2 / 3)],
)
def test_candidates_of_one_request_are_reduced_and_kept(tmp_path, reducer, value):
    model = Saying(**{f"s{n}": Output.of("x", "y", "x") for n in range(10)})

    result = run(tmp_path, model, options={"n": 3}, reducer=reducer)

    (record, *_) = RunReader(tmp_path / "run").scores("t", "Saying", "read_or_give_up")
    assert result.status == "complete"
    assert (
        result[0].value == pytest.approx(value)
        and result[0].n == result[0].n_expected == 10
    )
    assert list(record.candidates) == [1.0, 0.0, 1.0]


def test_what_a_scorer_found_in_each_candidate_is_kept(tmp_path):
    model = Saying(**{f"s{n}": Output.of("x", "y") for n in range(10)})

    result = run(
        tmp_path,
        model,
        options={"n": 2},
        scorers=lambda sample, output: Score(
            float(output.text == "x"), details={"said": output.text}
        ),
    )

    reader = RunReader(tmp_path / "run")
    (record, *_) = reader.scores("t", "Saying", result[0].metric)
    assert [found["said"] for found in record.details["candidates"]] == ["x", "y"]
    assert "said" not in record.details, (
        "what was found in one candidate does not stand for all"
    )


@pytest.mark.parametrize(
    ("reducer", "value"),
    [("mean", 2 / 3), ("max", 1.0), ("majority", 1.0), ("pass@2", 1.0)],
)
def test_repeats_of_one_sample_are_reduced_and_each_is_asked(tmp_path, reducer, value):
    class Counting(Saying):
        def generate(self, requests):
            self.calls += len(requests)
            return [
                Output.of("y" if request.repeat == 1 else "x") for request in requests
            ]

    model = Counting()

    result = run(tmp_path, model, epochs=3, reducer=reducer)

    keys = {record.key for record in RunReader(tmp_path / "run").outputs()}
    assert result.status == "complete" and model.calls == len(keys) == 30
    assert (
        result[0].value == pytest.approx(value)
        and result[0].n == result[0].n_expected == 10
    )


def test_another_reducer_makes_another_number_without_asking(tmp_path):
    model = Saying(**{f"s{n}": Output.of("x", "y") for n in range(10)})
    run(tmp_path, model, options={"n": 2})

    (result,) = run(tmp_path, model, options={"n": 2}, reducer="max")

    assert result.value == 1.0 and model.calls == 10


def test_a_row_that_is_not_a_row_does_not_take_the_place_of_a_repeat(tmp_path):
    rows = [*ROWS[:4], {"id": "2", "question": "again", "answer": "x"}, *ROWS[4:]]
    for _ in range(2):
        (result,) = run(tmp_path, Saying(), dataset=rows, epochs=3)

        assert dict(result.outcomes) == {"scored": 30, "data_error": 1}
        assert (result.n, result.n_expected) == (10, 11)


def test_zero_epochs_are_refused(tmp_path):
    with pytest.raises(UsageError, match="epochs is 0"):
        run(tmp_path, Saying(), epochs=0)


def test_a_row_whose_picture_cannot_be_opened_is_counted_and_the_others_are_asked(
    tmp_path,
):
    def prompt(sample):
        return (
            [{"type": "image", "path": str(tmp_path / "gone.png")}, "what?"]
            if sample.id == "3"
            else "what?"
        )

    class Seeing(Saying):
        abilities = Abilities(accepts=frozenset({"text", "image"}))

    result = run(tmp_path, Seeing(), template=prompt)

    assert result.status == "partial" and dict(result[0].outcomes) == {
        "scored": 9,
        "data_error": 1,
    }
    assert any("gone.png: cannot open image" in note for note in result.notes)


def test_one_poisoned_sample_does_not_fail_its_batch(tmp_path):
    class Choking(Saying):
        batch_size = 5

        def generate(self, requests):
            self.calls += 1
            if any(request.id == "3" for request in requests):
                raise ValueError("cannot take this one")
            return [Output.of("x") for _ in requests]

    (result,) = run(tmp_path, Choking())

    assert dict(result.outcomes) == {"scored": 9, "model_error": 1}


def test_an_impossible_choice_is_scored_alike_from_the_model_and_from_the_journal(
    tmp_path,
):
    class Weighing(Saying):
        abilities = Abilities(likelihood=True)

        def likelihood(self, requests):
            return [
                Output(likelihoods=(Likelihood(float("-inf")), Likelihood(-3.0)))
                for _ in requests
            ]

    rows = [{"id": "1", "question": "?", "A": "x", "B": "y", "answer": "B"}]
    task = assay.Task(
        "t", dataset=rows, template="choice_likelihood", scorers="choice_likelihood"
    )
    first = assay.run(task, Weighing(), output=str(tmp_path / "run"))
    stored = next(RunReader(tmp_path / "run").outputs()).output

    journal = tmp_path / "run" / "records.jsonl"
    journal.write_bytes(
        b"".join(line for line in journal.open("rb") if b'"kind":"score"' not in line)
    )
    second = assay.run(task, Weighing(), output=str(tmp_path / "run"))

    assert stored["likelihoods"][0][0] == "-inf"
    assert [r.value for r in first] == [r.value for r in second] == [1.0, 1.0, 1.0]


def test_a_scorer_of_the_whole_set_sees_every_answer_and_has_no_interval(tmp_path):
    class Spread:
        def score_all(self, rows):
            return {
                "answers": len({output.text for _, output in rows}),
                "deep": {"rows": len(rows)},
            }

    model = Saying(
        s0=Output.of("y"), s1=Output.failed("timeout", "slow", retryable=False)
    )

    result = run(tmp_path, model, scorers=Spread())

    values = {r.metric: r.value for r in result}
    assert values == {"Spread.answers": 2.0, "Spread.deep.rows": 9.0}
    assert all(
        r.ci is None and r.interval.startswith("none") and r.n == 9 for r in result
    )


def test_a_scorer_of_the_whole_set_counts_failures_by_their_kind(tmp_path):
    class Spread:
        def score_all(self, rows):
            return {"answers": len(rows)}

    undecodable = Output.failed("data", "the picture ends early", retryable=False)
    model = Saying(s0=undecodable, s1=Output.failed("timeout", "slow", retryable=False))

    result = run(tmp_path, model, scorers=Spread())

    assert [r.outcomes for r in result] == [
        {"scored": 8, "data_error": 1, "model_error": 1}
    ]


def test_a_run_with_only_a_scorer_of_the_whole_set_says_why_no_answer_came(tmp_path):
    class Spread:
        def score_all(self, rows):
            return {"answers": len(rows)} if rows else {}

    def broken(prompt):
        raise ValueError("no weights")

    task = assay.Task("t", ROWS[:3], scorers=[Spread()])
    result = assay.run(task, broken, output=str(tmp_path / "run"), on_error="continue")

    assert result.status == "failed" and not result.results
    assert any(
        "3 model_error; first: " in note and "no weights" in note
        for note in result.notes
    ), result.notes


def bad_rows(tmp_path):
    lines = [json.dumps(row) for row in ROWS]
    lines[4] = '{"id": "4", "question": '
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_bad_row_is_counted_by_default(tmp_path):
    result = assay.run(
        str(bad_rows(tmp_path)),
        Saying(),
        output=str(tmp_path / "run"),
        scorers=["exact_match"],
    )

    assert result.exit_code == 3 and dict(result[0].outcomes) == {
        "scored": 9,
        "data_error": 1,
    }


def test_on_data_error_stop_writes_nothing_not_even_the_folder(tmp_path):
    model = Saying()

    with pytest.raises(DataError, match=r"rows\.jsonl:5"):
        assay.run(
            str(bad_rows(tmp_path)),
            model,
            output=str(tmp_path / "run"),
            on_data_error="stop",
        )

    assert not (tmp_path / "run").exists() and model.calls == 0


@pytest.mark.parametrize(
    ("policy", "outcomes", "ids"),
    [
        ("error", {"scored": 10, "data_error": 1}, 10),
        ("first", {"scored": 10}, 10),
        ("suffix", {"scored": 11}, 11),
    ],
)
def test_on_duplicate(tmp_path, policy, outcomes, ids):
    rows = [*ROWS, {"id": "2", "question": "again", "answer": "x"}]
    task = assay.Task("t", dataset=rows, scorers="exact_match")

    (result,) = assay.run(
        task, Saying(), output=str(tmp_path / "run"), on_duplicate=policy
    )

    assert dict(result.outcomes) == outcomes
    assert len({record.id for record in RunReader(tmp_path / "run").outputs()}) == ids
