"""Several candidates and epochs of a sample through a run: every answer counts, in every kind of number."""

import json
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, Output, Score
from assay.core.errors import UsageError
from assay.store import RunReader

ROWS = [
    {"id": str(n), "question": f"q{n}", "answer": "the cat sat on the mat"}
    for n in range(4)
]
RIGHT = ROWS[0]["answer"]


class Drawing:
    """Gives the candidates of an epoch, the same for every sample."""

    abilities = Abilities()
    identity: ClassVar = {"drawing": 1}

    def __init__(self, *epochs):
        self.epochs = epochs
        self.calls = 0

    def generate(self, requests):
        self.calls += len(requests)
        return [Output.of(*self.epochs[request.repeat]) for request in requests]


def run(tmp_path, model, **changes):
    task = assay.Task("t", **{"dataset": ROWS, "epochs": len(model.epochs), **changes})
    return assay.run(
        task.but(options=task.options.set(n=len(model.epochs[0]))),
        model,
        on_error="continue",
        output=str(tmp_path / "run"),
    )


def values(result):
    return {r.metric: r.value for r in result}


def exact(sample, output):
    return float(output.text == sample.target)


@pytest.mark.parametrize("scorer", ["bleu", "chrf", "ter", "wer", "rouge"])
def test_a_corpus_number_is_the_same_for_candidates_as_for_as_many_epochs(
    tmp_path, scorer
):
    answers = (RIGHT, "no", "a cat sat", RIGHT)

    candidates = run(tmp_path / "n", Drawing(answers), scorers=scorer)
    epochs = run(
        tmp_path / "e", Drawing(*[(answer,) for answer in answers]), scorers=scorer
    )
    right = run(tmp_path / "right", Drawing((RIGHT,)), scorers=scorer)

    assert values(candidates) == pytest.approx(values(epochs))
    assert values(candidates) != pytest.approx(values(right))
    assert all(r.n == r.n_expected == 4 for r in [*candidates, *epochs])


def test_errors_and_words_of_every_candidate_are_pooled(tmp_path):
    rate, *_ = run(tmp_path, Drawing((RIGHT, "no no no no no no")), scorers="wer")

    assert (rate.value, rate.details["denominator"], rate.clusters) == (
        0.5,
        4 * 2 * 6,
        4,
    )


def test_yes_and_no_of_every_candidate_are_counted(tmp_path):
    rows = [{"id": str(n), "question": "?", "answer": "yes"} for n in range(4)]
    model = Drawing(("yes", "no", "no", "no"))

    found = values(
        run(tmp_path, model, dataset=rows, scorers="yes_no", summarizers=["yes_no"])
    )

    assert (found["accuracy"], found["recall"], found["yes_ratio"]) == (
        0.25,
        0.25,
        0.25,
    )


def test_pass_at_k_of_named_values_takes_every_candidate(tmp_path):
    def both(sample, output):
        return {"strict": float(output.text == sample.target), "lax": 1.0}

    found = values(
        run(
            tmp_path,
            Drawing((RIGHT, "no", "no", "no")),
            scorers=both,
            summarizers=["pass_at_k"],
        )
    )

    assert found == {"both.strict.pass@1": 0.25, "both.lax.pass@1": 1.0}


@pytest.mark.parametrize(
    ("epochs", "reducer", "value"),
    [
        (((RIGHT, "no"), (RIGHT, "no")), "pass@2", 5 / 6),
        (((RIGHT, "no"), (RIGHT, "no")), "pass^2", 1 / 6),
        (((RIGHT, "no", "no", "no"), ("no", "no", "no", "no")), "pass@4", 0.5),
        ((("no", "no"), (RIGHT, "no")), "max", 1.0),
        (((RIGHT, "no"), ("no", "no")), "majority", 0.0),
        (((RIGHT, "no"), ("no", "no")), "mean", 0.25),
    ],
)
def test_a_reducer_is_applied_once_to_all_answers_of_a_sample(
    tmp_path, epochs, reducer, value
):
    result = run(tmp_path, Drawing(*epochs), scorers=exact, reducer=reducer)

    assert (
        result.status == "complete"
        and result[0].value == pytest.approx(value)
        and result[0].n == 4
    )


