"""What lies at the root of the repository: a run folder there was committed by mistake."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEANT = {
    ".ci", ".git-blame-ignore-revs", ".github", ".gitignore", ".pre-commit-config.yaml",
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "README.zh.md", "SECURITY.md", "SKILL.md", "bench", "decisions", "docs",
    "examples", "integrations", "mkdocs.yml", "pyproject.toml", "src", "tests", "tools",
}  # fmt: skip


def listed(*arguments: str) -> list[str]:
    """Paths that git knows; skips where the tests were unpacked without it."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    # Also where the checkout belongs to another user, as in a container.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in done.stdout.split("\0") if path]


def test_the_root_holds_only_what_is_meant_to_be_there():
    assert {path.partition("/")[0] for path in listed()} <= MEANT


def test_no_run_folder_is_committed_or_waits_to_be():
    paths = [
        Path(path) for path in listed("--cached", "--others", "--exclude-standard")
    ]
    runs = {path.parent for path in paths if path.name == "run.json"}
    journals = {path.parent for path in paths if path.name == "records.jsonl"}

    assert runs & journals == set()
