"""The recording engine: drivers that ask when and what they like, exactly once."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.main import main
from assay.core import (
    DEFAULT_OPTIONS,
    AssayError,
    Message,
    ModalityMismatch,
    Output,
    Prompt,
    Request,
    ScorerError,
)
from assay.models.scripted import Scripted
from assay.runner.flow.drivers import Driven, RecordingEngine
from assay.store import RunReader

ROWS = [{"id": f"s{n}", "question": f"q{n}", "answer": str(n)} for n in range(6)]


def say(text: str) -> Prompt:
    return Prompt((Message.of("user", text),))


def texts(outputs: list[Output]) -> list[str]:
    return [output.text for output in outputs]


def run_driver(driver: Any, model: Any, folder: Path, **settings: Any) -> Any:
    task = assay.Task("driven", dataset=ROWS, driver=driver)
    return assay.run(task, model, output=str(folder / "run"), **settings)


def asked(model: Scripted) -> list[str]:
    return [request.messages[-1].text for request in model.calls]


ADAPTIVE = """
import json, os, sys, time
from pathlib import Path
import assay
from assay.core import Message, Prompt

ROWS = [{{"id": f"s{{n}}", "question": f"q{{n}}", "answer": "x"}} for n in range(40)]


def say(text):
    return Prompt((Message.of("user", text),))


def drive(engine):
    right, size = 0, int(os.environ.get("BATCH", "4"))
    for start in range(0, len(ROWS), size):
        ids = [row["id"] for row in ROWS[start:start + size]]
        first = engine.generate([say(row["question"]) for row in ROWS[start:start + size]], ids=ids)
        # The second prompt depends on the first answer.
        second = engine.generate([say(f"why {{o.text}}?") for o in first], ids=ids)
        five = engine.generate([say("draw " + ids[0])] * 5, ids=[ids[0]] * 5)
        right += sum("7" in o.text for o in second) + len({{o.text for o in five}})
        marker = os.environ.get("DIE_AT")
        if marker is not None and start >= int(marker):
            Path({stop!r}).write_text("here")
            time.sleep(60)
    return {{"right": right + int(os.environ.get("OFFSET", "0")), "total": len(ROWS)}}


task = assay.Task("adaptive", dataset=ROWS, driver=drive)
"""

LOGGING_MODEL = """
import os
from assay.core import Output

class Model:
    batch_size = 4

    def generate(self, requests):
        with open({log!r}, "a") as log:
            for request in requests:
                log.write(f"{{request.messages[-1].text}}#{{request.repeat}}\\n")
        return [Output.of(f"{{request.messages[-1].text}}/{{request.repeat}}") for request in requests]
