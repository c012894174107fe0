"""Prompts that were cut and answers that were squeezed: counted in the summary, said under the table."""

from dataclasses import replace
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, Message, Output, Prompt
from assay.runner.counts.remarks import Cuts
from assay.store import RunReader

ROWS = [{"id": f"s{n}", "question": f"q{n}", "answer": "x"} for n in range(4)]
CUT = {
    "q0": {"truncated_tokens": 100},
    "q1": {"truncated_tokens": 20, "answer_room": 3},
    "q2": {"answer_room": 1},
}
NOTES = [
    "qa: 2 prompts were cut by 120 tokens in all to fit the context of Cutting",
    "qa: 2 answers ended early: prompt and max_tokens together exceed the context of Cutting",
]


class Cutting:
    """Says of some questions that it has not read them whole."""

    abilities = Abilities()
    identity: ClassVar = {"cutting": 1}

    def __init__(self, fails=()):
        self.fails, self.asked = fails, []

    def generate(self, requests):
        return [self._answer(request.messages[-1].text) for request in requests]

    def _answer(self, text):
        self.asked.append(text)
        if text in self.fails:
            return Output.failed("exception", "not now", retryable=False)
        return replace(Output.of("x"), details=CUT.get(text, {}))


def run(folder, model, **settings):
    return assay.run(
        assay.Task("qa", dataset=ROWS, **settings), model, output=str(folder / "run")
    )


def test_cuts_are_in_the_summary_and_the_notes(tmp_path):
    done = run(tmp_path, Cutting())

    summary = RunReader(tmp_path / "run").summary
    [usage] = summary["usage"].values()
    assert {
        name: usage[name]
        for name in ("truncated_prompts", "truncated_tokens", "squeezed_answers")
    } == {
        "truncated_prompts": 2,
        "truncated_tokens": 120,
        "squeezed_answers": 2,
    }
    assert list(done.notes) == summary["notes"] == NOTES


def test_cuts_of_an_earlier_run_count_when_it_continues(tmp_path):
    run(tmp_path, Cutting(fails=("q1",)))
    again = Cutting()

    done = run(tmp_path, again)

    assert again.asked == ["q1"]
    assert list(done.notes) == NOTES


def test_each_round_of_a_dialogue_is_a_prompt(tmp_path):
    rows = [{"id": "a", "turns": ["q0", "q1", "q3"], "answer": "x"}]
    task = assay.Task("qa", dataset=rows)
    assay.run(task, Cutting(fails=("q3",)), output=str(tmp_path / "run"))
    again = Cutting()

    done = assay.run(task, again, output=str(tmp_path / "run"))

    assert again.asked == ["q3"]
    assert done.notes[0] == NOTES[0]


def test_what_a_driver_asks_is_counted_too(tmp_path):
    def driver(engine):
        engine.generate(
            [Prompt((Message.of("user", text),)) for text in ("q0", "q1", "q2")]
        )
        return {"value": 1.0}

    for _ in range(2):
        done = assay.run(
            assay.Task("qa", dataset=ROWS, driver=driver),
            Cutting(),
            output=str(tmp_path / "run"),
        )

        assert list(done.notes) == NOTES


@pytest.mark.parametrize("said", ["many", None, -1, [3]])
def test_what_is_not_a_number_of_tokens_is_not_counted(said):
    cuts = Cuts()

    cuts.count(("a", 0, 0), Output(details={"truncated_tokens": said}))

    assert cuts.to_plain() == {} and list(cuts.lines("qa", "m")) == []
