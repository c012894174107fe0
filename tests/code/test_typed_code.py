"""Functions that lie in no file: started as people start them, in processes of their own."""

import json
import os
import subprocess
import sys

import pytest

from assay.code.typed_code import digest_of_code, digest_of_state, file_of
from assay.models import adapt_model

SESSION = """

import assay

ENDING = "{ending}"

def helper(text): return text + ENDING

def generate(messages): return helper("4")

class Model:
    def generate(self, messages): return "4"

def closed(answer): return lambda messages: answer

def score(sample, output): return output.text.startswith("4")

task = assay.Task(name="t", dataset=[dict(question="2+2?", answer="4")], scorers=(score,))

models = generate, Model, closed("4"), Model()

results = [assay.run([task], model=m, output=f"run{{i}}") for i, m in enumerate(models)]

print([(r.status, r.value("score"), list(r.usage.values())[0]["asked"]) for r in results])

"""


def started(arguments, folder, **more):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **more,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def asked(output):
    line = next(line for line in output.splitlines() if "complete" in line)
    found = json.loads(
        line[line.index("[") :].replace("(", "[").replace(")", "]").replace("'", '"')
    )
    assert [status for status, _, _ in found] == ["complete"] * 4
    assert [value for _, value, _ in found] == [1.0] * 4
    return [count for _, _, count in found]


WAYS = {
    "python -c": lambda code, folder: started(["-c", code], folder),
    "python -": lambda code, folder: started(["-"], folder, input=code),
    "python -i": lambda code, folder: started(["-i", "-q"], folder, input=code),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_without_a_file_is_a_model_that_is_known_again(tmp_path, way):
    start = WAYS[way]

    first = asked(start(SESSION.format(ending="!"), tmp_path))
    again = asked(start("# a comment\n" + SESSION.format(ending="!"), tmp_path))
    changed = asked(start(SESSION.format(ending="?"), tmp_path))

    assert first == [1, 1, 1, 1]
    assert again == [0, 0, 0, 0]
    assert changed == [1, 0, 0, 0]  # a global that the first one names has changed


def test_functions_of_a_notebook_are_models(tmp_path, monkeypatch):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = shell()
    cells = (
        SESSION.format(ending="!")
        .replace("print(", "answered = (")
        .split("\nresults", 1)
    )

    notebook.run_cell(cells[0]).raise_error()
    notebook.run_cell(f"results{cells[1]}").raise_error()

    assert [(status, value) for status, value, _ in notebook.user_ns["answered"]] == [
        ("complete", 1.0)
    ] * 4
    assert file_of(notebook.user_ns["generate"]) == ""


def typed(code):
    names = {"__name__": "__main__"}
    exec(compile(code, "<stdin>", "exec"), names)
    return names


def test_a_comment_or_a_line_more_does_not_make_another_function():
    one = typed("def f(messages):\n    return 'a'\n")["f"]
    other = typed("# why\n\n\ndef f(messages):\n    # how\n    return 'a'\n")["f"]

    assert digest_of_code(one) == digest_of_code(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(m): return 'a'", "def f(m): return 'b'"),
        ("A = 'a'\ndef f(m): return A", "A = 'b'\ndef f(m): return A"),
        (
            "def g(): return 'a'\ndef f(m): return g()",
            "def g(): return 'b'\ndef f(m): return g()",
        ),
        ("def f(m, end='a'): return end", "def f(m, end='b'): return end"),
        ("def f(m): return (lambda: 'a')()", "def f(m): return (lambda: 'b')()"),
        (
            "class f:\n  x = 'a'\n  def generate(self, m): ...",
            "class f:\n  x = 'b'\n  def generate(self, m): ...",
        ),
        ("def f(m): return m in {'a', 'b'}", "def f(m): return m in {'a', 'c'}"),
    ],
)
def test_what_a_typed_function_does_or_names_makes_it_what_it_is(one, other):
    assert digest_of_code(typed(one)["f"]) != digest_of_code(typed(other)["f"])


def test_a_set_has_one_digest_in_every_process(tmp_path):
    code = (
        "from assay.code.typed_code import digest_of_code\n"
        "def f(m): return m in {'a', 'b', 'c', 'd', 'e'}\nprint(digest_of_code(f))"
    )

    found = {
        started(["-c", code], tmp_path, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in "012"
    }

    assert len(found) == 1


def test_two_closures_of_one_line_are_two_models():
    def closed(answer):
        return lambda messages: answer

    assert adapt_model(closed("a")).identity != adapt_model(closed("b")).identity
    assert adapt_model(closed("a")).identity == adapt_model(closed("a")).identity


def test_objects_of_one_class_are_distinguished_by_settings_and_not_by_counters():
    class Model:
        def __init__(self, style):
            self.style, self.calls = style, 0

        def generate(self, messages):
            self.calls += 1
            return self.style

    asked_once = Model("a")
    asked_once.calls += 1

    assert adapt_model(Model("a")).identity != adapt_model(Model("b")).identity
    assert adapt_model(Model("a")).identity == adapt_model(asked_once).identity


def test_what_a_function_fills_or_counts_does_not_make_it_another_model():
    log, count = [], 0

    def generate(messages):
        nonlocal count
        count += 1
        log.append(messages)
        return "a"

    before = adapt_model(generate).identity
    generate("x")

    assert adapt_model(generate).identity == before


def test_a_setting_that_is_changed_in_place_makes_another_model():
    settings = {"style": "a"}
    names = typed("def f(m): return settings['style']")
    names["settings"] = settings

    before = digest_of_code(names["f"])
    settings["style"] = "b"

    assert digest_of_code(names["f"]) != before


def test_a_secret_that_an_object_holds_does_not_enter_its_digest():
    class Model:
        def __init__(self, key):
            self.api_key = key

        def __call__(self, messages):
            return "a"

    assert digest_of_state(Model("sk-one")) == digest_of_state(Model("sk-two"))
