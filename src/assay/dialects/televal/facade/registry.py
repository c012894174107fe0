"""`src.config`, `src.registry` and `src.task`: the registry, and the two stages of TELEVAL, as scripts use them.

`registry` reads the folder next to the user's `src/`; `Registry([folder, …])` reads other folders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core import AssayError, UsageError
from ...guest import Guest
from ...option_tables import truth
from ...protocol import error_of_rule
from ...shapes import Fields, Function, Record
from ..claims import KINDS
from ..televal_secrets import expand
from ..tree import RESERVED, dangling, read_tree
from . import utils
from .dataset import BatchLoader, BatchSaver

if TYPE_CHECKING:
    from ....runner.result import RunResult

SPEC_RESERVED_KEYWORDS = list(RESERVED)
TemplateStruct = str | Record | list[object]
RefType = object
RefsType = list[object]


@dataclass
class DatasetRuntimeCtx:
    """One dataset of a task during a run: the source of its rows, and the files for its results."""

    name: str
    loader: BatchLoader
    saver: BatchSaver
    summary_file: str | None = None


@dataclass
class EvalTaskCfg:
    """The arguments of an eval_task: the names of an evaluator and a summarizer in the registry."""

    evaluator: str
    summarizer: str
    batch_size: int | None = None


@dataclass
class InferTaskCfg:
    """The arguments of an infer_task: the names of datasets, a template, a model and an eval_task in the registry."""

    dataset: str | list[str]
    template: str
    model: str
    eval_task: str
    save_pred_audio: bool = False
    reverse_spkr: bool = False
    """True to swap the two speakers of a dialogue."""
    use_model_history: bool = True
    """True to continue a dialogue from the model's answers; False to continue it from the reference answers."""
    save_latest_only: bool = False
    """True to record and judge only the last round of a dialogue."""

    @property
    def datasets(self) -> list[str]:
        """The names of the datasets, as a list even if there is only one."""
        if isinstance(self.dataset, list):
            return self.dataset
        return [self.dataset]


class Registry:
    """Entries of one or more registry folders. A name is unique among the entries of its kind.

    `get_model(name)`, `get_dataset(name)` and so on build the object of an entry. `_model`, `_dataset` and so on
    contain the entries.
    """

    def __init__(
        self,
        registry_paths: Sequence[str | Path] | None = None,
        make: Function = utils.make_object,
    ) -> None:
        self._registry_paths = [
            Path(path) for path in (registry_paths or [Path.cwd() / "registry"])
        ]
        self._make = make

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("get_").removeprefix("_")
        if kind == name or kind not in KINDS:
            raise AttributeError(f"a registry has no {name!r}")
        entries = self._entries[kind]
        if name.startswith("_"):
            return entries
        return partial(self._dereference, d=entries, object=kind.replace("_", " "))

    def get_model_cfg(self, name: str, **kwargs: object) -> object:
        """Return the arguments of a model entry, without building the model."""
        return self._dereference(
            name,
            self._model,
            "model",
            config_only=True,
            **kwargs,
        )

    def _dereference(
        self,
        name: str,
        d: Fields,
        object: str,
        config_only: bool = False,
        **kwargs: object,
    ) -> object:
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
                specification = {
                    "args": dict(entry.args),
                    "key": entry.name,
                    "group": entry.file.name.partition(".")[0],
                    "registry_path": folder,
                }
                if entry.cls:
                    specification["cls"] = entry.cls
                by_kind[entry.kind][entry.name] = specification
        return by_kind


class BaseTask:
    """One stage (`infer` or `eval`) of an infer_task, with the options of TELEVAL's `main.py`.

    It runs like `assay televal`.
    """

    def __init__(
        self,
        mode: str,
        task: str,
        save_dir: str,
        *,
        registry: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.mode, self.task, self.save_dir = mode, task, save_dir
        self.registry = registry or str(Path.cwd() / "registry")
        self.kwargs = kwargs

    def run(self) -> "RunResult":
        """Run the stage and return the result; its files are under `save_dir`."""
        from ....runner.events import Silent
        from ....runner.options import RunOptions
        from ..televal_command import CommandLine, execute

        options = {k: value for k, value in self.kwargs.items() if value is not None}
        for name in ("save_pred_audio", "keep_meta_info"):
            if isinstance(options.get(name), str):
                options[name] = truth(options[name])
        if "bsz" in options:
            options["bsz"] = int(options["bsz"])
        command_line = CommandLine(
            self.mode,
            self.task,
            self.registry,
            save_dir=self.save_dir or ".",
            **options,
        )
        return execute(command_line, RunOptions(), Silent())[0]


class InferenceTask(BaseTask):
    """The stage that calls the model and writes predictions."""


class EvalTask(BaseTask):
    """The stage that judges the predictions."""


STAGES: dict[str, type[BaseTask]] = {"infer": InferenceTask, "eval": EvalTask}


class Pipeline:
    """Creates the stage for a mode: `InferenceTask` or `EvalTask`."""

    @staticmethod
    def create(
        mode: str,
        task: str,
        save_dir: str,
        **kwargs: Any,
    ) -> BaseTask:
        """Return the stage for the mode `infer` or `eval`."""
        if mode not in STAGES:
            raise ValueError(f"mode is infer or eval, not {mode!r}")
        return STAGES[mode](mode, task, save_dir, **kwargs)


def names_for(guest: Guest) -> Record:
    """Return the names `registry`, `DEFAULT_PATHS` and `Pipeline` for a user's checkout.

    They use the folder `registry/` of the checkout.
    """
    folder = guest.root / "registry"
    create = partial(Pipeline.create, registry=str(folder))
    return {
        "registry": Registry([folder], utils.names_for(guest)["make_object"]),
        "DEFAULT_PATHS": [folder],
        "Pipeline": type("Pipeline", (Pipeline,), {"create": staticmethod(create)}),
    }
