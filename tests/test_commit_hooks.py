"""The hooks before a commit: the checks of `make test` that take seconds, with nothing fetched for them."""

import shlex
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_every_hook_uses_a_tool_that_make_test_installed():
    config = yaml.safe_load(
        (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    )

    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]

    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_a_file_that_a_hook_names_exists():
    config = yaml.safe_load(
        (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    )
    entries = [
        hook["entry"] for repository in config["repos"] for hook in repository["hooks"]
    ]

    named = [
        word
        for entry in entries
        for word in shlex.split(entry)[1:]
        if word.endswith(".py")
    ]

    assert named and all((ROOT / name).is_file() for name in named)
