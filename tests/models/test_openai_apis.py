"""The APIs of the OpenAI-compatible model beside chat and completions; bodies as the public reference has them."""

import base64
import io
import math
import wave
from dataclasses import replace

import pytest

from assay.core import (
    Audio,
    GenerateOptions,
    Image,
    Likelihood,
    Message,
    Prompt,
    Reasoning,
    Request,
    Text,
    UsageError,
)
from assay.models import build_model

PNG = b"\x89PNG\r\n\x1a\n...."
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


def ask(*content, system=None, produces=("text",), seed=None, **options):
    messages = ((Message.of("system", system),) if system else ()) + (
        Message.of("user", *(content or ("hi",))),
    )
    return Request(Prompt(messages, produces), GenerateOptions(**options), seed)


def b64(data):
    return base64.b64encode(data).decode()


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Two and two."}],
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "4",
                    "annotations": [],
                    "logprobs": [
                        {
                            "token": "4",
                            "logprob": -0.1,
                            "top_logprobs": [{"token": "4", "logprob": -0.1}],
                        },
                    ],
                }
            ],
        },
    ],
    "usage": {
        "input_tokens": 36,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 87,
        "output_tokens_details": {"reasoning_tokens": 80},
        "total_tokens": 123,
    },
}
RESPONSES = [{**RESPONSE, "id": f"resp_{number}"} for number in range(9)]


def test_responses_keep_reasoning_apart(service, put_to):
    server = service(RESPONSE)
    request = ask(
        "2+2?",
        system="Be brief.",
        max_tokens=90,
        reasoning_effort="low",
        logprobs=1,
        response_format="json",
    )

    [output] = put_to(server, "openai/m", request, api="responses")

    assert server.paths == ["/v1/responses"]
    assert server.asked == [
        {
            "model": "m",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "2+2?"},
            ],
            "store": False,
            "stream": False,
            "max_output_tokens": 90,
            "reasoning": {"effort": "low", "summary": "auto"},
            "text": {"format": {"type": "json_object"}},
            "top_logprobs": 1,
            "include": ["message.output_text.logprobs"],
        }
    ]
    assert output.candidates[0].parts == (Reasoning("Two and two."), Text("4"))
    assert output.candidates[0].tokens[0].top == (("4", -0.1),)
    assert output.stop_reason == "stop"
    usage = output.usage
    assert (
        usage.input_tokens,
        usage.cached_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    ) == (36, 4, 87, 80)


def test_images_in_a_response_go_as_input_image(service, put_to):
    server = service(RESPONSE)

    put_to(server, "openai/m", ask(Image(PNG), "what?"), api="responses")

    assert server.asked[0]["input"][0]["content"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{b64(PNG)}"},
        {"type": "input_text", "text": "what?"},
    ]


@pytest.mark.parametrize(
    ("change", "reason", "text"),
    [
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            "length",
            "4",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_tokens"}},
            "length",
            "4",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "length"}},
            "length",
            "4",
        ),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "length"},
                "output": [],
            },
            "length",
            "",
        ),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_tool_calls"},
            },
            "max_tool_calls",
            "4",
        ),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "content_filter"},
                "output": [],
            },
            "content_filter",
            "",
        ),
        (
            {
                "output": [
                    {
                        "type": "message",
                        "content": [{"type": "refusal", "refusal": "No."}],
                    }
                ]
            },
            "content_filter",
            "",
        ),
    ],
)
def test_a_response_says_why_it_ended(service, put_to, change, reason, text):
    [output] = put_to(
        service({**RESPONSE, **change}), "openai/m", ask(), api="responses"
    )

    assert (output.error, output.stop_reason, output.text) == (None, reason, text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"status": "cancelled", "output": []},
            "the response is unfinished, status 'cancelled'",
        ),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "server_error"},
                "output": [],
            },
            "reason 'server_error'",
        ),
        (
            {
                "output": [
                    {"type": "reasoning", "summary": [{"text": "Hm."}]},
                    {"type": "web_search_call", "id": "w"},
                ]
            },
            "the model called a tool of the service instead of answering",
        ),
    ],
)
def test_a_response_that_holds_no_answer_is_a_failure(service, put_to, change, said):
    [output] = put_to(
        service({**RESPONSE, **change}), "openai/m", ask(), api="responses"
    )

    assert output.error.kind == "bad_response" and said in output.error.message


