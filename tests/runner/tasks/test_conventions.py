"""A benchmark as a plain Python file: every field of a task is used, misspellings are reported, helpers are ignored."""

from dataclasses import fields

import pytest

import assay
from assay.core import Fewshot, Sample, Task
from assay.core.errors import AssayError
from assay.runner.options import RunOptions
from assay.runner.tasks.conventions import SHORT
from assay.runner.tasks.resolve import resolve_tasks

DATASET = 'dataset = [{"question": f"{n}+{n}?", "answer": str(2 * n), "topic": "t"} for n in range(4)]\n'
VALUES = {
    "name": "'mine'", "template": "'Q: {{ question }}'", "scorers": "['number', 'includes']", "summarizers": "'mean'",
    "options": "{'max_tokens': 5}", "fewshot": "{'num': 2, 'seed': 3}", "protocol": "'mine@own'",
    "system": "'Be brief.'",
    "headline": "'f1'", "epochs": "3", "reducer": "'max'", "columns": "{'target': 'answer'}", "tags": "'topic'",
    "cluster": "'topic'",
    "subset": "'sums'",
    "roles": "{'Question': 'user'}", "history": "'reference'", "measures": "['letter']", "needs": "['image']",
    "produces": "['audio']", "hints": "{'a': 1}", "models": "{'m': 1}", "description": "'d'", "citation": "'c'",
    "licence": "'l'", "allow_urls": "True", "data_hint": "'h'",
    "tools": "['bash', 'python']", "mcp": "['server --stdio']", "tool_choice": "'required'", "limits": "{'turns': 5}",
    "user": "'You want a refund.'",
}  # fmt: skip
CODE = {
    "to_sample": "def to_sample(row):\n    return None\n",
    "driver": "def driver(engine):\n    return None\n",
    "state": "def state(sample):\n    return {}\n",
}


def task_of(tmp_path, text):
    file = tmp_path / "bench.py"
    file.write_text(DATASET + text)
    (task,) = resolve_tasks(str(file), RunOptions())
    return task


def test_every_field_of_a_task_is_tried_here():
    set_by_assay = {"dataset", "environment", "foreign", "origin"}

    assert {f.name for f in fields(Task)} - set_by_assay == {*VALUES, *CODE}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_module_level_name_means_the_same_as_in_a_task(tmp_path, name):
    task = task_of(tmp_path, f"{name} = {VALUES[name]}\n")

    expected = (
        Task("bench", **{name: eval(VALUES[name])}) if name != "name" else Task("mine")
    )
    assert getattr(task, name) == getattr(expected, name)


@pytest.mark.parametrize("name", sorted(CODE))
def test_functions_that_are_fields_are_used(tmp_path, name):
    assert callable(getattr(task_of(tmp_path, CODE[name]), name))


@pytest.mark.parametrize(("name", "field"), sorted(SHORT.items()))
def test_short_names_of_fields_are_accepted(tmp_path, name, field):
    if field == "dataset":
        (tmp_path / "bench.py").write_text(DATASET.replace("dataset", name))
        (task,) = resolve_tasks(str(tmp_path / "bench.py"), RunOptions())
        assert len(task.dataset) == 4
    else:
        assert getattr(task_of(tmp_path, f"{name} = 'mean'\n"), field) in (
            "mean",
            ("mean",),
        )


