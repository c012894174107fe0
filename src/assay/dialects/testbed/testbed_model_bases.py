"""`ModelBase`, the base class of the testbed's models, and its access to submodules: hooks, trackers, replacements.

A `ModelBase` is a torch module with the wrapped model as its attribute `model`, so that
torch provides `to`, `eval`, `state_dict` and `parameters`. Without torch, attributes
that `ModelBase` does not define are looked up in the wrapped model.

`generate` and `forward` make the model's inputs in these steps, of which subclasses override some:

    process_input            calls the processor with images and texts
    apply_prompt_template    before that, renders conversations as texts
    default_prompt_template  the template for it, if none was set
"""

import inspect
import os
import re
import sys
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

from ..protocol import is_upstream
from ..shapes import Fields, Function, Record
from .testbed_rendering import arranged, in_either_form, render
from .testbed_trackers import try_inject_params

if TYPE_CHECKING:
    Module: Any = object
else:
    try:
        from torch.nn import Module
    except ImportError:
        Module = object

HOOKS = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
)


class WhiteBox(Module):  # type: ignore[misc]
    """Lets users hook, track and replace the modules inside `self.model`."""

    model: Any
    processor: Any

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped model if the model base class does not have it."""
        if Module is not object:
            try:
                return super().__getattr__(name)
            except AttributeError:
                pass
        # A torch module keeps the wrapped model among its submodules.
        attributes = {**self.__dict__.get("_modules", {}), **self.__dict__}
        model = attributes.get("model")
        if model is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return getattr(model, name)

    def _assay_watch(self) -> None:
        """Make all trackers start a new list at each forward pass of the model."""
        self._trackers_dict: OrderedDict[int, Any] = OrderedDict()
        if hasattr(self.model, "register_forward_pre_hook"):
            self.model.register_forward_pre_hook(self._assay_count_pass, prepend=True)

    def _assay_count_pass(self, *_: object) -> None:
        """Start a new list in all trackers, at the start of a forward pass.

        Return None, because torch would use any other value as the pass's arguments.
        """
        for tracker in self._trackers_dict.values():
            tracker.incre_next_index()

    def _assay_modules(self, selector: object) -> Record:
        """Return the selected modules by name.

        The selector is a regular expression, a list of names, or a class. A pattern that
        matches no name is searched in the names that modules had in older versions.
        """
        modules = dict(self.model.named_modules())
        if isinstance(selector, type):
            return {n: m for n, m in modules.items() if isinstance(m, selector)}
        if isinstance(selector, (list, tuple)):
            return {n: m for n, m in modules.items() if n in selector}
        if isinstance(selector, str):
            matching = {n: m for n, m in modules.items() if re.search(selector, n)}
            if matching:
                return matching
            return {
                n: m for n, m in modules.items() if re.search(selector, former_name(n))
            }
        raise TypeError(
            f"modules are named by a pattern or a list of names, not {selector!r}"
        )

    def _assay_matching(self, selector: object) -> Record:
        """Return the selected modules by name, as `_assay_modules` does. Raise if there are none."""
        is_selector = isinstance(selector, (type, str, list, tuple))
        modules = self._assay_modules(selector) if is_selector else {}
        if not modules:
            raise ValueError(f"no module matches {selector!r}")
        return modules

    def add_tracker(self, module_name: object, tracker: Any) -> None:
        """Attach a tracker to modules. Each forward pass of the model starts a new list of values."""
        # As upstream, trackers choose modules by name only: for a class, `track` raises an error.
        is_class = isinstance(module_name, type)
        matching = {} if is_class else self._assay_matching(module_name)
        tracker.track(list(matching.values()), self._trackers_dict)
        tracker.auto_incre_index = False
        self._trackers_dict[tracker.id] = tracker

    def replace_module(
        self,
        module_name_or_type: object,
        new: object,
        *,
        strict: bool = True,
        **init_args: object,
    ) -> None:
        """Replace the matching modules, each by a new instance of a class, or by the given modules in order."""
        matching = self._assay_matching(module_name_or_type)
        if isinstance(new, type):
            modules: list[Any] = [new(**init_args) for _ in matching]
        else:
            modules = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(modules) != len(matching):
            raise ValueError(
                f"{len(matching)} modules match and {len(modules)} are given"
            )
        for (name, old), module in zip(matching.items(), modules, strict=True):
            if strict:
                _check_parameters(old.forward, module.forward, name)
            outer, _, last = name.rpartition(".")
            holder = attrgetter(outer)(self.model) if outer else self.model
            setattr(holder, last, module)

    def replace_module_method(
        self,
        module_name_or_type: object,
        method_name: str,
        new_method: Function,
        *,
        strict: bool = True,
    ) -> None:
        """Replace a method of the matching modules by a function, which may take `module_name` and `old_method`."""
        for name, module in self._assay_matching(module_name_or_type).items():
            old = getattr(module, method_name, None)
            if old is None:
                raise ValueError(f"module {name!r} has no method {method_name!r}")
            if strict:
                _check_parameters(old, new_method, name, skip=1)
            bound = try_inject_params(new_method, module_name=name, old_method=old)
            setattr(module, method_name, MethodType(bound, module))


def former_name(name: str) -> str:
    """Return the name that a module of a vision-language model had before `transformers` 4.52."""
    inner = re.sub(r"^model\.language_model\.", "language_model.model.", name)
    return re.sub(
        r"^model\.(?=vision_tower|multi_modal_projector|connector|vision_model)",
        "",
        inner,
    )


def _hooked(name: str) -> Function:
    """Return a method that registers torch hooks of the kind `name`.

    It is called as `(hook)` for the model itself, or as `(names, hook)` for some of its
    modules. The hook may have a parameter `module_name`.
    """

    def register(self: WhiteBox, first: Any, *args: Any, **options: object) -> object:
        if callable(first):
            return getattr(Module, name)(self, first, *args, **options)
        hook = args[0]
        return [
            getattr(module, name)(
                try_inject_params(hook, module_name=module_name), **options
            )
            for module_name, module in self._assay_modules(first).items()
        ]

    register.__name__ = name
    return register


for _name in HOOKS:
    setattr(WhiteBox, _name, _hooked(_name))
if Module is object:
    WhiteBox.__call__ = lambda self, *args, **kwargs: self.forward(*args, **kwargs)  # type: ignore[method-assign]


def _check_parameters(
    old: Function,
    new: Function,
    name: str,
    skip: int = 0,
) -> None:
    """Raise if a replacement's parameters do not start with those of the original. `skip` ignores its first ones."""
    before = list(inspect.signature(old).parameters)
    after = list(inspect.signature(new).parameters)[skip:]
    if before != after[: len(before)]:
        raise ValueError(
            f"what replaces {name!r} takes ({', '.join(after)}) and must begin with ({', '.join(before)});"
            " strict=False lets it pass"
        )


