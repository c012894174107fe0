"""Functions and classes people write as models."""

import asyncio
import inspect
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest

from assay.code.userfiles import load_attribute, load_file
from assay.core import (
    Audio,
    GenerateOptions,
    Image,
    Likelihood,
    Message,
    ModelError,
    Prompt,
    Request,
    UsageError,
)
from assay.models import adapt_model, build_model
from assay.runner.ask.calls import call_model


def write(folder: Path, source: str) -> Path:
    file = folder / "mine.py"
    file.write_text(dedent(source))
    return file


def ask(*messages: Message, **more) -> Request:
    return Request(Prompt(messages), **more)


HELLO = ask(Message.of("user", "hello"))


def test_a_function_of_messages_gets_plain_dictionaries(tmp_path):
    file = write(tmp_path, "def generate(messages):\n    return repr(messages)")
    request = ask(
        Message.of("system", "be brief"), Message.of("user", "hi"), Message("assistant")
    )

    [output] = build_model(f"{file}:generate").generate([request])

    assert (
        output.text
        == "[{'role': 'system', 'content': 'be brief'}, {'role': 'user', 'content': 'hi'}]"
    )


def test_a_message_with_an_image_comes_as_a_list_of_parts(tmp_path):
    file = write(
        tmp_path,
        """
        def generate(messages):
            picture, words = messages[0]["content"]
            return picture["type"] + str(len(picture["image"].data())) + words["text"]
        """,
    )

    [output] = build_model(f"{file}:generate").generate(
        [ask(Message.of("user", Image(b"abcd"), " what?"))]
    )

    assert output.text == "image4 what?"


@pytest.mark.parametrize(
    ("parameter", "expression", "expected"),
    [
        ("text", "text", "hello"),
        ("prompt", "prompt", "hello"),
        ("prompt: 'Prompt'", "prompt.role", "assistant"),
        ("request", "type(request).__name__", "Request"),
        ("anything: 'Request'", "type(anything).__name__", "Request"),
        ("words: str", "words", "hello"),
        ("turns: 'list[Message]'", "turns[0].text", "hello"),
    ],
)
def test_the_first_parameter_says_what_it_gets(
    tmp_path, parameter, expression, expected
):
    file = write(tmp_path, f"def generate({parameter}):\n    return {expression}")

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert output.text == expected


def test_text_of_several_turns_names_who_speaks(tmp_path):
    file = write(tmp_path, "def generate(text):\n    return text")
    request = ask(Message.of("Question", "2+2?"), Message("Answer"))

    [output] = build_model(f"{file}:generate").generate([request])

    assert output.text == "Question: 2+2?\nAnswer:"


def test_options_and_seed_are_passed_to_those_who_name_them(tmp_path):
    source = "def generate(messages, *, options, seed, tail='.'):\n    return f'{options.n} {seed}{tail}'"
    file = write(tmp_path, source)

    [output] = build_model(f"{file}:generate", {"tail": "!"}).generate(
        [ask(Message.of("user", "x"), seed=7)]
    )

    assert output.text == "1 7!"


def test_an_unknown_option_of_a_function_is_answered_with_the_nearest(tmp_path):
    file = write(tmp_path, "def generate(messages, tail='.'):\n    return tail")

    with pytest.raises(
        UsageError, match="has no option 'tial'; fix: did you mean 'tail'"
    ):
        build_model(f"{file}:generate", {"tial": "!"})


def test_a_failing_sample_does_not_hurt_its_neighbours_and_names_the_line(tmp_path):
    file = write(tmp_path, "def generate(text):\n    return {'a': 'A', 'b': 'B'}[text]")
    requests = [ask(Message.of("user", word)) for word in ("a", "x", "b")]

    first, second, third = build_model(f"{file}:generate").generate(requests)

    assert (first.text, third.text) == ("A", "B")
    assert second.error.message == "KeyError: 'x' (mine.py:2)"
    assert (second.error.kind, second.error.retryable) == ("exception", False)


def test_out_of_memory_is_recognised(tmp_path):
    file = write(
        tmp_path,
        "def generate(text):\n    raise RuntimeError('CUDA out of memory: 3 GiB')",
    )

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert output.error.kind == "oom"


