"""MM-Vet's judge: a grade is read or asked for again, never invented."""

import asyncio
from dataclasses import dataclass, field

from each_row import each

from assay.core import Output, Sample
from assay.scorers.vision.mmvet import MmVet, read_grade


@dataclass
class GivenJudge:
    """Replies in turn; keeps the temperatures it was asked at."""

    replies: list
    temperatures: list = field(default_factory=list)

    async def ask(self, prompt, options):
        self.temperatures.append(options.temperature)
        return self.replies[len(self.temperatures) - 1]


def graded(*replies, target="red<AND>round"):
    judge = GivenJudge(list(replies))
    score = asyncio.run(
        MmVet(models={"judge": judge})(Sample("a", "Which?", target), Output.of("red"))
    )
    return score, judge.temperatures


@each(
    ("reply", "grade"),
    [
        ("0.5", 0.5),
        ("Grade: 1.0", 1.0),
        ("0", 0.0),
        ("It is 0.7.", 0.7),
        ("**1**", 1.0),
        ("+1", 1.0),
        (".5", 0.5),
        ("0.2 or 0.8", None),
        ("2.0", None),
        ("", None),
        ("-1", None),
        ("-0.5", None),
        ("−1", None),
        ("–0.5", None),
        ("1/10", None),
        ("1 / 10", None),
        ("1 out of 10", None),
        ("1%", None),
        ("10%", None),
        ("0,5", None),
        ("1e-3", None),
        ("5/10", None),
        ("1 2", None),
    ],
)
def test_a_grade_is_the_one_number_from_0_to_1(reply, grade):
    assert read_grade(reply) == grade


def test_a_reply_without_a_grade_is_asked_for_again_at_a_higher_temperature():
    score, temperatures = graded(Output.of("Well…"), Output.of("0.4"))

    assert score.value == 0.4 and temperatures == [0.0, 0.5]


def test_five_replies_without_a_grade_are_a_judge_error_and_not_a_zero():
    score, temperatures = graded(*[Output.of("no idea")] * 5)

    assert (score.value, score.outcome) == (None, "judge_error") and len(
        temperatures
    ) == 5


def test_a_judge_that_fails_is_a_judge_error():
    score, _ = graded(Output.failed("timeout", "no reply"))

    assert score.outcome == "judge_error" and score.details["reason"] == "no reply"


def test_a_sample_without_reference_is_a_fault_of_the_data():
    score, _ = graded(target=None)

    assert score.outcome == "data_error"
