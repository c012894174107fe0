"""The model families the testbed brings: which classes of `transformers` they load, and how they are prompted."""

from collections.abc import Mapping
from typing import Any

from .....core import EMPTY, MissingExtra
from . import templates
from .model_base import ModelBase

HF_IDEFICS2 = ("idefics2-8b", "idefics2-8b-base", "idefics2-8b-chatty")
HF_LLAVA_15 = ("llava-1.5-7b-hf", "llava-1.5-13b-hf", "bakLlava-v1-hf")
HF_LLAVA_INTERLEAVE = (
    "llava-interleave-qwen-0.5b-hf",
    "llava-interleave-qwen-7b-hf",
    "llava-interleave-qwen-7b-dpo-hf",
)


class Family(ModelBase):
    """A family: a subclass names its classes, and its models where the template depends on them."""

    processor_name = "AutoProcessor"
    model_name_in_transformers = "AutoModelForCausalLM"
    support: tuple[str, ...] | None = None
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


class Idefics(Family):
    """Idefics: images and text interleaved."""

    model_name_in_transformers = "IdeficsForVisionText2Text"

    @property
    def default_prompt_template(self) -> str:
        """`Image:<image> Question: … Answer: …`."""
        return templates.idefics("\\n")

    def process_input(
        self, images: Any = None, text: Any = None, prompt_template: str | None = None, **kwargs: Any
    ) -> Any:
        """The same as of every model, once each prompt has as many images as places for them."""
        given = text if text is not None else images
        if text is not None and images is not None:
            prompts = self._rendered(given, prompt_template) if not _is_text(given) else given
            several = [prompts] if isinstance(prompts, str) else list(prompts)
            shown = [images] if isinstance(prompts, str) else list(images)
            for at, (prompt, own) in enumerate(zip(several, shown, strict=True)):
                if prompt.count("<image>") != len(own):
                    raise ValueError(f"prompt {at} has {prompt.count('<image>')} places for {len(own)} images")
            return super().process_input(shown, several, **kwargs)
        return super().process_input(images, text, prompt_template, **kwargs)


class Idefics2(Family):
    """Idefics2: the same prompts, with a token that ends a round; the base model has none."""

    model_name_in_transformers = "AutoModelForImageTextToText"
    support = HF_IDEFICS2

    default_processor_args = {"do_image_splitting": False}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """As of Idefics; `<end_of_utterance>` ends a round unless the model is the base one."""
        return templates.idefics("\\n" if self.model_name.endswith("-base") else "<end_of_utterance>\\n")


class LLaVa(Family):
    """LLaVA 1.5, and its interleaved successor."""

    model_name_in_transformers = "LlavaForConditionalGeneration"
    support = (*HF_LLAVA_15, *HF_LLAVA_INTERLEAVE)

    @property
    def default_prompt_template(self) -> str:
        """By the name of the model: `ROLE: …` for 1.5, marked turns for the interleaved ones."""
        return templates.marked(with_images=True) if "interleave" in self.model_name else templates.llava()

    def process_input(
        self, images: Any = None, text: Any = None, prompt_template: str | None = None, **kwargs: Any
    ) -> Any:
        """The images of a batch in one list, as its processor wants them."""
        if text is not None and images is not None:
            images = [one for own in images for one in (own if isinstance(own, (list, tuple)) else [own])]
        return super().process_input(images, text, prompt_template, **kwargs)


class Mistral(Family):
    """Mistral: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})

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
        """Marked turns after a system text."""
        return templates.marked("You are a helpful assistant.")


def _is_text(given: Any) -> bool:
    return isinstance(given, str) or (bool(given) and isinstance(given[0], str))


def from_transformers(name: str) -> Any:
    """A class of `transformers`; a missing library is one line that says how to install it."""
    try:
        import transformers  # type: ignore[import-not-found]
    except ImportError as error:
        raise MissingExtra("transformers", "'assay[hf]'", where="testbed.models") from error
    return getattr(transformers, name)
