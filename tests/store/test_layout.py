"""Derived files: whole or not at all, and readable by whom the umask lets read."""

import os
from pathlib import Path

import pytest

from assay.store.layout import write_whole


@pytest.mark.parametrize(
    ("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)]
)
def test_the_umask_sets_the_permissions_of_a_derived_file(
    tmp_path: Path, umask: int, mode: int
):
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "run.json", b"{}")
    finally:
        os.umask(before)

    assert (tmp_path / "run.json").stat().st_mode & 0o777 == mode


def test_a_derived_file_leaves_no_draft(tmp_path: Path):
    write_whole(tmp_path / "run.json", b"old")
    write_whole(tmp_path / "run.json", b"new")

    assert (tmp_path / "run.json").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_an_interrupt_right_after_the_rename_stays_an_interrupt(tmp_path, monkeypatch):
    rename = os.replace

    def rename_and_interrupt(source, target):
        rename(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", rename_and_interrupt)

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "run.json", b"{}")

    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
