"""Moved rows, other names: what was answered is not asked again under a new id, or of a file spelled otherwise."""

import shutil
from pathlib import Path
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, DiskFull, Output
from assay.runner.options import RunOptions
from assay.store import RunReader
from assay.store.index import Index

MODEL = """
import os
def generate(messages):
    with open(os.environ["CALL_LOG"], "a") as log:
        log.write("asked\\n")
    return messages[-1]["content"].split()[-1]
def judge(messages):
    with open(os.environ["JUDGE_LOG"], "a") as log:
        log.write("asked\\n")
    return '{"score": 1}'
"""


class Killed(BaseException):
    """Ends the process, as far as the run can tell."""


class Echo:
    """Answers with the last word; dies when it is asked for the `last`-th time."""

    identity: ClassVar = {"echo": 1}
    abilities = Abilities()

    def __init__(self, last=None):
        self.asked = []
        self.last = last

    def generate(self, requests):
        if len(self.asked) == self.last:
            raise Killed
        self.asked += [request.messages[-1].text for request in requests]
        return [
            Output.of(request.messages[-1].text.split()[-1]) for request in requests
        ]


def make_rows(*numbers, turns=()):
    """Rows without ids: each is known by its place."""
    return [
        {
            "question": f"say {n}",
            "answer": turns[-1].split()[-1] if turns else str(n),
            "turns": list(turns),
        }
        for n in numbers
    ]


def to_sample(row, number):
    return assay.Sample(
        str(number),
        row["question"],
        row["answer"],
        fields=row,
        turns=tuple(row["turns"]),
    )


