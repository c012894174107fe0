"""The model families the testbed brings: which classes of `transformers` they load, and how they are prompted."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .....core import EMPTY, library
from . import templates
from .model_base import ModelBase, is_conversation

HF_IDEFICS2 = ["idefics2-8b", "idefics2-8b-base", "idefics2-8b-chatty"]
HF_LLAVA = {
    "llava-1.5": ["llava-1.5-7b-hf", "llava-1.5-13b-hf", "bakLlava-v1-hf"],
    "llava-interleave": [
        "llava-interleave-qwen-0.5b-hf",
        "llava-interleave-qwen-7b-hf",
        "llava-interleave-qwen-7b-dpo-hf",
    ],
}
QWEN = ("Qwen2-", "Qwen1.5-")


class Family(ModelBase):
    """A family: a subclass names its classes, and its models where the template depends on them."""

    processor_name = "AutoProcessor"
    model_name_in_transformers = "AutoModelForCausalLM"
    support: Sequence[str] | None = None
    default_processor_args: Mapping[str, Any] = EMPTY
    accepts = frozenset({"text", "image"})

    def __init__(
        self,
        model_root: str,
        processor_class: Any = None,
        model_class: Any = None,
        processor_args: Mapping[str, Any] | None = None,
        model_args: Mapping[str, Any] | None = None,
        **common_args: Any,
    ) -> None:
        super().__init__(
            model_root,
            processor_class or from_transformers(self.processor_name),
            model_class or from_transformers(self.model_name_in_transformers),
            support_models=self.support,
            processor_args=processor_args or self.default_processor_args,
            model_args=model_args,
            **common_args,
        )

    def _assay_own_template(self, names: str) -> str:
        """The model's own chat template, with a warning: its name is none that the family has a template for."""
        warnings.warn(
            f"{self.model_name!r} is none of {names}: its own chat template is used; set `prompt_template`, or"
            " `model_name` to one of these",
            stacklevel=3,
        )
        return super().default_prompt_template


class Idefics(Family):
    """Idefics: images and text interleaved."""

    model_name_in_transformers = "IdeficsForVisionText2Text"

    @property
    def default_prompt_template(self) -> str:
        """`Image:<image> Question: … Answer: …`."""
        return templates.idefics()

    def process_input(
        self,
        images: Any = None,
        text: Any = None,
        prompt_template: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Each prompt as the texts and images it consists of: so its processor keeps images in their places."""
        if text is None:
            images, text = None, images
        if isinstance(text, str) or (
            is_conversation(text) and isinstance(text[0], Mapping)
        ):
            text, images = [text], None if images is None else [images]
        prompts = (
            self._assay_rendered(text, prompt_template)
            if is_conversation(text)
            else list(text)
        )
        images_by_prompt: Sequence[Any] = (
            [() for _ in prompts] if images is None else images
        )
        if len(prompts) != len(images_by_prompt):
            raise ValueError(
                f"{len(prompts)} prompts and {len(images_by_prompt)} lists of images"
            )
        pieces = [
            list(_interleaved(at, *pair))
            for at, pair in enumerate(zip(prompts, images_by_prompt, strict=True))
        ]
        padding, tensors = (
            kwargs.pop("padding", True),
            kwargs.pop("return_tensors", "pt"),
        )
        return self.processor(
            text=pieces, padding=padding, return_tensors=tensors, **kwargs
        )


def _interleaved(at: int, prompt: str, images: Sequence[Any]) -> Iterator[Any]:
    texts = prompt.split("<image>")
    if len(texts) - 1 != len(images):
        raise ValueError(
            f"prompt {at} has {len(texts) - 1} places for {len(images)} images"
        )
    for before, image in zip(texts, images, strict=False):
        yield from (before, image) if before else (image,)
    if texts[-1]:
        yield texts[-1]


class Idefics2(Family):
    """Idefics2: one message a line, closed by a token; the base model has none."""

    model_name_in_transformers = "AutoModelForImageTextToText"
    support = HF_IDEFICS2

    default_processor_args = {"do_image_splitting": False}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """`<end_of_utterance>` ends a message unless the model is the base one."""
        return templates.idefics2(
            "" if self.model_name == "idefics2-8b-base" else "<end_of_utterance>"
        )


class LLaVa(Family):
    """LLaVA 1.5, and its interleaved successor."""

    model_name_in_transformers = "LlavaForConditionalGeneration"
    support = [name for names in HF_LLAVA.values() for name in names]  # noqa: RUF012 - read only

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Older snapshots keep these with the model alone, and the processor counts image tokens by them.
        vision = getattr(self.config, "vision_config", None)
        for name, holder in (
            ("patch_size", vision),
            ("vision_feature_select_strategy", self.config),
        ):
            if hasattr(holder, name):
                setattr(self.processor, name, getattr(holder, name))

    @property
    def default_prompt_template(self) -> str:
        """By the name of the model: `ROLE: …` for 1.5, marked turns for the interleaved ones, else the model's own."""
        if self.model_name in HF_LLAVA["llava-1.5"]:
            return templates.llava()
        if self.model_name in HF_LLAVA["llava-interleave"]:
            return templates.llava_interleaved()
        return self._assay_own_template(", ".join(self.support))

    @property
    def _assay_speaks_own_template(self) -> bool:
        return self.model_name not in self.support

    def process_input(
        self,
        images: Any = None,
        text: Any = None,
        prompt_template: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The images of a batch in one list, as its processor wants them."""
        if text is not None and images is not None:
            images = [
                one
                for entry in images
                for one in (entry if isinstance(entry, (list, tuple)) else [entry])
            ]
        return super().process_input(images, text, prompt_template, **kwargs)


class Mistral(Family):
    """Mistral: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})
    default_processor_args = {"chat_template": templates.mistral()}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """`Role: …`, one message a line."""
        return templates.mistral()


class Qwen2(Family):
    """Qwen 1.5 and 2: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})

    @property
    def default_prompt_template(self) -> str:
        """Marked turns after a system text; the model's own where its name is another one."""
        if self.model_name.startswith(QWEN):
            return templates.qwen("You are a helpful assistant.")
        return self._assay_own_template(" and ".join(f"{start}…" for start in QWEN))

    @property
    def _assay_speaks_own_template(self) -> bool:
        return not self.model_name.startswith(QWEN)


def from_transformers(name: str) -> Any:
    """A class of `transformers`; a missing library is one line that says how to install it."""
    transformers = library(
        "transformers", "transformers", "'assay[hf]'", where="testbed.models"
    )
    return getattr(transformers, name)
