"""White-box extras of the testbed's models: hooks by module name, trackers, modules and methods replaced.

They work on whatever has torch's `named_modules` and `register_*_hook`; torch itself is not imported.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

CHANGES_ITSELF = frozenset(
    {"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_"}
)


class WhiteBox:
    """What looks inside `self.model`."""

    model: Any
    processor: Any

    def __getattr__(self, name: str) -> Any:
        """Everything else a torch module has (`to`, `eval`, `parameters`, …) is the wrapped model's."""
        model = self.__dict__.get("model")
        if model is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        found = getattr(model, name)
        if name not in CHANGES_ITSELF:
            return found

        def changed(*args: Any, **kwargs: Any) -> "WhiteBox":
            found(*args, **kwargs)
            return self

        return changed

    def _watch(self) -> None:
        """Lets trackers count the passes of the model."""
        self._trackers: list[Any] = []
        if hasattr(self.model, "register_forward_pre_hook"):
            self.model.register_forward_pre_hook(self._count_pass)

    def _count_pass(self, *_: Any) -> None:
        """Returns nothing, since torch takes anything else for the arguments of the pass."""
        for tracker in self._trackers:
            tracker.next_pass()

    def _matching(self, wanted: Any) -> dict[str, Any]:
        """Modules by name: a text is a pattern, a list holds exact names, a class matches its instances."""
        if isinstance(wanted, str):
            chosen = {n: m for n, m in self.model.named_modules() if re.search(wanted, n)}
        elif isinstance(wanted, (list, tuple)):
            chosen = {n: m for n, m in self.model.named_modules() if n in wanted}
        elif isinstance(wanted, type):
            chosen = {n: m for n, m in self.model.named_modules() if isinstance(m, wanted)}
        else:
            raise TypeError(f"modules are named by a pattern, a list of names or a class, not {wanted!r}")
        if not chosen:
            raise ValueError(f"no module matches {wanted!r}")
        return chosen

    def _hook(self, method: str, *args: Any, **options: Any) -> Any:
        if callable(args[0]):
            return getattr(self.model, method)(*args, **options)
        wanted, hook = args[0], args[1]
        return [
            getattr(module, method)(given_if_taken(hook, module_name=name), **options)
            for name, module in self._matching(wanted).items()
        ]

    def register_forward_hook(self, *args: Any, **options: Any) -> Any:
        """`(hook)` on the model, or `(names, hook)` on modules of it; the hook may take `module_name`."""
        return self._hook("register_forward_hook", *args, **options)

    def register_forward_pre_hook(self, *args: Any, **options: Any) -> Any:
        """The same, before a module runs."""
        return self._hook("register_forward_pre_hook", *args, **options)

    def register_full_backward_hook(self, *args: Any, **options: Any) -> Any:
        """The same, when gradients of a module are computed."""
        return self._hook("register_full_backward_hook", *args, **options)

    def register_full_backward_pre_hook(self, *args: Any, **options: Any) -> Any:
        """The same, before gradients of a module are computed."""
        return self._hook("register_full_backward_pre_hook", *args, **options)

    def add_tracker(self, module_name: Any, tracker: Any) -> None:
        """Lets a tracker follow modules."""
        tracker.track(self._matching(module_name))
        self._trackers.append(tracker)

    def replace_module(self, module_name_or_type: Any, new: Any, *, strict: bool = True, **init_args: Any) -> None:
        """Puts other modules in the place of those that match: one of a class for each, or the given ones in turn."""
        found = self._matching(module_name_or_type)
        if isinstance(new, type):
            made: Sequence[Any] = [new(**init_args) for _ in found]
        else:
            made = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(made) != len(found):
            raise ValueError(f"{len(found)} modules match and {len(made)} are given")
        for (name, old), module in zip(found.items(), made, strict=True):
            if strict:
                _check_parameters(old.forward, module.forward, name)
            holder = self.model
            *outer, last = name.split(".")
            for part in outer:
                holder = getattr(holder, part)
            setattr(holder, last, module)

    def replace_module_method(
        self, module_name_or_type: Any, method_name: str, new_method: Callable[..., Any], *, strict: bool = True
    ) -> None:
        """Puts a function in the place of a method; it may take `module_name` and `old_method`."""
        for name, module in self._matching(module_name_or_type).items():
            old = getattr(module, method_name, None)
            if old is None:
                raise ValueError(f"module {name!r} has no method {method_name!r}")
            if strict:
                _check_parameters(old, new_method, name, skip=1)
            bound = given_if_taken(new_method, module_name=name, old_method=old)
            setattr(module, method_name, MethodType(bound, module))


def given_if_taken(function: Callable[..., Any], **extras: Any) -> Callable[..., Any]:
    """The function with those extras bound that it has parameters for."""
    names = inspect.signature(function).parameters
    bound = {name: value for name, value in extras.items() if name in names}
    if not bound:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **bound, **kwargs)

    return call


def _check_parameters(old: Callable[..., Any], new: Callable[..., Any], name: str, skip: int = 0) -> None:
    before, after = list(inspect.signature(old).parameters), list(inspect.signature(new).parameters)[skip:]
    if before != after[: len(before)]:
        raise ValueError(
            f"what replaces {name!r} takes ({', '.join(after)}) and must begin with ({', '.join(before)});"
            " strict=False lets it pass"
        )
