"""Replicas as processes of this machine give the same results, whichever of them answers or dies."""

import asyncio
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from fault_counts import COUNTS, drawn
from replica_files import (
    COUNT,
    calls_of,
    keys_of,
    lines_of,
    make_model,
    task,
    values_of,
)

import assay
from assay.core import AssayError, ModelError, UsageError
from assay.report.progress import _note
from assay.runner.ask.executors.processes import Processes, shares
from assay.runner.events import Silent, TaskProgress
from assay.runner.options import RunOptions


def run(
    folder: Path,
    cls: str,
    *,
    turns: int = 0,
    count: int = COUNT,
    fate: dict | None = None,
    **settings,
):
    """Runs in `folder`, which holds the model with its log and the run."""
    model = make_model(folder, **(fate or {}))
    return assay.run(
        task(turns, count), f"{model}:{cls}", output=str(folder / "run"), **settings
    )


@pytest.mark.parametrize(
    "cls", ["Batches", pytest.param("Asynchronous", marks=pytest.mark.costly)]
)
@pytest.mark.parametrize("turns", [0, 1], ids=["questions", "dialogues"])
def test_results_do_not_depend_on_the_number_of_replicas(
    tmp_path: Path, cls: str, turns: int
):
    alone = run(tmp_path / "none", cls, turns=turns)
    spread = {
        n: run(tmp_path / str(n), cls, turns=turns, replicas=n)
        for n in ((1, 3) if not turns else (2,))
    }

    for n, result in spread.items():
        assert result.status == "complete"
        assert values_of(result) == values_of(alone)
        assert keys_of(tmp_path / str(n) / "run") == keys_of(tmp_path / "none" / "run")
        assert len(lines_of(tmp_path / str(n) / "run")) == COUNT * (turns + 1)
        assert sorted(calls_of(tmp_path / str(n), "begin")) == sorted(
            calls_of(tmp_path / "none", "begin")
        )


PLACES = [
    *(
        (0, f"s{n}.1")
        for n in drawn("replicas", range(4, COUNT - 4), COUNTS.kills_of_replicas)
    ),
    *(
        (2, f"s{n}.2")
        for n in drawn("dialogues", range(4, COUNT - 4), COUNTS.kills_of_replicas)
    ),
]


@pytest.mark.faults
@pytest.mark.parametrize(
    "cls", ["Batches", pytest.param("Asynchronous", marks=pytest.mark.costly)]
)
@pytest.mark.parametrize(("turns", "at"), PLACES)
def test_a_killed_replica_loses_nothing_and_nothing_finished_is_asked_again(
    tmp_path: Path, cls: str, turns: int, at: str
):
    undisturbed = run(tmp_path / "clean", cls, turns=turns)

    result = run(
        tmp_path / "killed",
        cls,
        turns=turns,
        fate={"at": at, "how": "kill"},
        replicas=2,
    )

    assert (tmp_path / "killed" / "met").exists()
    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")
    written = lines_of(tmp_path / "killed" / "run")
    assert len(written) == len(set(written)) == COUNT * (turns + 1)
    finished = calls_of(tmp_path / "killed", "end")
    assert len(finished) == len(set(finished)) == COUNT * (turns + 1)
    repeated = len(calls_of(tmp_path / "killed", "begin")) - len(finished)
    assert (
        1 <= repeated <= 4
    )  # what was in flight there: a batch, or as many as are asked at once
    assert any("replica" in note and "SIGKILL" in note for note in result.notes)