@pytest.mark.parametrize("value", ["None", "3.5", "object()", "[1]", "[]"])
def test_a_wrong_return_type_names_the_function_and_what_came_back(tmp_path, value):
    file = write(tmp_path, f"def generate(text):\n    return {value}")

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert "mine.py:generate returned" in output.error.message
    assert "it must return text, an Image" in output.error.message


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (
            "{'choices': [{'message': {'content': 'x'}}]}",
            'reply["choices"][0]["message"]["content"]',
        ),
        ("{'role': 'assistant', 'content': 'x'}", 'return the value of "content"'),
        ("[{'generated_text': 'x'}]", 'return the value of "generated_text"'),
        ("{'boxes': [1, 2]}", "a structured answer is given as assay.core.Json(value)"),
        ("{'text': None}", "it must return text, an Image"),
        ("{'type': 'image_url'}", "it must return text, an Image"),
    ],
    ids=["chat", "message", "pipeline", "other", "no-words", "no-picture"],
)
@pytest.mark.parametrize(
    "head", ["def generate(text)", "async def generate(text)", "def generate(requests)"]
)
def test_a_dictionary_of_unknown_shape_is_a_fault_of_the_model(
    tmp_path, head, value, advice
):
    answers = f"[{value} for _ in requests]" if "requests" in head else value
    file = write(tmp_path, f"{head}:\n    return {answers}")

    outputs = build_model(f"{file}:generate").generate([HELLO])
    [output] = asyncio.run(outputs) if asyncio.iscoroutine(outputs) else outputs

    assert (
        "mine.py:generate returned" in output.error.message
        and advice in output.error.message
    )
    assert "\n" not in output.error.message


def test_a_dictionary_with_words_is_an_answer(tmp_path):
    file = write(
        tmp_path, "def generate(text):\n    return {'type': 'text', 'text': 'yes'}"
    )

    assert build_model(f"{file}:generate").generate([HELLO])[0].text == "yes"


def test_an_output_without_candidates_is_a_fault_of_the_model(tmp_path):
    file = write(
        tmp_path, "from assay import Output\ndef generate(text):\n    return Output(())"
    )

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert (
        "returned an Output without candidates and without an error; it must return"
        in output.error.message
    )


@pytest.mark.parametrize(
    "head", ["def generate(text)", "async def generate(text)", "def generate(requests)"]
)
def test_an_image_where_text_is_asked_for_is_a_fault_of_the_model(tmp_path, head):
    picture = "PIL.Image.new('RGB', (2, 2))"
    answers = f"[{picture} for _ in requests]" if "requests" in head else picture
    file = write(tmp_path, f"import PIL.Image\n{head}:\n    return {answers}")

    outputs = build_model(f"{file}:generate").generate([HELLO])
    [output] = asyncio.run(outputs) if asyncio.iscoroutine(outputs) else outputs

    said = "returned image where the task asks for text; return text, or give the task produces: [image]"
    assert f"mine.py:generate {said}" in output.error.message


def test_an_image_beside_words_is_an_answer(tmp_path):
    source = """
        from assay import Candidate, Image, Text
        def generate(text):
            return Candidate((Image(b"abcd"), Text("a cat")))
    """
    file = write(tmp_path, source)

    assert build_model(f"{file}:generate").generate([HELLO])[0].text == "a cat"


@pytest.mark.parametrize(
    ("head", "name", "fix"),
    [
        ("def generate(a, b)", "b", "-a b=VALUE, or give it a default"),
        ("def generate(a, *, b)", "b", "-a b=VALUE, or give it a default"),
        (
            "def generate(requests, options)",
            "options",
            "each request has its own: request.options",
        ),
    ],
)
def test_a_parameter_without_a_value_is_refused_before_the_run(
    tmp_path, head, name, fix
):
    file = write(tmp_path, f"{head}:\n    return ''")

    with pytest.raises(
        UsageError, match=f"needs a parameter '{name}' that gets no value; fix: {fix}"
    ):
        build_model(f"{file}:generate")