def test_the_vote_is_over_all_candidates(tmp_path):
    def said(sample, output):
        return Score(float(output.text == sample.target), answer=output.text)

    found = values(
        run(
            tmp_path,
            Drawing((RIGHT, "no", "no")),
            scorers=said,
            summarizers=["majority"],
        )
    )

    assert found == {"said.majority": 0.0}


def test_a_summarizer_of_ones_own_sees_every_answer(tmp_path):
    def share(records):
        return sum(record.value for record in records) / len(records)

    result = run(
        tmp_path,
        Drawing((RIGHT, "no"), ("no", "no")),
        scorers=exact,
        summarizers=[share],
    )

    assert (result[0].value, result[0].n, dict(result[0].outcomes)) == (
        0.25,
        4,
        {"scored": 16},
    )


def test_a_candidate_whose_verdict_failed_is_counted_and_only_it_is_judged_again(
    tmp_path, monkeypatch
):
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    (tmp_path / "model.py").write_text(
        "def generate(messages):\n    return ['good', 'odd', 'odd too']\n"
    )
    (tmp_path / "judge.py").write_text(
        """
import os
from assay.core import Output
def generate(requests):
    outputs = []
    for request in requests:
        asked = request.prompt.messages[-1].text
        with open(os.environ["JUDGE_LOG"], "a") as log:
            log.write("odd\\n" if "odd" in asked else "good\\n" if "good" in asked else "other\\n")
        failed = Output.failed("exception", "the judge is down", retryable=False)
        down = "odd" in asked and os.environ.get("JUDGE_DOWN")
        outputs.append(failed if down else Output.of('{"reason": "fine", "score": 4}'))
    return outputs
"""
    )
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "judge.log"))

    def judged():
        (tmp_path / "judge.log").write_text("")
        result = assay.run(
            str(tmp_path / "rows.jsonl"),
            f"{tmp_path / 'model.py'}:generate",
            scorers=["judge"],
            judge=f"{tmp_path / 'judge.py'}:generate",
            generation={"n": 3},
            on_error="continue",
            output=str(tmp_path / "run"),
        )
        return result, (tmp_path / "judge.log").read_text().split()

    monkeypatch.setenv("JUDGE_DOWN", "1")
    first, _ = judged()
    monkeypatch.delenv("JUDGE_DOWN")
    second, asked = judged()

    assert first.status == "partial" and dict(first[0].outcomes) == {
        "scored": 4,
        "judge_error": 8,
    }
    assert any("the judge is down" in note for note in first.notes)
    assert second.status == "complete" and dict(second[0].outcomes) == {"scored": 12}
    assert asked.count("odd") == 8 and "good" not in asked


def test_a_scorer_that_raises_for_one_candidate_keeps_the_verdicts_on_the_others(
    tmp_path,
):
    def picky(sample, output):
        if output.text == "odd":
            raise ValueError("cannot judge this")
        return float(output.text == sample.target)

    result = run(tmp_path, Drawing((RIGHT, "odd", "no")), scorers=picky)

    (record, *_) = RunReader(tmp_path / "run").scores("t", "Drawing", "picky")
    assert result[0].value == 0.5 and dict(result[0].outcomes) == {
        "scored": 8,
        "judge_error": 4,
    }
    assert (record.outcome, list(record.candidates)) == (
        "judge_error",
        [1.0, None, 0.0],
    )
    assert "cannot judge this" in record.details["error"]


class Share:
    def score_all(self, rows):
        right = sum(output.text == sample.target for sample, output in rows)
        return {"right": right / len(rows), "rows": len(rows)}