def test_a_dialogue_whose_memory_died_starts_again_whole_on_one_replica(tmp_path: Path):
    undisturbed = run(tmp_path / "clean", "Remembering", turns=2)

    result = run(
        tmp_path / "killed",
        "Remembering",
        turns=2,
        fate={"at": "s6.2", "how": "kill"},
        replicas=2,
    )

    assert values_of(result) == values_of(undisturbed) and result.status == "complete"
    assert keys_of(tmp_path / "killed" / "run") == keys_of(tmp_path / "clean" / "run")
    entries = [
        json.loads(line)
        for line in (tmp_path / "killed" / "calls.jsonl").read_text().splitlines()
    ]
    ended = {
        f"s{n}": [
            (e["pid"], name)
            for e in entries
            for name in e.get("end", ())
            if name.startswith(f"s{n}.")
        ]
        for n in range(COUNT)
    }
    again = {id for id, rounds in ended.items() if len(rounds) > 3}
    assert "s6" in again
    for id, rounds in ended.items():
        assert [name for _, name in rounds[-3:]] == [f"{id}.{k}" for k in (1, 2, 3)]
        assert len({pid for pid, _ in rounds[-3:]}) == 1
        assert (
            len(rounds) <= 5
        )  # at most the two rounds the dead one had answered come on top


def test_a_request_that_kills_every_replica_is_a_failure_of_its_own(tmp_path: Path):
    fate = {"at": "s13.1", "how": "kill", "always": True}

    result = run(tmp_path / "m", "Batches", fate=fate, replicas=2, on_error="continue")

    assert result.status == "partial"
    assert (result[0].n, result[0].outcomes["model_error"]) == (COUNT - 1, 1)
    assert any(
        "3 replicas died on this request (the last: killed by SIGKILL)" in note
        for note in result.notes
    )
    assert sorted(set(calls_of(tmp_path / "m", "end"))) == sorted(
        f"s{n}.1" for n in range(COUNT) if n != 13
    )
    assert calls_of(tmp_path / "m", "begin").count("s13.1") == 3


def test_a_replica_that_is_closed_ends_by_itself():
    async def closed() -> int | None:
        replica = await Processes(1).start(1)
        await replica.close()
        return replica._process.returncode

    assert asyncio.run(closed()) == 0  # and not killed because it was not told


