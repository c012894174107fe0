"""Which dialect a file is in, for tasks and for models; and what `@upstream` behind it asks for."""

import threading

import pytest

from assay.core import Output, Sample, Task, UsageError
from assay.dialects import guest
from assay.dialects.recognise import dialect_of, recognise, recognise_model
from assay.models import build_model
from assay.models.scripted import Scripted
from assay.runner.options import RunOptions
from assay.runner.run import run

BOTH = "import testbed.data\nimport ulmeval\n"
NATIVE = "def generate(messages):\n    return 'native'\n"


@pytest.fixture
def seen(monkeypatch):
    """Which dialect was asked for a model, and whether its names hide real packages."""
    asked = []

    class Recorder:
        def __init__(self, name):
            self.name = name

        def model(self, reference, args):
            asked.append((self.name, guest._forced.get()))

        def tasks(self, reference, run):
            return [Task(self.name, dataset=[{"question": "q", "answer": "a"}])]

    monkeypatch.setattr("assay.dialects.recognise._module", Recorder)
    return asked


def test_the_dialect_that_was_asked_for_wins_where_a_model_file_looks_like_several(
    tmp_path, seen
):
    path = tmp_path / "both.py"
    path.write_text(BOTH)

    recognise_model(f"{path}:M", {})
    recognise_model(f"{path}:M", {}, "ulmeval")

    assert seen == [("testbed", None), ("ulmeval", "ulmeval")]


def test_a_model_file_of_no_dialect_is_that_of_the_one_asked_for(tmp_path, seen):
    path = tmp_path / "plain.py"
    path.write_text(NATIVE)

    recognise_model(f"{path}:M", {})
    recognise_model(f"{path}:M", {}, "testbed")

    assert seen == [("testbed", "testbed")]


def test_a_model_file_of_another_dialect_stays_that(tmp_path, seen):
    path = tmp_path / "other.py"
    path.write_text("import vlmeval\n")

    recognise_model(f"{path}:M", {}, "testbed")

    assert seen == [("vlmeval", None)]


def test_an_unknown_dialect_is_reported_for_models_too(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(NATIVE)

    with pytest.raises(
        UsageError, match=r"unknown dialect 'testbad'.*did you mean 'testbed'"
    ):
        build_model(f"{path}:generate", dialect="testbad")


def test_a_model_of_assays_own_kind_works_under_any_dialect(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(NATIVE)

    for dialect in ("pipeline", "televal", "ulmeval"):
        assert build_model(f"{path}:generate", dialect=dialect) is not None


def test_a_dialect_without_an_upstream_protocol_says_so(tmp_path, seen):
    path = tmp_path / "other.py"
    path.write_text("import vlmeval\n")

    with pytest.raises(
        UsageError, match="the vlmeval dialect has no protocol @upstream"
    ):
        recognise(f"{path}@upstream", RunOptions())


def test_a_file_that_no_dialect_claims_is_left_to_others(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(NATIVE)

    assert dialect_of(str(path)) is None
    assert recognise(f"{path}@upstream", RunOptions()) is None


def test_a_scorer_of_the_whole_set_does_not_stop_the_loop(tmp_path):
    class Aside:
        name = "aside"
        thread = None

        def score_all(self, rows: list[tuple[Sample, Output]]) -> dict[str, float]:
            Aside.thread = threading.current_thread()
            return {"n": float(len(rows))}

    task = Task(
        "t", dataset=[{"id": "1", "question": "q", "answer": "a"}], scorers=(Aside(),)
    )

    result = run([task], Scripted("a"), output=str(tmp_path / "run"))

    assert result.results[0].value == 1.0
    assert Aside.thread is not None and Aside.thread is not threading.main_thread()
