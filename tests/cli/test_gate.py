"""`assay gate` in CI: exit codes, formats, the job summary and the action."""

import json
import os
import subprocess
import sys
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


def test_github_gets_a_job_summary_in_which_names_are_not_markup(
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
        said.code == 2 and "not a run folder" in said.err and said.err.count("\n") == 1
    )


def test_json_has_the_numbers_as_fields(assay, runs):
    said = assay("gate", "policy.yaml", "bad", "--baseline", "good", "--json")

    [check] = said.json["checks"]
    assert (check["kind"], check["limit"], check["decision"]) == (
        "max_drop",
        0.05,
        "fail",
    )
    assert check["baseline_value"] == pytest.approx(0.7)
    assert check["value"] == pytest.approx(0.4)
    assert check["difference"] == pytest.approx(-0.3)
    assert check["ci"][0] < -0.3 < check["ci"][1] and check["n"] == 200


def test_json_of_a_floor_has_the_value_and_its_interval(assay, runs):
    (runs / "policy.yaml").write_text("min_value: 0.5\n")

    [check] = assay("gate", "policy.yaml", "good", "--json").json["checks"]

    assert (check["kind"], check["limit"], check["value"]) == ("min_value", 0.5, 0.7)
    assert check["ci"][0] < 0.7 < check["ci"][1] and check["difference"] is None


@pytest.mark.parametrize(
    ("words", "write"),
    [
        (("none.yaml", "near", "--baseline", "good"), None),
        (("policy.yaml", "near"), None),
        (("broken.yaml", "near", "--baseline", "good"), "max_drop: [\n"),
        (("unknown.yaml", "near", "--baseline", "good"), "max_dorp: 0.1\n"),
        (("policy.yaml", "near", "--baseline", "good", "--fromat", "json"), None),
    ],
    ids=["no policy", "no baseline", "broken policy", "unknown key", "unknown option"],
)
def test_every_usage_error_exits_2(assay, runs, words, write):
    if write:
        (runs / words[0]).write_text(write)

    assert assay("gate", *words).code == 2


@pytest.mark.parametrize(
    "edit",
    [
        lambda manifest: manifest.update(cells="none"),
        lambda manifest: manifest.update(cells=[7]),
        lambda manifest: manifest["cells"][0].pop("task"),
        lambda manifest: manifest["cells"][0].update(scorers=[1]),
        lambda manifest: manifest["cells"][0].update(digests="x"),
        lambda manifest: manifest.update(config=[1]),
    ],
    ids=["cells", "cell", "task", "scorers", "digests", "config"],
)
def test_an_edited_run_json_is_one_clear_line(assay, runs, edit):
    path = runs / "near" / "run.json"
    manifest = json.loads(path.read_text())
    edit(manifest)
    path.write_text(json.dumps(manifest))

    gate = assay("gate", "policy.yaml", "near", "--baseline", "good")
    compare = assay("compare", "good", "near")

    assert gate.code == 2 and compare.code == 2
    for said in (gate, compare):
        assert "run.json does not have the form of a run" in said.err
        assert said.err.count("\n") == 1 and "unexpected" not in said.err


def test_the_verdict_fits_80_columns_and_has_colours_on_a_terminal(
    assay, runs, monkeypatch
):
    said = assay("gate", "policy.yaml", "bad", "--baseline", "good")
    assert max(map(len, said.out.splitlines())) <= 80 and "\x1b" not in said.out

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    said = assay("gate", "policy.yaml", "bad", "--baseline", "good")
    assert "\x1b[1;31mFAIL" in said.out


def workflow_steps() -> list[dict]:
    """Return the steps of the workflow in docs/gate.md."""
    page = (ROOT / "docs" / "gate.md").read_text()
    [block] = [
        block.partition("\n")[2]
        for block in page.split("```yaml")[1:]
        if "name: Evaluate\n" in block
    ]
    workflow = yaml.safe_load(block.partition("```")[0])
    assert workflow[True] == "pull_request"  # YAML reads the key `on` as True
    return workflow["jobs"]["gate"]["steps"]


@pytest.mark.parametrize(("share", "code"), [(70, 0), (40, 4)], ids=["same", "worse"])
def test_the_workflow_of_the_page_runs_step_by_step(tmp_path, share, code):
    repository, tools = tmp_path / "repository", tmp_path / "tools"
    repository.mkdir()
    tools.mkdir()
    (tools / "pip").write_text("#!/bin/sh\nexit 0\n")
    (tools / "assay").write_text(f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    settings = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GITHUB_BASE_REF": "main",
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def shell(script: str) -> int:
        words = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(
            words, cwd=repository, env=settings, check=False
        ).returncode

    (repository / "policy.yaml").write_text("max_drop: 0.05\n")
    (repository / "claims.py").write_text(
        'dataset = [{"id": f"q{i}", "question": f"{i}", "answer": "y"} for i in range(200)]\n'
        'scorers = "exact_match"\n'
    )
    model = "new = lambda text: 'y' if int(text) % 100 < {} else 'n'\n"
    (repository / "models.py").write_text(model.format(70))
    author = "-c user.name=a -c user.email=a@example.org"
    assert shell(f"git init -q && git add -A && git {author} commit -qm base") == 0
    assert shell("git update-ref refs/remotes/origin/main HEAD") == 0
    (repository / "models.py").write_text(model.format(share))

    codes = [shell(step["run"]) for step in workflow_steps() if "run" in step]

    assert codes == [0, 0, 0, code]
    mark = "PASS" if code == 0 else "FAIL"
    assert mark in (tmp_path / "summary.md").read_text()


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
