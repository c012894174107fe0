"""A real run says what is wrong with how prompts are rendered, once, and goes on."""

from pathlib import Path
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, GenerateOptions, Message, Output, Prompt
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


def test_prompt_warnings_are_shown_once_before_a_model_is_asked(tmp_path):
    watcher, model = Silent(), Reader()

    done = run(
        tmp_path, model, "qa", "more", watcher=watcher, options={"stop": ("###",)}
    )

    assert watcher.lines == [WARNING]
    assert list(done.notes) == [WARNING] and done.status == "complete"
    assert model.looked_at == ["q0", "q0"] and model.stops == [("###",), ("###",)]


def test_a_run_that_asks_nothing_looks_at_nothing(tmp_path):
    run(tmp_path, Reader())
    again = Reader()

    run(tmp_path, again)

    assert again.looked_at == []


def test_a_prompt_that_cannot_be_inspected_stops_no_run(tmp_path):
    watcher, model = Silent(), Reader()
    model.broken = True

    done = run(tmp_path, model, watcher=watcher)

    assert done.status == "complete" and done.notes == ()
    assert watcher.lines == [
        "Reader: the prompts of qa were not looked at: no tokenizer"
    ]


FAULT = "warning: Reader: the prompt begins with two beginning-of-sequence tokens"
FILE = '''
from pathlib import Path
from assay.core import Abilities, Output

HERE = Path(__file__).parent


class Reader:
    """Has a tokenizer only once it is loaded."""

    abilities = Abilities()
    identity = {"reader": 2}
    preflight_loads = True
    batch_size = 2
    is_loaded = False

    def load(self):
        self.is_loaded = True
        with open(HERE / "loaded", "a") as file:
            file.write("x")

    def generate(self, requests):
        return [Output.of("x") for _ in requests]

    def preflight(self, prompt, stops=()):
        assert self.is_loaded, "read the weights where replicas have taken the room"
        with open(HERE / "looked", "a") as file:
            file.write(f"{prompt.messages[-1].text} {list(stops)}\\n")
        if (HERE / "broken").exists():
            raise ValueError("no tokenizer")
        return [] if (HERE / "fine").exists() else ["the prompt begins with two beginning-of-sequence tokens"]
'''


def reader_file(folder):
    (folder / "reader.py").write_text(FILE)
    return f"{folder / 'reader.py'}:Reader"


def twice(engine):
    """Asks for two things, one after the other."""
    for text in ("first", "second"):
        engine.generate(
            [Prompt((Message.of("user", text),))], GenerateOptions(stop=("###",))
        )
    return {"asked": 2}


def driven_or_not(is_driven):
    rows = [{"id": f"s{n}", "question": f"q{n}", "answer": "x"} for n in range(6)]
    if is_driven:
        return assay.Task("qa", rows[:1], driver=twice)
    return assay.Task("qa", rows, options={"stop": ("###",)})


def first_of(is_driven):
    return "first ['###']\n" if is_driven else "q0 ['###']\n"


DRIVEN = pytest.mark.parametrize("is_driven", [False, True], ids=["rows", "driver"])


@DRIVEN
@pytest.mark.parametrize("replicas", [None, 1, 2])
def test_a_model_that_looks_only_when_it_is_loaded_warns_wherever_that_is(
    tmp_path: Path, is_driven, replicas
):
    watcher, model = Silent(), reader_file(tmp_path)

    done = assay.run(
        driven_or_not(is_driven),
        model,
        output=str(tmp_path / "run"),
        watcher=watcher,
        replicas=replicas,
    )

    hint = "" if is_driven else " (--dry_run shows the first prompt)"
    line = f"{FAULT.replace('Reader', model)}{hint}"
    assert [one for one in watcher.lines if one.startswith("warning")] == [line]
    assert line in done.notes and done.status == "complete"
    assert (tmp_path / "looked").read_text() == first_of(is_driven)
    # What is looked with is what is asked: no copy is read beside the replicas.
    assert len((tmp_path / "loaded").read_text()) <= (replicas or 1)


@DRIVEN
def test_a_replica_that_cannot_look_stops_no_run(tmp_path: Path, is_driven):
    watcher, model = Silent(), reader_file(tmp_path)
    (tmp_path / "broken").touch()

    done = assay.run(
        driven_or_not(is_driven),
        model,
        output=str(tmp_path / "run"),
        watcher=watcher,
        replicas=1,
    )

    assert done.status == "complete" and not any(
        "warning" in note for note in done.notes
    )
    [line] = [one for one in watcher.lines if "not looked at" in one]
    assert "the prompts of qa were not looked at: " in line and "no tokenizer" in line


@DRIVEN
def test_replicas_that_find_nothing_wrong_say_nothing(tmp_path: Path, is_driven):
    watcher, model = Silent(), reader_file(tmp_path)
    (tmp_path / "fine").touch()

    done = assay.run(
        driven_or_not(is_driven),
        model,
        output=str(tmp_path / "run"),
        watcher=watcher,
        replicas=1,
    )

    warnings = [
        note for note in done.notes if "all 6 samples have the target" not in note
    ]
    assert warnings == [] and (tmp_path / "looked").exists()


def test_two_tasks_in_the_same_replicas_are_each_inspected(tmp_path: Path):
    rows = [{"id": "s", "question": "q", "answer": "x"}]
    tasks = [
        assay.Task("one", rows),
        assay.Task("two", [{**rows[0], "question": "other"}]),
    ]

    done = assay.run(
        tasks, reader_file(tmp_path), output=str(tmp_path / "run"), replicas=1
    )

    assert (tmp_path / "looked").read_text() == "q []\nother []\n"
    assert len([note for note in done.notes if note.startswith("warning")]) == 1


def test_what_a_driver_asks_of_a_model_at_hand_is_inspected_once(tmp_path):
    watcher, model = Silent(), Reader()

    done = assay.run(
        driven_or_not(True), model, output=str(tmp_path / "run"), watcher=watcher
    )

    assert list(done.notes) == [FAULT] == watcher.lines
    assert model.looked_at == ["first"] and model.stops == [("###",)]


def test_a_driver_whose_answers_are_known_looks_at_nothing(tmp_path):
    assay.run(driven_or_not(True), Reader(), output=str(tmp_path / "run"))
    again = Reader()

    assay.run(driven_or_not(True), again, output=str(tmp_path / "run"))

    assert again.looked_at == []
