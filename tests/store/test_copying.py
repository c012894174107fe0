"""A run elsewhere: every file of it, media once, each fault one line."""

import errno
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.core import (
    Image,
    Message,
    MissingExtra,
    Output,
    Prompt,
    StoreError,
    Text,
    UsageError,
)
from assay.core.errors import DiskFull
from assay.core.record import prompt_to_plain
from assay.store import OutputLine, RunReader, RunWriter, merging
from assay.store.merging import copy_run

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
QUESTION = Prompt((Message("user", (Text("draw"),)),))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunWriter(tmp_path / "run") as writer:
        answer = writer.plain_output(Output.of(Image(b"\x89PNG\r\n\x1a\n" + bytes(60))))
        writer.write(
            OutputLine(
                "t", "m", "a", "key", prompt=prompt_to_plain(QUESTION), output=answer
            )
        )
        manifest = {
            "format": 2,
            "status": "complete",
            "config": {},
            "started": "",
            "cells": [],
        }
        writer.finish(manifest, {"results": [], "status": "complete"})
    return tmp_path / "run"


def test_a_copied_run_reads_as_the_run(run: Path, tmp_path: Path, capsys):
    code = main(["export", str(run), f"file://{tmp_path}/there/copy"])

    assert (
        code == 0
        and capsys.readouterr().out == f"file://{tmp_path}/there/copy: 4 files\n"
    )
    copy, own = RunReader(tmp_path / "there" / "copy"), RunReader(run)
    assert list(copy.outputs()) == list(own.outputs()) and copy.manifest == own.manifest
    names = [
        p.relative_to(run) for p in run.rglob("*") if p.is_file() and p.name != ".lock"
    ]
    assert all(
        (tmp_path / "there" / "copy" / name).read_bytes() == (run / name).read_bytes()
        for name in names
    )


def test_media_that_are_there_are_not_sent_again(run: Path):
    layout = RunReader(run).layout

    first = copy_run(layout, "memory://bucket/run")
    second = copy_run(layout, "memory://bucket/run")

    assert (first, second) == (4, 3)
    assert fsspec.filesystem("memory").exists("/bucket/run/records.jsonl")


@pytest.mark.parametrize(
    ("url", "kind", "line"),
    [
        (
            "nowhere://x",
            UsageError,
            "nowhere://x: cannot write to this URL: .*; fix: a URL such as s3://bucket/run",
        ),
        (
            "out.csv",
            UsageError,
            "out.csv: not a URL; fix: file:///.*/out.csv, or -o FILE for csv",
        ),
        (
            "file:///dev/null/x",
            StoreError,
            "file:///dev/null/x: cannot write there: Not a directory",
        ),
    ],
)
def test_a_place_that_cannot_be_written_is_one_line(
    run: Path, url: str, kind, line: str
):
    with pytest.raises(kind, match=line) as caught:
        copy_run(RunReader(run).layout, url)

    assert "\n" not in str(caught.value)


def test_a_missing_library_is_named_with_its_pip_line(run: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)

    with pytest.raises(
        MissingExtra,
        match=r"fsspec is not installed; fix: pip install 'assay\[storage\]'",
    ):
        copy_run(RunReader(run).layout, "s3://bucket/run")


def test_a_target_with_other_files_is_refused_and_unchanged(run: Path, tmp_path: Path):
    there = tmp_path / "there"
    there.mkdir()
    (there / "summary.json").write_text("mine")

    with pytest.raises(
        UsageError, match="the target holds files that are not an assay run"
    ):
        copy_run(RunReader(run).layout, f"file://{there}")

    assert [path.name for path in there.iterdir()] == ["summary.json"]
    assert (there / "summary.json").read_text() == "mine"


def test_a_copy_that_broke_off_can_be_repeated(run: Path, tmp_path: Path, monkeypatch):
    layout = RunReader(run).layout
    url = f"file://{tmp_path}/there"
    send, sent = merging._send, []

    def send_two(files, path, there):
        if len(sent) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        sent.append(path)
        send(files, path, there)

    monkeypatch.setattr(merging, "_send", send_two)
    with pytest.raises(DiskFull, match="; fix: free some space and rerun"):
        copy_run(layout, url)
    monkeypatch.undo()

    copy_run(layout, url)

    assert RunReader(tmp_path / "there").manifest == RunReader(run).manifest


def test_an_empty_journal_beside_other_files_is_not_a_copy_that_broke_off(
    run: Path, tmp_path: Path
):
    there = tmp_path / "there"
    there.mkdir()
    (there / "records.jsonl").touch()
    (there / "summary.json").write_text("mine")

    with pytest.raises(UsageError):
        copy_run(RunReader(run).layout, f"file://{there}")

    assert (there / "summary.json").read_text() == "mine"
