"""`testbed.models`: users' subclasses, prompt templates, and the families that ship, with stand-ins for weights."""

import pytest

from assay.core import Image, Message, Prompt, Request, UsageError
from assay.core.request import GenerateOptions
from assay.dialects.testbed import model
from assay.dialects.testbed.model_families import (
    Idefics,
    Idefics2,
    LLaVa,
    Mistral,
    Qwen2,
)
from assay.dialects.testbed.testbed_loading import guest_for

VISUAL = [
    {"role": "image", "content": [{"type": "image"}]},
    {"role": "question", "content": [{"type": "text", "text": "q1"}]},
    {"role": "answer", "content": [{"type": "text", "text": "a1"}]},
    {"role": "image", "content": [{"type": "image"}]},
    {"role": "question", "content": [{"type": "text", "text": "q2"}]},
    {"role": "answer"},
]
CHAT = [
    {"role": "user", "content": "q1"},
    {"role": "assistant", "content": "a1"},
    {"role": "user", "content": "q2"},
    {"role": "assistant"},
]


@pytest.fixture
def kinds(stand_in_file):
    return guest_for(stand_in_file).load(stand_in_file)


@pytest.fixture
def mine(kinds):
    return kinds.Mine()


def built(family, kinds, root):
    return family(root, processor_class=kinds.Processor, model_class=kinds.Net)


def plain(conversation):
    """The same conversation with texts in place of lists of one text."""
    return [
        {**turn, "content": turn["content"][0]["text"]}
        if "content" in turn and "text" in turn["content"][0]
        else turn
        for turn in conversation
    ]


@pytest.mark.parametrize("form", [list, plain])
@pytest.mark.parametrize(
    ("family", "root", "expected"),
    [
        (
            Idefics,
            "idefics-9b",
            "Image:<image> Question: q1 Answer: a1\nImage:<image> Question: q2 Answer:",
        ),
        (
            Idefics2,
            "idefics2-8b",
            "Image:<image><end_of_utterance>\nQuestion: q1<end_of_utterance>\nAnswer: a1<end_of_utterance>\n"
            "Image:<image><end_of_utterance>\nQuestion: q2<end_of_utterance>\nAnswer:",
        ),
        (
            Idefics2,
            "idefics2-8b-base",
            "Image:<image>\nQuestion: q1\nAnswer: a1\nImage:<image>\nQuestion: q2\nAnswer:",
        ),
        (
            LLaVa,
            "llava-1.5-7b-hf",
            "IMAGE: <image>\nQUESTION: q1 ANSWER: a1 IMAGE: <image>\nQUESTION: q2 ANSWER:",
        ),
        (
            LLaVa,
            "llava-interleave-qwen-7b-hf",
            "<|im_start|>image\n<image><|im_end|>\n<|im_start|>question\n\nq1<|im_end|>\n"
            "<|im_start|>answer\n\na1<|im_end|>\n<|im_start|>image\n<image><|im_end|>\n"
            "<|im_start|>question\n\nq2<|im_end|>\n<|im_start|>answer\n",
        ),
    ],
)
def test_visual_families_render_one_shot_in_either_form_of_content(
    kinds, family, root, expected, form
):
    assert built(family, kinds, root).apply_prompt_template(form(VISUAL)) == expected


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (
            Qwen2,
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nq1<|im_end|>\n"
            "<|im_start|>assistant\na1<|im_end|>\n<|im_start|>user\nq2<|im_end|>\n<|im_start|>assistant\n",
        ),
        (Mistral, "User: q1\nAssistant: a1\nUser: q2\nAssistant:"),
    ],
)
def test_text_families_render_texts_and_lists_of_texts_alike(kinds, family, expected):
    model = built(family, kinds, "Qwen2-7B")
    as_lists = [
        {**turn, "content": [{"type": "text", "text": turn["content"]}]}
        if "content" in turn
        else turn
        for turn in CHAT
    ]

    assert model.apply_prompt_template(CHAT) == expected
    assert model.apply_prompt_template(as_lists) == expected


def test_an_instruction_is_a_header(kinds):
    conversation = [{"role": "instruction", "content": "Be brief."}, *CHAT]

    assert (
        built(Mistral, kinds, "any")
        .apply_prompt_template(conversation)
        .startswith("Instruction: Be brief.\nUser:")
    )
    assert (
        built(Qwen2, kinds, "Qwen2-7B")
        .apply_prompt_template(conversation)
        .startswith(
            "<|im_start|>instruction\nBe brief.<|im_end|>\n<|im_start|>user\nq1"
        )
    )


