"""A model that reads which option was taken, in place of the rules."""

import asyncio
import json

import pytest

import assay
from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.choice.choice import Choice
from assay.scorers.choice.read_by_judge import JudgedChoice, reading_prompt

ANIMALS = Sample(id="a", target="B", choices=("cat", "dog", "bird", "a fish"))
JUDGE = """
def judge(prompt):
    answer = prompt.split("==== answer ====")[1]
    if "barking" in answer:
        return "B"
    if "feathers" in answer:
        return "(C)"
    return "NONE" if "hm" in answer else "I would rather talk about the weather."
"""


class Judge:
    """Replies with what it was made with."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return Output.of(self.reply)


def read(reply, answer="the barking one"):
    scorer = JudgedChoice(extractor="judge", models={"judge": Judge(reply)})
    return asyncio.run(scorer(ANIMALS, Output.of(answer)))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("B", 1.0),
        ("(b)", 1.0),
        ("Option B.", 1.0),
        ("<think>A?</think>B", 1.0),
        ("C", 0.0),
    ],
)
def test_the_letter_the_model_reads_is_the_answer(reply, value):
    score = read(reply)

    assert (score.value, score.outcome, score.details["rule"]) == (
        value,
        Outcome.SCORED,
        "judge",
    )


def test_none_is_unparsed_and_any_other_reply_is_a_judge_error():
    nothing, chatter = (
        read("NONE", "The answer is B."),
        read("The writer chose a dog.", "The answer is B."),
    )

    assert nothing.outcome is Outcome.UNPARSED
    assert (chatter.outcome, chatter.value) == (Outcome.JUDGE_ERROR, None)
    assert "instead of a letter or NONE" in chatter.details["reason"]


def test_an_empty_answer_is_not_sent_to_the_judge():
    judge = Judge("B")

    score = asyncio.run(
        JudgedChoice(extractor="judge", models={"judge": judge})(
            ANIMALS, Output.of(" ")
        )
    )

    assert (score.outcome, judge.asked) == (Outcome.UNPARSED, [])


def test_the_model_sees_options_and_answer_but_neither_reasoning_nor_the_right_letter():
    output = Output.of("<think>it must be D</think>the barking one")
    prompt = reading_prompt(output.text, {"A": "cat", "B": "dog"})

    text = prompt.messages[0].parts[0].text
    assert "A. cat\nB. dog" in text and "the barking one" in text
    assert "must be D" not in text


def test_choice_with_a_judge_is_asynchronous_and_an_unknown_extractor_is_refused():
    assert isinstance(Choice(extractor="judge"), JudgedChoice)
    with pytest.raises(UsageError, match="no extractor 'oracle'"):
        Choice(extractor="oracle")


def test_a_run_keeps_the_calls_and_names_the_reader_in_the_protocol(tmp_path):
    (tmp_path / "reader.py").write_text(JUDGE)
    rows = [
        {"input": said, "target": "B", "choices": list(ANIMALS.choices)}
        for said in ("barking", "feathers", "hm", "?")
    ]
    task = assay.Task(
        "animals",
        rows,
        scorers=[{"name": "choice", "extractor": "judge"}],
        template=lambda s: s.input,
    )

    result = assay.run(
        task,
        model=lambda prompt: f"The one with {prompt}",
        output=str(tmp_path / "run"),
        on_error="continue",
        judges={"judge": f"{tmp_path / 'reader.py'}:judge"},
    )

    (row,) = result.results
    assert row.outcomes == {"scored": 2, "unparsed": 1, "judge_error": 1}
    assert "judge=reader.py:judge" in row.protocol
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "records.jsonl").read_text("utf-8").splitlines()
    ]
    assert (
        sum(
            line["kind"] == "output" and line["task"] == "animals#judge"
            for line in lines
        )
        == 4
    )
