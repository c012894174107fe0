"""Inputs of our own for everything user code sees of the testbed, and how one is put to whichever `testbed` is there.

`tools/guest_fixtures_testbed.py` runs them through upstream's own code and keeps what came out; the tests run them
through ours. `load` imports a module by the name upstream gives it, so neither side knows which of the two it drives.
"""

import copy
import hashlib
import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

Load = Callable[[str], Any]
Case = Callable[[Load], Any]

IMAGE = {"type": "image"}


def text(*words: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": word} for word in words]


def visual(shots: int, *, head: Mapping[str, Any] | None = None, answer: str = "answer") -> list[dict[str, Any]]:
    """Rounds of an image, a question and an answer; the last one is open."""
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns += [{"role": "image", "content": [IMAGE]}, {"role": "question", "content": text(f"q{at}")}]
        turns.append({"role": answer, "content": text(f"a{at}")} if at <= shots else {"role": answer})
    return turns


def caption(shots: int, *, head: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns.append({"role": "image", "content": [IMAGE]})
        turns.append({"role": "caption", "content": text(f"c{at}")} if at <= shots else {"role": "caption"})
    return turns


def chat(shots: int, *, head: Mapping[str, Any] | None = None, form: Callable[[str], Any] = str) -> list[Any]:
    turns: list[dict[str, Any]] = [dict(head)] if head is not None else []
    for at in range(1, shots + 2):
        turns.append({"role": "user", "content": form(f"q{at}")})
        turns.append({"role": "assistant", "content": form(f"a{at}")} if at <= shots else {"role": "assistant"})
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
        {"role": "choices", "content": text("A. one B. two", "Answer with the letter.")},
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
    "two_open": [{"role": "question", "content": text("q1")}, {"role": "answer"}, {"role": "reason"}],
    "ends_with_user": [
        {"role": "user", "content": text("q1")},
        {"role": "assistant", "content": text("a1")},
        {"role": "user", "content": text("q2")},
    ],
    "one_question": [{"role": "user", "content": text("q1")}],
    "all_closed": [{"role": "user", "content": text("q1")}, {"role": "assistant", "content": text("a1")}],
    "only_open": [{"role": "assistant"}],
    "one_role": [{"role": "user", "content": text("a")}, {"role": "user", "content": text("b")}],
    "unicode": [{"role": "Frage", "content": text("Wie heißt das? 图像 🙂")}, {"role": "ANTWORT"}],
    "empty_text": [{"role": "user", "content": text("")}, {"role": "assistant", "content": text("x")}],
    "blank_and_newline": [{"role": "user", "content": text(" a\nb ")}, {"role": "assistant"}],
    "html": [{"role": "user", "content": text("<b>&amp;'\"")}, {"role": "assistant"}],
    "empty_list": [{"role": "user", "content": []}, {"role": "assistant"}],
    "unknown_part": [{"role": "user", "content": [{"type": "video"}, *text("x")]}, {"role": "assistant"}],
    "multiword_role": [{"role": "the user", "content": text("x")}, {"role": "the model"}],
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
    "unicode_text": [{"role": "user", "content": "Straße 图像 🙂"}, {"role": "assistant"}],
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
        tokenizer_object=bare, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )
    special = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<|im_start|>", "<|im_end|>"]
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
        config = SimpleNamespace(vision_config=SimpleNamespace(patch_size=14), vision_feature_select_strategy="default")
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
    return type("AutoGiven", (), {"from_pretrained": classmethod(lambda cls, *a, **k: thing)})


def family(load: Load, root: str, processor: Any = None, template: str | None = OWN_TEMPLATE) -> Any:
    module, name, _ = FAMILIES[root]
    made = tokenizer(template) if processor is None else processor
    return getattr(load(module), name)(f"weights/{root}", processor_class=given(made), model_class=net())


def template_case(root: str, conversation: list[Any], **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        return family(load, root).apply_prompt_template(copy.deepcopy(conversation), **kwargs)

    return case


def template_cases() -> Iterator[tuple[str, Case]]:
    for root, (_, _, form) in FAMILIES.items():
        chosen = CONVERSATIONS if form == "lists" else TEXT_CONVERSATIONS
        if root in ("my-llava", "Qwen2.5-7B-Instruct"):  # its own template writes what it is given
            chosen = {name: turns for name, turns in chosen.items() if all("content" in turn for turn in turns)}
        for name, turns in chosen.items():
            yield f"template.{root}.{name}", template_case(root, turns)
        for name in (
            ("vqa_1shot", "ends_with_user", "one_question", "all_closed")
            if form == "lists"
            else ("chat_1shot", "ends_with_user_text", "one_question_text")
        ):
            if name in chosen:
                yield f"template.{root}.{name}.asks", template_case(root, chosen[name], add_generation_prompt=True)
        first = next(iter(chosen.values()))
        yield f"template.{root}.batch", template_case(root, [first, first])
    lists, texts = CONVERSATIONS["vqa_1shot"], TEXT_CONVERSATIONS["chat_1shot"]
    for root, turns in (("idefics-9b", lists), ("Mistral-7B", texts), ("Qwen2-7B", texts)):
        own = "{% for m in messages %}[{{ m.role }}{% if 'content' in m %}|{{ m.content }}{% endif %}]{% endfor %}"
        yield f"template.{root}.argument", template_case(root, turns, prompt_template=own)
        yield f"template.{root}.attribute", attribute_case(root, turns, own)
        if root != "Mistral-7B":
            yield f"template.{root}.tokenized", template_case(root, turns, tokenize=True)
        yield f"template.{root}.raises", template_case(root, turns, prompt_template="{{ raise_exception('no') }}")
    yield "template.llava-1.5-7b-hf.mask", mask_case("llava-1.5-7b-hf")
    yield "template.llava-interleave-qwen-0.5b-hf.mask", mask_case("llava-interleave-qwen-0.5b-hf")


def attribute_case(root: str, turns: list[Any], own: str) -> Case:
    def case(load: Load) -> Any:
        model = family(load, root)
        before = model.prompt_template
        model.prompt_template = own
        return [before, model.apply_prompt_template(turns)]

    return case


def mask_case(root: str) -> Case:
    """Which tokens an assistant said, as `{% generation %}` marks them."""

    def case(load: Load) -> Any:
        made = family(load, root).apply_prompt_template(
            CONVERSATIONS["vqa_1shot"], tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        return [made["input_ids"], made["assistant_masks"]]

    return case


def warned(load: Load, root: str) -> list[str]:
    """What kinds of warnings building a model and asking for its template give."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = family(load, root)
        built = len(seen)
        _ = model.default_prompt_template
    return ["built" for _ in seen[:built]] + ["template" for _ in seen[built:]]


def model_cases() -> Iterator[tuple[str, Case]]:
    for root in FAMILIES:
        yield f"warnings.{root}", lambda load, root=root: warned(load, root)
        yield f"attributes.{root}", lambda load, root=root: attributes(family(load, root))
    yield "supported.idefics2", lambda load: list(load("testbed.models.idefics2").HF_IDEFICS2)
    yield "supported.llava", lambda load: {k: list(v) for k, v in load("testbed.models.llava").HF_LLAVA.items()}
    yield "exported.models", lambda load: [hasattr(load("testbed.models"), n) for n in EXPORTED]
    yield "no_template", lambda load: family(load, "my-llava", template=None).default_prompt_template
    yield "constructor.mistral", constructor_case


EXPORTED = ("Idefics", "Idefics2", "LLaVa", "Mistral", "idefics", "idefics2", "llava", "mistral", "model_base")


def attributes(model: Any) -> Any:
    return [model.model_name, model.prompt_template, str(model.device), model.config is model.model.config]


def constructor_case(load: Load) -> Any:
    """What the processor's and the model's class are given."""
    calls: list[Any] = []

    class AutoThing:
        @classmethod
        def from_pretrained(cls, root: str, **options: Any) -> Any:
            calls.append(["auto", root, sorted(options)])
            return tokenizer()

    class Thing:
        @classmethod
        def from_pretrained(cls, root: str, **options: Any) -> Any:
            calls.append(["plain", root, {k: v for k, v in options.items() if k != "trust_remote_code"}])
            return net()()

    base = load("testbed.models.model_base").ModelBase
    base("a/b", AutoThing, Thing, processor_args={"x": 1}, model_args={"y": 2}, z=3)
    return calls


# -- what processors are given ---------------------------------------------------------------------


def pictures(*colours: str, size: int = 28) -> list[Any]:
    from PIL import Image

    return [Image.new("RGB", (size, size), colour) for colour in colours]


def idefics_processor() -> Any:
    from transformers import IdeficsImageProcessor, IdeficsProcessor

    class AnyTokenizer(IdeficsProcessor):
        def check_argument_for_proper_class(self, *_: Any) -> Any:
            return None

    return AnyTokenizer(IdeficsImageProcessor(image_size=28), tokenizer(None))


def idefics2_processor() -> Any:
    from transformers import Idefics2ImageProcessor, Idefics2Processor

    image = Idefics2ImageProcessor(do_image_splitting=False, size={"shortest_edge": 14, "longest_edge": 28})
    return Idefics2Processor(image, tokenizer(None), image_seq_len=2)


def llava_processor() -> Any:
    from transformers import CLIPImageProcessor, LlavaProcessor

    image = CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    # Saved without `patch_size`, as older snapshots are: the model's configuration knows it.
    return LlavaProcessor(image, tokenizer(None), num_additional_image_tokens=1)


PROCESSORS: dict[str, Callable[[], Any]] = {
    "idefics-9b": idefics_processor,
    "idefics2-8b": idefics2_processor,
    "idefics2-8b-base": idefics2_processor,
    "llava-1.5-7b-hf": llava_processor,
    "llava-interleave-qwen-0.5b-hf": llava_processor,
}


def processed(made: Any) -> Any:
    """Texts by token, and the shapes and digests of images."""
    plain: dict[str, Any] = {}
    for name in sorted(made.keys()):
        value = made[name]
        if name in ("input_ids", "attention_mask"):
            plain[name] = value.tolist() if hasattr(value, "tolist") else value
        else:
            plain[name] = [list(value.shape), round(float(value.float().sum()), 2)]
    return plain


def repaired_template(root: str, template: str) -> str:
    right = template.replace("outterance", "utterance")
    return right.replace("<end_of_utterance>", "") if root.endswith("-base") else right


def process_case(root: str, images: Any, turns: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        processor = PROCESSORS[root]() if root in PROCESSORS else tokenizer()
        model = family(load, root, processor)
        if root.startswith("idefics2"):  # tokens of a misspelling cannot be repaired afterwards
            model.prompt_template = repaired_template(root, model.default_prompt_template)
        return processed(model.process_input(images() if callable(images) else images, copy.deepcopy(turns), **kwargs))

    return case


def process_cases() -> Iterator[tuple[str, Case]]:
    two, one = (lambda: pictures("red", "blue")), (lambda: pictures("green"))
    single, short = CONVERSATIONS["vqa_1shot"], CONVERSATIONS["vqa_0shot"]
    for root in PROCESSORS:
        name = f"process_input.{root}"
        batched = lambda: [pictures("red", "blue"), pictures("green", "white")]  # noqa: E731
        yield f"{name}.batch", process_case(root, batched, [single, single])
        yield f"{name}.batch_one", process_case(root, lambda: [pictures("red", "blue")], [single])
        yield f"{name}.instruction", process_case(root, lambda: [two()], [[HEADS["instruction"], *single]])
        yield f"{name}.single", process_case(root, two, single)
        yield f"{name}.zero_shot", process_case(root, one, short)
        if not root.startswith("idefics2"):  # versions of its processor differ in how images after text are marked
            yield f"{name}.after_text", process_case(root, lambda: [two()], [CONVERSATIONS["image_after_text"]])
        yield (
            f"{name}.template",
            process_case(root, lambda: [one()], [short], prompt_template="A <image> B{{ messages|length }}"),
        )
        yield f"{name}.texts", process_case(root, lambda: [one(), one()], ["see <image> end", "<image>"])
        yield f"{name}.closed", process_case(root, lambda: [one()], [visual(0)[:2]])
        yield f"{name}.unequal", process_case(root, lambda: [two(), one()], [single, short])
    yield "process_input.idefics-9b.text", process_case("idefics-9b", one, "see <image> end")
    yield "process_input.idefics-9b.mismatch", process_case("idefics-9b", two, short)
    yield "process_input.idefics-9b.no_padding", process_case("idefics-9b", one, short, padding=False)
    yield "process_input.idefics-9b.numpy", process_case("idefics-9b", one, short, add_end_of_utterance_token=False)


# -- generate, forward, hooks, trackers ------------------------------------------------------------


def tiny(load: Load, kind: str) -> Any:
    """A family over weights of a few thousand numbers."""
    from transformers import (
        CLIPVisionConfig,
        IdeficsConfig,
        IdeficsForVisionText2Text,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        MistralConfig,
        MistralForCausalLM,
    )

    words = tokenizer(None)
    small: dict[str, Any] = {
        "vocab_size": len(words), "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 512, "pad_token_id": 2,
        "bos_token_id": 1, "eos_token_id": None,
    }  # fmt: skip
    if kind == "Mistral-7B":
        return load("testbed.models").Mistral(
            "w/Mistral-7B",
            processor_class=given(tokenizer()),
            model_class=given(settled(MistralForCausalLM(MistralConfig(**small)))),
        )
    if kind == "idefics-9b":
        config = IdeficsConfig(
            **{k: v for k, v in small.items() if k != "num_key_value_heads"},
            additional_vocab_size=0, cross_layer_interval=1, use_resampler=False,
            vision_config={"embed_dim": 16, "image_size": 28, "num_hidden_layers": 1, "num_attention_heads": 2,
                           "intermediate_size": 16, "patch_size": 14},
        )  # fmt: skip
        return load("testbed.models").Idefics(
            "w/idefics-9b", processor_class=given(idefics_processor()),
            model_class=given(settled(IdeficsForVisionText2Text(config))),
        )  # fmt: skip
    vision = CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=28, patch_size=14
    )
    config = LlavaConfig(
        vision_config=vision, text_config=LlamaConfig(**small), image_token_index=words.convert_tokens_to_ids("<image>")
    )
    return load("testbed.models").LLaVa(
        "w/llava-1.5-7b-hf", processor_class=given(llava_processor()),
        model_class=given(settled(LlavaForConditionalGeneration(config))),
    )  # fmt: skip


def settled(weights: Any) -> Any:
    """The same weights in every version of the library: none is drawn."""
    import torch

    for parameter in weights.parameters():
        spread = torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
        parameter.data = torch.sin(spread * 50) * 0.3
    return weights


def generated(made: Any) -> Any:
    if not isinstance(made, dict):
        return made
    return {name: value if name == "outputs" else list_of(value) for name, value in made.items()}


def list_of(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else sorted(value.keys())


def generate_case(kind: str, images: Any, turns: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        model = tiny(load, kind)
        return generated(model.generate(images(), copy.deepcopy(turns), max_new_tokens=3, do_sample=False, **kwargs))

    return case


def tracked(load: Load, kind: str, on_device: Any = False, manual: bool = False) -> Any:
    """Two passes under a tracker of two layers."""
    import torch

    model = family(load, "Mistral-7B")
    trackers = load("testbed.utils.tracker")
    tracker = {
        "forward": lambda: trackers.ForwardTracker(on_device=on_device),
        "locals": lambda: trackers.LocalsTracker("forward", ["scaled", "shifted"], on_device=on_device),
        "grad": lambda: trackers.GradTracker(on_device=on_device),
    }[kind]()
    seen: list[Any] = [tracker.is_tracking, tracker.auto_incre_index]
    with tracker as same:
        seen.append(same is tracker)
        model.add_tracker(r"layers\.\d$", tracker)
        seen += [tracker.is_tracking, tracker.auto_incre_index, tracker.next_index, isinstance(tracker.id, int)]
        for value in (1.0, 5.0):
            out = model.model(torch.tensor([value], requires_grad=True))
            if kind == "grad":
                out.sum().backward()
        keys = {"forward": ["inputs", "outputs"], "locals": ["scaled", "shifted"], "grad": ["grad_outputs"]}[kind]
        for key in keys:
            kept = tracker.get(key) if kind == "locals" else getattr(tracker, key)
            seen.append(nested(kept))
        seen.append(tracker.next_index)
        tracker.clear()
        seen.append(
            [tracker.next_index, nested(tracker.get("scaled") if kind == "locals" else getattr(tracker, keys[0]))]
        )
    seen.append(tracker.is_tracking)
    return seen


def nested(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [nested(inner) for inner in value]
    return value


def tracker_by_hand(load: Load) -> Any:
    """A tracker that follows modules without a model around them counts passes itself."""
    import torch
    from torch import nn

    trackers = load("testbed.utils.tracker")
    layers = [nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)]
    for at, layer in enumerate(layers):
        nn.init.constant_(layer.weight, at + 2.0)
    tracker = trackers.ForwardTracker()
    tracker.track(layers, OrderedDict())
    for value in (1.0, 2.0):
        layers[1](layers[0](torch.tensor([value])))
    seen = [nested(tracker.outputs), nested(tracker.inputs), tracker.next_index]
    tracker.auto_incre_index = False
    tracker.incre_next_index()
    layers[0](torch.tensor([7.0]))
    seen += [nested(tracker.outputs), tracker.next_index]
    tracker.remove()
    return seen


def raised(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return f"raises {type(error).__name__}"


def tracker_errors(load: Load) -> Any:
    trackers = load("testbed.utils.tracker")
    forward, own = trackers.ForwardTracker(), trackers.LocalsTracker("forward", ["scaled"])
    model = family(load, "Mistral-7B")
    return [
        raised(lambda: forward.outputs),
        raised(lambda: own.get("scaled")),
        raised(lambda: own.get("other")),
        raised(lambda: forward.incre_next_index()),
        raised(lambda: model.add_tracker("nothing", forward)),
        raised(lambda: model.add_tracker(3, forward)),
        raised(lambda: forward.track([], {})),
        raised(lambda: model.add_tracker(r"layers\.0$", trackers.LocalsTracker("forward", ["missing"]))),
        raised(lambda: forward.remove()),
        forward.id,
    ]


def hooks(load: Load) -> Any:
    import torch

    model = family(load, "Mistral-7B")
    seen: list[Any] = []
    handles = model.register_forward_hook(
        r"layers\.\d$", lambda m, a, o, module_name: seen.append((module_name, o.tolist()))
    )
    exact = model.register_forward_pre_hook(["layers.1"], lambda m, a: seen.append(("pre", a[0].tolist())))
    model.register_forward_hook("layers.0", lambda m, a, o, **named: seen.append(sorted(named)))
    model.model(torch.tensor([1.0]))
    counts = [len(handles), len(exact)]
    for handle in [*handles, *exact]:
        handle.remove()
    model.model(torch.tensor([2.0]))
    return [seen, counts, raised(lambda: model.register_forward_hook(3, lambda *a: None)),
            raised(lambda: model.register_forward_hook("none", lambda *a: None))]  # fmt: skip


def replaced(load: Load) -> Any:
    import torch
    from torch import nn

    class Twice(nn.Module):
        def forward(self, states):
            return states * 2

    class Other(nn.Module):
        def forward(self, other):
            return other

    def shifted(self, states, module_name=None, old_method=None):
        return old_method(states) + len(module_name)

    model = family(load, "Mistral-7B")
    seen: list[Any] = []
    ask = lambda: model.model(torch.tensor([1.0])).tolist()  # noqa: E731
    model.replace_module_method(["layers.0"], "forward", shifted)
    seen.append(ask())
    model.replace_module("layers.1", Twice)
    seen.append(ask())
    model.replace_module(r"layers\.\d$", [Twice(), Twice()], strict=False)
    seen.append(ask())
    model.replace_module(Twice, Twice)
    seen.append(ask())
    for attempt in (
        lambda: model.replace_module("layers.0", Other()),
        lambda: model.replace_module("layers.0", Other(), strict=False),
        lambda: model.replace_module(r"layers\.\d$", Twice()),
        lambda: model.replace_module(r"layers\.\d$", [Twice()]),
        lambda: model.replace_module("nothing", Twice),
        lambda: model.replace_module_method("layers.1", "nothing", shifted),
        lambda: model.replace_module_method("layers.1", "forward", lambda self, other: other),
        lambda: model.replace_module_method("layers.1", "forward", lambda self, other: other, strict=False),
    ):
        seen.append(raised(attempt))
    seen.append(ask())
    return seen


def torch_module(load: Load) -> Any:
    """What a user does with a model because it is a torch module."""
    import torch

    model = family(load, "Mistral-7B")
    same = model.to("cpu") is model and model.eval() is model
    names = [name for name, _ in model.named_parameters()]
    with torch.no_grad():
        total = sum(p.sum().item() for p in model.parameters())
    return [isinstance(model, torch.nn.Module), same, names, sorted(model.state_dict()), total, model.training,
            [name for name, _ in model.named_modules()], [name for name, _ in model.named_children()]]  # fmt: skip


def helpers(load: Load) -> Any:
    """`testbed.utils`: what is bound, and how things are copied to a device."""
    import torch

    tools = load("testbed.utils")
    bound = tools.try_inject_params(lambda a, b=0: (a, b), b=2, c=3)(1)
    whole = tools.try_inject_params(lambda a, **more: (a, more), b=2)(1)
    plain: Any = lambda a: a  # noqa: E731
    copied = tools.clone_to_device({"a": torch.ones(2), "b": [torch.zeros(1)], "c": "text", "d": 3})
    deep = tools.clone_to_device([[[torch.ones(1)]]], max_recur_depth=5)
    return [bound, whole, tools.try_inject_params(plain, b=1) is plain,
            {k: nested(v) for k, v in copied.items()}, nested(deep)]  # fmt: skip


def white_box_cases() -> Iterator[tuple[str, Case]]:
    for kind in ("forward", "locals", "grad"):
        yield f"tracker.{kind}", lambda load, kind=kind: tracked(load, kind)
        yield f"tracker.{kind}.cpu", lambda load, kind=kind: tracked(load, kind, "cpu")
    yield "tracker.locals.on_device", lambda load: tracked(load, "locals", True)
    yield "tracker.by_hand", tracker_by_hand
    yield "tracker.errors", tracker_errors
    yield "hooks", hooks
    yield "replace_module", replaced
    yield "torch_module", torch_module
    yield "utils", helpers
    yield "fingerprint", fingerprint
    one, two = (lambda: pictures("green")), (lambda: pictures("red", "blue"))
    for kind in ("idefics-9b", "llava-1.5-7b-hf"):
        short, single = CONVERSATIONS["vqa_0shot"], CONVERSATIONS["vqa_1shot"]
        yield f"generate.{kind}.single", generate_case(kind, one, short)
        yield f"generate.{kind}.batch", generate_case(kind, lambda: [two()], [single])
        yield f"generate.{kind}.whole", generate_case(kind, one, short, return_inputs=True, return_generated_ids=True)


def fingerprint(load: Load) -> Any:
    made = load("testbed.utils.fingerprint")
    print_of = made.Fingerprint(lambda sample: sample.encode())
    print_of.update("a", "hello")
    return [
        print_of.to_dict()["a"]["sample"], "a" in print_of, "b" in print_of, print_of.validate("a"),
        print_of.validate("a", "other"), made.Hasher.hash_bytes(b"x", "sha256"),
        made.Hasher.hash_bytes([b"x", b"y"], "md5"),
        raised(lambda: made.Hasher.hash_bytes(b"x", "none")), raised(lambda: print_of.load_from_dict([])),
        raised(lambda: print_of.load_from_dict({"a": {}})),
    ]  # fmt: skip


# -- rows, contexts, conversations -----------------------------------------------------------------


def register(load: Load) -> None:
    """Retrievers of our own, with texts alone, with an image, with two extras."""
    common = load("testbed.data")

    @common.register_dataset_retriever("texts")
    def texts(item: Any, is_last: bool) -> Any:
        answer = {"role": "assistant"} if is_last else {"role": "assistant", "content": item["label"]}
        return [{"role": "user", "content": item["text"]}, answer]

    @common.register_dataset_retriever("images")
    def images(item: Any, is_last: bool) -> Any:
        return [{"role": "image", "content": [IMAGE]}, {"role": "caption", "last": is_last}], item["image"]

    @common.register_dataset_retriever("extras")
    def extras(item: Any, is_last: bool) -> Any:
        return [{"role": "user", "content": item["text"]}], item["image"], is_last

    @common.register_dataset_retriever("notes")
    def notes(item: Any, is_last: bool) -> Any:
        return [{"role": "note", "content": item["text"], "last": is_last}]

    @common.register_dataset_retriever("annotated")
    def annotated(item: Any, is_last: bool) -> list:
        return [{"role": "note", "content": str(item)}]

    @common.register_postprocess("texts")
    def read(prediction: str) -> Any:
        return {"yes": 1, "no": 0}.get(prediction.lower(), prediction)


def row(number: int) -> dict[str, Any]:
    return {"text": f"t{number}", "label": f"l{number}", "image": f"i{number}"}


def input_case(name: Any, batch: Any, *args: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        register(load)
        made = load("testbed.data").prepare_input(copy.deepcopy(name), copy.deepcopy(batch), *args, **kwargs)
        return [type(made).__name__, made if isinstance(made, list) else list(made)]

    return case


def contexts(sizes: list[int], start: int = 0) -> list[list[dict[str, Any]]]:
    made, number = [], start
    for size in sizes:
        made.append([row(number + at) for at in range(size)])
        number += size
    return made


def input_cases() -> Iterator[tuple[str, Case]]:
    for size in (1, 2, 4):
        for name in ("texts", "images", "extras"):
            yield f"prepare_input.{name}_{size}", input_case(name, contexts([size, size]))
    yield "prepare_input.instruction", input_case("texts", contexts([2]), instruction="Do it.")
    yield "prepare_input.instruction_positional", input_case("images", contexts([2]), "Do it.")
    yield "prepare_input.instruction_empty", input_case("texts", contexts([1]), instruction="")
    yield "prepare_input.names_per_context", input_case(["texts", "notes"], contexts([2, 2]))
    yield "prepare_input.same_names", input_case(["texts", "texts"], contexts([2, 2]))
    yield "prepare_input.names_of_rows", input_case(["texts", "texts"], contexts([2]))
    yield "prepare_input.names_of_contexts", input_case(["texts", "texts", "texts"], contexts([2, 2, 2]))
    yield "prepare_input.names_of_rows_differ", input_case(["texts", "notes"], contexts([2]))
    yield "prepare_input.names_three", input_case(["texts", "notes", "texts"], contexts([3, 3, 3]))
    yield "prepare_input.extras_differ", input_case(["images", "extras"], contexts([2, 2]))
    yield "prepare_input.extras_of_some", input_case(["texts", "images"], contexts([2, 2]))
    yield "prepare_input.wrong_count", input_case(["texts", "texts"], contexts([3]))
    yield "prepare_input.unknown", input_case("nobody", contexts([1]))
    yield "prepare_input.unknown_in_list", input_case(["texts", "nobody"], contexts([2, 2]))
    yield "prepare_input.annotations_differ", input_case(["texts", "annotated"], contexts([2]))
    yield "prepare_input.unequal_contexts", input_case("texts", contexts([1, 3]))
    yield "prepare_input.shot_equals_query", input_case("texts", [[row(1), row(1)]])
    yield "prepare_input.shot_equals_query_images", input_case("images", [[row(1), row(2), row(1)]])
    yield "prepare_input.annotated", input_case("annotated", [[1, 2], [3, 4]])
    yield "prepare_input.numbers", input_case("annotated", [[0], [False]])
    yield "prepare_input.missing_column", input_case("texts", [[{"text": "x"}, {"text": "y"}]])
    yield "prepare_input.missing_label_of_query", input_case("texts", [[{"text": "y"}]])
    for label in (True, 0, 3.5, None, "", ["a"]):
        rows = [[{"text": "t", "label": label}, {"text": "u", "label": "x"}]]
        yield f"prepare_input.label_{label!r}", input_case("texts", rows)
    for name, rows in BUILTIN_ROWS.items():
        yield f"prepare_input.{name}", input_case(name, [rows])
        yield f"prepare_input.{name}_zero", input_case(name, [rows[:1]])


BUILTIN_ROWS: dict[str, list[dict[str, Any]]] = {
    **{
        name: [
            {"image": f"i{at}", "question": f"Is it {at}?", "answer": f"a{at}", "answers": [{"answer": f"a{at}"}]}
            for at in range(2)
        ]
        for name in ("vqav2", "ok_vqa", "ocr_vqa")
    },
    **{
        name: [{"image": f"i{at}", "caption": f"c{at}", "sentences_raw": [f"c{at}", "more"]} for at in range(2)]
        for name in ("coco", "flickr")
    },
    "hateful_memes": [{"img": f"i{at}", "text": f't"{at}', "label": at} for at in range(3)],
    "seed_bench": [
        {"image": image, "question": "Which?", "choice_a": "a", "choice_b": "b", "choice_c": 3, "choice_d": None,
         "answer": letter}
        for image, letter in (("i", "A"), (["i", "j"], "B"))
    ],
}  # fmt: skip


def postprocess_case(name: str, predictions: Any, *args: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        register(load)
        return load("testbed.data").postprocess_generation(name, predictions, *args, **kwargs)

    return case


PREDICTIONS = ["yes", " No \n", "Yes. Because\nit is", "", "a;b;c", "  two words  ", "Question: x", "ja?nein"]


def postprocess_cases() -> Iterator[tuple[str, Case]]:
    for name in ("vqav2", "coco", "flickr", "ocr_vqa", "seed_bench", "texts"):
        yield f"postprocess.{name}", postprocess_case(name, PREDICTIONS)
    for at, words in enumerate((["\n"], ["Question", "\n"], [".", "?", "("], ["o", "yes"], [" "], ["a;"], [], [""])):
        yield f"postprocess.stop_words_{at}", postprocess_case("texts", PREDICTIONS, words)
        yield f"postprocess.stop_words_{at}_single", postprocess_case("texts", "Yes. Because\nit is", stop_words=words)
    yield "postprocess.single", postprocess_case("texts", "YES")
    yield "postprocess.empty_list", postprocess_case("texts", [])
    yield "postprocess.unknown", postprocess_case("nobody", "x")
    yield "postprocess.tuple", postprocess_case("texts", ("yes", "no"))
    yield "postprocess.none", postprocess_case("texts", None)
    yield "postprocess.numbers", postprocess_case("texts", [1])


def registering(load: Load) -> Any:
    common = load("testbed.data.common")
    seen = []
    for takes in (lambda: None, lambda a: a, lambda a, b: a, lambda a, b, c: a, lambda *a: a, lambda a, b=1: a):
        seen.append(raised(lambda takes=takes: callable(common.register_dataset_retriever("x")(takes))))
        seen.append(raised(lambda takes=takes: callable(common.register_postprocess("x")(takes))))
    whole = common.register_dataset_retriever("again")(lambda item, is_last: [1])
    common.register_dataset_retriever("again")(lambda item, is_last: [2])
    mapping = load("testbed.data").DATASET_RETRIEVER_MAPPING
    return [seen, mapping["again"](None, True), whole(None, False), "again" in common.DATASET_RETRIEVER_MAPPING]


def known_names(load: Load) -> Any:
    data = load("testbed.data")
    built = {"vqav2", "ok_vqa", "ocr_vqa", "coco", "flickr", "hateful_memes", "seed_bench"}
    return [sorted(built & set(data.DATASET_RETRIEVER_MAPPING)), sorted(built & set(data.POSTPROCESS_MAPPING))]


def most_common(load: Load) -> Any:
    of = load("testbed.data.common").most_common_from_dict
    return [
        of([{"answer": "a"}, {"answer": "b"}, {"answer": "b"}]), of([{"answer": "x"}]),
        raised(lambda: of([])), raised(lambda: of([{}])),
    ]  # fmt: skip


def splits(load: Load) -> Any:
    """Split generators over files of which some are missing."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("train.json", "val.json", "one.json"):
            (home / name).write_text("[]")
        (home / "images").mkdir()
        table = {
            "questions": {"train": "train.json", "val": "val.json", "test": "gone.json", "extra": ["one.json"]},
            "images": {"train": "images", "val": "images", "extra": "images"},
        }

        def expand(kind: str, split: str) -> Any:
            found = table[kind][split]
            return [home / name for name in found] if isinstance(found, list) else home / found

        split_generators = load("testbed.data.common").split_generators
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made = raised(lambda: split_generators(expand, table))
        told = len(seen)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            raised(lambda: split_generators(expand, table, verbose=False))
        table["images"]["test"] = "images"
        whole = split_generators(expand, table, False)
        listed = sorted(
            [str(one.name), one.gen_kwargs["split"], sorted(one.gen_kwargs), relative(one.gen_kwargs, home)]
            for one in whole
        )
        none = raised(lambda: split_generators(lambda k, s: home / "nowhere", table, False))
        return [listed, told, len(seen), none, type(made).__name__ if not isinstance(made, str) else made]


def relative(value: Any, home: Any) -> Any:
    if isinstance(value, dict):
        return {key: relative(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [relative(inner, home) for inner in value]
    return value if isinstance(value, str) else str(value.relative_to(home))


def loader_case(
    sizes: list[int] | int, *args: Any, samplers: Any = None, seed: int | None = None, **kwargs: Any
) -> Case:
    """Batches of a loader over ranges; with a seed, of whatever torch draws from it."""

    def case(load: Load) -> Any:
        starts = [100 * at for at in range(len(sizes) if isinstance(sizes, list) else 1)]
        ranges = [range(s, s + n) for s, n in zip(starts, sizes if isinstance(sizes, list) else [sizes], strict=True)]
        if seed is not None:
            import torch

            torch.manual_seed(seed)
        more = {} if samplers is None else {"samplers": samplers()}
        loader = load("testbed.data").prepare_dataloader(
            ranges if isinstance(sizes, list) else ranges[0], *args, **more, **kwargs
        )
        first = list(loader)
        return [len(loader), first, list(loader)]

    return case


def loader_cases() -> Iterator[tuple[str, Case]]:
    for shots in (0, 1, 2, 4, 9, 10):
        yield f"dataloader.single_{shots}shot", loader_case(10, 2, shots)
        yield f"dataloader.single_{shots}shot_drop_last", loader_case(10, 2, shots, drop_last=True)
    yield "dataloader.batch_1", loader_case(7, 1, 2)
    yield "dataloader.batch_100", loader_case(7, 100, 1)
    yield "dataloader.train_val_2plus1", loader_case([10, 6], 2, 2, [2, 1])
    yield "dataloader.train_val_1plus2", loader_case([10, 6], 2, 2, [1, 2])
    yield "dataloader.three_datasets", loader_case([4, 5, 6], 2, 3, [1, 2, 1])
    yield "dataloader.num_per_dataset_int", loader_case(10, 2, num_per_dataset=3)
    yield "dataloader.num_per_dataset_list", loader_case([10, 10], 3, num_per_dataset=[1, 1])
    yield "dataloader.list_of_one", loader_case([10], 2, 2)
    yield "dataloader.zero_of_one", loader_case([10, 6], 2, 0, [0, 1])
    yield "dataloader.collate_fn", loader_case(9, 2, 2, collate_fn=lambda batch: {"batch": batch, "n": len(batch)})
    yield "dataloader.sum_wrong", loader_case([10, 6], 2, 3, [2, 1])
    yield "dataloader.length_wrong", loader_case([10, 6], 2, 2, [3])
    yield "dataloader.neither", loader_case(10, 2)
    yield "dataloader.two_without_numbers", loader_case([10, 6], 2, 2)
    yield "dataloader.batch_0", loader_case(10, 0, 1)
    yield "dataloader.batch_text", loader_case(10, "2", 1)
    yield "dataloader.empty", loader_case(0, 2, 1)
    yield "dataloader.unknown_option", loader_case(10, 2, 1, nonsense=3)
    yield "dataloader.workers", loader_case(6, 2, 1, num_workers=0, pin_memory=False)
    yield "dataloader.sampler", loader_case(10, 2, 1, sampler=[3, 1, 4, 1, 5])
    yield "dataloader.sampler_and_samplers", loader_case(10, 2, 1, sampler=[1], samplers=lambda: [[1]])
    yield "dataloader.samplers_ints", loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [range(9, 0, -1), [5, 4, 3]])
    yield (
        "dataloader.samplers_lists",
        loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [[[1, 2], [3, 4], [5, 6]], [0, 1, 2]]),
    )
    yield "dataloader.samplers_none", loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [[[1, 2], [3, 4]], None])
    yield "dataloader.samplers_wrong_size", loader_case(10, 2, 2, samplers=lambda: [[[1, 2]]])
    yield "dataloader.samplers_texts", loader_case(10, 2, 2, samplers=lambda: [["a", "b"]])
    yield "dataloader.samplers_too_few", loader_case([10, 6], 2, 2, [2, 1], samplers=lambda: [[1]])
    yield "dataloader.samplers_one", loader_case(10, 2, 1, samplers=lambda: [2, 1, 0, 5])
    yield "dataloader.shuffle", loader_case(10, 2, 1, shuffle=True, seed=0)
    yield "dataloader.shuffle_two", loader_case([8, 5], 2, 2, [2, 1], shuffle=True, seed=7)
    yield "dataloader.torch_sampler", torch_sampler
    yield "dataloader.hf_dataset", hf_dataset
    yield "dataloader.attributes", loader_attributes


def torch_sampler(load: Load) -> Any:
    import torch
    from torch.utils.data import RandomSampler, SequentialSampler

    rows = list(range(8))
    drawn = RandomSampler(rows, generator=torch.Generator().manual_seed(3))
    loader = load("testbed.data").prepare_dataloader(
        [range(8), range(100, 108)], 2, 2, [2, 1], samplers=[drawn, SequentialSampler(rows)]
    )
    return list(loader)


def hf_dataset(load: Load) -> Any:
    import datasets

    rows = datasets.Dataset.from_list([{"q": f"q{at}", "a": bool(at % 2)} for at in range(5)])
    return list(load("testbed.data").prepare_dataloader(rows, 2, 1))


def loader_attributes(load: Load) -> Any:
    from torch.utils.data import DataLoader

    loader = load("testbed.data").prepare_dataloader(range(10), 2, 1)
    return [isinstance(loader, DataLoader), len(loader.dataset), list(loader.batch_sampler), loader.num_workers]


def sampler_case(make: Callable[[Any], Any]) -> Case:
    def case(load: Load) -> Any:
        made = make(load("testbed.data.sampler"))
        return [len(made), list(made), made.batch_size]

    return case


def sampler_cases() -> Iterator[tuple[str, Case]]:
    from torch.utils.data import BatchSampler, SequentialSampler

    def batch(count: int, size: int) -> Any:
        return BatchSampler(SequentialSampler(range(count)), size, True)

    two = lambda m: m.ConcatSampler([SequentialSampler(range(3)), SequentialSampler(range(5))], [3, 8])  # noqa: E731
    yield "sampler.concat", sampler_case(two)
    yield "sampler.concat_no_sizes", sampler_case(lambda m: m.ConcatSampler([batch(4, 2), batch(3, 1)]))
    yield "sampler.concat_batches", sampler_case(lambda m: m.ConcatSampler([batch(6, 2), batch(4, 1)], [6, 10]))
    yield "sampler.concat_lists", sampler_case(lambda m: m.ConcatSampler([[1, 2, 3], [[4, 5], [6, 7]]], [9, 20]))
    yield "sampler.concat_empty", sampler_case(lambda m: m.ConcatSampler([[]], [0]))
    for drop in (False, True):
        for size in (1, 2, 3, 5):
            yield (
                f"sampler.multi_{size}_{drop}",
                sampler_case(lambda m, s=size, d=drop: m.MultiBatchSampler(two(m), s, d)),
            )
    yield "sampler.multi_0", sampler_case(lambda m: m.MultiBatchSampler(two(m), 0, False))
    yield "sampler.multi_true", sampler_case(lambda m: m.MultiBatchSampler(two(m), True, False))
    yield "sampler.multi_drop_text", sampler_case(lambda m: m.MultiBatchSampler(two(m), 2, "no"))
    yield "sampler.multi_ints", sampler_case(lambda m: m.MultiBatchSampler(SequentialSampler(range(4)), 2, False))


def cases() -> dict[str, Case]:
    """Every case by name."""
    made: dict[str, Case] = {}
    for name, case in (
        *template_cases(), *model_cases(), *process_cases(), *white_box_cases(), *input_cases(), *postprocess_cases(),
        *loader_cases(), *sampler_cases(),
        ("register", registering), ("known_names", known_names), ("most_common_from_dict", most_common),
        ("split_generators", splits),
    ):  # fmt: skip
        assert name not in made, name
        made[name] = case
    return made


def outcome(case: Case, load: Load) -> Any:
    """What a case gives, as JSON holds it; an error is known by its kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = case(load)
        except Exception as error:
            return {"raises": type(error).__name__}
    return {"gives": json.loads(json.dumps(made, default=str))}


def digest(value: Any) -> Any:
    """A long outcome as its digest, so that files stay small."""
    text = json.dumps(value, sort_keys=True)
    return value if len(text) < 4000 else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def repaired(name: str, value: Any) -> Any:
    """Upstream's outcome without its two misspellings: the end token of Idefics2, the second colon of Mistral."""
    if not name.startswith(("template.idefics2", "template.Mistral")) or "gives" not in value:
        return value
    made = value["gives"]
    both = [_repaired(name, one) for one in made] if isinstance(made, list) else _repaired(name, made)
    return {"gives": both}


def _repaired(name: str, rendered: Any) -> Any:
    if not isinstance(rendered, str):
        return rendered
    if "Mistral" in name:
        return re.sub(r"(?m)^: ", "", rendered.replace(": : ", ": ").replace("::", ":"))
    return repaired_template(name.split(".")[1], rendered)
