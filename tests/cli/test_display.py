"""What a run shows when it is done."""

import json
import os
import subprocess
import sys

import pytest

from assay.cli import display


@pytest.mark.parametrize(
    ("called", "is_installed", "typed"),
    [
        ("/env/lib/assay/__main__.py", True, "python -m assay"),
        ("/env/lib/assay/__main__.py", False, "python -m assay"),
        ("/env/bin/assay", True, "assay"),
        ("/my env/bin/assay", False, "'/my env/bin/assay'"),
        ("notebook.py", True, "assay"),
        ("notebook.py", False, "python -m assay"),
        ("", False, "python -m assay"),
    ],
)
def test_the_next_steps_are_commands_that_can_be_typed(
    monkeypatch, called, is_installed, typed
):
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(
        display.shutil, "which", lambda name: "/bin/assay" if is_installed else None
    )

    assert display.typed_command() == typed


def test_a_run_by_the_module_says_how_to_look_at_it_by_the_module(tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"question": "q", "answer": "x"}) + "\n"
    )
    (tmp_path / "mine.py").write_text("def answer(text):\n    return 'x'\n")
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        "rows.jsonl",
        "--model",
        "mine.py:answer",
        "-o",
        "a run",
    ]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ},
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert "  python -m assay show 'a run'     every sample" in done.stdout
    assert "  python -m assay score 'a run'    score again" in done.stdout