def test_a_replica_loads_neither_tasks_nor_scorers_before_its_model():
    code = (
        "import sys, assay.runner.ask.executors.worker\n"
        "heavy = ('numpy', 'jinja2', 'assay.templates', 'assay.datasets', 'assay.scorers', 'assay.runner.tasks')\n"
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_replicas_are_given_neighbouring_rows(tmp_path: Path):
    run(tmp_path / "m", "Batches", replicas=2)

    entries = [
        json.loads(line)
        for line in (tmp_path / "m" / "calls.jsonl").read_text().splitlines()
    ]
    batches = [
        [int(name[1:].split(".")[0]) for name in entry["begin"]]
        for entry in entries
        if "begin" in entry
    ]
    assert all(
        later == earlier + 1 for batch in batches for earlier, later in pairwise(batch)
    )
    assert all(len(batch) == 4 for batch in batches)


def test_a_run_continues_after_its_driver_was_killed_and_its_replicas_are_gone(
    tmp_path: Path,
):
    model = make_model(tmp_path / "m", at="s21.1", how="kill the driver")
    rows = "".join(
        json.dumps({"id": f"s{n}", "question": f"q{n}", "answer": f"s{n}.1"}) + "\n"
        for n in range(COUNT)
    )
    (tmp_path / "data.jsonl").write_text(rows)
    asked = [
        sys.executable,
        "-m",
        "assay.cli.main",
        "run",
        str(tmp_path / "data.jsonl"),
        "--model",
        f"{model}:Batches",
    ]
    command = [
        *asked,
        "--scorer",
        "exact_match",
        "-o",
        str(tmp_path / "run"),
        "--replicas",
        "2",
        "--json",
    ]

    killed = subprocess.run(
        command, capture_output=True, check=False
    )  # returns when the replicas' stderr is closed
    kept = {id for id, _, _ in lines_of(tmp_path / "run")}
    before = len(calls_of(tmp_path / "m", "begin"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert killed.returncode == -9 and 0 < len(kept) < COUNT
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["value"] == 1.0
    asked_again = {
        name.split(".")[0] for name in calls_of(tmp_path / "m", "begin")[before:]
    }
    assert asked_again == {f"s{n}" for n in range(COUNT)} - kept
    assert len(lines_of(tmp_path / "run")) == COUNT


def test_each_replica_sees_its_own_gpus(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    # The first to be asked waits for the other, so that both have a part in it.
    (tmp_path / "model.py").write_text(
        "import os, pathlib, time\n"
        "class M:\n    batch_size = 1\n    def generate(self, requests):\n"
        "        here, own = pathlib.Path(__file__).parent, os.environ['CUDA_VISIBLE_DEVICES']\n"
        "        (here / f'asked-{own}').touch()\n"
        "        until = time.monotonic() + 60\n"
        "        while len(list(here.glob('asked-*'))) < 2 and time.monotonic() < until:\n"
        "            time.sleep(0.01)\n"
        "        return [own] * len(requests)\n"
    )

    assay.run(
        task(),
        f"{tmp_path}/model.py:M",
        output=str(tmp_path / "run"),
        replicas=2,
        gpus_per_replica=1,
        on_error="continue",
    )

    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    said = {
        json.loads(line)["output"]["candidates"][0]["text"]
        for line in lines
        if '"kind":"output"' in line
    }
    assert said == {"3", "5"}


@pytest.mark.parametrize(
    ("gpus_per_replica", "seen"),
    [
        (1, ["a", "b", "c", "d"]),
        (0.5, ["a", "a", "b", "b"]),
        (0, ["", "", "", ""]),
        (None, [None] * 4),
    ],
)
def test_gpus_are_dealt_out_in_order(monkeypatch, gpus_per_replica, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "a,b,c,d")

    assert [
        own.get("CUDA_VISIBLE_DEVICES") for own in shares(4, gpus_per_replica)
    ] == seen


def test_pictures_go_to_a_replica_and_come_back(tmp_path: Path):
    from PIL import Image

    Image.new("RGB", (3, 2), "red").save(tmp_path / "in.png")
    (tmp_path / "model.py").write_text(
        "import assay\ndef draw(request: assay.Request) -> assay.Image:\n"
        "    (picture,) = request.prompt.media\n    return assay.Image(picture.data())\n"
    )
    rows = [{"id": "a", "question": "again", "image": str(tmp_path / "in.png")}]
    drawing = assay.Task(
        "t",
        dataset=rows,
        scorers=lambda sample, output: output.media[0] == sample.media[0],
        produces=("image",),
    )

    result = assay.run(
        drawing, f"{tmp_path}/model.py:draw", output=str(tmp_path / "run"), replicas=1
    )

    assert result.status == "complete" and result[0].value == 1.0


def test_two_models_take_turns_and_two_tasks_share_replicas(tmp_path: Path):
    model = make_model(tmp_path / "m")
    second = assay.Task(
        "u",
        dataset=[{"id": "z", "question": "q", "answer": "z.1"}],
        scorers="exact_match",
    )

    result = assay.run(
        [task(count=8), second],
        [f"{model}:Batches", f"{model}:Asynchronous"],
        output=str(tmp_path / "run"),
        replicas=1,
    )
    alone = assay.run(
        [task(count=8), second],
        f"{model}:Batches",
        output=str(tmp_path / "one"),
        replicas=1,
    )

    assert [r.value for r in result] == [1.0] * 4 and [r.value for r in alone] == [
        1.0
    ] * 2
    entries = [
        json.loads(line)
        for line in (tmp_path / "m" / "calls.jsonl").read_text().splitlines()
    ]
    assert (
        len({entry["pid"] for entry in entries}) == 5
    )  # four for the two models in turn, one for both tasks


class Watching(Silent):
    """Keeps what a bar would have said."""

    def start(self, cells):
        self.cells = cells


def test_the_progress_display_counts_replicas(tmp_path: Path):
    watcher = Watching()

    run(
        tmp_path / "m",
        "Batches",
        fate={"at": "s13.1", "how": "kill"},
        replicas=2,
        watcher=watcher,
    )
    shown = TaskProgress(
        "t",
        "m",
        replicas={1: "working", 2: "starting", 3: "lost", 4: "ready"},
        restarts=2,
    )

    assert set(watcher.cells[0].replicas) == {1, 2} and watcher.cells[0].restarts == 1
    assert _note(shown, "") == "2 of 4 replicas, 1 starting, 1 lost, 2 restarted"
    assert _note(TaskProgress("t", "m"), "") == ""


def test_an_interruption_lets_what_is_in_flight_come_back(tmp_path: Path):
    model = make_model(tmp_path / "m")
    (tmp_path / "go.py").write_text(
        "import os, signal, sys\nimport assay\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from replica_files import task\n"
        "from assay.runner.events import Silent\n"
        "class Stopping(Silent):\n"
        "    def start(self, cells):\n        self.cells = cells\n"
        "    def update(self):\n"
        "        if 8 < self.cells[0].done and not self.lines:\n            os.kill(os.getpid(), signal.SIGINT)\n"
        f"result = assay.run(task(count=2000), {model + ':Batches'!r}, output={str(tmp_path / 'run')!r}, replicas=2,"
        " watcher=Stopping())\n"
        "print(result.status)\n"
    )

    done = subprocess.run(
        [sys.executable, str(tmp_path / "go.py")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "interrupted\n", done.stderr
    finished = calls_of(tmp_path / "m", "end")
    assert sorted(name.split(".")[0] for name in finished) == sorted(
        id for id, _, _ in lines_of(tmp_path / "run")
    )
    assert len(finished) < 2000


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"replicas": 0}, "--replicas is 0; fix: at least 1"),
        (
            {"replicas": 2, "gpus_per_replica": -1},
            "--gpus_per_replica is -1; fix: at least 0",
        ),
        (
            {"replicas": 3, "gpus_per_replica": 1},
            "3 replicas with 1 GPUs each, and this machine shows 2",
        ),
        ({"replicas": 1, "gpus_per_replica": 1.5}, "a replica cannot have 1.5 GPUs"),
        (
            {"gpus_per_replica": 1},
            "--gpus_per_replica has no effect without --replicas; fix: add --replicas N",
        ),
        (
            {"address": "localhost:1"},
            "--address names a Ray cluster; fix: add --executor ray",
        ),
        ({"executor": "slurm"}, "--executor cannot be 'slurm'; fix: one of local, ray"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch, settings, line
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")

    with pytest.raises(UsageError, match=line):
        run(tmp_path / "m", "Batches", **settings)

    assert not (tmp_path / "m" / "run").exists()


def test_a_model_that_has_no_name_is_refused(tmp_path: Path):
    with pytest.raises(
        UsageError,
        match="a replica builds its model from its name, and cannot build this one",
    ):
        assay.run(
            task(), lambda messages: "x", output=str(tmp_path / "run"), replicas=2
        )

    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("body", "kind", "line"),
    [
        (
            "raise FileNotFoundError('no weights')",
            ModelError,
            "replica 1 of model .*no weights",
        ),
        (
            "import os; os._exit(9)",
            ModelError,
            "every replica died 3 times while it loaded .the last: exit status 9.",
        ),
    ],
)
def test_a_model_that_cannot_be_loaded_ends_the_run_with_one_line(
    tmp_path: Path, body: str, kind, line: str
):
    (tmp_path / "model.py").write_text(
        f"class M:\n    def __init__(self):\n        {body}\n    def generate(self, messages):\n        return 'x'\n"
    )

    with pytest.raises(AssayError, match=line) as caught:
        assay.run(
            task(), f"{tmp_path}/model.py:M", output=str(tmp_path / "run"), replicas=1
        )

    assert isinstance(caught.value, kind) and "\n" not in str(caught.value)


def test_how_the_work_is_spread_does_not_change_the_folder():
    plain = RunOptions(tasks=("a",))

    spread = plain.but(replicas=3, executor="ray", gpus_per_replica=1.0, address="h:1")

    assert spread.folder_digest() == plain.folder_digest()
