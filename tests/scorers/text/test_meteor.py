"""METEOR: what is refused before the run, and how its program is talked to. A small script stands in for Java."""

import stat
import sys

import pytest

from assay.core import MissingExtra, Output, Sample, ScorerError, UsageError
from assay.scorers.text import meteor
from assay.scorers.text.meteor import Meteor

COUNTS = "2.0 2.0 1.0 1.0 1.0 1.0 1.0 1.0" + " 0.0" * 12 + " 1.0 2.0 2.0"
JAVA = f"""#!{sys.executable}
import sys
for line in sys.stdin:
    if line.startswith("SCORE"):
        print({COUNTS!r} if "fail" not in line else "1 2 3", flush=True)
    else:
        print("0.75\\n0.75", flush=True)
"""


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A `java` that answers as METEOR does, and a jar it does not look at."""
    program = tmp_path / "java"
    program.write_text(JAVA)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    jar = tmp_path / "meteor-1.5.jar"
    jar.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    meteor._program.cache_clear()
    yield str(jar)
    meteor._program.cache_clear()


def test_a_caption_gets_the_segment_score_and_its_counts(java):
    score = Meteor(jar=java)(
        Sample(id="a", target=("a dog", "the dog")), Output.of("A dog.")
    )

    assert score.value == 0.75 and score.details["references"] == 2
    assert len(score.details["stats"]) == meteor.SIZE
    assert score.details["stats"][meteor._CHUNKS] == 0.0, (
        "one unbroken piece counts as none in a corpus"
    )


def test_a_sample_without_a_target_is_a_fault_of_the_data(java):
    assert Meteor(jar=java)(Sample(id="a"), Output.of("A dog.")).outcome == "data_error"


def test_a_wrong_number_of_counts_is_an_error(java):
    with pytest.raises(ScorerError, match="METEOR answered 3 numbers instead of 23"):
        Meteor(jar=java)(Sample(id="a", target="fail"), Output.of("a dog"))


def test_a_program_that_ended_is_an_error(java, tmp_path):
    (tmp_path / "java").write_text(f"#!{sys.executable}\n")

    with pytest.raises(ScorerError, match="METEOR ended"):
        Meteor(jar=java)(Sample(id="a", target="a dog"), Output.of("a dog"))


def test_without_java_it_is_refused_before_the_run(monkeypatch):
    monkeypatch.setenv("PATH", "")

    with pytest.raises(
        UsageError, match="needs Java, and there is no `java` on the PATH"
    ):
        Meteor()


def test_a_jar_that_is_not_there_is_named(java, tmp_path):
    with pytest.raises(UsageError, match="there is no METEOR jar"):
        Meteor(jar=str(tmp_path / "other.jar"))


def test_without_the_package_the_pip_line_is_given(java, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match="pip install pycocoevalcap"):
        Meteor()
