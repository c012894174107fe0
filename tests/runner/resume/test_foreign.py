"""Run folders of another user run no code that the command does not name."""

import json
import os
import shutil
from pathlib import Path

import pytest

import assay
from assay.cli.main import main

EVIL = "import pathlib\npathlib.Path({mark!r}).write_text('ran')\n"
SCORER = "def score(sample, output):\n    return 1.0\n"
MODEL = "def generate(text):\n    return '4'\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(
        '{"id": "1", "question": "2+2?", "answer": "4"}\n'
    )
    (tmp_path / "mine.py").write_text(SCORER)
    (tmp_path / "model.py").write_text(MODEL)
    evil = EVIL.format(mark=str(tmp_path / "ran"))
    (tmp_path / "evil.py").write_text(
        evil
        + SCORER
        + MODEL
        + "def prompt(sample):\n    return 'x'\ndataset = [{'question': 'a', 'answer': 'b'}]\n"
        "class Answers:\n    def answer(self, request):\n        return 1\n"
    )
    (tmp_path / "evil.yaml").write_text("dataset: rows.jsonl\nscorers: evil.py:score\n")
    (tmp_path / "guest").mkdir()
    return tmp_path


def run(*arguments: str) -> int:
    return main(
        [
            "run",
            "rows.jsonl",
            "--model",
            "scripted",
            "-a",
            "answers=4",
            "-o",
            "runs/a",
            *arguments,
        ]
    )


def edited(folder: Path, **config: object) -> None:
    file = folder / "run.json"
    plain = json.loads(file.read_text())
    plain["config"].update(config)
    file.write_text(json.dumps(plain))


def unsigned(folder: Path) -> None:
    file = folder / "run.json"
    plain = json.loads(file.read_text())
    plain.pop("mac")
    file.write_text(json.dumps(plain))


ASKS = {
    "scorer": {"scorers": ["evil.py:score"]},
    "scorer in full": {"scorers": ["{place}/evil.py:score"]},
    "task": {"tasks": ["evil.py"]},
    "task attribute": {"tasks": ["evil.py:dataset"]},
    "yaml task": {"tasks": ["evil.yaml"]},
    "template": {"template": "evil.py:prompt"},
    "judge": {"judges": {"judge": "evil.py:generate"}, "scorers": ["judge"]},
    "worker": {"judges": {"judge": "worker/evil.py:Answers"}, "scorers": ["judge"]},
    "register": {"register": ["evil.py"], "dialect": "vlmeval"},
    "trust": {"trust_code": True, "scorers": ["evil.py:score"]},
    "pickle": {"trust_pickle": True},
    "remote code": {"trust_remote_code": True},
    "media": {"media_root": "/"},
    "key": {
        "judges": {"judge": "openai/x"},
        "judge_args": {"base_url": "http://127.0.0.1:9/v1"},
    },
    "environment": {
        "judges": {"judge": "openai/x"},
        "judge_args": {"headers": {"x": "${env:HOME}"}},
    },
}


@pytest.mark.parametrize("asks", ASKS)
def test_scoring_a_foreign_folder_runs_nothing_it_names(asks, place, capsys):
    assert run() == 0
    config = json.loads(json.dumps(ASKS[asks]).replace("{place}", str(place)))
    edited(place / "runs/a", **config)

    code = main(["score", "runs/a"])

    error = capsys.readouterr().err
    assert not (place / "ran").exists()
    assert code == 2 and "--trust_code" in error and "Traceback" not in error


@pytest.mark.parametrize("dry", [(), ("--dry_run",)])
@pytest.mark.parametrize(
    "asks",
    [
        *ASKS.values(),
        {"models": ["evil.py:generate"]},
        {"model_args": {"base_url": "http://127.0.0.1:9/v1"}},
    ],
)
def test_repeating_a_foreign_run_runs_nothing_it_names(asks, dry, place, capsys):
    assert run() == 0
    edited(
        place / "runs/a", **json.loads(json.dumps(asks).replace("{place}", str(place)))
    )

    code = main(["run", "--config", "runs/a/run.json", "-o", "runs/b", *dry])

    assert not (place / "ran").exists()
    assert code == 2 and "--trust_code" in capsys.readouterr().err
    assert not (place / "runs/b").exists()


