"""`assay gate` in CI: exit codes, formats, the job summary and the action."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def runs(folder, assay):
    (folder / "many.py").write_text(
        'dataset = [{"id": f"q{i}", "question": f"{i}", "answer": "y"} for i in range(200)]\nscorers = "exact_match"\n'
    )
    (folder / "models.py").write_text(
        "def share(percent):\n    return lambda text: 'y' if int(text) % 100 < percent else 'n'\n\n"
        "good, near, bad = share(70), share(69), share(40)\n"
    )
    for name in ("good", "near", "bad"):
        assert (
            assay("run", "many.py", "--model", f"models.py:{name}", "-o", name).code
            == 0
        )
    (folder / "policy.yaml").write_text("max_drop: 0.05\n")
    return folder


@pytest.mark.parametrize(
    ("run", "code", "word"), [("near", 0, "PASS"), ("bad", 4, "FAIL")]
)
def test_the_exit_code_says_pass_or_fail(assay, runs, run, code, word):
    said = assay("gate", "policy.yaml", run, "--baseline", "good")

    assert said.code == code
    assert said.out.startswith(
        f"{word}: {run} against good (1 {word.lower()})\n  {word}"
    )


def test_the_exit_code_of_an_undecided_run_is_its_own(assay, runs):
    (runs / "policy.yaml").write_text("max_drop: 0.011\n")

    said = assay(
        "gate", "policy.yaml", "near", "--baseline", "good", "--format", "json"
    )

    assert (said.code, said.json["exit_code"], said.json["decision"]) == (
        5,
        5,
        "inconclusive",
    )
    assert said.json["checks"][0]["needed"] > 200


def test_github_gets_a_job_summary_in_which_names_are_no_markup(
    assay, runs, monkeypatch
):
    (runs / "good").rename(runs / "<b>good|")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")

    said = assay(
        "gate", "policy.yaml", "bad", "--baseline", "<b>good|", "--format", "github"
    )

    summary = (runs / "summary.md").read_text()
    assert summary.strip() == said.out.strip()
    assert summary.startswith("### ❌ FAIL: bad\n")
    assert r"\<b\>good\|" in summary and "<b>" not in summary
    assert summary.count("\n| ") == 2


def test_a_summary_that_cannot_be_written_is_one_line(assay, runs, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder/summary.md")

    said = assay("gate", "policy.yaml", "near", "--baseline", "good")

    assert said.code == 2 and "cannot write the job summary" in said.err


@pytest.mark.parametrize(
    "missing",
    [("none", "--baseline", "good"), ("near", "--baseline", "none")],
    ids=" ".join,
)
def test_a_folder_without_a_run_is_one_line(assay, runs, missing):
    said = assay("gate", "policy.yaml", *missing)

    assert (
        said.code == 1 and "not a run folder" in said.err and said.err.count("\n") == 1
    )


def test_the_action_runs_the_gate_with_its_inputs_as_data():
    text = (ROOT / "integrations" / "github-gate" / "action.yml").read_text()

    action = yaml.safe_load(text)

    [step] = action["runs"]["steps"]
    assert set(action["inputs"]) == {"policy", "run", "baseline", "inconclusive"}
    assert "${{" not in step["run"], (
        "an input in the script itself would be run by the shell"
    )
    assert "assay gate" in step["run"] and len(text.splitlines()) <= 20


@pytest.mark.parametrize(
    ("exits", "inconclusive", "code"),
    [(0, "fail", 0), (4, "pass", 4), (5, "fail", 5), (5, "pass", 0)],
)
def test_the_action_leaves_as_the_gate_does(tmp_path, exits, inconclusive, code):
    import os
    import subprocess

    action = yaml.safe_load(
        (ROOT / "integrations" / "github-gate" / "action.yml").read_text()
    )
    stand_in = tmp_path / "assay"
    stand_in.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\nexit {exits}\n'
    )
    stand_in.chmod(0o755)
    given = {
        "POLICY": "p.yaml",
        "RUN": "a run",
        "BASELINE": "old run",
        "INCONCLUSIVE": inconclusive,
    }

    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", action["runs"]["steps"][0]["run"]],
        env={**os.environ, **given, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )

    assert done.returncode == code
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "gate",
        "p.yaml",
        "a run",
        "--baseline",
        "old run",
    ]
