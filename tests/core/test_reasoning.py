"""How reasoning is separated from the answer of a text."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.core import Candidate, Image, Output, Reasoning, Text, UsageError
from assay.core.reasoning import (
    opening_mark_of,
    read_think_tags,
    separate_text,
    unread_marks_of,
)
from assay.core.record import output_from_plain, output_to_plain

CLOSED = {
    "think": "<think>\nIs it 4? No.\n</think>\n\n",
    "think on one line": "<think>Is it 4? No.</think>",
    "empty": "<think>\n\n</think>\n\n",
    "capitals": "<Think>Is it 4? No.</Think>",
    "thinking": "<thinking>Is it 4? No.</thinking>\n",
    "reasoning": "<reasoning>Is it 4? No.</reasoning>\n",
    "thought": "<thought>Is it 4? No.</thought>",
    "seed": "<seed:think>Is it 4? No.</seed:think>",
    "no opening tag": "Is it 4? No.\n</think>\n\n",
    "no opening bracket": "Is it 4? No.[/THINK]",
    "brackets": "[THINK]Is it 4? No.[/THINK]",
    "triangles": "◁think▷Is it 4? No.◁/think▷",
    "channels": "<|channel|>analysis<|message|>Is it 4? No.<|end|><|start|>assistant<|channel|>final<|message|>",
    "channels, opened by the prompt": "Is it 4? No.<|end|><|start|>assistant<|channel|>final<|message|>",
    "channels, tool call between": "<|channel|>analysis<|message|>Is it 4?<|end|><|start|>assistant"
    "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{}<|call|>"
    "<|start|>assistant<|channel|>final<|message|>",
    "channels without special tokens": "analysisIs it 4? No.assistantfinal",
    "command a": "<|START_THINKING|>Is it 4? No.<|END_THINKING|><|START_RESPONSE|>",
    "sky": "<|begin_of_thought|>Is it 4? No.<|end_of_thought|>\n<|begin_of_solution|>",
    "granite": "Here is my thought process: Is it 4? No.\n\nHere is my response:\n",
    "gemma 4": "<|channel>thought\nIs it 4? No.\n<channel|>",
    "apertus": "<|inner_prefix|>Is it 4? No.<|inner_suffix|>",
    "s1": "<|im_start|>think\nIs it 4? No.<|im_end|>\n<|im_start|>answer\n",
    "s1, opened by the prompt": "Is it 4? No.\n<|im_start|>answer\n",
    "apriel": "Here are my reasoning steps:\nIs it 4? No.\n[BEGIN FINAL RESPONSE]\n",
    "apriel, opened by the prompt": "Is it 4? No.\n[BEGIN FINAL RESPONSE]\n",
    "ollama": "Thinking...\nIs it 4? No.\n...done thinking.\n\n",
    "open webui": '<details type="reasoning" done="true">\n> Is it 4? No.\n</details>\n',
    "longcat": "<longcat_think>Is it 4? No.</longcat_think>",
    "a word before the name": "<ds_think>Is it 4? No.</ds_think>",
    "inner thoughts": "<inner_thoughts>Is it 4? No.</inner_thoughts>",
    "start and end of a thought": "<|thought_start|>Is it 4? No.<|thought_end|>",
    "begin and end of thinking": "<|begin_of_thinking|>Is it 4? No.<|end_of_thinking|>",
    "closed by a token in wide bars": "<think>Is it 4? No.<｜end▁of▁thinking｜>",
    "bars": "<|think|>Is it 4? No.<|/think|>",
    "bars around the slash": "<|thinking|>Is it 4? No.</|thinking|>",
    "start and end": "<|think_start|>Is it 4? No.<|think_end|>",
    "byte order mark": "\ufeff<think>Is it 4? No.</think>",
    "zero-width space": "\u200b<think>Is it 4? No.</think>",
    "beginning of text": "<s><think>Is it 4? No.</think>",
    "beginning of text in wide bars": "<｜begin▁of▁sentence｜><think>Is it 4? No.</think>",
    "closed twice": "<think>Is it 4?</think>\nNo.\n</think>\n",
    "role token": "<|im_start|>assistant\n<think>Is it 4? No.</think>",
    "role token without a line break": "<|assistant|><think>Is it 4? No.</think>",
    "role as a word": "assistant\n<think>Is it 4? No.</think>",
    "right-to-left mark": "\u200f<think>Is it 4? No.</think>",
    "reasoning content": "<reasoning_content>Is it 4? No.</reasoning_content>",
    "chain of thought": "<chain_of_thought>Is it 4? No.</chain_of_thought>",
    "working out": "<start_working_out>Is it 4? No.<end_working_out>",
    "attributes": '<think budget="512">Is it 4? No.</think>',
    "glm": "<think>Is it 4? No.</think>\n<|begin_of_box|>",
    "two blocks": "<think>Is it 4?</think>\n<think>No.</think>\n",
    "nested": "<think>Is it <think>4?</think> No.</think>",
    "opening tag mentioned inside": "<think>The <think> tag? Is it 4? No.</think>",
    "code inside, not closed": "<think>```python\nprint(4)\n</think>\n",
}
OPEN = {
    "think": "<think>Is it ",
    "thinking": "<thinking>Is it ",
    "reasoning": "<reasoning>\nIs it ",
    "brackets": "[THINK]Is it ",
    "triangles": "◁think▷Is it ",
    "channel": "<|channel|>analysis<|message|>Is it ",
    "second block": "<think>Is it 4?</think><think>Is it ",
    "nothing yet": "<think>",
}


def each(forms):
    return pytest.mark.parametrize("form", list(forms.values()), ids=list(forms))


@each(CLOSED)
def test_the_answer_is_what_comes_after_the_reasoning(form):
    output = Output.of(form + "42")

    assert output.text == "42"
    assert "4?" not in output.text


@each(CLOSED)
@given(st.text(alphabet="abc 12\n.,*`$\\(){}äé好", min_size=1))
def test_any_answer_is_kept_whole(form, answer):
    # With nothing behind the second closing tag, the text before that tag is the answer.
    assume(answer.strip() or form != CLOSED["closed twice"])

    separated = separate_text(form + answer)

    assert separated is not None
    assert separated.answer.strip() == answer.strip()


@each(OPEN)
def test_reasoning_that_never_ends_is_not_an_answer(form):
    output = Output.of(form + "42")
    [candidate] = output.candidates

    assert output.text == ""
    assert candidate.has_reasoning
    assert not candidate.has_answer


@pytest.mark.parametrize(
    "text",
    [
        "The closing tag is `</think>`.",
        'It writes "</think>" and goes on.',
        "Use <think>your thoughts</think> before the answer.",
        "A <think> tag opens the block.",
        "```xml\n<think>\nhm\n</think>\n```\nThat is how it looks.",
        "The channel is named `<|channel|>analysis<|message|>`.",
        "In harmony, <|channel|>analysis<|message|> comes first.",
        "x < y and [a] > b",
        "analysis of the text",
        "Here is my response: 42",
    ],
)
def test_an_answer_may_talk_about_the_tags(text):
    assert separate_text(text) is None
    assert Output.of(text).text == text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>a</think>First.\n<think>b</think>Second.", "First.\nSecond."),
        ("<think>a</think>x<think>b</think>y", "x\ny"),
        ("<think>a</think>The <think> tag is old.", "The <think> tag is old."),
        ("<think>a</think>It is `</think>`.", "It is `</think>`."),
        ("<think>a</think>\n    return 1", "    return 1"),
        ("42\n<reasoning>because</reasoning>", "42\n"),
        ("<think>long <answer>D</answer>", "<answer>D</answer>"),
        ("<think>is it <answer>D", ""),
        ("Sure! <think>is it 4?</think> 42", "Sure! 42"),
        ("好的。<think>4?</think>42", "好的。\n42"),
        ("<think>a</think>\n<response>\n42\n</response>", "42"),
        ("<think>a</think>\n42\n</think>", "42\n"),
        ("<think>a</think>Say </think> to end.", "Say </think> to end."),
    ],
)
def test_blocks_inside_and_after_an_answer(text, answer):
    assert Output.of(text).text == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\n\n</think>\n\n42", "42"),
        ("</think>42", "42"),
        ("<think>again</think>42", "42"),
        ("The mark <think> opens it.", "The mark <think> opens it."),
        ("42", "42"),
    ],
)
def test_a_block_that_a_server_left_beside_the_reasoning_is_not_an_answer(text, answer):
    output = Output((Candidate((Reasoning("hm"), Text(text))),))

    assert output.text == answer
    assert output.separated().text == answer
    assert output.reasoning.startswith("hm")


def test_marks_of_other_models_stay_in_the_answer_beside_own_marks():
    tags = read_think_tags("<note>,</note>", "here")

    output = Output.of("<note>hm</note><think>x</think>42").separated(tags)

    assert (output.text, output.reasoning) == ("<think>x</think>42", "hm")
    again = output_from_plain(output_to_plain(output))
    assert again.text == "<think>x</think>42"


def test_an_output_keeps_reasoning_and_answer_in_its_record():
    output = Output.of("<think>hm</think>42", stop_reason="stop").separated()
    plain = output_to_plain(output)

    assert plain["candidates"][0]["parts"] == [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "42"},
    ]
    assert output_from_plain(plain) == output
    assert output.separated() is output


def test_a_record_from_before_is_separated_when_it_is_read():
    output = output_from_plain({"candidates": [{"text": "<think>hm</think>42"}]})

    assert (output.text, output.reasoning) == ("42", "hm")


def test_false_leaves_the_text_as_it_is_also_in_the_record():
    output = Output.of("<think>hm</think>42").separated(False)

    again = output_from_plain(output_to_plain(output))

    assert again.text == output.text == "<think>hm</think>42"
    assert again.reasoning == ""


def test_marks_of_the_models_own_replace_the_known_ones():
    tags = read_think_tags("<note>,</note>", "here")

    own = Output.of("<note>hm</note>42").separated(tags)
    other = Output.of("<think>hm</think>42").separated(tags)

    inside_a_line = Output.of("A: <note>hm</note>42").separated(tags)

    assert (own.text, own.reasoning) == ("42", "hm")
    assert (inside_a_line.text, inside_a_line.reasoning) == ("A: 42", "hm")
    assert other.text == "<think>hm</think>42"


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        (None, None),
        (True, True),
        (False, False),
        ("<note>", ("<note>", "</note>")),
        ("[NOTE]", ("[NOTE]", "[/NOTE]")),
        ("<note>,</note>", ("<note>", "</note>")),
        ("<note> </note>", ("<note>", "</note>")),
        (["((", "))"], ("((", "))")),
    ],
)
def test_think_tags_may_be_written_in_several_ways(value, tags):
    assert read_think_tags(value, "here") == tags


@pytest.mark.parametrize(
    "value", [3, "", "no", "maybe", "<a>,<b>,<c>", ["<a>"], ["<a>", ""], {}]
)
def test_other_think_tags_are_refused(value):
    with pytest.raises(UsageError, match="think_tags"):
        read_think_tags(value, "here")


def test_media_and_reasoning_of_the_models_own_are_left_as_they_are():
    image = Image(b"\x89PNG\r\n\x1a\n")
    drawn = Candidate((Text("<think>a cat</think>Here:"), image, Text("Done.")))
    own = Candidate((Reasoning("hm"), Text("The tag </think> ends it.")))

    assert (drawn.text, drawn.reasoning) == ("Here:Done.", "a cat")
    assert drawn.separated().media == (image,)
    assert own.text == "The tag </think> ends it."


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("[INST]q[/INST][THINK]", "[THINK]"),
        (
            "<|start|>assistant<|channel|>analysis<|message|>",
            "<|start|>assistant<|channel|>analysis<|message|>",
        ),
        ("assistant\n<think>\n\n</think>\n\n", ""),
        ("What does <think> mean?", ""),
        ("<|start|>assistant<|channel|>final<|message|>", ""),
    ],
)
def test_a_prompt_may_end_with_an_opening_mark(prompt, mark):
    assert opening_mark_of(prompt) == mark


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("<plan>hm</plan>42", ("<plan>", "</plan>")),
        ("<reasoning_steps>hm</reasoning_steps>42", ("<reasoning_steps>",)),
        ("[REASONING]hm[/REASONING] 42", ("[REASONING]", "[/REASONING]")),
        ("&lt;think&gt;hm&lt;/think&gt;42", ("&lt;think&gt;", "&lt;/think&gt;")),
        ("＜think＞hm＜/think＞42", ("＜think＞", "＜/think＞")),
        ("<思考>hm</思考>42", ("<思考>", "</思考>")),
        ("A: <think>hm</think>42", ("<think>", "</think>")),
        ("<plan>hm</plan>", None),
        ("<plan>hm", None),
        ("`<think>` opens, `</think>` closes.", None),
        ("<b>Paris</b> is the plan.", None),
        ("[1] The plan [2] is [/1] good", None),
    ],
)
def test_marks_that_look_like_reasoning_are_named(text, marks):
    unread = unread_marks_of(text)

    assert (unread and unread[: len(marks or ())]) == marks
