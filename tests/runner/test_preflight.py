"""A real run says what is wrong with how prompts are rendered, once, and goes on."""

from typing import ClassVar

import assay
from assay.core import Abilities, Output
from assay.runner.events import Silent

ROWS = [{"id": f"s{n}", "question": f"q{n}", "answer": "x"} for n in range(3)]


class Reader:
    """Renders prompts by itself, and not well."""

    abilities = Abilities()
    identity: ClassVar = {"reader": 1}
    broken = False

    def __init__(self):
        self.looked_at, self.stops = [], []

    def generate(self, requests):
        return [Output.of("x") for _ in requests]

    def preflight(self, prompt, stops=()):
        if self.broken:
            raise ValueError("no tokenizer")
        self.looked_at.append(prompt.messages[-1].text)
        self.stops.append(tuple(stops))
        return ["the prompt begins with two beginning-of-sequence tokens"]


WARNING = "warning: Reader: the prompt begins with two beginning-of-sequence tokens (--dry_run shows the first prompt)"


def run(folder, model, *names, watcher=None, **settings):
    tasks = [assay.Task(name, dataset=ROWS, **settings) for name in names or ("qa",)]
    return assay.run(tasks, model, output=str(folder / "run"), watcher=watcher)


def test_faults_are_said_once_for_a_model_before_it_is_asked(tmp_path):
    watcher, model = Silent(), Reader()

    done = run(tmp_path, model, "qa", "more", watcher=watcher, options={"stop": ("###",)})

    assert watcher.lines == [WARNING]
    assert list(done.notes) == [WARNING] and done.status == "complete"
    assert model.looked_at == ["q0", "q0"] and model.stops == [("###",), ("###",)]


def test_a_run_that_asks_nothing_looks_at_nothing(tmp_path):
    run(tmp_path, Reader())
    again = Reader()

    run(tmp_path, again)

    assert again.looked_at == []


def test_a_prompt_that_cannot_be_looked_at_stops_no_run(tmp_path):
    watcher, model = Silent(), Reader()
    model.broken = True

    done = run(tmp_path, model, watcher=watcher)

    assert done.status == "complete" and done.notes == ()
    assert watcher.lines == ["Reader: the prompts of qa were not looked at: no tokenizer"]
