"""Conversations of our own, and the testbed's model families over a tokenizer of one token a character."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

Load = Callable[[str], Any]
Case = Callable[[Load], Any]

IMAGE = {"type": "image"}


def text(*words: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": word} for word in words]


def visual(
    shots: int, *, head: Mapping[str, Any] | None = None, answer: str = "answer"
) -> list[dict[str, Any]]:
    """Rounds of an image, a question and an answer; the last one is open."""
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns += [
            {"role": "image", "content": [IMAGE]},
            {"role": "question", "content": text(f"q{at}")},
        ]
        turns.append(
            {"role": answer, "content": text(f"a{at}")}
            if at <= shots
            else {"role": answer}
        )
    return turns


def caption(
    shots: int, *, head: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns.append({"role": "image", "content": [IMAGE]})
        turns.append(
            {"role": "caption", "content": text(f"c{at}")}
            if at <= shots
            else {"role": "caption"}
        )
    return turns


def chat(
    shots: int,
    *,
    head: Mapping[str, Any] | None = None,
    form: Callable[[str], Any] = str,
) -> list[Any]:
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns.append({"role": "user", "content": form(f"q{at}")})
        turns.append(
            {"role": "assistant", "content": form(f"a{at}")}
            if at <= shots
            else {"role": "assistant"}
        )
    return turns


HEADS = {
    "instruction": {"role": "instruction", "content": "Be brief."},
    "system": {"role": "system", "content": "Be brief."},
    "upper_system": {"role": "SYSTEM", "content": "Be brief.\nTwo lines."},
    "capital_instruction": {"role": "Instruction", "content": ""},
}

CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "vqa_0shot": visual(0),
    "vqa_1shot": visual(1),
    "vqa_3shot": visual(3),
    **{f"vqa_1shot_{name}": visual(1, head=head) for name, head in HEADS.items()},
    "caption_0shot": caption(0),
    "caption_2shot": caption(2),
    "caption_2shot_instruction": caption(2, head=HEADS["instruction"]),
    "seed_bench": [
        {"role": "image", "content": [IMAGE, IMAGE]},
        {"role": "question", "content": text("How many?")},
        {
            "role": "choices",
            "content": text("A. one B. two", "Answer with the letter."),
        },
        {"role": "answer"},
    ],
    "chat_lists": chat(2, form=text),
    "chat_lists_system": chat(1, head=HEADS["system"], form=text),
    "image_after_text": [
        {"role": "user", "content": [*text("What is it?"), IMAGE]},
        {"role": "assistant", "content": text("A dog.")},
        {"role": "user", "content": [IMAGE, *text("And this?")]},
        {"role": "assistant"},
    ],
    "text_image_text": [
        {"role": "user", "content": [*text("one"), IMAGE, *text("two", "three")]},
        {"role": "assistant"},
    ],
    "empty_role": [
        {"role": "", "content": [IMAGE]},
        {"role": "", "content": text("plain text")},
        {"role": "answer"},
    ],
    "empty_role_open": [{"role": "user", "content": text("hi")}, {"role": ""}],
    "placeholder_in_the_middle": [
        {"role": "question", "content": text("q1")},
        {"role": "answer"},
        {"role": "question", "content": text("q2")},
        {"role": "answer", "content": text("a2")},
    ],
    "two_open": [
        {"role": "question", "content": text("q1")},
        {"role": "answer"},
        {"role": "reason"},
    ],
    "ends_with_user": [
        {"role": "user", "content": text("q1")},
        {"role": "assistant", "content": text("a1")},
        {"role": "user", "content": text("q2")},
    ],
    "one_question": [{"role": "user", "content": text("q1")}],
    "all_closed": [
        {"role": "user", "content": text("q1")},
        {"role": "assistant", "content": text("a1")},
    ],
    "only_open": [{"role": "assistant"}],
    "one_role": [
        {"role": "user", "content": text("a")},
        {"role": "user", "content": text("b")},
    ],
    "unicode": [
        {"role": "Frage", "content": text("Wie heißt das? 图像 🙂")},
        {"role": "ANTWORT"},
    ],
    "empty_text": [
        {"role": "user", "content": text("")},
        {"role": "assistant", "content": text("x")},
    ],
    "blank_and_newline": [
        {"role": "user", "content": text(" a\nb ")},
        {"role": "assistant"},
    ],
    "html": [{"role": "user", "content": text("<b>&amp;'\"")}, {"role": "assistant"}],
    "empty_list": [{"role": "user", "content": []}, {"role": "assistant"}],
    "unknown_part": [
        {"role": "user", "content": [{"type": "video"}, *text("x")]},
        {"role": "assistant"},
    ],
    "multiword_role": [
        {"role": "the user", "content": text("x")},
        {"role": "the model"},
    ],
}

TEXT_CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "chat_0shot": chat(0),
    "chat_1shot": chat(1),
    "chat_3shot": chat(3),
    **{f"chat_1shot_{name}": chat(1, head=head) for name, head in HEADS.items()},
    "empty_role_text": [{"role": "", "content": "plain"}, {"role": "answer"}],
    "placeholder_in_the_middle_text": [
        {"role": "question", "content": "q1"},
        {"role": "answer"},
        {"role": "question", "content": "q2"},
        {"role": "answer", "content": "a2"},
    ],
    "ends_with_user_text": [
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "q2"},
    ],
    "one_question_text": [{"role": "user", "content": "q1"}],
    "three_roles": [
        {"role": "text", "content": "t1"},
        {"role": "question", "content": "q1"},
        {"role": "label", "content": "l1"},
        {"role": "text", "content": "t2"},
        {"role": "question", "content": "q2"},
        {"role": "label"},
    ],
    "unicode_text": [
        {"role": "user", "content": "Straße 图像 🙂"},
        {"role": "assistant"},
    ],
    "empty_content": [{"role": "user", "content": ""}, {"role": "assistant"}],
    "lines": [{"role": "user", "content": " a\n\nb "}, {"role": "assistant"}],
    "number_label": [
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": 3},
        {"role": "user", "content": "q2"},
        {"role": "assistant"},
    ],
}

FAMILIES: dict[str, tuple[str, str, str]] = {
    "idefics-9b": ("testbed.models", "Idefics", "lists"),
    "idefics-9b-instruct": ("testbed.models", "Idefics", "lists"),
    "llava-1.5-7b-hf": ("testbed.models", "LLaVa", "lists"),
    "bakLlava-v1-hf": ("testbed.models", "LLaVa", "lists"),
    "llava-interleave-qwen-0.5b-hf": ("testbed.models", "LLaVa", "lists"),
    "llava-interleave-qwen-7b-dpo-hf": ("testbed.models", "LLaVa", "lists"),
    "my-llava": ("testbed.models", "LLaVa", "lists"),
    "idefics2-8b": ("testbed.models", "Idefics2", "lists"),
    "idefics2-8b-base": ("testbed.models", "Idefics2", "lists"),
    "idefics2-8b-chatty": ("testbed.models", "Idefics2", "lists"),
    "Qwen2-7B": ("testbed.models.qwen2", "Qwen2", "texts"),
    "Qwen1.5-7B-Chat": ("testbed.models.qwen2", "Qwen2", "texts"),
    "Qwen2.5-7B-Instruct": ("testbed.models.qwen2", "Qwen2", "texts"),
    "Mistral-7B": ("testbed.models", "Mistral", "texts"),
}

OWN_TEMPLATE = (
    "{% for m in messages %}<OWN {{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<OWN assistant>{% endif %}"
)


def tokenizer(template: str | None = OWN_TEMPLATE) -> Any:
    """One token a character, and the special tokens of the families."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for code in [10, *range(32, 127)]:
        vocabulary[chr(code)] = len(vocabulary)
    bare = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
    )
    special = [
        "<fake_token_around_image>",
        "<image>",
        "<end_of_utterance>",
        "<|im_start|>",
        "<|im_end|>",
    ]
    made.add_special_tokens({"additional_special_tokens": special})
    made.chat_template = template
    made.model_input_names = ["input_ids", "attention_mask"]
    return made


