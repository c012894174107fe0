"""Secrets in every form and from every source never appear in a file, on the screen or in an export."""

import base64
import html
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from http_thread import in_a_thread

from assay.cli.main import main

ENVIRONMENT = {
    "MY_PAT": "pat/of+an odd=name-5101",
    "OTHER_PAT": "judges-pat-5102",
    "OPENAI_API_KEY": "usual-key-5103",
    "GATE": 'gate "quoted" \\value-5104',
    "IN_BODY": "bödy-välue-5105",
    "IN_URL": "url-value-5106",
    "HTTP_PROXY": "http://me:proxy%2Fpass-5107@127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
WRITTEN = {
    "header": "written-header-5111",
    "body": "written-body-5112",
    "query": "written-query-5113",
}
SECRETS = (
    *(
        ENVIRONMENT[name]
        for name in (
            "MY_PAT",
            "OTHER_PAT",
            "OPENAI_API_KEY",
            "GATE",
            "IN_BODY",
            "IN_URL",
        )
    ),
    "proxy/pass-5107",
    "proxy%2Fpass-5107",
    *WRITTEN.values(),
)
UNKNOWN = "sk-" + "a1b2c3d4e5f6"
"""Looks like a key, and nobody gave it."""

TASK = f"""
import os

dataset = [{{"id": str(n), "question": f"q{{n}}", "answer": "x"}} for n in range(6)]

def told():
    return " ".join(os.environ[name] for name in {list(ENVIRONMENT)!r})

def prompt(sample):
    if sample.id == "4":
        raise ValueError("the template knows " + told() + " and {UNKNOWN}")
    return sample.input

def score(sample, output):
    if sample.id == "5":
        raise ValueError("the scorer knows " + told() + " and {UNKNOWN}")
    return 1.0
"""


def forms(secret: str) -> list[str]:
    """Ways to write a secret that a gateway may have of its own."""
    data = secret.encode()
    return [
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        json.dumps(json.dumps(secret)),
        repr(secret),
        html.escape(secret),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        base64.b64encode(b"me:" + data).decode(),
        base64.b64encode(b"Bearer " + data).decode(),
        base64.b64encode(b'{"key": "' + data + b'"}').decode(),
    ]


def inner(form: str) -> str:
    """The part of a form that tells the secret: base64 ends in bits that belong to what follows."""
    return form.strip("\"'").rstrip("=")[:-1]


class Gateway(BaseHTTPRequestHandler):
    """Shows all it knows, in an answer or in an error."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = json.dumps(body.get("messages", ""))
        everything = " | ".join(form for secret in SECRETS for form in forms(secret))
        sent = f"{everything} | {dict(self.headers)} | {self.path} | {body}"
        answer = {"choices": [{"message": {"content": sent}, "finish_reason": "stop"}]}
        if "q1" in question:
            return self.say(400, {"error": {"message": sent}})
        if "q2" in question:
            return self.say(
                400,
                {"error": {"message": f"Incorrect API key {UNKNOWN}, {self.headers}"}},
            )
        return self.say(200, answer)

    def say(self, status, plain):
        said = json.dumps(plain).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with in_a_thread(Gateway) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    Path("bench.py").write_text(TASK)
    return tmp_path


def leaks(text: str) -> list[str]:
    return sorted(
        {form for secret in SECRETS for form in forms(secret) if inner(form) in text}
    )


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_no_secret_comes_out_by_any_way(server, place, capfd, debug):
    url = f"{server}?api_key={WRITTEN['query']}&gate=${{env:IN_URL}}"
    headers = json.dumps({"X-Gate": "${env:GATE}", "X-Written": WRITTEN["header"]})
    options = [
        f'{{"base_url": "{url}", "api_key_env": "MY_PAT", "headers": {headers}, '
        f'"body": {{"api_key": "{WRITTEN["body"]}", "note": "${{env:IN_BODY}}"}}}}'
    ]
    judge = json.dumps({"base_url": server, "api_key_env": "OTHER_PAT"})
    command = [
        "run",
        "bench.py",
        "--model",
        "openai/x",
        "--on_error",
        "continue",
        "-o",
        "run",
        "-a",
        *options,
    ]

    main(
        [
            *command,
            "--scorer",
            "bench.py:score",
            "--scorer",
            "judge",
            "--judge",
            "openai/y",
            "--judge_args",
            judge,
        ]
    )
    for more in (
        ["show", "run"],
        ["show", "run", "--sample_id", "0"],
        ["score", "run", *debug],
    ):
        main(more)
    main(["export", "run", "--to", "csv", "-o", "out.csv"])
    main(
        [
            *command[:-2],
            "-a",
            '{"base_url": "ftp://nowhere", "api_key_env": "MY_PAT"}',
            *debug,
        ]
    )

    shown = "".join(capfd.readouterr())
    assert leaks(shown) == [] and UNKNOWN not in shown
    files = [
        path
        for path in place.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert {path.name for path in files} >= {
        "run.json",
        "records.jsonl",
        "summary.json",
    }
    for path in files:
        text = path.read_text(errors="replace")
        assert (path.name, leaks(text)) == (path.name, [])
        assert leaks(text.replace("\\\\", "\\").replace('\\"', '"')) == []


def test_a_key_in_a_load_error_of_a_benchmark_file_is_redacted(place, capfd):
    Path("bench.py").write_text(
        f"import os\nraise ValueError('{UNKNOWN} ' + os.environ['OPENAI_API_KEY'])\n"
    )

    assert main(["run", "bench.py", "--model", "scripted", "-a", "answers=x"]) == 2

    shown = "".join(capfd.readouterr())
    assert (
        "[redacted] [redacted]" in shown and leaks(shown) == [] and UNKNOWN not in shown
    )


def test_answers_without_a_secret_are_written_as_they_are(place):
    from assay.store import Redactor

    redactor = Redactor.of(
        {"api_key": ENVIRONMENT["MY_PAT"]}, {"headers": {"x": "plainword"}}
    )
    said = [
        "sk-learn-0.24.2",
        "Bearer of bad news",
        "https://me:you@host/?token=abcdefgh",
        "plainword",
        UNKNOWN,
    ]
    body = json.dumps({"kind": "output", "output": said}).encode()

    assert redactor.line(body) is body


def test_a_file_called_like_a_key_keeps_its_name_in_errors(place, capfd):
    folder = place / "sk-learn-datasets"
    folder.mkdir()
    (folder / "rows.jsonl").write_text('{"question": 1\n')

    main(["run", str(folder / "rows.jsonl"), "--model", "scripted", "-a", "answers=x"])

    assert "sk-learn-datasets/rows.jsonl" in "".join(capfd.readouterr())


def test_the_shared_cache_keeps_no_answer_with_a_secret_in_any_form(place, tmp_path):
    from assay.core import Output
    from assay.store import Redactor
    from assay.store.cache import ResponseCache

    cache = ResponseCache(tmp_path / "cache", Redactor.of())
    for number, form in enumerate(forms(ENVIRONMENT["OPENAI_API_KEY"])):
        cache.put(f"k{number}", Output.of(f"see {form}"))
    cache.put("plain", Output.of("see nothing"))

    found = [cache.get(f"k{number}") for number in range(len(forms("x")))]
    assert set(found) == {None} and cache.get("plain") is not None
    cache.close()
