"""Models that a task brings itself, and models that must finish a dialogue before they are asked anything else."""

import pytest

from assay.core import Abilities, Output, Sample, Task
from assay.runner.events import Silent
from assay.runner.run import run


class Named:
    """A model that answers with its name, and notes what it was asked."""

    abilities = Abilities(history="both")

    def __init__(self, name, whole_dialogues=False):
        self.name, self.whole_dialogues = name, whole_dialogues
        self.asked = []
        self.identity = {"name": name}

    def generate(self, requests):
        self.asked += [request.messages[-1].text for request in requests]
        return [Output.of(self.name) for _ in requests]


def task(**more):
    rows = [{"id": "1", "question": "who?", "answer": "first"}]
    return Task("who", rows, scorers=("exact_match",), **more)


def test_a_task_is_asked_of_the_first_model_it_brings(tmp_path):
    first, second = Named("first"), Named("second")

    result = run(
        task(models={"first": first, "second": second}), output=str(tmp_path / "run")
    )

    assert (result.results[0].model, result.results[0].value) == ("first", 1.0)
    assert second.asked == []


def test_a_model_that_the_run_names_wins_and_may_be_one_the_task_brings(tmp_path):
    first, second = Named("first"), Named("second")

    result = run(
        task(models={"first": first, "second": second}),
        "second",
        output=str(tmp_path / "run"),
    )

    assert (result.results[0].model, result.results[0].value) == ("second", 0.0)
    assert first.asked == []


def test_tasks_that_bring_different_models_are_each_asked_of_their_own(tmp_path):
    one = task(models={"first": Named("first")})
    two = one.but(name="whom", models={"second": Named("second")})

    result = run([one, two], output=str(tmp_path / "run"))

    assert {row.task: row.model for row in result.results} == {
        "who": "first",
        "whom": "second",
    }


class Listening(Silent):
    """Keeps what is said to whoever watches."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


@pytest.mark.parametrize(
    ("named", "said"), [(None, 1), ("first", 0)], ids=["none-named", "one-named"]
)
def test_a_task_with_several_own_models_reports_which_is_asked(tmp_path, named, said):
    watcher = Listening()
    brought = task(models={"first": Named("first"), "second": Named("second")})

    run(brought, named, output=str(tmp_path / "run"), watcher=watcher)

    assert (
        watcher.lines
        == ["who: asks first, as its files say; --model takes another: second"] * said
    )


def test_the_run_folder_is_called_after_the_model_that_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    brought = task(models={"first": Named("first"), "second": Named("second")})

    unnamed, named, another = (
        run(brought),
        run(brought, "first"),
        run(brought, "second"),
    )

    assert unnamed.folder.name.startswith("who--first-")
    assert named.folder == unnamed.folder
    assert another.folder.name.startswith("who--second-")


def dialogues():
    return [
        Sample(f"d{n}", f"d{n} first", "x", turns=(f"d{n} second", f"d{n} third"))
        for n in range(3)
    ]


def test_a_model_that_remembers_finishes_each_dialogue_before_the_next(tmp_path):
    model = Named("m", whole_dialogues=True)

    run(
        Task("talk", dialogues, scorers=("exact_match",)),
        model,
        output=str(tmp_path / "run"),
    )

    assert model.asked == [
        f"d{n} {word}" for n in range(3) for word in ("first", "second", "third")
    ]


def test_single_questions_of_such_a_model_still_come_in_batches(tmp_path):
    model = Named("m", whole_dialogues=True)
    sizes = []
    generate = model.generate
    model.generate = lambda requests: sizes.append(len(requests)) or generate(requests)
    model.batch_size = 4
    rows = [{"id": str(n), "question": f"q{n}", "answer": "m"} for n in range(10)]

    result = run(
        Task("ask", rows, scorers=("exact_match",)), model, output=str(tmp_path / "run")
    )

    assert (result.results[0].value, max(sizes)) == (1.0, 4)


OWN = """
import PIL.Image
from assay import Output

class Repeats:
    identity = {"repeats": 1}

    def __init__(self, times=1):
        self.times = times

    def generate(self, text):
        return "x" * self.times

def chat(messages):
    return {"choices": [{"message": {"content": "first"}}]}

def picture(messages):
    return PIL.Image.new("RGB", (2, 2))

def nothing(messages):
    return Output(())
"""


@pytest.mark.parametrize("name", ["chat", "picture", "nothing"])
def test_what_is_not_an_answer_is_a_fault_of_the_model_and_not_a_wrong_answer(
    tmp_path, name
):
    (tmp_path / "own.py").write_text(OWN)

    result = run(
        task(),
        f"{tmp_path / 'own.py'}:{name}",
        output=str(tmp_path / "run"),
        on_error="continue",
    )

    assert result.results[0].n == 0 and result.results[0].outcomes == {"model_error": 1}


def test_a_class_with_other_options_is_not_answered_from_the_cache(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    rows = [{"id": "1", "question": "q", "answer": "xx"}]
    asked = Task("who", rows, scorers=("exact_match",))
    model, cache = f"{tmp_path / 'own.py'}:Repeats", str(tmp_path / "cache")

    once = run(
        asked,
        model,
        model_args={"times": 1},
        cache=cache,
        output=str(tmp_path / "once"),
    )
    twice = run(
        asked,
        model,
        model_args={"times": 2},
        cache=cache,
        output=str(tmp_path / "twice"),
    )

    assert (once.results[0].value, twice.results[0].value) == (0.0, 1.0)
