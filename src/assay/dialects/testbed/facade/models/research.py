"""White-box extras of the testbed's models: hooks by module name, trackers, modules and methods replaced.

A model is a torch module that holds the one it wraps as `model`, so that `to`, `eval`, `state_dict` and `parameters`
are torch's. Without torch, and for a model that only looks like torch's, they are the wrapped model's own.
"""

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from ..utils import try_inject_params

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
CHANGES_ITSELF = (
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "double",
    "bfloat16",
    "eval",
    "train",
    "requires_grad_",
)


class WhiteBox(Module):  # type: ignore[misc]
    """What looks inside `self.model`."""

    model: Any
    processor: Any

    def __getattr__(self, name: str) -> Any:
        """What neither this nor a torch module has is the wrapped model's."""
        if Module is not object:
            try:
                return super().__getattr__(name)
            except AttributeError:
                pass
        attributes = self.__dict__
        model = attributes.get("model") or (attributes.get("_modules") or {}).get(
            "model"
        )
        if model is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return getattr(model, name)

    def _assay_watch(self) -> None:
        """Lets trackers count the passes of the model."""
        self._trackers_dict: OrderedDict[int, Any] = OrderedDict()
        if hasattr(self.model, "register_forward_pre_hook"):
            self.model.register_forward_pre_hook(self._assay_count_pass, prepend=True)

    def _assay_count_pass(self, *_: Any) -> None:
        """Returns nothing, since torch takes anything else for the arguments of the pass."""
        for tracker in self._trackers_dict.values():
            tracker.incre_next_index()

    def _assay_named(self, wanted: Any) -> dict[str, Any]:
        """Modules by name: a text is a pattern, a list holds exact names."""
        if isinstance(wanted, str):
            named = dict(self.model.named_modules())
            found = {n: m for n, m in named.items() if re.search(wanted, n)}
            return found or {
                n: m for n, m in named.items() if re.search(wanted, former_name(n))
            }
        if isinstance(wanted, (list, tuple)):
            return {n: m for n, m in self.model.named_modules() if n in wanted}
        raise TypeError(
            f"modules are named by a pattern or a list of names, not {wanted!r}"
        )

    def _assay_matching(self, wanted: Any) -> dict[str, Any]:
        """Modules by name or, where a class is given, its instances; at least one."""
        if isinstance(wanted, type):
            chosen = {
                n: m for n, m in self.model.named_modules() if isinstance(m, wanted)
            }
        else:
            chosen = (
                self._assay_named(wanted)
                if isinstance(wanted, (str, list, tuple))
                else {}
            )
        if not chosen:
            raise ValueError(f"no module matches {wanted!r}")
        return chosen

    def _assay_hook(self, method: str, *args: Any, **options: Any) -> Any:
        if callable(args[0]):
            register = getattr(super(), method, None) or getattr(self.model, method)
            return register(*args, **options)
        wanted, hook = args[0], args[1]
        return [
            getattr(module, method)(
                try_inject_params(hook, module_name=name), **options
            )
            for name, module in self._assay_named(wanted).items()
        ]

    def add_tracker(self, module_name: Any, tracker: Any) -> None:
        """Lets a tracker follow modules; passes of the model move it on."""
        found = (
            {} if isinstance(module_name, type) else self._assay_matching(module_name)
        )
        tracker.track(list(found.values()), self._trackers_dict)
        tracker.auto_incre_index = False
        self._trackers_dict[tracker.id] = tracker
        tracker.name_modules(list(found))

    def replace_module(
        self,
        module_name_or_type: Any,
        new: Any,
        *,
        strict: bool = True,
        **init_args: Any,
    ) -> None:
        """Puts other modules in the place of those that match: one of a class for each, or the given ones in turn."""
        found = self._assay_matching(module_name_or_type)
        if isinstance(new, type):
            modules: Sequence[Any] = [new(**init_args) for _ in found]
        else:
            modules = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(modules) != len(found):
            raise ValueError(f"{len(found)} modules match and {len(modules)} are given")
        for (name, old), module in zip(found.items(), modules, strict=True):
            if strict:
                _check_parameters(old.forward, module.forward, name)
            holder = self.model
            *outer, last = name.split(".")
            for part in outer:
                holder = getattr(holder, part)
            setattr(holder, last, module)

    def replace_module_method(
        self,
        module_name_or_type: Any,
        method_name: str,
        new_method: Callable[..., Any],
        *,
        strict: bool = True,
    ) -> None:
        """Puts a function in the place of a method; it may take `module_name` and `old_method`."""
        for name, module in self._assay_matching(module_name_or_type).items():
            old = getattr(module, method_name, None)
            if old is None:
                raise ValueError(f"module {name!r} has no method {method_name!r}")
            if strict:
                _check_parameters(old, new_method, name, skip=1)
            bound = try_inject_params(new_method, module_name=name, old_method=old)
            setattr(module, method_name, MethodType(bound, module))


def former_name(name: str) -> str:
    """What a module of a model that sees was called before `transformers` 4.52 put its parts under `model`."""
    inner = re.sub(r"^model\.language_model\.", "language_model.model.", name)
    return re.sub(
        r"^model\.(?=vision_tower|multi_modal_projector|connector|vision_model)",
        "",
        inner,
    )


def _forwarded(name: str) -> Callable[..., Any]:
    """A method that changes the model and gives back whom it was asked of."""

    def change(self: WhiteBox, *args: Any, **kwargs: Any) -> WhiteBox:
        if Module is not object and isinstance(self.model, Module):
            getattr(Module, name)(self, *args, **kwargs)
        elif hasattr(self.model, name):
            getattr(self.model, name)(*args, **kwargs)
        return self

    change.__name__ = name
    return change


def _hooked(name: str) -> Callable[..., Any]:
    """torch's method of this name: `(hook)` on the model, or `(names, hook)` on modules of it.

    The hook may take `module_name`.
    """

    def register(self: WhiteBox, *args: Any, **options: Any) -> Any:
        return self._assay_hook(name, *args, **options)

    register.__name__ = name
    return register


for _name in HOOKS:
    setattr(WhiteBox, _name, _hooked(_name))
for _name in CHANGES_ITSELF:
    setattr(WhiteBox, _name, _forwarded(_name))
if Module is object:
    WhiteBox.__call__ = lambda self, *args, **kwargs: self.forward(*args, **kwargs)  # type: ignore[method-assign]


def _check_parameters(
    old: Callable[..., Any], new: Callable[..., Any], name: str, skip: int = 0
) -> None:
    before, after = (
        list(inspect.signature(old).parameters),
        list(inspect.signature(new).parameters)[skip:],
    )
    if before != after[: len(before)]:
        raise ValueError(
            f"what replaces {name!r} takes ({', '.join(after)}) and must begin with ({', '.join(before)});"
            " strict=False lets it pass"
        )
