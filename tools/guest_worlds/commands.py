"""Runs assay's own commands on a checkout's files, as a user would, and reads off how far they came."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tools.guest_worlds.outcome import Outcome, State

_MISSING = re.compile(
    r"No module named '([\w.]+)'|imports '([\w.]+)', which is not installed|dependencies\['([\w.-]+)'\]"
    r"|(Resource .?'?\w+'? not found)"
)
_NETWORK = re.compile(
    r"(https?://[^\s'\"]+|LocalEntryNotFound|OfflineMode|offline mode|Couldn't (?:reach|find)[^\n]{0,60}"
    r"|ConnectionError)"
)
MODEL = "def generate(messages):\n    return 'yes A'\n"


def assay(
    *arguments: str, folder: Path, seconds: int = 240
) -> subprocess.CompletedProcess[str]:
    """Run a command of assay in a folder, without a hub."""
    source = str(Path(__file__).parents[2] / "src")
    paths = os.pathsep.join(
        path for path in (source, os.environ.get("PYTHONPATH", "")) if path
    )
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TQDM_DISABLE": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **offline},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def outcome(
    kind: str, name: str, done: subprocess.CompletedProcess[str], *, runs: str = ""
) -> Outcome:
    """How far a command came: to the numbers of its JSON document, to `runs`, or to what it lacks."""
    if done.returncode == 0:
        return Outcome(kind, name, State.RUNS, runs or _number(done.stdout))
    said = [
        line
        for line in (done.stderr or done.stdout).strip().splitlines()
        if line.strip()
    ]
    last = said[-1] if said else "no word"
    if found := _MISSING.search(last):
        return Outcome(
            kind, name, State.PACKAGE, next(group for group in found.groups() if group)
        )
    if found := _NETWORK.search(done.stderr):
        return Outcome(kind, name, State.NETWORK, found[1])
    return Outcome(kind, name, State.FAILS, last[:200])


def _number(text: str) -> str:
    try:
        results = json.loads(text)["results"]
    except (ValueError, KeyError):
        return "to its end"
    first = next((one for one in results if one.get("value") is not None), None)
    return (
        f"{first['metric']} {first['value']:.4g}"
        if first is not None
        else "no finite number"
    )
