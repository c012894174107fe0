"""Treat a user's class as a model: inspect it without an instance, and build it when it is first needed."""

import inspect
import operator
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..core import Abilities, ComponentError, ModelError, UsageError, blamed, shorten

DECLARED: Mapping[str, tuple[type, str]] = {
    "abilities": (Abilities, "Abilities(accepts=…, produces=…), from assay.core"),
    "identity": (Mapping, "a dictionary of what makes its answers its own"),
}


class Builder:
    """Builds a user's class once. If building fails, the error is remembered and not repeated for every sample."""

    def __init__(self, kind: type, args: Mapping[str, Any], reference: str) -> None:
        self.kind, self.args, self.reference = kind, dict(args), reference
        self.built: Any = None
        self._error: ComponentError | None = None
        self._lock = threading.Lock()

    def build(self) -> Any:
        """Return the instance, building it if necessary."""
        if self.built is not None:
            return self.built
        with self._lock:
            if self._error is not None:
                raise self._error
            if self.built is None:
                try:
                    self.built = self.kind(**self.args)
                except Exception as error:
                    self._error = blamed(
                        ModelError,
                        error,
                        f"model {self.reference!r} could not be built",
                    )
                    raise self._error from error
        return self.built


def method_of(
    target: Any,
    name: str,
    builder: Builder | None,
    what: str,
) -> Callable[..., Any]:
    """Return a method of an object.

    For a class that is not built yet, return a function that builds it on the first call.
    """
    if builder is None:
        function = target if name == "__call__" else getattr(target, name)
        if not callable(function):
            raise UsageError(
                f"{what} is of type {type(target).__name__}, not a function or a class with `generate`",
                fix="write def generate(messages): …",
            )
        return function  # type: ignore[no-any-return]
    declared = next(
        (vars(kind)[name] for kind in target.__mro__ if name in vars(kind)), None
    )
    if declared is None and hasattr(target, "generate_inner"):
        raise UsageError(
            f"{what} has `generate_inner`, and does not derive from VLMEvalKit's BaseModel",
            fix=f"write class {target.__name__}(BaseModel), with `from vlmeval.vlm.base import BaseModel`",
        )
    if declared is None:
        raise UsageError(
            f"{what} is a class without `generate`",
            fix="write def generate(self, messages): …",
        )
    plain = getattr(target, name)
    if not callable(plain):
        raise UsageError(
            f"`{name}` of {what} is not a method but {plain!r}",
            fix=f"write def {name}(self, messages): …",
        )

    def method(*values: object, **options: object) -> Any:
        return getattr(builder.build(), name)(*values, **options)

    async def method_async(*values: object, **options: object) -> object:
        return await getattr(builder.build(), name)(*values, **options)

    chosen: Any = method_async if is_async(plain) else method
    signature = inspect.signature(plain)
    if inspect.isfunction(declared):
        parameters = list(signature.parameters.values())[1:]
        signature = signature.replace(parameters=parameters)
    chosen.__signature__ = signature
    return chosen  # type: ignore[no-any-return]


def check_alike(generate: Callable[..., Any], likelihood: object, what: str) -> None:
    """Raise if only one of `generate` and `likelihood` is `async`: a model is called in one way."""
    if callable(likelihood) and is_async(likelihood) != is_async(generate):
        raise UsageError(
            f"{what} has only one of `generate` and `likelihood` async",
            fix="make both alike",
        )


def check_declared(model: object, what: str, *, is_ready: bool = True) -> None:
    """Raise if a model declares an impossible attribute. No property is evaluated.

    A model that is not ready is adapted later. If its `identity` is not a dictionary, it is identified by its source.
    """
    for name in ("batch_size", "concurrency"):
        count = as_count(inspect.getattr_static(model, name, None))
        is_count = type(count) is int and count >= 1
        if count is not None and not is_count and not hasattr(count, "__get__"):
            raise UsageError(
                f"{name} must be a positive integer, got {shorten(count)}",
                where=what,
                fix="a whole number from 1 on",
            )
    for name, (kind, advice) in DECLARED.items():
        if name == "identity" and not is_ready:
            continue
        value = inspect.getattr_static(model, name, None)
        if (
            value is not None
            and not isinstance(value, kind)
            and not hasattr(value, "__get__")
        ):
            raise UsageError(
                f"`{name}` of {what} is {shorten(value)}",
                fix=f"write {name} = {advice}",
            )


def as_count(value: Any) -> Any:
    """Return an integer of any type as a plain int, and anything else unchanged."""
    if isinstance(value, bool):
        return value
    try:
        return operator.index(value)
    except TypeError:
        return value


def is_async(function: Callable[..., Any]) -> bool:
    """Return True if calling the function gives a coroutine."""
    method = getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)
