"""Drivers whose model is asked in replicas: the same answers, shared out evenly, whoever dies."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from replica_files import calls_of, keys_of, lines_of, make_model, values_of

import assay
from assay.core import Message, ModelError, Prompt, Request, Sample
from assay.runner.ask.executors.shared_work import StandingShares
from assay.runner.ask.work import Job, JobQueue

COUNT = 24


def say(text: str) -> Prompt:
    return Prompt((Message.of("user", text),))


def two_rounds(engine):
    """The second prompts are made of the first answers; one sample is asked two things at once."""
    ids = [f"s{n}" for n in range(COUNT)]
    first = engine.generate([say(id) for id in ids], ids=ids)
    second = engine.generate(
        [say(f"why {output.text}?") for output in first], ids=["s0", *ids[:-1]]
    )
    return {"answered": sum(output.error is None for output in [*first, *second])}


def one_by_one(engine):
    """Threads that ask one thing each."""
    with ThreadPoolExecutor(6) as threads:
        outputs = list(
            threads.map(
                lambda n: engine.generate([say(str(n))], ids=[f"s{n}"])[0], range(COUNT)
            )
        )
    return {"answered": sum(output.error is None for output in outputs)}


def run(folder: Path, cls: str, driver, *, fate: dict | None = None, **settings):
    model = make_model(folder, **(fate or {}))
    driven = assay.Task("t", dataset=[{"id": "a", "question": "q"}], driver=driver)
    return assay.run(driven, f"{model}:{cls}", output=str(folder / "run"), **settings)


@pytest.mark.parametrize(
    "cls", ["Batches", pytest.param("Asynchronous", marks=pytest.mark.costly)]
)
@pytest.mark.parametrize("driver", [two_rounds, one_by_one], ids=["rounds", "threads"])
def test_a_driver_gets_the_same_answers_with_and_without_replicas(
    tmp_path: Path, cls: str, driver
):
    alone = run(tmp_path / "none", cls, driver)

    result = run(tmp_path / "two", cls, driver, replicas=2)

    assert result.status == "complete" and values_of(result) == values_of(alone)
    assert keys_of(tmp_path / "two" / "run") == keys_of(tmp_path / "none" / "run")
    assert sorted(calls_of(tmp_path / "two", "end")) == sorted(
        calls_of(tmp_path / "none", "end")
    )


def test_a_replica_that_dies_in_the_middle_of_a_drivers_call_loses_nothing(
    tmp_path: Path,
):
    undisturbed = run(tmp_path / "clean", "Batches", two_rounds)

    result = run(
        tmp_path / "killed",
        "Batches",
        two_rounds,
        fate={"at": "s13.1", "how": "kill"},
        replicas=2,
    )

    assert (tmp_path / "killed" / "met").exists()
    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")
    assert (
        len(calls_of(tmp_path / "killed", "end"))
        == len(lines_of(tmp_path / "killed" / "run"))
        == 2 * COUNT
    )


def test_replicas_that_cannot_be_loaded_end_the_driver_with_one_line(tmp_path: Path):
    (tmp_path / "model.py").write_text(
        "class M:\n    def __init__(self):\n        raise OSError('no weights')\n"
        "    def generate(self, messages):\n        return 'x'\n"
    )
    driven = assay.Task("t", dataset=[{"id": "a", "question": "q"}], driver=two_rounds)

    with pytest.raises(ModelError, match=r"replica 1 of model .*no weights") as caught:
        assay.run(
            driven, f"{tmp_path}/model.py:M", output=str(tmp_path / "run"), replicas=1
        )

    assert "\n" not in str(caught.value)


def test_a_spent_error_budget_ends_a_driver_with_replicas(tmp_path: Path):
    (tmp_path / "model.py").write_text(
        "def generate(messages):\n    raise ValueError('no')\n"
    )
    driven = assay.Task("t", dataset=[{"id": "a", "question": "q"}], driver=two_rounds)

    result = assay.run(
        driven,
        f"{tmp_path}/model.py:generate",
        output=str(tmp_path / "run"),
        replicas=2,
        on_error="3",
    )

    assert (
        result.status == "failed"
        and "infrastructure errors, the first: exception" in result.notes[0]
    )


def test_an_interrupted_driver_keeps_answers_of_its_replicas_and_continues(
    tmp_path: Path,
):
    model = make_model(tmp_path / "m")
    (tmp_path / "go.py").write_text(
        "import os, signal, sys\nimport assay\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_replicas_driven import say\n"
        "from assay.runner.events import Silent\n"
        "def driver(engine):\n"
        "    return {'n': len(engine.generate([say(str(n)) for n in range(400)], ids=[f's{n}' for n in range(400)]))}\n"
        "class Stopping(Silent):\n"
        "    def start(self, cells):\n        self.cells = cells\n"
        "    def update(self):\n"
        "        if 8 < self.cells[0].done < 400 and not self.lines and sys.argv[1] == 'stop':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "task = assay.Task('t', dataset=[{'id': 'a', 'question': 'q'}], driver=driver)\n"
        f"result = assay.run(task, {model + ':Batches'!r}, output={str(tmp_path / 'run')!r}, replicas=2,"
        " watcher=Stopping())\n"
        "print(result.status)\n"
    )

    def go(how: str) -> str:
        command = [sys.executable, str(tmp_path / "go.py"), how]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout

    assert go("stop") == "interrupted\n"
    kept = {id for id, _, _ in lines_of(tmp_path / "run")}
    assert (
        kept == {name.split(".")[0] for name in calls_of(tmp_path / "m", "end")}
        and 0 < len(kept) < 400
    )
    assert go("on") == "complete\n"
    assert (
        len(calls_of(tmp_path / "m", "end")) == len(lines_of(tmp_path / "run")) == 400
    )


def jobs(count: int) -> list[Job]:
    return [
        Job(Sample(f"s{n}"), Request(say(str(n)), key=str(n))) for n in range(count)
    ]


def shares(count: int) -> StandingShares:
    queue = JobQueue()
    work = StandingShares(queue, is_behind=queue.is_empty)
    work.open(1)
    work.open(2)
    queue.extend(jobs(count))
    return work


def test_what_a_call_asks_for_is_shared_out_evenly_and_a_busy_replica_leaves_the_rest_to_idle_ones():
    work = shares(20)

    first = work.take_for(1, 64)
    more = work.take_for(1, 64)
    second = work.take_for(2, 64)

    assert (len(first), more, len(second)) == (10, [], 10)


def test_large_calls_are_taken_batch_after_batch():
    work = shares(20)

    assert [len(work.take_for(replica, 4)) for replica in (1, 2, 1, 2, 1)] == [
        4,
        4,
        4,
        4,
        4,
    ]
