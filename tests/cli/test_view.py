"""`assay view` and `assay report` from the terminal."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from assay.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from made_runs import sums


def test_the_link_is_printed_and_the_page_answers_within_a_second_of_it(tmp_path: Path):
    sums(tmp_path / "run", count=3)
    command = [
        sys.executable,
        "-m",
        "assay.cli.main",
        "view",
        str(tmp_path),
        "--no_browser",
    ]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()
        link = server.stdout.readline().strip()
        address, _, token = link.partition("/#token=")
        for _ in range(100):
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    page = answer.read()
                break
            except OSError:
                time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=20)
    finally:
        server.kill()
        server.wait()

    assert b"<title>assay</title>" in page and len(token) > 20
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["view", "nowhere"], "there is no folder"),
        (["view"], "there is no folder `runs` here"),
        (["view", "file.txt"], "is a file"),
        (["view", "empty", "--bundle", "site"], "there are no runs here"),
        (
            ["view", "run", "--bundle", "full"],
            "a bundle needs a new or an empty folder",
        ),
        (["view", "run", "--origin", "nonsense"], "is not an origin"),
        (["view", "run", "--port", "99999"], "is not a port"),
        (["report", "nowhere"], "there is no folder"),
        (["report", "empty"], "there is no run here"),
        (
            ["report", "run", "-o", "report.docx"],
            "the kind of report is not known from this name",
        ),
        (
            ["report", "run", "-o", "full"],
            "the kind of report is not known from this name",
        ),
        (["report", "run", "--samples", "-3"], "is not a number of samples"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, monkeypatch, capsys, arguments: list[str], said: str
):
    monkeypatch.chdir(tmp_path)
    sums(tmp_path / "run", count=2)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file.txt").write_text("x")

    code = main(arguments)

    error = capsys.readouterr().err
    assert code == 2 and said in error and "Traceback" not in error
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_a_port_in_use_is_one_line(tmp_path: Path, capsys):
    sums(tmp_path / "run", count=2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        code = main(
            [
                "view",
                str(tmp_path / "run"),
                "--no_browser",
                "--port",
                str(taken.getsockname()[1]),
            ]
        )

    assert code == 2 and "cannot be used" in capsys.readouterr().err


def test_reports_and_bundles_are_written(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sums(tmp_path / "run", count=4)

    codes = [
        main(["report", "run", "-o", name]) for name in ("r.html", "r.md", "r.csv")
    ]
    codes.append(main(["view", "run", "--bundle", "site"]))

    assert codes == [0, 0, 0, 0]
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert {path.name for path in (tmp_path / "site").iterdir()} == {
        "app",
        "data",
        "media",
        "index.html",
        "robots.txt",
    }
    said = capsys.readouterr().out
    assert (
        re.search(r"site: 1 run, [\d.]+ kB", said) and "any file host serves it" in said
    )
    assert re.search(r"r\.md: [\d.]+ kB", said)


def test_importing_the_command_line_loads_no_server():
    code = "import sys, assay, assay.cli.main; print(sorted({'starlette', 'uvicorn', 'numpy'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
