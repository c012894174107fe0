"""The OpenAI-compatible model, against a local server that misbehaves in every way we know of."""

import asyncio
import base64
import gzip
import json
import math
import time
from dataclasses import replace
from email.utils import formatdate

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from assay.core import (
    Audio,
    GenerateOptions,
    Image,
    Message,
    Output,
    Prompt,
    Reasoning,
    Request,
    Text,
    Token,
    ToolCall,
    UsageError,
)
from assay.models import build_model, embedded
from assay.models.chat_format import read_usage
from assay.models.openai import OpenAI

KEY = "sk-test-0123456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n...."
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in (
        "OPENAI_BASE_URL",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def free_roles():
    """A request that goes to the completions."""
    return Request(
        Prompt((Message.of("Question", "2+2?"), Message("Answer", None))),
        GenerateOptions(logprobs=2),
    )


def ask(*content, **options) -> Request:
    return Request(
        Prompt((Message.of("user", *(content or ("hi",))),)), GenerateOptions(**options)
    )


def reply(content="ok", finish="stop", **more):
    return {
        "choices": [
            {
                "message": {"role": "assistant", "content": content, **more},
                "finish_reason": finish,
            }
        ]
    }


def answered(handler, *requests: Request, **options) -> tuple[list[Output], OpenAI]:
    """What the model makes of a server that answers every path with `handler`."""

    async def talk():
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        async with TestServer(app) as server:
            model = build_model(
                "openai/some-model",
                {"base_url": str(server.make_url("/v1")), **options},
            )
            try:
                return [
                    (await model.generate([request]))[0]
                    for request in requests or [ask()]
                ], model
            finally:
                await model.close()

    return asyncio.run(talk())


def answering(body, status=200, headers=None, seen=None):
    async def handle(request):
        if seen is not None:
            seen.append((request.path, dict(request.headers), await request.json()))
        if isinstance(body, bytes):
            return web.Response(body=body, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    return handle


def test_the_seed_of_the_request_is_sent_and_not_the_one_of_the_run():
    seen = []
    own = [replace(ask("2+2?", seed=7), seed=seed) for seed in (71, 72)]

    answered(answering(reply("four"), seen=seen), *own)

    assert [body["seed"] for _, _, body in seen] == [71, 72]


def test_a_chat_is_sent_and_its_answer_read():
    seen = []
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 1,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }

    [output], _ = answered(
        answering({**reply("four"), "usage": usage}, seen=seen),
        ask("2+2?", max_tokens=5, seed=7),
    )

    path, headers, body = seen[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    expected = {
        "model": "some-model",
        "messages": [{"role": "user", "content": "2+2?"}],
        "max_tokens": 5,
        "seed": 7,
    }
    assert body == expected
    assert (output.text, output.stop_reason) == ("four", "stop")
    assert (
        output.usage.input_tokens,
        output.usage.output_tokens,
        output.usage.reasoning_tokens,
    ) == (3, 1, 2)
    assert output.seconds > 0


def test_a_cost_the_service_reports_is_kept_with_the_tokens_it_read_from_a_cache():
    usage = {
        "prompt_tokens": 30,
        "completion_tokens": 7,
        "cost": 0.00125,
        "prompt_tokens_details": {"cached_tokens": 20},
    }

    [output], _ = answered(answering({**reply("four"), "usage": usage}))

    assert (output.usage.cost, output.usage.cached_tokens) == (0.00125, 20)


def test_a_prompt_with_free_roles_goes_to_completions():
    seen = []
    body = {"choices": [{"text": " 4", "finish_reason": "length"}]}
    prompt = Prompt((Message.of("Question", "2+2?"), Message("Answer")))

    [output], _ = answered(answering(body, seen=seen), Request(prompt))

    assert seen[0][0] == "/v1/completions"
    assert seen[0][2]["prompt"] == "Question: 2+2?\nAnswer:"
    assert (output.text, output.stop_reason) == (" 4", "length")


def test_options_are_sent_under_the_endpoints_names():
    seen = []
    request = ask(
        temperature=0.5,
        top_p=0.9,
        stop=("\n",),
        logprobs=2,
        response_format="json",
        reasoning_effort="low",
    )

    answered(answering(reply(), seen=seen), request, body={"service_tier": "flex"})

    body = seen[0][2]
    assert (body["temperature"], body["top_p"], body["stop"]) == (0.5, 0.9, ["\n"])
    assert (body["logprobs"], body["top_logprobs"]) == (True, 2)
    assert body["response_format"] == {"type": "json_object"}
    assert (body["reasoning_effort"], body["service_tier"]) == ("low", "flex")


def test_images_and_sounds_are_encoded():
    seen = []

    answered(answering(reply(), seen=seen), ask(Image(PNG), Audio(WAV), "what?"))

    picture, sound, words = seen[0][2]["messages"][0]["content"]
    assert (
        picture["image_url"]["url"]
        == "data:image/png;base64," + base64.b64encode(PNG).decode()
    )
    assert sound["input_audio"] == {
        "data": base64.b64encode(WAV).decode(),
        "format": "wav",
    }
    assert words == {"type": "text", "text": "what?"}


def test_a_medium_that_cannot_be_read_fails_its_sample_alone():
    broken, whole = answered(
        answering(reply()), ask(Image("/no/such/picture.png")), ask()
    )[0]

    assert "cannot open image" in broken.error.message
    assert not broken.error.retryable
    assert whole.text == "ok"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart_from_the_answer(name):
    [output], _ = answered(answering(reply("4", **{name: "two and two"})))

    assert output.candidates[0].parts == (Reasoning("two and two"), Text("4"))
    assert (output.text, output.reasoning) == ("4", "two and two")


def test_logprobs_become_tokens_in_both_spellings():
    chat = reply("a")
    top = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -2.0}]
    chat["choices"][0]["logprobs"] = {
        "content": [{"token": "a", "logprob": -0.1, "top_logprobs": top}]
    }
    legacy = {
        "tokens": ["a"],
        "token_logprobs": [-0.1],
        "top_logprobs": [{"a": -0.1, "b": -2.0}],
    }
    text = {"choices": [{"text": "a", "finish_reason": "stop", "logprobs": legacy}]}

    [new], _ = answered(answering(chat))
    [old], _ = answered(answering(text))

    assert new.candidates[0].tokens == old.candidates[0].tokens
    assert new.candidates[0].tokens[0].top == (("a", -0.1), ("b", -2.0))