def test_a_log_probability_of_a_response_that_json_cannot_spell_costs_no_answer(
    service, put_to
):
    rivals = [{"token": "4", "logprob": -0.5}, {"token": "5", "logprob": None}]
    said = {
        "type": "output_text",
        "text": "4",
        "logprobs": [{"token": "4", "logprob": None, "top_logprobs": rivals}],
    }
    answer = {**RESPONSE, "output": [{"type": "message", "content": [said]}]}

    [output] = put_to(service(answer), "openai/m", ask(), api="responses")

    [token] = output.candidates[0].tokens
    assert (
        output.text == "4" and math.isnan(token.logprob) and token.top == (("4", -0.5),)
    )


def test_a_failed_response_is_a_failure(service, put_to):
    failed = {
        **RESPONSE,
        "status": "failed",
        "output": [],
        "error": {"code": "server_error", "message": "oops"},
    }

    [output] = put_to(service(failed), "openai/m", ask(), api="responses")

    assert output.error.message == "the response failed: oops"
    assert output.error.retryable


def test_several_candidates_of_a_response_are_several_calls(service, put_to):
    server = service(*RESPONSES)

    [output] = put_to(server, "openai/m", ask(n=3), api="responses")

    assert len(server.asked) == len(output.candidates) == 3
    assert output.usage.output_tokens == 3 * 87


def test_candidates_received_before_a_failure_are_kept_for_the_retry_and_counted_in_the_cost(
    put_to,
):
    from aiohttp import web

    calls = 0

    async def handle(request):
        nonlocal calls
        calls += 1
        if calls == 4:
            return web.json_response({"error": {"message": "boom"}}, status=500)
        return web.json_response(RESPONSES[calls])

    request, other = ask(n=4), ask(n=2)

    failed, answered, next_one = put_to(
        handle, "openai/m", request, request, other, api="responses"
    )

    assert (failed.error.kind, failed.usage.output_tokens) == ("http", 3 * 87)
    assert (len(answered.candidates), answered.usage.output_tokens) == (4, 4 * 87)
    assert len(next_one.candidates) == 2 and calls == 5 + 2


def test_the_same_request_asked_anew_is_drawn_anew(service, put_to):
    server, request = service(*RESPONSES), ask(n=2)

    put_to(server, "openai/m", request, request, api="responses")

    assert len(server.asked) == 4


def test_a_seed_that_the_responses_api_cannot_take_is_recorded(service, put_to):
    server = service(RESPONSE)

    [seeded, plain] = put_to(server, "openai/m", ask(seed=7), ask(), api="responses")

    assert "seed" not in server.asked[0]
    assert (seeded.details, dict(plain.details)) == ({"ignored": ["seed"]}, {})


def test_an_option_the_responses_api_lacks_is_refused(service, put_to):
    with pytest.raises(
        UsageError,
        match=r"the Responses API has no generation option 'stop'; fix: choose api=chat",
    ):
        put_to(service(RESPONSE), "openai/m", ask(stop=("\n",)), api="responses")


@pytest.mark.parametrize(
    ("said", "thought", "answer"),
    [
        ("<think>\nhm\n</think>\n\n4", "hm", "4"),
        ("hm</think>4", "hm", "4"),
        ("<think>for ever", "for ever", ""),
        ("plain", "", "plain"),
    ],
)
def test_reasoning_in_the_text_is_not_part_of_the_answer(
    service, put_to, said, thought, answer
):
    body = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}

    [output] = put_to(service(body), "openai/m", ask())

    assert (output.reasoning, output.text) == (thought, answer)


def test_sound_is_asked_for_in_a_chat_and_comes_with_its_words(service, put_to):
    audio = {"id": "audio_1", "expires_at": 1, "data": b64(WAV), "transcript": "Hello."}
    server = service(
        {
            "choices": [
                {"message": {"content": None, "audio": audio}, "finish_reason": "stop"}
            ]
        }
    )

    [output] = put_to(
        server,
        "openai/m",
        ask(produces=("audio",)),
        produces=("text", "audio"),
        voice="ash",
    )

    assert server.asked[0]["modalities"] == ["text", "audio"]
    assert server.asked[0]["audio"] == {"voice": "ash", "format": "wav"}
    assert output.media == (Audio(WAV),)
    assert output.text == "Hello."


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "audio": {"data": "", "transcript": "Hello."}},
        {"content": "", "audio": {"data": None, "transcript": "Hello."}},
        {"content": "Hello.", "audio": {"data": "", "transcript": ""}},
        {"content": [{"type": "audio", "audio": {"data": "", "transcript": "Hello."}}]},
    ],
    ids=["empty", "none", "beside words", "piece"],
)
def test_the_words_of_a_sound_that_is_empty_are_kept(service, put_to, message):
    server = service({"choices": [{"message": message, "finish_reason": "stop"}]})

    [output] = put_to(server, "openai/m", ask(), produces=("text", "audio"))

    assert (output.error, output.text, output.media) == (None, "Hello.", ())


