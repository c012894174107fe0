"""Programs run by the system's Python, which every user may read, as an ordinary user or as root."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.sandbox import judge_functions

NOBODY = 65534
HERE = Path(__file__).parent


def start_by_system_python(*argv: str, user: int = NOBODY) -> "subprocess.Popen[str]":
    """Start a file of this folder; skip the test where that cannot be."""
    python = shutil.which("python3", path="/usr/bin")
    if os.geteuid() != 0 or python is None:
        pytest.skip("needs root, to become another user, and the system's Python")
    version = subprocess.run([python, "-V"], capture_output=True, text=True).stdout
    own = f"Python {sys.version_info.major}.{sys.version_info.minor}."
    if not version.startswith(own):
        pytest.skip(f"the system has {version.strip()}, not {own}")
    source = Path(judge_functions.__code__.co_filename).parents[2]
    # A virtual environment may be layered over another one, so its own folder is not enough.
    packages = [folder for folder in sys.path if Path(folder).name == "site-packages"]
    return subprocess.Popen(
        [python, "-B", str(HERE / argv[0]), *argv[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        extra_groups=[],
        env={
            "PYTHONPATH": os.pathsep.join([str(source), *packages]),
            "HOME": "/nonexistent",
        },
    )


def by_system_python(
    *argv: str, user: int = NOBODY
) -> "subprocess.CompletedProcess[str]":
    """Run a file of this folder to its end."""
    process = start_by_system_python(*argv, user=user)
    stdout, stderr = process.communicate()
    return subprocess.CompletedProcess(argv, process.returncode, stdout, stderr)
