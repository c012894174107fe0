"""The pytest plugin, as its users run it: pytest in a process of its own, on a test file in another folder."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = """
rows = [{"id": str(n), "question": str(n), "answer": "yes"} for n in range(N)]

def right(percent):
    return lambda messages: "yes" if int(messages[-1]["content"]) % 100 < percent else "no"

def run(assay_run, percent):
    import assay

    task = assay.Task("claims", dataset=rows, scorers=("exact_match",))
    return assay_run(task, right(percent))
"""


def run_pytest(folder: Path, text: str, samples: int = 300) -> tuple[int, str]:
    """Run pytest on a test file; return the exit code and the output."""
    (folder / "test_model.py").write_text(ROWS.replace("N)", f"{samples})") + text)
    words = [sys.executable, "-m", "pytest", "-q"]
    if not entry_points(group="pytest11", name="assay"):
        # Sources that are not installed have no entry points.
        words += ["-p", "assay.pytest_plugin"]
    words += ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    ended = subprocess.run(
        [*words, str(folder)], cwd=folder, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_package_registers_the_plugin_with_pytest():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {"assay": "assay.pytest_plugin"}


def test_a_number_whose_interval_is_above_the_limit_passes(tmp_path):
    text = """
def test_model(assay_run):
    result = run(assay_run, 90)
    assert result.at_least("exact_match", 0.8)
    assert result.value("exact_match") == 0.9
    assert (result.folder / "summary.json").is_file()
"""
    code, output = run_pytest(tmp_path, text)

    assert code == 0, output


def test_a_number_below_the_limit_fails_with_its_interval(tmp_path):
    text = """
def test_model(assay_run):
    assert run(assay_run, 60).at_least("exact_match", 0.8)
"""
    code, output = run_pytest(tmp_path, text)

    assert code == 1
    assert re.search(
        r"LimitMissed: claims.exact_match: 0.600 \[0.5\d+, 0.6\d+\], n 300, min_value 0.8: fail",
        output,
    )


def test_too_few_samples_are_a_failure_of_its_own_with_the_number_that_decides(
    tmp_path,
):
    text = """
def test_model(assay_run):
    assert run(assay_run, 17).at_least("exact_match", 0.8)
"""
    code, output = run_pytest(tmp_path, text, samples=20)

    assert code == 1
    assert "NotEnoughSamples: claims.exact_match" in output
    assert re.search(r"about \d+ samples would decide", output)


def test_an_unknown_metric_names_those_of_the_run(tmp_path):
    text = """
def test_model(assay_run):
    assert run(assay_run, 90).at_least("score", 0.8)
"""
    code, output = run_pytest(tmp_path, text)

    assert code == 1
    assert "has no metric 'score'" in output and "exact_match" in output


def test_a_run_that_cannot_start_fails_in_one_line(tmp_path):
    text = """
def test_model(assay_run):
    assay_run("no_such_file.jsonl", lambda messages: "4")
"""
    code, output = run_pytest(tmp_path, text)

    assert code == 1
    assert "no_such_file.jsonl" in output and "pytest_plugin.py" not in output


def test_loading_the_plugin_imports_nothing_heavy():
    code = "import sys, assay.pytest_plugin; assert not {'numpy', 'msgspec'} & set(sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