def test_a_scorer_of_the_whole_set_judges_a_set_for_each_candidate_of_each_epoch(
    tmp_path,
):
    epochs = run(tmp_path / "e", Drawing((RIGHT,), ("no",), ("no",)), scorers=Share())
    both = run(tmp_path / "b", Drawing((RIGHT, "no"), ("no", "no")), scorers=Share())

    assert values(epochs) == pytest.approx({"Share.right": 1 / 3, "Share.rows": 4})
    assert values(both) == pytest.approx({"Share.right": 0.25, "Share.rows": 4})
    assert both[0].details["sets"] == [1.0, 0.0, 0.0, 0.0]
    assert all(
        (r.n, r.n_expected, dict(r.outcomes)) == (4, 4, {"scored": 16}) for r in both
    )


def test_a_set_level_scorer_of_whole_outputs_judges_one_set_for_each_epoch(tmp_path):
    class Candidates:
        whole_output = True

        def score_all(self, rows):
            return {"seen": sum(len(output.candidates) for _, output in rows)}

    result = run(tmp_path, Drawing((RIGHT, "no"), ("no", "no")), scorers=Candidates())

    assert values(result) == {"Candidates.seen": 8.0} and result[0].details["sets"] == [
        8.0,
        8.0,
    ]


def test_a_set_without_a_value_is_named(tmp_path):
    class Sometimes:
        def score_all(self, rows):
            return {"right": 1.0} if rows[0][1].text == RIGHT else {}

    (result,) = run(tmp_path, Drawing((RIGHT,), ("no",)), scorers=Sometimes())

    assert result.value == 1.0 and result.flags == ("1 of 2 sets have no value",)


@pytest.mark.parametrize(
    ("epochs", "named"),
    [
        (((RIGHT,), (RIGHT,)), "--epochs"),
        (((RIGHT, "no"),), "--n"),
        (((RIGHT, "no"),) * 2, "--n"),
    ],
)
def test_a_set_level_scorer_that_writes_files_is_refused_repeats_before_anything_is_asked(
    tmp_path, epochs, named
):
    class Files(Share):
        def in_run(self, cell, writer):
            return self

    model = Drawing(*epochs)

    with pytest.raises(
        UsageError,
        match=rf"'Files' writes its files for one answer.*leave .*{named} out",
    ):
        run(tmp_path, model, scorers=Files())
    assert model.calls == 0 and not (tmp_path / "run").exists()


def test_another_reducer_than_the_mean_is_refused_over_whole_sets(tmp_path):
    model = Drawing((RIGHT,), ("no",))

    with pytest.raises(
        UsageError,
        match=r"'Share' judges whole sets, which have no 'pass@2'.*leave --reducer out",
    ):
        run(tmp_path, model, scorers=Share(), reducer="pass@2")
    assert model.calls == 0


@pytest.mark.parametrize("given", [1, 3])
def test_a_model_that_gives_fewer_candidates_than_asked_has_failed_and_says_so(
    tmp_path, given
):
    task = assay.Task("t", dataset=ROWS, scorers=exact, reducer="pass@4")
    model = Drawing((RIGHT,) * given)

    result = assay.run(
        task,
        model,
        generation={"n": 4},
        on_error="continue",
        output=str(tmp_path / "run"),
    )

    assert (result.status, result[0].value, set(result[0].outcomes)) == (
        "failed",
        None,
        {"model_error"},
    )
    assert any(
        f"asked for 4 candidates, Drawing gave {given}; fix: use epochs=4" in note
        for note in result.notes
    )


def test_a_function_without_the_parameter_n_is_called_four_times(tmp_path):
    calls = []

    def one(messages):
        calls.append(messages)
        return RIGHT

    result = assay.run(
        assay.Task("t", dataset=ROWS, scorers=exact),
        one,
        generation={"n": 4},
        on_error="continue",
        output=str(tmp_path / "run"),
    )

    assert (result[0].value, dict(result[0].outcomes)) == (1.0, {"scored": 16})
    assert len(calls) == 16


def test_more_candidates_than_asked_all_count(tmp_path):
    result = assay.run(
        assay.Task("t", dataset=ROWS, scorers=exact),
        Drawing((RIGHT, "no", "no", "no")),
        generation={"n": 2},
        output=str(tmp_path / "run"),
    )

    assert (result.status, result[0].value, result[0].n) == ("complete", 0.25, 4)
