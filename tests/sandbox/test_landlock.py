"""The tier `landlock` leaves neither programs nor folders, whatever a program makes and however assay ends."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from system_python import NOBODY, start_by_system_python

from assay.sandbox import folders


def group_is_alive(group: int) -> bool:
    """Whether a process of the group runs; one that has ended and waits to be noticed does not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == group and words[0] not in "ZX":
            return True
    return False


@pytest.mark.parametrize("user", [NOBODY, 0])
@pytest.mark.xdist_group("sandbox")
def test_killing_assay_ends_the_program_and_removes_its_folder(user):
    process = start_by_system_python("sleeps.py", "landlock", user=user)
    line = process.stdout.readline()
    if not line:
        pytest.skip(f"no landlock here: {process.stderr.read()[-300:]}")
    folder, group = line.split()
    assert group_is_alive(int(group)) and os.listdir(folder)

    process.kill()
    process.communicate()

    for _ in range(600):
        if not os.listdir(folder) and not group_is_alive(int(group)):
            break
        time.sleep(0.05)
    assert os.listdir(folder) == [] and not group_is_alive(int(group))
    shutil.rmtree(folder)


def nest(folder: Path, depth: int) -> None:
    """Make folders in each other, deeper than a path can name."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.mknod("file", dir_fd=here)
    os.close(here)


def test_folders_of_any_depth_are_measured_and_removed(tmp_path):
    folder = tmp_path / "sandbox"
    folder.mkdir()
    nest(folder, 3000)

    assert folders.is_full(str(folder), 1 << 20)
    folders.remove_folder(folder)
    assert not folder.exists()


def test_folders_that_are_closed_and_links_are_removed_and_what_they_lead_to_stays(
    tmp_path,
):
    folder, other = tmp_path / "sandbox", tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("kept")
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "link").symlink_to(other)
    (folder / "file link").symlink_to(other / "file")
    os.mkfifo(folder / "a" / "pipe")
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0)

    folders.remove_folder(folder)

    assert not folder.exists() and (other / "file").read_text() == "kept"


def test_the_size_of_a_folder_counts_its_files_and_their_number(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "data").write_bytes(os.urandom(300_000))

    assert not folders.is_full(str(tmp_path), 1 << 20)
    assert folders.is_full(str(tmp_path), 200_000)
    for number in range(4100):
        (tmp_path / f"{number}").touch()
    assert folders.is_full(str(tmp_path), 1 << 30)


def test_folders_that_a_killed_process_left_are_removed_and_those_of_others_stay(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = folders.make_folder()
    stale = tmp_path / own.name.replace(f"-{os.getpid()}-", "-4194999-")
    elsewhere = tmp_path / f"{folders.PREFIX}1-4194999-abc"
    stale.mkdir()
    elsewhere.mkdir()

    folders.remove_stale_folders()

    assert own.exists() and elsewhere.exists() and not stale.exists()
