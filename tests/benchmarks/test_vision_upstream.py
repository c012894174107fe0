"""VLMEvalKit's published way of reading answers, offered by name: matching, then a judge, then a seeded draw."""

import asyncio

import pytest

from assay.benchmarks import vision_tasks
from assay.catalogue import BENCHMARKS
from assay.core import Outcome, Output, Sample, UsageError
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.scorers.vision.vlmeval_published import (
    SEED,
    ChoiceVlmevalJudged,
    MmVetVlmeval,
    YesNoVlmeval,
    whole_grade,
)

TASKS = {
    name: task
    for name, task in vision_tasks.TASKS.items()
    if name.endswith("_upstream")
}
QUESTION = Sample(
    id="q1", input="Which?", choices=("cat", "dog", "", "cow"), target="B"
)


class Judge:
    """A judge that says what it is told to, and counts how often it is asked."""

    def __init__(self, *replies: str | Output) -> None:
        self.replies = list(replies)
        self.seeds: list[int | None] = []

    async def ask(self, prompt, options=None) -> Output:
        self.seeds.append(None if options is None else options.seed)
        reply = self.replies[min(len(self.seeds), len(self.replies)) - 1]
        return reply if isinstance(reply, Output) else Output.of(reply)


def scored(kind, sample, answer, *replies, **options):
    judge = Judge(*replies)
    return asyncio.run(
        kind(models={"judge": judge}, **options)(sample, Output.of(answer))
    ), judge


def test_what_matches_is_never_shown_to_the_judge():
    score, judge = scored(ChoiceVlmevalJudged, QUESTION, "The answer is B", "A")

    assert (score.value, score.details["rule"], judge.seeds) == (1.0, "one letter", [])


def test_the_judge_is_asked_three_times_and_then_a_letter_is_drawn_that_is_always_the_same():
    draws = [
        scored(ChoiceVlmevalJudged, QUESTION, "mumble", "A or B")[0] for _ in range(3)
    ]
    score, judge = scored(ChoiceVlmevalJudged, QUESTION, "mumble", "A or B")

    assert judge.seeds == [None, 1, 2]
    assert score.details["rule"] == "drawn"
    assert {draw.answer for draw in draws} == {score.answer}
    assert score.answer in ("A", "B", "D", "Z")


def test_draws_differ_between_samples_and_follow_the_seed():
    samples = [
        Sample(id=str(n), input="?", choices=("a1", "b2", "c3", "d4"), target="A")
        for n in range(40)
    ]

    drawn = [
        scored(ChoiceVlmevalJudged, sample, "mumble", "?")[0].answer
        for sample in samples
    ]
    other = [
        scored(ChoiceVlmevalJudged, sample, "mumble", "?", seed=SEED + 1)[0].answer
        for sample in samples
    ]

    assert set(drawn) == {"A", "B", "C", "D", "Z"}
    assert drawn != other


def test_a_judge_that_says_none_of_them_leaves_the_answer_unparsed_and_wrong():
    score, _ = scored(ChoiceVlmevalJudged, QUESTION, "mumble", "Z")

    assert (score.value, score.outcome) == (0.0, Outcome.UNPARSED)


def test_a_judge_that_does_not_answer_is_an_error_not_a_draw():
    score, _ = scored(
        ChoiceVlmevalJudged, QUESTION, "mumble", Output.failed("http", "down")
    )

    assert (score.value, score.outcome) == (None, Outcome.JUDGE_ERROR)


@pytest.mark.parametrize(
    ("answer", "reply", "value", "outcome", "asked"),
    [
        ("There is no dog", "unused", 1.0, Outcome.SCORED, 0),
        ("I see nothing", "No", 1.0, Outcome.SCORED, 1),
        ("yesterday", "No", 1.0, Outcome.SCORED, 1),
        ("Perhaps", "Yes", 0.0, Outcome.SCORED, 1),
        ("Perhaps", "Hard to tell", 0.0, Outcome.UNPARSED, 5),
    ],
)
def test_yes_and_no_are_words_and_what_has_neither_goes_to_the_judge_up_to_five_times(
    answer, reply, value, outcome, asked
):
    score, judge = scored(
        YesNoVlmeval, Sample(id="1", input="Is it?", target="No"), answer, reply
    )

    assert (score.value, score.outcome) == (value, outcome)
    assert len(judge.seeds) == asked


@pytest.mark.parametrize(
    ("reply", "grade"),
    [("0.5", 0.5), (" 1.0\n", 1.0), ("1.5", None), ("0.5 points", None), ("nan", None)],
)
def test_only_a_reply_that_is_a_number_is_a_grade(reply, grade):
    assert whole_grade(reply) == grade


def test_five_replies_without_a_grade_are_a_grade_of_0():
    sample = Sample(id="1", input="What?", target="x")

    score, judge = scored(
        MmVetVlmeval, sample, "y", "good", "fine", "well", "nice", "great"
    )
    later, _ = scored(MmVetVlmeval, sample, "y", "good", "0.25")

    assert (score.value, score.outcome, len(judge.seeds)) == (0.0, Outcome.SCORED, 5)
    assert later.value == 0.25


def test_every_upstream_task_is_in_the_catalogue_under_a_protocol_of_its_own():
    assert {name for name in BENCHMARKS if name.endswith("_upstream")} >= set(TASKS)
    assert all(
        task.protocol == f"{name.removesuffix('_upstream')}@upstream"
        for name, task in TASKS.items()
    )
    assert all(BENCHMARKS[name][1] == task.description for name, task in TASKS.items())


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_upstream_task_runs_on_its_mini_set_with_a_judge(name, tmp_path):
    judge = tmp_path / "judge.py"
    reply = "'0.5' if 'Grade' in text else 'Yes' if 'yes-or-no' in text else 'A'"
    judge.write_text(f"def generate(text):\n    return {reply}\n")
    model = Scripted("unrelated mumbling")

    done = run(
        name,
        model,
        data="mini",
        judge=f"{judge}:generate",
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete"
    assert all(
        row.protocol.startswith(
            f"{name.removesuffix('_upstream')}@upstream+mini+judge="
        )
        for row in done
    )
    assert any(row.value for row in done)


def test_without_a_judge_an_upstream_task_is_refused_before_the_run(tmp_path):
    with pytest.raises(UsageError, match="needs a model as 'judge'"):
        run("mme_upstream", Scripted("yes"), data="mini", output=str(tmp_path / "run"))


def test_the_default_never_draws_and_never_reads_letters_inside_words(tmp_path):
    default = run("mme", Scripted("nothing"), data="mini", output=str(tmp_path / "a"))

    assert all(not row.value for row in default)


def test_a_missing_rotation_leaves_a_question_judged_by_the_others_as_upstream_does(
    tmp_path,
):
    row = "{}\t{}\tWhich?\t{}\t{}\t{}\n"
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    table = tmp_path / "MMBench_DEV_EN.tsv"
    table.write_text(
        "index\timage\tquestion\tA\tB\tanswer\n"
        + row.format(0, picture, "cat", "dog", "A")
        + row.format(1000000, 0, "dog", "cat", "B")
        + row.format(1, picture, "cat", "dog", "A")
    )
    (tmp_path / "judge.py").write_text("def judge(text):\n    return 'Z'\n")
    judge = f"{tmp_path / 'judge.py'}:judge"

    done = run(
        "mmbench_dev_en_upstream",
        Scripted("cat"),
        data=str(table),
        judge=judge,
        output=str(tmp_path / "run"),
    )

    (circular,) = [row for row in done if row.metric.endswith(".circular")]
    assert (circular.value, circular.n) == (1.0, 2)