"""


@pytest.fixture
def adaptive(tmp_path: Path) -> Path:
    (tmp_path / "adaptive.py").write_text(ADAPTIVE.format(stop=str(tmp_path / "stop")))
    (tmp_path / "model.py").write_text(
        LOGGING_MODEL.format(log=str(tmp_path / "calls.log"))
    )
    return tmp_path


def command(folder: Path, out: str) -> list[str]:
    return [
        "run",
        str(folder / "adaptive.py"),
        "--model",
        f"{folder / 'model.py'}:Model",
        "-o",
        str(folder / out),
    ]


def stopped_at(folder: Path, place: int) -> subprocess.Popen[bytes]:
    """A run in a process of its own, whose driver has come to a place and waits there."""
    program = [sys.executable, "-m", "assay.cli.main", *command(folder, "run")]
    process = subprocess.Popen(
        program, env={**os.environ, "DIE_AT": str(place)}, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not (folder / "stop").exists():
        time.sleep(0.01)
    (folder / "stop").unlink()
    return process


def call_log(folder: Path) -> list[str]:
    return (folder / "calls.log").read_text().splitlines()


def test_an_adaptive_driver_killed_between_batches_asks_nothing_finished_again(
    adaptive: Path,
):
    for place in (4, 12, 28):
        process = stopped_at(adaptive, place)
        process.kill()
        process.wait()

    assert main(command(adaptive, "run")) == 0
    log = call_log(adaptive)
    assert main(command(adaptive, "clean")) == 0

    assert len(log) == len(set(log)) == 40 + 40 + 50
    assert (
        _numbers(adaptive / "run")
        == _numbers(adaptive / "clean")
        == [("right", 54.0), ("total", 40.0)]
    )
    assert _keys(adaptive / "run") == _keys(adaptive / "clean")


def _numbers(folder: Path) -> list[tuple[str, float]]:
    rows = json.loads((folder / "summary.json").read_text())["results"]
    return [(row["metric"], row["value"]) for row in rows]


def _keys(folder: Path) -> list[tuple[str, int, int, str]]:
    return [
        (record.id, record.epoch, record.round, record.key)
        for record in RunReader(folder).outputs()
    ]


def test_another_batch_size_after_a_kill_loses_no_answer(adaptive: Path, monkeypatch):
    process = stopped_at(adaptive, 20)
    process.kill()
    process.wait()
    for size in ("5", "4"):
        monkeypatch.setenv("BATCH", size)
        assert main(command(adaptive, "run")) == 0

    log = call_log(adaptive)

    assert len(log) == len(set(log))


def test_a_run_is_scored_again_without_the_model(adaptive: Path, monkeypatch):
    main(command(adaptive, "run"))
    before = call_log(adaptive)
    monkeypatch.setenv("OFFSET", "1000")

    assert main(["score", str(adaptive / "run")]) == 0

    assert _numbers(adaptive / "run") == [("right", 1054.0), ("total", 40.0)]
    assert call_log(adaptive) == before


def test_a_prompt_that_was_never_asked_is_one_clear_error_and_the_run_stays_what_it_was(
    adaptive: Path, capfd
):
    main(command(adaptive, "run"))
    before = json.loads((adaptive / "run" / "run.json").read_text())
    source = (adaptive / "adaptive.py").read_text()
    (adaptive / "adaptive.py").write_text(
        source.replace("why {o.text}?", "how {o.text}?")
    )

    assert main(["score", str(adaptive / "run")]) == 1

    [line] = [
        line
        for line in capfd.readouterr().err.splitlines()
        if line.startswith("assay:")
    ]
    assert (
        "task 'adaptive': this prompt was never asked in this run: 'how q0/0?'" in line
    )
    assert "fix: `assay run` asks the model for it" in line
    assert json.loads((adaptive / "run" / "run.json").read_text()) == before


def test_an_edited_driver_runs_again_but_asks_only_what_is_new(adaptive: Path):
    main(command(adaptive, "run"))
    source = (adaptive / "adaptive.py").read_text()
    (adaptive / "adaptive.py").write_text(
        source.replace("why {o.text}?", "how {o.text}?")
    )

    assert main(command(adaptive, "run")) == 0

    log = call_log(adaptive)
    assert len(log) == len(set(log)) == 40 + 50 + 40 + 40
    assert sum(line.startswith("how") for line in log) == 40


def test_five_identical_prompts_are_five_requests_each_with_its_own_seed(
    tmp_path: Path,
):
    model = Scripted(lambda request: f"{request.repeat}:{request.seed}")

    def driver(engine: RecordingEngine) -> dict[str, float]:
        drawn = texts(engine.generate([say("draw")] * 5))
        return {
            "different": len(set(drawn)),
            "ordered": drawn == [f"{n}:{7 + n * 65536}" for n in range(5)],
        }

    result = run_driver(driver, model, tmp_path, seed=7)

    assert result.value("different") == 5
    assert result.value("ordered") == 1
    assert len({request.key for request in model.calls}) == 5


def test_two_prompts_of_one_sample_are_two_rounds_and_neither_is_lost(tmp_path: Path):
    model = Scripted("echo")

    def driver(engine: RecordingEngine) -> dict[str, float]:
        engine.generate([say("first")], ids=["s0"])
        engine.generate([say("second")], ids=["s0"])
        return {"n": 1}

    run_driver(driver, model, tmp_path)
    run_driver(
        driver, model, tmp_path, limit=3
    )  # another view: the driver is called anew

    assert asked(model) == ["first", "second"]
    records = list(RunReader(tmp_path / "run").outputs())
    assert [(r.id, r.round, r.output["candidates"][0]["text"]) for r in records] == [
        ("s0", 0, "first"),
        ("s0", 1, "second"),
    ]


def test_answers_are_in_the_order_of_the_prompts(tmp_path: Path):
    class Slow:
        concurrency = 4

        async def generate(self, requests: list[Request]) -> list[Output]:
            import asyncio

            text = requests[0].messages[-1].text
            await asyncio.sleep(0.03 if text == "a" else 0.0)
            return [Output.of(text.upper())]

    seen: list[str] = []

    def driver(engine: RecordingEngine) -> dict[str, float]:
        seen.extend(texts(engine.generate([say(t) for t in "abcd"])))
        return {"n": 4}

    run_driver(driver, Slow(), tmp_path)

    assert seen == ["A", "B", "C", "D"]


def test_generated_and_weighed_prompts_may_be_mixed_in_one_call(tmp_path: Path):
    def driver(engine: RecordingEngine) -> dict[str, float]:
        weighed = Prompt((Message.of("", "x"),), continuations=("a", "b"))
        made = engine.generate([say("hello"), weighed, say("again")])
        return {
            "texts": texts(made) == ["hello", "", "again"],
            "logprob": made[1].likelihoods[1].logprob,
        }

    result = run_driver(driver, Scripted("echo"), tmp_path)

    assert (result.value("texts"), result.value("logprob")) == (1.0, -2.0)


def test_a_driver_that_is_a_coroutine_does_not_block_itself(tmp_path: Path):
    async def driver(engine: RecordingEngine) -> dict[str, float]:
        return {"n": len(engine.generate([say("a"), say("b")]))}

    result = run_driver(driver, Scripted("echo"), tmp_path)

    assert result.value("n") == 2


def test_calls_from_several_threads_are_all_kept(tmp_path: Path):
    model = Scripted("echo")

    def driver(engine: RecordingEngine) -> dict[str, float]:
        threads = [
            threading.Thread(target=lambda n=n: engine.generate([say(f"t{n}")]))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"calls": engine.calls}

    result = run_driver(driver, model, tmp_path)

    assert result.value("calls") == 8
    assert len(list(RunReader(tmp_path / "run").outputs())) == 8


def test_an_answer_that_did_not_come_is_an_error_the_driver_sees_and_the_next_run_asks_again(
    tmp_path: Path,
):
    broken = [True]
    model = Scripted(
        lambda request: (
            RuntimeError("away")
            if broken[0] and request.messages[-1].text == "b"
            else "fine"
        )
    )
    errors: list[Any] = []

    def driver(engine: RecordingEngine) -> dict[str, float]:
        made = engine.generate([say("a"), say("b")], ids=["s0", "s1"])
        errors.append([output.error.kind if output.error else None for output in made])
        return {"accuracy": 0.5, "correct": 1, "total": 2}

    first = run_driver(driver, model, tmp_path)
    broken[0] = False
    second = run_driver(driver, model, tmp_path)

    assert errors == [[None, "exception"], [None, None]]
    assert (first.status, first[0].outcomes, first[0].bounds) == (
        "partial",
        {"model_error": 1},
        (0.5, 1.0),
    )
    assert (second.status, second[0].outcomes, second[0].bounds) == (
        "complete",
        {},
        None,
    )
    assert asked(model) == ["a", "b", "b"]


def test_a_spent_error_budget_ends_the_run_even_if_the_driver_swallows_it(
    tmp_path: Path,
):
    model = Scripted(lambda request: RuntimeError("away"))

    def driver(engine: RecordingEngine) -> dict[str, float]:
        for n in range(20):
            try:
                engine.generate([say(f"q{n}")])
            except Exception:
                continue
        return {"accuracy": 1.0}

    result = run_driver(driver, model, tmp_path, on_error="3")

    assert (result.status, len(result)) == ("failed", 0)
    assert len(model.calls) == 4
    assert "stopped after 4 infrastructure errors" in result.notes[0]


def test_a_driver_that_raises_is_blamed_with_its_line_and_the_run_has_failed(
    tmp_path: Path,
):
    def driver(engine: RecordingEngine) -> dict[str, float]:
        engine.generate([say("a")])
        raise ZeroDivisionError("no rows")

    with pytest.raises(
        ScorerError,
        match=r"driver of task 'driven': ZeroDivisionError: no rows \(test_drivers.py",
    ):
        run_driver(driver, Scripted("echo"), tmp_path)

    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"
    assert len(list(RunReader(tmp_path / "run").outputs())) == 1


def test_a_model_that_cannot_weigh_refuses_inside_the_driver_as_it_would_outside(
    tmp_path: Path,
):
    task = assay.Task(
        "driven",
        dataset=ROWS,
        driver=lambda engine: {"n": 1},
        needs=frozenset({"likelihood"}),
    )

    with pytest.raises(ModalityMismatch, match="task 'driven' needs likelihoods"):
        assay.run(task, Scripted("echo", weighs=False), output=str(tmp_path / "run"))


@pytest.mark.parametrize("made", [{}, {"name": "x"}, None])
def test_the_error_for_a_driver_without_numbers_asks_for_a_dict(
    tmp_path: Path, made: Any
):
    with pytest.raises(
        AssayError,
        match=r"driver of task .driven.: returned no numbers.*fix: return a dict",
    ):
        run_driver(lambda engine: made, Scripted("echo"), tmp_path)


def test_numbers_are_set_level_except_a_share_with_its_counts(
    tmp_path: Path,
):
    def driver(engine: RecordingEngine) -> Driven:
        values = {
            "accuracy": 0.75,
            "correct": 3,
            "total": 4,
            "by": {"law": 0.5},
            "note": "text",
            "loss": float("inf"),
        }
        return Driven(
            values, n=4, n_expected=6, protocol="driven@mine", details={"kept": True}
        )

    result = run_driver(driver, Scripted("echo"), tmp_path)
    rows = {row.metric: row for row in result}

    assert list(rows) == ["accuracy", "correct", "total", "by.law", "loss"]
    assert rows["accuracy"].ci == pytest.approx(
        (0.1941, 0.9937), abs=1e-4
    )  # Clopper and Pearson 1934
    assert rows["accuracy"].interval == "clopper-pearson of correct / total"
    assert rows["by.law"].interval == "none: a set-level metric"
    assert (rows["loss"].value, rows["loss"].flags) == (
        None,
        ("not a finite number: inf",),
    )
    assert (rows["accuracy"].n, rows["accuracy"].n_expected, result.status) == (
        4,
        6,
        "partial",
    )
    assert rows["accuracy"].protocol == "driven@mine"
    assert (rows["accuracy"].details, rows["correct"].details) == ({"kept": True}, {})


def test_rows_that_never_became_questions_are_counted_and_listed(tmp_path: Path):
    def driver(engine: RecordingEngine) -> Driven:
        engine.generate([say("a")], ids=["s0"])
        engine.count_bad("s1", "the picture is broken", 1)
        return Driven({"accuracy": 1.0, "correct": 1, "total": 1}, n=1, n_expected=2)

    result = run_driver(driver, Scripted("echo"), tmp_path)

    assert (result.status, result[0].outcomes, result[0].bounds) == (
        "partial",
        {"data_error": 1},
        (0.5, 1.0),
    )
    assert result.notes == ("driven: 1 data_error; first: s1: the picture is broken",)
    [record] = RunReader(tmp_path / "run").scores("driven", "Scripted", "driven")
    assert (record.id, record.outcome) == ("s1", "data_error")


def test_answers_of_another_run_come_from_the_shared_cache(tmp_path: Path):
    model = Scripted("echo")
    task = assay.Task(
        "driven",
        dataset=ROWS,
        driver=lambda engine: {"n": len(engine.generate([say("a")] * 2))},
    )
    for name in ("one", "two"):
        assay.run(
            task, model, output=str(tmp_path / name), cache=str(tmp_path / "cache")
        )

    assert asked(model) == ["a", "a"]


def test_an_interruption_lets_the_batch_in_flight_come_back_and_stops_the_driver(
    adaptive: Path,
):
    process = stopped_at(adaptive, 8)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    process.kill()  # the driver sleeps: nothing of assay's is asked meanwhile
    process.wait()
    assert main(command(adaptive, "run")) == 0

    log = call_log(adaptive)
    assert len(log) == len(set(log))


def test_an_interrupted_driver_ends_at_its_next_question(tmp_path: Path):
    source = """