def net() -> Any:
    """A module with two layers, and a configuration with what the families read of it."""
    import torch

    class Layer(torch.nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(float(factor)))

        def forward(self, states):
            scaled = states * self.factor
            shifted = scaled + 1
            return shifted

    class Net(torch.nn.Module):
        config = SimpleNamespace(
            vision_config=SimpleNamespace(patch_size=14),
            vision_feature_select_strategy="default",
        )
        device = torch.device("cpu")
        dtype = torch.float32

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([Layer(2), Layer(3)])

        @classmethod
        def from_pretrained(cls, *_: Any, **__: Any) -> Any:
            return cls()

        def forward(self, states):
            for layer in self.layers:
                states = layer(states)
            return states

    return Net


def given(thing: Any) -> Any:
    """A class whose `from_pretrained` gives a thing."""
    return type(
        "AutoGiven", (), {"from_pretrained": classmethod(lambda cls, *a, **k: thing)}
    )


def family(
    load: Load, root: str, processor: Any = None, template: str | None = OWN_TEMPLATE
) -> Any:
    module, name, _ = FAMILIES[root]
    made = tokenizer(template) if processor is None else processor
    return getattr(load(module), name)(
        f"weights/{root}", processor_class=given(made), model_class=net()
    )


def raised(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return f"raises {type(error).__name__}"


def repaired_template(root: str, template: str) -> str:
    right = template.replace("outterance", "utterance")
    return right.replace("<end_of_utterance>", "") if root.endswith("-base") else right
