"""Faults that were found at real servers, each imitated by a server on the loopback."""

import pytest

from assay.core import (
    GenerateOptions,
    Likelihood,
    Message,
    Prompt,
    Request,
    Text,
    UsageError,
)


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


def ask(text="Why?", role="user", **options):
    return Request(Prompt((Message.of(role, text),)), GenerateOptions(**options))


def weigh(context, *continuations):
    return Request(Prompt((Message.of("", context),), continuations=continuations))


def chat(*texts, finish="stop", **more):
    choices = [
        {"index": i, "message": {"content": text}, "finish_reason": finish}
        for i, text in enumerate(texts)
    ]
    return {"choices": choices, **more}


class Echoing:
    """A completions server with `echo` for texts of one-letter tokens, in which `.` always follows.

    `shift` moves the rows as llama-cpp-python's server does; `lists` says whether it takes several prompts.
    """

    def __init__(self, *, shift=0, lists=True, drops_written=False, status=500):
        self.shift, self.lists, self.status = shift, lists, status
        self.drops_written = drops_written
        self.asked = []

    async def answer(self, request):
        from aiohttp import web

        body = await request.json()
        self.asked.append(body)
        prompts = body["prompt"]
        if isinstance(prompts, list):
            if not self.lists:
                error = {"error": {"message": ""}}
                return web.json_response(error, status=self.status)
        else:
            prompts = [prompts]
        choices = [self.choice(prompt, i) for i, prompt in enumerate(prompts)]
        return web.json_response({"choices": choices, "usage": {"prompt_tokens": 3}})

    def choice(self, prompt, index):
        tokens = [*prompt, "."]
        # Each letter costs 1, and "." is what the model would have written at every position.
        values = [None, *(-1.0 for _ in prompt[1:]), -0.1]
        tops = [None, *({".": -0.5, t: -1.0} for t in prompt[1:]), {".": -0.1}]
        if self.drops_written:
            tokens, values, tops = tokens[:-1], values[1:], tops[1:]
        elif self.shift:
            values, tops = [*values[1:], -3.0], [*tops[1:], {"x": -0.2, ".": -3.0}]
        logprobs = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}
        return {"index": index, "text": prompt + ".", "logprobs": logprobs}


def put_weigh(put_to, server, *continuations):
    return put_to(
        server,
        "openai/m",
        weigh("ab", *continuations),
        method="likelihood",
        likelihood_by="echo",
    )


def test_an_aligned_echo_is_read(put_to):
    [output] = put_weigh(put_to, Echoing(), "cd", "e")

    assert output.likelihoods == (
        Likelihood(-2.0, False, 2),
        Likelihood(-1.0, False, 1),
    )


def test_an_echo_without_the_written_token_is_refused(put_to):
    server = Echoing(drops_written=True)

    with pytest.raises(
        UsageError, match=r"echo cannot be trusted.*lack the generated text"
    ):
        put_weigh(put_to, server, "cd")


def test_an_echo_whose_rows_are_shifted_is_refused(put_to):
    with pytest.raises(UsageError, match="written at temperature 0, is not the most"):
        put_weigh(put_to, Echoing(shift=1), "cd")


