"""Archives that loading scripts fetch: unpacked inside their folder, and not without bound."""

import io
import tarfile
import zipfile

import pytest

from assay.core import DataError
from assay.dialects.testbed import script as downloads
from assay.dialects.testbed.script import Downloads


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return path


def tarred(path, *members):
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO())
    return path


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.parametrize(
    "name", ["../canary", "/canary", "a/../../canary", "C:/canary", "..\\canary"]
)
def test_a_zip_file_that_leads_outside_its_folder_is_refused(tmp_path, name):
    archive = zipped(tmp_path / "a.zip", "fine.txt", name)

    with pytest.raises(DataError, match="leads outside its folder"):
        Downloads(tmp_path, cache=tmp_path / "cache").extract(archive)

    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "member", [tarfile.TarInfo("../canary"), link("out", "../.."), link("out", "/")]
)
def test_a_tar_file_that_leads_outside_its_folder_is_refused(tmp_path, member):
    archive = tarred(tmp_path / "a.tar", tarfile.TarInfo("fine.txt"), member)

    with pytest.raises(DataError, match="leads outside its folder"):
        Downloads(tmp_path, cache=tmp_path / "cache").extract(archive)

    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_that_unpacks_to_far_more_than_it_holds_is_refused(
    tmp_path, kind, monkeypatch
):
    monkeypatch.setattr(downloads, "SMALL", 1 << 16)
    archive = tmp_path / f"bomb.{kind}"
    (tmp_path / "zeros").write_bytes(bytes(1 << 22))
    if kind == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            made.write(tmp_path / "zeros", "zeros")
    else:
        with tarfile.open(archive, "w:gz") as made:
            made.add(tmp_path / "zeros", "zeros")

    with pytest.raises(DataError, match="over 200 times its size") as caught:
        Downloads(tmp_path, cache=tmp_path / "cache").extract(archive)

    assert "unpack it yourself" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_damaged_archive_is_reported_and_leaves_no_files(tmp_path, kind):
    whole = tmp_path / f"whole.{kind}"
    (tmp_path / "x.txt").write_text("0123456789" * 5000)
    if kind == "zip":
        with zipfile.ZipFile(whole, "w") as made:
            made.write(tmp_path / "x.txt", "x.txt")
        damaged = whole.read_bytes().replace(b"0123456789", b"0123456780", 1)
    else:
        with tarfile.open(whole, "w:gz") as made:
            made.add(tmp_path / "x.txt", "x.txt")
        damaged = whole.read_bytes()[:-40]
    whole.write_bytes(damaged)

    with pytest.raises(DataError, match="the archive is damaged"):
        Downloads(tmp_path, cache=tmp_path / "cache").extract(whole)

    assert list((tmp_path / "cache").iterdir()) == []
