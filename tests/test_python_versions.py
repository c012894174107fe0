"""Other Python versions: the sources compile with every interpreter that is found."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def interpreter(version: str) -> str | None:
    """The path of an interpreter that really is of that version; shims may name one that is not installed."""
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([found, "-c", code], capture_output=True, text=True, check=False)
    return found if done.stdout.strip() == version else None


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_sources_compile_with_other_versions(version: str, tmp_path: Path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no python{version} on this machine")

    done = subprocess.run(
        [python, "-W", "error::SyntaxWarning", "-m", "compileall", "-q", str(ROOT / "src"), str(ROOT / "examples")],
        env={**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
