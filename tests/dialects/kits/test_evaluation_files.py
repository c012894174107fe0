"""Files that an evaluation leaves belong to one set of predictions, one judge and one state of the code."""

from pathlib import Path

import pytest

from assay.dialects.kits.evaluation_files import (
    evaluation_files,
    files_of,
    forget,
    table_digest,
)


def evaluate(
    folder: Path,
    predictions: str,
    by: str,
    name: str = "M_toy_judge.csv",
    stem: str = "M_toy",
) -> str:
    """The kits' idiom: what is there is taken, what is not is made of the predictions at hand."""
    with evaluation_files(folder, stem, predictions, by):
        storage = folder / name
        if not storage.exists():
            storage.write_text(f"{predictions} {by}")
        return storage.read_text()


def test_a_file_of_other_predictions_is_never_seen(tmp_path):
    evaluate(tmp_path, "old", "code")

    assert evaluate(tmp_path, "new", "code") == "new code"


def test_a_file_of_the_same_evaluation_is_reused(tmp_path):
    evaluate(tmp_path, "same", "code")
    (tmp_path / "M_toy_judge.csv").write_text("kept")

    assert evaluate(tmp_path, "same", "code") == "kept"


def test_another_judge_makes_its_own_file_and_the_files_of_the_first_come_back(
    tmp_path,
):
    evaluate(tmp_path, "same", "first judge", "M_toy_first.csv")
    evaluate(tmp_path, "same", "first judge", "M_toy_shared.csv")

    assert (
        evaluate(tmp_path, "same", "second judge", "M_toy_shared.csv")
        == "same second judge"
    )
    assert (tmp_path / "M_toy_first.csv").read_text() == "same first judge"


def test_what_a_killed_evaluation_left_is_known_when_the_predictions_have_changed(
    tmp_path,
):
    entered = evaluation_files(tmp_path, "M_toy", "old", "code")
    entered.__enter__()
    (tmp_path / "M_toy_judge.csv").write_text("half done")

    assert evaluate(tmp_path, "new", "code") == "new code"


def test_folders_that_an_evaluation_made_go_with_their_predictions(tmp_path):
    with evaluation_files(tmp_path, "M_toy", "old", "code"):
        (tmp_path / "Color" / "samples").mkdir(parents=True)

    with evaluation_files(tmp_path, "M_toy", "new", "code"):
        assert not (tmp_path / "Color").exists()


def test_files_of_a_dataset_with_a_longer_name_stay(tmp_path):
    evaluate(tmp_path, "old", "code", "M_toy_v2_acc.csv", stem="M_toy_v2")
    evaluate(tmp_path, "old", "code")
    evaluate(tmp_path, "new", "code")

    assert (tmp_path / "M_toy_v2_acc.csv").exists()
    assert [path.name for path in files_of(tmp_path, "M_toy")] == ["M_toy_judge.csv"]


def test_forgetting_removes_what_evaluations_wrote_and_nothing_else(tmp_path):
    (tmp_path / "M_toy_mine.csv").write_text("mine")
    evaluate(tmp_path, "old", "code")

    forget(tmp_path, "M_toy")

    assert sorted(path.name for path in tmp_path.glob("M_*")) == ["M_toy_mine.csv"]


@pytest.mark.parametrize(
    ("first", "second"),
    [([["a", "b"]], [["a"], ["b"]]), ([["1", "2"]], [["12", ""]]), ([[0]], [[""]])],
)
def test_tables_that_differ_have_digests_that_differ(first, second):
    assert table_digest(["x"], first) != table_digest(["x"], second)
