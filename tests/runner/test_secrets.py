"""Secrets: planted wherever one may slip through, and searched for in everything a run wrote."""

import json
from typing import ClassVar

import pytest

import assay
from assay.cli.main import main
from assay.core import Abilities, Output
from assay.store import Redactor, RunReader
from assay.store.cache import ResponseCache
from assay.store.stored_secrets import scrub

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
    return {
        secret.encode(),
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
    }


@pytest.fixture
def planted(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", IN_ENVIRONMENT)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "code.py").write_text(SCORER)
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(8)]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    return tmp_path


def test_no_secret_reaches_the_run_folder_the_cache_or_the_screen(planted, capsys):
    options = json.dumps(
        {"api_key": IN_OPTIONS, "headers": {"password": IN_NESTED_OPTIONS}}
    )
    code = main(
        [
            "run",
            str(planted / "rows.jsonl"),
            "--model",
            f"{planted / 'model.py'}:Model",
            "--model_args",
            options,
            "--template",
            f"{planted / 'code.py'}:prompt",
            "--scorer",
            f"{planted / 'code.py'}:score",
            "--on_error",
            "continue",
            "--cache",
            str(planted / "cache"),
            "-o",
            str(planted / "run"),
        ]
    )
    shown = "".join(capsys.readouterr()).encode()

    assert code == 3
    found = {**written(planted / "run"), **written(planted / "cache"), "screen": shown}
    assert len(found) >= 5
    for place, data in found.items():
        for secret in ALL:
            assert not any(form in data for form in forms(secret)), (place, secret)
    outcomes = {
        record.id: record.output.get("error")
        for record in RunReader(planted / "run").outputs()
    }
    assert outcomes["1"]["message"].count("[redacted]") == 2
    assert "https://[redacted]@host/v1" in outcomes["2"]["message"]


def test_a_run_with_redacted_lines_continues_where_it_stopped(planted):
    model = f"{planted / 'model.py'}:Model"
    args = {
        "scorers": ["exact_match"],
        "model_args": {"api_key": IN_OPTIONS},
        "on_error": "continue",
    }
    first = assay.run(
        str(planted / "rows.jsonl"), model, output=str(planted / "run"), **args
    )

    again = assay.run(
        str(planted / "rows.jsonl"), model, output=str(planted / "run"), **args
    )

    assert [(r.value, r.n) for r in again] == [(r.value, r.n) for r in first]


def test_prompts_and_answers_that_only_look_like_secrets_are_data(tmp_path):
    question = (
        "What is wrong with https://user:password@example.org and Bearer abcdefghij?"
    )

    class Echo:
        abilities = Abilities()
        identity: ClassVar = {"echo": 1}

        def generate(self, requests):
            return [Output.of(request.messages[-1].text) for request in requests]

    task = assay.Task(
        "t",
        dataset=[{"id": "1", "question": question, "answer": question}],
        scorers="exact_match",
    )

    result = assay.run(task, Echo(), output=str(tmp_path / "run"))

    (record,) = RunReader(tmp_path / "run").outputs()
    assert result[0].value == 1.0
    assert (
        record.prompt[0]["content"]
        == record.output["candidates"][0]["text"]
        == question
    )


def test_which_variables_and_options_are_secret(tmp_path):
    environment = {
        "A_KEY": "secret-of-key",
        "B_TOKEN_X": "secret-of-token",
        "THE_SECRET": "the-secret",
        "DB_PASSWORD": "of-a-db1",
        "SHORT_KEY": "1234567",
        "HOME_PLACE": "not-a-secret",
        "KEY_FILE": str(tmp_path),
    }
    options = {
        "tokenizer": "some-tokenizer",
        "max_tokens": 5,
        "pad_token": "<|endoftext|>",
        "hf_token": "hf-secret-1",
    }

    redactor = Redactor.of(options, environment=environment)

    text = " ".join([*environment.values(), *map(str, options.values())])
    hidden = (
        "[redacted] " * 4
        + f"1234567 not-a-secret {tmp_path} some-tokenizer 5 <|endoftext|> [redacted]"
    )
    assert redactor.text(text) == hidden


