"""Scorers of one name: both work, and table, journal, export and digests tell them apart."""

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

import assay
from assay.core import Result, UsageError
from assay.runner.plan.labels import with_unique_metrics, with_unique_names
from assay.store import RunReader
from assay.store.export import write_csv

ROWS = [{"id": "1", "question": "say it", "answer": "Hello, world!"}]


def greet(messages):
    return "hello world"


def shout(messages):
    return "HELLO, WORLD!"


@dataclass(frozen=True)
class Longer:
    """1 for an answer of more letters than `than`."""

    than: int = 5

    def __call__(self, sample, output):
        return float(len(output.text) > self.than)


def run(folder: Path, model, *scorers):
    task = assay.Task("t", dataset=ROWS, scorers=scorers)
    return {
        result.metric: result.value
        for result in assay.run(task, model, output=str(folder / "run")).results
    }


def scorer_file(folder: Path, name: str, value: float) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"def score(sample, output):\n    return {value}\n")
    return f"{path}:score"


def test_one_scorer_with_two_sets_of_options_gives_two_numbers(tmp_path):
    values = run(
        tmp_path,
        greet,
        {"name": "wer", "normalize": "none"},
        {"name": "wer", "normalize": "whisper-en"},
    )

    assert (values["wer[none]"], values["wer[whisper-en]"]) == (1.0, 0.0)
    assert RunReader(tmp_path / "run").scorers("t", "greet") == [
        "wer(normalize=none)",
        "wer(normalize=whisper-en)",
    ]


def test_the_one_without_options_keeps_its_plain_name(tmp_path):
    values = run(
        tmp_path, shout, "exact_match", {"name": "exact_match", "ignore_case": True}
    )

    assert values == {"exact_match": 0.0, "exact_match(ignore_case=true)": 1.0}


def test_functions_of_two_files_are_named_by_their_files(tmp_path):
    values = run(
        tmp_path,
        greet,
        scorer_file(tmp_path, "a1.py", 0),
        scorer_file(tmp_path, "b1.py", 1),
    )

    assert values == {"a1.py:score": 0.0, "b1.py:score": 1.0}


def test_files_of_one_name_are_named_with_as_much_of_their_folders_as_it_takes(
    tmp_path,
):
    values = run(
        tmp_path,
        greet,
        scorer_file(tmp_path, "x/s.py", 0),
        scorer_file(tmp_path, "y/s.py", 1),
    )

    assert values == {"x/s.py:score": 0.0, "y/s.py:score": 1.0}


def test_a_users_function_named_like_a_shipped_scorer_is_named_by_its_file(tmp_path):
    (tmp_path / "own.py").write_text(
        "def exact_match(sample, output):\n    return 0.5\n"
    )

    values = run(tmp_path, greet, "exact_match", f"{tmp_path / 'own.py'}:exact_match")

    assert values == {"exact_match": 0.0, "own.py:exact_match": 0.5}


def test_objects_of_one_class_are_named_by_the_fields_that_differ(tmp_path):
    values = run(tmp_path, greet, Longer(5), Longer(50))

    assert values == {"Longer(than=5)": 1.0, "Longer(than=50)": 0.0}


def test_what_differs_in_nothing_that_can_be_named_is_numbered():
    scorers = [lambda sample, output: 0.0, lambda sample, output: 1.0]

    named = with_unique_names(
        scorers, [("<lambda>", scorer) for scorer in scorers], "task 't'", []
    )

    assert named == [("<lambda>", scorers[0]), ("<lambda>#2", scorers[1])]


def test_a_label_names_a_scorer_of_a_file_too(tmp_path):
    values = run(
        tmp_path, greet, {"name": scorer_file(tmp_path, "a1.py", 0), "label": "strict"}
    )

    assert values == {"strict": 0.0}


@pytest.mark.parametrize(
    "scorers",
    [
        ("exact_match", "exact_match"),
        ("exact_match", "Exact-Match"),
        ("exact_match", {"name": "exact_match", "ignore_case": False}),
        (Longer(5), Longer(5)),
        (greet, greet),
    ],
)
def test_the_same_scorer_with_the_same_options_twice_is_refused_before_the_run(
    tmp_path, scorers
):
    with pytest.raises(
        UsageError, match="is named twice with the same options; fix: name it once"
    ):
        run(tmp_path, greet, *scorers)

    assert not (tmp_path / "run").exists()


def test_the_export_and_the_manifest_tell_them_apart(tmp_path):
    run(tmp_path, shout, "exact_match", {"name": "exact_match", "ignore_case": True})
    reader = RunReader(tmp_path / "run")

    write_csv(reader, tmp_path / "out.csv")

    rows = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    assert {row["scorer"]: row["value"] for row in rows} == {
        "exact_match": "0.0",
        "exact_match(ignore_case=true)": "1.0",
    }
    assert len(set(reader.manifest["cells"][0]["scorers"].values())) == 2


def test_both_are_known_again_and_nothing_is_scored_twice(tmp_path):
    scorers = ("exact_match", {"name": "exact_match", "ignore_case": True})
    first = run(tmp_path, shout, *scorers)
    (tmp_path / "run" / "summary.json").unlink()
    before = (tmp_path / "run" / "records.jsonl").read_bytes()

    again = run(tmp_path, shout, *scorers)

    assert again == first
    assert (tmp_path / "run" / "records.jsonl").read_bytes() == before


def test_a_metric_that_two_scorers_share_is_followed_by_the_name_of_the_second():
    before = [Result("t", "m", "auroc", 0.5, 8, 8)]

    found = with_unique_metrics(
        [Result("t", "m", "auroc", 0.7, 8, 8), Result("t", "m", "mean", 1.0, 8, 8)],
        before,
        "p(x=2)",
    )

    assert [result.metric for result in found] == ["auroc (p(x=2))", "mean"]
