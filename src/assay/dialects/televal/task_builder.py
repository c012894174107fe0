"""Build tasks from a registry: each infer_task, on each of its datasets, with its model, evaluator and summarizer."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ...code.userfiles import file_digest
from ...core import Output, PlanError, Sample, Task, UsageError, nearest
from ...scorers.choice.single_choice_zh import SingleChoiceZh
from ..protocol import is_upstream
from .answer_evaluators import BuiltInEvaluator, ExistMatch, SingleOptionMatch
from .eras import Era, Rule, era_of
from .facade.dataset import BatchLoader
from .facade.registry import EvalTaskCfg, InferTaskCfg
from .guest_model import GuestModel
from .judge_evaluators import LLMScorer
from .summaries import Statistic
from .televal_calling import FLAGS
from .televal_classes import Classes
from .televal_evaluation import AwaitedBuiltIn, BuiltIn, Evaluation, Line
from .televal_rows import Batches, Columns, Reader, Spoken
from .televal_secrets import expand, hidden, holds_key, known_secrets
from .tree import Entry, Tree

UPSTREAM = "@upstream"
"""Suffix of a registry's path that selects TELEVAL's own rules.

Under these rules, judges' scores are integers. If the speakers are reversed, the
previous turn is the reference.
"""
OURS = "assay.dialects.televal."
UNNEEDED: Mapping[str, frozenset[str]] = {
    "infer": frozenset({"eval_task"}),
    "eval": frozenset({"model", "template", "dataset"}),
}
"""Arguments of an infer_task that the modes `infer` and `eval` do not use."""
HEAD_ROWS = 100
"""Number of a dataset's first rows that are read to find its columns."""
PATHS = ("file", "save_query_audio_dir")
"""Arguments of a dataset that are paths. Relative paths start at the registry's parent folder."""


T = TypeVar("T")


