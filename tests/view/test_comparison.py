"""Two runs in words and in rows: the same statistics as in the terminal, with the samples behind them."""

from pathlib import Path

import pytest
from made_runs import answered, judged, manifest, result, sums, write_run

from assay.core import UsageError
from assay.view.comparison import comparison_page
from assay.view.run_view import RunView


def views(*folders: Path) -> list[RunView]:
    return [RunView(folder, f"r{n}", folder.name) for n, folder in enumerate(folders)]


def test_the_samples_that_changed_are_listed_with_their_rows_in_both_runs(
    tmp_path: Path,
):
    before, after = views(
        sums(tmp_path / "a", count=60, right=45),
        sums(tmp_path / "b", count=60, right=30),
    )

    page = comparison_page(before, after)

    row = page["rows"][0]
    assert [flip[0] for flip in row["flips"]] == [f"s{n:03}" for n in range(30, 45)]
    assert row["flips"][0][1:] == [1.0, 0.0, 30, 30]
    assert (row["losses"], row["wins"], row["verdict"]) == (15, 0, "worse")
    assert page["sentence"] == row["words"]


def test_what_else_differs_is_named(tmp_path: Path):
    lines = [
        line
        for n in range(8)
        for line in (answered(f"s{n}", "?", "x"), judged(f"s{n}", 1.0, order=n))
    ]
    other = manifest(
        "sums",
        config={"tasks": ["sums"], "models": ["model"], "limit": 8},
        versions={"assay": "0.2.0"},
    )
    other["cells"][0]["digests"] = {"template": "other"}
    results = [result("sums", "exact", 1.0, 8)]
    before, after = views(
        write_run(tmp_path / "a", lines, results),
        write_run(tmp_path / "b", lines, results, other),
    )

    page = comparison_page(before, after)

    assert ["limit", "–", "8"] in page["settings"] and [
        "version of assay",
        "0.1.0",
        "0.2.0",
    ] in page["settings"]
    assert any("template" in note for note in page["notes"])


def test_a_run_is_not_compared_with_itself_or_with_one_without_numbers(tmp_path: Path):
    before, after = views(
        sums(tmp_path / "a"), write_run(tmp_path / "b", [answered("x", "?", "y")])
    )

    with pytest.raises(UsageError, match="with itself"):
        comparison_page(before, before)
    with pytest.raises(UsageError, match="no numbers yet"):
        comparison_page(before, after)
