"""The Messages API: bodies as the public reference has them, through a local server."""

import base64

import pytest

from assay.core import (
    GenerateOptions,
    Image,
    Message,
    Prompt,
    Reasoning,
    Request,
    Text,
    ToolCall,
    UsageError,
)
from assay.models import build_model

PNG = b"\x89PNG\r\n\x1a\n...."
KEY = "sk-ant-0123456789"
MESSAGE = {
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "some-model",
    "content": [
        {"type": "thinking", "thinking": "Let me see.", "signature": "zbbJhb"},
        {"type": "text", "text": "Four."},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 2095,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": 503,
        "output_tokens_details": {"thinking_tokens": 400},
    },
}


@pytest.fixture(autouse=True)
def environment(no_service, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def ask(*content, system=None, seed=None, **options):
    messages = ((Message.of("system", system),) if system else ()) + (
        Message.of("user", *(content or ("hi",))),
    )
    return Request(Prompt(messages), GenerateOptions(**options), seed)


def test_a_question_and_its_answer(service, put_to):
    server = service(MESSAGE)
    request = ask(
        Image(PNG),
        "what?",
        system="Be brief.",
        temperature=0.5,
        top_p=0.9,
        top_k=5,
        stop=("\n",),
        max_tokens=640,
    )

    [output] = put_to(server, "anthropic/some-model", request)

    assert server.paths == ["/v1/messages"]
    headers = server.sent_headers[0]
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert server.asked == [
        {
            "model": "some-model",
            "max_tokens": 640,
            "system": "Be brief.",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": base64.b64encode(PNG).decode(),
                            },
                        },
                        {"type": "text", "text": "what?"},
                    ],
                }
            ],
            "stop_sequences": ["\n"],
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 5,
        }
    ]
    assert output.candidates[0].parts == (Reasoning("Let me see."), Text("Four."))
    assert (output.text, output.stop_reason) == ("Four.", "stop")
    assert (
        output.usage.input_tokens,
        output.usage.cached_tokens,
        output.usage.output_tokens,
    ) == (2215, 100, 503)
    assert output.usage.reasoning_tokens == 400
    assert output.seconds > 0


def test_an_answers_length_is_limited_where_the_task_does_not_say(service, put_to):
    server = service(MESSAGE)

    put_to(
        server,
        "anthropic/m",
        ask(reasoning_effort="low"),
        max_tokens=99,
        thinking="adaptive",
    )

    assert server.asked == [
        {
            "model": "m",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": "hi"}],
            "output_config": {"effort": "low"},
            "thinking": {"type": "adaptive"},
        }
    ]


def test_tokens_to_think_with_are_part_of_the_length(service, put_to):
    server = service(MESSAGE)

    put_to(server, "anthropic/m", ask(temperature=1.0, max_tokens=2048), thinking=1024)

    assert server.asked == [
        {
            "model": "m",
            "max_tokens": 2048,
            "messages": [{"role": "user", "content": "hi"}],
            "temperature": 1.0,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        }
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"max_tokens": 1024},
            "thinking=1024 leaves nothing of max_tokens=1024 for the answer; fix: --max_tokens 5120",
        ),
        (
            {"temperature": 0.0},
            "thinks only at temperature 1 and without top_k; fix: --temperature 1, or leave thinking",
        ),
        ({"top_k": 5}, "thinks only at temperature 1 and without top_k"),
    ],
)
def test_options_that_conflict_with_thinking_are_refused_before_sending(
    service, put_to, options, said
):
    server = service(MESSAGE)

    with pytest.raises(UsageError, match=said):
        put_to(server, "anthropic/m", ask(**options), thinking=1024)

    assert server.asked == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("stop_sequence", "stop"),
        ("refusal", "content_filter"),
    ],
)
def test_why_an_answer_ended(service, put_to, theirs, ours):
    [output] = put_to(
        service({**MESSAGE, "content": [], "stop_reason": theirs}), "anthropic/m", ask()
    )

    assert output.error is None
    assert output.candidates[0].parts == ()
    assert output.stop_reason == ours


