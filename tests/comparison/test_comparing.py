"""Two finished runs compared from Python, as `--baseline` compares them from the command line."""

import pytest

import assay
from assay.comparison.comparing import compare_runs
from assay.comparison.comparison_rows import Row
from assay.core import StoreError

ROWS = [
    {"id": f"s{n}", "question": f"{n}+{n}?", "answer": str(2 * n)} for n in range(10)
]


def adder(text):
    return str(2 * int(text.partition("+")[0]))


def run(folder, model):
    return assay.run(
        assay.Task("sums", dataset=ROWS, scorers="exact_match"),
        model,
        output=str(folder),
    )


def test_two_folders_are_compared_sample_by_sample(tmp_path):
    run(tmp_path / "before", lambda text: "4")
    run(tmp_path / "after", adder)

    comparison = compare_runs(tmp_path / "before", tmp_path / "after")

    [row] = comparison.rows
    assert row.verdict == "better" and row.paired is not None
    assert (row.paired.mean_b, row.paired.mean_a, row.paired.n) == (0.1, 1.0, 10)


def test_a_run_at_hand_is_compared_as_its_folder_is(tmp_path):
    run(tmp_path / "before", lambda text: "4")
    after = run(tmp_path / "after", adder)

    assert (
        compare_runs(tmp_path / "before", after).to_plain()
        == compare_runs(tmp_path / "before", tmp_path / "after").to_plain()
    )


def test_a_folder_without_a_run_is_reported(tmp_path):
    run(tmp_path / "after", adder)

    with pytest.raises(StoreError, match="not a run folder"):
        compare_runs(tmp_path / "nothing", tmp_path / "after")


def test_a_notebook_shows_the_sentence_and_each_difference_drawn(tmp_path):
    before, after = (
        run(tmp_path / "before", lambda text: "4"),
        run(tmp_path / "after", adder),
    )

    shown = assay.compare(before, after)._repr_html_()

    assert (
        "<b>after is better by 90.0 points" in shown
        and 'aria-label="difference 0.900, 95 % interval' in shown
    )


def test_a_comparison_becomes_a_data_frame(tmp_path):
    pytest.importorskip("pandas", reason="the extra guests is not installed")
    before, after = (
        run(tmp_path / "before", lambda text: "4"),
        run(tmp_path / "after", adder),
    )

    frame = assay.compare(before, after).frame()

    assert list(frame["difference"]) == [0.9] and list(frame["verdict"]) == ["better"]


def test_it_prints_as_the_command_does(tmp_path):
    run(tmp_path / "before", lambda text: "4")
    run(tmp_path / "after", adder)

    assert "after is better by 90.0 points" in repr(
        assay.compare(tmp_path / "before", tmp_path / "after")
    )


def test_changed_samples_come_by_size_then_in_the_order_people_count():
    ids = ["q10", "q2", "a", "q1", "q02"]
    before = dict.fromkeys(ids, 0.0)
    after = {**dict.fromkeys(ids, 0.5), "q10": 1.0}
    row = Row("t", "m", None, "score", True, before=before, after=after)

    assert [flip.id for flip in row.flips()] == ["q10", "a", "q1", "q02", "q2"]
