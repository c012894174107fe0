"""Flags, config keys and environment variables of a run come from one list."""

import dataclasses
import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.cli.run import options_from, parser
from assay.cli.run_flags import from_environment, option_rows
from assay.core import UsageError
from assay.core.request import GenerateOptions
from assay.runner.option_fields import GROUPS
from assay.runner.options import FLAGS, RunOptions

PAGE = Path(__file__).parents[2] / "docs" / "options.md"


def typed(*words):
    return options_from(parser().parse(list(words)))


def test_every_option_has_a_flag_a_group_and_a_line():
    assert list(FLAGS) == [field.name for field in dataclasses.fields(RunOptions)]
    assert {flag.group for flag in FLAGS.values()} <= set(GROUPS)
    assert [name for name, flag in FLAGS.items() if not flag.help] == []
    known = parser()._option_string_actions
    assert {spelling for flag in FLAGS.values() for spelling in flag.flags} <= set(
        known
    )
    assert {f"--{field.name}" for field in dataclasses.fields(GenerateOptions)} <= set(
        known
    )


VALUES = {
    "text": ("abc", "abc"),
    "integer": ("7", 7),
    "number": ("2.5", 2.5),
    "seed": ("3", 3),
    "batch_size": ("8", 8),
    "truth": ("false", False),
    "list": ("a b", ("a b",)),
    "names": ("a,b", ("a", "b")),
}


@pytest.mark.parametrize(
    "name",
    [name for name, flag in FLAGS.items() if flag.reads in VALUES and not flag.choices],
)
def test_an_option_is_the_same_by_flag_by_config_key_and_by_environment(
    name, tmp_path, monkeypatch
):
    flag = FLAGS[name]
    text, value = VALUES[flag.reads]
    for spelling in flag.flags:
        assert getattr(typed(spelling, text), name) == value
    for key in flag.keys:
        file = tmp_path / f"{key}.json"
        file.write_text(
            json.dumps({key: list(value) if isinstance(value, tuple) else value})
        )
        assert getattr(typed("--config", str(file)), name) == value
    if flag.group != "trust":
        monkeypatch.setenv(f"ASSAY_RUN_{name.upper()}", text)
        assert getattr(typed(), name) == value


def test_the_command_line_overrides_a_config_file_which_overrides_the_environment(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "c.json").write_text('{"limit": 5}')
    monkeypatch.setenv("ASSAY_RUN_LIMIT", "3")
    monkeypatch.setenv("ASSAY_RUN_TEMPERATURE", "0.5")

    assert typed().limit == "3" and typed().generation == {"temperature": 0.5}
    assert (
        "note: set by the environment: ASSAY_RUN_LIMIT, ASSAY_RUN_TEMPERATURE"
        in capsys.readouterr().err
    )
    assert typed("--config", str(tmp_path / "c.json")).limit == 5
    assert typed("--config", str(tmp_path / "c.json"), "-L", "7").limit == "7"
    assert typed("--temperature", "1").generation == {"temperature": 1.0}


@pytest.mark.parametrize(
    ("variable", "text", "line"),
    [
        (
            "ASSAY_RUN_LIMITS",
            "3",
            "ASSAY_RUN_LIMITS is not an option of a run; fix: did you mean ASSAY_RUN_LIMIT?",
        ),
        (
            "ASSAY_RUN_EPOCHS",
            "many",
            "ASSAY_RUN_EPOCHS is 'many', which is not a whole number; fix: correct it",
        ),
        (
            "ASSAY_RUN_SHUFFLE",
            "yes",
            "ASSAY_RUN_SHUFFLE is 'yes', which is not true or false",
        ),
        (
            "ASSAY_RUN_EXECUTOR",
            "slurm",
            "ASSAY_RUN_EXECUTOR is 'slurm'; fix: one of local, ray",
        ),
        (
            "ASSAY_RUN_TRUST_CODE",
            "true",
            "--trust_code cannot be set by the environment variable ASSAY_RUN_TRUST_CODE",
        ),
        (
            "ASSAY_RUN_FRESH",
            "true",
            "--fresh cannot be set by the environment variable ASSAY_RUN_FRESH",
        ),
        ("ASSAY_RUN_MODEL_ARGS", "x", "--model_args takes name=value"),
    ],
)
def test_a_variable_that_cannot_be_used_is_one_line_before_anything_runs(
    variable, text, line, monkeypatch, capsys
):
    monkeypatch.setenv(variable, text)

    assert main(["run", "quickstart", "--model", "scripted"]) == 2

    assert line in capsys.readouterr().err


def test_variables_of_other_names_are_none_of_a_runs():
    faults = []
    assert (
        from_environment(
            {"ASSAY_DATA": "x", "ASSAY_FAULTS": "night", "HOME": "/"}, faults
        )
        == {}
        and not faults
    )


def test_two_spellings_of_one_option_in_a_config_are_refused(tmp_path):
    (tmp_path / "c.json").write_text('{"limit": 5, "max_samples": 6}')

    with pytest.raises(UsageError, match="unknown key 'max_samples'"):
        typed("--config", str(tmp_path / "c.json"))


def test_the_page_of_options_lists_them_all_as_they_are():
    found = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `-")
    ]
    rows = sorted(option_rows(), key=lambda row: GROUPS.index(row[0]))

    assert found == [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row[1:]) + " |"
        for row in rows
    ]
