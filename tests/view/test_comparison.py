"""Two runs in words and in rows: the same statistics as in the terminal, with the samples behind them."""

from pathlib import Path

import pytest
from made_runs import answered, judged, manifest, result, sums, write_run

from assay.core import UsageError
from assay.store import RunReader
from assay.view.comparison_pages import comparison_page
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


def test_flip_counts_are_of_all_samples_though_the_list_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.view.comparison_pages.MOST_FLIPS", 5)
    before, after = views(
        sums(tmp_path / "a", count=60, right=45),
        sums(tmp_path / "b", count=60, right=30),
    )

    row = comparison_page(before, after)["rows"][0]

    assert len(row["flips"]) == 5
    assert row["flip_counts"] == {"all": 15, "up": 0, "down": 15, "shown": 5}


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


def readers(folder: Path) -> tuple[RunReader, RunReader]:
    return RunReader(folder), RunView(folder, "r", "r").indexed_reader()


def two_answers(n: int) -> dict:
    return answered(f"s{n}", "?", [{"text": "x"}, {"text": "y"}])


LINES = {
    "plain": lambda n: [answered(f"s{n}", "?", "x"), judged(f"s{n}", float(n % 2))],
    "unparsed": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", None if n % 3 else 1.0, "unparsed" if n % 3 else "scored"),
    ],
    "without a verdict": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", None if n % 3 else 1.0, "judge_error" if n % 3 else "scored"),
    ],
    "judged again": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", 1.0),
        judged(f"s{n}", 0.0 if n % 2 else None, "scored" if n % 2 else "unparsed"),
    ],
    "answered again and not judged": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", 1.0),
        *([answered(f"s{n}", "?", "z")] if n % 2 else []),
    ],
    "several epochs": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", 1.0),
        answered(f"s{n}", "?", "x", epoch=1),
        judged(f"s{n}", 0.0, epoch=1),
    ],
    "several candidates": lambda n: [
        two_answers(n),
        judged(f"s{n}", 0.5, candidates=[1.0, 0.0]),
    ],
    "clusters": lambda n: [
        answered(f"s{n}", "?", "x"),
        judged(f"s{n}", 1.0, cluster=f"c{n // 2}"),
    ],
}


@pytest.mark.parametrize("kind", LINES)
def test_values_from_the_index_are_those_of_the_journal(tmp_path: Path, kind: str):
    lines = [line for n in (3, 1, 0, 2, 5, 4) for line in LINES[kind](n)]
    folder = write_run(tmp_path / "run", lines, [result("sums", "exact", 0.5, 6)])

    plain, indexed = readers(folder)

    number = plain.results[0]
    assert indexed.sample_values(number) == plain.sample_values(number)
    assert list(indexed.sample_values(number)[0]) == list(
        plain.sample_values(number)[0]
    )
    assert indexed.cells == plain.cells


def test_a_comparison_of_plain_runs_reads_no_line_of_the_journal_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before, after = views(sums(tmp_path / "a"), sums(tmp_path / "b", right=20))
    for run in (before, after):
        assert len(run.index) == 40

    def refuse(*_: object) -> None:
        raise AssertionError("the journal was scanned again")

    monkeypatch.setattr("assay.store.index.Index._scan", refuse)

    assert comparison_page(before, after)["rows"][0]["verdict"] == "worse"