@pytest.mark.parametrize("name", ["run.json", "."])
def test_a_plain_config_in_place_of_a_manifest_is_foreign_too(name, place):
    (place / "got").mkdir()
    (place / "got/run.json").write_text(
        json.dumps({"tasks": ["evil.py"], "models": ["scripted"], "trust_code": True})
    )

    assert main(["run", "--config", f"got/{name}", "-o", "runs/b"]) == 2
    assert not (place / "ran").exists()


def test_agreeing_runs_it_once_and_for_all(place):
    assert run() == 0
    edited(place / "runs/a", scorers=["evil.py:score"])

    assert main(["score", "runs/a", "--trust_code"]) == 0
    assert (place / "ran").exists()
    assert main(["score", "runs/a"]) == 0


def test_own_runs_need_no_flag_wherever_they_are_moved(place, monkeypatch):
    assert (
        main(
            [
                "run",
                "rows.jsonl",
                "--model",
                "model.py:generate",
                "--scorer",
                "mine.py:score",
                "-o",
                "runs/a",
            ]
        )
        == 0
    )
    shutil.move("runs/a", "elsewhere")
    (place / "deeper").mkdir()
    monkeypatch.chdir(place / "deeper")

    assert main(["score", "../elsewhere"]) == 0
    assert main(["score", "../elsewhere"]) == 0
    assert main(["run", "--config", "../elsewhere/run.json", "-o", "../again"]) == 0


def test_a_scorer_that_changed_since_is_run_as_it_is_now(place):
    assert run("--scorer", "mine.py:score") == 0
    (place / "mine.py").write_text(SCORER.replace("1.0", "0.0"))

    assert assay.score("runs/a").results[0].value == 0.0


def test_naming_the_scorer_is_agreeing_to_it(place):
    assert run() == 0
    unsigned(place / "runs/a")

    assert main(["score", "runs/a", "--scorer", "mine.py:score"]) == 0


def test_naming_one_file_does_not_name_its_neighbour(place):
    assert run() == 0
    edited(place / "runs/a", template="evil.py:prompt")

    assert main(["score", "runs/a", "--scorer", "mine.py:score"]) == 2
    assert not (place / "ran").exists()


def test_scoring_a_foreign_folder_does_not_make_it_ones_own(place):
    assert run() == 0
    edited(place / "runs/a", template="{{ question }}")
    assert main(["score", "runs/a", "--scorer", "includes"]) == 0

    edited(place / "runs/a", scorers=["evil.py:score"])
    assert main(["score", "runs/a", "--scorer", "includes"]) == 0
    assert main(["score", "runs/a"]) == 2
    assert not (place / "ran").exists()


def test_a_foreign_run_of_shipped_parts_needs_no_flag(place):
    assert run("--scorer", "includes") == 0
    unsigned(place / "runs/a")

    assert main(["score", "runs/a"]) == 0
    assert main(["run", "--config", "runs/a/run.json", "-o", "runs/b"]) == 0


def test_looking_at_a_foreign_folder_runs_nothing(place, capsys):
    assert run() == 0
    evil = ["evil.py"]
    edited(
        place / "runs/a",
        scorers=["evil.py:score"],
        tasks=evil,
        models=["evil.py:generate"],
        register=evil,
    )

    for command in (
        ["show", "runs/a"],
        ["export", "runs/a", "--to", "csv"],
        ["doctor", "--scan_logs", "runs/a"],
    ):
        main(command)
    run("--baseline", "runs/a")

    assert not (place / "ran").exists()


def test_the_error_names_the_run_the_code_and_the_fix(place, capsys):
    assert run() == 0
    unsigned(place / "runs/a")
    edited(place / "runs/a", scorers=["evil.py:score"])

    main(["score", "runs/a"])

    assert (
        f"runs/a: this run asks for code, {os.path.realpath('evil.py')}, and it was not made by you, or before runs "
        "were signed; fix: name the file on the command line, or agree to what its run.json asks for: --trust_code"
    ) in capsys.readouterr().err


def test_trust_is_never_kept(place):
    assert run("--trust_code") == 0

    assert (
        "trust_code"
        not in json.loads((place / "runs/a/run.json").read_text())["config"]
    )


def test_from_python_settings_count_as_naming(place):
    assert run() == 0
    unsigned(place / "runs/a")

    assert assay.score("runs/a", scorers=("mine.py:score",)).results[0].value == 1.0
    edited(place / "runs/a", scorers=["evil.py:score"])
    with pytest.raises(assay.AssayError, match="--trust_code"):
        assay.score("runs/a")
    assert not (place / "ran").exists()
