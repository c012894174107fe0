"""`load` and `dump` by suffix: what goes in comes out."""

import pickle

import pytest

from assay.core import UsageError
from assay.dialects.kits.suffix_files import dump_by_suffix, load_by_suffix

pandas = pytest.importorskip("pandas")
pytest.importorskip("openpyxl")

LONG = 'tab\t "quote" \r\n é ' * 8000
PREDICTIONS = ["NA", "None", "1", "", "=1+1", "\x01", LONG]


@pytest.mark.parametrize("suffix", ["xlsx", "tsv", "csv", "json", "jsonl", "pkl"])
def test_predictions_survive_exactly(tmp_path, suffix):
    hints = ["None", None, "=A1", "a", "b", "c", "d"]
    frame = pandas.DataFrame(
        {"index": range(7), "hint": hints, "prediction": PREDICTIONS}
    )

    dump_by_suffix(frame, tmp_path / f"a.{suffix}")
    back = load_by_suffix(tmp_path / f"a.{suffix}")
    back = pandas.DataFrame(back) if isinstance(back, list) else back

    assert list(back["prediction"]) == PREDICTIONS
    assert list(back["index"]) == list(range(7))
    assert back["hint"][0] == "None"
    assert pandas.isna(back["hint"][1])
    assert back["hint"][2] == "=A1"


def test_a_pickle_this_process_wrote_is_read_back(tmp_path):
    dump_by_suffix({1: "a"}, tmp_path / "mine.pkl")

    assert load_by_suffix(tmp_path / "mine.pkl") == {1: "a"}


def test_a_pickle_from_elsewhere_is_refused_unread_until_the_user_says_so(tmp_path):
    file = tmp_path / "theirs.pkl"
    file.write_bytes(pickle.dumps({1: "a"}))

    with pytest.raises(UsageError, match="--trust-pickle"):
        load_by_suffix(file)

    assert load_by_suffix(file, trust_pickle=True) == {1: "a"}


def test_a_pickle_that_was_changed_since_is_refused(tmp_path):
    file = tmp_path / "mine.pkl"
    dump_by_suffix({1: "a"}, file)
    file.write_bytes(pickle.dumps({1: "b"}))

    with pytest.raises(UsageError, match="can run code"):
        load_by_suffix(file)


def test_an_unknown_suffix_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match="one of json"):
        dump_by_suffix({}, tmp_path / "a.parquet9")
