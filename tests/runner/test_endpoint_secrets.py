"""Secrets in what a model behind a URL is given: its address, its headers, what is added to its requests."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from http_thread import in_a_thread

import assay
from assay.cli.main import main
from assay.core.record import result_from_plain
from assay.models import build_model
from assay.report import html_table
from assay.runner.options import RunOptions
from assay.store import Redactor

IN_QUERY = "sk-query-4801"
UNDER_ANOTHER_NAME = "gate-open-4802"
IN_HEADER = "sk-header-4803"
IN_BODY = "body-secret-4804"
BY_FORM = "hf_abcdefgh4805"
SHORT = "pin-7"
ALL = (IN_QUERY, UNDER_ANOTHER_NAME, IN_HEADER, IN_BODY, BY_FORM, SHORT)
HEADERS = {"X-Gate": IN_HEADER, "X-Pin": SHORT, "Accept-Language": "en"}
BODY = {"extra": {"api_key": IN_BODY}, "note": BY_FORM, "top": 1}


JUDGE = """
class Judge:
    def __init__(self, token=""):
        pass
    def generate(self, text):
        return '{"score": 4}'
def answer(text):
    return "x"
"""


class Handler(BaseHTTPRequestHandler):
    """Answers `q0`; shows all it was sent, in an error to `q1` and in its answer to `q2`."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = body.pop("messages")[-1]["content"]
        self.server.asked.append((question, self.path, dict(self.headers), body))
        sent = f"{self.path} {dict(self.headers)} {body}".replace(
            SHORT, "…" if question == "q2" else SHORT
        )
        answer = {
            "choices": [
                {
                    "message": {"content": sent if question == "q2" else "x"},
                    "finish_reason": "stop",
                }
            ]
        }
        said = json.dumps(
            {"error": {"message": sent[:250]}} if question == "q1" else answer
        ).encode()
        self.send_response(400 if question == "q1" else 200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with in_a_thread(Handler) as server:
        server.asked = []
        yield server


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    file = tmp_path / "rows.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": f"{n}", "question": f"q{n}", "answer": "x"}) + "\n"
            for n in range(3)
        )
    )
    return file


def place(server, key=IN_QUERY, gate=UNDER_ANOTHER_NAME):
    return f"http://127.0.0.1:{server.server_port}/v1?api_key={key}&gate={gate}&api-version=2024-02-01"


def command(rows, server, *more, url=None, headers=HEADERS):
    options = json.dumps({"headers": headers, "body": BODY})
    return [
        "run",
        str(rows),
        "--model",
        "openai/m",
        "--base_url",
        url or place(server),
        "-a",
        options,
        "--scorer",
        "exact_match",
        "--on_error",
        "continue",
        *more,
    ]


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "rows.jsonl"
    }


def leaks(found: dict[str, bytes]) -> list[tuple[str, str]]:
    return [
        (where, secret)
        for where, data in found.items()
        for secret in ALL
        if secret.encode() in data
    ]


def test_no_secret_of_an_endpoint_reaches_what_a_run_leaves_or_shows(
    rows, server, tmp_path, capsys
):
    run = tmp_path / "run"

    code = main(
        command(rows, server, "-o", str(run), "--cache", str(tmp_path / "cache"))
    )

    for to in ("csv", "lm-eval-json"):
        main(["export", str(run), "--to", to, "-o", str(tmp_path / f"export.{to}")])
    main(["export", str(run), f"file://{tmp_path}/elsewhere"])
    main(["show", str(run), "--limit", "10"])
    main(["show", str(run), "--failures"])
    main(command(rows, server, "--dry_run", "--json"))
    results = [
        result_from_plain(row)
        for row in json.loads((run / "summary.json").read_text())["results"]
    ]
    shown = "".join(capsys.readouterr())
    assert code == 3 and len(server.asked) == 3
    _, path, headers, body = server.asked[0]
    assert (
        IN_QUERY in path
        and headers["X-Gate"] == IN_HEADER
        and body["extra"] == {"api_key": IN_BODY}
    )
    assert (
        leaks(
            {
                **everything(tmp_path),
                "screen": shown.encode(),
                "html": html_table(results).encode(),
            }
        )
        == []
    )
    assert (
        "[redacted]" in shown
        and "api-version=2024-02-01" in (run / "run.json").read_text()
    )


def test_the_same_endpoint_is_known_again_and_one_with_another_secret_is_another(
    rows, server, tmp_path
):
    kept = [
        "-o",
        str(tmp_path / "run"),
        "--cache",
        str(tmp_path / "cache"),
        "--sample_id",
        "0",
    ]
    main(command(rows, server, *kept))
    main(command(rows, server, *kept))
    assert len(server.asked) == 1

    main(command(rows, server, *kept, url=place(server, key="sk-another-1")))
    assert len(server.asked) == 2
    main(command(rows, server, *kept, url=place(server, gate="another-gate-1")))
    assert len(server.asked) == 3
    main(command(rows, server, *kept, headers={**HEADERS, "X-Pin": "pin-8"}))
    assert len(server.asked) == 4


def test_a_key_that_changes_in_the_environment_leaves_the_endpoint_the_same(
    rows, server, tmp_path, monkeypatch
):
    kept = ["-o", str(tmp_path / "run"), "--sample_id", "0"]
    given = {
        "url": place(server, key="${env:GATE}"),
        "headers": {"X-Gate": "${env:GATE}"},
    }
    monkeypatch.setenv("GATE", "first-secret-1")
    main(command(rows, server, *kept, **given))
    monkeypatch.setenv("GATE", "second-secret-2")

    main(command(rows, server, *kept, **given))

    [(_, path, headers, _)] = server.asked
    assert "first-secret-1" in path and headers["X-Gate"] == "first-secret-1"
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"][
        "model_args"
    ]
    assert (
        config["headers"] == {"X-Gate": "${env:GATE}"}
        and "api_key=${env:GATE}" in config["base_url"]
    )
    assert b"first-secret-1" not in b"".join(everything(tmp_path).values())