class ModelBase(WhiteBox):  # A torch module if torch is installed.
    """A model, its processor and its prompt template. Subclasses define `default_prompt_template`."""

    def __init__(
        self,
        model_root: str,
        processor_class: object,
        model_class: object,
        support_models: Sequence[str] | None = None,
        processor_args: Fields | None = None,
        model_args: Fields | None = None,
        **common_args: object,
    ) -> None:
        super().__init__()
        self.prompt_template: str | None = None
        self.processor = _instantiate(
            processor_class,
            model_root,
            {**(processor_args or {}), **common_args},
        )
        self.model = _instantiate(
            model_class,
            model_root,
            {**(model_args or {}), **common_args},
        )
        self.model_name = os.path.basename(str(model_root).rstrip("/"))
        self.config = getattr(self.model, "config", None)
        if support_models is not None and self.model_name not in support_models:
            warnings.warn(
                f"{self.model_name!r} is none of {', '.join(support_models)}: its prompt template may not fit",
                stacklevel=2,
            )
        continues = not getattr(self.config, "is_encoder_decoder", False)
        if continues and not is_upstream("testbed"):
            # New tokens start after the longest prompt of a batch.
            for holder in self._assay_holders():
                if hasattr(holder, "padding_side"):
                    holder.padding_side = "left"
        self._assay_watch()

    @property
    def device(self) -> object:
        """The device of the model."""
        return getattr(self.model, "device", None)

    def generate(
        self,
        *inputs: object,
        processor_args: Fields | None = None,
        return_inputs: bool = False,
        return_generated_ids: bool = False,
        **generate_args: object,
    ) -> object:
        """Return the model's continuation of each prompt.

        Call it as `generate(images, text)` or `generate(text)`.
        """
        with _no_gradients():
            processed = self._assay_processed(inputs, processor_args or {})
            if isinstance(processed, Mapping):
                ids = processed["input_ids"]
            else:
                ids = processed.input_ids
            start = ids.shape[-1]
            generated = self.model.generate(
                **processed,
                **generate_args,
            )[:, start:]
        outputs = self.processor.batch_decode(generated, skip_special_tokens=True)
        if not return_inputs and not return_generated_ids:
            return outputs
        result = {"outputs": outputs}
        if return_inputs:
            result["inputs"] = processed
        if return_generated_ids:
            result["generated_ids"] = generated
        return result

    def forward(
        self,
        *inputs: object,
        processor_args: Fields | None = None,
        **kwargs: object,
    ) -> object:
        """Process the inputs, call the model, and return its output unchanged."""
        return self.model(
            **self._assay_processed(inputs, processor_args or {}),
            **kwargs,
        )

    def _assay_processed(
        self,
        inputs: Sequence[Any],
        processor_args: Fields,
    ) -> Any:
        """Return the output of `process_input`, on the device of the model and with images in its precision."""
        arguments = list(inputs)
        try:
            inspect.signature(self.process_input).bind(*arguments, **processor_args)
        except TypeError:
            # Pass None for images to a subclass that requires them.
            arguments.insert(0, None)
        processed: Any = self.process_input(*arguments, **processor_args)
        if not hasattr(processed, "to"):
            return processed
        moved = processed.to(self.device)
        precision = getattr(self.model, "dtype", None)
        if "pixel_values" in moved and precision is not None:
            moved["pixel_values"] = moved["pixel_values"].to(precision)
        return moved

    def process_input(
        self,
        images: object = None,
        text: object = None,
        prompt_template: str | None = None,
        **kwargs: object,
    ) -> object:
        """Return the processor's output for images and texts. Conversations are rendered first.

        Images may be omitted.
        """
        if text is None:
            images, text = None, images
        if is_conversation(text):
            text = self._assay_rendered(text, prompt_template)
        settings = {"padding": True, "return_tensors": "pt", **kwargs}
        if images is not None:
            settings["images"] = images
        return self.processor(text=text, **settings)

    def _assay_rendered(
        self,
        text: Any,
        prompt_template: str | None = None,
    ) -> Any:
        """Render conversations as prompts that end where the model's turn begins.

        A subclass may override `apply_prompt_template` under either spelling.
        """
        own_misspelt = type(self).apply_prompt_tempalte
        if own_misspelt is not ModelBase.apply_prompt_tempalte:
            apply = self.apply_prompt_tempalte
        else:
            apply = self.apply_prompt_template
        if is_upstream("testbed"):
            return apply(text, prompt_template=prompt_template)
        is_single = isinstance(text[0], Mapping)
        if is_single:
            conversations: Any = arranged(text, asks=True)
        else:
            conversations = [arranged(entry, asks=True) for entry in text]
        return apply(conversations, prompt_template=prompt_template)

    def apply_prompt_template(
        self,
        conversation: Sequence[Any],
        prompt_template: str | None = None,
        tokenize: bool = False,
        **kwargs: object,
    ) -> object:
        """Render a conversation as a prompt, or a list of conversations as a list. The model's turn comes last.

        The template is the argument. If it is None, `self.prompt_template` is used, and
        if that is None, too, the default. Under upstream's rules, messages keep their
        order, and are passed to the template unchanged.
        """
        if conversation and not isinstance(conversation[0], Mapping):
            return [
                self.apply_prompt_template(entry, prompt_template, tokenize, **kwargs)
                for entry in conversation
            ]
        if tokenize:
            # Return only ids, regardless of the library's default.
            kwargs.setdefault("return_dict", False)
        template, is_processors = self._assay_template(prompt_template)
        if is_upstream("testbed"):
            apply = self._assay_apply(template or self._assay_default_template())
            return apply(conversation, tokenize=tokenize, **kwargs)
        apply = self._assay_apply(template)
        asks = bool(kwargs.pop("add_generation_prompt", False))
        messages = arranged(conversation, asks=asks)
        if is_processors:
            # The processor's own template cannot render messages without content: it adds the assistant's header.
            with_content = [message for message in messages if "content" in message]
            kwargs["add_generation_prompt"] = len(with_content) < len(messages)
            messages = with_content
        if tokenize:
            return apply(messages, tokenize=True, **kwargs)
        return in_either_form(
            messages, lambda form: str(apply(form, tokenize=False, **kwargs))
        )

    apply_prompt_tempalte = apply_prompt_template
    """The same method under the misspelled name in the testbed's how-to document."""

    def _assay_template(self, prompt_template: str | None) -> tuple[str | None, bool]:
        """Return the template to render with, and whether it is the processor's own.

        The template is None if the processor has several templates and chooses one
        itself.
        """
        template = self.prompt_template if prompt_template is None else prompt_template
        if template is not None:
            return template, False
        if self._assay_is_bare:
            return None, True
        return self._assay_default_template(), self._assay_uses_own_template

    @property
    def default_prompt_template(self) -> str:
        """The chat template of the processor or of its tokenizer. Subclasses define another one."""
        for holder in self._assay_holders():
            if hasattr(holder, "get_chat_template"):
                return str(holder.get_chat_template())
            if isinstance(getattr(holder, "chat_template", None), str):
                return str(holder.chat_template)
        raise RuntimeError(
            f"{type(self).__name__} has no default_prompt_template, and its processor has no chat template"
        )

    def _assay_default_template(self) -> str:
        template: Any = self.default_prompt_template
        return str(template() if callable(template) else template)

    @property
    def _assay_is_bare(self) -> bool:
        """True if the class does not define a prompt template. The processor's own template is then used."""
        return type(self).default_prompt_template is ModelBase.default_prompt_template

    _assay_uses_own_template = _assay_is_bare
    """True if the class uses the chat template of the processor or the tokenizer."""

    def _assay_apply(self, template: str | None) -> Function:
        """Return the function that renders a conversation with a template.

        This is `apply_chat_template` of the processor or its tokenizer. If neither has
        it, this is assay's own function.
        """
        for holder in self._assay_holders():
            if hasattr(holder, "apply_chat_template"):
                apply: Function = holder.apply_chat_template
                return (
                    apply
                    if template is None
                    else partial(apply, chat_template=template)
                )

        def rendered(
            conversation: Sequence[Any],
            *,
            tokenize: bool,
            **kwargs: object,
        ) -> str:
            if tokenize:
                raise RuntimeError(
                    f"{type(self.processor).__name__} cannot tokenize a conversation"
                )
            return render(
                template or self._assay_default_template(),
                conversation,
                **kwargs,
            )

        return rendered

    def _assay_holders(self) -> list[Any]:
        """Return the objects that may have a chat template: the processor and, if it has one, its tokenizer."""
        processor = self.processor
        has_tokenizer = hasattr(processor, "tokenizer")
        return [processor, processor.tokenizer] if has_tokenizer else [processor]


def is_conversation(text: object) -> bool:
    """Return True if an input is a list of messages, or a list of such lists."""
    if isinstance(text, str) or not isinstance(text, Sequence) or not text:
        return False
    first = text[0]
    return isinstance(first, Mapping) or (
        isinstance(first, list) and bool(first) and isinstance(first[0], Mapping)
    )


def _instantiate(
    kind: Any,
    model_root: str,
    args: Fields,
) -> object:
    return kind.from_pretrained(model_root, **{"trust_remote_code": False, **args})


def _no_gradients() -> AbstractContextManager[Any]:
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.no_grad()
