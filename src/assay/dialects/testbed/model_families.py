"""The model families that the testbed ships, and their prompt templates."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import EMPTY, library
from .testbed_model_bases import ModelBase, is_conversation

_FIRST_IS_HEAD = "{% if messages[0]['role'] | lower in ['instruction', 'system'] %}"
_LATER = "{% set messages = messages[1:] %}{% endif %}"
_WRITER = "{% if ends %}{% set writer.role = message['role'] %}{% endif %}"
_NAMED = (
    "{% if message['role'] %}{{ message['role'].capitalize() }}@WRITER@"
    "{{ ':' if 'content' not in message or message['content'][0]['type'] == 'image' else ': ' }}{% endif %}"
).replace("@WRITER@", _WRITER)
_PART = "{{ '<image>' if part['type'] == 'image' else part['text'] if part['type'] == 'text' else '' }}"
_BY_NAME = "{{ writer.role.capitalize() + ':' }}"
_MARKED_HEADER = "{{ '<|im_start|>' + @SPEAKER@ + '\\n' }}"
_MARKED_HEAD = "{{ '<|im_start|>' + messages[0]['role'] + '\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"


def _template(head: str, first: str, header: str, body: str, asks: str) -> str:
    """Return a template of a head, then turns, then the header of the answer.

    A turn is a header and, if the message has content, a body. `first` is the role that answers until a message has
    ended a round.
    """
    return (
        f"{head}{{% set asker = messages[0]['role'] %}}{{% set writer = namespace(role='{first}') %}}"
        "{% for message in messages %}{% set ends = loop.last or loop.nextitem['role'] == asker %}"
        f"{header}{{% if 'content' in message %}}{body}{{% endif %}}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{asks}{{% endif %}}"
    )


def _head(text: str, otherwise: str = "") -> str:
    """Return the template of an initial instruction, which is not part of the rounds."""
    later = (
        _LATER
        if not otherwise
        else _LATER.replace("{% endif %}", f"{{% else %}}{otherwise}{{% endif %}}")
    )
    return f"{_FIRST_IS_HEAD}{text}{later}"


def _named_head(end: str) -> str:
    return _head(
        f"{{{{ messages[0]['role'].capitalize() + ': ' + messages[0]['content'] + '{end}' }}}}"
    )


def _marked(head: str, body: str) -> str:
    """Return the template of turns between `<|im_start|>` and `<|im_end|>`."""
    header, asks = (
        _MARKED_HEADER.replace("@SPEAKER@", who)
        for who in ("message['role']", "writer.role")
    )
    return _template(head, "assistant", f"{_WRITER}{header}", body, asks)


def _texts(between: str, after: str) -> str:
    """Return the template of a message's texts. Texts of the answering role are marked as generated."""
    piece = f"{{{{ {between} + part['text'] + {after} }}}}"
    return (
        "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}"
        f"{{% if message['role'] == writer.role %}}{{% generation %}}{piece}{{% endgeneration %}}"
        f"{{% else %}}{piece}{{% endif %}}{{% endfor %}}"
    )


def _images(text: str) -> str:
    return (
        "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}"
        f"{{{{ '{text}' }}}}{{% endfor %}}"
    )


def idefics() -> str:
    """Return the template `Image:<image> Question: … Answer: …`, one round per line."""
    return _parts_by_name(
        "\\n",
        "{{ '' if loop.last else ' ' }}",
        "{{ '\\n' if ends else ' ' }}",
    )


def idefics2(end: str) -> str:
    """Return the template `Image:<image>`, `Question: …`, `Answer: …`: one message per line, each closed by `end`."""
    return _parts_by_name(f"{end}\\n", "", f"{{{{ '{end}\\n' }}}}")


def _parts_by_name(after_head: str, after_part: str, after_message: str) -> str:
    body = f"{{% for part in message['content'] %}}{_PART}{after_part}{{% endfor %}}{after_message}"
    return _template(_named_head(after_head), "Assistant", _NAMED, body, _BY_NAME)


def llava() -> str:
    """Return the template of `IMAGE: <image>`, a line break, then `QUESTION: … ANSWER: …`."""
    header = f"{_WRITER}{{{{ message['role'].upper() + ':' }}}}"
    body = "{{ ' ' }}" + _images("<image>\\n") + _texts("''", "' '")
    head = _head("{{ messages[0]['content'] + '\\n' }}")
    return _template(head, "ASSISTANT", header, body, "{{ writer.role.upper() + ':' }}")