def test_the_secrets_of_a_model_given_as_an_object_are_known_too(
    rows, server, tmp_path
):
    model = build_model(
        "openai/m", {"base_url": place(server), "headers": HEADERS, "body": BODY}
    )

    result = assay.run(
        str(rows),
        model,
        scorers=["exact_match"],
        on_error="continue",
        output=str(tmp_path / "run"),
    )

    assert len(server.asked) == 3 and any("[redacted]" in note for note in result.notes)
    assert (
        leaks(
            {
                **everything(tmp_path),
                "notes": repr(result).encode(),
                "model": repr(model).encode(),
            }
        )
        == []
    )


def test_what_a_reference_names_is_hidden_in_answers(
    rows, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("GATE", "named-by-nothing-1")

    main(
        command(
            rows, server, "-o", str(tmp_path / "run"), headers={"X-Gate": "${env:GATE}"}
        )
    )

    assert len(server.asked) == 3
    assert b"named-by-nothing-1" not in b"".join(everything(tmp_path).values())


def test_a_run_repeated_from_its_manifest_asks_for_its_secrets_in_one_line(
    rows, server, tmp_path, capsys, monkeypatch
):
    main(command(rows, server, "-o", str(tmp_path / "run"), "--sample_id", "0"))
    config = [
        "run",
        "--config",
        str(tmp_path / "run" / "run.json"),
        "-o",
        str(tmp_path / "again"),
    ]
    capsys.readouterr()

    code = main(config)

    lines = capsys.readouterr().err.strip().splitlines()
    assert code == 2 and len(server.asked) == 1 and len(lines) == 1
    listed = lines[0].partition(
        " are secrets, which run.json does not keep; fix: give them again: "
    )[0]
    assert all(
        name in listed
        for name in ("base_url", "headers.X-Gate", "body.extra.api_key", "body.note")
    )
    assert lines[0].endswith(
        "; ${env:NAME} in place of a secret is read from the environment, and kept"
    )

    monkeypatch.setenv("GATE", IN_HEADER)
    given = {"headers": {"X-Gate": "${env:GATE}"}, "body": BODY}
    assert main([*config, "--base_url", place(server), "-a", json.dumps(given)]) == 0
    assert server.asked[1][2]["X-Gate"] == IN_HEADER


def test_a_judge_built_from_a_manifest_asks_for_its_secret(rows, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(JUDGE)
    judged = [
        "--judge",
        f"{file}:Judge",
        "--judge_args",
        "token=abc",
        "--scorer",
        "judge",
        "--sample_id",
        "0",
    ]
    main(
        [
            "run",
            str(rows),
            "--model",
            f"{file}:answer",
            *judged,
            "-o",
            str(tmp_path / "run"),
        ]
    )
    capsys.readouterr()

    code = main(["score", str(tmp_path / "run")])

    assert code == 2
    said = "--judge_args: token is a secret, which run.json does not keep; fix: give it again: --judge_args token=…"
    assert said in capsys.readouterr().err
    assert main(["score", str(tmp_path / "run"), "--judge_args", "token=abc"]) in (0, 3)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:1/v1?gate=gate-open-4802", "ftp://h/v1?gate=gate-open-4802"]
)
@pytest.mark.parametrize("verb", ["run", "parity"])
def test_an_address_that_is_refused_is_not_repeated_whole(rows, capsys, url, verb):
    main([verb, str(rows), "--model", "openai/m", "-a", f"base_url={url}"])

    said = capsys.readouterr().err
    assert "base_url must start with http" in said and "gate-open" not in said


def test_two_secrets_give_two_folders_and_neither_is_in_the_name():
    one, two = (
        RunOptions(
            tasks=("t",), model_args={"headers": {"X-Gate": secret}}
        ).folder_digest()
        for secret in ("a1", "b2")
    )

    assert (
        one != two
        and one
        == RunOptions(
            tasks=("t",), model_args={"headers": {"X-Gate": "a1"}}
        ).folder_digest()
    )


def test_a_column_called_like_a_secret_is_kept():
    assert RunOptions(columns={"key": "question"}).kept()["columns"] == {
        "key": "question"
    }


def test_a_plain_word_in_a_header_is_hidden_in_messages_but_not_in_data():
    redactor = Redactor.of({"headers": {"X-Team": "research"}}, environment={})

    assert redactor.text("team research failed") == "team [redacted] failed"
    assert redactor.line(b'{"a":"research"}') == b'{"a":"research"}'


def test_a_short_secret_is_redacted_in_messages_as_a_word_of_its_own():
    redactor = Redactor.of({"api_key": "pin-7"}, environment={})

    assert redactor.text("no 'pin-7' in pin-77") == "no '[redacted]' in pin-77"


def test_a_password_in_a_url_of_the_environment_is_known():
    environment = {
        "HTTPS_PROXY": "http://me:of-a-proxy-1@proxy:80",
        "PAGE": "https://h/?q=some%20words",
    }

    redactor = Redactor.of(environment=environment)

    assert redactor.line(b'"of-a-proxy-1 some words"') == b'"[redacted] some words"'
