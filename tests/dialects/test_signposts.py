"""Names that other tools know are answered with what to install."""

import sys

import pytest

import assay
from assay.core import UsageError
from assay.dialects.harness.library import Library

NAMES = [
    ("bfcl_v3", "write bfcl"),
    ("bfcl_memory", "pip install bfcl-eval"),
    ("bfcl_web_search", "pip install bfcl-eval"),
    ("swe_bench_verified", "pip install swebench"),
    ("SWE-bench-verified", "pip install swebench"),
    ("terminal-bench", "pip install harbor"),
    ("gaia", "then `assay run inspect_evals/gaia`"),
]


@pytest.mark.parametrize(("name", "words"), NAMES)
def test_name_of_another_tool_is_answered_with_what_to_install(name, words):
    with pytest.raises(UsageError) as raised:
        assay.run(name, model="scripted")

    assert words in str(raised.value)
    assert "did you mean" not in str(raised.value)


def test_configuration_of_promptfoo_is_answered_with_its_command(tmp_path):
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text("prompts: [x]\nproviders: [openai:gpt-4]\ntests: []\n")

    with pytest.raises(UsageError, match="configuration of promptfoo"):
        assay.run(str(file), model="scripted")


def test_lm_eval_task_without_the_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(Library, "tasks_folder", lambda _: None)

    with pytest.raises(UsageError, match=r"pip install 'assay\[lm-eval\]'"):
        assay.run("lm_eval/hellaswag", model="scripted")


@pytest.mark.parametrize("name", ["lmms_eval/mme", "lmms-eval/mme"])
def test_lmms_eval_task_without_the_package_names_the_extra(monkeypatch, name):
    monkeypatch.setattr(Library, "tasks_folder", lambda _: None)

    with pytest.raises(UsageError) as raised:
        assay.run(name, model="scripted")

    assert "pip install 'assay[lmms-eval]'" in str(raised.value)
    assert "--no-deps lmms_eval==0.7.3" in str(raised.value)


def test_misspelt_name_is_still_answered_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'gsm8k'"):
        assay.run("gsm9k", model="scripted")


def test_inspect_task_without_the_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)

    with pytest.raises(UsageError, match=r"pip install 'assay\[inspect\]'"):
        assay.run("inspect_evals/gsm8k", model="scripted")


def test_file_of_inspect_tasks_without_the_package_names_the_extra(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    file = tmp_path / "mine.py"
    file.write_text("from inspect_ai import task\n\n@task\ndef sums():\n    ...\n")

    with pytest.raises(UsageError, match=r"pip install 'assay\[inspect\]'"):
        assay.run(f"{file}@sums", model="scripted")