@pytest.mark.parametrize("reason", ["tool_use", "pause_turn"])
def test_an_answer_that_waits_for_a_tool_and_says_nothing_is_a_failure(
    service, put_to, reason
):
    silent = {**MESSAGE, "content": [MESSAGE["content"][0]], "stop_reason": reason}
    spoken = {**MESSAGE, "stop_reason": reason}

    [mute] = put_to(service(silent), "anthropic/m", ask())
    [told] = put_to(service(spoken), "anthropic/m", ask())

    assert (mute.error.kind, mute.error.retryable) == ("bad_response", False)
    assert f"the model said nothing, stop_reason {reason!r}" in mute.error.message
    assert told.text == "Four."


def test_a_call_is_a_part_of_the_answer_and_its_reasoning_keeps_its_signature(
    service, put_to
):
    call = {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "x"}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    message = {**MESSAGE, "content": [thought, call], "stop_reason": "tool_use"}

    [output] = put_to(service(message), "anthropic/m", ask())

    assert output.calls == (ToolCall("t", "search", {"q": "x"}),)
    assert output.stop_reason == "tool_calls"
    assert output.candidates[0].parts[0] == Reasoning("Hm.", "s")


def test_hidden_thoughts_leave_only_the_answer(service, put_to):
    content = [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": ""},
        MESSAGE["content"][1],
    ]

    [output] = put_to(service({**MESSAGE, "content": content}), "anthropic/m", ask())

    assert output.candidates[0].parts == (Text("Four."),)


def test_several_candidates_are_several_calls_and_all_are_paid_for(service, put_to):
    server = service(
        MESSAGE, {**MESSAGE, "id": "msg_2", "content": [{"type": "text", "text": "IV"}]}
    )

    [output] = put_to(server, "anthropic/m", ask(n=2))

    assert [candidate.text for candidate in output.candidates] == ["Four.", "IV"]
    assert output.usage.output_tokens == 2 * 503


def test_a_seed_is_not_sent_and_the_record_notes_it(service, put_to):
    server = service(MESSAGE)

    [output] = put_to(server, "anthropic/some-model", ask(seed=7))

    assert "seed" not in server.asked[0]
    assert output.details == {"ignored": ["seed"], "reply_model": "some-model"}