class Reporting(Echoing):
    """Echoes as `Echoing`, with its report changed by a function."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def choice(self, prompt, index):
        choice = super().choice(prompt, index)
        self.change(choice["logprobs"])
        return choice


def without_value_of_the_written(report):
    report["token_logprobs"][-1] = None


def shifted_to_the_left(report):
    for name in ("token_logprobs", "top_logprobs"):
        report[name] = [*report[name][1:], None]


def with_tops_of_the_next_token(report):
    report["top_logprobs"] = [*report["top_logprobs"][1:], {".": -0.1}]
    report["token_logprobs"][1:-1] = [-0.3 for _ in report["tokens"][1:-1]]


def with_other_values_in_its_rows(report):
    report["top_logprobs"] = [
        row and dict.fromkeys(row, -0.1) for row in report["top_logprobs"]
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_value_of_the_written, "has no log-probability"),
        (shifted_to_the_left, "has no log-probability"),
        (with_tops_of_the_next_token, "is more likely than every alternative"),
        (with_other_values_in_its_rows, "have other values in `top_logprobs`"),
    ],
)
def test_an_echo_whose_rows_contradict_themselves_is_refused(put_to, change, said):
    with pytest.raises(UsageError, match=f"echo cannot be trusted.*{said}"):
        put_weigh(put_to, Reporting(change), "cd")


class Ending(Echoing):
    """Echoes as `Echoing`, and generates nothing after some texts, because the model ends there."""

    def __init__(self, ends, **more):
        super().__init__(**more)
        self.ends = ends

    def choice(self, prompt, index):
        choice = super().choice(prompt, index)
        if self.ends(prompt):
            choice["text"] = prompt
            for column in choice["logprobs"].values():
                del column[len(prompt) :]
        return choice


def ends_after_d(text):
    return text.endswith("d")


def test_a_shifted_echo_is_refused_though_the_model_ends_after_the_text(put_to):
    server = Ending(ends_after_d, shift=1)

    with pytest.raises(UsageError, match="written at temperature 0, is not the most"):
        put_weigh(put_to, server, "cd")


def test_an_aligned_echo_is_read_though_the_model_ends_after_the_text(put_to):
    server = Ending(ends_after_d)

    outputs = put_to(
        server,
        "openai/m",
        weigh("ab", "cd"),
        weigh("ab", "cd"),
        method="likelihood",
        likelihood_by="echo",
    )

    for output in outputs:
        assert output.likelihoods == (Likelihood(-2.0, False, 2),)
        assert "notes" not in output.details
    assert len(server.asked) == 3  # the echo is checked once, with another text


def test_an_echo_that_could_not_be_checked_is_noted(put_to):
    [output] = put_weigh(put_to, Ending(lambda _: True), "cd")

    assert output.likelihoods == (Likelihood(-2.0, False, 2),)
    assert output.details["notes"] == [
        "the server generates nothing after the texts it echoes, so its echo could not be checked"
    ]


@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_a_server_that_does_not_know_a_way_to_weigh_says_so(put_to, service, way):
    error = {"detail": f"Unexpected fields in the request: {{'{way}'}}"}

    [output] = put_to(
        service(error, status=422),
        "openai/m",
        weigh("ab", "cd"),
        method="likelihood",
        likelihood_by=way,
    )

    assert output.error.message.endswith(f"; fix: leave likelihood_by={way} out")


def test_an_echo_without_any_value_is_refused(put_to):
    def drop_values(report):
        del report["token_logprobs"]

    with pytest.raises(UsageError, match="does not report logprobs of what it echoes"):
        put_weigh(put_to, Reporting(drop_values), "cd")


def test_an_echo_without_likeliest_tokens_is_read_and_noted(put_to):
    def drop_tops(report):
        del report["top_logprobs"]

    [output] = put_weigh(put_to, Reporting(drop_tops), "cd")

    assert output.likelihoods == (Likelihood(-2.0, False, 2),)
    assert "reports no `top_logprobs`" in output.details["notes"][0]


def test_an_echo_of_another_text_is_refused(put_to, service):
    logprobs = {"tokens": ["!"], "token_logprobs": [-1.0], "top_logprobs": [None]}
    server = service({"choices": [{"text": "!", "logprobs": logprobs}]})

    with pytest.raises(UsageError, match="do not join to the text it was sent"):
        put_weigh(put_to, server, "cd")


def test_an_echo_whose_offsets_do_not_fit_its_tokens_is_refused(put_to, service):
    logprobs = {
        "tokens": ["a", "b", "x"],
        "token_logprobs": [None, -1.0, -1.0],
        "text_offset": [0, 7, 9],
    }
    server = service({"choices": [{"text": "abcd", "logprobs": logprobs}]})

    with pytest.raises(UsageError, match="do not join to the text it was sent"):
        put_weigh(put_to, server, "cd")


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_takes_one_prompt_a_request_gets_one(put_to, status):
    server = Echoing(lists=False, status=status)

    outputs = put_to(
        server,
        "openai/m",
        weigh("ab", "cd", "e"),
        weigh("ab", "f", "g"),
        method="likelihood",
        likelihood_by="echo",
    )

    assert [o.error for o in outputs] == [None, None]
    assert outputs[0].likelihoods == (
        Likelihood(-2.0, False, 2),
        Likelihood(-1.0, False, 1),
    )
    assert outputs[0].usage.input_tokens == 6
    prompts = [body["prompt"] for body in server.asked]
    assert prompts == [["abcd", "abe"], "abcd", "abe", "abf", "abg"]


def test_a_server_that_answers_only_the_first_of_several_prompts_is_asked_again(put_to):
    class First(Echoing):
        async def answer(self, request):
            from aiohttp import web

            body = await request.json()
            self.asked.append(body)
            prompt = body["prompt"]
            first = prompt[0] if isinstance(prompt, list) else prompt
            return web.json_response({"choices": [self.choice(first, 0)]})

    server = First()

    [output] = put_weigh(put_to, server, "cd", "e")

    assert [one.tokens for one in output.likelihoods] == [2, 1]
    assert len(server.asked) == 3


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_stop_string_left_in_the_text_is_cut(put_to, service, finish):
    server = service(chat("Paris is big. It is", finish=finish))

    [output] = put_to(server, "openai/m", ask(stop=(" is",)))

    assert (output.text, output.stop_reason) == ("Paris", "stop")


def test_the_first_of_several_stop_strings_is_where_a_text_is_cut(put_to, service):
    tokens = [{"token": t, "logprob": -1.0} for t in ("a", "b", "END", "c")]
    reply = chat("abENDc\nd")
    reply["choices"][0]["logprobs"] = {"content": tokens}

    [output] = put_to(service(reply), "openai/m", ask(stop=("\n", "END"), logprobs=0))

    assert output.text == "ab"
    assert [token.text for token in output.candidates[0].tokens] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "stops", "left"),
    [
        ("is it", ("is",), ""),
        ("東京です。大阪", ("。",), "東京です"),
        ("na\u0308h 👩\u200d🔬 x", ("\u200d🔬",), "na\u0308h 👩"),
        ("abcabd", ("abd", "cab"), "ab"),
        ("a\n\nb", ("\n\n", "\n"), "a"),
    ],
)
def test_a_stop_string_may_stand_anywhere_and_be_in_any_script(
    put_to, service, text, stops, left
):
    [output] = put_to(service(chat(text)), "openai/m", ask(stop=stops))

    assert output.error is None
    assert (output.text, output.stop_reason) == (left, "stop")


def test_every_candidate_is_cut_at_its_own_stop_string(put_to, service):
    server = service(chat("a.b", "cd.", "ef"))

    [output] = put_to(server, "openai/m", ask(n=3, stop=(".",)))

    assert [candidate.text for candidate in output.candidates] == ["a", "cd", "ef"]


def test_reasoning_may_hold_a_stop_string(put_to, service):
    reply = chat("4 done")
    reply["choices"][0]["message"]["reasoning_content"] = "is done?"

    [output] = put_to(service(reply), "openai/m", ask(stop=("done",)))

    assert (output.text, output.reasoning) == ("4 ", "is done?")


class Listing:
    """A chat server whose list of models says what software it is."""

    def __init__(self, listed, headers=None, status=200):
        self.listed, self.headers, self.status = listed, headers, status
        self.asked, self.lists = [], 0

    async def answer(self, request):
        from aiohttp import web

        if request.method == "GET":
            self.lists += 1
            return web.json_response(
                self.listed, headers=self.headers, status=self.status
            )
        self.asked.append(await request.json())
        return web.json_response(chat("x"))


LLAMA_CPP_PYTHON = {"data": [{"id": "m", "owned_by": "me", "permissions": []}]}


@pytest.mark.parametrize(
    ("listed", "headers", "sent"),
    [
        ({"data": [{"owned_by": "llamacpp"}]}, None, "repeat_penalty"),
        ({}, {"Server": "llama.cpp"}, "repeat_penalty"),
        (LLAMA_CPP_PYTHON, None, "repeat_penalty"),
        ({"data": [{"owned_by": "vllm"}]}, None, "repetition_penalty"),
        ({"data": [{"owned_by": "sglang"}]}, None, "repetition_penalty"),
    ],
)
def test_an_option_is_sent_under_the_name_a_known_server_has_for_it(
    put_to, listed, headers, sent
):
    server = Listing(listed, headers)
    requests = [ask(repetition_penalty=3), ask("And?", repetition_penalty=3)]

    outputs = put_to(server, "openai/m", *requests)

    assert [body[sent] for body in server.asked] == [3, 3]
    names = {"repeat_penalty", "repetition_penalty"}
    assert all(len(names & body.keys()) == 1 for body in server.asked)
    assert server.lists == 1
    assert all("notes" not in output.details for output in outputs)


@pytest.mark.parametrize(
    "server", [Listing({"data": []}), Listing({}, status=404), Listing(["?"])]
)
def test_an_option_that_an_unknown_server_may_ignore_is_noted(put_to, server):
    [output] = put_to(server, "openai/m", ask(repetition_penalty=3, top_k=4))

    assert server.asked[0]["repetition_penalty"] == 3
    notes = output.details["notes"]
    assert [note.partition(" ")[0] for note in notes] == ["top_k", "repetition_penalty"]
    assert "could not be confirmed" in notes[0]


def test_a_server_is_not_inspected_where_all_options_are_of_the_public_api(put_to):
    server = Listing({})

    put_to(server, "openai/m", ask(temperature=0, stop=("\n",), max_tokens=4))

    assert server.lists == 0


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"logprobs": 3}, "the server ignored logprobs"),
        ({"response_format": "json"}, "the server ignored response_format"),
        ({"max_tokens": 5}, "the server wrote more than max_tokens=5"),
    ],
)
def test_an_option_that_the_reply_shows_to_be_ignored_is_noted(
    put_to, service, options, note
):
    server = service(chat("Some words.", usage={"completion_tokens": 16}))

    [output] = put_to(server, "openai/m", ask(**options))

    assert output.error is None
    [said] = output.details["notes"]
    assert said.startswith(note)


def test_options_that_were_obeyed_are_not_noted(put_to, service):
    reply = chat('{"a": 1}', usage={"completion_tokens": 5})
    tokens = [{"token": '{"a": 1}', "logprob": -1.0}]
    reply["choices"][0]["logprobs"] = {"content": tokens}
    options = {"logprobs": 0, "response_format": "json", "max_tokens": 5}

    [output] = put_to(service(reply), "openai/m", ask(**options))

    assert "notes" not in output.details


@pytest.mark.parametrize(
    ("asked", "answered", "differs"),
    [
        ("nope", "smollm2", True),
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("meta/Llama-3", "llama-3", False),
        ("m", "m", False),
        ("llama3", "llama3:latest", False),
        ("mistral-large-latest", "mistral-large-2411", False),
        ("gpt-4o", "gpt-4o-mini", True),
        ("gpt-4o-mini", "gpt-4o-2024-08-06", True),
        ("llama-3", "llama-3.1", True),
        ("m", "mistral", True),
    ],
)
def test_the_model_that_replied_is_recorded(put_to, service, asked, answered, differs):
    server = service(chat("x", model=answered))

    [output] = put_to(server, f"openai/{asked}", ask())

    assert output.details["reply_model"] == answered
    assert bool(output.details.get("notes")) == differs


def test_tokens_of_several_candidates_are_counted_at_least_by_their_words(
    put_to, service
):
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    cut = service(chat("a b c", "d e f", "g h i", finish="length", usage=usage))
    whole = service(chat("a b c", "d e", usage={**usage, "completion_tokens": 8}))

    [short] = put_to(cut, "openai/m", ask(n=3, max_tokens=5))
    [right] = put_to(whole, "openai/m", ask(n=2))

    assert short.usage.output_tokens == 15
    assert "counted fewer output tokens" in short.details["notes"][0]
    assert right.usage.output_tokens == 8
    assert "notes" not in right.details


def response(text, tokens):
    content = [{"type": "output_text", "text": text}]
    return {
        "status": "completed",
        "output": [{"type": "message", "content": content}],
        "usage": {"input_tokens": 3, "output_tokens": tokens},
    }


def test_a_completed_response_as_long_as_allowed_was_cut(put_to, service):
    server = service(response("one two", 24), response("one", 23))

    cut, whole = put_to(
        server, "openai/m", ask(max_tokens=24), ask(max_tokens=24), api="responses"
    )

    assert (cut.stop_reason, whole.stop_reason) == ("length", "stop")
    assert [body["stream"] for body in server.asked] == [False, False]


def test_a_limit_in_the_body_is_one_too(put_to, service):
    server = service(response("one two", 24))

    [cut] = put_to(
        server, "openai/m", ask(), api="responses", body={"max_output_tokens": 24}
    )

    assert cut.stop_reason == "length"


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_streamed_reply_is_named_and_not_asked_for_again(put_to, service, api):
    server = service(
        b'data: {"choices": []}\n\n', headers={"Content-Type": "text/event-stream"}
    )

    [output] = put_to(server, "openai/m", ask(), api=api, body={"stream": True})

    assert "streams its answer (text/event-stream)" in output.error.message
    assert not output.error.retryable


@pytest.mark.parametrize("count", [1e300, 2**80, -1, "many"])
def test_a_count_that_no_server_can_mean_is_left_out(put_to, service, count):
    usage = {"prompt_tokens": count, "completion_tokens": 2}

    [output] = put_to(service(chat("x", usage=usage)), "openai/m", ask())

    assert (output.usage.input_tokens, output.usage.output_tokens) == (None, 2)
    assert output.candidates[0].parts == (Text("x"),)


def test_a_stop_string_is_cut_behind_reasoning_in_the_text(put_to, service):
    server = service(chat("<think>a\nb</think>42\nmore"))

    [output] = put_to(server, "openai/m", ask(stop=("\n",)))

    assert (output.text, output.reasoning) == ("42", "a\nb")


def test_own_reasoning_marks_are_known_when_a_stop_string_is_cut(put_to, service):
    server = service(chat("<note>a\nb</note>42\nmore"), chat("<think>4\n2"))

    [own] = put_to(server, "openai/m", ask(stop=("\n",)), think_tags="<note>")
    [raw] = put_to(server, "openai/m", ask(stop=("\n",)), think_tags=False)

    assert (own.text, own.reasoning) == ("42", "a\nb")
    assert raw.text == "<think>4"


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "Invalid API key", "code": 401}, "auth", False),
        ({"message": "busy", "type": "overloaded_error"}, "rate_limit", True),
        ({"message": "boom", "code": 502}, "http", True),
        ({"message": "no funds", "code": "insufficient_quota"}, "quota", False),
        ("model 'm' not found", "http", True),
    ],
)
def test_an_error_in_a_successful_response_is_a_failure(
    put_to, service, error, kind, retryable
):
    server = service({"error": error, "choices": None})

    [output] = put_to(server, "openai/m", ask())

    words = error if isinstance(error, str) else error["message"]
    assert f"HTTP 200 with an error: {words}" in output.error.message
    assert (output.error.kind, output.error.retryable) == (kind, retryable)


@pytest.mark.parametrize("error", [None, {}, "", {"message": "", "code": None}])
def test_an_empty_error_beside_an_answer_is_none(put_to, service, error):
    [output] = put_to(service(chat("x", error=error)), "openai/m", ask())

    assert output.text == "x"


def test_an_error_of_one_choice_is_a_failure(put_to, service):
    reply = chat("half an ans")
    reply["choices"][0]["error"] = {"code": 502, "message": "upstream is gone"}

    [output] = put_to(service(reply), "openai/m", ask())

    assert "aborted the answer: upstream is gone" in output.error.message


@pytest.mark.parametrize("model", ["anthropic/m", "gemini/m"])
def test_an_error_in_a_successful_response_of_other_services(put_to, service, model):
    error = {"type": "overloaded_error", "code": 429, "message": "Overloaded"}
    server = service({"type": "error", "error": error, "content": []})

    [output] = put_to(server, model, ask(), api_key_env="HOME")

    assert "HTTP 200 with an error: Overloaded" in output.error.message


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ({"type": "length"}, "length"),
        ("FINISH_REASON_STOP", "stop"),
        ("COMPLETE", "stop"),
        ("sensitive", "content_filter"),
        ("", None),
        ("other", "other"),
    ],
)
def test_finish_reasons_have_one_name(put_to, service, reason, expected):
    [output] = put_to(service(chat("x", finish=reason)), "openai/m", ask())

    assert output.stop_reason == expected


def test_an_answer_without_finish_reason_that_is_as_long_as_allowed_was_cut(
    put_to, service
):
    reply = chat("x", finish=None, usage={"completion_tokens": 5})

    [output] = put_to(service(reply), "openai/m", ask(max_tokens=5))

    assert output.stop_reason == "length"


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"thinking": "hm"},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
        {"reasoning": {"content": "hm"}, "reasoning_content": None},
        {"reasoning_content": ["h", "m"]},
    ],
)
def test_reasoning_is_read_in_every_form(put_to, service, message):
    reply = chat("42")
    reply["choices"][0]["message"] |= message

    [output] = put_to(service(reply), "openai/m", ask())

    assert (output.text, output.reasoning) == ("42", "hm")


def test_a_content_list_of_unknown_pieces_is_not_an_empty_answer(put_to, service):
    [output] = put_to(service(chat([{"type": "new"}])), "openai/m", ask())

    assert "no piece of `content` can be read" in output.error.message


def test_candidates_are_in_the_order_of_their_index(put_to, service):
    reply = chat("a", "b")
    reply["choices"].reverse()

    [output] = put_to(service(reply), "openai/m", ask(n=2))

    assert [candidate.text for candidate in output.candidates] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "usage", "note"),
    [
        ("42<|im_end|>", {}, "the server left <|im_end|> in its texts"),
        ("42</s>", {}, "the server left </s> in its texts"),
        ("x", {"prompt_tokens": 100}, "it may have cut the prompt"),
        ("", {"completion_tokens": 50}, "counted output tokens, but sent no text"),
        ("x", {"completion_tokens": 0}, "counted no output tokens"),
    ],
)
def test_a_reply_that_cannot_be_right_is_noted(put_to, service, text, usage, note):
    server = service(chat(text or None, usage=usage))

    [output] = put_to(server, "openai/m", ask("word " * 400))

    [said] = output.details["notes"]
    assert note in said


def test_html_and_short_prompts_are_not_noted(put_to, service):
    server = service(chat("<s>old</s>", usage={"prompt_tokens": 9}))

    [output] = put_to(server, "openai/m", ask("Strike old through in HTML"))

    assert "notes" not in output.details


def test_a_completion_that_repeats_its_prompt_is_noted(put_to, service):
    prompt = "Question: What is the capital of France?\nAnswer:"
    server = service({"choices": [{"text": f"{prompt} Paris"}]})

    [output] = put_to(server, "openai/m", ask(prompt, role=""))

    assert output.details["notes"] == [
        "the server repeats the prompt before its answer"
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'data: {"choices": []}\n\n', "text/event-stream"),
        (b'{"done": false}\n{"done": true}\n', "application/x-ndjson"),
    ],
)
def test_a_stream_is_named_whatever_its_content_type(put_to, service, body, kind):
    headers = {"Content-Type": "application/json"}
    if kind == "application/x-ndjson":
        headers = {"Content-Type": kind}

    [output] = put_to(service(body, headers=headers), "openai/m", ask())

    assert f"the server streams its answer ({kind})" in output.error.message
    assert not output.error.retryable


@pytest.mark.parametrize(
    ("status", "error", "kind", "said"),
    [
        (402, {"error": {"message": "Insufficient credits"}}, "quota", "credits"),
        (
            422,
            {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096"},
            "context",
            "4096",
        ),
        (
            422,
            {"error": "Input validation error: `inputs` must have less than 9 tokens"},
            "context",
            "9 tokens",
        ),
        (400, {"error": None, "message": "top"}, "http", "HTTP 400: top"),
        (
            400,
            {"error": {"message": "Field 'n': Value must be between 1 <= value <= 4"}},
            "http",
            "fix: use epochs instead of n",
        ),
        (
            502,
            b"<html><head><title>Bad Gateway</title></head></html>",
            "http",
            "HTTP 502: Bad Gateway",
        ),
        (
            400,
            {
                "error": {
                    "message": "Unsupported parameter: 'max_tokens'. "
                    "Use 'max_completion_tokens' instead."
                }
            },
            "http",
            "fix: -a max_tokens_field=max_completion_tokens",
        ),
        (
            400,
            {"error": {"message": "'temperature' does not support 0 with this model"}},
            "http",
            "fix: --gen_kwargs temperature=null leaves it out",
        ),
    ],
)
def test_a_refusal_says_what_to_do(put_to, service, status, error, kind, said):
    [output] = put_to(service(error, status=status), "openai/m", ask())

    assert output.error.kind == kind
    assert said in output.error.message


def test_a_response_keeps_what_the_model_says_while_it_works_apart(put_to, service):
    reply = response("42", 9)
    content = [{"type": "output_text", "text": "Let me look."}]
    commentary = {"type": "message", "phase": "commentary", "content": content}
    reply["output"].insert(0, commentary)

    [output] = put_to(service(reply), "openai/m", ask(), api="responses")

    assert (output.text, output.reasoning) == ("42", "Let me look.")


def test_a_response_whose_message_is_incomplete_was_cut(put_to, service):
    reply = response("one two", 9)
    reply["output"][0]["status"] = "incomplete"

    [output] = put_to(service(reply), "openai/m", ask(), api="responses")

    assert output.stop_reason == "length"


@pytest.mark.parametrize(
    ("model", "options", "body"),
    [
        ("gemini/m", {}, {"candidates": [{"content": {"parts": [None]}}]}),
        (
            "openai/m",
            {"api": "responses"},
            {"output": [{"type": "message", "content": [None]}]},
        ),
    ],
)
def test_a_reply_of_another_shape_is_a_bad_response(
    put_to, service, model, options, body
):
    [output] = put_to(service(body), model, ask(), api_key_env="HOME", **options)

    assert output.error.kind == "bad_response"
    assert "the answer has an unexpected structure" in output.error.message


def test_an_echo_of_the_stripped_text_is_refused_though_it_has_offsets(put_to):
    class Stripping(Echoing):
        def choice(self, prompt, index):
            choice = super().choice(prompt.strip(), index)
            tokens = choice["logprobs"]["tokens"]
            choice["logprobs"]["text_offset"] = list(range(len(tokens)))
            return choice

    with pytest.raises(UsageError, match="do not join to the text"):
        put_to(
            Stripping(),
            "openai/m",
            weigh(" ab", " cd", "e"),
            method="likelihood",
            likelihood_by="echo",
        )


def test_an_echo_that_is_certain_of_everything_is_refused(put_to):
    class Certain(Echoing):
        def choice(self, prompt, index):
            choice = super().choice(prompt, index)
            report = choice["logprobs"]
            report["token_logprobs"] = [0.0] * len(report["tokens"])
            report["top_logprobs"] = [{token: 0.0} for token in report["tokens"]]
            return choice

    with pytest.raises(UsageError, match="all its log-probabilities are 0"):
        put_weigh(put_to, Certain(), "cd", "e")


def test_echoed_choices_without_an_index_are_read_in_their_order(put_to):
    class Unnumbered(Echoing):
        def choice(self, prompt, index):
            return {**super().choice(prompt, index), "index": None}

    [output] = put_weigh(put_to, Unnumbered(), "cd", "e")

    assert [entry.tokens for entry in output.likelihoods] == [2, 1]


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": ["a"]},
        {"token_logprobs": [None, -1.0, "x", -1.0, -0.1]},
        {"top_logprobs": "x"},
        {"tokens": [1, 2, 3, 4, 5]},
    ],
)
def test_an_echo_of_another_shape_is_no_exception(put_to, change):
    class Odd(Echoing):
        def choice(self, prompt, index):
            choice = super().choice(prompt, index)
            choice["logprobs"] |= change
            return choice

    try:
        [output] = put_weigh(put_to, Odd(), "cd", "ef")
    except UsageError as error:
        assert "cannot be trusted" in str(error)
    else:
        assert output.error.kind == "bad_response"


def test_tokens_without_a_log_probability_each_are_a_bad_response(put_to, service):
    logprobs = {"tokens": ["a", "b"], "token_logprobs": [-1.0]}
    server = service({"choices": [{"text": "ab", "logprobs": logprobs}]})

    [output] = put_to(server, "openai/m", ask(role=""))

    assert "2 tokens have 1 log-probabilities" in output.error.message


def test_what_a_model_wrote_is_scored_though_the_server_refused_it(put_to, service):
    error = {
        "message": "Failed to generate JSON. Please adjust your prompt.",
        "code": "json_validate_failed",
        "failed_generation": "The answer is 4",
    }
    server = service({"error": error}, status=400)

    [output] = put_to(server, "openai/m", ask(response_format="json"))

    assert output.text == "The answer is 4"
    assert output.details["notes"] == [
        "the server refused what the model wrote, which is scored"
    ]