def test_several_candidates_are_read_and_an_endpoint_that_ignores_n_is_an_error():
    two = {"choices": reply("a")["choices"] + reply("b")["choices"]}

    [both], _ = answered(answering(two), ask(n=2))
    [lone], _ = answered(answering(reply("a")), ask(n=2))
    [more], _ = answered(answering(two), ask())

    assert [candidate.text for candidate in both.candidates] == ["a", "b"]
    assert (
        "asked for 2 candidates, the endpoint gave 1; fix: use epochs=2"
        in lone.error.message
    )
    assert not lone.error.retryable
    assert "asked for 1 candidate, the endpoint gave 2" in more.error.message


def test_no_content_cut_by_the_limit_is_a_candidate_without_parts():
    [output], _ = answered(answering(reply(None, "length")))

    assert output.error is None
    assert output.candidates[0].parts == ()
    assert output.stop_reason == "length"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (reply(None, "content_filter"), 200),
        ({"error": {"code": "content_filter", "message": "no"}}, 400),
        (reply(None, "stop", refusal="I cannot"), 200),
        (reply("", "stop", refusal="I cannot"), 200),
    ],
)
def test_a_content_filter_is_an_answer_not_a_failure(body, status):
    [output], _ = answered(answering(body, status))

    assert output.error is None
    assert output.stop_reason == "content_filter"
    assert output.text == ""  # the words of a refusal are no answer


def test_the_words_of_a_refusal_are_kept_beside_the_answer():
    [output], _ = answered(
        answering(reply(None, "stop", refusal="I cannot help with that."))
    )

    assert output.details["refusal"] == "I cannot help with that."


