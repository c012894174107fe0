"""Trackers: record inputs, outputs, gradients or local variables of a model's modules, pass by pass.

A tracker has a list with one inner list for each pass, which has one entry for each
module that ran, in order. If a tracker is attached by `add_tracker`, each pass of the
model starts a new inner list; otherwise a module that runs again starts one.
"""

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import FrameType
from typing import Any, ClassVar

from ..parameters import accepted_by
from ..shapes import Function


def try_inject_params(fn: Function, **kwargs: object) -> Function:
    """Bind the keyword arguments that the function accepts; all of them if it has `**kwargs`."""
    bound = accepted_by(fn, kwargs)
    if bound:
        return partial(fn, **bound)
    return fn


def clone_to_device(
    obj: object,
    device: object = "cpu",
    check_cycles: bool = False,
    max_recur_depth: int = 1,
) -> object:
    """Return a copy of a structure with its tensors on a device, down to `max_recur_depth` levels.

    Values at deeper levels are returned unchanged.
    """
    identities: set[int] = set()

    def moved(value: object, depth: int) -> object:
        if depth > max_recur_depth or (check_cycles and id(value) in identities):
            return value
        identities.add(id(value))
        if hasattr(value, "detach") and hasattr(value, "to"):
            return value.to(device)
        if isinstance(value, Mapping):
            return {key: moved(inner, depth + 1) for key, inner in value.items()}
        kind: Any = type(value)
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes, range)):
            entries = [moved(entry, depth + 1) for entry in value]
            if hasattr(value, "_fields"):  # A named tuple takes its values one by one.
                return kind(*entries)
            return kind(entries)
        names = list(getattr(value, "__dict__", ()))
        for slot in getattr(kind, "__slots__", ()):
            if hasattr(value, slot):
                names.append(slot)
        if not names or isinstance(value, type):
            return value
        clone = copy.copy(value)
        for name in names:
            setattr(clone, name, moved(getattr(value, name), depth + 1))
        return clone

    return moved(obj, 0)


_ids = count()


@dataclass
class _Handle:
    """Detaches a tracker by its method `remove`, like the handles of torch's hooks."""

    remove: Callable[[], object]


