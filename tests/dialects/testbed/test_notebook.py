"""A notebook written for the testbed: its cells in order, in one namespace, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.dialects import disable, enable

NOTEBOOK = Path(__file__).parent / "tutorial.ipynb"

KERNEL = """
import json, sys

scope = sys.modules["__main__"].__dict__
for number, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), scope)
"""


def executed(notebook):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", KERNEL, str(notebook)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_notebook_runs_and_leaves_the_session_as_it_was():
    made = executed(NOTEBOOK)

    assert made["right"] == [True, False] * 3
    assert made["prompt"].startswith("Question: is ") and made["prompt"].endswith(
        "is 0 even?\nAnswer: "
    )
    assert made["text"] == {"role": "answer"}
    assert made["left"] == "No module named 'testbed'"


def test_a_cell_that_asks_for_what_the_testbed_has_not_says_so(tmp_path):
    cells = [
        "import assay.dialects\nassay.dialects.enable('testbed')",
        "import json",
        "try:\n    import testbed.nothing\nexcept ImportError as error:\n    print(json.dumps(str(error)))",
    ]
    notebook = tmp_path / "short.ipynb"
    notebook.write_text(
        json.dumps(
            {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
        )
    )

    assert executed(notebook).startswith(
        "the testbed dialect has no module 'testbed.nothing'"
    )


@pytest.mark.parametrize("is_installed", [False, True])
def test_a_module_on_the_path_is_served_unless_such_a_package_is_installed(
    tmp_path, is_installed
):
    (tmp_path / "some_library.py").write_text(
        "import testbed\nFOUND = getattr(testbed, 'MINE', False)\n"
    )
    if is_installed:
        (tmp_path / "testbed.py").write_text("MINE = True\n")
    cells = [
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport assay.dialects\nassay.dialects.enable('testbed')",
        "import json, testbed.data, some_library\nprint(json.dumps(some_library.FOUND))",
    ]
    notebook = tmp_path / "library.ipynb"
    notebook.write_text(
        json.dumps(
            {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
        )
    )

    assert executed(notebook) is is_installed


SCRIPT = """
import helpers
from testbed.data import postprocess_generation, prepare_dataloader, prepare_input

loader = prepare_dataloader(helpers.ROWS, batch_size=2, num_shots=1)
for batch in loader:
    texts = prepare_input("words", batch)
    print([turn.get("content") for turn in texts[0]], postprocess_generation("words", "A\\nB", stop_words=["\\n"]))
"""

HELPERS = """
from testbed.data import register_dataset_retriever, register_postprocess

ROWS = [{"q": "a", "a": "A"}, {"q": "b", "a": "B"}]


@register_dataset_retriever("words")
def retriever(item, is_last):
    return [{"role": "Q", "content": item["q"]}, {"role": "A"} if is_last else {"role": "A", "content": item["a"]}]


@register_postprocess("words")
def postprocess(text):
    return text.lower()
"""


def test_a_script_and_its_neighbours_run_with_assay_python(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helpers.py").write_text(HELPERS)
    ends = (
        "code = command(sys.argv[1:]); print('testbed' in sys.modules); sys.exit(code)"
    )
    call = f"import sys; from assay.cli.python import command; {ends}"

    done = subprocess.run(
        [sys.executable, "-c", call, str(tmp_path / "script.py")],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['b', 'B', 'a', None] a", "False"]


def test_libraries_that_import_datasets_get_the_library_itself():
    pytest.importorskip("datasets")
    enable("testbed")
    try:
        scope = {"__name__": "__main__"}
        exec("import datasets\nimport evaluate\ntyped = datasets.load_dataset", scope)
        library = {
            "__name__": "some.library",
            "__file__": "/usr/lib/python3/site-packages/some/library.py",
        }
        exec("import datasets\nown = datasets.load_dataset", library)
    finally:
        disable("testbed")

    assert scope["typed"].__module__.startswith("assay.")
    assert library["own"].__module__.startswith("datasets.")
