"""Refused answers through a run: they count in every kind of number, and where they cannot, the row says how many."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

import assay
from assay.core import Abilities, Candidate, Image, Outcome, Output, Sample, Score, Text
from assay.runner.scoring.scoring import Scoring

RIGHT = "the cat sat on the mat"
ROWS = [{"id": str(n), "question": f"q{n}", "answer": RIGHT} for n in range(6)]
YES_ROWS = [{"id": str(n), "question": f"q{n}", "answer": "yes"} for n in range(6)]
REFUSED = Output((Candidate((), "content_filter"),))
CUT = Output((Candidate((), "length"),))


class Some:
    """Answers the first two samples, and gives the same silence for the others."""

    abilities = Abilities()
    identity: ClassVar = {"some": 1}

    def __init__(self, silence, answer=RIGHT):
        self.silence, self.answer = silence, answer

    def generate(self, requests):
        answered = Output.of(*[self.answer] * requests[0].options.n)
        return [
            answered if request.id in ("0", "1") else self.silence
            for request in requests
        ]


def run(folder, model, rows=ROWS, **changes):
    return assay.run(
        assay.Task("t", dataset=rows, **changes),
        model,
        on_error="continue",
        output=str(folder),
    )


def values(result):
    return {row.metric: row.value for row in result}


@pytest.mark.parametrize(
    "scorer",
    ["bleu", "chrf", "ter", "wer", "cer", "caption", "rouge", "f1", "exact_match"],
)
def test_a_refusal_counts_in_a_corpus_as_an_answer_that_was_cut_before_it_began(
    tmp_path, scorer
):
    refused = run(tmp_path / "refused", Some(REFUSED), scorers=scorer)
    cut = run(tmp_path / "cut", Some(CUT), scorers=scorer)
    answered = run(tmp_path / "answered", Some(Output.of(RIGHT)), scorers=scorer)

    assert values(refused) == pytest.approx(values(cut))
    assert values(refused) != pytest.approx(values(answered))
    assert all(
        row.n == row.n_expected == 6 and row.outcomes["refused"] == 4 for row in refused
    )


def test_corpus_bleu_of_two_translations_and_four_refusals(tmp_path):
    (bleu,) = run(tmp_path, Some(REFUSED), scorers="bleu")

    # Brevity penalty exp(1 - 36/12) of a corpus whose every n-gram is right.
    assert bleu.value == pytest.approx(13.5335, abs=1e-3)


def test_yes_and_no_agree_with_their_mean(tmp_path):
    result = run(
        tmp_path,
        Some(REFUSED, "yes"),
        YES_ROWS,
        scorers="yes_no",
        summarizers=["mean", "yes_no", "auroc"],
    )

    found = values(result)
    assert (
        found["accuracy"] == found["yes_no"] == found["recall"] == pytest.approx(1 / 3)
    )
    assert all(row.n == 6 for row in result)


@pytest.mark.parametrize("part", [Image(b"\x89PNG made"), Text("yes")])
def test_what_a_filter_left_is_an_answer(tmp_path, part):
    def has_it(sample, output):
        return float(bool(output.media or output.text))

    left = Output((Candidate((part,), "content_filter"),))
    (result,) = run(tmp_path, Some(left, "yes"), scorers=has_it)

    assert (result.value, dict(result.outcomes)) == (1.0, {"scored": 6})


def test_a_scorer_that_trips_over_silence_does_not_make_a_refusal_its_own_fault(
    tmp_path,
):
    def first_letter(sample, output):
        return float(output.text[0] == sample.target[0])

    (result,) = run(tmp_path, Some(REFUSED), scorers=first_letter)

    assert result.value == pytest.approx(1 / 3) and dict(result.outcomes) == {
        "scored": 2,
        "refused": 4,
    }


def test_a_refusal_is_never_right_and_counts_for_every_named_value(tmp_path):
    def short(sample, output):
        return {"short": 1.0, "said": 1.0} if output.text else {"short": 1.0}

    result = run(tmp_path, Some(REFUSED), scorers=short)

    assert values(result) == pytest.approx({"short.short": 1 / 3, "short.said": 1 / 3})


def test_a_row_without_a_target_stays_the_fault_of_the_row(tmp_path):
    rows = [
        {"id": str(n), "question": f"q{n}", "answer": RIGHT if n < 4 else None}
        for n in range(6)
    ]

    (result,) = run(tmp_path, Some(REFUSED), rows, scorers="bleu")

    assert (result.outcomes["refused"], result.outcomes["data_error"]) == (2, 2)


@dataclass(frozen=True)
class Judged:
    """Asks a judge about whatever it is given."""

    models: Any = field(default_factory=dict)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    async def __call__(self, sample, output):
        reply = await self.models["judge"].ask(output.text)
        return (
            Score(None, Outcome.JUDGE_ERROR)
            if reply.error
            else Score(float(reply.text))
        )


def test_a_judge_is_not_asked_about_a_refusal():
    class Judge:
        asked: ClassVar = []

        async def ask(self, prompt, options=None):
            self.asked.append(prompt)
            return Output.of("1")

    scoring = Scoring.of("judged", Judged(), "t", "m").given({"judge": Judge()})

    scores = [
        asyncio.run(scoring.score_async(Sample("a"), output))
        for output in (Output.of("x"), REFUSED)
    ]

    assert [score.outcome for score in scores] == [Outcome.SCORED, Outcome.REFUSED]
    assert Judge.asked == ["x"]


def test_a_prompt_refused_as_a_whole_refused_all_its_candidates(tmp_path):
    def exact(sample, output):
        return float(output.text == sample.target)

    task = assay.Task("t", dataset=ROWS, scorers=exact, reducer="pass@4")
    result = assay.run(
        task,
        Some(REFUSED),
        generation={"n": 4},
        on_error="continue",
        output=str(tmp_path),
    )

    assert (result.status, result[0].value, result[0].n) == (
        "complete",
        pytest.approx(1 / 3),
        6,
    )
    assert dict(result[0].outcomes) == {"scored": 8, "refused": 16}


def test_where_every_prompt_was_refused_there_is_still_a_number(tmp_path):
    class All(Some):
        def generate(self, requests):
            return [REFUSED for _ in requests]

    task = assay.Task("t", dataset=ROWS, scorers="exact_match", reducer="pass@4")
    result = assay.run(
        task,
        All(REFUSED),
        generation={"n": 4},
        on_error="continue",
        output=str(tmp_path),
    )

    assert (result[0].value, dict(result[0].outcomes)) == (0.0, {"refused": 24})


def test_counts_that_a_scorer_does_not_keep_are_missed_aloud(tmp_path):
    def counting(sample, output):
        return Score(1.0, details={"right": 1, "asked": 1} if output.text else {})

    pooled = {"name": "pooled", "numerator": "right", "denominator": "asked"}
    worst = {
        "name": "worst_case",
        "by": "kind",
        "numerator": "right",
        "denominator": "asked",
    }
    rows = [{**row, "kind": "k"} for row in ROWS]
    result = run(
        tmp_path,
        Some(REFUSED),
        rows,
        scorers=counting,
        summarizers=[pooled, worst],
        tags=("kind",),
    )

    assert (
        all("4 answers have no counts and are left out" in row.flags for row in result)
        and len(result) == 2
    )


def test_a_scorer_of_the_whole_set_sees_refusals_and_the_row_counts_them(tmp_path):
    class Whole:
        def score_all(self, rows):
            return {"said": sum(bool(output.text) for _, output in rows) / len(rows)}

    (result,) = run(tmp_path, Some(REFUSED), scorers=Whole())

    assert (result.value, dict(result.outcomes)) == (
        pytest.approx(1 / 3),
        {"scored": 2, "refused": 4},
    )
    assert result.flags == ()
