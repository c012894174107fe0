"""Cases of prompts: what each family's template makes of conversations, and what its processor is given."""

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from testbed_families import (
    CONVERSATIONS,
    FAMILIES,
    HEADS,
    TEXT_CONVERSATIONS,
    Case,
    Load,
    family,
    net,
    repaired_template,
    tokenizer,
    visual,
)


def template_case(root: str, conversation: list[Any], **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        return family(load, root).apply_prompt_template(
            copy.deepcopy(conversation), **kwargs
        )

    return case


def template_cases() -> Iterator[tuple[str, Case]]:
    for root, (_, _, form) in FAMILIES.items():
        chosen = CONVERSATIONS if form == "lists" else TEXT_CONVERSATIONS
        if root in (
            "my-llava",
            "Qwen2.5-7B-Instruct",
        ):  # its own template writes what it is given
            chosen = {
                name: turns
                for name, turns in chosen.items()
                if all("content" in turn for turn in turns)
            }
        for name, turns in chosen.items():
            yield f"template.{root}.{name}", template_case(root, turns)
        for name in (
            ("vqa_1shot", "ends_with_user", "one_question", "all_closed")
            if form == "lists"
            else ("chat_1shot", "ends_with_user_text", "one_question_text")
        ):
            if name in chosen:
                yield (
                    f"template.{root}.{name}.asks",
                    template_case(root, chosen[name], add_generation_prompt=True),
                )
        first = next(iter(chosen.values()))
        yield f"template.{root}.batch", template_case(root, [first, first])
    lists, texts = CONVERSATIONS["vqa_1shot"], TEXT_CONVERSATIONS["chat_1shot"]
    for root, turns in (
        ("idefics-9b", lists),
        ("Mistral-7B", texts),
        ("Qwen2-7B", texts),
    ):
        own = "{% for m in messages %}[{{ m.role }}{% if 'content' in m %}|{{ m.content }}{% endif %}]{% endfor %}"
        yield (
            f"template.{root}.argument",
            template_case(root, turns, prompt_template=own),
        )
        yield f"template.{root}.attribute", attribute_case(root, turns, own)
        if root != "Mistral-7B":
            yield (
                f"template.{root}.tokenized",
                template_case(root, turns, tokenize=True),
            )
        yield (
            f"template.{root}.raises",
            template_case(root, turns, prompt_template="{{ raise_exception('no') }}"),
        )
    yield "template.llava-1.5-7b-hf.mask", mask_case("llava-1.5-7b-hf")
    yield (
        "template.llava-interleave-qwen-0.5b-hf.mask",
        mask_case("llava-interleave-qwen-0.5b-hf"),
    )


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
            CONVERSATIONS["vqa_1shot"],
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
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
        yield (
            f"attributes.{root}",
            lambda load, root=root: attributes(family(load, root)),
        )
    yield (
        "supported.idefics2",
        lambda load: list(load("testbed.models.idefics2").HF_IDEFICS2),
    )
    yield (
        "supported.llava",
        lambda load: {
            k: list(v) for k, v in load("testbed.models.llava").HF_LLAVA.items()
        },
    )
    yield (
        "exported.models",
        lambda load: [hasattr(load("testbed.models"), n) for n in EXPORTED],
    )
    yield (
        "no_template",
        lambda load: family(load, "my-llava", template=None).default_prompt_template,
    )
    yield "constructor.mistral", constructor_case


EXPORTED = (
    "Idefics",
    "Idefics2",
    "LLaVa",
    "Mistral",
    "idefics",
    "idefics2",
    "llava",
    "mistral",
    "model_base",
)


def attributes(model: Any) -> Any:
    return [
        model.model_name,
        model.prompt_template,
        str(model.device),
        model.config is model.model.config,
    ]


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
            calls.append(
                [
                    "plain",
                    root,
                    {k: v for k, v in options.items() if k != "trust_remote_code"},
                ]
            )
            return net()()

    base = load("testbed.models.model_base").ModelBase
    base("a/b", AutoThing, Thing, processor_args={"x": 1}, model_args={"y": 2}, z=3)
    return calls


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

    image = Idefics2ImageProcessor(
        do_image_splitting=False, size={"shortest_edge": 14, "longest_edge": 28}
    )
    return Idefics2Processor(image, tokenizer(None), image_seq_len=2)


def llava_processor() -> Any:
    from transformers import CLIPImageProcessor, LlavaProcessor

    image = CLIPImageProcessor(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
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


def process_case(root: str, images: Any, turns: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        processor = PROCESSORS[root]() if root in PROCESSORS else tokenizer()
        model = family(load, root, processor)
        if root.startswith(
            "idefics2"
        ):  # tokens of a misspelling cannot be repaired afterwards
            model.prompt_template = repaired_template(
                root, model.default_prompt_template
            )
        return processed(
            model.process_input(
                images() if callable(images) else images, copy.deepcopy(turns), **kwargs
            )
        )

    return case


def process_cases() -> Iterator[tuple[str, Case]]:
    two, one = (lambda: pictures("red", "blue")), (lambda: pictures("green"))
    single, short = CONVERSATIONS["vqa_1shot"], CONVERSATIONS["vqa_0shot"]
    for root in PROCESSORS:
        name = f"process_input.{root}"
        batched = lambda: [pictures("red", "blue"), pictures("green", "white")]  # noqa: E731
        yield f"{name}.batch", process_case(root, batched, [single, single])
        yield (
            f"{name}.batch_one",
            process_case(root, lambda: [pictures("red", "blue")], [single]),
        )
        yield (
            f"{name}.instruction",
            process_case(root, lambda: [two()], [[HEADS["instruction"], *single]]),
        )
        yield f"{name}.single", process_case(root, two, single)
        yield f"{name}.zero_shot", process_case(root, one, short)
        if not root.startswith(
            "idefics2"
        ):  # versions of its processor differ in how images after text are marked
            yield (
                f"{name}.after_text",
                process_case(
                    root, lambda: [two()], [CONVERSATIONS["image_after_text"]]
                ),
            )
        yield (
            f"{name}.template",
            process_case(
                root,
                lambda: [one()],
                [short],
                prompt_template="A <image> B{{ messages|length }}",
            ),
        )
        yield (
            f"{name}.texts",
            process_case(root, lambda: [one(), one()], ["see <image> end", "<image>"]),
        )
        yield f"{name}.closed", process_case(root, lambda: [one()], [visual(0)[:2]])
        yield (
            f"{name}.unequal",
            process_case(root, lambda: [two(), one()], [single, short]),
        )
    yield (
        "process_input.idefics-9b.text",
        process_case("idefics-9b", one, "see <image> end"),
    )
    yield "process_input.idefics-9b.mismatch", process_case("idefics-9b", two, short)
    yield (
        "process_input.idefics-9b.no_padding",
        process_case("idefics-9b", one, short, padding=False),
    )
    yield (
        "process_input.idefics-9b.numpy",
        process_case("idefics-9b", one, short, add_end_of_utterance_token=False),
    )
