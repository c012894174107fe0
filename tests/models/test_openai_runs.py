"""Whole runs against an endpoint: one that misbehaves, one that is not there, and llama.cpp's own."""

import asyncio
import base64
import contextlib
import gzip
import json
import threading
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models import build_model, embedded

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
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
    [cause] = [line for line in lines if "stopped" in line]
    assert expected in cause
    assert server.asked <= 40
    assert not [line for line in lines if "n/a" in line or "infrastructure" in line]


@pytest.mark.parametrize("limit", ["1", "2", "40"])
def test_a_wrong_model_name_stops_after_the_first_calls(capsys, rows, limit):
    message = "The model `m` does not exist (request 12)"
    server = Refusing("404 Not Found", {"error": {"message": message}})

    with serving(server) as url:
        options = ["--base_url", f"{url}/v1", "--concurrency", "1", "--limit", limit]
        code, lines = said_by(capsys, rows, "--model", "openai/m", *options)

    assert code == 1
    assert server.asked == min(int(limit), 3)
    [cause] = [line for line in lines if message in line]
    assert "fix: check the name of the model" in cause
    assert not [line for line in lines if "n/a" in line]


@pytest.mark.parametrize("limit", ["2", "40"])
def test_an_exception_in_the_users_file_stops_with_its_line(capsys, rows, limit):
    Path("mine.py").write_text(
        "def generate(messages):\n    return undefined(messages)\n", "utf-8"
    )

    code, lines = said_by(capsys, rows, "--model", "mine.py:generate", "--limit", limit)

    assert code == 1
    [cause] = [line for line in lines if "NameError" in line]
    assert "name 'undefined' is not defined (mine.py:2)" in cause
    assert "fix: correct mine.py:2 and rerun the command" in cause
    assert not [line for line in lines if "n/a" in line or "infrastructure" in line]


def test_an_exception_for_some_samples_does_not_stop_the_run(capsys, rows):
    Path("mine.py").write_text(
        "def generate(text: str):\n    assert not text.endswith(('1', '2'))\n    return 'x'\n",
        "utf-8",
    )
    arguments = ["--model", "mine.py:generate", "--on_error", "0.5", "-o", "run"]

    said_by(capsys, rows, *arguments)
    code, lines = said_by(capsys, rows, *arguments)

    assert code == 3
    assert not [line for line in lines if "stopped" in line]