def test_what_the_file_says_is_what_is_run(tmp_path):
    (tmp_path / "bench.py").write_text(
        DATASET
        + "template = 'Q: {{ question }}'\nscorers = 'number'\nfewshot = 1\nepochs = 3\nprotocol = 'own@mine'\n"
    )
    asked = []

    def model(messages):
        asked.append(messages)
        return "2"

    result = assay.run(str(tmp_path / "bench.py"), model, output=str(tmp_path / "run"))

    assert (
        [r.metric for r in result.results] == ["number"]
        and len(asked) == 12
        and len(asked[0]) == 3
    )
    assert asked[0][-1]["content"].startswith("Q: ")
    assert result.results[0].protocol.startswith("own@mine+shots_from_evaluated_data-")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "scorrers = 'number'\n",
            "bench.py:2: a benchmark has no `scorrers`; fix: did you mean 'scorers'?",
        ),
        ("templat = 'x {{ question }}'\n", "did you mean 'template'?"),
        ("epoch = 3\n", "did you mean 'epochs'?"),
        ("metrics = ['f1']\n", "did you mean 'scorers'?"),
        ("num_fewshot = 3\n", "did you mean 'fewshot'?"),
        ("max_tokens = 3\n", 'fix: write options = {"max_tokens": …}'),
        ("temperature: float = 0\n", 'fix: write options = {"temperature": …}'),
        ("def scores(sample, output):\n    return 1\n", "did you mean 'score'?"),
        ("def promt(sample):\n    return 'x'\n", "did you mean 'prompt'?"),
        (
            "columns = 'gold'\n",
            "`columns` is 'gold'; fix: write keys and values, as target: gold",
        ),
        ("epochs = 'x'\n", "`epochs` is 'x'; fix: write a whole number"),
        ("options = {'max_token': 3}\n", "did you mean 'max_tokens'?"),
        ("fewshot = {'nmu': 3}\n", "did you mean 'num'?"),
        ("score = 'number'\nscorers = 'f1'\n", "gives the scorers a second time"),
        (
            "from assay import Task\nt = Task('t', scorer='number')\n",
            "did you mean 'scorers'?",
        ),
        (
            "from assay import Sample\ns = Sample('1', targt='x')\n",
            "did you mean 'target'?",
        ),
    ],
)
def test_a_misspelling_is_answered_with_the_likely_name(tmp_path, text, says):
    with pytest.raises(AssayError) as caught:
        task_of(tmp_path, text)

    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "import json\nfrom pathlib import Path\nfrom functools import cache\n",
        "ROOT = 'x'\nscorers_used = 3\n_scorrers = 1\nnumbers = [1]\n",
        "tag = 'x'\ndef prompt(sample):\n    return tag + sample.input\n",
        "def columns(row):\n    return row\n",
        "class options:\n    pass\n",
        "def tags():\n    return 1\nvalue = tags()\n",
        "models = ['a', 'b']\nhistory_of = 3\n",
        "def scored(values):\n    return values\n",
        "def score(sample, output):\n    return helper(sample)\ndef helper(sample):\n    return 1\nscores = {}\n",
        "limit = 3\nurl = 'x'\nseeds = [1]\nnames = ['a']\nrows = []\nquestion = 'q'\n",
    ],
)
def test_what_is_the_authors_own_is_left_alone(tmp_path, text):
    assert task_of(tmp_path, text).name == "bench"


def test_a_number_of_shots_is_enough_in_python_and_yaml(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"question": "q", "answer": "x"}\n')
    (tmp_path / "bench.yaml").write_text("dataset: rows.jsonl\nfewshot: 2\n")

    (task,) = resolve_tasks(str(tmp_path / "bench.yaml"), RunOptions())

    assert task.fewshot == Task("t", fewshot=2).fewshot == Fewshot(2)


def test_a_list_of_accepted_answers_in_a_sample_is_one(tmp_path):
    samples = [
        Sample("1", "Capital of Italy?", ["Rome", "Roma"]),
        Sample("2", "2+2?", ["4", "four"]),
    ]

    result = assay.run(
        Task("two", dataset=samples), lambda text: "Roma", output=str(tmp_path / "run")
    )

    assert result.status == "complete" and result.value("exact_match") == 0.5


def test_a_slip_in_a_function_that_makes_a_task_is_answered_too(tmp_path):
    (tmp_path / "made.py").write_text(
        "from assay import Task\ndef mine():\n    return Task('t', scorer='number')\n"
    )

    with pytest.raises(AssayError, match="did you mean 'scorers'"):
        resolve_tasks(f"{tmp_path}/made.py:mine", RunOptions())
