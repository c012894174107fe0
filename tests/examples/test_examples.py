"""Every example runs as its first lines say."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from assay.cli.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CHECKED = {
    "bigram.py": ["bigram.py:Bigram"],
    "capitals.py": ["capitals.py"],
    "echo_model.py": ["echo_model.py:generate"],
    "meetings.yaml": ["meetings.yaml"],
    "meetings.jsonl": ["meetings.yaml"],
    "simpleqa_like.py": ["simpleqa_like.py"],
    "gpqa_like.py": ["gpqa_like.py"],
    "ruler_like.py": ["ruler_like.py"],
    "blink_like.py": ["blink_like.py"],
    "mt_bench_101_like.py": ["mt_bench_101_like.py"],
    "arena_like.py": ["arena_like.py"],
    "big_bench_audio_like.py": ["big_bench_audio_like.py"],
    "hle_like.py": ["hle_like.py"],
    "wer_like_scorer.py": ["wer_like_scorer.py:WordErrors", "--as", "scorer"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(
        EXAMPLES,
        tmp_path,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", "runs"),
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def summary_of(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_every_example_has_a_test():
    shipped = {path.name for path in EXAMPLES.iterdir() if path.is_file()}

    assert shipped == set(CHECKED)


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_every_example_passes_check(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    code = main(["check", *CHECKED[name]])

    assert code == 0, capsys.readouterr().err
    assert "no fault found" in capsys.readouterr().out


def test_capitals_counts_the_named_city_and_breaks_down_by_continent(folder: Path):
    code = main(
        [
            "run",
            "capitals.py",
            "--model",
            "scripted",
            "-a",
            "answers=It is Lima.",
            "-o",
            "run",
        ]
    )

    (row,) = summary_of(folder / "run")["results"]
    assert code == 0
    assert (row["value"], row["n"]) == (0.25, 4)
    assert row["groups"]["continent"]["America"]["value"] == 1.0


def test_meetings_are_read_from_the_file_beside_the_yaml(folder: Path):
    code = main(
        [
            "run",
            "meetings.yaml",
            "--model",
            "scripted",
            "-a",
            "answers=Ann",
            "-o",
            "run",
        ]
    )

    values = {
        row["metric"]: row["value"] for row in summary_of(folder / "run")["results"]
    }
    assert code == 0
    assert values == {"exact_match": 0.5, "includes": 0.5}


def test_the_echo_model_takes_its_option_from_the_command_line(folder: Path):
    code = main(
        [
            "run",
            "meetings.yaml",
            "--model",
            "echo_model.py:generate",
            "-a",
            "times=2",
            "-o",
            "run",
        ]
    )

    lines = [
        json.loads(line)
        for line in (folder / "run" / "records.jsonl").read_text().splitlines()
    ]
    answer = next(
        line["output"]["candidates"][0]["text"]
        for line in lines
        if line["kind"] == "output"
    )
    assert code == 0
    assert answer.count("Who spoke last?") == 2


def test_the_word_error_scorer_counts_what_it_should(folder: Path):
    words = {"question": "Repeat: the cat sat down", "answer": "the cat sat down"}
    (folder / "spoken.jsonl").write_text(
        json.dumps(words) + "\n" + json.dumps(words) + "\n"
    )

    code = main(
        [
            "run",
            "spoken.jsonl",
            "--model",
            "scripted",
            "-a",
            "answers=the hat sat",
            "--scorer",
            "wer_like_scorer.py:WordErrors",
            "-o",
            "run",
        ]
    )

    (row,) = summary_of(folder / "run")["results"]
    assert code == 0
    assert (row["value"], row["higher_is_better"]) == (0.5, False)


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("a b c", "a b c", 0),
        ("a b c", "", 3),
        ("", "a b", 2),
        ("a b c d", "a x c", 2),
        ("a b", "b a", 2),
    ],
)
def test_the_distance_of_words_is_the_smallest_number_of_edits(
    one: str, other: str, errors: int
):
    spec = importlib.util.spec_from_file_location(
        "wer_like_scorer", EXAMPLES / "wer_like_scorer.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.distance(one.split(), other.split()) == errors