@pytest.mark.parametrize("method", ["generate", "likelihood"])
def test_a_method_parameter_without_a_value_is_refused_before_the_run(tmp_path, method):
    more = {"generate": "", "likelihood": ""} | {method: ", extra"}
    file = write(
        tmp_path,
        f"""
        class Mine:
            def generate(self, requests{more["generate"]}):
                return []

            def likelihood(self, requests{more["likelihood"]}):
                return []
        """,
    )

    with pytest.raises(
        UsageError,
        match=f"`{method}` of .* needs a parameter 'extra' .*; fix: give it a default",
    ):
        build_model(f"{file}:Mine")


def test_a_parameter_that_the_command_gives_is_not_missing(tmp_path):
    file = write(
        tmp_path, "def generate(text, b, seed, *rest, **more):\n    return text + b"
    )

    [output] = build_model(f"{file}:generate", {"b": "!"}).generate([HELLO])

    assert output.text == "hello!"


@pytest.mark.parametrize("wait", ["", "async "])
def test_a_batch_result_that_is_not_a_list_explains_what_to_return(tmp_path, wait):
    file = write(
        tmp_path,
        f"{wait}def generate(requests):\n    {'yield' if wait else 'return'} 5",
    )

    [output] = build_model(f"{file}:generate").generate([HELLO])

    came = (
        "an async generator; return one for each in a list, as in [answer async for"
        if wait
        else "5; return one"
    )
    assert f"was given 1 request and returned {came}" in output.error.message


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (
            "float('nan')",
            "non_finite",
            "returned nan for continuation 2 of 2; a log-probability is a number up to 0",
        ),
        (
            "1.0",
            "exception",
            "returned 1 for continuation 2 of 2; a log-probability is at most 0: take math.log",
        ),
        (
            "'much'",
            "exception",
            "returned [-1.0, 'much'] for one request; return one log-probability",
        ),
        (
            "()",
            "exception",
            "returned [-1.0, ()] for one request; return one log-probability",
        ),
    ],
)
def test_an_invalid_log_probability_of_a_class_is_refused(tmp_path, value, kind, said):
    file = write(tmp_path, CLASS.replace("[(-1.0, True), -2.0]", f"[-1.0, {value}]"))
    request = Request(Prompt((Message.of("user", "x"),), continuations=("a", "b")))

    [output] = build_model(f"{file}:Mine").likelihood([request])

    assert output.error.kind == kind and said in output.error.message


@pytest.mark.parametrize("value", ["1e-6", "0.0", "float('-inf')"])
def test_rounding_and_impossible_continuations_are_weighed(tmp_path, value):
    file = write(tmp_path, CLASS.replace("[(-1.0, True), -2.0]", f"[-1.0, {value}]"))
    request = Request(Prompt((Message.of("user", "x"),), continuations=("a", "b")))

    [output] = build_model(f"{file}:Mine").likelihood([request])

    assert output.error is None and len(output.likelihoods) == 2


@pytest.mark.parametrize("more", ["", "    abilities = assay.Abilities()\n"])
def test_options_extend_the_identity_that_a_class_declares(tmp_path, more):
    source = "import assay\nclass Mine:\n    identity = {'mine': 1}\n"
    method = "    def __init__(self, times=1):\n        pass\n    def generate(self, requests):\n        return []\n"
    file = write(tmp_path, source + more + method)

    one, two = (
        build_model(f"{file}:Mine", {"times": times}).identity for times in (1, 2)
    )

    assert one != two
    assert build_model(f"{file}:Mine").identity == {"mine": 1}


def test_a_class_with_one_identity_for_all_options_is_refused(tmp_path):
    file = write(
        tmp_path,
        """
        import assay
        class Mine:
            __slots__ = ()
            abilities, identity = assay.Abilities(), {"mine": 1}
            def __init__(self, times=1):
                pass
            def generate(self, requests):
                return []
        """,
    )

    with pytest.raises(
        UsageError,
        match="has the same identity with all options; fix: make `identity` a property",
    ):
        build_model(f"{file}:Mine", {"times": 2})


