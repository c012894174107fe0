"""Whole runs against an endpoint: one that misbehaves, one that is not there, and llama.cpp's own."""

import asyncio
import contextlib
import gzip
import json
import threading

import pytest

import assay
from assay.cli.main import main
from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models import build_model, embedded

FAULTS = (
    "wait",
    "busy",
    "broken",
    "away",
    "reset",
    "cut",
    "truncated",
    "incomplete",
    "page",
    "letters",
    "elsewhere",
    "none",
    "empty",
    "bomb",
    "large",
    "filtered",
)
PASSING = FAULTS[:10]
"""Those after which another try brings the answer."""


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


def reply(content, finish="stop"):
    return {
        "choices": [
            {
                "message": {"role": "assistant", "content": content},
                "finish_reason": finish,
            }
        ]
    }


class Faulty:
    """Misbehaves once for every question that names a fault, then answers it with its number."""

    def __init__(self):
        self.asked = {}
        self.flying = self.most = 0

    async def __call__(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(
                    head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
                )
                question = json.loads(await reader.readexactly(length))["messages"][0][
                    "content"
                ]
                self.asked[question] = self.asked.get(question, 0) + 1
                fault, number = question.split()
                persists = fault in FAULTS and fault not in PASSING
                known = fault in FAULTS and (persists or self.asked[question] == 1)
                writer.write(self.fault(fault) if known else whole(reply(number)))
                await writer.drain()
                if known and fault in ("reset", "cut"):
                    writer.transport.abort()
                    return

    def fault(self, name):
        error = {"error": {"message": "because"}}
        return {
            "wait": whole(error, "429 Too Many Requests", "Retry-After: 0.01\r\n"),
            "busy": whole(error, "429 Too Many Requests"),
            "broken": whole(error, "500 Internal Server Error"),
            "away": whole(error, "503 Service Unavailable"),
            "reset": b"",
            "cut": whole(reply("7"))[:-10],
            "truncated": whole(json.dumps(reply("7"))[:-9].encode()),
            "incomplete": whole({"choices": [{}]}),
            "page": whole(b"<html>Bad gateway</html>"),
            "letters": whole(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
            "elsewhere": whole(
                b"", "307 Temporary Redirect", "Location: http://169.254.169.254/\r\n"
            ),
            "none": whole(reply(None, "length")),
            "empty": whole(reply("")),
            "bomb": whole(
                gzip.compress(b"0" * 10_000_000), more="Content-Encoding: gzip\r\n"
            ),
            "large": whole(error, "413 Content Too Large"),
            "filtered": whole(
                {"error": {"code": "content_filter", "message": "no"}},
                "400 Bad Request",
            ),
        }[name]


def whole(body, status="200 OK", more=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(data)}\r\n\r\n".encode()
        + data
    )


@contextlib.contextmanager
def serving(handler):
    """The handler behind a port of its own, in a thread, as long as the block lasts."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    port = []

    async def serve():
        server = await asyncio.start_server(handler, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()

    def work():
        loop.run_until_complete(serve())
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    try:
        yield f"http://127.0.0.1:{port[0]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def test_every_fault_that_passes_is_survived_and_none_becomes_a_wrong_answer(tmp_path):
    kinds = [*FAULTS, "fine", "fine"]
    rows = [
        {"id": f"{kind}-{n}", "question": f"{kind} {n}", "answer": str(n)}
        for n, kind in enumerate(kinds)
    ]
    server = Faulty()

    with serving(server) as url:
        result = assay.run(
            assay.Task("t", dataset=rows, scorers="exact_match"),
            "openai/m",
            model_args={"base_url": f"{url}/v1", "max_response_bytes": 100_000},
            concurrency=len(rows),
            on_error="continue",
            output=str(tmp_path / "run"),
        )

    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    ]
    scored = [line for line in lines if line["kind"] == "score"]
    outcomes = {
        line["id"]: (line["outcome"], next(iter(line["values"].values()), None))
        for line in scored
    }
    right = {name for name, outcome in outcomes.items() if outcome == ("scored", 1.0)}
    assert {name.split("-")[0] for name in right} == {*PASSING, "fine"}
    failed = {
        name.split("-")[0]
        for name, (outcome, _) in outcomes.items()
        if outcome == "model_error"
    }
    assert failed == {"elsewhere", "bomb", "large"}
    assert all(server.asked[f"{kind} {n}"] == 2 for n, kind in enumerate(PASSING))
    assert all(
        server.asked[f"{kind} {n}"] == 1
        for n, kind in enumerate(kinds)
        if kind in ("large", "filtered")
    )
    assert result.status == "partial"


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "rows.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": n, "question": f"q {n}", "answer": "x"}) + "\n"
            for n in range(40)
        )
    )
    return str(file)


def said_by(capsys, rows, *arguments):
    """The exit code and the lines that were printed."""
    code = main(["run", rows, "--scorer", "exact_match", *arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return code, [
        line for line in (printed.out + printed.err).splitlines() if line.strip()
    ]


class Refusing:
    """Answers every question alike."""

    def __init__(self, status, body):
        self.reply, self.asked = whole(body, status), 0

    async def __call__(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(
                    int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                )
                self.asked += 1
                writer.write(self.reply)


@pytest.mark.parametrize(
    ("status", "body", "path", "expected"),
    [
        (
            "404 Not Found",
            {"detail": "Not Found"},
            "",
            "fix: base_url may lack the version, as in http://127.0.0.1:",
        ),
        (
            "401 Unauthorized",
            {"error": {"message": "who?"}},
            "/v1",
            "the server refused the key 3 times in a row",
        ),
        (
            "400 Bad Request",
            {"error": {"message": "no such model"}},
            "/v1",
            "HTTP 400: no such model",
        ),
    ],
)
def test_an_endpoint_that_refuses_stops_the_run_with_one_clear_line(
    capsys, rows, status, body, path, expected
):
    server = Refusing(status, body)

    with serving(server) as url:
        code, lines = said_by(
            capsys, rows, "--model", "openai/m", "--base_url", url + path
        )

    assert code == 1
    assert [line for line in lines if "stopped" in line and expected in line]
    assert server.asked <= 40


@pytest.mark.parametrize(
    ("url", "code", "expected"),
    [
        (
            "http://127.0.0.1:1/v1",
            1,
            "cannot connect to 127.0.0.1:1: Connection refused; fix: start the server",
        ),
        (
            "ftp://example.org/v1",
            2,
            "base_url must start with http:// or https://, got 'ftp://example.org/v1'",
        ),
        (
            "localhost:8000/v1",
            2,
            "got 'localhost:8000/v1'; fix: http://localhost:8000/v1",
        ),
        (
            "http://localhost:99999/v1",
            2,
            "base_url localhost: Port out of range 0-65535; fix: http://host:port/v1",
        ),
        (
            "http://h/v1/chat/completions",
            2,
            "the path of one API, chat/completions; fix: --base_url http://h/v1",
        ),
    ],
)
def test_a_wrong_address_is_one_clear_line(capsys, rows, url, code, expected):
    left, lines = said_by(
        capsys, rows, "--model", "openai/m", "--base_url", url, "-a", "start_timeout=0"
    )

    assert left == code
    assert [line for line in lines if expected in line]


@pytest.mark.parametrize("scheme", ["openai", "anthropic", "gemini"])
def test_no_key_is_one_clear_line_before_anything_is_asked(capsys, rows, scheme):
    left, lines = said_by(capsys, rows, "--model", f"{scheme}/m")

    assert left == 2
    assert len(lines) == 1
    assert f"set the environment variable {scheme.upper()}_API_KEY" in lines[0]


@pytest.mark.embedded
@pytest.mark.skipif(
    bool(embedded.CATALOGUE["smollm2"].missing),
    reason=embedded.CATALOGUE["smollm2"].pip,
)
def test_llama_cpps_own_server_is_an_endpoint_like_any_other(monkeypatch):
    import xllamacpp

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    local = build_model("smollm2", {"context": 512})
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = (
        local.path,
        512,
        2,
        -1,
    )
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys = ["sk-test-0123456789abcdef"]
    server = xllamacpp.Server(params)
    address = server.listening_address

    def ask(text, **options):
        return Request(
            Prompt((Message.of("user", text),)),
            GenerateOptions(temperature=0.0, **options),
        )

    async def put(base, *requests, **options):
        model = build_model("openai/smollm2", {"base_url": base, **options})
        try:
            return await asyncio.gather(
                *[model.generate([request]) for request in requests]
            )
        finally:
            await model.close()

    [[two], [stopped], [long]] = asyncio.run(
        put(
            f"{address}/v1",
            ask("Name a colour.", max_tokens=3, n=2, logprobs=2),
            ask("Count: one two three", max_tokens=40, stop=(" ",)),
            ask("word " * 900, max_tokens=2),
        )
    )
    [[lost]] = asyncio.run(put(f"{address}/v9", ask("hi", max_tokens=1)))
    [[responded]] = asyncio.run(
        put(f"{address}/v1", ask("Say hi.", max_tokens=4), api="responses")
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    [[locked]] = asyncio.run(put(f"{address}/v1", ask("hi", max_tokens=1)))

    assert len(two.candidates) == 2
    assert [len(candidate.tokens) for candidate in two.candidates] == [3, 3]
    assert len(two.candidates[0].tokens[0].top) == 2
    assert two.usage.input_tokens > 0
    assert (stopped.error, stopped.stop_reason) == (None, "stop")
    assert " " not in stopped.text
    assert (long.error.kind, long.error.retryable) == ("context", False)
    assert (lost.error.kind, lost.error.retryable) == ("http", False)
    assert responded.error is None and responded.text
    assert (locked.error.kind, "sk-wrong" in locked.error.message) == ("auth", False)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--concurrency", "0"), "--concurrency is 0; fix: at least 1"),
        (("-b", "-2"), "--batch_size is -2; fix: at least 1"),
        (
            ("-a", "total_timeout=-1"),
            "total_timeout of model 'openai/m' is -1; fix: seconds, above 0",
        ),
        (
            ("-a", "idle_timeout=abc"),
            "idle_timeout of model 'openai/m' is 'abc'; fix: seconds, above 0",
        ),
        (
            ("-a", "connect_timeout=true"),
            "connect_timeout of model 'openai/m' is True; fix: seconds, above 0",
        ),
        (
            ("-a", "max_response_bytes=many"),
            "max_response_bytes of model 'openai/m' is 'many'",
        ),
        (("-a", "think_tags=maybe"), "think_tags must be true or false, got 'maybe'"),
        (
            ("-a", "max_tokens_field=foo"),
            "max_tokens_field must be one of auto, max_tokens, max_completion_tokens",
        ),
        (("-a", "audio_format=16"), "audio_format takes a name, got 16"),
        (
            ("-a", "price_input=abc"),
            "price_input is 'abc'; fix: the price of a million tokens",
        ),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_before_the_run(
    capsys, rows, flags, expected
):
    left, lines = said_by(
        capsys,
        rows,
        "--model",
        "openai/m",
        "--base_url",
        "http://127.0.0.1:1/v1",
        *flags,
    )

    assert left == 2 and any(expected in line for line in lines)
