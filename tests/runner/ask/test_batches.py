"""Runs with `--batch_api` against a loopback server with the three batch APIs, well-behaved and faulty."""

import asyncio
import json
import os
import signal
from dataclasses import dataclass

import pytest
from batch_server import (
    FINAL_FAULTS,
    PASSING_FAULTS,
    BatchHost,
    handler_of,
    question_of,
)
from http_thread import in_a_thread

import assay
from assay.cli.main import main
from assay.core import UsageError
from assay.store import RunReader
from assay.store.batch_log import BatchLog

BASES = {
    "openai": "openai/v1",
    "anthropic": "anthropic/v1",
    "gemini": "gemini/v1beta",
}
APIS = tuple(BASES)
SAMPLES = 6
ASKED_TWICE = {
    "some_broken_lines": 1,
    "whole_batch_expired": SAMPLES,
    "some_expired": 2,
    "some_errored": 1,
    "some_missing": 1,
}
"""Requests that must be sent again, by fault. Only an answer that was lost in a broken line is paid again."""
NOT_OF_THIS_API = {
    ("anthropic", "upload_reset"),
    ("anthropic", "upload_503"),
    ("gemini", "upload_reset"),
    ("gemini", "upload_503"),
    ("gemini", "download_reset"),
    ("gemini", "download_cut"),
}
"""Faults of steps that an API does not have: only OpenAI uploads files, and Gemini has no file of results."""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """A folder with questions, and keys that no service knows."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "secret-key")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    write_questions(SAMPLES)


def write_questions(count):
    rows = [{"question": f"Say {n}", "answer": str(n)} for n in range(count)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    with open("numbers.jsonl", "w") as file:
        file.write(lines)


@dataclass
class Place:
    """A host at its address."""

    host: BatchHost
    port: int

    def arguments(self, api="openai", *more, args="", data="numbers.jsonl"):
        """Return the arguments of a run."""
        url = f"http://127.0.0.1:{self.port}/{BASES[api]}"
        settings = f"poll=0.01{',' if args else ''}{args}"
        given = ["run", data, "--model", f"{api}/m", "--base_url", url]
        return [
            *given,
            *("--scorer", "exact_match", "-o", "out", "--batch_api"),
            *("--batch_args", settings, *more),
        ]

    def run(self, api="openai", *more, **changes):
        """Run the command in this process, and return its exit code."""
        return main(self.arguments(api, *more, **changes))


@pytest.fixture
def serve():
    """`serve("fault", …)`: a host in a thread of the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(*faults, **settings):
            host = BatchHost(*faults, **settings)
            server = stack.enter_context(in_a_thread(handler_of(host)))
            return Place(host, server.server_port)

        yield start


def value():
    """Return the value of the run's only number."""
    [result] = RunReader("out").results
    return result.value


def open_batches():
    log = BatchLog(RunReader("out").layout.batches)
    return [batch for batch in log.batches.values() if batch.is_open]


@pytest.mark.parametrize("api", APIS)
def test_a_batch_gives_the_same_records_as_single_requests(api, serve, capsys):
    place = serve()

    assert place.run(api) == 0

    [batch] = place.host.batches
    assert value() == 1.0
    assert place.host.sent == place.host.paid
    assert len(batch.rows) == SAMPLES
    outputs = list(RunReader("out").outputs("numbers", f"{api}/m"))
    first = outputs[0].output
    assert [part["type"] for part in first["candidates"][0]["parts"]] == [
        "reasoning",
        "text",
    ]
    assert first["usage"]["input_tokens"] == 10
    assert first["details"]["batch"].endswith("batch_1")
    assert "seconds" not in first
    assert open_batches() == []