def test_the_longer_of_two_secrets_is_hidden_whole():
    redactor = Redactor(frozenset({"secret-1", "secret-12345"}))

    assert (
        redactor.line(b'{"a":"secret-12345 secret-1"}')
        == b'{"a":"[redacted] [redacted]"}'
    )


def test_a_secret_is_known_in_a_url_too():
    redactor = Redactor(frozenset({"p/w?d&4712%"}))

    assert (
        redactor.text("GET https://host/p%2Fw%3Fd%264712%25/x")
        == "GET https://host/[redacted]/x"
    )


def test_an_option_for_one_role_is_a_secret_like_any_other():
    assert (
        Redactor.of({"judge.token": "judge-secret-1"}, environment={}).text(
            "judge-secret-1"
        )
        == "[redacted]"
    )


def test_without_secrets_a_line_passes_untouched():
    line = b'{"a":"b"}'

    assert Redactor.of(environment={}).line(line) is line


def test_a_word_that_some_variable_holds_changes_no_key_and_no_word_of_the_format():
    redactor = Redactor(
        frozenset(
            {"candidates", "exact_match", "assistant", "model_error", "secret-4711"}
        )
    )
    line = (
        b'{"kind":"output","prompt":[{"role":"assistant","content":"exact_match"}],'
        b'"output":{"candidates":[{"text":"x"}]},"values":{"exact_match.f1":1},"outcome":"model_error",'
        b'"details":{"a-secret-4711":1}}'
    )

    shown = json.loads(redactor.line(line))

    assert shown["output"] == {"candidates": [{"text": "x"}]}
    assert shown["prompt"] == [{"role": "assistant", "content": "[redacted]"}]
    assert (shown["values"], shown["outcome"]) == ({"exact_match.f1": 1}, "model_error")
    assert shown["details"] == {"a-[redacted]": 1}
    assert redactor.plain({"candidates": "candidates"}) == {"candidates": "[redacted]"}


def test_a_line_keeps_what_json_can_hold_beside_a_secret():
    redactor = Redactor(frozenset({"secret-4711"}))

    shown = redactor.line(
        b'{"a":"secret-4711 \\ud800","n":'
        + str(1 << 80).encode()
        + b',"x":[null,1.5e-7]}'
    )

    assert json.loads(shown) == {
        "a": "[redacted] \ud800",
        "n": 1 << 80,
        "x": [None, 1.5e-7],
    }


def test_an_answer_with_a_secret_is_reported_marked_and_not_cached(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PGPASSWORD", "password")
    (tmp_path / "q.jsonl").write_text(
        '{"id": "1", "question": "q", "answer": "password"}\n'
    )
    (tmp_path / "says.py").write_text("def generate(messages): return 'password'\n")
    settings = {"scorers": ["exact_match"], "cache": str(tmp_path / "cache")}
    data, model = str(tmp_path / "q.jsonl"), f"{tmp_path / 'says.py'}:generate"
    first = assay.run(data, model, output=str(tmp_path / "one"), **settings)
    again = assay.score(tmp_path / "one", scorers=["includes"])
    monkeypatch.delenv("PGPASSWORD")

    other = assay.run(data, model, output=str(tmp_path / "two"), **settings)

    (record,) = RunReader(tmp_path / "one").outputs()
    assert (first[0].value, other[0].value) == (1.0, 1.0)
    assert (
        record.output["candidates"][0]["text"] == "[redacted]"
        and record.details["redacted"] is True
    )
    assert any("1 answer was written with [redacted]" in note for note in first.notes)
    assert any("1 answer was scored with [redacted]" in note for note in again.notes)
    assert other.usage["q/" + model]["asked"] == 1 and not other.notes


def test_an_entry_of_the_cache_that_lost_a_secret_is_not_an_answer(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put("key", Output.of("[redacted]"))

    found = cache.get("key")

    cache.close()
    assert found is None


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
