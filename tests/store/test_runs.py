"""Run folders: one writer, derived files whole or not at all, media by content."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core import FolderInUse, Image, StoreError
from assay.store import Blobs, RunReader, RunWriter, write_json
from assay.store.cache import ResponseCache

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


def test_a_second_writer_is_refused_with_the_owner_named(tmp_path: Path):
    code = (
        "import sys\nfrom assay.store import RunWriter\nwith RunWriter(sys.argv[1]): print('in', flush=True); input()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None and owner.stdout.readline() == "in\n"

    with pytest.raises(FolderInUse, match=f"process {owner.pid} on") as caught, RunWriter(tmp_path):
        pass

    assert caught.value.exit_code == 75
    owner.communicate("done\n")
    with RunWriter(tmp_path):
        pass


def test_ten_processes_at_once_and_exactly_one_proceeds(tmp_path: Path):
    code = (
        "import sys, time\nfrom assay.store import RunWriter\nfrom assay.core import FolderInUse\n"
        "sys.stdin.readline()\n"
        "try:\n    with RunWriter(sys.argv[1]):\n        print('won', flush=True); sys.stdin.readline()\n"
        "except FolderInUse:\n    print('refused', flush=True); sys.stdin.readline()\n"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(10)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    verdicts = [racer.stdout.readline().strip() for racer in racers if racer.stdout is not None]
    for racer in racers:
        racer.communicate("end\n")

    assert sorted(verdicts) == ["refused"] * 9 + ["won"]


def test_a_derived_file_is_replaced_whole(tmp_path: Path, monkeypatch):
    import os

    write_json(tmp_path / "summary.json", {"value": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    with pytest.raises(StoreError, match="No space left"):
        write_json(tmp_path / "summary.json", {"value": 2})

    assert json.loads((tmp_path / "summary.json").read_text()) == {"value": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_media_are_stored_once_under_the_hash_of_their_content(tmp_path: Path):
    blobs = Blobs(tmp_path)

    first = blobs.put(Image(PNG))
    second = blobs.put(Image(PNG, name="the same again"))

    assert first == second
    assert first.suffix == ".png"
    assert list(blobs) == [Image(PNG).digest]
    assert blobs[Image(PNG).digest].data() == PNG


def test_a_folder_without_a_run_is_refused(tmp_path: Path):
    with pytest.raises(StoreError, match="not a run folder"):
        RunReader(tmp_path)


def test_the_response_cache_knows_only_what_it_was_given(tmp_path: Path):
    from assay.core import Output

    cache = ResponseCache(tmp_path)
    cache.put("key", Output.of("yes", stop_reason="stop"))
    cache.close()

    again = ResponseCache(tmp_path)

    found = again.get("key")
    assert found is not None and found.text == "yes" and found.stop_reason == "stop"
    assert again.get("other") is None