@pytest.mark.parametrize("api", APIS)
def test_the_bodies_are_those_of_single_requests(api, serve):
    from assay.core import GenerateOptions, Message, Prompt, Request, Text
    from assay.models import build_model
    from assay.models.batching.batch_client import BatchedModel
    from assay.models.batching.choosing import batch_api_of

    place = serve()
    url = f"http://127.0.0.1:{place.port}/{BASES[api]}"
    model = build_model(f"{api}/m", {"base_url": url, "body": {"user": "me"}})
    sent = []

    class Listening:
        async def post(self, address, body, headers):
            sent.append((address, dict(body), dict(headers)))
            raise ConnectionError

    prompt = Prompt((Message("user", (Text("Say 1"),)),))
    request = Request(prompt, GenerateOptions(max_tokens=5, temperature=0.5))
    batched = BatchedModel(model)
    batched.record_next()
    [output] = asyncio.run(batched.model.generate([request]))
    recorded = batched.recorded(output)
    model._client = Listening()
    asyncio.run(model.generate([request]))

    [(address, body, headers)] = sent
    assert recorded is not None
    assert (f"{url}/{recorded.path}", recorded.body) == (address, body)
    assert recorded.headers == headers
    line = batch_api_of(model, "m").encode("x-0", recorded).rstrip(b",\n")
    assert body in json.loads(line).values()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", PASSING_FAULTS)
def test_every_sample_is_answered_whatever_passes(api, fault, serve, capsys):
    if (api, fault) in NOT_OF_THIS_API:
        pytest.skip(f"{api} has no such step")
    place = serve(fault)

    assert place.run(api) == 0

    assert fault not in place.host.faults, "the fault did not happen"
    assert value() == 1.0
    again = ASKED_TWICE.get(fault, 0)
    assert sum(place.host.sent.values()) == SAMPLES + again
    lost = 1 if fault == "some_broken_lines" else 0
    assert sum(place.host.paid.values()) == SAMPLES + lost
    assert open_batches() == []


