"""`src.registry`: the entries of a registry by kind and name, built on demand.

`registry` reads the folder next to the user's `src/`; `Registry([folder, …])` reads other folders.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ....core import AssayError, UsageError
from ...protocol import error_of_rule
from ...shapes import Fields, Function, Record
from ..claims import KINDS
from ..televal_secrets import expand
from ..tree import dangling, read_tree
from . import utils

SPEC_RESERVED_KEYWORDS = ["key", "group", "cls"]


def _getter(
    kind: str,
    what: str,
    **fixed: Any,
) -> Function:
    """Return a registry method that builds an entry by its name; `what` is the docstring of the method."""

    def get(
        self: "Registry",
        name: str,
        **kwargs: Any,
    ) -> Any:
        return self._dereference(
            name,
            getattr(self, f"_{kind}"),
            kind.replace("_", " "),
            **fixed,
            **kwargs,
        )

    get.__doc__ = what
    return get


def _entries_of(kind: str) -> Any:
    """Return a property with the entries of one kind."""
    return property(lambda registry: registry._entries[kind])


class Registry:
    """Entries of some registry folders; a name is unique within its kind."""

    def __init__(
        self,
        registry_paths: Sequence[str | Path] | None = None,
        make: Function = utils.make_object,
    ) -> None:
        self._registry_paths = [
            Path(path) for path in (registry_paths or [Path.cwd() / "registry"])
        ]
        self._make = make

    def _dereference(
        self,
        name: str,
        d: Fields,
        object: str,
        config_only: bool = False,
        **kwargs: object,
    ) -> Any:
        if name not in d:
            fault = dangling(object, name, d, str(self._registry_paths[0]))
            raise error_of_rule("televal", fault, NameError)
        spec = d[name]
        spec["args"].update(kwargs)
        if config_only:
            return spec["args"]
        try:
            return self._make(spec["cls"], **expand(spec["args"]))
        except TypeError as error:
            raise TypeError(f"{object} {name!r}: {error}") from error

    get_model = _getter("model", "The model of a name, built.")
    get_model_cfg = _getter("model", "The arguments of a model.", config_only=True)
    get_evaluator = _getter("evaluator", "The evaluator of a name, built.")
    get_eval_task = _getter("eval_task", "The configuration of an eval_task.")
    get_infer_task = _getter("infer_task", "The configuration of an infer_task.")
    get_dataset = _getter("dataset", "The dataset of a name, built.")
    get_template = _getter("template", "The template of a name, built.")
    get_summarizer = _getter("summarizer", "The summarizer of a name, built.")

    @cached_property
    def _entries(self) -> dict[str, Record]:
        by_kind: dict[str, Record] = {kind: {} for kind in KINDS}
        for folder in self._registry_paths:
            try:
                entries = list(read_tree(folder).all())
            except AssayError as fault:
                kind = AssertionError if "twice" in str(fault) else ValueError
                raise error_of_rule("televal", fault, kind) from fault
            for entry in entries:
                if entry.name in by_kind[entry.kind]:
                    twice = UsageError(
                        f"{entry.kind} {entry.name!r} is defined twice",
                        where=entry.at(),
                    )
                    raise error_of_rule("televal", twice, AssertionError)
                by_kind[entry.kind][entry.name] = {
                    "args": dict(entry.args),
                    "key": entry.name,
                    "group": entry.file.name.partition(".")[0],
                    "registry_path": folder,
                    **({"cls": entry.cls} if entry.cls else {}),
                }
        return by_kind

    _model = _entries_of("model")
    _dataset = _entries_of("dataset")
    _evaluator = _entries_of("evaluator")
    _template = _entries_of("template")
    _eval_task = _entries_of("eval_task")
    _infer_task = _entries_of("infer_task")
    _summarizer = _entries_of("summarizer")


def names_for(guest: Any) -> Record:
    """Return `registry` and `DEFAULT_PATHS` for one user's checkout: the folder next to its `src/`."""
    folder = guest.root / "registry"
    make = utils.names_for(guest)["make_object"]
    return {"registry": Registry([folder], make), "DEFAULT_PATHS": [folder]}
