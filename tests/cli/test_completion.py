"""`assay completion`: scripts for shells, and the words they ask for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import VERBS

CASES = {
    "verbs": ((), "le", ["leaderboard"]),
    "flags": (("run", "sums.jsonl"), "--num_f", ["--num_fewshot"]),
    "tasks": (("run",), "gsm8", ["gsm8k"]),
    "tasks of an alias": (("eval",), "gsm8", ["gsm8k"]),
    "scorers": (("run", "x.jsonl", "--scorer"), "wer", ["wer"]),
    "models": (("run", "x.jsonl", "--model"), "script", ["scripted"]),
    "choices of an option": (("report", "run", "--format"), "h", ["html"]),
    "choices of an argument": (("new",), "ben", ["benchmark"]),
    "kinds": (("ls",), "sc", ["scorers"]),
    "shells": (("completion",), "z", ["zsh"]),
}


@pytest.mark.parametrize("name", CASES)
def test_words_fit_what_was_typed(name, assay):
    before, current, expected = CASES[name]

    words = assay("completion", "words", "--", *before, current).out.split()

    assert set(expected) <= set(words)
    assert all(word.startswith(current) or word == "--files--" for word in words)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_can_be_completed_without_running_it(verb, assay, folder):
    before = sorted(folder.rglob("*"))

    said = assay("completion", "words", "--", verb, "--")

    assert said.code == 0 and said.err == ""
    if verb not in ("python", "vlmeval"):
        assert "--help" in said.out
    assert sorted(folder.rglob("*")) == before


@pytest.fixture
def path_with_assay(tmp_path, monkeypatch):
    """Put a command `assay` on the path that runs this Python's."""
    program = tmp_path / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program.parent


def complete_in_bash(words: list[str]) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(assay completion bash)"\n'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_assay 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_verbs_flags_names_and_files(folder, path_with_assay):
    Path("my file.jsonl").write_text("")

    assert complete_in_bash(["assay", "leader"]) == ["leaderboard"]
    assert complete_in_bash(["assay", "report", "--sam"]) == ["--samples"]
    assert "gsm8k" in complete_in_bash(["assay", "run", "gsm"])
    assert complete_in_bash(["assay", "run", "my"]) == ["my file.jsonl"]
    assert complete_in_bash(["assay", "show", "sums"]) == ["sums.jsonl"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_are_valid(shell, assay, tmp_path):
    said = assay("completion", shell)

    assert said.code == 0 and "assay completion words --" in said.out
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(said.out)
    subprocess.run([shell, "-n", str(script)], check=True)


def test_an_unknown_shell_is_a_usage_fault(assay):
    said = assay("completion", "tcsh")

    assert said.code == 2 and "'bash', 'zsh', 'fish'" in said.err