def test_a_question_without_a_reference_uses_chat(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("questions.jsonl").write_text('{"question": "Why is the sky blue?"}\n')
    Path("judge.py").write_text(
        "def generate(messages):\n    return '{\"score\": 4}'\n", "utf-8"
    )
    asked = []

    class Chat(Refusing):
        async def __call__(self, reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    size = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
                    body = json.loads(await reader.readexactly(int(size)))
                    asked.append((head.split(b" ")[1].decode(), body))
                    writer.write(self.reply)

    with serving(Chat("200 OK", reply("Because."))) as url:
        command = "run questions.jsonl --model openai/m --scorer judge"
        judge = f"--judge judge.py:generate --base_url {url}/v1"
        code = main([*command.split(), *judge.split()])

    assert code == 0
    [(path, body)] = asked
    assert path == "/v1/chat/completions"
    question = {"role": "user", "content": "Why is the sky blue?"}
    assert body["messages"] == [question]


def test_an_image_in_free_roles_is_refused_before_the_run(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("red.png").write_bytes(PNG)
    Path("free.py").write_text(
        "from assay import Image\n"
        "dataset = [{'question': 'Which colour?', 'image': 'red.png', 'answer': 'red'}]\n"
        "def prompt(sample):\n"
        "    parts = [{'type': 'text', 'text': sample.input}, sample.media[0]]\n"
        "    return [{'role': 'Question', 'content': parts}, {'role': 'Answer'}]\n",
        "utf-8",
    )
    server = Refusing("200 OK", reply("red"))

    with serving(server) as url:
        code = main(
            ["run", "free.py", "--model", "openai/m", "--base_url", f"{url}/v1"]
        )

    printed = capsys.readouterr().err
    assert code == 2
    assert "a completion request cannot carry image" in printed
    assert "fix: give the task `roles`" in printed
    assert server.asked == 0


def test_a_question_for_one_token_is_not_called_cut(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {"question": "q", "choices": ["x", "y"], "answer": "A"}
    Path("mc.jsonl").write_text(json.dumps(row))
    body = reply("A", "length")
    token = {"token": "A", "logprob": -0.1, "top_logprobs": []}
    body["choices"][0]["logprobs"] = {"content": [token]}

    with serving(Refusing("200 OK", body)) as url:
        arguments = ["--model", "openai/m", "--base_url", f"{url}/v1"]
        main(["run", "mc.jsonl", "--measure", "first_token", *arguments, "-o", "run"])

    printed = capsys.readouterr().out
    assert "1 / 1" in printed
    assert "cut by max_tokens" not in printed


def test_what_a_server_ignores_and_who_replied_is_noted_under_the_table(capsys, rows):
    body = {**reply("x", "length"), "model": "other"}
    arguments = ["--model", "openai/m", "--max_tokens", "3", "--logprobs", "2"]

    with serving(Refusing("200 OK", body)) as url:
        _, lines = said_by(
            capsys, rows, *arguments, "--base_url", f"{url}/v1", "-o", "run"
        )
        _, again = said_by(
            capsys, rows, *arguments, "--base_url", f"{url}/v1", "-o", "run"
        )

    for printed in (lines, again):
        text = " ".join("\n".join(printed).split())  # the last column may wrap
        assert "none (40 cut by max_tokens, scored)" in text
        assert "40 answers of openai/m: the server ignored logprobs" in text
        assert "the server answered as model 'other', not 'm'" in text
    summary = json.loads(Path("run/summary.json").read_text())
    [usage] = summary["usage"].values()
    assert usage["cut_answers"] == 40


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
def test_a_missing_key_is_reported_in_one_line_before_any_request(capsys, rows, scheme):
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
    [[plain], [penalized]] = asyncio.run(
        put(
            f"{address}/v1",
            ask("Count from one to ten in words.", max_tokens=12),
            ask("Count from one to ten in words.", max_tokens=12, repetition_penalty=3),
        )
    )
    [[lost]] = asyncio.run(put(f"{address}/v9", ask("hi", max_tokens=1)))
    [[responded]] = asyncio.run(
        put(f"{address}/v1", ask("Say hi.", max_tokens=4), api="responses")
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    [[locked]] = asyncio.run(put(f"{address}/v1", ask("hi", max_tokens=1)))

    assert plain.text != penalized.text
    # The server calls its model by the path of its file, which a note says; it knows the option.
    assert not any("penalty" in note for note in penalized.details["notes"])
    assert "SmolLM2" in plain.details["reply_model"]
    assert responded.stop_reason in ("stop", "length")
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
        (("-a", "think_tags=maybe"), "think_tags is 'maybe'"),
        (
            ("-a", "max_tokens_field=foo"),
            "max_tokens_field must be one of auto, max_tokens, max_completion_tokens",
        ),
        (("-a", "audio_format=true"), "audio_format takes a name, got True"),
        (
            ("-a", "price_input=abc"),
            "price_input is 'abc', which is not a number",
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


def test_a_measure_by_likelihood_names_the_option_that_gives_it(capsys, tmp_path):
    file = tmp_path / "mc.jsonl"
    row = {"question": "?", "choices": ["a", "b"], "answer": "A"}
    file.write_text(json.dumps(row) + "\n")
    url = ["--base_url", "http://127.0.0.1:1/v1"]
    measure = ["--measure", "letter_likelihood"]

    code = main(["run", str(file), "--model", "openai/m", *url, *measure])

    assert code == 2
    assert "fix: -a likelihood_by=echo" in capsys.readouterr().err


def test_keep_alive_is_true_or_false(capsys, rows):
    url = "http://localhost:1/v1"
    left, lines = said_by(
        capsys, rows, "--model", "openai/m", "--base_url", url, "-a", "keep_alive=maybe"
    )

    assert left == 2
    assert [line for line in lines if "keep_alive" in line and "maybe" in line]