class TrackerBase:
    """Base of the trackers: records values of modules from `track` until `remove`.

    The end of a `with` block calls `remove`.
    """

    fields: ClassVar[tuple[str, ...]] = ()
    """Names of the recorded values. Each is also an attribute with the recorded lists."""

    def __init__(
        self,
        data_props: Iterable[str],
        on_device: object = False,
    ) -> None:
        self._data: dict[str, list[list[Any]]] = {name: [] for name in data_props}
        self.to_device = (
            (None if on_device else "cpu") if isinstance(on_device, bool) else on_device
        )
        """The device to which recorded tensors are moved; `None` leaves them where they are."""
        self.id: int | None = None
        self._next = -1
        self._counts_itself = True
        self._ran: dict[int, bool] = {}
        """For each tracked module, by its id: whether it ran since the current list was started."""
        self._handles: list[Any] = []
        """Objects whose `remove` ends the tracking."""

    def __getattr__(self, name: str) -> Any:
        recorded = self.__dict__.get("_data", ())
        if name in type(self).fields and name in recorded:
            return self._of(name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def _of(self, name: str) -> list[list[Any]]:
        if not self.is_tracking:
            raise RuntimeError(
                f"{name} of a tracker that follows no model: ask for it before `remove`"
            )
        return self._data[name]

    def __enter__(self) -> "TrackerBase":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def is_tracking(self) -> bool:
        """True while modules are tracked."""
        return self.id is not None

    @property
    def auto_incre_index(self) -> bool:
        """True if a module that runs again starts a new list. If False, call `incre_next_index` to start one."""
        return self._counts_itself

    @auto_incre_index.setter
    def auto_incre_index(self, value: bool) -> None:
        if value != self._counts_itself:
            self._counts_itself = value
            self._ran = dict.fromkeys(self._ran, value)

    @property
    def next_index(self) -> int:
        """Index of the current list; -1 before the first pass."""
        if not self.is_tracking:
            raise AttributeError("next_index of a tracker that follows no model")
        return self._next

    def incre_next_index(self) -> None:
        """Start a new list, as for the next pass of the model."""
        if self._counts_itself:
            raise RuntimeError(
                "next_index advances automatically; set auto_incre_index = False to move it by hand"
            )
        self._begin()

    def _begin(self) -> None:
        self._next += 1
        for lists in self._data.values():
            lists.append([])

    def track(
        self,
        modules: list[Any],
        trackers_dict: MutableMapping[int, Any],
        extra_dict: object = None,
    ) -> None:
        """Start tracking these modules. `remove` ends it, and also deletes the tracker from `trackers_dict`."""
        if not isinstance(modules, list) or not hasattr(modules[0], "forward"):
            raise TypeError(
                f"modules should be a list of torch modules, not {modules!r}"
            )
        self.remove()
        self._ran = {id(module): self._counts_itself for module in modules}
        self._handles = [self._attach(module) for module in modules]
        self.id = next(_ids)
        self._handles.append(_Handle(partial(trackers_dict.pop, self.id, None)))

    def keep(self, module: object, **values: object) -> None:
        """Record values of a torch module, such as its inputs or gradients, in the list of the current forward pass."""
        if self._counts_itself:
            if self._ran.get(id(module), True):
                self._begin()
                self._ran = dict.fromkeys(self._ran, False)
            self._ran[id(module)] = True
        for name, value in values.items():
            if self.to_device is not None:
                value = clone_to_device(value, device=self.to_device)
            self._data[name][self._next].append(value)

    def clear(self) -> None:
        """Delete the recorded values."""
        for lists in self._data.values():
            lists.clear()
        self._ran = dict.fromkeys(self._ran, self._counts_itself)
        self._next = -1

    def remove(self) -> None:
        """Stop tracking, and delete the recorded values."""
        if not self.is_tracking:
            return
        self.clear()
        for handle in self._handles:
            handle.remove()
        self._handles, self.id = [], None

    def _attach(self, module: object) -> object:
        raise NotImplementedError(
            f"{type(self).__name__} records nothing: use a tracker with declared fields"
        )


class _HookTracker(TrackerBase):
    """Records the values that torch passes to a hook of the modules, under the names in `fields`."""

    register: ClassVar[str]
    """Name of the module's method that registers the hook."""

    def __init__(self, on_device: object = False) -> None:
        super().__init__(self.fields, on_device)

    def _attach(self, module: object) -> object:
        def hook(source: object, *values: object) -> None:
            self.keep(source, **dict(zip(self.fields, values, strict=True)))

        return getattr(module, self.register)(hook)


class ForwardTracker(_HookTracker):
    """Records the `inputs` and `outputs` of modules."""

    fields = ("inputs", "outputs")
    register = "register_forward_hook"


class GradTracker(_HookTracker):
    """Records the gradients of inputs (`grad_inputs`) and outputs (`grad_outputs`) of modules."""

    fields = ("grad_inputs", "grad_outputs")
    register = "register_full_backward_hook"


class LocalsTracker(TrackerBase):
    """Records the local variables of one method of each tracked module, each time the method returns.

    `get(name)` returns the values of one variable.
    """

    def __init__(
        self,
        method_name: str,
        varnames: Iterable[str],
        on_device: object = False,
    ) -> None:
        super().__init__(varnames, on_device)
        self.method_name = method_name

    def get(self, key: str) -> list[list[Any]]:
        """Return the recorded values of a local variable: one list for each pass."""
        if key not in self._data:
            raise KeyError(f"{key!r} is not followed: {', '.join(self._data)} are")
        return self._of(key)

    def _attach(self, module: object) -> object:
        method = getattr(module, self.method_name)
        if not callable(method):
            raise ValueError(
                f"{type(module).__name__}.{self.method_name} is not a method"
            )
        code = inspect.unwrap(getattr(method, "__func__", method)).__code__
        missing = [name for name in self._data if name not in code.co_varnames]
        if missing:
            where = f"{type(module).__name__}.{self.method_name}"
            raise ValueError(f"{where} has no local variable {', '.join(missing)}")

        def watched(*args: object, **kwargs: object) -> object:
            def look(
                frame: FrameType,
                event: str,
                _: object,
            ) -> None:
                if event == "return" and frame.f_code is code:
                    self.keep(
                        module,
                        **{name: frame.f_locals.get(name) for name in self._data},
                    )

            before = sys.getprofile()
            sys.setprofile(look)
            try:
                return method(*args, **kwargs)
            finally:
                sys.setprofile(before)

        setattr(module, self.method_name, watched)
        restore = partial(setattr, module, self.method_name, method)
        return _Handle(restore)
