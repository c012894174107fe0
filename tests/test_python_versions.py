"""Other Python versions: with every interpreter that is found, the sources compile and the light part runs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
LIGHT = "import assay, assay.core, assay.registry; from assay.cli.main import main; raise SystemExit(main(['--help']))"
"""What needs no library: names, nouns and the help text."""


def candidates(version: str) -> Iterator[str]:
    """Where an interpreter may be: on the path, or among pyenv's, whose shims only work when they are switched on."""
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        yield on_path
    yield from map(str, sorted(PYENV.glob(f"versions/{version}.*/bin/python{version}")))


def interpreter(version: str) -> str:
    """An interpreter that really is of that version; skips where there is none."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in candidates(version):
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=False
        )
        if done.stdout.strip() == version:
            return python
    pytest.skip(f"no Python {version} on this machine")


def run(python: str, *arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPYCACHEPREFIX": str(cache),
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        [python, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_sources_compile_with_other_versions(version: str, tmp_path: Path):
    python = interpreter(version)

    done = run(
        python,
        "-W",
        "error::SyntaxWarning",
        "-m",
        "compileall",
        "-q",
        str(ROOT / "src"),
        str(ROOT / "examples"),
        cache=tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_light_part_runs_with_other_versions(version: str, tmp_path: Path):
    python = interpreter(version)

    done = run(python, "-c", LIGHT, cache=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "usage: assay" in done.stdout