def test_an_empty_sound_without_words_is_a_bad_response(service, put_to):
    server = service(
        {
            "choices": [
                {
                    "message": {"content": None, "audio": {"data": ""}},
                    "finish_reason": "stop",
                }
            ]
        }
    )

    [output] = put_to(
        server, "openai/m", ask(produces=("audio",)), produces=("text", "audio")
    )

    assert "the audio in the answer is not base64 text" in output.error.message


def test_images_are_asked_for_in_a_chat_and_come_beside_the_words(service, put_to):
    picture = {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{b64(PNG)}"},
    }
    message = {"role": "assistant", "content": "Here.", "images": [picture]}
    server = service({"choices": [{"message": message, "finish_reason": "stop"}] * 2})

    [output] = put_to(
        server,
        "openai/m",
        ask("a cat", produces=("image",), n=2),
        produces=("text", "image"),
    )

    assert server.asked == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "a cat"}],
            "n": 2,
            "modalities": ["text", "image"],
        }
    ]
    assert [
        [medium.data() for medium in candidate.media] for candidate in output.candidates
    ] == [[PNG], [PNG]]
    assert output.text == "Here."


def test_images_are_drawn_by_the_seed_of_the_request(service, put_to):
    server = service({"data": [{"b64_json": b64(PNG)}]})
    request = replace(ask("a cat", seed=71), options=GenerateOptions(seed=7))

    put_to(server, "openai/m", request, api="images")

    assert server.asked[0]["seed"] == 71


def test_images_are_drawn_n_at_a_time(service, put_to):
    drawn = {
        "data": [{"b64_json": b64(PNG)}, {"b64_json": b64(PNG + b"2")}],
        "usage": {"input_tokens": 5},
    }
    server = service(drawn)

    [output] = put_to(
        server,
        "openai/m",
        ask("a cat", n=2, seed=7),
        api="images",
        body={"size": "64x64"},
    )

    assert server.paths == ["/v1/images/generations"]
    assert server.asked == [
        {
            "model": "m",
            "prompt": "a cat",
            "n": 2,
            "response_format": "b64_json",
            "seed": 7,
            "size": "64x64",
        }
    ]
    assert [candidate.media for candidate in output.candidates] == [
        (Image(PNG),),
        (Image(PNG + b"2"),),
    ]
    assert output.usage.input_tokens == 5


def test_an_image_in_the_prompt_is_edited(service, put_to):
    server = service({"data": [{"b64_json": b64(PNG)}]})

    [output] = put_to(
        server,
        "openai/m",
        ask(Image(PNG), "make it red"),
        api="images",
        body={"size": "64x64"},
    )

    assert server.paths == ["/v1/images/edits"]
    form = dict(server.asked[0])
    assert form.pop("image") == ("image0.png", "image/png", PNG)
    assert form == {
        "model": "m",
        "prompt": "make it red",
        "n": "1",
        "response_format": "b64_json",
        "size": "64x64",
    }
    assert output.media == (Image(PNG),)


def test_several_images_to_edit_go_under_one_name(service, put_to):
    server = service({"data": [{"b64_json": b64(PNG)}]})

    put_to(
        server,
        "openai/m",
        ask(Image(PNG), Image(PNG + b"2"), "join them"),
        api="images",
    )

    assert [name for name, _ in server.asked[0]].count("image[]") == 2


def test_an_address_instead_of_an_image_is_an_error_with_its_remedy(service, put_to):
    [output] = put_to(
        service({"data": [{"url": "http://x/y.png"}]}), "openai/m", ask(), api="images"
    )

    assert (
        'an address instead of an image; fix: -a \'body={"response_format": '
        in output.error.message
    )
    assert not output.error.retryable


