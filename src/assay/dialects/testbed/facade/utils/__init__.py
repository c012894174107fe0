"""`testbed.utils`: functions given what they take, and things copied to a device."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any


def try_inject_params(fn: Callable[..., Any], **kwargs: Any) -> Callable[..., Any]:
    """The function with those keywords bound that it has parameters for; all of them where it takes any."""
    parameters = inspect.signature(fn).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    bound = {
        name: value for name, value in kwargs.items() if takes_any or name in parameters
    }
    return partial(fn, **bound) if bound else fn


def clone_to_device(
    obj: Any, device: Any = "cpu", check_cycles: bool = False, max_recur_depth: int = 1
) -> Any:
    """A copy whose tensors lie on a device, looked for so many levels deep; what lies deeper stays as it is."""
    identities: set[int] = set()

    def moved(value: Any, depth: int) -> Any:
        if depth > max_recur_depth or (check_cycles and id(value) in identities):
            return value
        identities.add(id(value))
        if hasattr(value, "detach") and hasattr(value, "to"):
            return value.to(device)
        if isinstance(value, Mapping):
            return {key: moved(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes, range)):
            inner = [moved(one, depth + 1) for one in value]
            return (
                type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
            )  # type: ignore[call-arg]
        slots = [
            name
            for name in getattr(type(value), "__slots__", ())
            if hasattr(value, name)
        ]
        names = [*getattr(value, "__dict__", ()), *slots]
        if not names or isinstance(value, type):
            return value
        clone = copy.copy(value)
        for name in names:
            setattr(clone, name, moved(getattr(value, name), depth + 1))
        return clone

    return moved(obj, 0)