import os, signal, time
import assay
from assay.core import Message, Prompt

def drive(engine):
    for n in range(1000):
        try:
            engine.generate([Prompt((Message.of("user", f"q{n}"),))])
        except Exception:
            pass
        if n == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    return {"n": 1}

task = assay.Task("stopped", dataset=[{"question": "q", "answer": "a"}], driver=drive)
"""
    (tmp_path / "stopped.py").write_text(source)
    (tmp_path / "model.py").write_text("def generate(messages):\n    return 'x'\n")
    task, model = str(tmp_path / "stopped.py"), f"{tmp_path / 'model.py'}:generate"
    run = [
        sys.executable,
        "-m",
        "assay.cli.main",
        "run",
        task,
        "--model",
        model,
        "-o",
        str(tmp_path / "run"),
    ]

    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 130
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text())["status"]
        == "interrupted"
    )
    assert len(list(RunReader(tmp_path / "run").outputs())) < 20


def test_the_engine_knows_its_options_and_hints_are_part_of_the_key(tmp_path: Path):
    model = Scripted("echo")

    def driver(engine: RecordingEngine) -> dict[str, float]:
        engine.generate([say("a")])
        engine.generate([say("a")], DEFAULT_OPTIONS.set(max_tokens=5))
        return {"n": 1}

    task = assay.Task("driven", dataset=ROWS, driver=driver, hints={"dataset": "X"})
    assay.run(task, model, output=str(tmp_path / "run"))

    assert [request.options.max_tokens for request in model.calls] == [None, 5]
    assert [request.repeat for request in model.calls] == [0, 0]
    assert [request.hints["dataset"] for request in model.calls] == ["X", "X"]