def test_speech_is_the_body_of_the_answer(service, put_to):
    server = service(WAV, headers={"Content-Type": "audio/wav"})

    [output] = put_to(
        server,
        "openai/m",
        ask("Good day.", system="Whisper."),
        api="speech",
        voice="ash",
    )

    assert server.paths == ["/v1/audio/speech"]
    assert server.asked == [
        {
            "model": "m",
            "input": "Good day.",
            "voice": "ash",
            "response_format": "wav",
            "instructions": "Whisper.",
        }
    ]
    assert output.media == (Audio(WAV),)


@pytest.mark.parametrize("api", ["speech", "chat"])
def test_bare_samples_become_a_sound_that_can_be_played(service, put_to, api):
    samples = b"\x01\x00\xff\x7f" * 4
    message = {"content": None, "audio": {"data": b64(samples), "transcript": "Hello."}}
    server = (
        service(samples, headers={"Content-Type": "audio/pcm"})
        if api == "speech"
        else (service({"choices": [{"message": message, "finish_reason": "stop"}]}))
    )
    options = {
        "api": api,
        "audio_format": "pcm" if api == "speech" else "pcm16",
        "produces": ("text", "audio"),
    }

    [output] = put_to(server, "openai/m", ask(produces=("audio",)), **options)

    with wave.open(io.BytesIO(output.media[0].data())) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (
            24_000,
            1,
            2,
        )
        assert sound.readframes(100) == samples


def test_a_speech_endpoint_that_answers_in_json_gave_no_sound(service, put_to):
    [output] = put_to(
        service({"detail": "queued"}), "openai/m", ask("Good day."), api="speech"
    )

    assert "the answer holds no audio clip" in output.error.message


def test_a_sound_is_transcribed_and_the_words_beside_it_are_not_sent(service, put_to):
    server = service(
        {
            "text": "good day",
            "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 2},
        }
    )

    [output] = put_to(
        server,
        "openai/m",
        ask(Audio(WAV), "Transcribe."),
        api="transcriptions",
        body={"language": "en"},
    )

    assert server.paths == ["/v1/audio/transcriptions"]
    form = dict(server.asked[0])
    assert form.pop("file") == ("audio0.wav", "audio/wav", WAV)
    assert form == {"model": "m", "response_format": "json", "language": "en"}
    assert output.text == "good day"
    assert output.details == {"not_sent": ["text"]}
    assert output.usage.input_tokens == 14


def test_a_transcription_without_a_sound_fails_its_sample_alone(service, put_to):
    [output] = put_to(
        service({"text": "x"}), "openai/m", ask("hello"), api="transcriptions"
    )

    assert (
        output.error.message
        == "the transcriptions endpoint takes one audio clip, the prompt has 0"
    )


@pytest.mark.parametrize(
    ("api", "accepts", "produces"),
    [
        ("images", {"text", "image"}, {"image"}),
        ("speech", {"text"}, {"audio"}),
        ("transcriptions", {"text", "audio"}, {"text"}),
        ("responses", {"text", "image"}, {"text"}),
    ],
)
def test_each_api_declares_what_it_takes_and_makes(api, accepts, produces):
    abilities = build_model(
        "openai/m", {"base_url": "http://127.0.0.1:1/v1", "api": api}
    ).abilities

    assert (abilities.accepts, abilities.produces) == (accepts, produces)


def test_an_unknown_api_is_refused():
    with pytest.raises(
        UsageError,
        match="api must be one of auto, chat, completions, responses, images",
    ):
        build_model(
            "openai/m", {"base_url": "http://127.0.0.1:1/v1", "api": "embeddings"}
        )


def weigh(context, *continuations, role=""):
    return Request(Prompt((Message.of(role, context),), continuations=continuations))


def echo(tokens, values, tops=None, **more):
    tops = tops or [
        None if v is None else {t: v} for t, v in zip(tokens, values, strict=True)
    ]
    return {
        "logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops},
        **more,
    }


def test_a_rival_that_cannot_be_weighs_nothing_beside_what_is_echoed(service, put_to):
    tops = [None, {" is": -1}, {" blue": -0.5, " green": None}, {".": None}]
    choice = echo(["Sky", " is", " blue", "."], [None, -1, -0.5, -7], tops, index=0)

    [output] = put_to(
        service({"choices": [choice]}),
        "openai/m",
        weigh("Sky is", " blue"),
        method="likelihood",
        likelihood_by="echo",
    )

    assert output.likelihoods == (Likelihood(-0.5, True, 1),)


