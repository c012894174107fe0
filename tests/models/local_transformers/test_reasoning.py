"""Reasoning of local models, with tags that decoding or the chat template would hide."""

import pytest

from assay.core import GenerateOptions, Message, Output, Prompt, Request
from assay.models.local_transformers.candidates import Answers, Drawn
from assay.models.reasoning_marks import mark_tokens

pytestmark = pytest.mark.torch


def request(**changes):
    prompt = Prompt((Message.of("user", "Why?"),))
    return Request(prompt, GenerateOptions(max_tokens=4), **changes)


def answer(make, text, prompt="", special=(), **changes):
    """Return the output of a model that wrote a text after a prompt."""
    tokenizer = make.tokenizer(*special)
    answers = Answers(None, tokenizer)
    ids, before = tokenizer.encode(text), tokenizer.encode(prompt)
    drawn = Drawn(ids, False, before)
    return Output((answers.candidate(request(**changes), drawn),))


def test_special_tokens_that_mark_reasoning_are_kept(make):
    marks = ("[THINK]", "[/THINK]")
    output = answer(make, "[THINK]is it 41[/THINK]42", special=marks)

    assert sorted(mark_tokens(make.tokenizer(*marks)).values()) == sorted(marks)
    assert (output.text, output.reasoning) == ("42", "is it 41")


def test_the_channels_of_gpt_oss_are_kept(make):
    marks = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>")
    text = (
        "<|channel|>analysis<|message|>is it 41<|end|>"
        "<|start|>assistant<|channel|>final<|message|>42"
    )

    output = answer(make, text, special=marks)

    assert (output.text, output.reasoning) == ("42", "is it 41")


def test_other_special_tokens_are_left_out(make):
    assert answer(make, "4<|pad|>2", special=("<|pad|>",)).text == "42"


def test_cut_answer_after_an_opened_reasoning_tag_is_empty(make):
    cut = answer(make, "is it 42", prompt="assistant\n<think>\n")
    closed = answer(make, "is it 41</think>42", prompt="assistant\n<think>\n")
    plain = answer(make, "42", prompt="assistant\n")

    assert (cut.text, cut.reasoning) == ("", "is it 42")
    assert (closed.text, closed.reasoning) == ("42", "is it 41")
    assert plain.text == "42"


def test_without_think_tags_the_text_is_what_the_model_wrote(make):
    output = answer(make, "is it 42", prompt="<think>\n", think_tags=False)

    assert output.text == "is it 42"


def test_cut_reasoning_opened_by_the_template_is_not_an_answer(llama_folder, make):
    from assay.models import build_model

    template = make.chatml.replace(
        "assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"
    )
    model = build_model(f"hf/{llama_folder}", {"chat_template": template})

    [output] = model.generate([request()])

    assert output.text == ""
    assert output.candidates[0].has_reasoning
