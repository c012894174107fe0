"""Which options are secrets, and what is kept in their place."""

import pytest

from assay.core.request import KeyMaker
from assay.core.secrets import paths_without_secret, redact_options, secrets_of


@pytest.mark.parametrize(
    ("options", "secrets"),
    [
        ({"api_key": "abc"}, {"abc"}),
        ({"judge.token": "abc"}, {"abc"}),
        ({"api_keys": ["abc", "def"]}, {"abc", "def"}),
        ({"token": 12345}, {"12345"}),
        ({"auth": {"user": "me", "more": ["abc"]}}, {"me", "abc"}),
        (
            {"headers": {"X-Gate": "abc", "Accept": "text/plain", "X-Off": None}},
            {"abc"},
        ),
        ({"headers": {"Authorization": "Bearer abc"}}, {"abc"}),
        ({"base_url": "https://me:p@ss@h:80/v1"}, {"me", "p@ss"}),
        ({"base_url": "https://ghp_abcdefgh1@h/v1"}, {"ghp_abcdefgh1"}),
        (
            {
                "base_url": "h:80/v1?gate=abc&alt=sse&n=5&on=true&api-version=2024-02-01-preview"
            },
            {"abc"},
        ),
        (
            {"base_url": "http://h/sk-abcdefgh/v1?sk-query-4801#xoxb-abcdefgh"},
            {"sk-abcdefgh", "sk-query-4801", "xoxb-abcdefgh"},
        ),
        (
            {"note": "with sk-abcdefgh, and Basic YWJjZGVmZw=="},
            {"sk-abcdefgh", "YWJjZGVmZw=="},
        ),
        (
            {
                "tokenizer": "abc",
                "max_tokens": 5,
                "pad_token": "<s>",
                "key": None,
                "token": True,
                "path": "a/b",
            },
            set(),
        ),
        ({"keyboard": "abc", "monkey": "abc", "author": "abc"}, set()),
    ],
)
def test_what_is_secret(options, secrets):
    assert set(secrets_of(options)) == secrets


def test_what_a_reference_names_is_secret_and_the_reference_is_kept(monkeypatch):
    monkeypatch.setenv("GATE", "abc")
    options = {
        "headers": {"X-Gate": "Bearer ${env:GATE}"},
        "api_key": "${env:GATE}",
        "base_url": "http://h?k=${env:GATE}",
    }

    assert redact_options(options) == options and set(secrets_of(options)) == {"abc"}


def test_a_veil_tells_values_apart_and_hides_them():
    options = {
        "base_url": "http://u:pw@h/v1?gate=abc",
        "headers": {"X": "abc"},
        "body": {"n": (1, 2.5, None, True)},
    }

    kept = redact_options(options)

    assert not any(secret in str(kept) for secret in ("pw", "abc", "u:"))
    assert kept["body"] == {"n": [1, 2.5, None, True]} and kept["base_url"].startswith(
        "http://[redacted:"
    )
    assert kept == redact_options(options) == redact_options(kept)
    assert redact_options({"headers": {"X": "abd"}})["headers"] != kept["headers"]
    assert list(paths_without_secret(kept)) == ["base_url", "headers.X"] and not list(
        paths_without_secret(options)
    )


def test_a_path_that_looks_like_a_key_is_a_path(tmp_path):
    folder = tmp_path / "sk-learn-models"
    folder.mkdir()

    assert secrets_of({"path": str(folder)}) == {}


def test_a_request_key_is_the_same_for_a_secret_and_for_what_is_kept_of_it():
    identity = {"args": {"api_key": "1234"}}

    assert (
        _key(identity)
        == _key(redact_options(identity))
        != _key({"args": {"api_key": "1235"}})
    )


def _key(identity):
    from assay.core import DEFAULT_OPTIONS, Message, Prompt

    return KeyMaker(identity).key_of(
        Prompt((Message.of("user", "x"),)), DEFAULT_OPTIONS
    )


def test_a_folder_named_behind_a_local_path_is_not_a_secret_and_a_key_there_is():
    said = redact_options(
        {"data": "annotations?images_dir=/data/my_pictures&api_key=abcdefgh12345678"}
    )["data"]

    assert said.startswith("annotations?images_dir=/data/my_pictures&api_key=[redacted")


def test_behind_an_address_a_value_that_looks_like_a_path_may_be_a_secret():
    said = redact_options({"data": "https://example.com/rows?sig=aGVsbG8/d29ybGQ9"})[
        "data"
    ]

    assert "aGVsbG8" not in said