def llava_interleaved() -> str:
    """Return the template of turns between `<|im_start|>` and `<|im_end|>`: the images, then a line for each text."""
    return _marked(
        _head(_MARKED_HEAD),
        _images("<image>") + _texts("'\\n'", "''") + "{{ '<|im_end|>\\n' }}",
    )


def qwen(default_system: str) -> str:
    """Return the template of turns between `<|im_start|>` and `<|im_end|>` after an instructing first turn."""
    default = f"{{{{ '<|im_start|>system\\n{default_system}<|im_end|>\\n' }}}}"
    return _marked(
        _head(_MARKED_HEAD, default), "{{ message['content'] + '<|im_end|>\\n' }}"
    )


def mistral() -> str:
    """Return the template `Role: …`, one message per line."""
    header = f"{{% if message['role'] %}}{{{{ message['role'].capitalize() + ':' }}}}{_WRITER}{{% endif %}}"
    body = "{{ (' ' if message['role'] else '') + message['content'] + '\\n' }}"
    return _template(_named_head("\\n"), "Assistant", header, body, _BY_NAME)


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
    """A family of models. A subclass names its classes, and its models if the template depends on them."""

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
        """Return the model's own chat template, and warn that the family has no template for this name."""
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
        """Return `Image:<image> Question: … Answer: …`."""
        return idefics()

    def process_input(
        self,
        images: Any = None,
        text: Any = None,
        prompt_template: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return each prompt as its texts and images, so that the processor keeps images at their positions."""
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
            list(_interleaved(index, *pair))
            for index, pair in enumerate(zip(prompts, images_by_prompt, strict=True))
        ]
        padding, tensors = (
            kwargs.pop("padding", True),
            kwargs.pop("return_tensors", "pt"),
        )
        return self.processor(
            text=pieces,
            padding=padding,
            return_tensors=tensors,
            **kwargs,
        )


def _interleaved(at: int, prompt: str, images: Sequence[Any]) -> Iterator[Any]:
    *texts, last = prompt.split("<image>")
    if len(texts) != len(images):
        raise ValueError(
            f"prompt {at} has {len(texts)} places for {len(images)} images"
        )
    for before, image in zip(texts, images, strict=True):
        if before:
            yield before
        yield image
    if last:
        yield last


class Idefics2(Family):
    """Idefics2: one message per line, closed by a token, except for the base model."""

    model_name_in_transformers = "AutoModelForImageTextToText"
    support = HF_IDEFICS2

    default_processor_args = {"do_image_splitting": False}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """Return the template in which `<end_of_utterance>` ends a message, unless the model is the base one."""
        return idefics2(
            "" if self.model_name == "idefics2-8b-base" else "<end_of_utterance>"
        )


class LLaVa(Family):
    """LLaVA 1.5, and its interleaved successor."""

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
        """Return the template by model name: `ROLE: …` for 1.5, marked turns for interleaved ones, else its own."""
        if self.model_name in HF_LLAVA["llava-1.5"]:
            return llava()
        if self.model_name in HF_LLAVA["llava-interleave"]:
            return llava_interleaved()
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
        """Return the images of a batch in one list, as its processor expects them."""
        if text is not None and images is not None:
            images = [
                image
                for entry in images
                for image in (entry if isinstance(entry, (list, tuple)) else [entry])
            ]
        return super().process_input(images, text, prompt_template, **kwargs)


class Mistral(Family):
    """Mistral: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})
    default_processor_args = {"chat_template": mistral()}  # noqa: RUF012 - read only

    @property
    def default_prompt_template(self) -> str:
        """Return `Role: …`, one message per line."""
        return mistral()


class Qwen2(Family):
    """Qwen 1.5 and 2: text only."""

    processor_name = "AutoTokenizer"
    accepts = frozenset({"text"})

    @property
    def default_prompt_template(self) -> str:
        """Return marked turns after a system text; for other names the model's own template."""
        if self.model_name.startswith(QWEN):
            return qwen("You are a helpful assistant.")
        return self._assay_own_template(" and ".join(f"{start}…" for start in QWEN))

    @property
    def _assay_speaks_own_template(self) -> bool:
        return not self.model_name.startswith(QWEN)


def from_transformers(name: str) -> Any:
    """Return a class of `transformers`. Raise an error that says how to install it if it is missing."""
    transformers = library(
        "transformers",
        "transformers",
        "'assay[hf]'",
        where="testbed.models",
    )
    return getattr(transformers, name)
