"""Messages: the forms people write, who is to speak, and plain text."""

import pytest

from assay.core import (
    Audio,
    Image,
    Json,
    Message,
    Reasoning,
    Text,
    as_message,
    as_messages,
    as_part,
    generation_role,
    has_free_roles,
    render_text,
)
from assay.core.message import to_plain
from assay.core.record import messages_from_plain


def turn(role, text=None):
    return Message(role, None if text is None else (Text(text),))


@pytest.mark.parametrize(
    "value",
    [
        "hi",
        Message("user", (Text("hi"),)),
        {"role": "user", "content": "hi"},
        {"content": [{"type": "text", "text": "hi"}]},
        ["hi"],
        [{"role": "user", "content": "hi"}],
        [Message("user", (Text("hi"),))],
        (part for part in ["hi"]),
    ],
)
def test_every_way_to_write_one_user_turn_gives_the_same_message(value):
    assert as_messages(value) == (turn("user", "hi"),)


def test_a_list_of_parts_is_one_turn_in_the_order_given():
    (message,) = as_messages(
        [Image(b"p"), "what is it?", {"type": "audio", "data": b"s"}]
    )

    assert message.parts == (Image(b"p"), Text("what is it?"), Audio(b"s"))
    assert message.media == (Image(b"p"), Audio(b"s"))
    assert message.text == "what is it?"


@pytest.mark.parametrize("value", [None, 3, [], [3]])
def test_what_is_not_a_message_is_refused(value):
    with pytest.raises(TypeError):
        as_messages(value)


def test_openai_parts_are_understood():
    assert as_part(
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    ) == Image(b"\0\0\0")
    assert as_part({"type": "input_audio", "input_audio": {"data": b"s"}}) == Audio(
        b"s"
    )
    with pytest.raises(ValueError, match="unknown part type 'film'"):
        as_part({"type": "film"})
    with pytest.raises(ValueError, match="names no image"):
        as_part({"type": "image"})


@pytest.mark.parametrize(
    "place", [Message("Answer"), Message.of("Answer"), as_message({"role": "Answer"})]
)
def test_a_message_without_content_is_where_the_model_writes(place):
    assert place.parts is None
    assert generation_role([turn("Question", "2+2?"), place]) == "Answer"


@pytest.mark.parametrize(
    ("messages", "role"),
    [
        ([turn("user", "a")], "assistant"),
        ([turn("system", "s"), turn("user", "a")], "assistant"),
        ([turn("Question", "a")], "assistant"),
        ([turn("Question", "a"), turn("Answer", "b"), turn("Question", "c")], "Answer"),
        (
            [
                turn("System", "i"),
                turn("Q", "a"),
                turn("A", "b"),
                turn("Q", "c"),
                turn("B", "d"),
                turn("Q", "e"),
            ],
            "B",
        ),
        (
            [
                turn("Q", "a"),
                turn("Why", "b"),
                turn("A", "c"),
                turn("Q", "d"),
                turn("Why", "e"),
            ],
            "A",
        ),
        ([turn("user", "a"), turn("user", "b")], "assistant"),
        ([], "assistant"),
        ([turn("user", "a"), Message("user"), turn("user", "b")], "user"),
        (
            [
                turn("user", "a"),
                turn("assistant", "b"),
                turn("tool", "c"),
                turn("user", "d"),
            ],
            "assistant",
        ),
    ],
)
def test_who_is_to_speak(messages, role):
    assert generation_role(messages) == role


def test_free_roles_are_those_outside_the_chat_roles():
    assert not has_free_roles(
        [turn("system", "s"), turn("user", "u"), Message("assistant")]
    )
    assert has_free_roles([turn("user", "u"), Message("Answer")])
    assert has_free_roles([turn("", "plain")])


def test_free_roles_become_text_that_ends_where_the_model_writes():
    messages = [
        turn("instruction", "Sum."),
        turn("question", "1+1?"),
        turn("answer", "2"),
        turn("question", "2+2?"),
    ]

    assert (
        render_text(messages)
        == "Instruction: Sum.\n\nQuestion: 1+1?\nAnswer: 2\n\nQuestion: 2+2?\nAnswer:"
    )


def test_an_empty_role_writes_no_header():
    assert render_text([turn("", "Once upon a time")]) == "Once upon a time"


def test_a_message_survives_the_journal():
    blobs = {Image(b"p").digest: Image(b"p")}
    messages = (
        Message("user", (Text("a"), Image(b"p"), Text("b"))),
        Message("assistant", (Reasoning("hm"), Json({"x": [1, None]}))),
        turn("user", "one part"),
        Message("user", ()),
        Message("assistant"),
    )

    assert (
        messages_from_plain([to_plain(message) for message in messages], blobs)
        == messages
    )