@pytest.mark.parametrize(
    "change",
    [
        {"message": {"content": "4", "images": [{"url": "x"}]}},
        {"message": {"content": "4"}, "logprobs": {"content": [{"tok": 1}]}},
        {"message": {"content": "4"}, "logprobs": {"content": [7]}},
        {"message": {"content": "4", "images": 7}},
    ],
    ids=["image", "token", "number-for-token", "number-for-images"],
)
def test_a_choice_of_another_shape_is_a_bad_response_that_shows_it(change):
    body = {"choices": [{"index": 0, "finish_reason": "stop", **change}]}

    [output], _ = answered(answering(body))

    assert (
        output.error.kind == "bad_response"
        and "a choice has an unexpected structure" in output.error.message
    )


@pytest.mark.parametrize("reason", ["error", "abort", "network_error"])
def test_an_answer_the_server_broke_off_is_tried_again_and_never_scored(reason):
    [output], _ = answered(answering(reply("par", finish=reason)))

    assert (output.error.kind, output.error.retryable) == ("bad_response", True)
    assert (
        f"the server aborted the answer, finish_reason {reason!r}"
        in output.error.message
    )


SEARCH_CALL = {"id": "c", "type": "function", "function": {"name": "search"}}


@pytest.mark.parametrize(
    "content", [None, "", [{"type": "thinking", "thinking": "Hm."}]]
)
def test_an_answer_that_ends_for_a_call_and_has_none_is_a_failure(content):
    [mute], _ = answered(answering(reply(content, finish="tool_calls", tool_calls=[])))
    [told], _ = answered(answering(reply("4", finish="tool_calls", tool_calls=[])))

    assert (mute.error.kind, mute.error.retryable) == ("bad_response", False)
    assert "finish_reason is tool_calls and there is no call" in mute.error.message
    assert told.text == "4"


@pytest.mark.parametrize("content", [None, "", "Let me see."])
def test_a_call_is_a_part_of_the_answer(content):
    message = reply(content, finish="tool_calls", tool_calls=[SEARCH_CALL])
    [output], _ = answered(answering(message))

    assert output.calls == (ToolCall("c", "search", {}),)
    assert (output.text, output.stop_reason) == (content or "", "tool_calls")


def test_arguments_that_are_not_json_are_kept_as_text():
    function = {"name": "search", "arguments": '{"query": "assay"'}
    calls = [{"id": "c", "type": "function", "function": function}]

    [output], _ = answered(answering(reply(None, tool_calls=calls)))

    assert output.calls[0].arguments == '{"query": "assay"'
    assert not output.calls[0].is_readable


def test_pieces_of_an_answer_are_read_by_their_types():
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    sound = {"type": "audio", "audio": {"data": base64.b64encode(WAV).decode()}}
    pieces = [
        {"type": "reasoning", "text": "maybe 9"},
        {
            "type": "thinking",
            "thinking": [
                {"type": "text", "text": "or "},
                {"type": "text", "text": "4"},
            ],
        },
        {"type": "thinking", "thinking": "yes"},
        {"type": "text", "text": "4"},
        {"type": "image_url", "image_url": {"url": url}},
        sound,
        {"type": "reference", "reference_ids": [1]},
    ]

    [output], _ = answered(answering(reply(pieces)))

    assert output.candidates[0].parts == (
        Reasoning("maybe 9"),
        Reasoning("or 4"),
        Reasoning("yes"),
        Text("4"),
        Image(PNG),
        Audio(WAV),
    )


def test_a_refusal_may_be_a_piece_of_the_content():
    [output], _ = answered(
        answering(reply([{"type": "refusal", "refusal": "I cannot."}]))
    )

    assert (output.stop_reason, output.text, output.details["refusal"]) == (
        "content_filter",
        "",
        "I cannot.",
    )


@pytest.mark.parametrize(
    "entry", [{"token": 5, "logprob": -1.0}, {"token": "4", "logprob": "x"}]
)
def test_an_invalid_log_probability_is_a_bad_response(entry):
    body = reply("4")
    body["choices"][0]["logprobs"] = {"content": [entry]}

    [output], _ = answered(answering(body))

    assert (
        output.error.kind == "bad_response"
        and "a log-probability is not a number" in output.error.message
    )


