"""Asking the rows of a task: the model is loaded before it is asked, even if other rows are scored first."""

from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, Output
from assay.runner.flow.verdicts import LARGEST_BACKLOG

COUNT = LARGEST_BACKLOG + 20


class Loaded:
    """Answers only once it is loaded."""

    abilities = Abilities()
    identity: ClassVar = {"loaded": 1}

    def __init__(self):
        self.is_loaded = False

    def load(self):
        self.is_loaded = True

    def generate(self, requests):
        assert self.is_loaded
        return [Output.of("x") for _ in requests]


SCORER = """
import asyncio
async def score(sample, output):
    await asyncio.sleep(0)
    return float({value})
"""


@pytest.mark.parametrize("more", [0, 1], ids=["all were answered", "the last was not"])
def test_a_new_verdict_on_many_known_answers_comes_before_the_first_question_and_none_is_lost(
    tmp_path, more
):
    def run(count, value):
        (tmp_path / "scorer.py").write_text(SCORER.format(value=value))
        rows = [
            {"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(count)
        ]
        task = assay.Task("t", dataset=rows, scorers=f"{tmp_path / 'scorer.py'}:score")
        return assay.run(task, Loaded(), output=str(tmp_path / "run"))

    run(COUNT, 0)
    result = run(COUNT + more, 1)

    assert (result.status, result[0].n, result[0].value) == (
        "complete",
        COUNT + more,
        1.0,
    )
