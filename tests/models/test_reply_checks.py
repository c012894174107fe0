"""What the token counts, finish reasons and texts of a reply show about the options of its request."""

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request

NOT_JSON = "the server ignored response_format: an answer is not JSON"
CUT_EARLY = "the server cut an answer before max_tokens: its context may be full"


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


def ask(**options):
    return Request(Prompt((Message.of("user", "Why?"),)), GenerateOptions(**options))


def chat(text, finish="stop", tokens=4, **message):
    choice = {"message": {"content": text, **message}, "finish_reason": finish}
    return {"choices": [choice], "usage": {"completion_tokens": tokens}}


def response(tokens):
    content = [{"type": "output_text", "text": "one two"}]
    return {
        "status": "completed",
        "output": [{"type": "message", "content": content}],
        "usage": {"input_tokens": 3, "output_tokens": tokens},
    }


def notes_of(output):
    assert output.error is None, output.error
    return list(output.details.get("notes", ()))


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (2, "stop"),
        (3, "length"),
        (8, "stop"),  # the server did not obey the limit, and the answer ended there
        (16, "length"),  # litellm's proxy raises every limit to 16
    ],
)
def test_a_response_beyond_its_limit_is_not_called_cut(put_to, service, tokens, reason):
    [output] = put_to(
        service(response(tokens)), "openai/m", ask(max_tokens=3), api="responses"
    )

    assert output.stop_reason == reason
    is_longer = tokens > 3
    assert notes_of(output) == ["the server wrote more than max_tokens=3"] * is_longer


@pytest.mark.parametrize("tokens", [16, 8])
def test_a_message_beyond_its_limit_is_not_called_cut(put_to, service, tokens):
    reply = {
        "content": [{"type": "text", "text": "one two"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": tokens},
    }

    [output] = put_to(service(reply), "anthropic/m", ask(max_tokens=3))

    assert output.stop_reason == ("length" if tokens == 16 else "stop")


def test_an_answer_that_is_cut_before_its_limit_is_noted(put_to, service):
    server = service(chat("one two", "length", 13), chat("one two", "length", 200))

    early, late = put_to(server, "openai/m", ask(max_tokens=200), ask(max_tokens=200))

    assert notes_of(early) == [CUT_EARLY]
    assert notes_of(late) == []


def test_uncounted_reasoning_is_no_early_cut(put_to, service):
    reply = chat("one two", "length", 13, reasoning_content="So many thoughts")

    [output] = put_to(service(reply), "openai/m", ask(max_tokens=200))

    assert notes_of(output) == []


@pytest.mark.parametrize(
    ("text", "finish", "notes"),
    [
        ('```json\n{"a"', "length", [NOT_JSON]),
        ('{"a": 1', "length", []),
        ("Sure!", "stop", [NOT_JSON]),
    ],
)
def test_an_answer_that_was_cut_must_begin_as_json(
    put_to, service, text, finish, notes
):
    [output] = put_to(
        service(chat(text, finish)), "openai/m", ask(response_format="json")
    )

    assert notes_of(output) == notes


SCHEMA = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
OF_ANY_TYPE = {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        ({"response_format": SCHEMA}, [NOT_JSON]),
        ({"response_format": {"type": "json_object"}}, [NOT_JSON]),
        ({"response_format": OF_ANY_TYPE}, []),
        ({"response_format": {"type": "text"}}, []),
        ({"logprobs": True, "top_logprobs": 2}, ["the server ignored logprobs"]),
        ({"max_tokens": 2}, ["the server wrote more than max_tokens=2"]),
        ({"max_completion_tokens": 2}, ["the server wrote more than max_tokens=2"]),
        ({"temperature": None}, []),
    ],
)
def test_options_in_the_body_are_checked_as_well(put_to, service, body, notes):
    [output] = put_to(service(chat("one two")), "openai/m", ask(), body=body)

    assert notes_of(output) == notes


@pytest.mark.parametrize("stop", [" two", [" two"]])
def test_a_stop_string_in_the_body_is_cut(put_to, service, stop):
    [output] = put_to(
        service(chat("one two three")), "openai/m", ask(), body={"stop": stop}
    )

    assert output.text == "one"


@pytest.mark.parametrize(
    ("arguments", "reason"), [('{"ci', "length"), ('{"city": "Paris"}', "tool_calls")]
)
def test_a_call_that_breaks_off_at_the_limit_was_cut(
    put_to, service, arguments, reason
):
    function = {"name": "weather", "arguments": arguments}
    call = {"id": "a", "type": "function", "function": function}
    reply = chat(None, "tool_calls", 3, tool_calls=[call])

    [output] = put_to(service(reply), "openai/m", ask(max_tokens=3))

    assert output.stop_reason == reason


def test_candidates_that_were_not_asked_for_name_the_option(put_to, service):
    reply = {**chat("a"), "choices": [*chat("a")["choices"], *chat("b")["choices"]]}

    [output] = put_to(service(reply), "openai/m", ask(), body={"n": 2})

    assert "fix: leave `n` out of `body`" in output.error.message


@pytest.mark.parametrize(
    ("name", "options", "path"),
    [
        ("openai/m", {}, "/chat/completions"),
        ("openai/m", {"api": "responses"}, "/responses"),
        ("anthropic/m", {}, "/messages"),
    ],
)
def test_an_api_that_the_server_lacks_is_named(put_to, service, name, options, path):
    server = service({"detail": "Not Found"}, status=404)

    [output] = put_to(server, name, ask(max_tokens=3), **options)

    assert output.error.message.endswith(
        f"fix: choose another API, as the server may have no {path}"
    )


def test_a_model_that_the_server_lacks_is_not_taken_for_an_api(put_to, service):
    error = {"error": {"message": "The model `m` was not found"}}

    [output] = put_to(service(error, status=404), "openai/m", ask())

    assert output.error.message == "HTTP 404: The model `m` was not found"
