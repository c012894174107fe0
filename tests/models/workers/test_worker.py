"""Scorer workers: started on demand, looked after, started again once, killed when they hang, and never asked twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.benchmarks.image_tasks import geneval
from assay.core import Image, Message, Output, Prompt, Request, Text, UsageError
from assay.models import build_model
from assay.models.scripted import Scripted
from assay.models.workers import Worker
from assay.models.workers.process import SERVE
from assay.models.workers.serve import PROTOCOL

ECHO = '''
import os
import sys
import time


class Echo:
    """Says what it was asked, and does worse when told to."""

    accepts = {"text", "image"}

    def __init__(self, prefix="", log=""):
        self.prefix, self.calls = prefix, 0
        if log:
            with open(log, "a") as file:
                file.write("started\\n")

    def answer(self, request):
        print("a library that talks")
        self.calls += 1
        asked = request.asked
        if asked.get("do") == "raise":
            raise KeyError("cat")
        if asked.get("do") == "die":
            print("segmentation fault, sort of", file=sys.stderr)
            sys.stderr.flush()
            os._exit(3)
        if asked.get("do") == "die once" and not os.path.exists(asked["mark"]):
            open(asked["mark"], "w").close()
            os._exit(3)
        if asked.get("do") == "hang":
            time.sleep(600)
        if asked.get("do") == "pollute":
            os.write(1, b"not a reply\\n")
        if asked.get("do") == "nan":
            return {"value": float("nan")}
        if asked.get("do") == "text":
            return "words"
        sizes = [len(data) for data in request.media("image")]
        return {"text": self.prefix + request.text, "sizes": sizes, "calls": self.calls, "own": os.environ.get("OWN")}
'''


@pytest.fixture
def echo(tmp_path):
    path = tmp_path / "echo.py"
    path.write_text(ECHO)
    made = []

    def make(**options):
        made.append(Worker(f"{path}:Echo", **options))
        return made[-1]

    yield make
    for worker in made:
        worker.close()


def request(text, *media):
    said = text if isinstance(text, str) else json.dumps(text)
    return Request(Prompt((Message("user", (*media, Text(said))),), produces=("json",)))


def ask(worker, text, *media) -> Output:
    (output,) = worker.generate([request(text, *media)])
    return output


def test_a_worker_answers_with_json_from_another_process(echo):
    worker = echo(prefix="> ")

    first, second = worker.generate([request("hello"), request("again")])

    assert first.json == {"text": "> hello", "sizes": [], "calls": 1, "own": None}
    assert second.json["calls"] == 2 and worker.starts == 1
    assert worker.abilities.produces == {"json"}


def test_nothing_is_started_before_the_first_question(echo):
    worker = echo()

    assert worker.identity["worker"] == "echo.py:Echo" and worker.starts == 0


def test_an_image_travels_by_its_path_or_by_its_bytes(echo, tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG four")

    output = ask(
        echo(),
        "look",
        Image(tmp_path / "a.png"),
        Image(b"\x89PNG\r\n\x1a\n" + bytes(300_000)),
    )

    assert output.json["sizes"] == [9, 300_008]


def test_a_worker_has_an_environment_of_its_own(echo, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")

    assert ask(echo(env={"OWN": "1"}), "x").json["own"] == "1"


def test_what_it_raises_is_the_failure_of_one_request(echo):
    worker = echo()

    output = ask(worker, {"do": "raise"})

    assert (
        output.error.kind == "exception"
        and "KeyError: 'cat' (echo.py:" in output.error.message
    )
    assert ask(worker, "fine").json["calls"] == 2 and worker.starts == 1


def test_an_answer_that_json_cannot_hold_is_an_error(echo):
    assert "not JSON compliant" in ask(echo(), {"do": "nan"}).error.message


def test_a_worker_that_writes_text_is_a_judge_that_writes(echo):
    assert ask(echo(), {"do": "text"}).text == "words"


def test_a_worker_that_died_is_started_again_and_the_request_answered(echo, tmp_path):
    worker = echo()

    output = ask(worker, {"do": "die once", "mark": str(tmp_path / "mark")})

    assert output.error is None and output.json["calls"] == 1 and worker.starts == 2


def test_a_worker_that_dies_twice_fails_the_request_with_its_last_words(echo):
    worker = echo()

    output = ask(worker, {"do": "die"})

    assert output.error.message.endswith(
        "ended with status 3; its last words: segmentation fault, sort of"
    )
    assert worker.starts == 2 and not output.error.retryable
    assert ask(worker, "next").json["calls"] == 1


def test_a_worker_that_hangs_is_killed(echo):
    worker = echo(seconds=0.5)

    output = ask(worker, {"do": "hang"})

    assert output.error.kind == "timeout" and not output.error.retryable
    assert "gave no reply in 0.5 seconds and was killed" in output.error.message
    worker.seconds = 60.0
    assert ask(worker, "next").json["calls"] == 1


def test_output_of_libraries_never_mixes_with_replies(echo):
    assert ask(echo(), {"do": "pollute"}).json["calls"] == 1


def test_after_a_pause_the_worker_is_pinged_and_replaced_if_it_does_not_answer(echo):
    worker = echo()
    ask(worker, "first")
    worker.ping_after = 0.0

    assert ask(worker, "pinged").json["calls"] == 2
    os.kill(worker._process._process.pid, 9)
    worker._process._process.wait()
    assert ask(worker, "replaced").json["calls"] == 1 and worker.starts == 2


def test_a_class_that_cannot_be_built_is_tried_once_and_named(tmp_path):
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    def __init__(self):\n        import no_such_library\n\n    def answer(self, request): ...\n"
    )
    worker = Worker(f"{tmp_path / 'bad.py'}:Bad")

    outputs = worker.generate([request("a"), request("b")])

    assert all(
        "cannot be built: ModuleNotFoundError: No module named" in o.error.message
        for o in outputs
    )
    assert "(bad.py:3)" in outputs[0].error.message and worker.starts == 1
    assert outputs[0].error.message.endswith(
        "or python=PATH of an environment that has it"
    )


def test_a_class_that_takes_too_long_to_build_is_given_up(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nclass Slow:\n    def __init__(self):\n        time.sleep(600)\n    def answer(self, r): ...\n"
    )
    worker = Worker(str(tmp_path / "slow.py"), start_seconds=0.5)

    assert "was not ready after 0.5 seconds" in ask(worker, "x").error.message


def test_a_missing_interpreter_is_reported(echo):
    message = ask(echo(python="/nowhere/python"), "x").error.message

    assert (
        "/nowhere/python: worker" in message
        and "cannot be started" in message
        and "fix: python:" in message
    )


def test_another_version_of_the_protocol_is_refused_by_both_sides(echo, monkeypatch):
    monkeypatch.setattr("assay.models.workers.process.PROTOCOL", PROTOCOL + 1)

    message = ask(echo(), "x").error.message

    assert f"speaks protocol {PROTOCOL}, not {PROTOCOL + 1}" in message


def test_the_workers_side_needs_neither_assay_nor_anything_else(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    hello = {
        "hello": PROTOCOL,
        "file": str(tmp_path / "echo.py"),
        "class": "Echo",
        "options": {},
    }
    asked = {
        "id": 5,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    }
    lines = "".join(json.dumps(line) + "\n" for line in (hello, {"ping": 9}, asked))

    # -I -S: no site-packages, so that neither assay nor any other library can be imported.
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(SERVE)],
        input=lines,
        capture_output=True,
        text=True,
    )

    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert replies[:2] == [{"hello": PROTOCOL, "ready": True}, {"pong": 9}]
    assert replies[2]["answer"]["text"] == "x" and done.returncode == 0


def test_a_worker_ends_with_the_one_who_started_it(echo, tmp_path):
    worker = echo()
    ask(worker, "x")
    process = worker._process._process

    worker.close()

    assert process.returncode is not None


def test_the_identity_follows_code_options_and_weights_and_nothing_else(tmp_path):
    path = tmp_path / "w.py"
    path.write_text(
        "class W:\n    def __init__(self, model, device='cpu'): ...\n    def answer(self, r): ...\n"
    )
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "model.bin").write_bytes(b"one")

    def identity(**options):
        return dict(Worker(f"{path}:W", **{"model": str(weights), **options}).identity)

    first = identity()
    assert first == identity(
        device="cuda", python="/other/python", env={"A": "1"}, seconds=1
    )
    assert str(tmp_path) not in json.dumps(first)
    (weights / "model.bin").write_bytes(b"other")
    assert identity()["weights"] != first["weights"]
    path.write_text(path.read_text() + "\n# changed\n")
    assert identity()["code"] != first["code"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "worker/detecter",
            {},
            "unknown worker 'detecter'; fix: did you mean 'detector'?",
        ),
        ("worker/detector", {}, "worker 'detector' needs the option 'model'"),
        (
            "worker/detector",
            {"model": "x", "modle": 1},
            "has no option 'modle'; fix: did you mean 'model'?",
        ),
        ("worker/nowhere.py:A", {}, "nowhere.py: no such file"),
        (
            "worker/{folder}/two.py",
            {},
            "2 classes with `answer`: A, B; fix: FILE.py:Class",
        ),
        ("worker/{folder}/two.py:C", {}, "no class 'C'"),
        ("worker/{folder}/two.py:D", {}, "class 'D' has no `answer`"),
        ("worker/{folder}/torn.py:A", {}, "not valid Python"),
        (
            "worker/detector",
            {"model": "x", "env": "A"},
            "option 'env' of a worker takes names and values",
        ),
    ],
)
def test_wrong_settings_are_reported_before_anything_is_started(
    name, options, message, tmp_path
):
    answers = "    def answer(self, request): ...\n"
    (tmp_path / "two.py").write_text(
        f"class A:\n{answers}class B:\n{answers}class D:\n    x = 1\n"
    )
    (tmp_path / "torn.py").write_text("class A(:\n")

    with pytest.raises(UsageError) as caught:
        build_model(name.format(folder=tmp_path), options)

    assert message in str(caught.value)


def test_options_and_abilities_are_read_without_running_the_file(tmp_path):
    (tmp_path / "w.py").write_text(
        "import no_such_library\nfrom dataclasses import dataclass\n\n@dataclass\nclass W:\n    model: str\n"
        "    size: int = 3\n    accepts = {'audio'}\n    produces = {'text'}\n\n    def answer(self, request): ...\n"
    )

    worker = build_model(f"worker/{tmp_path / 'w.py'}:W", {"model": "m"})

    assert worker.source.options == {"model", "size"} and worker.source.required == (
        "model",
    )
    assert (worker.abilities.accepts, worker.abilities.produces) == (
        {"audio"},
        {"text"},
    )


DETECTOR = '''
class Finder:
    """Finds every class it is asked for once, in the colour red."""

    def __init__(self, log):
        with open(log, "a") as file:
            file.write("started\\n")

    def answer(self, request):
        width, height = request.image().size
        found = {"box": [0, 0, width, height], "score": 0.95, "color": "red"}
        return {"detections": {name: [found] for name in request.asked["classes"]}}
'''


@pytest.fixture
def drawn(tmp_path):
    """Runs GenEval's mini-set with a painter and the worker above; gives the result and how often it was started."""
    import io

    from PIL import Image as Pillow

    kept = io.BytesIO()
    Pillow.new("RGB", (32, 24), "red").save(kept, "PNG")
    (tmp_path / "finder.py").write_text(DETECTOR)

    def run(folder="run", **settings):
        log = tmp_path / "log"
        log.write_text("")
        painter = Scripted(
            lambda request: Output.of(*[Image(kept.getvalue())] * request.options.n)
        )
        done = assay.run(
            geneval,
            painter,
            data="mini",
            judge={"detector": f"worker/{tmp_path / 'finder.py'}:Finder"},
            judge_args={"log": str(log)},
            output=str(tmp_path / folder),
            **settings,
        )
        return done, log.read_text().count("started")

    return run


