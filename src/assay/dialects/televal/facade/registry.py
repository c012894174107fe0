"""`src.registry`: the entries of a registry by kind and name, built when they are asked for.

`registry` is the one beside the guest's `src/`; `Registry([folder, …])` is any other.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ....core import AssayError, UsageError
from ...protocol import is_upstream
from ..claims import KINDS
from ..secrets import expand
from ..tree import dangling, read_tree
from . import utils

SPEC_RESERVED_KEYWORDS = ["key", "group", "cls"]


class Registry:
    """Entries of some registry folders; a name stands for one thing of its kind."""

    def __init__(
        self, registry_paths: Sequence[str | Path] | None = None, make: Callable[..., Any] = utils.make_object
    ) -> None:
        self._registry_paths = [Path(path) for path in (registry_paths or [Path.cwd() / "registry"])]
        self._make = make

    def _dereference(
        self, name: str, d: Mapping[str, Any], object: str, config_only: bool = False, **kwargs: Any
    ) -> Any:
        if name not in d:
            fault = dangling(object, name, d, str(self._registry_paths[0]))
            raise NameError(str(fault)) if is_upstream("televal") else fault
        spec = d[name]
        spec["args"].update(kwargs)
        if config_only:
            return spec["args"]
        try:
            return self._make(spec["cls"], **expand(spec["args"]))
        except TypeError as error:
            raise TypeError(f"{object} {name!r}: {error}") from error

    def get_model(self, name: str, **kwargs: Any) -> Any:
        """The model of a name, built."""
        return self._dereference(name, self._model, "model", **kwargs)

    def get_model_cfg(self, name: str, **kwargs: Any) -> Any:
        """The arguments of a model."""
        return self._dereference(name, self._model, "model", config_only=True, **kwargs)

    def get_evaluator(self, name: str, **kwargs: Any) -> Any:
        """The evaluator of a name, built."""
        return self._dereference(name, self._evaluator, "evaluator", **kwargs)

    def get_eval_task(self, name: str, **kwargs: Any) -> Any:
        """The configuration of an eval_task."""
        return self._dereference(name, self._eval_task, "eval task", **kwargs)

    def get_infer_task(self, name: str, **kwargs: Any) -> Any:
        """The configuration of an infer_task."""
        return self._dereference(name, self._infer_task, "infer task", **kwargs)

    def get_dataset(self, name: str, **kwargs: Any) -> Any:
        """The dataset of a name, built."""
        return self._dereference(name, self._dataset, "dataset", **kwargs)

    def get_template(self, name: str, **kwargs: Any) -> Any:
        """The template of a name, built."""
        return self._dereference(name, self._template, "template", **kwargs)

    def get_summarizer(self, name: str, **kwargs: Any) -> Any:
        """The summarizer of a name, built."""
        return self._dereference(name, self._summarizer, "summarizer", **kwargs)

    @cached_property
    def _entries(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        for folder in self._registry_paths:
            try:
                entries = list(read_tree(folder).all())
            except AssayError as fault:
                raise _as_upstream(fault) if is_upstream("televal") else fault from fault
            for entry in entries:
                if entry.name in found[entry.kind]:
                    twice = UsageError(f"{entry.kind} {entry.name!r} is defined twice", where=entry.at())
                    raise _as_upstream(twice) if is_upstream("televal") else twice
                found[entry.kind][entry.name] = {
                    "args": dict(entry.args),
                    "key": entry.name,
                    "group": entry.file.name.partition(".")[0],
                    "registry_path": folder,
                    **({"cls": entry.cls} if entry.cls else {}),
                }
        return found

    @property
    def _model(self) -> dict[str, Any]:
        return self._entries["model"]

    @property
    def _dataset(self) -> dict[str, Any]:
        return self._entries["dataset"]

    @property
    def _evaluator(self) -> dict[str, Any]:
        return self._entries["evaluator"]

    @property
    def _template(self) -> dict[str, Any]:
        return self._entries["template"]

    @property
    def _eval_task(self) -> dict[str, Any]:
        return self._entries["eval_task"]

    @property
    def _infer_task(self) -> dict[str, Any]:
        return self._entries["infer_task"]

    @property
    def _summarizer(self) -> dict[str, Any]:
        return self._entries["summarizer"]


def _as_upstream(fault: AssayError) -> Exception:
    """The kind of error that upstream raises for a fault of its YAML files."""
    return AssertionError(str(fault)) if "twice" in str(fault) else ValueError(str(fault))


def names_for(guest: Any) -> dict[str, Any]:
    """`registry` and `DEFAULT_PATHS` of one guest: the folder beside its `src/`."""
    folder = guest.root / "registry"
    make = utils.names_for(guest)["make_object"]
    return {"registry": Registry([folder], make), "DEFAULT_PATHS": [folder]}
