"""Run folders: one writer, derived files whole or not at all, media by content."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import COUNTS

from assay.core import FolderInUse, Image, StoreError
from assay.store import Blobs, RunReader, RunWriter, write_json
from assay.store.cache import ResponseCache

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


def test_a_second_writer_is_refused_with_the_owner_named(tmp_path: Path):
    code = (
        "import sys\nfrom assay.store import RunWriter\n"
        "with RunWriter(sys.argv[1]): print('in', flush=True); input()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None and owner.stdout.readline() == "in\n"

    with (
        pytest.raises(FolderInUse, match=f"process {owner.pid} on") as caught,
        RunWriter(tmp_path),
    ):
        pass

    assert caught.value.exit_code == 75
    owner.communicate("done\n")
    with RunWriter(tmp_path):
        pass


RACER = """
import sys
from assay.store import RunWriter
from assay.core import FolderInUse
for folder in sys.stdin:
    try:
        with RunWriter(folder.strip()):
            print("won", flush=True)
            sys.stdin.readline()
    except FolderInUse:
        print("refused", flush=True)
        sys.stdin.readline()
"""


@pytest.mark.faults
def test_ten_processes_at_once_and_exactly_one_proceeds(tmp_path: Path):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(10)
    ]

    def tell(line: str) -> None:
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(line + "\n")
            racer.stdin.flush()

    verdicts = []
    for number in range(COUNTS.rounds_of_writers):
        tell(
            str(tmp_path / f"run{number % 2}")
        )  # a folder is wanted again after its writer has left
        verdicts.append(
            sorted(
                racer.stdout.readline().strip()
                for racer in racers
                if racer.stdout is not None
            )
        )
        tell("end")
    for racer in racers:
        racer.communicate()

    assert verdicts == [["refused"] * 9 + ["won"]] * COUNTS.rounds_of_writers


def test_a_derived_file_is_replaced_whole(tmp_path: Path, monkeypatch):
    import os

    write_json(tmp_path / "summary.json", {"value": 1})
    monkeypatch.setattr(
        os,
        "replace",
        lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )

    with pytest.raises(StoreError, match="No space left"):
        write_json(tmp_path / "summary.json", {"value": 2})

    assert json.loads((tmp_path / "summary.json").read_text()) == {"value": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_a_derived_file_is_on_disk_before_it_takes_its_place_and_its_place_is_too(
    tmp_path: Path, monkeypatch
):
    import os

    steps = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def noted(*values, name=name, real=real):
            is_folder = name == "fsync" and stat.S_ISDIR(os.fstat(values[0]).st_mode)
            steps.append("folder" if is_folder else name)
            return real(*values)

        monkeypatch.setattr(os, name, noted)

    write_json(tmp_path / "summary.json", {"value": 1})

    assert steps == ["fsync", "replace", "folder"]


def test_the_drafts_of_a_killed_writer_are_removed_by_the_next(tmp_path: Path):
    with RunWriter(tmp_path):
        pass
    (tmp_path / ".run.json.0123456789abcdef").write_text('{\n  "format": 2,')
    (tmp_path / ".summary.json.0123456789abcdef").write_text("")
    (tmp_path / "..lock.0123456789abcdef").write_text('{"pi')
    foreign = {
        ".run.json.abc": "{",
        ".summary.json.0123456789abcde0": "my notes",
        ".mine": "",
    }
    for name, text in foreign.items():
        (tmp_path / name).write_text(text)

    with RunWriter(tmp_path):
        pass

    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [".lock", *foreign, "records.jsonl", "run.json"]
    )


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


def test_the_response_cache_returns_only_stored_answers(tmp_path: Path):
    from assay.core import Output

    cache = ResponseCache(tmp_path)
    cache.put("key", Output.of("yes", stop_reason="stop"))
    cache.close()

    again = ResponseCache(tmp_path)

    found = again.get("key")
    assert found is not None and found.text == "yes" and found.stop_reason == "stop"
    assert again.get("other") is None


def test_a_media_draft_left_by_a_kill_is_removed_when_the_run_continues(tmp_path):
    with RunWriter(tmp_path / "run"):
        pass
    digest = "ab" + "0" * 62
    draft = tmp_path / "run" / "media" / "ab" / f".{digest}.png.0123456789abcdef"
    draft.parent.mkdir(parents=True)
    draft.write_bytes(b"half an image")

    with RunWriter(tmp_path / "run"):
        assert not draft.exists()
