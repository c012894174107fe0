"""Quickstart: the sets are whole, small, and scored as their rows say."""

import re

import pytest

from assay.benchmarks.small_sets import follows_format, quickstart, quickstart_dialogue
from assay.core import Output, Sample
from assay.datasets import open_dataset
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import find_data

TASKS = {task.name: task for task in quickstart.tasks}


def rows_of(name: str) -> list[Sample]:
    task = TASKS[name]
    made = list(open_dataset(find_data(task, None), tags=task.tags))
    assert all(isinstance(sample, Sample) for sample in made)
    return made


@pytest.mark.parametrize("name", TASKS)
def test_each_set_is_small_and_asks_nothing_twice(name):
    samples = rows_of(name)

    assert 10 <= len(samples) <= 20
    assert len({(sample.input, sample.turns) for sample in samples}) == len(samples)


def test_the_whole_suite_generates_at_most_a_thousand_tokens():
    budget = sum(
        task.options.max_tokens * sum(1 + len(sample.turns) for sample in rows_of(name))
        for name, task in TASKS.items()
    )

    assert budget <= 1000


def test_right_answers_are_spread_over_the_letters():
    letters = [sample.target for sample in rows_of("quickstart_choices")]

    assert (
        set(letters) == {"A", "B", "C", "D"} and max(map(letters.count, letters)) <= 5
    )


def test_a_model_that_knows_the_answers_scores_one_in_every_set(tmp_path):
    script: dict[str, str] = {}
    for name in ("quickstart_arithmetic", "quickstart_facts", "quickstart_dialogue"):
        for sample in rows_of(name):
            script |= dict.fromkeys(
                [sample.input, *sample.turns], str(sample.targets[0])
            )
    script |= {
        sample.input: FORMS[sample.id] for sample in rows_of("quickstart_format")
    }
    letters = {sample.input: sample.target for sample in rows_of("quickstart_choices")}

    def answer(request):
        asked = [
            message for message in request.prompt.messages if message.role == "user"
        ][-1].text
        return letters.get(asked.partition("\n")[0]) or script[asked]

    results = run(quickstart, Scripted(answer), output=str(tmp_path / "run")).results

    assert {result.task: result.value for result in results} == dict.fromkeys(
        TASKS, 1.0
    )


def test_the_dialogue_continues_from_the_models_own_first_answer(tmp_path):
    model = Scripted(["Hello Ada!", "Your name is Ada."])

    run(quickstart_dialogue, model, limit=1, output=str(tmp_path / "run"))

    assert [message.text for message in model.calls[1].prompt.messages] == [
        "My name is Ada. Please say hello.",
        "Hello Ada!",
        "What is my name?",
    ]


def test_patterns_describe_whole_answers():
    sample = Sample("a", fields={"pattern": r"APPLE\.?"})

    assert follows_format(sample, Output.of(" APPLE\n")).value == 1.0
    assert follows_format(sample, Output.of("The word is APPLE")).value == 0.0
    assert follows_format(sample, Output.of("  ")).outcome == "unparsed"


def test_every_pattern_compiles():
    for sample in rows_of("quickstart_format"):
        re.compile(sample["pattern"])


FORMS = {
    "format-01": "APPLE",
    "format-02": "lemon",
    "format-03": "Yes.",
    "format-04": "true",
    "format-05": "blue",
    "format-06": "7",
    "format-07": "apples, pears, plums",
    "format-08": "1, 2, 3, 4",
    "format-09": '"hello"',
    "format-10": "[start]",
    "format-11": "The sea is deep!",
    "format-12": "What is your name?",
}
