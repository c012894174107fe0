"""Secrets: planted wherever one may slip through, and searched for in everything a run wrote."""

import json
from typing import ClassVar

import pytest

import assay
from assay.cli.main import main
from assay.core import Abilities, Output
from assay.store import Redactor, RunReader
from assay.store.secrets import scrub

IN_ENVIRONMENT = 'sk-"env\\é-4711'
IN_OPTIONS = "opt-secret-4712"
IN_NESTED_OPTIONS = "nested-secret-4713"
IN_URL = "url-secret-4714"
IN_HEADER = "header-secret-4715"
ALL = (IN_ENVIRONMENT, IN_OPTIONS, IN_NESTED_OPTIONS, IN_URL, IN_HEADER)
MODEL = """
import os
class Model:
    def __init__(self, api_key="", headers=None):
        self.api_key, self.headers = api_key, headers
    def generate(self, messages):
        question = messages[-1]["content"]
        if question == "q1":
            raise ValueError("401 for " + os.environ["MY_SERVICE_TOKEN"] + " and " + self.api_key)
        if question == "q2":
            raise OSError("https://user:url-secret-4714@host/v1 refused Authorization: Bearer header-secret-4715")
        if question == "q3":
            return "my key is " + os.environ["MY_SERVICE_TOKEN"] + str(self.headers)
        return "x"
"""
SCORER = """
import os
def score(sample, output):
    if sample.id == "4":
        raise ValueError("https://user:url-secret-4714@judge/ " + os.environ["MY_SERVICE_TOKEN"])
    return 1.0
def prompt(sample):
    if sample.id == "5":
        raise ValueError("Bearer header-secret-4715 and " + os.environ["MY_SERVICE_TOKEN"])
    return sample.input
"""


def written(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forms(secret):
    return {secret.encode(), json.dumps(secret)[1:-1].encode(), json.dumps(secret, ensure_ascii=False)[1:-1].encode()}


@pytest.fixture
def planted(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", IN_ENVIRONMENT)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "code.py").write_text(SCORER)
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_no_secret_reaches_the_run_folder_the_cache_or_the_screen(planted, capsys):
    options = json.dumps({"api_key": IN_OPTIONS, "headers": {"password": IN_NESTED_OPTIONS}})
    code = main(
        ["run", str(planted / "rows.jsonl"), "--model", f"{planted / 'model.py'}:Model", "--model_args", options,
         "--template", f"{planted / 'code.py'}:prompt", "--scorer", f"{planted / 'code.py'}:score",
         "--on_error", "continue", "--cache", str(planted / "cache"), "-o", str(planted / "run")]
    )  # fmt: skip
    shown = "".join(capsys.readouterr()).encode()

    assert code == 3
    found = {**written(planted / "run"), **written(planted / "cache"), "screen": shown}
    assert len(found) >= 5
    for place, data in found.items():
        for secret in ALL:
            assert not any(form in data for form in forms(secret)), (place, secret)
    outcomes = {record.id: record.output.get("error") for record in RunReader(planted / "run").outputs()}
    assert outcomes["1"]["message"].count("[redacted]") == 2
    assert "https://[redacted]@host/v1" in outcomes["2"]["message"]


def test_a_run_with_redacted_lines_goes_on_where_it_stopped(planted):
    model = f"{planted / 'model.py'}:Model"
    args = {"scorers": ["exact_match"], "model_args": {"api_key": IN_OPTIONS}, "on_error": "continue"}
    first = assay.run(str(planted / "rows.jsonl"), model, output=str(planted / "run"), **args)

    again = assay.run(str(planted / "rows.jsonl"), model, output=str(planted / "run"), **args)

    assert [(r.value, r.n) for r in again] == [(r.value, r.n) for r in first]


def test_prompts_and_answers_that_only_look_like_secrets_are_data(tmp_path):
    question = "What is wrong with https://user:password@example.org and Bearer abcdefghij?"

    class Echo:
        abilities = Abilities()
        identity: ClassVar = {"echo": 1}

        def generate(self, requests):
            return [Output.of(request.messages[-1].text) for request in requests]

    task = assay.Task("t", dataset=[{"id": "1", "question": question, "answer": question}], scorers="exact_match")

    result = assay.run(task, Echo(), output=str(tmp_path / "run"))

    (record,) = RunReader(tmp_path / "run").outputs()
    assert result[0].value == 1.0
    assert record.prompt[0]["content"] == record.output["candidates"][0]["text"] == question


def test_which_variables_and_options_are_secret(tmp_path):
    environment = {
        "A_KEY": "secret-of-key", "B_TOKEN_X": "secret-of-token", "THE_SECRET": "the-secret", "DB_PASSWORD": "of-a-db1",
        "SHORT_KEY": "1234567", "HOME_PLACE": "not-a-secret", "KEY_FILE": str(tmp_path),
    }  # fmt: skip
    options = {"tokenizer": "some-tokenizer", "max_tokens": 5, "pad_token": "<|endoftext|>", "hf_token": "hf-secret-1"}

    redactor = Redactor.of(options, environment=environment)

    text = " ".join([*environment.values(), *map(str, options.values())])
    hidden = "[redacted] " * 4 + f"1234567 not-a-secret {tmp_path} some-tokenizer 5 <|endoftext|> [redacted]"
    assert redactor.text(text) == hidden


def test_the_longer_of_two_secrets_is_hidden_whole():
    redactor = Redactor(frozenset({"secret-1", "secret-12345"}))

    assert redactor.line(b'{"a":"secret-12345 secret-1"}') == b'{"a":"[redacted] [redacted]"}'


def test_a_secret_is_known_in_a_url_too():
    redactor = Redactor(frozenset({"p/w?d&4712%"}))

    assert redactor.text("GET https://host/p%2Fw%3Fd%264712%25/x") == "GET https://host/[redacted]/x"


def test_an_option_for_one_role_is_a_secret_like_any_other():
    assert Redactor.of({"judge.token": "judge-secret-1"}, environment={}).text("judge-secret-1") == "[redacted]"


def test_without_secrets_a_line_passes_untouched():
    line = b'{"a":"b"}'

    assert Redactor.of(environment={}).line(line) is line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET http://me:pw@h:80/x failed", "GET http://[redacted]@h:80/x failed"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
        ("write to me@example.org", "write to me@example.org"),
        ("http://example.org/a@b", "http://example.org/a@b"),
        ("clone https://ghp_0123456789@h/r.git", "clone https://[redacted]@h/r.git"),
        ("GET https://h/v1?key=abcdefgh1&n=1", "GET https://h/v1?key=[redacted]&n=1"),
        ("https://h/x?page=abcdefgh1", "https://h/x?page=abcdefgh1"),
        ("Authorization: Basic bWU6cGFzcw==", "Authorization: Basic [redacted]"),
        ("{'x-api-key': 'abcdefgh1', 'n': 1}", "{'x-api-key': '[redacted]', 'n': 1}"),
        ("X-Goog-Api-Key: abcdefgh1", "X-Goog-Api-Key: [redacted]"),
        ("the api-key: missing", "the api-key: missing"),
    ],
)
def test_what_looks_like_a_secret_in_a_message(text, shown):
    assert scrub(text) == shown
