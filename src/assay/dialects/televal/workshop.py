"""From a registry to tasks: each infer_task, on each of its datasets, with its model, evaluator and summarizer."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core import AssayError, Output, PlanError, Sample, Task, UsageError
from ...scorers.choice.single_choice_zh import SingleChoiceZh
from .calling import FLAGS, Era
from .classes import Classes
from .evaluation import Evaluation, built_in
from .facade.config import EvalTaskCfg, InferTaskCfg
from .facade.dataset import BatchLoader
from .facade.evaluator.base import BuiltInEvaluator
from .facade.evaluator.llm import JudgedByModel, LLMScorer
from .facade.summarizer.summarizer import AvgWER
from .guest_model import GuestModel
from .rows import Batches, Reader, Spoken
from .secrets import expand, hidden, known_secrets, secrets_in
from .summaries import Statistic
from .tree import Entry, Tree

UPSTREAM = "@upstream"
"""Behind a registry: as TELEVAL measures. Reversed speakers answer what was said before, judges give whole numbers."""
PATHS = ("file", "save_query_audio_dir")
"""Arguments of a dataset that are paths, and start beside the registry where they are relative."""


@dataclass
class Workshop:
    """Builds the tasks of one tree; models are shared between them, so that weights are loaded once."""

    tree: Tree
    era: Era | None = None
    has_judge: bool = False
    """Whether the run gives a model as judge, which wins over keys in the YAML file."""
    models: dict[str, GuestModel] = field(default_factory=dict)
    is_upstream: bool = False

    @cached_property
    def classes(self) -> Classes:
        """The classes of the tree."""
        return Classes(self.tree.root)

    @cached_property
    def shape(self) -> Era:
        """Which shape of histories the tree was written for: the one that was asked for, else by its datasets."""
        if self.era is not None:
            return self.era
        return "seed" if any("is_local" in entry.args for entry in self.tree.entries["dataset"].values()) else "newest"

    def protocol(self, name: str) -> str:
        """What a task's numbers are called after."""
        return f"{name}{UPSTREAM}" if self.is_upstream else name

    def check(self, names: Sequence[str], *, eval_task: str | None = None, model: str | None = None) -> None:
        """Raises for every name and class that some infer_tasks lead to and that is not there; others are warned of."""
        chosen = [self.tree.get("infer_task", name) for name in names]
        also = [self.tree.get("eval_task", eval_task, "--eval_task")] if eval_task else []
        also += [self.tree.get("model", model, "--model")] if model and model in self.tree.names("model") else []
        faults: list[AssayError] = self.tree.faults([*chosen, *also])
        reached = self.reached([*chosen, *also])
        faults += self._class_faults(reached)
        if faults:
            raise faults[0] if len(faults) == 1 else PlanError(faults)
        seen = {(entry.kind, entry.name) for entry in reached}
        rest = [entry for entry in self.tree.all() if (entry.kind, entry.name) not in seen]
        unused = {str(fault): fault for fault in (*self.tree.faults(rest), *self._class_faults(rest))}
        for fault in unused:
            warnings.warn(f"{fault} (not needed for this run)", stacklevel=2)
        for entry in reached:
            for _ in secrets_in(entry.args):
                fix = "write ${env:NAME} and set NAME in the environment"
                warnings.warn(f"{entry.at()}: {entry.kind} {entry.name!r} holds a key; {fix}", stacklevel=2)
                break

    def reached(self, entries: Iterable[Entry]) -> list[Entry]:
        """Some entries and all that they lead to."""
        found: dict[tuple[str, str], Entry] = {}
        waiting = list(entries)
        while waiting:
            entry = waiting.pop(0)
            if (entry.kind, entry.name) not in found:
                found[entry.kind, entry.name] = entry
                known = ((kind, name) for _, kind, name in self.tree.linked(entry))
                waiting += [self.tree.entries[kind][name] for kind, name in known if name in self.tree.entries[kind]]
        return list(found.values())

    def _class_faults(self, entries: Iterable[Entry]) -> list[AssayError]:
        found = (self.classes.fault(entry) for entry in entries if entry.cls)
        return [fault for fault in found if fault is not None]

    def tasks(self, name: str, *, judged: bool = True, save_pred_audio: bool | None = None) -> list[Task]:
        """The tasks of one infer_task: one for each dataset it names; without judges, answers are only counted."""
        entry = self.tree.get("infer_task", name)
        task = self.infer_task(entry)
        datasets = task.dataset if isinstance(task.dataset, list) else [task.dataset]
        speaks = task.save_pred_audio if save_pred_audio is None else save_pred_audio
        switches = {flag: bool(getattr(task, flag)) for flag in FLAGS}
        made: list[Task] = []
        for dataset in datasets:
            loader = self.loader(dataset)
            label = label_of(name, dataset, datasets)
            reader = Reader.of(loader, self._built("template", task.template), self.tree.root, switches)
            reader = replace(reader, is_upstream=self.is_upstream)
            produces = ("text", "audio") if speaks else ("text",)
            judges: tuple[Any, ...] = (answered,)
            if judged:
                judges = self.judges(task.eval_task, loader, entry.at("eval_task"))
            made.append(
                Task(
                    name=label,
                    dataset=loader.source if isinstance(loader, BatchLoader) else Batches(loader),
                    to_sample=reader,
                    template=Spoken(produces),
                    scorers=judges[:1],
                    summarizers=judges[1:],
                    protocol=self.protocol(label),
                    history="model" if task.use_model_history else "reference",
                    produces=produces,
                    models=self.guest_models(task.model),
                    description=f"TELEVAL infer_task of {entry.file.name}",
                )
            )
        return made

    def infer_task(self, entry: Entry) -> InferTaskCfg:
        """The configuration of an infer_task."""
        config: InferTaskCfg = self._config(entry, InferTaskCfg)
        return config

    def loader(self, dataset: str) -> Any:
        """The dataset of a name, its relative paths looked for beside the registry."""
        entry = self.tree.get("dataset", dataset)
        given = {name: self._beside(entry.args[name]) for name in PATHS if isinstance(entry.args.get(name), str)}
        placed = Entry(entry.kind, entry.name, entry.cls, {**entry.args, **given}, entry.file, entry.line, entry.lines)
        return self.classes.build(placed)

    def judges(
        self, eval_task: str, loader: Any, where: str | None = None, batch_size: int | None = None
    ) -> tuple[Any, Statistic]:
        """The scorer and the summarizer of an eval_task."""
        config = self._config(self.tree.get("eval_task", eval_task, where), EvalTaskCfg)
        summary = self.tree.get("summarizer", config.summarizer)
        summarizer = self.classes.build(summary)
        if type(summarizer) is AvgWER and self.shape == "seed":
            summarizer.label = "WER"
        statistic = Statistic(summary.name, self.classes.find(summary), summary.args, summarizer)
        entry = self.tree.get("evaluator", config.evaluator)
        kind = self.classes.find(entry)
        self.classes.check_args(entry, kind)
        if kind is LLMScorer and (self.has_judge or not tuple(secrets_in(expand(entry.args), is_expanded=True))):
            scorer = self._as_asked(self.classes.build(entry).scorer)
            return built_in(entry.name, scorer, loader, (statistic,), self.shape), statistic
        if isinstance(kind, type) and issubclass(kind, BuiltInEvaluator) and "evaluate" not in vars(kind):
            scorer = self._as_asked(self.classes.build(entry).scorer)
            if isinstance(scorer, SingleChoiceZh) and getattr(loader, "query_col", None):
                scorer = replace(scorer, question=loader.query_col)
            return built_in(entry.name, scorer, loader, (statistic,), self.shape), statistic
        if not callable(getattr(kind, "evaluate", None)):
            raise UsageError(f"{entry.cls} has no method `evaluate`", where=entry.at("class"))
        return (
            Evaluation(
                entry.name,
                kind,
                hidden(entry.args),
                lambda: self._evaluator(entry),
                loader,
                (statistic,),
                batch_size or config.batch_size or 1,
                self.shape,
                known_secrets(entry.args),
            ),
            statistic,
        )

    def _evaluator(self, entry: Entry) -> Any:
        made = self.classes.build(entry)
        if isinstance(made, LLMScorer):
            made.whole_scores = self.is_upstream
        return made

    def _as_asked(self, scorer: Any) -> Any:
        """A scorer of ours, as TELEVAL has it where that was asked for."""
        return replace(scorer, whole_scores=True) if self.is_upstream and isinstance(scorer, JudgedByModel) else scorer

    def guest_models(self, first: str) -> Mapping[str, GuestModel]:
        """The models of the tree, the task's own first."""
        names = [first, *(name for name in self.tree.names("model") if name != first)]
        return {name: self.model(name) for name in names if self.tree.get("model", name).cls}

    def model(self, name: str) -> GuestModel:
        """The model of a name; the same object each time."""
        if name not in self.models:
            entry = self.tree.get("model", name)
            self.models[name] = GuestModel(entry, self.classes, self.shape)
        return self.models[name]

    def _built(self, kind: str, name: str) -> Any:
        return self.classes.build(self.tree.get(kind, name))

    def _config(self, entry: Entry, kind: type) -> Any:
        self.classes.check_args(entry, kind)
        return kind(**expand(entry.args))

    def _beside(self, path: str) -> str:
        given = Path(path).expanduser()
        beside = self.tree.root / given
        return str(beside) if not given.is_absolute() and (beside.exists() or not given.exists()) else str(given)


def label_of(name: str, dataset: str, datasets: Sequence[str]) -> str:
    """What one dataset of an infer_task is called: as the infer_task, which names its files, where it has only one."""
    return name if len(datasets) == 1 else f"{name}.{dataset}"


def answered(sample: Sample, output: Output) -> float:
    """1 for every answer that came: nothing is judged while a model is only asked."""
    return 1.0