@dataclass
class TaskBuilder:
    """Builds the tasks of one registry. They share models, so that weights are loaded once."""

    tree: Tree
    era: Era | None = None
    roles: frozenset[str] = frozenset()
    """Roles of helper models that the run sets. If `judge` is one of them, API keys in the YAML file are ignored."""
    models: dict[str, GuestModel] = field(default_factory=dict)
    is_upstream: bool = False

    def __post_init__(self) -> None:
        self.is_upstream = self.is_upstream or is_upstream("televal")
        root = self.tree.root
        self.classes = Classes(root)
        self.rule = Rule(self.era or era_of(root), self.is_upstream, root.resolve())
        """The rules of these tasks: the requested era or else that of the tree, and whether upstream's rules apply."""

    def protocol(self, name: str) -> str:
        """Return the name of a task in protocol ids, followed by `@upstream` if upstream's rules apply."""
        return f"{name}{UPSTREAM}" if self.is_upstream else name

    def check(
        self,
        names: Sequence[str],
        *,
        mode: str | None = None,
        eval_task: str | None = None,
        model: str | None = None,
    ) -> None:
        """Raise one error that lists all missing entries and classes that infer_tasks refer to.

        Only entries that a mode needs are checked: `infer` uses no evaluator; `eval`
        uses no model, template or dataset.
        """
        entries = [self.tree.get("infer_task", name) for name in names]
        skipped = set(UNNEEDED.get(mode or "", ()))
        for kind, name in (("eval_task", eval_task), ("model", model)):
            if not name:
                continue
            # A model may also be one of assay's.
            is_entry = kind == "eval_task" or name in self.tree.names(kind)
            if is_entry and kind not in skipped:
                entries.append(self.tree.get(kind, name, f"--{kind}"))
            skipped.add(kind)
        reached, faults = self.tree.reached(entries, skipped)
        with self.rule.applied():
            for entry in reached:
                fault = self.classes.fault(entry) if entry.cls else None
                if fault is not None:
                    faults.append(fault)
        if faults:
            raise faults[0] if len(faults) == 1 else PlanError(faults)
        for entry in reached:
            if holds_key(entry.args):
                fix = "write ${env:NAME} and set NAME in the environment"
                warnings.warn(
                    f"{entry.at()}: {entry.kind} {entry.name!r} holds a key; {fix}",
                    stacklevel=2,
                )

    def tasks(
        self,
        name: str,
        *,
        judged: bool = True,
        save_pred_audio: bool | None = None,
        by_dataset: bool = False,
        batch_size: int | None = None,
    ) -> list[Task]:
        """Return the tasks of one infer_task, one for each of its datasets.

        If `judged` is False, no evaluator is called, and every answer scores 1.
        """
        entry = self.tree.get("infer_task", name)
        task = self.infer_task(entry)
        speaks = task.save_pred_audio if save_pred_audio is None else save_pred_audio
        produces = ("text", "audio") if speaks else ("text",)
        tasks: list[Task] = []
        for dataset in task.datasets:
            loader = self.loader(dataset)
            loader.batch_size = batch_size or getattr(loader, "batch_size", 1)
            reader = Reader.of(
                loader,
                self.build(self.tree.get("template", task.template)),
                self.tree.root,
                {flag: bool(getattr(task, flag)) for flag in FLAGS},
                self.rule,
                # Upstream puts the audio clips of all datasets of a task into the folder of the last one.
                str(task.datasets[-1]) if self.is_upstream else "",
            )
            check_columns(self.tree.get("dataset", dataset), loader, reader)
            judges: tuple[object, ...] = (answered,)
            if judged:
                columns = reader.columns
                judges = self.judges(task.eval_task, columns, entry.at("eval_task"))
            rows = Batches(loader, self.is_upstream)
            label = dataset if by_dataset else label_of(name, dataset, task.datasets)
            tasks.append(
                Task(
                    name=label,
                    dataset=loader.source if reader.is_streamed else rows,
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
        return tasks

    def infer_task(self, entry: Entry) -> InferTaskCfg:
        """Return the configuration of an infer_task."""
        return self._config(entry, InferTaskCfg)

    def loader(self, dataset: str) -> Any:
        """Build a dataset by name. Relative paths in its arguments start at the registry's parent folder."""
        entry = self.tree.get("dataset", dataset)
        args = dict(entry.args)
        for name in PATHS:
            if isinstance(args.get(name), str):
                args[name] = self._beside(args[name])
        return self.build(replace(entry, args=args))

    def build(self, entry: Entry) -> Any:
        """Build the object of a registry entry, under the rules of this run."""
        with self.rule.applied():
            return self.classes.build(entry)

    def judges(
        self,
        eval_task: str,
        columns: Columns,
        where: str | None = None,
        batch_size: int | None = None,
        lines: Callable[[], Sequence[Line]] | None = None,
        file: Path | None = None,
    ) -> tuple[Evaluation | BuiltIn, Statistic]:
        """Return the scorer and the summarizer of an eval_task.

        `lines` returns all predictions, if they are in a file. Evaluators for lists
        then receive batches of that file.
        """
        config = self._config(self.tree.get("eval_task", eval_task, where), EvalTaskCfg)
        summary = self.tree.get("summarizer", config.summarizer)
        statistic = Statistic(
            summary.name,
            self.classes.find(summary),
            summary.args,
            self.build(summary),
            self.rule,
        )
        entry = self.tree.get("evaluator", config.evaluator)
        kind = self.classes.find(entry)
        self.classes.check_args(entry, kind)
        scorer = self._native(entry, kind)
        if scorer is not None:
            if isinstance(scorer, SingleChoiceZh) and columns.query:
                scorer = replace(scorer, question=columns.query)
            is_awaited = inspect.iscoroutinefunction(type(scorer).__call__)
            wrapper = AwaitedBuiltIn if is_awaited else BuiltIn
            built_in = wrapper(
                entry.name,
                scorer,
                columns,
                (statistic,),
                self.rule.era,
                kind.result_of,
            )
            return built_in, statistic
        if not callable(getattr(kind, "evaluate", None)):
            raise UsageError(
                f"{entry.cls} has no method `evaluate`", where=entry.at("class")
            )
        size = int(batch_size or config.batch_size or 1)
        if hasattr(kind.evaluate, "single"):
            size = 1
        evaluation = Evaluation(
            entry.name,
            kind,
            hidden(entry.args),
            lambda: self.build(entry),
            columns,
            (statistic,),
            size,
            file_digest(file) if file is not None and size > 1 else "",
            self.rule,
            known_secrets(entry.args),
            lines,
        )
        return evaluation, statistic

    def _native(
        self,
        entry: Entry,
        kind: Any,
    ) -> Any:
        """Return assay's scorer for a built-in evaluator, or None if the evaluator itself must be called.

        The evaluator itself is called if it is the user's own, if it is a judge with
        API keys in the YAML file, or if funasr can run it here. Under upstream's rules,
        it is also called if it compares text.
        """
        if kind is LLMScorer:
            has_keys = bool(known_secrets(expand(entry.args)))
            is_called = has_keys and "judge" not in self.roles
            return None if is_called else self.build(entry).scorer
        is_built_in = isinstance(kind, type) and issubclass(kind, BuiltInEvaluator)
        if not is_built_in or not kind.evaluate.__module__.startswith(OURS):
            return None
        evaluator = self.build(entry)
        needs = set(getattr(evaluator.scorer, "needs", ()))
        if needs:
            can_hear = getattr(getattr(evaluator, "model", None), "can_hear", False)
            is_called = can_hear and not self.roles & needs
        else:
            is_text = isinstance(evaluator, (ExistMatch, SingleOptionMatch))
            is_called = is_text and self.is_upstream
        return None if is_called else evaluator.scorer

    def guest_models(self, first: str) -> Mapping[str, GuestModel]:
        """Return all models of the registry by name. The model named in `first` comes first."""
        entries = self.tree.entries["model"]
        names = [name for name, entry in entries.items() if entry.cls]
        names.sort(key=lambda name: name != first)
        return {name: self.model(name) for name in names}

    def model(self, name: str) -> GuestModel:
        """Return a model by name; repeated calls return the same object."""
        if name not in self.models:
            entry = self.tree.get("model", name)
            self.models[name] = GuestModel(entry, self.classes, self.rule)
        return self.models[name]

    def _config(
        self,
        entry: Entry,
        kind: type[T],
    ) -> T:
        self.classes.check_args(entry, kind)
        return kind(**expand(entry.args))

    def _beside(self, path: str) -> str:
        relative = Path(path).expanduser()
        beside = self.tree.root / relative
        is_beside = not relative.is_absolute() and (
            beside.exists() or not relative.exists()
        )
        return str(beside if is_beside else relative)


def label_of(
    name: str,
    dataset: str,
    datasets: Sequence[str],
) -> str:
    """Return the name of a task: `INFER_TASK.DATASET`, or only `INFER_TASK` if it has only one dataset."""
    if len(datasets) == 1:
        return name
    return f"{name}.{dataset}"


def check_columns(
    entry: Entry,
    loader: object,
    reader: Reader,
) -> None:
    """Raise if the first rows of a dataset lack the column in `ref_col`.

    Scores do not depend on `key_col`, `query_col` and `extra_col`, so a misspelled
    column there only causes a warning. Nothing is checked for a dialogue, whose columns
    are in the template.
    """
    rows = loader.first_rows(HEAD_ROWS) if isinstance(loader, BatchLoader) else []
    if not rows or reader.is_dialogue(rows[0]):
        return
    columns = sorted({str(name) for row in rows for name in row})
    for argument in ("ref_col", "query_col", "extra_col", "key_col"):
        names = getattr(loader, argument) or ()
        if names == BatchLoader.key_col:
            continue  # without keys, rows are identified by number
        for column in [names] if isinstance(names, str) else names:
            if column in columns:
                continue
            close = nearest(str(column), columns)
            listing = f"the data has {', '.join(columns[:8])}"
            error = UsageError(
                f"dataset {entry.name!r}: {argument} {column!r} is not a column of the data",
                where=entry.at(argument),
                fix=f"did you mean {close!r}?" if close else listing,
            )
            if argument == "ref_col":
                raise error
            if close:
                warnings.warn(str(error), stacklevel=2)


def answered(
    sample: Sample,
    output: Output,
) -> float:
    """Return 1 for every answer. This is the scorer of the inference stage, which judges nothing."""
    return 1.0
