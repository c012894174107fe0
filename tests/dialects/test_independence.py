"""Dialects do not know each other: one folder can be deleted and everything else goes on."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.dialects.recognise import DIALECTS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "assay"

WITHOUT = """
import importlib, pkgutil, sys
import assay
from assay.dialects.recognise import DIALECTS, dialect_of
gone = sys.argv[1]
optional = ("assay.models.local_transformers",)
inside = tuple(f"assay.sandbox.{name}" for name in ("candidate", "inside", "serving", "tester"))  # never imported
for module in pkgutil.walk_packages(assay.__path__, "assay."):
    if module.name != f"assay.cli.{gone}" and not module.name.startswith(optional + inside):
        importlib.import_module(module.name)
from assay.cli.main import main
assert main(["run", "rows.jsonl", "--model", "scripted", "-a", "answers=echo", "-o", "run"]) == 0
assert main(["ls"]) == 0
assert dialect_of("rows.jsonl") is None
assert main([gone, "--help"]) != 0
"""


def imports_of(path: Path) -> set[str]:
    package = ("assay", *path.relative_to(SOURCE).parent.parts)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_outside_a_dialect_imports_it_but_its_own_verb(dialect: str):
    own = SOURCE / "dialects" / dialect
    prefix = f"assay.dialects.{dialect}"

    for path in SOURCE.rglob("*.py"):
        if own in path.parents or path == SOURCE / "cli" / f"{dialect}.py":
            continue
        named = {name for name in imports_of(path) if name == prefix or name.startswith(f"{prefix}.")}
        assert not named, f"{path.relative_to(SOURCE)} imports {sorted(named)}"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_deleting_a_dialect_leaves_the_rest_working(dialect: str, tmp_path: Path):
    copy = tmp_path / "assay"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / "dialects" / dialect)
    (tmp_path / "rows.jsonl").write_text('{"question": "a", "answer": "a"}\n')
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, dialect],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_other_dialects_still_run_their_own_files(dialect: str, tmp_path: Path):
    shutil.copytree(SOURCE, tmp_path / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "assay" / "dialects" / dialect)
    same = Path(__file__).parent / "same_benchmark"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ASSAY_WITHOUT_DIALECT": dialect}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", str(same)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:]
