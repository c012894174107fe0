"""The manifest's account of the folder a run was started in."""

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.runner.resume import manifest

needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)


def git(*words: str) -> str:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run(
        ["git", *author, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_outside_a_repository_git_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(manifest, "_git", lambda *words: pytest.fail("git was asked"))

    assert manifest._git_state() is None


@needs_git
def test_in_a_repository_its_commit_and_whether_tracked_files_differ_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    git("init", "-q", str(tmp_path))
    without_commit = manifest._git_state()
    (below / "a.txt").write_text("a")
    git("add", "a.txt")
    git("commit", "-qm", "One")
    (below / "untracked.txt").write_text("b")
    clean = manifest._git_state()
    (below / "a.txt").write_text("changed")
    dirty = manifest._git_state()

    commit = git("rev-parse", "HEAD")
    assert without_commit is None
    assert clean == {"commit": commit, "dirty": False}
    assert dirty == {"commit": commit, "dirty": True}


def test_a_library_that_is_not_installed_has_no_version():
    assert manifest._version_of("no_such_library_anywhere") == ""
    assert set(manifest._versions()) >= {"msgspec", "numpy"}
