"""`assay export`: the verb; what it writes is tested with the store."""

import csv
import json

import pytest


@pytest.fixture
def run(assay):
    assay("run", "sums.jsonl", "--model", "four.py:generate", "-o", "out")
    return "out"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("csv", "samples.csv"),
        ("parquet", "samples.parquet"),
        ("lm-eval-json", "results.json"),
    ],
)
def test_the_file_is_in_the_run_folder_by_default(assay, folder, run, kind, name):
    said = assay("export", run, "--to", kind)

    assert said.code == 0 and said.out.startswith(f"out/{name}: ")
    assert (folder / "out" / name).stat().st_size > 0


def test_the_output_may_be_named(assay, folder, run):
    assay("export", run, "--to", "csv", "-o", "mine.csv")

    with (folder / "mine.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["id"], r["scorer"], r["value"]) for r in rows[:2]] == [
        ("0", "exact_match", "1.0"),
        ("0", "includes", "1.0"),
    ]


def test_an_lm_eval_file_of_several_models_needs_a_choice(assay, folder):
    assay(
        "run",
        "sums.jsonl",
        "--model",
        "four.py:generate",
        "--model",
        "adder.py:generate",
        "-o",
        "out",
    )

    refused = assay("export", "out", "--to", "lm-eval-json")
    made = assay(
        "export", "out", "--to", "lm-eval-json", "--model", "adder.py:generate"
    )

    assert refused.code == 2 and "--model four.py:generate" in refused.err
    assert made.code == 0
    assert (
        json.loads((folder / "out" / "results.json").read_text())["results"]["sums"][
            "exact_match,none"
        ]
        == 1.0
    )


def test_what_is_not_a_run_is_refused(assay):
    assert assay("export", "nope", "--to", "csv").code == 2


def test_an_unknown_format_is_refused_with_the_known_ones(assay, run):
    said = assay("export", run, "--to", "xlsx")

    assert said.code == 2 and "parquet" in said.err


def test_a_missing_folder_is_reported(assay, run):
    said = assay("export", run, "-o", "no/such/folder/x.csv")

    assert (
        said.code == 2
        and "no/such/folder: there is no such folder" in said.err
        and "Traceback" not in said.err
    )


def test_an_export_is_written_again_and_a_foreign_file_is_not_replaced(
    assay, folder, run
):
    (folder / "mine.csv").write_text("mine")

    first, again = (
        assay("export", run, "-o", "new.csv"),
        assay("export", run, "-o", "new.csv"),
    )
    refused = assay("export", run, "-o", "mine.csv")

    assert first.code == again.code == 0
    assert refused.code == 2 and "mine.csv was not written by assay" in refused.err
    assert (folder / "mine.csv").read_text() == "mine"


def test_an_export_that_its_user_changed_is_not_replaced(assay, folder, run):
    assay("export", run, "-o", "new.csv")
    whole = (folder / "new.csv").read_bytes()
    (folder / "new.csv").write_bytes(whole + b"my remark")

    refused = assay("export", run, "-o", "new.csv")
    kept = (folder / "new.csv").read_bytes()
    (folder / "new.csv").write_bytes(whole)
    as_written, again = (
        assay("export", run, "-o", "new.csv"),
        assay("export", run, "-o", "new.csv"),
    )

    assert (
        refused.code == 2 and "new.csv has changed since assay wrote it" in refused.err
    )
    assert kept == whole + b"my remark"
    assert as_written.code == again.code == 0
