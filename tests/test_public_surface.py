"""The public names of assay: which there are, what each is, and that none changes its meaning."""

import inspect
import subprocess
import sys

import assay

CLASSES = {
    "Abilities", "AllOf", "AssayError", "Audio", "Candidate", "DataSource", "Fewshot", "GenerateOptions", "Image",
    "Likelihood", "Measure", "Message", "Outcome", "Output", "Prompt", "Request", "Result", "RunComparison",
    "RunOptions", "RunReader", "RunResult", "Sample", "Score", "Suite", "Task", "Text", "Tool", "ToolCall",
    "ToolResult", "Video",
}  # fmt: skip
FUNCTIONS = {"compare", "run", "score"}


def test_the_public_names_are_these_and_each_is_what_it_was():
    found = {name: getattr(assay, name) for name in assay.__all__}

    assert set(found) == CLASSES | FUNCTIONS
    assert {name for name, thing in found.items() if inspect.isclass(thing)} == CLASSES
    assert {
        name for name, thing in found.items() if inspect.isfunction(thing)
    } == FUNCTIONS


def test_every_public_class_and_function_says_what_it_is():
    bare = [
        name
        for name in CLASSES | FUNCTIONS
        if not (getattr(assay, name).__dict__.get("__doc__") or "").strip()
        and not (getattr(assay, name).__doc__ or "").strip()
    ]
    assert bare == []


def test_no_public_name_is_also_a_module_that_an_import_would_put_in_its_place(
    tmp_path,
):
    before = {name: getattr(assay, name) for name in assay.__all__}
    code = "import assay, pkgutil; print(' '.join(m.name for m in pkgutil.iter_modules(assay.__path__)))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not set(modules) & set(assay.__all__)
    task = assay.Task(
        "t", dataset=[{"question": "a?", "answer": "b"}], scorers="exact_match"
    )
    assay.run(
        task, "scripted", model_args={"answers": "b"}, output=str(tmp_path / "run")
    )
    assert {name: getattr(assay, name) for name in assay.__all__} == before


def test_a_package_is_a_package_before_and_after_a_run():
    code = (
        "import assay, assay.scorers, assay.registry\n"
        "print(type(assay.scorers).__name__, type(assay.registry.scorers).__name__)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said == ["module", "Registry"]