def test_a_task_is_scored_by_a_worker_that_is_started_once(drawn):
    done, started = drawn()

    assert done.status == "complete" and started == 1
    by_tag = next(r for r in done.results if r.metric == "overall").groups["tag"]
    assert (
        by_tag["single_object"].value == by_tag["colors"].value == 1.0
        and by_tag["counting"].value == 0.0
    )


def test_a_second_run_starts_no_worker(drawn, tmp_path):
    first, _ = drawn()
    journal = tmp_path / "run" / "records.jsonl"
    kept = [
        line
        for line in journal.read_bytes().splitlines(keepends=True)
        if b'"kind":"score"' not in line
    ]
    journal.write_bytes(b"".join(kept))

    second, started = drawn()

    assert started == 0
    assert [r.value for r in second.results] == [r.value for r in first.results]


def test_four_equal_images_are_one_question_to_the_worker(drawn, tmp_path):
    drawn()

    lines = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").open()]
    asked = [
        line
        for line in lines
        if line["kind"] == "output" and line["task"] == "geneval#detector"
    ]
    classes = {json.dumps(line["prompt"]) for line in asked}
    assert (
        len(asked)
        == len(classes)
        == len(
            list(
                geneval.dataset.read(Path(assay.__file__).parent / geneval.dataset.mini)
            )
        )
    )