def test_a_secret_option_is_in_the_identity_as_a_digest(tmp_path):
    file = write(tmp_path, "def generate(text, api_key=''):\n    return text")

    one, two = (
        build_model(f"{file}:generate", {"api_key": key}).identity["args"]
        for key in ("1234", "5678")
    )

    assert (
        one != two
        and "1234" not in str(one)
        and one["api_key"].startswith("[redacted:")
    )


@pytest.mark.parametrize(
    ("value", "came", "advice"),
    [
        (
            "(piece for piece in 'ab')",
            "a generator",
            'join the pieces first, as in "".join(pieces)',
        ),
        ("b'RIFF'", "b'RIFF'", "assay.Image(data) or assay.Audio(data)"),
        (
            "numpy.zeros(16000)",
            "an array of shape (16000,)",
            "assay.media.audio_from(array, rate)",
        ),
        (
            "(16000, numpy.zeros(9))",
            "(16000, array(",
            "assay.media.audio_from(array, rate)",
        ),
    ],
    ids=["generator", "bytes", "array", "rate-and-array"],
)
def test_an_ambiguous_return_value_is_refused_with_advice(
    tmp_path, value, came, advice
):
    file = write(tmp_path, f"import numpy\ndef generate(text):\n    return {value}")

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert (
        f"mine.py:generate returned {came}" in output.error.message
        and advice in output.error.message
    )


@pytest.mark.parametrize(
    "head", ["def generate(text)", "async def generate(text)", "def generate(requests)"]
)
def test_code_that_ends_the_process_fails_its_sample_and_not_the_run(tmp_path, head):
    file = write(tmp_path, f"import sys\n{head}:\n    sys.exit('no weights')")

    outputs = build_model(f"{file}:generate").generate([HELLO])
    [output] = asyncio.run(outputs) if asyncio.iscoroutine(outputs) else outputs

    assert output.error.message.startswith("called sys.exit('no weights') (mine.py:")


def test_a_batch_may_be_yielded_one_by_one(tmp_path):
    file = write(
        tmp_path,
        "def generate(requests):\n    for request in requests:\n        yield 'yes'",
    )

    assert [
        o.text for o in build_model(f"{file}:generate").generate([HELLO, HELLO])
    ] == ["yes", "yes"]


def test_a_class_whose_generate_is_not_a_method_is_refused(tmp_path):
    file = write(tmp_path, "class Mine:\n    generate = 5")

    with pytest.raises(
        UsageError,
        match=r"`generate` of model .* is not a method but 5; fix: write def generate",
    ):
        build_model(f"{file}:Mine")


def test_a_list_is_several_candidates(tmp_path):
    file = write(tmp_path, "def generate(text):\n    return ['a', 'b']")

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert [candidate.text for candidate in output.candidates] == ["a", "b"]


MIXED = "from assay.core import Audio, Image\ndef generate(text):\n    return "


def ask_for(*kinds, n=1):
    return Request(Prompt(HELLO.messages, produces=kinds), GenerateOptions(n=n))


@pytest.mark.parametrize(
    "returned",
    [
        "{'text': 'one', 'audio': Audio(b'RIFF'), 'image': Image(b'PNG')}",
        "{'text': 'one', 'audio': b'RIFF', 'image': b'PNG', 'video': None}",
        "['one', Audio(b'RIFF'), Image(b'PNG')]",
        "('one', {'type': 'audio', 'audio': b'RIFF'}, {'type': 'image', 'image': b'PNG'})",
        "[{'text': 'one', 'audio': Audio(b'RIFF'), 'image': Image(b'PNG')}]",
    ],
)
def test_parts_of_several_kinds_are_one_candidate_and_none_is_dropped(
    tmp_path, returned
):
    file = write(tmp_path, MIXED + returned)

    [output] = build_model(f"{file}:generate").generate(
        [ask_for("text", "audio", "image")]
    )

    [candidate] = output.candidates
    assert candidate.text == "one" and candidate.media == (
        Audio(b"RIFF"),
        Image(b"PNG"),
    )


def test_a_list_of_mixed_answers_has_a_candidate_for_each(tmp_path):
    file = write(
        tmp_path,
        MIXED + "[{'text': str(n), 'audio': Audio(b'RIFF')} for n in range(3)]",
    )

    [output] = build_model(f"{file}:generate").generate([ask_for("text", "audio", n=3)])

    assert [(one.text, len(one.media)) for one in output.candidates] == [
        ("0", 1),
        ("1", 1),
        ("2", 1),
    ]


