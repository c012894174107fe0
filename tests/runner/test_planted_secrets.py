"""Secrets planted wherever one may slip through; everything a run wrote, showed or raised is searched for them."""

import json
import random
import subprocess
import traceback
from collections import Counter
from pathlib import Path

import pytest
from fault_counts import COUNTS
from planted_secrets import (
    ALL,
    ANSWERS,
    ENVIRONMENT,
    FAILURES,
    IN_GIT_REMOTE,
    IN_JUDGE_OPTIONS,
    IN_NESTED_OPTIONS,
    IN_OPTIONS,
    PLACES,
    forms,
    plant,
)
from pyarrow import parquet

import assay
from assay.cli.main import main
from assay.core import AssayError
from assay.core.record import result_from_plain
from assay.report import html_table, markdown_table, plain_table

pytestmark = pytest.mark.faults
RUNS_AT_ONCE = 25
"""Runs of one test: together as many as the counts say."""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A folder of a user with code and rows, in a repository whose remote holds a key."""
    folder = plant(tmp_path / "planted")
    for name, secret in ENVIRONMENT.items():
        monkeypatch.setenv(name, secret)
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", f"https://me:{IN_GIT_REMOTE}@host/r.git"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    monkeypatch.chdir(folder)
    return folder


def options(turn: int) -> list[str]:
    model = {
        "api_key": IN_OPTIONS,
        "headers": {"password": IN_NESTED_OPTIONS},
        "turn": turn,
    }
    return [
        "task.yaml",
        "--model",
        "code.py:Model",
        "--model_args",
        json.dumps(model),
        "--judge",
        "code.py:Judge",
        "--judge_args",
        json.dumps({"judge.token": IN_JUDGE_OPTIONS}),
    ]


def traces(folder: Path, capsys) -> dict[str, bytes]:
    """All that can be seen of a run: what it showed, what it wrote, and what every way of looking at it shows."""
    found = {"screen": "".join(capsys.readouterr()).encode()}
    run = folder / "run"
    if (run / "run.json").exists():
        for to in ("csv", "parquet", "lm-eval-json"):
            main(["export", str(run), "--to", to, "-o", str(folder / f"export.{to}")])
        main(["export", str(run), f"file://{folder}/elsewhere"])
        main(["show", str(run), "--limit", "1000"])
        main(["show", str(run), "--failures", "--limit", "1000"])
        found["looked at"] = "".join(capsys.readouterr()).encode()
    if (run / "summary.json").exists():
        results = [
            result_from_plain(row)
            for row in json.loads((run / "summary.json").read_text())["results"]
        ]
        tables = (html_table(results), markdown_table(results), plain_table(results))
        found["tables"] = "".join(tables).encode()
    if (folder / "export.parquet").exists():
        found["parquet"] = repr(
            parquet.read_table(folder / "export.parquet").to_pylist()
        ).encode()
    return found | {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def leaks(found: dict[str, bytes]) -> list[tuple[str, str]]:
    return [
        (place, secret)
        for place, data in found.items()
        for secret in ALL
        if any(form in data for form in forms(secret))
    ]


@pytest.mark.parametrize("first", range(0, COUNTS.runs_with_secrets, RUNS_AT_ONCE))
def test_no_secret_is_found_in_anything_a_faulted_run_leaves(
    planted, tmp_path, monkeypatch, capsys, first
):
    codes: Counter[int] = Counter()
    for number in range(first, min(first + RUNS_AT_ONCE, COUNTS.runs_with_secrets)):
        rng = random.Random(number)
        faults = (
            rng.sample(PLACES[2:], rng.randint(3, 6))
            if number % 5
            else [PLACES[number // 5 % 2]]
        )
        monkeypatch.setenv("FAULTS", ",".join(faults))
        folder = tmp_path / f"traces{number}"
        policy = "stop" if "budget" in faults else "continue"
        out = [
            "-o",
            str(folder / "run"),
            "--cache",
            str(folder / "cache"),
            "--on_error",
            policy,
        ]

        codes[main(["run", *options(number), *out])] += 1

        found = traces(folder, capsys)
        assert leaks(found) == [], faults
        hidden = {
            place
            for place, data in found.items()
            if b"[redacted]" in data and not place.endswith("run.json")
        }
        assert hidden, f"nothing was shown: {faults}"
    assert set(codes) <= {0, 1, 2, 3}


def test_every_text_that_is_shown_holds_a_secret():
    assert all(
        any(form in text.encode() for secret in ALL for form in forms(secret))
        for text in (*FAILURES, *ANSWERS)
    )
    assert len(set(ALL)) >= 12


@pytest.mark.parametrize("turn", range(len(FAILURES)))
def test_an_error_that_is_raised_shows_no_secret(planted, tmp_path, monkeypatch, turn):
    monkeypatch.setenv("FAULTS", "build")
    model_args = {
        "api_key": IN_OPTIONS,
        "headers": {"password": IN_NESTED_OPTIONS},
        "turn": turn,
    }
    judge = {
        "judges": {"judge": "code.py:Judge"},
        "judge_args": {"token": IN_JUDGE_OPTIONS},
    }

    with pytest.raises(AssayError) as caught:
        assay.run(
            "task.yaml",
            "code.py:Model",
            model_args=model_args,
            output=str(tmp_path / "run"),
            **judge,
        )

    shown = "".join(traceback.format_exception(caught.value))
    assert (
        leaks({"line": str(caught.value).encode(), "repr": repr(caught.value).encode()})
        == []
    )
    assert leaks({"traceback": shown.encode()}) == [] and "[redacted]" in shown
