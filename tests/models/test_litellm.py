"""litellm's real `acompletion` against a local server; and what is said where it is not installed."""

import asyncio
import importlib.util
from dataclasses import replace

import pytest

from assay.core import (
    GenerateOptions,
    Message,
    MissingExtra,
    Prompt,
    Reasoning,
    Request,
    Text,
)
from assay.models import build_model

pytestmark = pytest.mark.xdist_group("litellm")
installed = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="needs the extra litellm"
)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
ANSWER = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": USAGE,
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Four.", "reasoning_content": "Hm."}}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def environment(no_service, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")


def ask(**options):
    return Request(
        Prompt((Message.of("system", "Be brief."), Message.of("user", "2+2?"))),
        GenerateOptions(**options),
    )


@installed
def test_a_question_and_its_answer(service, put_to):
    server = service(ANSWER)

    [output] = put_to(
        server, "litellm/openai/some-model", ask(max_tokens=9, temperature=0.5)
    )

    assert server.paths == ["/v1/chat/completions"]
    asked = server.asked[0]
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2+2?"},
    ]
    assert (asked["model"], asked["temperature"]) == ("some-model", 0.5)
    assert output.error is None
    assert output.candidates[0].parts == (Reasoning("Hm."), Text("Four."))
    assert (output.stop_reason, output.usage.output_tokens) == ("stop", 500)


@installed
@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (429, {"error": {"message": "slow down"}}, "rate_limit", True),
        (401, {"error": {"message": "no"}}, "auth", False),
        (404, {"error": {"message": "no such model"}}, "http", False),
        (500, {"error": {"message": "oops"}}, "http", True),
        (
            400,
            {"error": {"message": "This model's maximum context length is 9 tokens."}},
            "context",
            False,
        ),
    ],
)
def test_each_failure_is_one_attempt_with_its_kind(
    service, put_to, status, body, kind, retryable
):
    server = service(body, status=status, headers={"retry-after": "2"})

    [output] = put_to(server, "litellm/openai/some-model", ask())

    assert len(server.asked) == 1
    assert (output.error.kind, output.error.retryable) == (kind, retryable)
    assert "\n" not in output.error.message


@installed
def test_the_seed_of_the_request_is_sent_and_not_the_one_of_the_run(service, put_to):
    server = service(ANSWER)

    put_to(server, "litellm/openai/some-model", replace(ask(seed=7), seed=71))

    assert server.asked[0]["seed"] == 71


@installed
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("openai/gpt", "OPENAI_API_KEY"),
        ("gemini/some", "GOOGLE_API_KEY, GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_is_one_line_that_names_it_and_is_not_tried_again(
    monkeypatch, name, keys
):
    for variable in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)

    [output] = asyncio.run(build_model(f"litellm/{name}").generate([ask()]))

    assert (output.error.kind, output.error.retryable) == ("auth", False)
    assert (
        output.error.message
        == f"litellm finds no key for {name!r}; fix: set {keys} in the environment"
    )


@installed
def test_more_than_text_several_candidates_and_log_probabilities_are_asked_for(
    service, put_to
):
    tokens = {
        "content": [
            {"token": "Four", "logprob": -0.1, "bytes": None, "top_logprobs": []}
        ]
    }
    choices = [
        {**ANSWER["choices"][0], "index": index, "logprobs": tokens}
        for index in range(2)
    ]
    server = service({**ANSWER, "choices": choices})
    prompt = Prompt((Message.of("user", "hi"),), produces=("audio",))

    [output] = put_to(
        server,
        "litellm/openai/gpt-4o-audio-preview",
        Request(prompt, GenerateOptions(n=2, logprobs=0)),
        produces=("text", "audio"),
        body={"audio": {"voice": "ash", "format": "wav"}},
    )

    asked = server.asked[0]
    assert (asked["modalities"], asked["audio"]) == (
        ["text", "audio"],
        {"voice": "ash", "format": "wav"},
    )
    assert (asked["n"], asked["logprobs"]) == (2, True)
    assert [candidate.tokens[0].logprob for candidate in output.candidates] == [
        -0.1,
        -0.1,
    ]


@installed
def test_only_the_scheduler_retries_a_missing_server(put_to, service):
    model = build_model(
        "litellm/openai/some-model", {"base_url": "http://127.0.0.1:1/v1"}
    )

    [output] = asyncio.run(model.generate([ask()]))

    assert output.error.retryable


@installed
def test_a_content_filter_is_an_answer(service, put_to):
    message = "Your request was rejected as a result of our safety system."
    body = {
        "error": {
            "message": message,
            "code": "content_policy_violation",
            "type": "invalid_request_error",
        }
    }

    [output] = put_to(service(body, status=400), "litellm/openai/some-model", ask())

    assert (output.error, output.stop_reason) == (None, "content_filter")


@installed
def test_the_price_list_says_what_it_cost(service, put_to):
    import litellm

    litellm.register_model(
        {
            "openai/priced": {
                "litellm_provider": "openai",
                "mode": "chat",
                "input_cost_per_token": 1e-6,
                "output_cost_per_token": 2e-6,
            }
        }
    )

    [output] = put_to(
        service({**ANSWER, "model": "priced"}), "litellm/openai/priced", ask()
    )

    assert output.usage.cost == pytest.approx(1000e-6 + 500 * 2e-6)


def test_without_the_library_the_line_that_installs_it_is_given(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "litellm" else real(name, *a),
    )

    with pytest.raises(
        MissingExtra,
        match=r"litellm.* is not installed; fix: pip install 'assay\[litellm\]'",
    ):
        build_model("litellm/openai/m")