def test_a_mixed_list_where_candidates_are_asked_for_is_an_error(tmp_path):
    file = write(tmp_path, MIXED + "['one', Audio(b'RIFF')]")

    [output] = build_model(f"{file}:generate").generate([ask_for("text", "audio", n=2)])

    assert (
        "returned a list of text and audio where 2 candidates are asked for"
        in output.error.message
    )


@pytest.mark.parametrize(
    "returned", ["{'text': 'one', 'score': 1}", "{'text': 5}", "{'text': None}", "{}"]
)
def test_what_would_be_dropped_is_an_error(tmp_path, returned):
    file = write(tmp_path, MIXED + returned)

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert output.error is not None and "it must return" in output.error.message


@pytest.mark.parametrize("head", ["def", "async def"])
def test_a_function_of_one_answer_is_asked_as_often_as_there_are_candidates(
    tmp_path, head
):
    file = write(tmp_path, f"{head} generate(text, seed=None):\n    return f'{{seed}}'")
    request = replace(ask_for("text", n=4), seed=7, draw="7/a")

    made = build_model(f"{file}:generate").generate([request])
    [output] = asyncio.run(made) if inspect.iscoroutine(made) else made

    texts = [candidate.text for candidate in output.candidates]
    assert texts[0] == "7" and len(set(texts)) == 4


def test_a_function_of_two_answers_at_a_time_gives_no_more_candidates_than_asked_for(
    tmp_path,
):
    file = write(tmp_path, "def generate(text):\n    return ['a', 'b']\n")

    [output] = build_model(f"{file}:generate").generate([ask_for("text", n=3)])

    assert [candidate.text for candidate in output.candidates] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            '{"text": "hi", "picture": b"x"}',
            "an answer has no part 'picture'; its parts are text, image, audio",
        ),
        ('{"text": 5}', "text must be a str"),
        (
            '{"text": "hi", "image": np.zeros((2, 2))}',
            r"for arrays: assay\.media\.image_from\(array\)",
        ),
        (
            '{"audio": {"array": np.zeros(9), "sampling_rate": 8000}}',
            r"assay\.media\.audio_from\(array, rate\)",
        ),
        ('[{"text": "hi", "sound": 1}]', "an answer has no part 'sound'"),
    ],
)
def test_parts_that_cannot_be_read_are_named_with_the_reason(tmp_path, given, said):
    file = write(
        tmp_path, f"import numpy as np\n\n\ndef generate(text):\n    return {given}\n"
    )

    [output] = build_model(f"{file}:generate").generate([ask_for("text")])

    assert output.error is not None
    assert re.search(said, output.error.message), output.error.message


def test_a_batch_function_is_asked_again_for_those_that_lack_candidates(tmp_path):
    file = write(
        tmp_path,
        "calls = []\ndef generate(requests):\n    calls.append(len(requests))\n"
        "    return [f'{len(calls)}' for r in requests]",
    )

    first, second = build_model(f"{file}:generate").generate(
        [ask_for("text", n=3), HELLO]
    )

    assert [one.text for one in first.candidates] == ["1", "2", "3"]
    assert [one.text for one in second.candidates] == ["1"]


def test_an_image_or_a_sound_may_be_returned(tmp_path):
    file = write(
        tmp_path,
        "from assay.core import Audio\ndef generate(text) -> Audio:\n    return Audio(b'RIFF')",
    )

    model = build_model(f"{file}:generate")
    [output] = model.generate([Request(Prompt(HELLO.messages, produces=("audio",)))])

    assert output.media == (Audio(b"RIFF"),)
    assert model.abilities.produces == {"audio"}
    assert model.abilities.accepts == {"text"}


def test_an_async_function_makes_an_async_model_and_fails_alone(tmp_path):
    file = write(
        tmp_path, "async def generate(text):\n    return {'hello': 'yes'}[text]"
    )
    model = build_model(f"{file}:generate")

    good, bad = asyncio.run(model.generate([HELLO, ask(Message.of("user", "x"))]))

    assert inspect.iscoroutinefunction(model.generate)
    assert good.text == "yes"
    assert bad.error.message == "KeyError: 'x' (mine.py:2)"


