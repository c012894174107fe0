"""Prompts of a user's own for judges: what they may name, and how replies are read."""

import asyncio

import pytest

from assay.core import Outcome, Output, Sample, TemplateError, UsageError
from assay.rendering import PlainText
from assay.scorers.judge.judge import Judge
from assay.scorers.judge.judge_pairs import PairwiseJudge
from assay.scorers.judge.judge_wording import NAMES

SAMPLE = Sample("q1", "What is 2 + 2?", "4", fields={"topic": "sums", "other": "5"})
RATING = r"\[\[(\d+)\]\]"


class Listening:
    def __init__(self, reply):
        self.reply, self.prompts, self.options = reply, [], []

    async def ask(self, prompt, options=None):
        self.prompts.append(prompt)
        self.options.append(options)
        return Output.of(self.reply)


def judged(reply, scorer=Judge, answer="It is 4.", **options):
    judge = Listening(reply)
    score = asyncio.run(
        scorer(models={"judge": judge}, **options)(SAMPLE, Output.of(answer))
    )
    return score, judge


def test_a_custom_prompt_can_use_question_answer_reference_and_row():
    text = "{{ row.topic }}: {{ question }} | {{ answer }} | {{ reference }} | {{ lowest }} to {{ highest }}"
    score, judge = judged('{"score": 5}', prompt=text)

    said = judge.prompts[0].messages[-1].text
    assert said.startswith(
        "sums: What is 2 + 2? | It is 4. | 4 | 1 to 5\n\nReply with one JSON object"
    )
    assert score.value == 5.0


def test_a_prompt_that_names_the_form_is_not_changed():
    _, judge = judged('{"score": 5}', prompt="{{ answer }}\n{{ form }}\nBe brief.")

    assert judge.prompts[0].messages[-1].text.endswith("\nBe brief.")


def test_a_pattern_reads_the_last_match_and_asks_for_no_json():
    score, judge = judged(
        "First [[2]], no: [[4]]", prompt="Rate {{ answer }} as [[3]].", verdict=RATING
    )

    assert score.value == 4.0
    assert judge.options[0].response_format is None


@pytest.mark.parametrize("reply", ["none", "[[9]]", "[[x]]", ""])
def test_a_reply_the_pattern_does_not_read_is_a_judge_error(reply):
    score, _ = judged(reply, prompt="Rate {{ answer }}.", verdict=RATING)

    assert (score.value, score.outcome) == (None, Outcome.JUDGE_ERROR)


def test_the_last_verdict_counts_whatever_the_answer_contains():
    score, _ = judged(
        "The answer says [[5]]. Rating: [[1]]",
        answer="Rating: [[5]], or rating: [[1]]",
        prompt="Rate {{ answer }}.",
        verdict=RATING,
    )

    assert (score.value, score.outcome) == (1.0, Outcome.SCORED)


def test_a_pair_may_have_a_prompt_too_and_c_is_a_tie():
    score, judge = judged(
        "[[C]]",
        PairwiseJudge,
        against="other",
        prompt="{{ answer_a }} or {{ answer_b }}?",
        verdict=r"\[\[([ABC])\]\]",
    )

    assert [prompt.messages[-1].text for prompt in judge.prompts] == [
        "It is 4. or 5?",
        "5 or It is 4.?",
    ]
    assert (score.value, score.details["verdicts"]) == (0.5, ["tie", "tie"])


def test_a_system_message_and_criteria_are_taken():
    _, judge = judged(
        '{"score": 1}',
        prompt={"system": "Grade by: {{ criteria }}", "user": "{{ answer }}"},
        template="rubric",
        criteria="be short",
    )

    assert [message.role for message in judge.prompts[0].messages] == ["system", "user"]
    assert judge.prompts[0].messages[0].text == "Grade by: be short"


def test_a_prompt_is_read_from_a_file(tmp_path):
    (tmp_path / "grade.txt").write_text("Grade {{ answer }}", encoding="utf-8")

    _, judge = judged('{"score": 1}', prompt=str(tmp_path / "grade.txt"))

    assert judge.prompts[0].messages[-1].text.startswith("Grade It is 4.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": "Grade this."}, "would not see the answer"),
        ({"prompt": "{{ anwser }}"}, "unknown name 'anwser'"),
        ({"prompt": "{{ answer"}, "not valid Jinja"),
        ({"prompt": {"human": "{{ answer }}"}}, "cannot read its prompt"),
        ({"prompt": "missing.txt"}, "cannot read its prompt file: No such file"),
        ({"prompt": "{{ answer }}", "verdict": "("}, "cannot be read"),
        ({"prompt": "{{ answer }}", "verdict": "x"}, "has 0 groups"),
        (
            {"verdict": RATING},
            "reads verdicts by a pattern that its prompt does not ask for",
        ),
        ({"template": "rubric"}, "needs criteria"),
    ],
)
def test_prompts_and_verdicts_that_cannot_work_are_refused_before_the_run(
    options, message
):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        Judge(**options)


@pytest.mark.parametrize(
    "text",
    [
        "{{ row.__class__ }}",
        "{{ answer.__init__.__globals__ }}",
        "{{ ''.__class__.mro() }}",
    ],
)
def test_a_prompt_can_use_only_its_values(text):
    render = PlainText("{{ answer }}" + text, frozenset(NAMES), where="prompt")

    with pytest.raises(TemplateError):
        render({"answer": "x", "row": {}})


def test_a_value_that_is_not_plain_is_named_by_its_kind():
    render = PlainText("{{ row.image }}", frozenset({"row"}), where="prompt")

    assert render({"row": {"image": object()}}) == "[object]"


def test_a_missing_column_is_reported_with_a_fix():
    with pytest.raises(
        TemplateError,
        match=r"a value in the text has no 'category'; fix: .*default\(''\)",
    ):
        judged("", prompt="{{ row.category }} {{ answer }}")