def test_a_log_probability_that_json_cannot_spell_costs_no_answer():
    rivals = [{"token": "4", "logprob": -0.5}, {"token": "5", "logprob": None}]
    entries = [
        {"token": "4", "logprob": None, "top_logprobs": rivals},
        {"token": ".", "logprob": -0.25},
    ]
    body = reply("4.")
    body["choices"][0]["logprobs"] = {"content": entries}

    [output], _ = answered(answering(body))

    first, second = output.candidates[0].tokens
    assert output.text == "4." and math.isnan(first.logprob)
    assert (first.top, second) == ((("4", -0.5),), Token(".", -0.25))


def test_a_log_probability_of_a_completion_that_json_cannot_spell_costs_no_answer(
    free_roles,
):
    logprobs = {
        "tokens": ["4", "."],
        "token_logprobs": [None, -0.25],
        "top_logprobs": [{"A": None, "4": -0.5}, None],
    }

    [output], _ = answered(
        answering({"choices": [{"text": "4.", "logprobs": logprobs}]}), free_roles
    )

    first, second = output.candidates[0].tokens
    assert output.text == "4." and math.isnan(first.logprob)
    assert (first.top, second) == ((("4", -0.5),), Token(".", -0.25))


@pytest.mark.parametrize("rival", ["-1", {"value": -1}, [-1]])
def test_a_rival_that_weighs_no_number_is_a_bad_response(rival, free_roles):
    logprobs = {
        "tokens": ["4"],
        "token_logprobs": [-1.0],
        "top_logprobs": [{"A": rival}],
    }

    [output], _ = answered(
        answering({"choices": [{"text": "4", "logprobs": logprobs}]}), free_roles
    )

    assert (
        output.error.kind == "bad_response"
        and "a log-probability is not a number: 'A'" in output.error.message
    )


@pytest.mark.parametrize("wrong", ["7", None, True, -1, [1], float("inf"), {}])
def test_a_count_that_is_not_a_number_is_dropped(wrong):
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": wrong,
        "cost": wrong,
        "prompt_tokens_details": [wrong],
    }

    counted = read_usage(usage)

    assert (counted.input_tokens, counted.output_tokens, counted.cost) == (
        5,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "http", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "http", False),
        (408, "timeout", True),
        (409, "http", True),
        (413, "http", False),
        (422, "http", False),
        (425, "http", True),
        (429, "rate_limit", True),
        (500, "http", True),
        (503, "unavailable", True),
        (529, "http", True),
    ],
)
def test_the_status_decides_whether_another_try_may_help(status, kind, retryable):
    [output], _ = answered(answering({"error": {"message": "because"}}, status))

    assert (output.error.kind, output.error.retryable) == (kind, retryable)
    assert output.error.message == f"HTTP {status}: because"
    assert output.error.retry_after is None


def test_an_empty_purse_is_not_tried_again():
    [output], _ = answered(
        answering({"error": {"code": "insufficient_quota", "message": "pay"}}, 429)
    )

    assert (output.error.kind, output.error.retryable) == ("quota", False)


@pytest.mark.parametrize(
    ("header", "value", "low", "high"),
    [
        ("Retry-After", "7", 7, 7),
        ("Retry-After", "0.5", 0.5, 0.5),
        ("retry-after-ms", "250", 0.25, 0.25),
        ("Retry-After", formatdate(0, usegmt=True), 0, 0),
    ],
)
def test_the_wait_a_server_asks_for_is_read_from_seconds_or_a_date(
    header, value, low, high
):
    [output], _ = answered(answering({"error": "slow down"}, 429, {header: value}))

    assert low <= output.error.retry_after <= high


def test_a_wait_until_a_date_to_come_is_counted_from_now():
    until = formatdate(time.time() + 3600, usegmt=True)

    [output], _ = answered(
        answering({"error": "slow down"}, 429, {"Retry-After": until})
    )

    assert 3000 <= output.error.retry_after <= 3600