def test_a_function_that_returns_a_coroutine_is_an_error_that_suggests_async(tmp_path):
    file = write(
        tmp_path,
        "async def later():\n    return 'x'\ndef generate(text):\n    return later()",
    )

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert "declare it with `async def`" in output.error.message


CLASS = """
    class Mine:
        accepts = {"text", "image"}
        produces = "text"

        def __init__(self, tail="."):
            self.tail = tail

        def generate(self, requests):
            if any(r.prompt.messages[0].text == "boom" for r in requests):
                raise ValueError("bad one")
            return [r.prompt.messages[0].text + self.tail for r in requests]

        def likelihood(self, requests):
            return [[(-1.0, True), -2.0] for r in requests]

        def prompt(self, sample, prompt):
            return prompt
"""


def test_a_class_is_built_from_its_options_and_declares_itself(tmp_path):
    file = write(tmp_path, CLASS)

    model = build_model(f"{file}:Mine", {"tail": "!"})

    assert model.abilities.accepts == {"text", "image"}
    assert model.abilities.produces == {"text"}
    assert model.abilities.likelihood
    assert model.prompt(None, 3) == 3
    assert [output.text for output in model.generate([HELLO, HELLO])] == [
        "hello!",
        "hello!",
    ]


def test_a_batch_that_raises_is_halved_until_the_culprit_is_alone(tmp_path):
    file = write(tmp_path, CLASS)
    requests = [ask(Message.of("user", word)) for word in ("a", "b", "boom", "c", "d")]

    outputs = call_model(build_model(f"{file}:Mine"), requests)

    assert [output.text for output in outputs] == ["a.", "b.", "", "c.", "d."]
    assert outputs[2].error.message == "ValueError: bad one (mine.py:11)"


def test_a_batch_of_the_wrong_length_is_an_error(tmp_path):
    file = write(tmp_path, "def generate(requests):\n    return ['only one', 'or two']")

    [output] = build_model(f"{file}:generate").generate([HELLO])

    assert "was given 1 request and returned 2 answers" in output.error.message


