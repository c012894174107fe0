"""Reports: what is chosen, what is said, and what a spreadsheet may not do with it."""

import csv
import io
import json
import re
from pathlib import Path

from made_runs import answered, judged, png, result, sums, write_run

from assay.core import Image
from assay.view import report_file
from assay.view.report_file import choose, csv_report, html_report, markdown_report
from assay.view.run_view import RunView


def test_samples_are_chosen_from_failures_low_scores_and_the_rest(tmp_path: Path):
    lines = []
    for n in range(100):
        outcome = "unparsed" if n >= 90 else "scored"
        lines += [
            answered(f"s{n}", "?", "x"),
            judged(f"s{n}", None if n >= 90 else float(n < 50), outcome, order=n),
        ]
    run = RunView(
        write_run(tmp_path / "run", lines, [result("sums", "exact", 0.5, 100)]),
        "r",
        "run",
    )

    chosen = choose(run, 12)

    assert len(chosen) == 12
    assert (
        sum(row >= 90 for row in chosen[:6]) == 6
        and sum(50 <= row < 90 for row in chosen[6:9]) == 3
    )
    assert choose(run, 0) == [] and len(choose(run, 500)) == 100


def test_the_report_contains_each_medium_once(tmp_path: Path):
    picture = Image(png(side=200))
    content = [
        {
            "role": "user",
            "content": [{"type": "image", "sha256": picture.digest, "format": "png"}],
        }
    ]
    lines = [
        line
        for n in range(5)
        for line in (answered(f"s{n}", content, "x"), judged(f"s{n}", 1.0, order=n))
    ]
    folder = write_run(
        tmp_path / "run", lines, [result("sums", "exact", 1.0, 5)], media=[picture]
    )

    page = html_report([folder])

    assert page.count("data:image/png;base64,") == 1
    held = json.loads(
        re.search(r'id="assay-data">(.*?)</script>', page, re.DOTALL)[1].replace(
            "\\u003c", "<"
        )
    )
    assert list(held["media"]) == [f"{picture.digest}:full", f"{picture.digest}:small"]
    assert str(tmp_path) not in json.dumps(held["samples-r0-0"])


def test_a_medium_that_does_not_fit_is_counted_once(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(report_file, "MOST_MEDIA_BYTES", 0)
    pictures = [Image(png(side=200)), Image(png(side=201))]
    lines = []
    for n in range(6):
        picture = pictures[n % 2]
        part = {"type": "image", "sha256": picture.digest, "format": "png"}
        content = [{"role": "user", "content": [part]}]
        lines += [answered(f"s{n}", content, "x"), judged(f"s{n}", 1.0, order=n)]
    results = [result("sums", "exact", 1.0, 6)]
    folder = write_run(tmp_path / "run", lines, results, media=pictures)

    page = html_report([folder])

    assert '"media_left_out":2' in page.replace(": ", ":")


def test_markdown_has_the_table_the_comparison_and_the_methods_and_no_markup_of_names(
    tmp_path: Path,
):
    sums(tmp_path / "a_<b>", right=30)
    sums(tmp_path / "second", right=20)

    text = markdown_report([tmp_path / "a_<b>", tmp_path / "second"])

    assert "| sums | model | exact | ↑ | 0.750 |" in text
    assert "points, 95 % interval" in text and "was evaluated on sums" in text
    assert "## a\\_\\<b\\>" in text


def test_markdown_compares_the_first_run_with_each_other_run(tmp_path: Path):
    for name, right in [("first", 30), ("second", 20), ("third", 10)]:
        sums(tmp_path / name, right=right)

    text = markdown_report([tmp_path / name for name in ("first", "second", "third")])

    assert re.findall(r"^## (.* → .*)$", text, re.MULTILINE) == [
        "first → second",
        "first → third",
    ]


def test_markdown_names_a_run_without_results(tmp_path: Path):
    sums(tmp_path / "first", right=30)
    write_run(tmp_path / "second", [answered("s0", "?", "x")], [])

    text = markdown_report([tmp_path / "first", tmp_path / "second"])

    assert "## first → second\n\nNot compared: second has no numbers yet." in text


def test_csv_has_a_row_for_each_number_and_no_formula(tmp_path: Path):
    name = "=HYPERLINK(1)"
    lines = [answered("a", "?", "x", task=name), judged("a", 1.0, task=name)]
    write_run(tmp_path / "run", lines, [result(name, "exact", 1.0, 1)])

    rows = list(csv.DictReader(io.StringIO(csv_report([tmp_path / "run"]))))

    assert (
        rows[0]["task"] == f"'{name}"
        and rows[0]["low"] == "0.9"
        and rows[0]["outcomes"] == "1 scored"
    )


def test_a_report_of_ten_thousand_samples_holds_a_few_and_draws_all(tmp_path: Path):
    lines = []
    for n in range(300):
        lines += [
            answered(f"s{n}", f"question {n}", "x"),
            judged(f"s{n}", float(n % 2), order=n),
        ]
    folder = write_run(tmp_path / "run", lines, [result("sums", "exact", 0.5, 300)])

    page = html_report([folder], samples=10)

    held = json.loads(re.search(r'id="assay-data">(.*?)</script>', page, re.DOTALL)[1])
    assert held["columns-r0"]["n"] == 300
    assert sum(len(held[name]) for name in held if name.startswith("samples-")) == 10


def test_the_methods_say_how_many_what_interval_and_what_failed():
    from assay.report.methods import methods_paragraph

    row = result(
        "sums",
        "exact",
        0.5,
        38,
        n_expected=40,
        outcomes={"scored": 38, "model_error": 2},
        bounds=[0.475, 0.525],
    )
    manifest = {
        "cells": [
            {
                "task": "sums",
                "model": "m",
                "protocol": "sums@5shot",
                "num_fewshot": 5,
                "scorers": {"exact": "d"},
            }
        ]
    }

    text = methods_paragraph(manifest, {"results": [{**row, "model": "m"}]})[0]

    assert text == (
        "m was evaluated on sums under protocol sums@5shot. Generation: 5 solved examples in the prompt. "
        "Scored by exact. "
        "exact is 0.5, 95 % interval 0.4 to 0.6 (Wilson's score interval), n = 38 of 40. Not scored: 2 model_error. "
        "If all samples without a verdict were wrong it would be 0.475, if all were right 0.525."
    )


def test_failures_fill_the_report_when_there_is_room(tmp_path: Path):
    lines = []
    for n in range(20):
        outcome = "unparsed" if n % 5 < 3 else "scored"
        value = None if outcome == "unparsed" else 1.0
        lines += [answered(f"s{n}", "?", "x"), judged(f"s{n}", value, outcome, order=n)]
    folder = write_run(tmp_path / "run", lines, [result("sums", "exact", 0.4, 20)])
    run = RunView(folder, "r", "run")

    for most in (24, 100):
        chosen = choose(run, most)

        assert len(chosen) == 20
        assert [row % 5 < 3 for row in chosen] == [True] * 12 + [False] * 8
    assert [row % 5 < 3 for row in choose(run, 4)] == [True, True, True, False]


def test_the_questions_of_changed_samples_are_in_the_report(tmp_path: Path):
    folders = [sums(tmp_path / "a", right=30), sums(tmp_path / "b", right=20)]

    page = html_report(folders, samples=0)

    held = json.loads(re.search(r'id="assay-data">(.*?)</script>', page, re.DOTALL)[1])
    questions = [row["question"] for row in held["rows-r1-0"]]
    assert questions == [f"What is {n} + {n}?" for n in range(20, 30)]
    assert "samples-r1-0" not in held