@pytest.mark.parametrize("value", ["soon", "-3", "nan", ""])
def test_a_wait_that_makes_no_sense_is_passed_over(value):
    [output], _ = answered(
        answering({"error": "slow down"}, 429, {"Retry-After": value})
    )

    assert output.error.retry_after is None


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(reply()).encode()[:-9],
        b"<html><body>Bad gateway</body></html>",
        b'{"choices": [{"message": {"content": "\xff\xfe"}}]}',
        b"",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": 3}}]}',
        b'{"object": "something else"}',
    ],
)
def test_a_body_without_an_answer_is_retried(body):
    [output], _ = answered(answering(body))

    assert (output.error.kind, output.error.retryable) == ("bad_response", True)


def test_the_content_type_does_not_matter_if_the_body_is_right():
    [output], _ = answered(
        answering(json.dumps(reply()).encode(), headers={"Content-Type": "text/html"})
    )

    assert output.text == "ok"


def test_a_redirect_is_not_followed():
    seen = []
    location = "http://169.254.169.254/latest?secret=1"

    [output], _ = answered(answering(b"", 307, {"Location": location}, seen=seen))

    assert len(seen) == 1
    assert (
        "redirected to http://169.254.169.254/latest, which is not followed"
        in output.error.message
    )
    assert not output.error.retryable


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://me:pass@host/v1/", "https://host/v1/"),
        ("/v1/chat/completions/", "/v1/chat/completions/"),
        ("http://[broken", "elsewhere"),
        (None, "elsewhere"),
    ],
)
def test_a_redirect_target_is_reported_without_its_secrets(location, shown):
    [output], _ = answered(
        answering(b"", 308, {"Location": location} if location else None)
    )

    assert (
        f"HTTP 308: redirected to {shown}, which is not followed; fix: correct base_url"
        in output.error.message
    )


def test_an_answer_that_is_too_large_is_not_read_to_its_end():
    [output], _ = answered(answering(reply("x" * 5000)), max_response_bytes=1000)

    assert (output.error.kind, output.error.retryable) == ("too_large", False)
    assert "larger than 1000 bytes" in output.error.message


def test_a_gzip_bomb_is_stopped_by_its_unpacked_size():
    bomb = gzip.compress(json.dumps(reply("0" * 20_000_000)).encode())
    assert len(bomb) < 100_000

    [output], _ = answered(
        answering(bomb, headers={"Content-Encoding": "gzip"}),
        max_response_bytes=1_000_000,
    )

    assert output.error.kind == "too_large"


def hanging(stage: str):
    async def handle(request):
        if stage == "before":
            await asyncio.sleep(5)
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        if stage == "middle":
            await response.write(b'{"choices"')
            await asyncio.sleep(5)
        while stage == "trickle":
            await response.write(b" ")
            await asyncio.sleep(0.01)
        if stage == "cut":
            await response.write(b'{"choices"')
            request.transport.abort()
        return response

    return handle


@pytest.mark.parametrize(
    ("stage", "limits", "kind", "message"),
    [
        (
            "before",
            {"first_byte_timeout": 0.1},
            "timeout",
            "no first byte within 0.1 s",
        ),
        ("middle", {"idle_timeout": 0.1}, "timeout", "the answer stalled within 0.1 s"),
        (
            "trickle",
            {"total_timeout": 0.2},
            "timeout",
            "the answer was not complete within 0.2 s",
        ),
        ("cut", {}, "broken_reply", ""),
    ],
)
def test_a_server_that_hangs_trickles_or_hangs_up_is_tried_again(
    stage, limits, kind, message
):
    [output], _ = answered(hanging(stage), **limits)

    assert (output.error.kind, output.error.retryable) == (kind, True)
    assert message in output.error.message


def test_the_key_appears_nowhere_but_in_the_header(monkeypatch):
    monkeypatch.setenv("GATEWAY", "gateway-secret-1")
    seen = []
    said = f"wrong key {KEY} and gateway-secret-1, Authorization: Bearer abc.def"

    [output], model = answered(
        answering({"error": {"message": said}}, 401, seen=seen),
        headers={"X-Gate": "${env:GATEWAY}"},
    )

    assert seen[0][1]["X-Gate"] == "gateway-secret-1"
    everything = f"{output!r} {model!r} {model.identity!r}"
    assert all(
        secret not in everything for secret in (KEY, "gateway-secret-1", "abc.def")
    )
    assert "wrong key [redacted] and [redacted]" in output.error.message


