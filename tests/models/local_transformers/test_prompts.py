"""Prompts as the model reads them, and the faults that preflight finds."""

import json

import pytest

from assay.core import Message, Prompt, TemplateError, UsageError
from assay.models.prompting.renderer import (
    Renderer,
    given_template,
    template_in,
)

from .conftest import CHATML

pytestmark = pytest.mark.torch
QUESTION = Prompt((Message.of("system", "Be brief."), Message.of("user", "Why?")))


def kinds(renderer, prompt=QUESTION, stops=()):
    return [fault.kind for fault in renderer.preflight(prompt, stops)]


def test_a_chat_is_rendered_by_the_models_own_template(make):
    renderer = Renderer(make.tokenizer(template=make.chatml))

    assert renderer.shown(QUESTION) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert kinds(renderer) == []


def test_started_answer_is_continued(make):
    renderer = Renderer(make.tokenizer(template=make.chatml))
    prompt = Prompt((Message.of("user", "Why?"), Message.of("assistant", "Because")))

    assert renderer.shown(prompt).endswith("<|im_start|>assistant\nBecause")


def test_base_model_gets_one_question_unchanged_and_turns_with_role_names(make):
    renderer = Renderer(make.tokenizer())

    assert renderer.text(Prompt((Message.of("user", "Why?"),))) == "Why?"
    assert renderer.text(QUESTION) == "System: Be brief.\n\nUser: Why?\nAssistant:"


def test_completion_has_one_beginning_of_text_token(make):
    renderer = Renderer(make.tokenizer(adds_bos=True))

    plain = renderer.encode(Prompt((Message.of("", "abc"),)))
    written = renderer.encode(Prompt((Message.of("", "<s>abc"),)))

    assert plain == written
    assert plain.count(256) == 1


def test_two_beginning_of_text_tokens_are_a_fault(make):
    renderer = Renderer(make.tokenizer(template="<s><s>" + make.chatml, adds_bos=True))

    assert kinds(renderer) == ["double_bos"]


def test_template_without_the_beginning_of_text_token_is_a_fault(make):
    renderer = Renderer(make.tokenizer(template=make.chatml, adds_bos=True))

    [fault] = renderer.preflight(QUESTION)

    assert fault.kind == "missing_bos"
    assert (
        str(fault)
        == "the tokenizer begins texts with '<s>' and the chat template does not write it"
    )


def test_a_stop_string_that_the_template_writes_is_a_fault(make):
    renderer = Renderer(make.tokenizer(template=make.chatml))

    assert kinds(renderer, stops=("assistant", "\n", "###")) == ["stop_in_template"]


def test_end_of_turn_token_as_a_stop_string_is_not_a_fault(
    make,
):
    renderer = Renderer(make.tokenizer(template=make.chatml))

    assert kinds(renderer, stops=("<|im_end|>", "</s>", "Question:")) == []
    assert kinds(renderer, stops=("<|im_start|>",)) == ["stop_in_template"]
    assert kinds(renderer, stops=("<",)) == ["stop_in_template"]


def test_template_text_before_the_answer_is_a_fault_as_a_stop_string(make):
    template = (
        "{% for m in messages %}{{ 'Question: ' if m.role == 'user' else 'Answer: ' }}{{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}Answer: {% endif %}"
    )
    renderer = Renderer(make.tokenizer(template=template))

    assert kinds(renderer, stops=("Answer:",)) == ["stop_in_template"]
    assert kinds(renderer, stops=("Question:",)) == []


def test_turns_that_run_into_each_other_are_a_fault(make):
    template = "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}A:{% endif %}"

    assert kinds(Renderer(make.tokenizer(template=template))) == ["unclosed_turn"]


@pytest.mark.parametrize("between", ["", "\n"])
@pytest.mark.parametrize("beginning", ["", "<s>", "{{ 'You help.' }}"])
def test_a_turn_that_begins_before_the_last_was_closed_is_a_fault(
    make, between, beginning
):
    template = beginning + make.chatml.replace("<|im_end|>\n", between)

    [fault] = Renderer(make.tokenizer(template=template)).preflight(QUESTION)

    assert fault.kind == "unclosed_turn"


def test_an_unclosed_turn_is_reported_with_the_marker_after_it(make):
    unclosed = make.chatml.replace("<|im_end|>", "")

    [fault] = Renderer(make.tokenizer(template=unclosed)).preflight(QUESTION)

    assert (
        str(fault)
        == "the chat template closes no turn: the next one begins with '<|im_start|>' at once"
    )


RUN_ON = {
    "names of roles": "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}{% if add_generation_prompt %}"
    "assistant:{% endif %}",
    "a newline that Jinja takes": "{% for m in messages %}{{ m.role }}: {% if true %}{{ m.content }}{% endif %}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
    "headings": "{% for m in messages %}### {{ m.role }}:\n{{ m.content }}{% endfor %}{% if add_generation_prompt %}"
    "### assistant:\n{% endif %}",
}


