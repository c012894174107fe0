"""SPICE: what is refused before the run, and how its program is talked to. A small script stands in for Java."""

import json
import stat
import sys
from pathlib import Path

import pytest

import assay
from assay.core import MissingExtra, Output, Sample, ScorerError, UsageError
from assay.scorers.vision import caption
from assay.scorers.vision.caption import PARSER, Spice

JAVA = f"""#!{sys.executable}
import json, sys
given, out = sys.argv[4], sys.argv[6]
assert sys.argv[2:4] == ["-jar", "spice-1.0.jar"] and sys.argv[5] == "-out"
rows = json.load(open(given))
if rows[0]["test"] == "fail":
    sys.exit("no memory")
scores = [{{"All": {{"f": float(r["test"] in r["refs"])}}, "Color": {{"f": float("nan")}}}} for r in rows]
json.dump([{{"image_id": r["image_id"], "scores": s}} for r, s in zip(rows, scores)], open(out, "w"))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as SPICE's with every jar, and a `java` that answers as it does."""
    program = tmp_path / "java"
    program.write_text(JAVA)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "lib").mkdir()
    for name in (caption.JAR, *(f"lib/{jar}" for jar in PARSER)):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_mean_over_all_captions_leaves_out_kinds_without_statements(
    place: Path,
) -> None:
    rows = [
        (Sample("a", target=("a dog", "the dog")), Output.of("a dog")),
        (Sample("b", target="a cat"), Output.of("a dog")),
        (Sample("c"), Output.of("nothing to compare with")),
    ]

    assert Spice(folder=str(place)).score_all(rows) == {"": 0.5}


def test_a_failing_program_is_reported_with_its_last_line(place: Path) -> None:
    with pytest.raises(ScorerError, match="SPICE ended with code 1: no memory"):
        Spice(folder=str(place)).score_all(
            [(Sample("a", target="x"), Output.of("fail"))]
        )


@pytest.mark.parametrize("name", PARSER)
def test_a_missing_parser_is_named_before_the_run(place: Path, name: str) -> None:
    (place / "lib" / name).unlink()

    with pytest.raises(UsageError, match=f"no parser: {name} missing") as error:
        Spice(folder=str(place))

    assert "stanford-corenlp-full-2015-12-09.zip" in str(error.value)


def test_a_missing_program_and_a_missing_java_are_named(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (place / caption.JAR).unlink()
    with pytest.raises(UsageError, match=r"there is no spice-1\.0\.jar"):
        Spice(folder=str(place))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install pycocoevalcap"):
        Spice()
    monkeypatch.setenv("PATH", str(tmp_path / "lib"))
    with pytest.raises(UsageError, match="needs Java"):
        Spice(folder=str(place))


def test_a_run_reports_the_number_under_the_scorers_name(
    place: Path, tmp_path: Path
) -> None:
    data = tmp_path / "captions.jsonl"
    data.write_text(
        json.dumps({"id": "a", "question": "Describe it.", "answer": ["a dog"]}) + "\n"
    )
    (tmp_path / "out").mkdir()
    task = assay.Task(
        "captions", dataset=data, scorers=({"name": "spice", "folder": str(place)},)
    )

    result = assay.run(
        task,
        "scripted",
        model_args={"answers": "a dog"},
        output=str(tmp_path / "out" / "run"),
    )

    assert [(one.metric, one.value) for one in result] == [("spice", 1.0)]