def test_echo_weighs_all_continuations_in_one_question(service, put_to):
    first = echo(["<s>", "Sky", " is", " blue", "."], [None, -9, -1, -0.5, -7], index=0)
    second = echo(
        ["<s>", "Sky", " is", " gr", "een", "!"],
        [None, -9, -1, -3, -0.25, -7],
        [None, {}, {}, {" blue": -0.5, " gr": -3}, {"een": -0.25}, {}],
        index=1,
    )
    server = service(
        {
            "choices": [second, first],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2},
        }
    )

    [output] = put_to(
        server,
        "openai/m",
        weigh("Sky is", " blue", " green"),
        method="likelihood",
        likelihood_by="echo",
    )

    assert server.paths == ["/v1/completions"]
    assert server.asked == [
        {
            "model": "m",
            "prompt": ["Sky is blue", "Sky is green"],
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }
    ]
    assert output.likelihoods == (
        Likelihood(-0.5, True, 1),
        Likelihood(-3.25, False, 2),
    )
    assert output.usage.input_tokens == 9


def test_a_token_across_the_seam_and_blanks_before_it_belong_to_the_continuation(
    service, put_to
):
    across = echo(["The", " answers", " x"], [None, -2.0, -5], index=0)

    [output] = put_to(
        service({"choices": [across]}),
        "openai/m",
        weigh("The answer", "s"),
        method="likelihood",
        likelihood_by="echo",
    )
    [blank] = put_to(
        service(
            {"choices": [echo(["A", ":", " B", "x"], [None, -1, -4.0, -5], index=0)]}
        ),
        "openai/m",
        weigh("A: ", "B"),
        method="likelihood",
        likelihood_by="echo",
    )

    assert output.likelihoods == (Likelihood(-2.0, True, 1),)
    assert blank.likelihoods == (Likelihood(-4.0, True, 1),)


def test_letters_spelled_in_bytes_are_found_by_their_offsets(service, put_to):
    body = echo(
        ["Say", " ", r"bytes:\xe4\xbd", r"bytes:\xa0", "."],
        [None, -1, -2.0, -0.5, -9],
        index=0,
    )
    body["logprobs"]["text_offset"] = [0, 3, 4, 4, 5]

    [output] = put_to(
        service({"choices": [body]}),
        "openai/m",
        weigh("Say", " 你"),
        method="likelihood",
        likelihood_by="echo",
    )

    assert output.likelihoods == (Likelihood(-3.5, True, 3),)


def entry(token, logprob, rank=1):
    return {
        "7": {"logprob": logprob, "rank": rank, "decoded_token": token},
        "8": {"logprob": -0.1, "rank": 1},
    }


def test_prompt_logprobs_weigh_completions(service, put_to):
    tokens = [
        None,
        entry("Sky", -9),
        entry(" is", -1),
        entry(" gr", -3, rank=2),
        entry("een", -0.25),
    ]
    server = service(
        {"choices": [{"index": 0, "text": "!", "prompt_logprobs": tokens}]}
    )

    [output] = put_to(
        server,
        "openai/m",
        weigh("Sky is", " green"),
        method="likelihood",
        likelihood_by="prompt_logprobs",
    )

    assert server.asked[0]["prompt_logprobs"] == 1
    assert "echo" not in server.asked[0]
    assert output.likelihoods == (Likelihood(-3.25, False, 2),)


def test_prompt_logprobs_weigh_the_beginning_of_an_answer_in_a_chat(service, put_to):
    tokens = [
        None,
        entry("<|user|>", -1),
        entry("Sky?", -9),
        entry("<|assistant|>", -1),
        entry("Blue", -0.5),
    ]
    server = service(
        {"choices": [{"message": {"content": "."}}], "prompt_logprobs": tokens}
    )

    [output] = put_to(
        server,
        "openai/m",
        weigh("Sky?", "Blue", role="user"),
        method="likelihood",
        likelihood_by="prompt_logprobs",
    )

    assert server.paths == ["/v1/chat/completions"]
    asked = server.asked[0]
    assert asked["messages"][-1] == {"role": "assistant", "content": "Blue"}
    assert (asked["add_generation_prompt"], asked["continue_final_message"]) == (
        False,
        True,
    )
    assert output.likelihoods == (Likelihood(-0.5, True, 1),)