@pytest.mark.parametrize("name", RUN_ON)
def test_role_name_directly_after_text_is_a_fault(make, name):
    [fault] = Renderer(make.tokenizer(template=RUN_ON[name])).preflight(QUESTION)

    assert fault.kind == "unclosed_turn"
    assert (
        str(fault)
        == "the chat template closes no turn: the name of the next one follows its words at once"
    )


def test_template_that_ignores_add_generation_prompt_is_a_fault(make):
    template = make.chatml.partition("{% if add")[0]
    renderer = Renderer(make.tokenizer(template=template))

    assert renderer.shown(QUESTION).endswith("Why?<|im_end|>\n")
    assert kinds(renderer) == ["no_turn"]


TURNS = {
    "thoughts before an answer that was given": CHATML.replace(
        "{{ m.content }}",
        "{{ '<think></think>' if m.role == 'assistant' }}{{ m.content }}",
    ),
    "thoughts that are begun": CHATML.replace(
        "assistant\n{% endif %}", "assistant\n<think>\n{% endif %}"
    ),
    "a turn that is always opened": CHATML.partition("{% if add")[0]
    + "<|im_start|>assistant\n",
    "a blank before the answer": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{{ '' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}",
    "a system turn of its own": "<|im_start|>system\nHelp.<|im_end|>\n" + CHATML,
    "closed by the next role": "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}<|assistant|>\n",
    "words": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n\n{% endfor %}assistant:",
}


@pytest.mark.parametrize("name", TURNS)
def test_turns_that_are_closed_are_not_a_fault(make, name):
    assert kinds(Renderer(make.tokenizer(template=TURNS[name]))) == []


def test_a_template_that_opens_no_turn_for_the_model_is_a_fault(make):
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}"

    assert kinds(Renderer(make.tokenizer(template=template + "[assistant]"))) == []
    assert kinds(Renderer(make.tokenizer(template=template))) == ["no_turn"]
    bare = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    assert kinds(Renderer(make.tokenizer(template=bare))) == ["no_turn"]


def test_token_that_closes_an_answer_in_the_template_ends_the_answer(make):
    tokenizer = make.tokenizer(template=make.chatml)

    assert Renderer(tokenizer).turn_ends() == {
        tokenizer.convert_tokens_to_ids("<|im_end|>")
    }


def test_a_template_that_refuses_a_role_is_one_clear_error(make):
    template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}x"
    renderer = Renderer(make.tokenizer(template=template), where="tiny")

    with pytest.raises(
        TemplateError,
        match="tiny: the chat template refuses these messages: no system turn",
    ):
        renderer.encode(QUESTION)


def test_templates_beside_the_tokenizer_are_found(make, tmp_path):
    (tmp_path / "chat_template.json").write_text(
        json.dumps({"chat_template": "from json"})
    )
    assert template_in(tmp_path) == "from json"

    (tmp_path / "chat_template.jinja").write_text("from jinja")
    assert template_in(tmp_path) == "from jinja"


def test_a_template_may_be_given_as_text_or_as_a_file(tmp_path):
    (tmp_path / "own.jinja").write_text("{{ messages[0].content }}!")
    (tmp_path / "own.json").write_text(
        json.dumps({"chat_template": "{{ messages[0].content }}?"})
    )

    assert given_template(None, "tiny") is None
    assert given_template("{{ x }}", "tiny") == "{{ x }}"
    assert (
        given_template(str(tmp_path / "own.jinja"), "tiny")
        == "{{ messages[0].content }}!"
    )
    assert (
        given_template(str(tmp_path / "own.json"), "tiny")
        == "{{ messages[0].content }}?"
    )


def test_a_template_that_is_neither_is_one_clear_error(tmp_path):
    (tmp_path / "words.txt").write_text("no template")

    with pytest.raises(
        UsageError,
        match=r"tiny: chat_template='nofile.jinja' is not a Jinja text, and no file .*; fix: ",
    ):
        given_template("nofile.jinja", "tiny")
    with pytest.raises(
        UsageError, match="nor does the file of that name hold any; fix: check the path"
    ):
        given_template(str(tmp_path / "words.txt"), "tiny")
    with pytest.raises(UsageError, match="no file to read it from"):
        given_template("word " * 500, "tiny")


def test_chat_template_option_can_be_a_file(llama_folder, tmp_path):
    from assay.models.local_transformers import LocalTransformers

    file = tmp_path / "own.jinja"
    file.write_text("{{ messages[-1].content }}!")
    model = LocalTransformers(str(llama_folder), chat_template=str(file))

    assert model.shown(QUESTION) == "Why?!"
    assert model.identity["chat_template"] == "{{ messages[-1].content }}!"
    with pytest.raises(
        UsageError, match=r"chat_template='nofile\.jinja' is not a Jinja text"
    ):
        LocalTransformers(str(llama_folder), chat_template="nofile.jinja")


def test_a_model_shows_its_prompt_and_its_faults_without_its_weights(llama):
    assert llama.shown(QUESTION).endswith("<|im_start|>assistant\n")
    assert llama.preflight(QUESTION) == []
    assert llama._loaded is None
