"""No scorer sees reasoning: a score is the same with and without it."""

import asyncio
import inspect
import math

import pytest

from assay.core import AssayError, Outcome, Output, Sample
from assay.registry import scorers
from assay.runner.scoring.scoring import Scoring
from assay.scorers.judge.judge import Judge

THOUGHT = "Is it A? yes, 4? The answer is B. 红色 no."
FORMS = (
    f"<think>\n{THOUGHT}\n</think>\n\n",
    f"<thinking>{THOUGHT}</thinking>",
    f"<reasoning>{THOUGHT}</reasoning>\n",
    f"{THOUGHT}</think>",
    f"[THINK]{THOUGHT}[/THINK]",
    f"◁think▷{THOUGHT}◁/think▷",
    f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>",
    f"<think>{THOUGHT}</think><think>{THOUGHT}</think>\n",
)
OPEN_FORMS = ("<think>", "<think>Is it ", "[THINK]", "<|channel|>analysis<|message|>")
NUMBER = Sample("n", "How many?", target="42", fields={"choices": ["41", "42"]})
LETTER = Sample(
    "c",
    "Which?",
    target="B",
    choices=("cat", "dog", "bird", "fish"),
    fields={"question_type": "multi_choice", "answer_type": "text", "category": "x"},
)
YES = Sample("y", "Is it?", target="yes")
WORDS = Sample(
    "w",
    "Say it.",
    target="the cat sat on the mat",
    fields={
        "prompt": "Say it.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{}],
        "key": 1,
    },
)
BOX = Sample("b", "Where?", target=[0, 0, 2, 2])
CASES = (
    (NUMBER, "42"),
    (NUMBER, "41"),
    (LETTER, "B"),
    (LETTER, "The answer is (C)."),
    (YES, "yes"),
    (YES, "No, it is not."),
    (WORDS, "the cat sat on the mat"),
    (WORDS, "a dog, perhaps"),
    (BOX, "[0, 0, 2, 1]"),
)


def text_scorers():
    """Return every installed scorer that can be built without options and judges one text by itself."""
    found = []
    for name in scorers.names():
        scorer = scorers.get(name)
        try:
            built = scorer() if inspect.isclass(scorer) else scorer
        except (TypeError, AssayError):
            continue
        waits = inspect.iscoroutinefunction(type(built).__call__)
        if not waits and not hasattr(built, "score_all"):
            found.append(pytest.param(name, built, id=name))
    return found


def score(built, sample, text, stop_reason=None):
    scoring = Scoring.of("s", built, "t", "m")
    return scoring.score(sample, Output.of(text, stop_reason=stop_reason))


@pytest.mark.parametrize(("name", "built"), text_scorers())
def test_a_score_is_the_same_with_and_without_reasoning(name, built):
    for sample, answer in CASES:
        plain = score(built, sample, answer)
        for form in FORMS:
            assert score(built, sample, form + answer) == plain


@pytest.mark.parametrize(("name", "built"), text_scorers())
def test_reasoning_without_an_end_gets_the_worst_value(name, built):
    for sample, answer in CASES:
        for form in OPEN_FORMS:
            for stop_reason, outcome in (
                ("length", Outcome.TRUNCATED),
                ("stop", Outcome.UNPARSED),
                (None, Outcome.UNPARSED),
            ):
                given = score(built, sample, form + answer, stop_reason)
                if given.outcome is Outcome.DATA_ERROR:
                    continue
                values = given.value
                values = values.values() if isinstance(values, dict) else [values]
                assert given.outcome is outcome
                # An error rate of nothing said is 1 (TER: 100), the worst there is.
                is_error_rate = name in ("cer", "mer", "ter", "wer")
                assert all((value >= 1.0) == is_error_rate for value in values)
                assert is_error_rate or all(value == 0.0 for value in values)


def test_most_scorers_are_compared_on_answers_they_can_read():
    names = set()
    for parameter in text_scorers():
        name, built = parameter.values
        outcomes = [score(built, *case).outcome for case in CASES]
        if Outcome.SCORED in outcomes:
            names.add(name)

    assert len(names) >= 35, sorted(names)


@pytest.mark.parametrize(
    ("name", "sample", "text", "value"),
    [
        ("exact_match", NUMBER, "<think>hm</think>42", 1.0),
        ("wer", WORDS, "<think>hm, a dog</think>the cat sat on the mat", 0.0),
        ("number", Sample("5", "q", "5"), "<think>The answer is 4? no.</think>5", 1.0),
        ("math", Sample("5", "q", "5"), "<think>The answer is 4? no.</think>5", 1.0),
        ("includes", Sample("it", "q", "it"), "<think>x is it", 0.0),
        ("number", NUMBER, "<think>42", 0.0),
    ],
)
def test_found_faults(name, sample, text, value):
    assert score(scorers.get(name)(), sample, text).value == value


def test_bleu_of_right_answers_with_reasoning_is_a_hundred():
    bleu = scorers.get("bleu")()
    text = "<think>hm, a dog</think>the cat sat on the mat"

    assert score(bleu, WORDS, text).value == score(bleu, WORDS, WORDS.target).value


class Seen:
    """A judge that keeps what it was shown."""

    def __init__(self):
        self.prompts = []

    async def ask(self, prompt, options=None):
        self.prompts.append(prompt)
        return Output.of('<think>{"score": 1}</think>{"score": 4}')


def test_a_judge_sees_only_the_answer_and_its_own_reasoning_is_not_its_verdict():
    judge = Seen()
    scorer = Judge(models={"judge": judge})

    given = asyncio.run(scorer(NUMBER, Output.of("<think>secret</think>42")))

    assert math.isclose(given.value, 4.0)
    assert "secret" not in judge.prompts[0].messages[-1].text
    assert "42" in judge.prompts[0].messages[-1].text


def test_a_judge_is_not_asked_about_reasoning_without_an_answer():
    judge = Seen()
    scoring = Scoring.of("s", Judge(), "t", "m").given({"judge": judge})

    given = asyncio.run(scoring.score_async(NUMBER, Output.of("<think>is it 42")))

    assert (given.value, given.outcome) == (0.0, Outcome.UNPARSED)
    assert judge.prompts == []
