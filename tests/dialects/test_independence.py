"""Dialects do not know each other: one folder can be deleted and everything else goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_outline import MODULES, SOURCE, imported_names

from assay.dialects.recognise import DIALECTS

ROOT = Path(__file__).parents[2]
ONE_OF_EACH = [
    DIALECTS[0],
    *(pytest.param(dialect, marks=pytest.mark.costly) for dialect in DIALECTS[1:]),
]

WITHOUT = """
import importlib, pkgutil, sys
import assay
from assay.dialects.recognise import DIALECTS, dialect_of
gone = sys.argv[1]
# These import what may not be installed.
optional = ("assay.models.local_transformers", "assay.dialects.inspect_ai.provider")
inside = tuple(f"assay.sandbox.{name}" for name in ("candidate", "inside", "serving", "tester"))  # never imported
for module in pkgutil.walk_packages(assay.__path__, "assay."):
    if module.name != f"assay.cli.{gone}" and not module.name.startswith(optional + inside):
        importlib.import_module(module.name)
from assay.cli.main import main
assert main(["run", "rows.jsonl", "--model", "scripted", "-a", "answers=echo", "-o", "run"]) == 0
assert main(["ls"]) == 0
assert dialect_of("rows.jsonl") is None
if gone != "lm_eval":  # the help of `assay lm-eval` is a text of the command line
    assert main([gone, "--help"]) != 0
import pytest  # the others still run their own files
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode=importlib", sys.argv[2]]))
"""


@pytest.mark.xdist_group("sources")
def test_nothing_outside_a_dialect_imports_it_but_its_own_verb():
    wrong = []
    for path in MODULES:
        place = path.relative_to(SOURCE)
        own = (
            {place.parts[1]}
            if place.parts[0] == "dialects"
            else {place.stem}
            if place.parts[0] == "cli"
            else set()
        )
        others = {
            f"assay.dialects.{dialect}" for dialect in DIALECTS if dialect not in own
        }
        named = {
            name
            for name in imported_names(path)
            if ".".join(name.split(".")[:3]) in others
        }
        wrong += [f"{place} imports {sorted(named)}"] if named else []

    assert wrong == []


@pytest.mark.parametrize("dialect", ONE_OF_EACH)
def test_deleting_a_dialect_leaves_the_rest_working_and_the_other_dialects_run_their_own_files(
    dialect: str, tmp_path: Path
):
    # Compiled files come along, but for those that another process is just writing.
    shutil.copytree(
        SOURCE, tmp_path / "assay", ignore=shutil.ignore_patterns("*.pyc.*")
    )
    shutil.rmtree(tmp_path / "assay" / "dialects" / dialect)
    (tmp_path / "rows.jsonl").write_text('{"question": "a", "answer": "a"}\n')
    same = Path(__file__).parent / "same_benchmark"

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, dialect, str(same)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "ASSAY_WITHOUT_DIALECT": dialect,
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
