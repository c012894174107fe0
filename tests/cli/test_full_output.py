"""A stdout that takes nothing more: one line, exit code 74; one that nobody reads any more: nothing. No traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import main

pytestmark = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="there is no /dev/full here"
)
RUN = [
    "run",
    "rows.jsonl",
    "--model",
    "scripted",
    "-a",
    "answers=4",
    "--scorer",
    "exact_match",
    "-o",
    "out",
]


@pytest.mark.parametrize(
    "command",
    [
        [*RUN, "--json"],
        RUN,
        [*RUN, "--dry_run", "--json"],
        ["ls"],
        ["--help"],
        ["run", "--help"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_a_full_stdout_is_one_line_and_74(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    assert done.returncode == 74
    said = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert said == [
        "assay: the output could not be written: No space left on device; fix: free space there"
    ]
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_the_run_itself_is_whole_and_shown_later(
    tmp_path: Path, monkeypatch, capfd
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')
    monkeypatch.chdir(tmp_path)
    with open("/dev/full", "w") as full:
        subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *RUN, "--json"],
            stdout=full,
            stderr=subprocess.DEVNULL,
        )

    assert main([*RUN, "--json"]) == 0

    assert '"status": "complete"' in capfd.readouterr().out


@pytest.mark.parametrize(
    "command", [["--help"], ["run", "--help"], ["ls"], ["--version"]], ids=" ".join
)
def test_a_reader_that_has_seen_enough_is_not_a_fault(command: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()

    said = process.stderr.read()

    assert (process.wait(), said) == (0, "")