ERRORS = {
    "no_batches": "has no batch API",
    "key_refused": "check the key in",
    "batch_forgotten": "no longer knows batch",
    "results_gone": "are gone",
    "batch_refused": "no such model",
    "batch_cancelled": "was cancelled before 5 requests had an answer",
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", FINAL_FAULTS)
def test_what_does_not_pass_ends_the_run_with_one_line(api, fault, serve, capsys):
    if (api, fault) == ("anthropic", "batch_refused"):
        pytest.skip("anthropic refuses a batch when it is created, with a status")
    place = serve(fault)

    assert place.run(api) in (1, 2)

    lines = capsys.readouterr().err.splitlines()
    [line] = [line for line in lines if line.startswith("assay: ")]
    assert ERRORS[fault] in line and "; fix: " in line
    assert "secret-key" not in line


def test_a_cancelled_batch_keeps_its_answers_and_the_next_run_asks_for_the_rest(serve):
    place = serve("batch_cancelled")
    assert place.run() == 1
    place.host.faults.clear()

    assert place.run() == 0

    assert value() == 1.0
    assert len(place.host.batches[1].rows) == SAMPLES - 1
    assert set(place.host.paid.values()) == {1}


def test_results_that_are_gone_are_paid_again_only_after_forget(serve, capsys):
    place = serve("results_gone")
    assert place.run() == 1
    place.host.faults.clear()
    place.host.faults.add("batch_forgotten")
    assert place.run() == 1
    assert len(place.host.batches) == 1

    assert main(["batches", "out", "--forget", "batch_1"]) == 0
    place.host.faults.clear()

    assert place.run() == 0
    assert value() == 1.0 and len(place.host.batches) == 2


def test_batches_hold_no_more_requests_than_the_setting_allows(serve):
    place = serve()

    assert place.run(args="requests=4") == 0

    assert [len(batch.rows) for batch in place.host.batches] == [4, 2]
    assert value() == 1.0


def test_batches_are_no_larger_than_the_setting_allows(serve):
    place = serve()

    assert place.run(args="megabytes=0.0005") == 0

    sizes = [len(batch.rows) for batch in place.host.batches]
    assert sum(sizes) == SAMPLES and max(sizes) < SAMPLES


def test_a_request_larger_than_a_batch_is_a_data_error_of_its_sample(serve, capsys):
    with open("numbers.jsonl", "a") as file:
        row = {"question": "Say 9" + " please" * 100, "answer": "9"}
        file.write(json.dumps(row) + "\n")
    place = serve()

    assert place.run("openai", "--on_error", "continue", args="megabytes=0.0005") == 3

    assert sum(place.host.sent.values()) == SAMPLES
    assert "more than a batch takes" in capsys.readouterr().out


def test_a_request_that_fails_in_every_batch_is_asked_alone(serve, capsys):
    place = serve("some_errored")

    assert place.run(args="rounds=1") == 0

    assert value() == 1.0
    assert sum(place.host.singles.values()) == 1
    assert "asked alone, at the usual price" in capsys.readouterr().err


def test_the_price_of_a_batch_is_the_share_of_the_usual_one(serve):
    place = serve()
    prices = ("-a", "price_input=1000000,price_output=1000000")

    assert place.run("openai", *prices, args="price=0.5") == 0

    outputs = RunReader("out").outputs("numbers", "openai/m")
    assert [record.output["usage"]["cost"] for record in outputs] == [6.0] * SAMPLES


def test_a_run_says_that_the_price_is_not_known(serve, capsys):
    place = serve()

    assert place.run() == 0

    assert "the cost is not known" in capsys.readouterr().err


@pytest.mark.parametrize("api", APIS)
def test_an_interrupted_run_leaves_its_batch_and_the_next_one_waits_for_it(
    api, serve, capsys
):
    place = serve(polls=None)
    interrupt_at_second_poll(place.host)

    assert place.run(api) == 130

    captured = capsys.readouterr()
    assert "continues at the service" in captured.err
    assert "assay batches RUN --cancel" in captured.err
    place.host.polls = 0
    assert place.run(api) == 0
    assert value() == 1.0 and len(place.host.batches) == 1


def interrupt_at_second_poll(host):
    """Send the signal of Ctrl-C while a batch is waited for."""
    look = host.look_at

    def look_and_interrupt(batch):
        look(batch)
        if batch.polls == 2:
            os.kill(os.getpid(), signal.SIGINT)

    host.look_at = look_and_interrupt


def test_a_run_without_batches_does_not_ask_what_a_batch_is_being_asked(serve, capsys):
    place = serve(polls=None)
    interrupt_at_second_poll(place.host)
    assert place.run() == 130
    arguments = place.arguments()
    del arguments[arguments.index("--batch_api") :]

    assert main(arguments) == 2

    assert "may still be answered (batch_1)" in capsys.readouterr().err
    assert not place.host.singles


@pytest.mark.parametrize("api", APIS)
def test_batches_lists_and_cancels(api, serve, capsys):
    place = serve(polls=None)
    interrupt_at_second_poll(place.host)
    assert place.run(api) == 130
    capsys.readouterr()

    assert main(["batches", "out"]) == 0
    assert "6 requests  waited for" in capsys.readouterr().out
    assert main(["batches", "out", "--cancel"]) == 0

    assert place.host.batches[0].state == "cancelled"
    assert place.run(api) == 1  # says that it was cancelled
    assert main(["batches", "out", "--cancel"]) == 2
    assert "there is no open batch" in capsys.readouterr().err


def test_a_judge_is_asked_request_by_request_and_the_run_says_so(serve, capsys):
    with open("judge.py", "w") as file:
        file.write("def grade(prompt):\n    return '{\"score\": 4}'\n")
    place = serve()
    arguments = place.arguments()
    arguments[arguments.index("exact_match")] = "judge"

    assert main([*arguments, "--judge", "judge.py:grade"]) == 0

    assert "request by request" in capsys.readouterr().err


def test_each_round_of_a_dialogue_is_one_batch(serve):
    rows = [{"turns": [f"Say {n}", f"Now say {n + 1}"]} for n in range(3)]
    with open("talk.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps({**row, "answer": "1"}) + "\n")
    place = serve()

    assert place.run(data="talk.jsonl") == 0

    first, second = place.host.batches
    assert [question_of(body) for _, body in first.rows] == ["Say 0", "Say 1", "Say 2"]
    assert [len(body["messages"]) for _, body in second.rows] == [3, 3, 3]
    assert value() == pytest.approx(1 / 3)


TOOL_TASK = '''"""Sums by a tool."""
dataset = [{"question": f"Add {n} and 1", "answer": str(n + 1)} for n in range(3)]
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y
tools = [add]
def score(sample, output):
    return sample.target in output.text
'''


def test_each_round_of_calls_to_tools_is_one_batch(serve):
    with open("sums.py", "w") as file:
        file.write(TOOL_TASK)
    place = serve()
    place.host.calls_tools = True
    arguments = place.arguments(data="sums.py")
    index = arguments.index("--scorer")
    del arguments[index : index + 2]

    assert main([*arguments, "--floors", "off"]) == 0

    assert [len(batch.rows) for batch in place.host.batches] == [3, 3]
    roles = [turn["role"] for turn in place.host.batches[1].rows[0][1]["messages"]]
    assert roles[-2:] == ["assistant", "tool"]
    assert value() == 1.0


def test_a_batch_of_another_user_with_as_many_requests_is_not_used(serve):
    """Anthropic's list shows no marker: a batch of the same size of another user is waited for, and not used."""
    place = serve("create_500_before")
    host = place.host
    happens = host.happens

    def happens_with_a_stranger(fault):
        did_happen = happens(fault)
        if fault == "create_500_before" and did_happen:
            body = {"messages": [{"role": "user", "content": "Say 77"}]}
            host.add_batch([(f"stranger-{n}", body) for n in range(SAMPLES)])
        return did_happen

    host.happens = happens_with_a_stranger

    assert place.run("anthropic") == 0

    assert value() == 1.0
    own = [count for question, count in host.sent.items() if question != "Say 77"]
    assert own == [1] * SAMPLES


REFUSED = (
    (["--model", "smollm2"], "not an endpoint with a batch API"),
    (["--model", "openai/m", "--until", "ci=0.1"], "a batch asks everything at once"),
    (["--model", "openai/m", "--replicas", "2"], "--batch_api with replicas"),
    (["--model", "anthropic/m", "--n", "2"], "gives one candidate"),
    (["--model", "openai/m", "--batch_args", "size=3"], "has no setting 'size'"),
    (["--model", "openai/m", "--batch_args", "requests=0"], "a whole number"),
    (["--model", "openai/m", "--batch_args", "requests=60000"], "is more than"),
    (
        ["--model", "openai/m", "--base_url", "http://a:1/v1,http://b:1/v1"],
        "base_url names several",
    ),
)


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_what_a_batch_cannot_do_is_refused_in_one_line(more, message, capsys):
    code = main(["run", "numbers.jsonl", "--batch_api", "-o", "out", *more])

    lines = capsys.readouterr().err.splitlines()
    [line] = [line for line in lines if line.startswith("assay: ")]
    assert code == 2 and message in line and "; fix: " in line
    assert not os.path.exists("out")


def test_settings_of_batches_without_batches_are_refused(capsys):
    code = main(["run", "numbers.jsonl", "--batch_args", "poll=3", "-o", "out"])

    assert code == 2 and "add --batch_api" in capsys.readouterr().err


def test_a_driver_is_refused():
    def driver(engine):
        return {}

    rows = [{"question": "Say 1", "answer": "1"}]
    task = assay.Task(name="driven", dataset=rows, driver=driver)

    with pytest.raises(UsageError, match="call by call"):
        assay.run(task, models=["openai/m"], batch_api=True, output="out")


def test_a_log_line_that_a_kill_cut_off_is_ignored(tmp_path):
    from assay.store.batch_log import LoggedBatch

    path = tmp_path / "batches.jsonl"
    log = BatchLog(path)
    log.plan(LoggedBatch("m1", "t", "m", ("k1", "k2")))
    path.write_bytes(path.read_bytes() + b'{"step":"created","mar')

    again = BatchLog(path)
    [batch] = again.open_batches("t", "m")
    again.note(batch, "created", batch_id="batch_1")

    [read] = BatchLog(path).open_batches("t", "m")
    assert (read.batch_id, list(read.keys)) == ("batch_1", ["k1", "k2"])