def test_a_whole_text_is_weighed_from_the_first_token_that_has_something_before_it(
    service, put_to
):
    text = echo(["Sky", " is", " blue", "."], [None, -1, -0.5, -7], index=0)
    rolling = Request(Prompt((Message.of("", "Sky is blue"),), rolling=True))

    [output] = put_to(
        service({"choices": [text]}),
        "openai/m",
        rolling,
        method="likelihood",
        likelihood_by="echo",
    )

    assert output.likelihoods == (Likelihood(-1.5, True, 2),)


@pytest.mark.parametrize(
    ("way", "choice", "said"),
    [
        (
            "prompt_logprobs",
            {"prompt_logprobs": [None, entry("Ocean", -1)]},
            "measured 'Ocean' for ' blue'",
        ),
    ],
)
def test_a_server_that_cannot_weigh_is_named(service, put_to, way, choice, said):
    [output] = put_to(
        service({"choices": [choice]}),
        "openai/m",
        weigh("Sky is", " blue"),
        method="likelihood",
        likelihood_by=way,
    )

    assert said in output.error.message
    assert not output.error.retryable


@pytest.mark.parametrize(
    ("way", "choice", "said"),
    [
        (
            "echo",
            {"text": "Sky is blue.", "logprobs": None},
            "does not report logprobs of what it echoes",
        ),
        ("prompt_logprobs", {"text": "."}, "does not report `prompt_logprobs`"),
    ],
)
def test_a_server_that_weighs_nothing_ends_the_run_with_the_first_question(
    service, put_to, way, choice, said
):
    answers, requests = service({"choices": [choice]}), [weigh("Sky is", " blue")] * 3

    with pytest.raises(
        UsageError,
        match=f"{said}; fix: leave likelihood_by={way} out",
    ):
        put_to(answers, "openai/m", *requests, method="likelihood", likelihood_by=way)

    assert len(answers.asked) == 1


def test_a_server_that_weighed_before_fails_the_sample_alone(service, put_to):
    good = echo(["Sky", " is", " blue", "."], [None, -1, -0.5, -3], index=0)
    answers = service(
        {"choices": [good]}, {"choices": [{"text": "Sky is blue.", "logprobs": None}]}
    )

    outputs = put_to(
        answers,
        "openai/m",
        *[weigh("Sky is", " blue")] * 2,
        method="likelihood",
        likelihood_by="echo",
    )

    assert (
        outputs[0].error is None
        and "does not report logprobs" in outputs[1].error.message
    )


def test_a_first_token_with_nothing_before_it_cannot_be_weighed(service, put_to):
    choice = echo(["Blue", "."], [None, -3], index=0)

    [output] = put_to(
        service({"choices": [choice]}),
        "openai/m",
        weigh("", "Blue"),
        method="likelihood",
        likelihood_by="echo",
    )

    expected = "the server reports no likelihood of 'Blue': it has no context"
    assert output.error.message == expected


def test_echo_refuses_chats_with_a_remedy(service, put_to):
    with pytest.raises(
        UsageError,
        match=r"measures plain text only.*fix: use the template 'without_chat'",
    ):
        put_to(
            service({}),
            "openai/m",
            weigh("a", "b", role="user"),
            method="likelihood",
            likelihood_by="echo",
        )


def test_an_endpoint_has_likelihood_only_if_configured():
    place = {"base_url": "http://127.0.0.1:1/v1"}

    assert not build_model("openai/m", place).abilities.likelihood
    assert build_model(
        "openai/m", {**place, "likelihood_by": "echo"}
    ).abilities.likelihood
    with pytest.raises(UsageError, match="api=images cannot compute likelihoods"):
        build_model("openai/m", {**place, "likelihood_by": "echo", "api": "images"})
    with pytest.raises(
        UsageError,
        match="likelihood_by must be one of none, echo, prompt_logprobs, got 'yes'",
    ):
        build_model("openai/m", {**place, "likelihood_by": "yes"})


def test_an_endpoint_without_declared_likelihoods_is_not_asked_for_them(
    service, put_to
):
    with pytest.raises(
        UsageError,
        match="reports no likelihoods of given texts; fix: -a likelihood_by=echo",
    ):
        put_to(service({}), "openai/m", weigh("a", "b"), method="likelihood")


