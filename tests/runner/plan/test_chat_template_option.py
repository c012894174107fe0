"""What `apply_chat_template` makes of the prompts of assay's own tasks: the texts that lm-eval would send."""

import json

import assay
from assay.core import Task
from assay.models.scripted import Scripted

ROW = {"question": "Capital of France?", "choices": ["Paris", "Rome"], "answer": "A"}


def first_prompt(tmp_path, template, **settings):
    tmp_path.mkdir(exist_ok=True)
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    model = Scripted()
    scorers = settings.pop("scorers", ("includes",))
    task = Task("capitals", dataset=str(data), template=template, scorers=scorers)
    assay.run(task, model=model, output=str(tmp_path / "out"), **settings)
    return model.calls[0].prompt


def test_one_question_without_chat_template_is_its_bare_text(tmp_path):
    prompt = first_prompt(tmp_path, "{{ question }}", apply_chat_template=False)

    assert prompt.text == "Capital of France?"


def test_system_text_without_chat_template_comes_before_the_question(tmp_path):
    prompt = first_prompt(
        tmp_path, "{{ question }}", apply_chat_template=False, system="Be brief."
    )

    assert prompt.text == "Be brief.\n\nCapital of France?"


def test_several_turns_without_chat_template_keep_their_headers(tmp_path):
    turns = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "{{ question }}"},
    ]

    prompt = first_prompt(tmp_path, turns, apply_chat_template=False)

    assert prompt.text.startswith("User: Hello\nAssistant: Hi")


def test_options_behind_a_chat_template_have_no_blank_before_them(tmp_path):
    settings = {"scorers": ("choice_likelihood",)}
    plain = first_prompt(tmp_path / "a", "choice_likelihood", **settings)
    chat = first_prompt(
        tmp_path / "b", "choice_likelihood", apply_chat_template=True, **settings
    )

    assert plain.continuations == (" A", " B")
    assert chat.continuations == ("A", "B")
    assert [message.role for message in chat.messages] == ["user"]