def test_a_request_without_sampling_options_names_the_newest_version(service, put_to):
    server = service(MESSAGE)

    put_to(server, "anthropic/m", ask())
    put_to(server, "anthropic/m", ask(temperature=0.5))
    put_to(server, "anthropic/m", ask(), version="2023-01-01")

    newest, sampling, chosen = server.sent_headers
    assert newest["anthropic-version"] == "2026-10-21"
    assert newest["Authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in newest
    assert sampling["anthropic-version"] == "2023-06-01"
    assert sampling["x-api-key"] == KEY
    assert "Authorization" not in sampling
    assert chosen["anthropic-version"] == "2023-01-01"


def test_thinking_can_be_switched_off(service, put_to):
    server = service(MESSAGE)

    put_to(server, "anthropic/m", ask(temperature=0.5), thinking="disabled")

    assert server.asked[0]["thinking"] == {"type": "disabled"}


def test_an_option_that_the_model_refuses_is_named(service, put_to):
    message = "`temperature` is not supported by this model"
    error = {"error": {"type": "invalid_request_error", "message": message}}

    [output] = put_to(service(error, status=400), "anthropic/m", ask(temperature=0))

    assert message in output.error.message
    assert "fix: newer models take no temperature" in output.error.message


def test_an_answer_of_maximal_length_counts_as_cut_even_if_a_proxy_disagrees(
    service, put_to
):
    [output] = put_to(service(MESSAGE), "anthropic/m", ask(max_tokens=503))
    ended = {**MESSAGE, "stop_reason": "stop_sequence"}
    [stopped] = put_to(service(ended), "anthropic/m", ask(max_tokens=503))

    assert (output.stop_reason, stopped.stop_reason) == ("length", "stop")


def test_the_limit_sent_where_the_task_sets_none_is_one_too(service, put_to):
    [output] = put_to(service(MESSAGE), "anthropic/m", ask(), max_tokens=503)

    assert output.stop_reason == "length"


@pytest.mark.parametrize(
    "options", [{"min_p": 0.1}, {"frequency_penalty": 1.0}, {"logprobs": 1}]
)
def test_an_option_the_api_lacks_is_refused(service, put_to, options):
    with pytest.raises(
        UsageError,
        match=f"the Messages API has no generation option '{next(iter(options))}'",
    ):
        put_to(service(MESSAGE), "anthropic/m", ask(**options))


@pytest.mark.parametrize(
    ("status", "theirs", "kind", "retryable"),
    [
        (400, "invalid_request_error", "http", False),
        (401, "authentication_error", "auth", False),
        (403, "permission_error", "auth", False),
        (404, "not_found_error", "http", False),
        (413, "request_too_large", "http", False),
        (429, "rate_limit_error", "rate_limit", True),
        (500, "api_error", "http", True),
        (529, "overloaded_error", "rate_limit", True),
    ],
)
def test_what_the_services_errors_mean(
    service, put_to, status, theirs, kind, retryable
):
    body = {
        "type": "error",
        "error": {"type": theirs, "message": "because"},
        "request_id": "req_1",
    }

    [output] = put_to(
        service(body, status=status, headers={"retry-after": "3"}), "anthropic/m", ask()
    )

    assert (output.error.kind, output.error.retryable) == (kind, retryable)
    assert output.error.message == f"HTTP {status}: because"
    assert output.error.retry_after == (3.0 if kind != "auth" else None)


def test_a_prompt_too_long_and_an_empty_purse_are_of_their_own_kinds(service, put_to):
    def refusing(message):
        return service(
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": message},
            },
            status=400,
        )

    [long] = put_to(
        refusing("prompt is too long: 210000 tokens > 200000 maximum"),
        "anthropic/m",
        ask(),
    )
    [poor] = put_to(refusing("Your credit balance is too low"), "anthropic/m", ask())

    assert (long.error.kind, poor.error.kind) == ("context", "quota")
    assert not long.error.retryable and not poor.error.retryable


@pytest.mark.parametrize(
    "body",
    [{}, [], {"content": "text"}, {"content": [{"text": "x"}]}, {"content": [3]}],
)
def test_a_body_without_a_message_is_retried(service, put_to, body):
    [output] = put_to(service(body), "anthropic/m", ask())

    assert (output.error.kind, output.error.retryable) == ("bad_response", True)


def test_the_key_is_seen_nowhere(service, put_to):
    body = {
        "type": "error",
        "error": {"type": "authentication_error", "message": f"bad {KEY}"},
    }

    [output] = put_to(service(body, status=401), "anthropic/m", ask())

    assert output.error.message == "HTTP 401: bad [redacted]"
    model = build_model("anthropic/m")
    assert KEY not in f"{model!r} {model.identity!r}"


def test_neither_key_nor_url_is_an_error_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    with pytest.raises(
        UsageError,
        match=r"'anthropic/m' has neither a key nor a URL; fix: set .* ANTHROPIC_API_KEY",
    ):
        build_model("anthropic/m")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("http://127.0.0.1:9/gate/v1/", "http://127.0.0.1:9/gate/v1"),
        ("http://127.0.0.1:9/gate", "http://127.0.0.1:9/gate"),
    ],
)
def test_an_address_without_a_path_is_of_the_known_version(monkeypatch, given, meant):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", given)

    assert build_model("anthropic/m").identity["base_url"] == meant


def test_what_it_declares():
    abilities = build_model("anthropic/m").abilities

    assert (abilities.accepts, abilities.produces) == ({"text", "image"}, {"text"})
    assert (abilities.roles, abilities.logprobs, abilities.likelihood) == (
        "chat",
        False,
        False,
    )


def test_thinking_takes_a_number_or_adaptive():
    with pytest.raises(
        UsageError,
        match="thinking takes a number of tokens or one of adaptive, disabled, got 'much'",
    ):
        build_model("anthropic/m", {"thinking": "much"})
    with pytest.raises(
        UsageError, match="thinking=512 is too few tokens; fix: at least 1024"
    ):
        build_model("anthropic/m", {"thinking": 512})
