"""`testbed.utils.tracker`: what modules of a model were given, gave back, or held, pass by pass."""

import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any


class TrackerBase:
    """Follows modules; each pass of the model begins a new list."""

    def __init__(self) -> None:
        self.outputs: dict[str, list[Any]] = {}
        """What was kept of each module, in the order of the passes."""
        self.passes = 0
        self._handles: list[Any] = []

    def track(self, modules: Mapping[str, Any]) -> None:
        """Begins to follow."""
        for name, module in modules.items():
            self.outputs.setdefault(name, [])
            self._handles.append(self._attach(name, module))

    def next_pass(self) -> None:
        """Counts a pass of the model."""
        self.passes += 1

    def clear(self) -> None:
        """Forgets what was kept."""
        for kept in self.outputs.values():
            kept.clear()

    def remove(self) -> None:
        """Stops following."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _attach(self, name: str, module: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} follows nothing: use a tracker that says what it follows")


class ForwardTracker(TrackerBase):
    """Keeps what modules return."""

    def __init__(self, on_device: bool = False) -> None:
        super().__init__()
        self.on_device = on_device
        """Leaves tensors where they are; else they are copied to the CPU."""

    def _attach(self, name: str, module: Any) -> Any:
        def keep(_: Any, args: Any, output: Any) -> None:
            self.outputs[name].append(output if self.on_device else to_cpu(output))

        return module.register_forward_hook(keep)


class GradTracker(TrackerBase):
    """Keeps the gradients of what modules returned."""

    def _attach(self, name: str, module: Any) -> Any:
        def keep(_: Any, grad_input: Any, grad_output: Any) -> None:
            self.outputs[name].append(to_cpu(grad_output))

        return module.register_full_backward_hook(keep)


class LocalsTracker(TrackerBase):
    """Keeps local variables of the `forward` of modules, as they are when it returns."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = tuple(names)

    def _attach(self, name: str, module: Any) -> Any:
        forward = module.forward
        code = getattr(forward, "__func__", forward).__code__

        def watched(*args: Any, **kwargs: Any) -> Any:
            def look(frame: FrameType, event: str, _: Any) -> None:
                if event == "return" and frame.f_code is code:
                    held = {key: frame.f_locals[key] for key in self.names if key in frame.f_locals}
                    self.outputs[name].append(held)

            before = sys.getprofile()
            sys.setprofile(look)
            try:
                return forward(*args, **kwargs)
            finally:
                sys.setprofile(before)

        module.forward = watched
        return _Restore(module, forward)


class _Restore:
    def __init__(self, module: Any, forward: Any) -> None:
        self._module, self._forward = module, forward

    def remove(self) -> None:
        """Puts the module's own method back."""
        self._module.forward = self._forward


def to_cpu(value: Any) -> Any:
    """Tensors copied to the CPU, whatever they are packed in."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu()
    if isinstance(value, (list, tuple)):
        return type(value)(to_cpu(inner) for inner in value)
    if isinstance(value, dict):
        return {key: to_cpu(inner) for key, inner in value.items()}
    return value