def test_a_header_whose_variable_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("GATEWAY", raising=False)

    with pytest.raises(
        UsageError,
        match="a header needs the environment variable GATEWAY, which is not set",
    ):
        build_model(
            "openai/m",
            {
                "base_url": "http://127.0.0.1:1/v1",
                "headers": {"X-Gate": "${env:GATEWAY}"},
            },
        )


def test_neither_key_nor_url_is_an_error_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")

    with pytest.raises(
        UsageError,
        match=r"has neither a key nor a URL; fix: set .* OPENAI_API_KEY, or give base_url=",
    ):
        build_model("openai/m")


def test_a_url_with_a_password_is_refused_without_repeating_it():
    with pytest.raises(
        UsageError, match=r"base_url for example\.org carries a password"
    ) as caught:
        build_model(
            "openai/m", {"base_url": "https://user:hunter2hunter2@example.org/v1"}
        )

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["example.org/v1", "ftp://example.org", "file:///etc/passwd"]
)
def test_a_url_of_another_kind_is_refused(url):
    with pytest.raises(UsageError, match="base_url must start with http"):
        build_model("openai/m", {"base_url": url})


def test_a_local_server_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    seen = []

    [output], _ = answered(answering(reply(), seen=seen))

    assert output.text == "ok"
    assert "Authorization" not in seen[0][1]


def test_the_url_is_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9999/v1/")

    assert build_model("openai/m").identity["base_url"] == "http://127.0.0.1:9999/v1"


def test_a_chat_only_endpoint_declares_it_in_its_abilities():
    model = build_model("openai/m", {"api": "chat"})

    assert model.abilities.roles == "chat"
    assert not model.abilities.likelihood
    assert model.abilities.accepts == {"text", "image", "audio"}


def test_one_session_serves_many_requests_at_once():
    connections = set()

    async def handle(request):
        connections.add(request.transport.get_extra_info("peername"))
        return web.json_response(reply())

    outputs, model = answered(handle, *[ask() for _ in range(20)])

    assert [output.text for output in outputs] == ["ok"] * 20
    assert len(connections) == 1
    assert not model._client._idle


@pytest.mark.embedded
@pytest.mark.skipif(
    bool(embedded.CATALOGUE["smollm2"].missing),
    reason=embedded.CATALOGUE["smollm2"].pip,
)
def test_a_real_endpoint_answers_as_the_model_in_process_does():
    import xllamacpp

    local = build_model("smollm2", {"context": 512})
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = (
        local.path,
        512,
        1,
        -1,
    )
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    chat = ask(
        "What is the capital of Germany?", max_tokens=4, temperature=0.0, logprobs=1
    )
    free = Request(
        Prompt((Message.of("Question", "2+2?"), Message("Answer"))), chat.options
    )

    async def talk():
        remote = OpenAI("smollm2", base_url=f"{server.listening_address}/v1")
        try:
            return [(await remote.generate([request]))[0] for request in (chat, free)]
        finally:
            await remote.close()

    over_http = asyncio.run(talk())
    in_process = local.generate([chat, free])
    local.close()

    assert [output.error for output in over_http] == [None, None]
    assert [output.text for output in over_http] == [
        output.text for output in in_process
    ]
    assert [len(output.candidates[0].tokens) for output in over_http] == [4, 4]
    assert over_http[0].usage.input_tokens == in_process[0].usage.input_tokens


def test_the_path_of_one_api_is_cut_off_a_url_and_its_query_is_not():
    url = "http://h/openai/deployments/d/chat/completions?api-version=1"

    with pytest.raises(UsageError) as caught:
        OpenAI("m", base_url=url)

    assert caught.value.fix == (
        "--base_url http://h/openai/deployments/d, with the same part behind the ?"
    )