def test_the_prompt_template_is_the_argument_then_the_models_own_then_the_default(mine):
    assert mine.apply_prompt_template(CHAT).startswith("<|user|>q1<|end|>")
    mine.prompt_template = "own{{ messages|length }}"
    assert mine.apply_prompt_template(CHAT) == "own4"
    assert mine.apply_prompt_template(CHAT, prompt_template="given") == "given"


def test_the_documents_misspelling_is_the_same_method(mine, stand_in_file):
    assert mine.apply_prompt_tempalte(CHAT) == mine.apply_prompt_template(CHAT)


def test_a_subclass_that_overrides_the_misspelling_is_heard(kinds):
    class Odd(kinds.Mine):
        def apply_prompt_tempalte(self, conversation, **options):
            return ["odd"] * len(conversation)

    odd = Odd()
    odd.generate([CHAT])

    assert odd.processor.text == ["odd"]


def test_a_list_of_conversations_gives_a_list_of_prompts(mine):
    assert mine.apply_prompt_template([CHAT, CHAT[2:]]) == [
        mine.apply_prompt_template(CHAT),
        "<|user|>q2<|end|><|assistant|>",
    ]


def test_an_open_message_in_the_middle_is_moved_to_the_very_end(mine):
    conversation = [
        {"role": "user", "content": "q"},
        {"role": "answer"},
        {"role": "hint", "content": "h"},
    ]

    assert (
        mine.apply_prompt_template(conversation)
        == "<|user|>q<|end|><|hint|>h<|end|><|answer|>"
    )


@pytest.mark.parametrize(
    ("conversation", "speaker"),
    [
        ([{"role": "user", "content": "q"}], "assistant"),
        (
            [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a"},
                {"role": "user", "content": "q"},
            ],
            "assistant",
        ),
        (
            [
                {"role": "Q", "content": "q"},
                {"role": "A", "content": "a"},
                {"role": "Q", "content": "q"},
            ],
            "A",
        ),
    ],
)
def test_the_generation_prompt_uses_the_role_that_ended_the_rounds_else_the_assistant(
    mine, conversation, speaker
):
    assert mine.apply_prompt_template(
        conversation, add_generation_prompt=True
    ).endswith(f"q<|end|><|{speaker}|>")


def test_the_generation_prompt_is_not_written_twice_after_an_open_message(mine):
    assert mine.apply_prompt_template(
        CHAT, add_generation_prompt=True
    ) == mine.apply_prompt_template(CHAT)


def test_a_users_template_for_lists_of_parts_renders_texts_too(mine):
    mine.prompt_template = (
        "{% for message in messages %}{{ message['role'] }}: {% if 'content' in message %}"
        "{% for line in message['content'] %}{{ line['text'] }}\n{% endfor %}{% endif %}{% endfor %}"
    )

    assert (
        mine.apply_prompt_template(CHAT)
        == "user: q1\nassistant: a1\nuser: q2\nassistant: "
    )


def test_a_users_template_for_texts_renders_lists_of_parts_too(mine):
    said = "{{ ' ' + m['content'] if m.content }}"
    mine.prompt_template = (
        "{% for m in messages %}{{ '[' + m['role'] + ']' }}" + said + "{% endfor %}"
    )
    conversation = [
        {"role": "a", "content": [{"type": "text", "text": "one"}]},
        {"role": "b"},
    ]

    assert mine.apply_prompt_template(conversation) == "[a] one[b]"


def test_generate_takes_images_and_text_or_text_alone(mine):
    assert mine.generate([CHAT]) == ["yes"]
    assert mine.processor.images is None
    assert mine.generate([["picture"]], [CHAT]) == ["yes"]
    assert mine.processor.images == [["picture"]]
    assert mine.generate("a prompt that is text already") == ["yes"]
    assert mine.processor.text == "a prompt that is text already"


def test_a_process_input_that_insists_on_images_still_takes_text_alone(kinds):
    class Strict(kinds.Mine):
        def process_input(self, images, text, prompt_template=None, **options):
            self.seen = images
            return super().process_input(images, text, prompt_template, **options)

    strict = Strict()

    assert strict.generate([CHAT]) == ["yes"]
    assert strict.seen is None


