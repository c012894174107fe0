"""A server that gives only wrong replies from the first on ends the run; one that is slow, busy or loading does not."""

import asyncio
import json
import signal

import pytest
from faulty_server import FaultyServer, chat, reply
from virtual_time import VirtualLoop

import assay
from assay.runner.events import Silent

GOOD = object()
WRONG = {
    "html": reply(b"<html>\n<title>Log in</title></html>", kind="text/html"),
    "empty body": reply(b""),
    "no choices": reply(b'{"choices": []}'),
    "error in 200": reply(b'{"error": {"message": "CUDA out of memory"}}'),
    "content 42": reply(
        b'{"choices": [{"message": {"role": "assistant", "content": 42}}]}'
    ),
    "cut body": reply(chat("1"))[:-9],
    "500": reply(
        b'{"error": {"message": "no kernel image"}}', "500 Internal Server Error"
    ),
    "502": reply(b"<html>Bad Gateway</html>", "502 Bad Gateway"),
    "garbled head": b"HTTP/1.1 200 OK\r\nContent-Length : 8\r\n\r\n{}",
    "garbled chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "packed as it is not": reply(b"{}", "200 OK", "Content-Encoding: gzip"),
}
SAID = {
    "html": "'<html>",
    "empty body": "not whole JSON",
    "no choices": "the answer has no `choices`",
    "error in 200": "CUDA out of memory",
    "content 42": "42",
    "cut body": "the answer broke off",
    "500": "HTTP 500: no kernel image",
    "502": "HTTP 502: <html>Bad Gateway</html>",
    "garbled head": "not well-formed HTTP",
    "garbled chunk": "not well-formed HTTP",
    "packed as it is not": "cannot be unpacked",
}


class Server(FaultyServer):
    """Answers with what `script(seconds since the start, sample)` gives, after as many seconds; `GOOD` is right."""

    def __init__(self, script):
        super().__init__()
        self.script, self.asked = script, []

    async def _answer(self, number, writer):
        now = asyncio.get_running_loop().time()
        self.asked.append(now)
        what, seconds = self.script(now, int(number))
        await asyncio.sleep(seconds)
        if what is None:
            return False
        writer.write(reply(chat(number)) if what is GOOD else what)
        return what is not WRONG["cut body"]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """`run(script, count=…)`: the result of a run against that server, and the virtual seconds it took."""
    seconds = []

    class Loop(VirtualLoop):
        def close(self):
            seconds.append(self.time())
            super().close()

    monkeypatch.setattr(asyncio.events, "new_event_loop", Loop)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)

    def go(script, count=12, model_args=None, **settings):
        server = Server(script)
        server.install(monkeypatch)
        rows = [
            {"id": str(n), "question": f"say {n}", "answer": str(n)}
            for n in range(count)
        ]
        task = assay.Task("t", dataset=rows, scorers="exact_match")
        model = {
            "model": "openai/m",
            "model_args": {"base_url": "https://server.test/v1", **(model_args or {})},
        }
        result = assay.run(
            task, output=str(tmp_path / "run"), watcher=Silent(), **model, **settings
        )
        return result, seconds[-1], server

    return go


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("name", WRONG)
def test_only_wrong_replies_from_the_first_on_end_the_run_after_thirty_seconds(
    run, name, count
):
    result, seconds, _ = run(lambda now, number: (WRONG[name], 0.1), count)

    assert result.status == "failed" and 29 <= seconds <= 35
    assert "stopped: the server gave only wrong replies for 3" in result.notes[0]
    assert (
        SAID[name] in result.notes[0]
        and "--give_up_after SECONDS waits longer" in result.notes[0]
    )


@pytest.mark.parametrize("count", [1, 12])
def test_a_server_that_streams_is_named_at_once(run, count):
    events = b'data: {"choices": []}\n\ndata: [DONE]\n\n'
    streamed = reply(events, kind="text/event-stream")

    result, seconds, _ = run(lambda now, number: (streamed, 0.1), count)

    assert result.status == "failed" and seconds <= 1
    assert "streams its answer (text/event-stream)" in result.notes[0]


@pytest.mark.parametrize("policy", ["continue", "0.9", "stop"])
def test_the_error_budget_does_not_prolong_it(run, policy):
    result, seconds, _ = run(
        lambda now, number: (WRONG["500"], 0.1), 400, on_error=policy
    )

    assert result.status == "failed" and seconds <= 35


@pytest.mark.parametrize(("limit", "least", "most"), [(5, 4.9, 8), (120, 119, 126)])
def test_how_long_is_an_option_of_the_run(run, limit, least, most):
    result, seconds, _ = run(
        lambda now, number: (WRONG["500"], 0.1), give_up_after=limit
    )

    assert result.status == "failed" and least <= seconds <= most


LOADING = reply(
    b'{"error": {"code": 503, "message": "Loading model"}}', "503 Service Unavailable"
)
BUSY = reply(b"{}", "429 Too Many Requests", "Retry-After: 40")


