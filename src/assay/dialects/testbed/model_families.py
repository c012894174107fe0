"""The model families that the testbed ships, with their prompt templates."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import EMPTY, library
from ..shapes import Fields
from .testbed_model_bases import ModelBase, is_conversation


def default_template(family: str) -> str:
    """Return the prompt template of a family from its file in `templates/`, with all lines joined."""
    text = (Path(__file__).parent / "templates" / f"{family}.jinja").read_text("utf-8")
    return "".join(line.strip() for line in text.splitlines())


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
    """Base of the model families.

    A subclass declares its classes of `transformers`. If its template depends on the
    model, it also lists the known models.
    """

    processor_name = "AutoProcessor"
    model_name_in_transformers = "AutoModelForCausalLM"
    support: Sequence[str] | None = None
    default_processor_args: Fields = EMPTY
    accepts = frozenset({"text", "image"})

    def __init__(
        self,
        model_root: str,
        processor_class: object = None,
        model_class: object = None,
        processor_args: Fields | None = None,
        model_args: Fields | None = None,
        **common_args: object,
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
        """Return the model's own chat template, with a warning that the model is none of `names`."""
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
        """The template `Image:<image> Question: … Answer: …`."""
        return default_template("idefics")

    def process_input(
        self,
        images: Any = None,
        text: Any = None,
        prompt_template: str | None = None,
        **kwargs: object,
    ) -> object:
        """Return the processor's output for prompts that are split into texts and images.

        The split keeps the position of each image in the text.
        """
        if text is None:
            # Called as `process_input(text)`.
            images, text = None, images
        is_single = isinstance(text, str) or (
            is_conversation(text) and isinstance(text[0], Mapping)
        )
        if is_single:
            text = [text]
            images = None if images is None else [images]
        if is_conversation(text):
            text = self._assay_rendered(text, prompt_template)
        prompts = list(text)
        if images is None:
            images = [()] * len(prompts)
        if len(prompts) != len(images):
            raise ValueError(
                f"{len(prompts)} prompts and {len(images)} lists of images"
            )
        pieces = [
            _interleaved(index, prompt, images[index])
            for index, prompt in enumerate(prompts)
        ]
        settings = {"padding": True, "return_tensors": "pt", **kwargs}
        return self.processor(text=pieces, **settings)


def _interleaved(index: int, prompt: str, images: Sequence[Any]) -> list[Any]:
    """Split a prompt at its images: `"A <image> B"` becomes `["A ", image, " B"]`.

    `index` is the prompt's number in error messages.
    """
    *texts, last = prompt.split("<image>")
    if len(texts) != len(images):
        raise ValueError(
            f"prompt {index} has {len(texts)} places for {len(images)} images"
        )
    pieces = []
    for text, image in zip(texts, images, strict=True):
        # The text between two adjacent images is empty, and is left out.
        if text:
            pieces.append(text)
        pieces.append(image)
    if last:
        pieces.append(last)
    return pieces


class Idefics2(Family):
    """Idefics2: one message per line, each closed by a token, which the base model lacks."""

    model_name_in_transformers = "AutoModelForImageTextToText"
    support = HF_IDEFICS2

    default_processor_args = {"do_image_splitting": False}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """The template in which `<end_of_utterance>` ends each message, except for the base model."""
        template = default_template("idefics2")
        is_base = self.model_name == "idefics2-8b-base"
        return template.replace("<end_of_utterance>", "") if is_base else template


class LLaVa(Family):
    """LLaVA 1.5, and LLaVA-Interleave."""

    model_name_in_transformers = "LlavaForConditionalGeneration"
    support = [name for names in HF_LLAVA.values() for name in names]  # noqa: RUF012 - read only

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Older snapshots store these only with the model, and the processor needs them to count image tokens.
        vision = getattr(self.config, "vision_config", None)
        for name, holder in (
            ("patch_size", vision),
            ("vision_feature_select_strategy", self.config),
        ):
            if hasattr(holder, name):
                setattr(self.processor, name, getattr(holder, name))

    @property
    def default_prompt_template(self) -> str:
        """The template by model name: `ROLE: …` for LLaVA 1.5, marked turns for Interleave, or else the model's own."""
        if self.model_name in HF_LLAVA["llava-1.5"]:
            return default_template("llava")
        if self.model_name in HF_LLAVA["llava-interleave"]:
            return default_template("llava_interleave")
        return self._assay_own_template(", ".join(self.support))

    @property
    def _assay_uses_own_template(self) -> bool:
        return self.model_name not in self.support

    def process_input(
        self,
        images: Any = None,
        text: object = None,
        prompt_template: str | None = None,
        **kwargs: object,
    ) -> object:
        """Return the processor's output for all images of a batch, passed as one list."""
        if text is not None and images is not None:
            flat: list[Any] = []
            for entry in images:
                flat += entry if isinstance(entry, (list, tuple)) else [entry]
            images = flat
        return super().process_input(images, text, prompt_template, **kwargs)


class Mistral(Family):
    """Mistral: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})
    default_processor_args = {"chat_template": default_template("mistral")}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """The template `Role: …`, with one message per line."""
        return default_template("mistral")


class Qwen2(Family):
    """Qwen 1.5 and 2: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})

    @property
    def default_prompt_template(self) -> str:
        """The template with marked turns after a system prompt.

        For models other than Qwen 1.5 and 2, it is the model's own template.
        """
        if self.model_name.startswith(QWEN):
            return default_template("qwen2")
        return self._assay_own_template(" and ".join(f"{start}…" for start in QWEN))

    @property
    def _assay_uses_own_template(self) -> bool:
        return not self.model_name.startswith(QWEN)


def from_transformers(name: str) -> object:
    """Return a class of `transformers`. If the package is missing, raise with the command to install it."""
    transformers = library(
        "transformers",
        "transformers",
        "'assay[hf]'",
        where="testbed.models",
    )
    return getattr(transformers, name)
