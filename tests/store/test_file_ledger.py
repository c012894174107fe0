"""Files beside those of the user: added freely, replaced only where assay wrote them."""

import pytest

from assay.core import StoreError
from assay.store.file_ledger import LEDGER, FileLedger, own_file


def test_a_file_may_be_added_and_written_again_by_a_later_process(tmp_path):
    FileLedger(tmp_path).claim(tmp_path / "deep" / "table.csv").write_text("first")

    FileLedger(tmp_path).claim(tmp_path / "deep" / "table.csv").write_text("second")

    assert (tmp_path / "deep" / "table.csv").read_text() == "second"


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_assay_did_not_write_is_refused_and_unchanged(tmp_path, is_link):
    (tmp_path / "mine.csv").write_text("mine")
    path = tmp_path / "table.csv"
    path.symlink_to(tmp_path / "nowhere") if is_link else path.write_text("mine")

    with pytest.raises(
        StoreError,
        match=r"table\.csv exists, was not written by assay, .*; fix: move it away",
    ):
        FileLedger(tmp_path).claim(path)

    assert path.is_symlink() if is_link else path.read_text() == "mine"
    assert not (tmp_path / LEDGER).exists()


def test_a_link_put_in_place_of_an_own_file_is_not_written_through(tmp_path):
    ledger = FileLedger(tmp_path)
    ledger.claim(tmp_path / "table.csv").write_text("ours")
    (tmp_path / "table.csv").unlink()
    (tmp_path / "precious.csv").write_text("mine")
    (tmp_path / "table.csv").symlink_to(tmp_path / "precious.csv")

    ledger.claim(tmp_path / "table.csv").write_text("ours again")

    assert (tmp_path / "precious.csv").read_text() == "mine" and (
        tmp_path / "table.csv"
    ).read_text() == "ours again"


def test_a_damaged_line_of_the_ledger_vouches_for_nothing(tmp_path):
    FileLedger(tmp_path).claim(tmp_path / "table.csv").write_text("ours")
    (tmp_path / LEDGER).write_bytes(
        (tmp_path / LEDGER).read_bytes().replace(b"table.csv", b"other.csv")
    )
    (tmp_path / "other.csv").write_text("mine")

    with pytest.raises(StoreError, match="was not written by assay"):
        FileLedger(tmp_path).claim(tmp_path / "other.csv")


def test_a_torn_line_does_not_spoil_the_next(tmp_path):
    (tmp_path / LEDGER).write_bytes(b'{"kind":"file","pa')
    FileLedger(tmp_path).claim(tmp_path / "table.csv").write_text("ours")

    assert FileLedger(tmp_path).holds(tmp_path / "table.csv")


def test_a_file_elsewhere_is_known_by_its_whole_path(tmp_path):
    ledger = FileLedger(tmp_path / "run")
    ledger.claim(tmp_path / "out" / "x.csv").write_text("ours")

    assert FileLedger(tmp_path / "run").holds(tmp_path / "out" / "x.csv")
    with pytest.raises(StoreError, match="was not written by assay"):
        own_file(tmp_path / "out" / "x.csv")