def run(folder: Path, model, rows, **settings):
    samples = [to_sample(row, number) for number, row in enumerate(rows)]
    task = assay.Task("t", dataset=samples, scorers="exact_match")
    settings = {
        "generation": {"temperature": 0},
        "output": str(folder / "run"),
        "batch_size": 1,
        **settings,
    }
    return assay.run(task, model, **settings)


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "log.py").write_text(MODEL)
    (tmp_path / "two.jsonl").write_text(
        "".join(f'{{"question": "say {n}", "answer": "{n}"}}\n' for n in (1, 2))
    )
    (tmp_path / "below").mkdir()
    monkeypatch.setenv("CALL_LOG", str(tmp_path / "calls"))
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "judged"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def count(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_a_row_put_on_top_is_the_only_one_asked(tmp_path):
    run(tmp_path, Echo(), make_rows(*range(1, 11)))
    model = Echo()

    result = run(tmp_path, model, make_rows(0, *range(1, 11)))

    assert model.asked == ["say 0"]
    assert (result.results[0].value, result.results[0].n) == (1.0, 11)
    assert {
        record.id: record.output["candidates"][0]["text"]
        for record in RunReader(tmp_path / "run").outputs()
    } == {str(n): str(n) for n in range(11)}


def test_a_copied_answer_says_where_it_came_from(tmp_path):
    run(tmp_path, Echo(), make_rows(1))

    run(tmp_path, Echo(), make_rows(0, 1))

    records = {record.id: record for record in RunReader(tmp_path / "run").outputs()}
    assert records["1"].details["copied_from"] == {"model": "Echo", "id": "0"}
    assert "copied_from" not in records["0"].details
    assert records["1"].target == "1"


@pytest.mark.parametrize("last", range(1, 3))
def test_a_kill_after_rows_moved_loses_none_of_their_answers(tmp_path, last):
    run(tmp_path, Echo(), make_rows(5, 6, 7, 8))
    rows = make_rows(1, 2, 3, 5, 6, 7, 8)
    before = Echo(last)
    with pytest.raises(Killed):
        run(tmp_path, before, rows)
    after = Echo()

    result = run(tmp_path, after, rows)

    assert sorted(before.asked + after.asked) == ["say 1", "say 2", "say 3"]
    assert result.results[0].value == 1.0


def test_an_interruption_after_rows_changed_leaves_their_keys_to_be_checked(tmp_path):
    run(tmp_path, Echo(), make_rows(1, 2, 3))
    with pytest.raises(Killed):
        run(tmp_path, Echo(0), make_rows(4, 5, 6))
    model = Echo()

    result = run(tmp_path, model, make_rows(4, 5, 6))

    assert model.asked == ["say 4", "say 5", "say 6"]
    assert result.results[0].value == 1.0


def test_a_row_that_changed_before_scoring_again_is_still_asked_by_the_next_run(
    project,
):
    assay.run("two.jsonl", "log.py:generate", output="run")
    Path("two.jsonl").write_text(
        '{"question": "say 1", "answer": "1"}\n{"question": "say 3", "answer": "3"}\n'
    )
    assay.score("run")

    result = assay.run("two.jsonl", "log.py:generate", output="run")

    assert count(project / "calls") == 3
    assert result.results[0].value == 1.0


def test_every_round_of_a_moved_dialogue_is_known(tmp_path):
    run(tmp_path, Echo(), make_rows(1, 2, turns=("and a", "and b")))
    model = Echo()

    result = run(tmp_path, model, make_rows(3, 1, 2, turns=("and a", "and b")))

    assert model.asked == ["say 3", "and a", "and b"]
    assert result.results[0].value == 1.0


def test_what_is_drawn_belongs_to_its_sample_and_is_drawn_anew(tmp_path):
    run(tmp_path, Echo(), make_rows(1), generation={"temperature": 1.0})
    model = Echo()

    run(tmp_path, model, make_rows(0, 1), generation={"temperature": 1.0})

    assert model.asked == ["say 0", "say 1"]


def test_nothing_is_looked_up_by_key_where_every_id_is_known(tmp_path, monkeypatch):
    run(tmp_path, Echo(), make_rows(1, 2))
    (tmp_path / "run" / "summary.json").unlink()
    monkeypatch.setattr(
        Index, "by_key", lambda index, task: pytest.fail("looked up by key")
    )

    assert run(tmp_path, Echo(), make_rows(1, 2)).results[0].n == 2


@pytest.mark.parametrize(
    "typed",
    [
        "log.py:generate",
        "./log.py:generate",
        "below/../log.py:generate",
        "{}/log.py:generate",
    ],
)
def test_a_model_file_has_one_name_however_it_is_typed(project, typed):
    assay.run("two.jsonl", "log.py:generate", output="run")

    result = assay.run("two.jsonl", typed.format(project), output="run")

    assert result.results[0].model == "log.py:generate"
    assert count(project / "calls") == 2
    assert list(RunReader("run").index.cells) == [("two", "log.py:generate")]


def test_a_run_repeated_from_its_manifest_asks_nothing(project):
    assay.run("two.jsonl", "log.py:generate", output="run")

    config = RunReader("run").manifest["config"]
    assay.run(options=RunOptions.from_plain(config, where="run.json").but(output="run"))

    assert count(project / "calls") == 2
    assert list(RunReader("run").index.cells) == [("two", "log.py:generate")]


def test_from_another_folder_nothing_is_asked_again(project, monkeypatch):
    assay.run("two.jsonl", "log.py:generate", output="run")
    monkeypatch.chdir(project / "below")

    result = assay.run("../two.jsonl", "../log.py:generate", output="../run")

    assert (result.results[0].value, result.results[0].n) == (1.0, 2)
    assert count(project / "calls") == 2


@pytest.mark.parametrize("folder", [".", "below"])
def test_scoring_a_judged_run_again_asks_the_judge_nothing(
    project, monkeypatch, folder
):
    assay.run(
        "two.jsonl",
        "log.py:generate",
        scorers=("judge",),
        judges={"judge": "log.py:judge"},
        output="run",
    )
    before = count(project / "judged")
    monkeypatch.chdir(project / folder)

    assay.score(project / "run")

    assert count(project / "judged") == before > 2


@pytest.mark.parametrize(
    "lose",
    [lambda run: run.rename("elsewhere"), shutil.rmtree],
    ids=["moved", "removed"],
)
def test_a_run_folder_that_goes_away_meanwhile_is_one_line(project, lose):
    class Losing(Echo):
        def generate(self, requests):
            if len(self.asked) == 1:
                lose(Path("run"))
            return super().generate(requests)

    with pytest.raises(
        DiskFull, match=r"^run: the run folder was moved or removed while the run wrote"
    ) as caught:
        run(Path(), Losing(), make_rows(1, 2, 3))

    assert caught.value.exit_code == 74


def test_a_run_folder_that_was_moved_meanwhile_continues_in_its_new_place(project):
    class Losing(Echo):
        def generate(self, requests):
            if len(self.asked) == 1:
                Path("run").rename("elsewhere")
            return super().generate(requests)

    with pytest.raises(DiskFull):
        run(Path(), Losing(), make_rows(1, 2, 3))
    model = Echo()

    result = run(Path(), model, make_rows(1, 2, 3), output="elsewhere")

    assert (model.asked, result.results[0].value) == ([], 1.0)
