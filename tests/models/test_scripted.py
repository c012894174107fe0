"""The scripted model of tests."""

import pytest

from assay.core import Image, Message, Output, Prompt, Request, UsageError
from assay.models.scripted import Scripted


def ask(text: str) -> Request:
    return Request(Prompt((Message.of("user", text),)))


def test_a_list_of_answers_is_given_in_turn_and_starts_again():
    outputs = Scripted(["a", "b"]).generate([ask("1"), ask("2"), ask("3")])

    assert [output.text for output in outputs] == ["a", "b", "a"]


def test_it_echoes_the_last_turn_by_default():
    request = Request(
        Prompt(
            (Message.of("system", "s"), Message.of("user", "q"), Message("assistant"))
        )
    )

    [output] = Scripted().generate([request])

    assert output.text == "q"


def test_a_mapping_answers_by_text_and_fails_on_what_it_does_not_know():
    known, unknown = Scripted({"q": "a"}).generate([ask("q"), ask("other")])

    assert known.text == "a"
    assert "the script has no answer to 'other'" in unknown.error.message


def test_a_function_sees_the_request():
    [output] = Scripted(lambda request: request.prompt.role).generate([ask("q")])

    assert output.text == "assistant"


def test_outputs_media_and_accidents_can_be_scripted():
    script = Scripted(
        [Output.failed("timeout", "slow"), Image(b"x"), ValueError("broken")]
    )

    failed, drawn, raised = script.generate([ask("1"), ask("2"), ask("3")])

    assert failed.error.kind == "timeout"
    assert drawn.media == (Image(b"x"),)
    assert "ValueError: broken" in raised.error.message


def test_it_weighs_earlier_continuations_higher():
    request = Request(Prompt((Message.of("user", "q"),), continuations=("x", "y")))

    [output] = Scripted().likelihood([request])

    assert [(w.logprob, w.greedy) for w in output.likelihoods] == [
        (-1.0, True),
        (-2.0, False),
    ]


def test_it_remembers_what_it_was_asked():
    model = Scripted("same")

    model.generate([ask("1")])

    assert [call.prompt.text for call in model.calls] == ["User: 1\nAssistant:"]


def test_an_empty_script_is_refused():
    with pytest.raises(UsageError, match="needs at least one answer"):
        Scripted([])