def test_generate_can_return_inputs_and_ids(mine):
    made = mine.generate(
        [CHAT], return_inputs=True, return_generated_ids=True, max_new_tokens=3
    )

    assert made["outputs"] == ["yes"]
    assert made["generated_ids"].shape == (1, 3)
    assert "input_ids" in made["inputs"]
    assert mine.model.given == {"max_new_tokens": 3}


def test_remote_code_runs_only_if_the_user_says_so(kinds):
    assert kinds.Mine().model.options == {"trust_remote_code": False}
    assert kinds.Mine(trust_remote_code=True).model.options == {
        "trust_remote_code": True
    }


def test_a_model_that_a_family_does_not_know_is_warned_about(kinds):
    with pytest.warns(UserWarning, match="'other' is none of llava-1.5-7b-hf"):
        built(LLaVa, kinds, "weights/other")


def test_idefics_refuses_a_prompt_with_more_places_than_images(kinds):
    idefics = built(Idefics, kinds, "idefics-9b")

    with pytest.raises(ValueError, match="prompt 0 has 2 places for 1 images"):
        idefics.generate([["one"]], [VISUAL])


def test_llava_gets_the_images_of_a_batch_in_one_list(kinds):
    llava = built(LLaVa, kinds, "llava-1.5-7b-hf")
    llava.generate([["one", "two"], ["three", "four"]], [VISUAL, VISUAL])

    assert llava.processor.images == ["one", "two", "three", "four"]


def request(*messages, **options):
    return Request(Prompt(messages), GenerateOptions().set(**options))


def test_a_model_file_is_asked_in_batches_with_images_decoded(tmp_path, stand_in_file):
    from PIL import Image as pillow

    pillow.new("RGB", (3, 2)).save(tmp_path / "a.png")
    adapted = model(f"{stand_in_file}:Mine", {})
    asked = Message.of("user", Image(tmp_path / "a.png"), "what is it?")

    (output,) = adapted.generate(
        [request(asked, Message("assistant"), max_tokens=4, temperature=0.0, n=2)]
    )

    assert [candidate.text for candidate in output.candidates] == ["yes", "yes"]
    built_model = adapted._builder.built.model
    assert built_model.processor.images[0][0].size == (3, 2)
    assert built_model.model.given == {
        "max_new_tokens": 4,
        "num_return_sequences": 2,
        "do_sample": False,
    }


def test_a_file_with_one_model_needs_no_name_and_one_without_is_none(
    tmp_path, stand_in_file, parity_file
):
    assert model(str(stand_in_file), {}).identity["testbed"] == "Mine"
    assert model(str(parity_file), {}) is None


def test_weights_are_not_read_before_the_model_is_asked(tmp_path, stand_in_file):
    path = tmp_path / "loud.py"
    path.write_text(
        stand_in_file.read_text().replace(
            "def __init__(self, model_root", "def __init__(self, *, model_root"
        )
        + "\n\nclass Loud(Mine):\n    def __init__(self, model_root='x'):\n        raise OSError('no weights here')\n"
    )

    adapted = model(f"{path}:Loud", {})

    with pytest.raises(Exception, match=r"could not be built.*no weights here"):
        adapted.load()


def test_an_unknown_option_of_a_model_is_refused_before_it_is_built(
    tmp_path, stand_in_file
):
    takes_any, takes_one = (
        ", **options):\n        super()",
        "):\n        options = {}\n        super()",
    )
    stand_in_file.write_text(stand_in_file.read_text().replace(takes_any, takes_one))

    with pytest.raises(
        UsageError, match=r"has no option 'model_rot'.*did you mean 'model_root'"
    ):
        model(f"{stand_in_file}:Mine", {"model_rot": "x"})


def test_a_processor_with_a_chat_template_of_its_own_gets_no_open_message(kinds):
    from assay.dialects.testbed.testbed_model_bases import ModelBase

    class Official(kinds.Processor):
        def apply_chat_template(
            self, messages, tokenize, add_generation_prompt=False, **options
        ):
            return (
                "".join(f"[{m['role']}]{m['content']}" for m in messages)
                + "[assistant]" * add_generation_prompt
            )

    assert (
        ModelBase("x", Official, kinds.Net).apply_prompt_template(CHAT)
        == "[user]q1[assistant]a1[user]q2[assistant]"
    )


