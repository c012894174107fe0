"""`generateContent`: bodies as the public reference has them, through a local server."""

import base64
import io
import wave
from dataclasses import replace

import pytest

from assay.core import (
    Audio,
    GenerateOptions,
    Image,
    Message,
    Prompt,
    Reasoning,
    Request,
    Text,
    UsageError,
    Video,
)
from assay.models import build_model

PNG = b"\x89PNG\r\n\x1a\n...."
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "
MP4 = b"\x00\x00\x00\x18ftypmp42"
KEY = "AIza-0123456789"
ANSWER = {
    "candidates": [
        {
            "content": {
                "parts": [{"text": "Let me see.", "thought": True}, {"text": "Four."}],
                "role": "model",
            },
            "finishReason": "STOP",
            "index": 0,
            "avgLogprobs": -0.25,
            "logprobsResult": {
                "topCandidates": [
                    {
                        "candidates": [
                            {"token": "Four", "logProbability": -0.1},
                            {"token": "4", "logProbability": -2.5},
                        ]
                    }
                ],
                "chosenCandidates": [
                    {"token": "Four", "tokenId": 7, "logProbability": -0.1}
                ],
            },
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 15,
        "candidatesTokenCount": 6,
        "thoughtsTokenCount": 20,
        "cachedContentTokenCount": 3,
        "totalTokenCount": 41,
    },
    "modelVersion": "some-model-001",
}


@pytest.fixture(autouse=True)
def environment(no_service, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", KEY)


def ask(*content, system=None, produces=("text",), **options):
    messages = ((Message.of("system", system),) if system else ()) + (
        Message.of("user", *(content or ("hi",))),
    )
    return Request(Prompt(messages, produces), GenerateOptions(**options))


def put(put_to, server, *requests, **options):
    return put_to(server, "gemini/some-model", *requests, base="/v1beta", **options)


def test_the_seed_of_the_request_is_sent_and_not_the_one_of_the_run(service, put_to):
    server = service(ANSWER)

    put(put_to, server, replace(ask("2+2?", seed=7), seed=71))

    assert server.asked[0]["generationConfig"] == {"seed": 71}


def test_a_question_and_its_answer(service, put_to):
    server = service(ANSWER)
    request = ask(
        "2+2?",
        system="Be brief.",
        temperature=0.5,
        top_p=0.9,
        top_k=5,
        stop=("\n",),
        max_tokens=64,
        seed=7,
        logprobs=2,
        response_format="json",
        presence_penalty=0.5,
        frequency_penalty=0.25,
    )

    [output] = put(put_to, server, request, thinking=128)

    assert server.paths == ["/v1beta/models/some-model:generateContent"]
    assert server.sent_headers[0]["x-goog-api-key"] == KEY
    assert server.asked == [
        {
            "contents": [{"role": "user", "parts": [{"text": "2+2?"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {
                "temperature": 0.5,
                "topP": 0.9,
                "topK": 5,
                "maxOutputTokens": 64,
                "seed": 7,
                "presencePenalty": 0.5,
                "frequencyPenalty": 0.25,
                "stopSequences": ["\n"],
                "responseLogprobs": True,
                "logprobs": 2,
                "responseMimeType": "application/json",
                "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 128},
            },
        }
    ]
    candidate = output.candidates[0]
    assert candidate.parts == (Reasoning("Let me see."), Text("Four."))
    assert (output.text, output.stop_reason) == ("Four.", "stop")
    assert candidate.tokens[0].top == (("Four", -0.1), ("4", -2.5))
    usage = output.usage
    assert (
        usage.input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
    ) == (15, 26, 20, 3)


def test_all_media_go_inline_and_earlier_answers_are_the_models(service, put_to):
    server = service(ANSWER)
    messages = (
        Message.of("user", Image(PNG), Audio(WAV), Video(MP4), "what?"),
        Message.of("assistant", "A cat."),
        Message.of("user", "Sure?"),
    )

    put(put_to, server, Request(Prompt(messages)))

    first, second, third = server.asked[0]["contents"]
    assert [part["inlineData"]["mimeType"] for part in first["parts"][:3]] == [
        "image/png",
        "audio/wav",
        "video/mp4",
    ]
    assert first["parts"][1]["inlineData"]["data"] == base64.b64encode(WAV).decode()
    assert second == {"role": "model", "parts": [{"text": "A cat."}]}
    assert third["role"] == "user"
    assert "generationConfig" not in server.asked[0]


def test_several_candidates_come_in_one_answer(service, put_to):
    server = service({**ANSWER, "candidates": ANSWER["candidates"] * 2})

    [both] = put(put_to, server, ask(n=2))
    [lone] = put(put_to, service(ANSWER), ask(n=2))

    assert server.asked[0]["generationConfig"]["candidateCount"] == 2
    assert len(both.candidates) == 2
    assert "asked for 2 candidates, the endpoint gave 1" in lone.error.message


def test_images_and_sounds_it_made_come_back(service, put_to):
    made = [
        {
            "inlineData": {
                "mimeType": "image/png",
                "data": base64.b64encode(PNG).decode(),
            }
        },
        {
            "inlineData": {
                "mimeType": "audio/wav",
                "data": base64.b64encode(WAV).decode(),
            }
        },
    ]
    server = service(
        {"candidates": [{"content": {"parts": made}, "finishReason": "STOP"}]}
    )

    [output] = put(
        put_to,
        server,
        ask("a cat", produces=("text", "image")),
        produces=("text", "image"),
    )

    assert server.asked[0]["generationConfig"]["responseModalities"] == [
        "TEXT",
        "IMAGE",
    ]
    assert output.media == (Image(PNG), Audio(WAV))


@pytest.mark.parametrize(
    ("kind", "rate"),
    [("audio/L16;codec=pcm;rate=16000", 16000), ("audio/pcm", 24000)],
    ids=["said", "usual"],
)
def test_bare_samples_become_a_sound_that_can_be_played(service, put_to, kind, rate):
    samples = b"\x01\x00\xff\x7f" * 4
    made = {
        "inlineData": {"mimeType": kind, "data": base64.b64encode(samples).decode()}
    }
    server = service(
        {"candidates": [{"content": {"parts": [made]}, "finishReason": "STOP"}]}
    )

    [output] = put(
        put_to,
        server,
        ask("Hello.", produces=("audio",)),
        produces=("audio",),
        voice="Kore",
    )

    assert server.asked[0]["generationConfig"] == {
        "responseModalities": ["AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    }
    with wave.open(io.BytesIO(output.media[0].data())) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (
            rate,
            1,
            2,
        )
        assert sound.readframes(100) == samples


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("IMAGE_RECITATION", "content_filter"),
    ],
)
def test_why_an_answer_ended(service, put_to, theirs, ours):
    [output] = put(
        put_to, service({"candidates": [{"finishReason": theirs, "index": 0}]}), ask()
    )

    assert (output.error, output.stop_reason) == (None, ours)
    assert output.candidates[0].parts == ()


@pytest.mark.parametrize(
    ("reason", "parts", "retryable"),
    [
        ("OTHER", [], True),
        ("OTHER", [{"text": "Fo"}], True),
        ("MALFORMED_RESPONSE", [], True),
        ("MALFORMED_FUNCTION_CALL", [], False),
        ("UNEXPECTED_TOOL_CALL", [], False),
        ("NO_IMAGE", [{"text": "Hm.", "thought": True}], False),
    ],
)
def test_an_answer_the_service_broke_off_is_a_failure_and_no_answer(
    service, put_to, reason, parts, retryable
):
    body = {"candidates": [{"content": {"parts": parts}, "finishReason": reason}]}

    [output] = put(put_to, service(body), ask())

    assert (output.error.kind, output.error.retryable) == ("bad_response", retryable)
    assert f"finishReason {reason!r}" in output.error.message


def test_a_blocked_prompt_is_a_refusal(service, put_to):
    body = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 4},
    }

    [output] = put(put_to, service(body), ask(n=3))

    assert (output.error, output.stop_reason) == (None, "content_filter")
    assert output.details == {"blocked": "SAFETY"}
    assert output.usage.input_tokens == 4


def error(code, status, *details):
    return {
        "error": {
            "code": code,
            "message": "because",
            "status": status,
            "details": list(details),
        }
    }


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"}
DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [
        {
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaValue": "20",
        }
    ],
}
BAD_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable", "wait"),
    [
        (429, error(429, "RESOURCE_EXHAUSTED", RETRY), "rate_limit", True, 36.5),
        (429, error(429, "RESOURCE_EXHAUSTED"), "rate_limit", True, None),
        (429, error(429, "RESOURCE_EXHAUSTED", DAY, RETRY), "quota", False, None),
        (400, error(400, "INVALID_ARGUMENT", BAD_KEY), "auth", False, None),
        (400, error(400, "INVALID_ARGUMENT"), "http", False, None),
        (403, error(403, "PERMISSION_DENIED"), "auth", False, None),
        (404, error(404, "NOT_FOUND"), "http", False, None),
        (500, error(500, "INTERNAL"), "http", True, None),
        (503, error(503, "UNAVAILABLE"), "unavailable", True, None),
    ],
)
def test_what_the_services_errors_mean(
    service, put_to, status, body, kind, retryable, wait
):
    [output] = put(put_to, service(body, status=status), ask())

    assert (output.error.kind, output.error.retryable, output.error.retry_after) == (
        kind,
        retryable,
        wait,
    )
    assert output.error.message == f"HTTP {status}: because"


@pytest.mark.parametrize("body", [{}, [], {"candidates": [3]}, {"candidates": [{}]}])
def test_a_body_without_an_answer_is_retried(service, put_to, body):
    [output] = put(put_to, service(body), ask())

    assert (output.error.kind, output.error.retryable) == ("bad_response", True)


def test_an_option_the_api_lacks_is_refused(service, put_to):
    with pytest.raises(
        UsageError, match="generateContent has no generation option 'min_p'"
    ):
        put(put_to, service(ANSWER), ask(min_p=0.5))


def test_a_tuned_model_keeps_its_own_path(service, put_to):
    server = service(ANSWER)

    put_to(
        server, "gemini/tunedModels/mine", ask(reasoning_effort="low"), base="/v1beta"
    )

    assert server.paths == ["/v1beta/tunedModels/mine:generateContent"]
    config = {"includeThoughts": True, "thinkingLevel": "low"}
    assert server.asked[0]["generationConfig"] == {"thinkingConfig": config}


def test_what_it_declares():
    abilities = build_model("gemini/m").abilities

    assert abilities.accepts == {"text", "image", "audio", "video"}
    assert (abilities.roles, abilities.logprobs) == ("chat", True)


def test_neither_key_nor_url_is_an_error_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY")

    with pytest.raises(
        UsageError,
        match=r"'gemini/m' has neither a key nor a URL; fix: set .* GEMINI_API_KEY",
    ):
        build_model("gemini/m")


@pytest.mark.parametrize("option", [{"thinking": "much"}, {"show_thoughts": "maybe"}])
def test_an_option_that_makes_no_sense_is_refused(option):
    with pytest.raises(UsageError, match=f"{next(iter(option))}\\b"):
        build_model("gemini/m", option)