@pytest.mark.parametrize(
    "what",
    [(LOADING, 0.1), (BUSY, 0.1), (GOOD, 100)],
    ids=["503 while loading", "429 with Retry-After", "first byte"],
)
def test_a_server_that_is_slow_busy_or_loading_is_waited_for(run, what):
    result, seconds, _ = run(lambda now, number: what if now < 90 else (GOOD, 0.1))

    assert result.status == "complete" and seconds > 40


def test_a_server_that_says_only_too_many_requests_and_names_no_wait_is_given_up(run):
    spent = reply(
        b'{"error": {"message": "You exceeded your current quota"}}',
        "429 Too Many Requests",
    )

    result, seconds, _ = run(lambda now, number: (spent, 0.1))

    assert result.status == "failed" and 29 <= seconds <= 35
    assert "You exceeded your current quota" in result.notes[0]


@pytest.mark.parametrize("what", [LOADING, BUSY], ids=["503", "429"])
def test_wrong_replies_before_a_server_is_loading_do_not_count(run, what):
    def script(now, number):
        return (
            (WRONG["502"], 0.1)
            if now < 20
            else (what, 0.1)
            if now < 70
            else (GOOD, 0.1)
        )

    result, _, _ = run(script)

    assert result.status == "complete"


def test_one_that_waits_for_its_first_byte_is_not_given_up_for_the_wrong_replies_to_others(
    run,
):
    def script(now, number):
        if number == 3 and now < 5:
            return GOOD, 50
        return (WRONG["500"], 0.1) if now < 45 else (GOOD, 0.1)

    result, _, server = run(script)

    assert result.status == "complete" and max(server.asked) > 45


def test_after_one_proper_answer_a_server_is_waited_for_as_long_as_ever(run):
    def script(now, number):
        return (GOOD, 0.1) if now < 1 or now > 200 else (WRONG["500"], 0.1)

    result, seconds, _ = run(script, 200, concurrency=4)

    assert result.status == "complete" and seconds > 200


def test_a_server_that_never_says_anything_is_left_after_a_few_tries(run):
    result, seconds, _ = run(
        lambda now, number: (GOOD, 3600), 4, model_args={"first_byte_timeout": 3}
    )

    assert result.status == "failed" and seconds <= 45
    assert "no first byte within 3 s" in " ".join(result.notes)


def test_the_same_command_continues_once_the_server_is_repaired(run):
    first, _, _ = run(lambda now, number: (WRONG["html"], 0.1))
    second, _, _ = run(lambda now, number: (GOOD, 0.1))

    assert (first.status, second.status) == ("failed", "complete") and second[
        0
    ].value == 1.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["500", "html", "429", "gone"])
def test_a_signal_while_all_wait_for_another_try_ends_the_run_at_once(
    run, number, what, tmp_path
):
    replies = {
        **WRONG,
        "429": reply(b"{}", "429 Too Many Requests", "Retry-After: 60"),
        "gone": None,
    }
    sent = []

    def script(now, sample):
        if now < 2:
            return GOOD, 0.1
        if not sent:
            asyncio.get_running_loop().call_later(
                10.0, lambda: (sent.append(now + 10.0), signal.raise_signal(number))
            )
            sent.append(None)
        return replies[what], 0.1

    result, seconds, _ = run(script, 400, concurrency=4)

    assert result.status == "interrupted" and result.exit_code == 130
    assert seconds - sent[-1] < 1.0, "it waited for what was not in flight"
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "records.jsonl").read_bytes().splitlines()
    ]
    assert all("error" not in line.get("output", {}) for line in lines), (
        "what was not asked again has not failed"
    )


class BusyJudge(Server):
    """Tells everybody to come back in a minute; ten seconds later the run is told to stop."""

    def __init__(self):
        super().__init__(None)
        self.stopped_at = None

    async def _answer(self, number, writer):
        if self.stopped_at is None:
            self.stopped_at = asyncio.get_running_loop().time() + 10
            asyncio.get_running_loop().call_at(
                self.stopped_at, signal.raise_signal, signal.SIGTERM
            )
        writer.write(BUSY)
        return True


async def four(request):
    """In the loop, not in a thread: virtual time does not wait for threads."""
    return "4"


def test_a_signal_does_not_wait_for_a_judge_that_only_waits_for_another_try(
    run, monkeypatch, tmp_path
):
    server = BusyJudge()
    server.install(monkeypatch)
    rows = [{"id": str(n), "question": f"say {n}", "answer": str(n)} for n in range(6)]
    ended = []
    monkeypatch.setattr(
        Silent, "stop", lambda self: ended.append(asyncio.get_running_loop().time())
    )

    result = assay.run(
        assay.Task("t", dataset=rows, scorers="judge"),
        four,
        judges={"judge": "openai/j"},
        judge_args={"base_url": "https://server.test/v1"},
        output=str(tmp_path / "run"),
        watcher=Silent(),
    )

    assert result.status == "interrupted", result.notes
    assert ended[0] - server.stopped_at < 1.0
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "records.jsonl").read_bytes().splitlines()
    ]
    assert not [line for line in lines if line["kind"] == "score"], (
        "no verdict was given, and none failed"
    )
