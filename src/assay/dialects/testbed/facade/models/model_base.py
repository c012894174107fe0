"""`testbed.models.model_base`: a pretrained model with its processor, and the prompt template that joins them.

Weights are read by the classes the user names; remote code is run only if the user's own call says so.
"""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from ....protocol import is_upstream
from ...rendering import arranged, in_either_form, render
from .research import WhiteBox


class ModelBase(WhiteBox):  # a torch module where torch is installed
    """A model, its processor and its prompt template; subclasses give `default_prompt_template`."""

    def __init__(
        self,
        model_root: str,
        processor_class: Any,
        model_class: Any,
        support_models: Sequence[str] | None = None,
        processor_args: Mapping[str, Any] | None = None,
        model_args: Mapping[str, Any] | None = None,
        **common_args: Any,
    ) -> None:
        super().__init__()
        self.prompt_template: str | None = None
        self.processor = _instantiate(
            processor_class, model_root, {**(processor_args or {}), **common_args}
        )
        self.model = _instantiate(
            model_class, model_root, {**(model_args or {}), **common_args}
        )
        self.model_name = os.path.basename(str(model_root).rstrip("/"))
        self.config = getattr(self.model, "config", None)
        if support_models is not None and self.model_name not in support_models:
            warnings.warn(
                f"{self.model_name!r} is none of {', '.join(support_models)}: its prompt template may not fit",
                stacklevel=2,
            )
        self._assay_pad_left()
        self._assay_watch()

    def _assay_pad_left(self) -> None:
        """New tokens are cut off after the longest prompt of a batch, so shorter ones are filled up in front."""
        if is_upstream("testbed"):
            return
        for holder in self._assay_holders():
            if hasattr(holder, "padding_side") and not getattr(
                self.config, "is_encoder_decoder", False
            ):
                holder.padding_side = "left"

    def _assay_holders(self) -> list[Any]:
        """What may hold a chat template: the processor, and its tokenizer where it has one."""
        return [
            self.processor,
            *(
                [self.processor.tokenizer]
                if hasattr(self.processor, "tokenizer")
                else []
            ),
        ]

    @property
    def default_prompt_template(self) -> str:
        """The template of the processor or of its tokenizer; subclasses write their own."""
        for holder in self._assay_holders():
            if hasattr(holder, "get_chat_template"):
                return str(holder.get_chat_template())
            if isinstance(getattr(holder, "chat_template", None), str):
                return str(holder.chat_template)
        raise RuntimeError(
            f"{type(self).__name__} has no default_prompt_template, and its processor has no chat template"
        )

    @property
    def device(self) -> Any:
        """Where the model lies."""
        return getattr(self.model, "device", None)

    def apply_prompt_template(
        self,
        conversation: Sequence[Any],
        prompt_template: str | None = None,
        tokenize: bool = False,
        **kwargs: Any,
    ) -> Any:
        """A conversation as a prompt, or a list of them; the place to write stands at the very end.

        The template is the argument, else `self.prompt_template`, else the default one. As upstream, messages stay
        where they stand, and the template alone decides who writes and which form of content it takes.
        """
        if conversation and not isinstance(conversation[0], Mapping):
            return [
                self.apply_prompt_template(one, prompt_template, tokenize, **kwargs)
                for one in conversation
            ]
        template = (
            prompt_template if prompt_template is not None else self.prompt_template
        )
        is_bare = (
            template is None
            and type(self).default_prompt_template is ModelBase.default_prompt_template
        )
        # A processor may render by itself without saying by which template.
        chosen = (
            None
            if is_bare and not is_upstream("testbed")
            else template or self._assay_default_template()
        )
        if tokenize:
            kwargs.setdefault(
                "return_dict", False
            )  # ids alone, whatever the library's default is
        if is_upstream("testbed"):
            return self._assay_apply(chosen)(conversation, tokenize=tokenize, **kwargs)
        messages = arranged(
            conversation, asks=bool(kwargs.pop("add_generation_prompt", False))
        )
        if template is None and self._assay_speaks_own_template:
            # The processor's own template knows nothing of open messages: it writes the assistant's header itself.
            spoken = [message for message in messages if "content" in message]
            kwargs["add_generation_prompt"] = len(spoken) < len(messages)
            messages = spoken
        apply = self._assay_apply(chosen)
        if tokenize:
            return apply(messages, tokenize=True, **kwargs)
        return in_either_form(
            messages, lambda form: str(apply(form, tokenize=False, **kwargs))
        )

    apply_prompt_tempalte = apply_prompt_template
    """As the how-to document spells it."""

    def _assay_default_template(self) -> str:
        template: Any = self.default_prompt_template
        return str(template() if callable(template) else template)

    @property
    def _assay_speaks_own_template(self) -> bool:
        """Whether the default template is the one the processor brings."""
        return type(self).default_prompt_template is ModelBase.default_prompt_template

    def _assay_apply(self, template: str | None) -> Callable[..., Any]:
        """What renders a conversation: the processor's own method, its tokenizer's, or, without either, ours."""
        apply = next(
            (
                h.apply_chat_template
                for h in self._assay_holders()
                if hasattr(h, "apply_chat_template")
            ),
            None,
        )
        if apply is not None:
            return apply if template is None else partial(apply, chat_template=template)

        def rendered(
            conversation: Sequence[Any], *, tokenize: bool, **kwargs: Any
        ) -> str:
            if tokenize:
                raise RuntimeError(
                    f"{type(self.processor).__name__} cannot tokenize a conversation"
                )
            return render(
                template or self._assay_default_template(), conversation, **kwargs
            )

        return rendered

    def process_input(
        self,
        images: Any = None,
        text: Any = None,
        prompt_template: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """What the processor makes of images and text; conversations are rendered first. Text may come alone."""
        if text is None:
            images, text = None, images
        if is_conversation(text):
            text = self._assay_rendered(text, prompt_template)
        image_arguments = {} if images is None else {"images": images}
        padding, tensors = (
            kwargs.pop("padding", True),
            kwargs.pop("return_tensors", "pt"),
        )
        return self.processor(
            **image_arguments,
            text=text,
            padding=padding,
            return_tensors=tensors,
            **kwargs,
        )

    def _assay_rendered(self, text: Any, prompt_template: str | None = None) -> Any:
        """Conversations as prompts that ask someone to speak; whichever spelling a subclass overrides is used."""
        is_misspelt = (
            type(self).apply_prompt_tempalte is not ModelBase.apply_prompt_tempalte
        )
        apply = (
            self.apply_prompt_tempalte if is_misspelt else self.apply_prompt_template
        )
        if is_upstream("testbed"):
            return apply(text, prompt_template=prompt_template)
        several = not isinstance(text[0], Mapping)
        whole = [arranged(one, asks=True) for one in (text if several else [text])]
        return apply(whole if several else whole[0], prompt_template=prompt_template)

    def generate(
        self,
        *inputs: Any,
        processor_args: Mapping[str, Any] | None = None,
        return_inputs: bool = False,
        return_generated_ids: bool = False,
        **generate_args: Any,
    ) -> Any:
        """The new text of each prompt; `generate(images, text)` or `generate(text)`."""
        with _no_gradients():
            processed = self._assay_processed(inputs, processor_args or {})
            ids = (
                processed["input_ids"]
                if isinstance(processed, Mapping)
                else processed.input_ids
            )
            start = ids.shape[-1]
            generated = self.model.generate(**processed, **generate_args)[:, start:]
        outputs = self.processor.batch_decode(generated, skip_special_tokens=True)
        if not return_inputs and not return_generated_ids:
            return outputs
        more = {"inputs": processed} if return_inputs else {}
        return {
            "outputs": outputs,
            **more,
            **({"generated_ids": generated} if return_generated_ids else {}),
        }

    def forward(
        self,
        *inputs: Any,
        processor_args: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """What the model itself returns for the processed inputs."""
        return self.model(
            **self._assay_processed(inputs, processor_args or {}), **kwargs
        )

    def _assay_processed(
        self, inputs: Sequence[Any], processor_args: Mapping[str, Any]
    ) -> Any:
        arguments = list(inputs)
        try:
            inspect.signature(self.process_input).bind(*arguments, **processor_args)
        except TypeError:
            arguments.insert(
                0, None
            )  # a subclass that insists on images is told that there are none
        processed = self.process_input(*arguments, **processor_args)
        if not hasattr(processed, "to"):
            return processed
        moved = processed.to(self.device)
        if (
            "pixel_values" in moved
            and (kind := getattr(self.model, "dtype", None)) is not None
        ):
            moved["pixel_values"] = moved["pixel_values"].to(
                kind
            )  # as exact as the weights
        return moved


def is_conversation(text: Any) -> bool:
    """Whether a text is a list of messages, or a list of such lists."""
    if isinstance(text, str) or not isinstance(text, Sequence) or not text:
        return False
    first = text[0]
    return isinstance(first, Mapping) or (
        isinstance(first, list) and bool(first) and isinstance(first[0], Mapping)
    )


def _instantiate(kind: Any, model_root: str, args: Mapping[str, Any]) -> Any:
    return kind.from_pretrained(model_root, **{"trust_remote_code": False, **args})


def _no_gradients() -> AbstractContextManager[Any]:
    torch = sys.modules.get("torch")
    context: AbstractContextManager[Any] = (
        torch.no_grad() if torch is not None else nullcontext()
    )
    return context