@pytest.mark.parametrize(
    "returned", ["['one']", "[]", "['x'] * 7"], ids=("one", "none", "too many")
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_answers_that_do_not_fit_a_batch_fail_the_whole_batch_and_it_is_not_asked_again(
    tmp_path, returned, kind
):
    file = write(
        tmp_path,
        f"""
        calls = []
        {kind} generate(requests):
            calls.append(len(requests))
            return {returned}
    """,
    )
    model = build_model(f"{file}:generate")

    outputs = model.generate([HELLO] * 4)
    outputs = asyncio.run(outputs) if asyncio.iscoroutine(outputs) else outputs

    assert load_file(file).calls == [4]
    assert len(outputs) == 4 and len({output.error.message for output in outputs}) == 1
    assert "was given 4 requests and returned" in outputs[0].error.message


def test_likelihoods_may_be_numbers_or_pairs(tmp_path):
    file = write(tmp_path, CLASS)
    request = Request(Prompt((Message.of("user", "x"),), continuations=("a", "b")))

    [output] = build_model(f"{file}:Mine").likelihood([request])

    assert output.likelihoods == (Likelihood(-1.0, True), Likelihood(-2.0, False))


def test_weighing_too_few_continuations_is_an_error(tmp_path):
    file = write(tmp_path, CLASS)
    request = Request(Prompt((Message.of("user", "x"),), continuations=("a", "b", "c")))

    [output] = build_model(f"{file}:Mine").likelihood([request])

    assert "returned likelihoods of 2 of 3 continuations" in output.error.message


def test_an_unknown_kind_in_accepts_is_refused(tmp_path):
    file = write(
        tmp_path,
        "class Mine:\n    accepts = {'smell'}\n    def generate(self, messages):\n        return ''",
    )

    with pytest.raises(
        UsageError, match="`accepts` names 'smell'; fix: known kinds: audio, image"
    ):
        build_model(f"{file}:Mine")


def test_identity_follows_the_files_that_the_source_imports(tmp_path):
    file = write(
        tmp_path,
        "from words_of_mine import WORD\ndef generate(messages):\n    return WORD",
    )
    (tmp_path / "words_of_mine.py").write_text("WORD = 'one'\n")
    before = build_model(f"{file}:generate").identity

    (tmp_path / "words_of_mine.py").write_text("WORD = 'three'\n")

    after = build_model(f"{file}:generate").identity
    assert before["sha256"] == after["sha256"] and before["imports"] != after["imports"]


def test_partials_with_different_arguments_have_different_identities():
    def say(messages, word, words=()):
        return word

    made = [partial(say, word=word) for word in ("one", "one", "two")] + [
        partial(say, word="one", words={"a", "b"})
    ]

    one, same, two, more = (adapt_model(function).identity for function in made)

    assert one == same
    assert len({identity["bound"] for identity in (one, two, more)}) == 3
    assert one["file"] == "test_function.py" and one["attribute"].endswith("say")


def test_identity_follows_the_source_and_the_options_but_not_the_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    source = "def generate(text, tail='.'):\n    return text"
    one, two = write(tmp_path / "a", source), write(tmp_path / "b", source)

    same = (
        build_model(f"{one}:generate").identity
        == build_model(f"{two}:generate").identity
    )
    options = build_model(f"{one}:generate", {"tail": "!"}).identity["args"]
    two.write_text(source + "  # changed")
    changed = build_model(f"{two}:generate").identity["sha256"]

    assert same
    assert options == {"tail": "!"}
    assert changed != build_model(f"{one}:generate").identity["sha256"]


BROKEN = """
    built = []

    class Mine:
        def __init__(self):
            built.append(1)
            raise OSError("no weights")

        def generate(self, messages):
            return str(len(built))
"""


def test_a_class_is_built_by_the_first_question_and_only_once(tmp_path):
    file = write(tmp_path, BROKEN.replace('raise OSError("no weights")', "pass"))

    model = build_model(f"{file}:Mine")
    first, second = model.generate([HELLO, HELLO])

    assert (first.text, second.text) == ("1", "1")


DRAWS = Prompt((Message.of("user", "draw"),), produces=("image",))


@pytest.mark.parametrize(
    "given",
    ["return canvas", "canvas.save(FILE)\n    return assay.Image(FILE)"],
    ids=["one canvas", "one file"],
)
def test_an_image_is_what_it_was_when_it_was_given_back(given, tmp_path):
    file = write(
        tmp_path,
        f"import assay\nfrom PIL import Image\ncanvas = Image.new('L', (1, 1))\nFILE = {str(tmp_path / 'out.png')!r}\n"
        f"def generate(text):\n    canvas.putpixel((0, 0), canvas.getpixel((0, 0)) + 1)\n    {given}\n",
    )
    model = build_model(f"{file}:generate")

    outputs = model.generate([Request(DRAWS), Request(DRAWS), Request(DRAWS)])

    assert len({output.candidates[0].media[0].digest for output in outputs}) == 3


def test_an_image_that_is_not_there_fails_its_sample_alone(tmp_path):
    file = write(
        tmp_path,
        f"""
        import assay
        made = []
        def generate(text):
            made.append(text)
            data = {(b"x")!r}
            return assay.Image({str(tmp_path / "gone.png")!r} if len(made) == 2 else data)
        """,
    )

    outputs = build_model(f"{file}:generate").generate(
        [Request(DRAWS), Request(DRAWS), Request(DRAWS)]
    )

    assert [output.error is None for output in outputs] == [True, False, True]
    assert "cannot open image" in outputs[1].error.message
    assert outputs[1].error.kind == "exception"


@pytest.mark.parametrize("wait", ["", "async "], ids=["called", "awaited"])
@pytest.mark.parametrize(
    "source", ["'gone.png'", "open('/dev/null')", "1, read=lambda source: 1 / 0"]
)
def test_an_image_that_cannot_be_opened_does_not_make_a_batch_draw_again(
    tmp_path, source, wait
):
    file = write(
        tmp_path,
        f"""
        import assay
        class Painter:
            batches = []
            {wait}def generate(self, requests):
                self.batches.append(len(requests))
                return [assay.Image({source}) if n == 1 else assay.Image(b"x") for n, _ in enumerate(requests)]
        """,
    )
    model = build_model(f"{file}:Painter")

    outputs = model.generate([Request(DRAWS)] * 4)
    outputs = asyncio.run(outputs) if wait else outputs

    assert [output.error is None for output in outputs] == [True, False, True, True]
    assert model._builder.built.batches == [4]


def test_an_image_that_is_given_back_is_not_kept_in_the_prompt(tmp_path):
    picture = tmp_path / "in.png"
    picture.write_bytes(b"first")
    given = Image(picture)
    asked = Request(
        Prompt((Message.of("user", given, "turn it"),), produces=("image",))
    )
    file = write(
        tmp_path,
        "def generate(request):\n    return [request.messages[0].media[0], 'as it was']\n",
    )

    [output] = build_model(f"{file}:generate").generate([asked])
    picture.write_bytes(b"second")

    [candidate] = output.candidates
    assert candidate.media == (Image(b"first"),) and candidate.text == "as it was"
    assert given.data() == b"second"


def test_a_class_that_cannot_be_built_is_not_tried_for_every_sample(tmp_path):
    file = write(tmp_path, BROKEN)
    model = build_model(f"{file}:Mine")

    outputs = model.generate([HELLO, HELLO, HELLO])

    assert all(
        "could not be built: OSError: no weights (mine.py:7)" in output.error.message
        for output in outputs
    )
    assert len(load_attribute(f"{file}:built")) == 1
    with pytest.raises(ModelError, match="could not be built: OSError: no weights"):
        model.load()


def test_a_class_without_generate_is_refused(tmp_path):
    file = write(tmp_path, "class Mine:\n    generte = None")

    with pytest.raises(UsageError, match="is a class without `generate`"):
        build_model(f"{file}:Mine")


def test_a_class_of_which_only_one_method_is_async_is_refused(tmp_path):
    file = write(
        tmp_path,
        """
        class Mine:
            async def generate(self, messages):
                return ""

            def likelihood(self, requests):
                return []
        """,
    )

    with pytest.raises(
        UsageError, match="has only one of `generate` and `likelihood` async"
    ):
        build_model(f"{file}:Mine")


def test_a_callable_class_and_an_async_class_are_models_too(tmp_path):
    file = write(
        tmp_path,
        """
        class Called:
            def __call__(self, text):
                return text + "!"

        class Later:
            async def generate(self, text):
                return text + "?"
        """,
    )

    [called] = build_model(f"{file}:Called").generate([HELLO])
    [later] = asyncio.run(build_model(f"{file}:Later").generate([HELLO]))

    assert (called.text, later.text) == ("hello!", "hello?")


def test_closing_closes_what_was_built(tmp_path):
    file = write(
        tmp_path,
        BROKEN.replace('raise OSError("no weights")', "pass")
        + "\n        close = built.clear",
    )
    model = build_model(f"{file}:Mine")
    model.close()
    model.load()

    model.close()

    assert load_attribute(f"{file}:built") == []


@pytest.mark.parametrize(
    ("last", "text", "answer"),
    [
        # The model continues what the prompt opened.
        (Message.of("", "What is 40 + 2?\nA: <think>\n"), "41? No.</think>42", "42"),
        (Message.of("", "What is 40 + 2?\nA: <think>\n"), "41? Then 43", ""),
        (Message.of("assistant", "<think>"), "41? Then 43", ""),
        (Message.of("", "What is 40 + 2?\nA: <think>\n"), "<think>41</think>42", "42"),
        # A user turn is answered, and a closed block is past.
        (Message.of("user", "Begin with <think>"), "42", "42"),
        (Message.of("", "What?\n<think>\n\n</think>\n"), "42", "42"),
    ],
)
def test_an_answer_to_a_prompt_that_opens_reasoning_begins_inside_it(
    last, text, answer
):
    model = adapt_model(lambda prompt: text)

    [output] = call_model(model, [ask(last)])

    assert output.text == answer