def test_a_path_that_is_not_there_hints_at_the_version(service, put_to):
    gone = service({"detail": "Not Found"}, status=404)

    [bare] = put_to(gone, "openai/m", ask(), base="/")
    [versioned] = put_to(gone, "openai/m", ask())

    assert bare.error.message.endswith("/v1")
    assert (
        "fix: base_url may lack the version, as in http://127.0.0.1:"
        in bare.error.message
    )
    assert "lack the version" not in versioned.error.message
    assert not bare.error.retryable


def test_a_refusal_without_a_key_names_the_variable(service, put_to):
    [output] = put_to(
        service({"error": {"message": "no key"}}, status=401), "openai/m", ask()
    )

    assert output.error.kind == "auth"
    assert (
        output.error.message
        == "HTTP 401: no key; fix: set the environment variable OPENAI_API_KEY"
    )


@pytest.mark.parametrize(
    "error",
    [
        {
            "code": "context_length_exceeded",
            "message": "This model's maximum is 4096 tokens",
        },
        {
            "type": "exceed_context_size_error",
            "message": "request (9 tokens) exceeds the available context size",
        },
        {"message": "This model's maximum context length is 4096 tokens"},
    ],
)
def test_a_prompt_too_long_for_the_model_is_of_its_own_kind(service, put_to, error):
    [output] = put_to(service({"error": error}, status=400), "openai/m", ask())

    assert (output.error.kind, output.error.retryable) == ("context", False)


def test_a_key_with_a_line_break_inside_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\nX-Evil: 1")

    with pytest.raises(
        UsageError, match="the header 'Authorization' holds a line break"
    ) as caught:
        build_model("openai/m")

    assert "sk-abc" not in str(caught.value)


def test_a_key_may_end_in_the_line_break_of_its_file(monkeypatch, service, put_to):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\n")
    server = service(RESPONSE)

    put_to(server, "openai/m", ask(), api="responses")

    assert server.sent_headers[0]["Authorization"] == "Bearer sk-abc"


def test_kinds_are_taken_as_they_are_typed_and_checked():
    place = {"base_url": "http://127.0.0.1:1/v1"}

    assert build_model(
        "openai/m", {**place, "produces": "text,audio"}
    ).abilities.produces == {"text", "audio"}
    with pytest.raises(
        UsageError,
        match="accepts takes kinds of text, image, audio, video, got 'speech'",
    ):
        build_model("openai/m", {**place, "accepts": ["speech"]})
    with pytest.raises(
        UsageError, match="body of model 'openai/m' takes a mapping; fix: -a 'body="
    ):
        build_model("openai/m", {**place, "body": "size=3"})


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            "anthropic/m",
            {
                "content": [{"type": "text", "text": "4"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": "7", "output_tokens": None},
            },
        ),
        (
            "gemini/m",
            {
                "candidates": [
                    {"content": {"parts": [{"text": "4"}]}, "finishReason": "STOP"}
                ],
                "usageMetadata": {"promptTokenCount": "7", "candidatesTokenCount": [1]},
            },
        ),
    ],
    ids=["anthropic", "gemini"],
)
def test_invalid_counts_do_not_discard_the_answer(
    service, put_to, monkeypatch, name, body
):
    for service_name in ("ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{service_name}_API_KEY", "k" * 20)

    [output] = put_to(service(body), name, ask())

    assert output.error is None and output.text == "4"


def test_unsupported_media_are_converted_and_the_details_note_it(service, put_to):
    import io

    import numpy as np
    import soundfile
    from PIL import Image as pillow

    image, audio = io.BytesIO(), io.BytesIO()
    pillow.new("RGB", (8, 8)).save(image, format="BMP")
    soundfile.write(audio, np.zeros(160), 16_000, format="AIFF")
    served = service(
        {"choices": [{"message": {"content": "red"}, "finish_reason": "stop"}]}
    )
    request = Request(
        Prompt(
            (Message.of("user", Image(image.getvalue()), Audio(audio.getvalue()), "?"),)
        )
    )

    [output] = put_to(served, "openai/m", request, accepts=("text", "image", "audio"))

    sent, heard, _ = served.asked[0]["messages"][0]["content"]
    assert sent["image_url"]["url"].startswith("data:image/png;base64,")
    assert heard["input_audio"]["format"] == "wav" and heard["input_audio"][
        "data"
    ].startswith("UklGR")
    assert output.details["media"] == ["converted bmp to png", "converted aiff to wav"]
