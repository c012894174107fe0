"""Prompts written as message lists."""

import base64

import pytest

from assay.core import Image, Message, Text, Video
from assay.dialects.kits import message_lists
from assay.dialects.kits.message_lists import chat_list, flat_list, message_turns

PIXEL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def parts(value):
    (message,) = message_turns(value)
    return message.parts


def test_a_string_is_text():
    assert parts("what is this?") == (Text("what is this?"),)


def test_existing_files_data_urls_and_media_urls_are_media(tmp_path, monkeypatch):
    monkeypatch.setattr(
        message_lists, "media_path", lambda url: str(tmp_path / "film.mp4")
    )
    file = tmp_path / "a.png"
    file.write_bytes(b"x")

    made = parts([str(file), PIXEL, "https://example.org/film.mp4", "hello"])

    assert [type(part) for part in made] == [Image, Image, Video, Text]


@pytest.mark.parametrize(
    "text",
    [
        "missing.png",
        "https://example.org/page",
        "data:nonsense",
        "a\nb.png",
        "x" * 9000,
    ],
)
def test_everything_else_stays_text(text):
    assert parts([text]) == (Text(text),)


def test_a_file_without_a_media_suffix_stays_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat").write_text("x")

    assert parts("cat") == (Text("cat"),)


def test_a_dictionary_is_believed(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(b"x")

    assert parts([{"type": "text", "value": str(file)}]) == (Text(str(file)),)
    assert parts({"type": "image", "value": str(file)})[0].source == file


def test_early_dictionaries_give_images_then_words(tmp_path):
    made = parts({"image": ["a.png", "b.png"], "text": "compare"})

    assert [type(part) for part in made] == [Image, Image, Text]


def test_roles_divide_a_list_into_turns():
    turns = message_turns(
        [{"type": "text", "value": "be brief", "role": "system"}, "a", "b"]
    )

    assert turns == (
        Message("system", (Text("be brief"),)),
        Message("user", (Text("a"), Text("b"))),
    )


def test_a_chat_keeps_its_turns():
    chat = [
        {"role": "user", "content": [{"type": "text", "value": "hi"}]},
        {"role": "assistant", "content": "yes"},
    ]

    assert chat_list(message_turns(chat), str) == [
        {"role": "user", "content": [{"type": "text", "value": "hi"}]},
        {"role": "assistant", "content": [{"type": "text", "value": "yes"}]},
    ]


def test_a_message_goes_back_to_the_list_it_came_from(tmp_path):
    images = [{"type": "image", "value": "a.png"}, {"type": "image", "value": "b.png"}]
    given = [images[0], {"type": "text", "value": "what?"}, images[1]]

    assert flat_list(message_turns(given), lambda medium: str(medium.source)) == given


def test_a_url_is_fetched_into_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(
        message_lists, "media_path", lambda url: str(tmp_path / "got.png")
    )

    made = parts(["https://example.org/a.png"])

    assert (
        made[0].source == tmp_path / "got.png"
        and made[0].name == "https://example.org/a.png"
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (5, "a prompt must be text"),
        ([], "empty list"),
        ([{"type": "smell", "value": "x"}], "unknown type 'smell'"),
        ([{"type": "image", "value": ""}], "has no value"),
        ({"image": None, "text": 5}, "`text` of the prompt must be text"),
    ],
)
def test_what_is_no_prompt_says_why(value, why):
    with pytest.raises((TypeError, ValueError), match=why):
        message_turns(value)
