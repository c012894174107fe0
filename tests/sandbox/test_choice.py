"""The best tier that passes its self-test is used; others are refused with the reason, and `none` is no default."""

import os

import pytest

from assay.core import UsageError
from assay.sandbox import SandboxError, best_tier, choice, choose
from assay.sandbox.bubblewrap import Bubblewrap
from assay.sandbox.choice import why_not
from assay.sandbox.landlock import Unconfined
from assay.sandbox.workspace_choice import workspace_tier


@pytest.fixture(autouse=True)
def forgetting(monkeypatch):
    monkeypatch.setattr(choice, "_choices", {})


def test_an_unknown_tier_is_refused():
    with pytest.raises(
        UsageError,
        match=r"there is no sandbox tier 'magic'; fix: auto, bubblewrap, .*container, none",
    ):
        choose("magic")


def test_a_tier_that_does_not_hold_is_passed_over_with_the_reason(monkeypatch):
    monkeypatch.setattr(
        choice, "why_not", lambda tier: "it leaks" if tier.name == "bubblewrap" else ""
    )
    monkeypatch.setattr(choice, "find_bubblewraps", lambda: iter(["/usr/bin/bwrap"]))

    found = choose()

    assert found.tier.name == "landlock" and found.refused == (
        ("bubblewrap", "it leaks"),
    )


def test_each_tier_is_tried_once_whether_it_is_named_or_the_best(monkeypatch):
    tried = []
    monkeypatch.setattr(
        choice, "why_not", lambda tier: tried.append(tier.name) or "it leaks"
    )
    monkeypatch.setattr(choice, "find_bubblewraps", lambda: iter(()))
    monkeypatch.setattr(choice, "find_containers", lambda *_: iter(()))

    best, named = choose(), choose("landlock")

    assert tried == ["landlock"]
    assert (
        best.refused[1] == named.refused[0] == ("landlock", "it leaks")
        and len(best.refused) == 3
    )


def test_where_no_tier_holds_nothing_is_run(monkeypatch):
    monkeypatch.setattr(choice, "why_not", lambda tier: "it leaks")
    monkeypatch.setattr(choice, "find_bubblewraps", lambda: iter(()))
    monkeypatch.setattr(choice, "find_containers", lambda *_: iter(()))
    said = r"\(bubblewrap: bwrap is not installed; landlock: it leaks; container: neither .* installed\); fix: pip"

    with pytest.raises(SandboxError, match=said):
        best_tier()


def test_where_no_tier_holds_workspaces_the_fix_is_to_install_bubblewrap(monkeypatch):
    monkeypatch.setattr(choice, "find_bubblewraps", lambda: iter(()))
    monkeypatch.setattr(choice, "find_containers", lambda *_: iter(()))
    said = r"\(bubblewrap: bwrap is not installed; container: .*fix: pip install 'assay\[sandbox\]'"

    with pytest.raises(SandboxError, match=said):
        workspace_tier()


def test_a_bubblewrap_that_cannot_start_says_so(tmp_path):
    old = tmp_path / "bwrap"
    old.write_text(
        '#!/bin/sh\necho "bwrap: Unknown option --disable-userns" >&2\nexit 1\n'
    )
    old.chmod(0o755)

    assert "Unknown option --disable-userns" in why_not(Bubblewrap(str(old)))


def test_a_bubblewrap_that_is_not_there_says_so(tmp_path):
    assert "could not be started: No such file" in why_not(
        Bubblewrap(str(tmp_path / "none"))
    )


def test_a_sandbox_that_keeps_nothing_in_is_refused(tmp_path):
    # Takes bubblewrap's words and runs what follows them as it is.
    fake = tmp_path / "bwrap"
    fake.write_text(
        '#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n'
    )
    fake.chmod(0o755)

    assert why_not(Bubblewrap(str(fake)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_never_runs_code_without_a_sandbox():
    with pytest.raises(UsageError, match="never run as root without a sandbox"):
        Unconfined()
