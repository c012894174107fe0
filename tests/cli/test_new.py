"""`assay new`: what it writes passes `assay check` and stays small."""

import pytest


@pytest.mark.parametrize(
    ("kind", "most_lines"), [("benchmark", 10), ("model", 6), ("scorer", 6)]
)
def test_a_new_file_is_small_and_passes_its_check(assay, folder, kind, most_lines):
    made = assay("new", kind, "mine", "--dir", "sub")

    assert made.code == 0 and "assay check sub/mine.py" in made.out
    assert len((folder / "sub" / "mine.py").read_text().splitlines()) <= most_lines
    assert assay("check", "sub/mine.py").code == 0


def test_a_new_benchmark_runs_on_a_new_model_with_a_new_scorer(assay):
    for kind in ("benchmark", "model", "scorer"):
        assay("new", kind, f"my_{kind}")

    given = ("--model", "my_model.py:generate", "--scorer", "my_scorer.py:score")
    said = assay("run", "my_benchmark.py", *given, "--json")

    assert said.code == 0 and said.json["results"][0]["metric"] == "score"


def test_nothing_is_overwritten(assay, folder):
    (folder / "mine.py").write_text("precious")

    said = assay("new", "model", "mine")

    assert said.code == 2 and "this file exists already" in said.err
    assert (folder / "mine.py").read_text() == "precious"


@pytest.mark.parametrize("name", ["../mine", "a b", "", "1st"])
def test_a_name_that_is_not_a_file_name_is_refused(assay, name):
    assert assay("new", "model", name).code == 2


def test_an_unknown_kind_is_refused(assay):
    said = assay("new", "modell", "mine")

    assert said.code == 2 and "benchmark" in said.err
