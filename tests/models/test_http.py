"""Secrets and limits of the HTTP core; its failures are tested through the OpenAI model."""

import asyncio

import pytest

from assay.core.secrets import without
from assay.models import http_connecting
from assay.models.http import Client, HttpFailure, Limits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://me:pass@host/x", "see https://[redacted]@host/x"),
        ("Authorization: Bearer abc123", "Authorization: Bearer [redacted]"),
        ("{'authorization': 'Basic Zm9v'}", "{'authorization': 'Basic [redacted]'}"),
        ("sent bearer abc.def-1, refused", "sent bearer [redacted], refused"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_credentials_are_hidden_by_their_form(text, expected):
    assert without(text) == expected


def test_secrets_are_hidden_by_value_everywhere(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", "abcdefgh-token")
    monkeypatch.setenv("SHORT_KEY", "on")

    hidden = without("x abcdefgh-token y given-secret turn on", ["given-secret"])

    assert hidden == "x [redacted] y [redacted] turn on"


def test_a_secret_within_a_longer_one_does_not_uncover_it(monkeypatch):
    assert without("12345678-90", ["12345678", "12345678-90"]) == "[redacted]"


def test_the_limits_are_those_we_promise():
    assert Limits() == Limits(
        connect=10, first_byte=120, idle=60, total=600, response_bytes=32 * 2**20
    )


def test_a_host_that_takes_no_call_is_away_and_waited_for_as_one_that_refuses(
    monkeypatch,
):
    async def nobody(origin, make):
        await asyncio.sleep(3600)

    monkeypatch.setattr(http_connecting, "_connected", nobody)

    async def knock(start):
        failures = []
        client = Client(Limits(connect=0.01, start=start))
        for _ in range(2):
            with pytest.raises(HttpFailure) as raised:
                await client.post("http://host.invalid/v1", {}, {})
            failures.append(
                (raised.value.kind, raised.value.message, raised.value.retryable)
            )
        return failures

    line = "no connection to host.invalid within 0.01 s; fix: start the server, or check base_url"
    assert asyncio.run(knock(start=600.0)) == [("connection", line, True)] * 2
    assert asyncio.run(knock(start=0.005)) == [
        ("connection", line, True),
        ("connection", line, False),
    ]
