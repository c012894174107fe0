"""Machines on which a tier fails: one line with the tier, the reason and the fix, before a model is asked."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from assay import run
from assay.core import AssayError, Task
from assay.models.scripted import Scripted
from assay.sandbox import SandboxError, best_tier, choice, landlock, launch
from assay.sandbox.bubblewrap import Bubblewrap, find_bubblewraps

TASK = Task(
    "functions",
    dataset=[{"question": "Write f.", "tests": "assert f() == 1"}],
    scorers=("runs",),
)


@pytest.fixture(autouse=True)
def forgetting(monkeypatch):
    monkeypatch.setattr(choice, "_choices", {})


def stand_in(folder: Path, says: str) -> str:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho 'bwrap: {says}' >&2\nexit 1\n")
    program.chmod(0o755)
    return str(program)


def only(monkeypatch, *programs: str) -> None:
    """A machine with these bubblewraps and nothing else."""
    monkeypatch.setattr(choice, "find_bubblewraps", lambda: iter(programs))
    monkeypatch.setattr(landlock, "landlock_version", lambda: 0)
    monkeypatch.setattr(choice, "find_containers", lambda *_: iter(()))


SAYS = {
    "No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.":
        "fix: sysctl user.max_user_namespaces",
    "setting up uid map: Permission denied": "fix: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    "Unknown option --disable-userns": "fix: pip install 'assay[sandbox]' brings a bubblewrap that is new enough",
}  # fmt: skip


@pytest.mark.parametrize(("says", "fix"), SAYS.items())
def test_a_bubblewrap_that_cannot_hold_is_refused_with_what_helps_before_the_model_is_asked(
    says, fix, tmp_path, monkeypatch
):
    only(monkeypatch, stand_in(tmp_path, says))
    model = Scripted("def f(): return 1")

    with pytest.raises(AssayError) as error:
        run(TASK, model, output=str(tmp_path / "run"))

    said = str(error.value)
    assert (
        f"bubblewrap: it does not start: bwrap: {says}" in said
        and fix in said
        and "\n" not in said
    )
    assert model.calls == [] and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("version", "words"), [(0, "has no Landlock"), (4, "has version 4 of Landlock")]
)
def test_a_kernel_without_landlock_or_with_an_old_one_is_refused(
    version, words, monkeypatch
):
    monkeypatch.setattr(landlock, "landlock_version", lambda: version)

    with pytest.raises(
        SandboxError,
        match=rf"\(landlock: this kernel {words}, version 6 is needed\); fix: Linux 6",
    ):
        best_tier("landlock")


def test_a_temporary_folder_that_cannot_be_written_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    monkeypatch.setattr(landlock, "_closed_folder", lambda *_: None)

    for tier in ("bubblewrap", "landlock"):
        with pytest.raises(
            SandboxError,
            match=rf"\({tier}: no temporary folder .*\); fix: set TMPDIR to a folder",
        ):
            best_tier(tier)


@pytest.mark.skipif(
    next(find_bubblewraps(), None) is None or os.geteuid() != 0,
    reason="needs root and bubblewrap",
)
def test_on_a_machine_that_can_be_written_nowhere_the_line_is_the_same():
    code = "from assay.sandbox import best_tier\ntry: best_tier('bubblewrap')\nexcept Exception as error: print(error)"
    words = [
        next(find_bubblewraps()),
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--chdir",
        "/",
    ]
    done = subprocess.run(
        [*words, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )

    assert (
        "(bubblewrap: no temporary folder can be written" in done.stdout
        and "fix: set TMPDIR" in done.stdout
    )


def test_an_interpreter_that_is_gone_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        choice, "find_bubblewraps", lambda: iter([next(find_bubblewraps(), "bwrap")])
    )
    gone = tmp_path / "python3"
    for module in ("bubblewrap", "landlock", "launch"):
        monkeypatch.setattr(f"assay.sandbox.{module}.own_python", lambda: gone)
    launch.readable_for.cache_clear()

    with pytest.raises(
        SandboxError, match=r"\(bubblewrap: .*(No such file|could not be started)"
    ) as error:
        best_tier("bubblewrap")

    launch.readable_for.cache_clear()
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_never_runs_programs_without_a_sandbox(tmp_path):
    model = Scripted("def f(): return 1")

    with pytest.raises(
        AssayError,
        match="never run as root without a sandbox; fix: run as another user",
    ):
        run(
            TASK,
            model,
            judges={"sandbox": "sandbox/none"},
            output=str(tmp_path / "run"),
        )

    assert model.calls == []


def test_no_sandbox_is_never_a_choice_of_assays_own(monkeypatch):
    only(monkeypatch)

    with pytest.raises(
        SandboxError, match="no sandbox passes its self-test on this machine"
    ):
        best_tier("auto")
    assert Bubblewrap("bwrap").name != "none"