def test_a_model_that_returns_too_few_texts_is_named(tmp_path, stand_in_file):
    path = tmp_path / "short.py"
    path.write_text(
        stand_in_file.read_text()
        + "\n\nclass Short(Mine):\n    def generate(self, *inputs, **options):\n        return []\n"
    )

    (output,) = model(f"{path}:Short", {}).generate([request(Message.of("user", "hi"))])

    assert output.error is not None
    assert "generate was given 1 prompts and returned 0 texts" in output.error.message


BOOLS = "{% for m in messages %}{{ m['role'] }}:{% if 'content' in m %}{% for part in m['content'] %}{{ part['text'] }}{% endfor %};{% endif %}{% endfor %}"  # noqa: E501


@pytest.mark.parametrize("label", [True, False, 0, 3, 1.5, "True"])
def test_a_label_that_is_no_text_is_written_by_a_template_for_lists_of_parts(
    mine, label
):
    shown = [{"role": "q", "content": "1"}, {"role": "a", "content": label}]
    turns = [*shown, {"role": "q", "content": "2"}, {"role": "a"}]

    assert (
        mine.apply_prompt_template(turns, prompt_template=BOOLS)
        == f"q:1;a:{label};q:2;a:"
    )


@pytest.mark.parametrize("label", [True, 0, 3])
def test_a_label_that_is_no_text_is_written_by_a_family_for_texts(kinds, label):
    turns = [{"role": "user", "content": "1"}, {"role": "assistant", "content": label}]

    assert (
        built(Mistral, kinds, "any").apply_prompt_template(turns)
        == f"User: 1\nAssistant: {label}\n"
    )


def test_what_no_form_of_content_renders_is_the_templates_own_error(mine):
    with pytest.raises(Exception, match="no such thing"):
        mine.apply_prompt_template(
            CHAT, prompt_template="{{ raise_exception('no such thing') }}"
        )


def test_texts_and_lists_in_one_conversation_are_both_rendered(kinds):
    turns = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "What?"}, {"type": "image"}],
        },
        {"role": "assistant", "content": "A dog."},
        {
            "role": "user",
            "content": [{"type": "image"}, {"type": "text", "text": "And this?"}],
        },
        {"role": "assistant"},
    ]

    made = built(Idefics, kinds, "idefics-9b").apply_prompt_template(turns)

    assert (
        made
        == "User: What? <image> Assistant: A dog.\nUser:<image> And this? Assistant:"
    )


def test_a_name_outside_the_list_speaks_the_models_own_template_with_a_warning(kinds):
    class Own(kinds.Processor):
        chat_template = (
            "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
        )

        def get_chat_template(self):
            return self.chat_template

    model = Qwen2("w/Qwen2.5-7B", processor_class=Own, model_class=kinds.Net)

    with pytest.warns(
        UserWarning,
        match=r"'Qwen2.5-7B' is none of Qwen2-… and Qwen1.5-…: its own chat template",
    ):
        assert model.apply_prompt_template(CHAT[:1]) == "<user>q1"
    model.model_name = "Qwen2-7B"
    assert model.apply_prompt_template(CHAT[:1]).startswith("<|im_start|>system")


def test_idefics_is_given_texts_and_images_in_turn(kinds):
    class Pieces(kinds.Processor):
        def __call__(self, text, padding, return_tensors):
            return text

    model = Idefics("w/idefics-9b", processor_class=Pieces, model_class=kinds.Net)

    assert model.process_input([["one", "two"]], [VISUAL]) == [
        [
            "Image:",
            "one",
            " Question: q1 Answer: a1\nImage:",
            "two",
            " Question: q2 Answer:",
        ]
    ]
    assert model.process_input("Only words") == [["Only words"]]
    with pytest.raises(ValueError, match="prompt 0 has 2 places for 1 images"):
        model.process_input([["one"]], [VISUAL])


def test_llava_counts_image_tokens_by_what_its_configuration_says(kinds):
    from types import SimpleNamespace

    class Net(kinds.Net):
        config = SimpleNamespace(
            vision_config=SimpleNamespace(patch_size=14),
            vision_feature_select_strategy="full",
        )

    model = LLaVa("w/llava-1.5-7b-hf", processor_class=kinds.Processor, model_class=Net)

    assert (
        model.processor.patch_size,
        model.processor.vision_feature_select_strategy,
    ) == (14, "full")
