"""Make a task of assay from Harbor's task folders. Each folder is one sample."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...core import (
    Outcome,
    Output,
    Sample,
    Score,
    Task,
    UsageError,
)
from ...core.errors import plural
from ...datasets.faults import NamedFault
from .claims import INSTRUCTION, is_task_folder
from .container_tier import NeedsEngine, Tiers
from .harbor_environment import HarborEnvironment, HarborTask, read_task
from .host_tier import CannotRun

MOST_REASONS = 8
CANARY = "canary"


@dataclass(frozen=True)
class HarborRows:
    """Returns each task folder as a sample. A task that cannot run becomes a bad sample whose error has the reason."""

    folder: Path
    tasks: Mapping[str, HarborTask] = field(repr=False)
    refused: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return str(self.folder)

    def __call__(self) -> list[Any]:
        samples: list[Any] = []
        for id in sorted({*self.tasks, *self.refused}):
            if id in self.refused:
                fault = NamedFault(self.refused[id], file=str(self.folder / id))
                fault.sample_id = id
                samples.append(fault)
            else:
                samples.append(_sample(id, self.tasks[id]))
        return samples


@dataclass(frozen=True)
class HarborReward:
    """Score: the rewards that the task's tests wrote. Without rewards the outcome is `unparsed`."""

    name: ClassVar[str] = "reward"
    bounds: ClassVar[None] = None

    def __call__(self, sample: Sample, output: Output) -> Score:
        rewards = output.details.get("rewards")
        if not rewards:
            error = output.details.get("tests_error", "the tests did not run")
            return Score.unparsed(error=error)
        details = {"tests_output": output.details.get("tests_output", "")}
        if set(rewards) == {"reward"}:
            return Score(float(rewards["reward"]), Outcome.SCORED, details=details)
        return Score(dict(rewards), Outcome.SCORED, details=details)


def tasks_of(
    reference: str,
    tiers: Tiers = Tiers(),
) -> Sequence[Task]:
    """Return one task of assay for the task in a folder, or for all task folders in it."""
    folder = Path(reference).expanduser().resolve()
    is_single = is_task_folder(folder)
    folders = [folder]
    if not is_single:
        folders = sorted(filter(is_task_folder, folder.iterdir()))
    tasks: dict[str, HarborTask] = {}
    refused: dict[str, str] = {}
    reasons: Counter[str] = Counter()
    without_engine = 0
    for path in folders:
        try:
            tasks[path.name] = read_task(path, tiers)
        except CannotRun as error:
            refused[path.name] = f"{_refusal(tiers)}: {error}"
            reasons[str(error)] += 1
            if isinstance(error, NeedsEngine):
                without_engine += 1
                refused[path.name] += f"; fix: {tiers.fix}"
        except UsageError as error:
            if is_single:
                raise
            refused[path.name] = f"{error.what}; fix: {error.fix}"
            reasons[f"{path.name}: {error.what}"] += 1
    if not tasks:
        reason = next(iter(refused.values())).partition("; fix: ")[0]
        fix = "see docs/harbor.md for what runs without an image"
        raise UsageError(
            f"no task of this folder can run on this machine: {reason}",
            where=str(folder),
            fix=tiers.fix if without_engine else fix,
        )
    lines = plan_lines(folder.name, tasks, len(folders), reasons)
    if without_engine:
        count = plural(without_engine, "task")
        lines += (f"{folder.name}: an image engine would run {count}: {tiers.fix}",)
    return [
        Task(
            name=folder.name,
            dataset=HarborRows(folder, tasks, refused),
            template=_instruction,
            scorers=(HarborReward(),),
            environment=HarborEnvironment(tasks, lines),
            tags=("difficulty", "category"),
            protocol=f"{folder.name}@harbor-{tier_of(tasks)}",
            description=f"{plural(len(folders), 'task')} of Harbor",
        )
    ]


def _refusal(tiers: Tiers) -> str:
    """Return the start of the error message for a task that cannot run. The caller appends the reason."""
    if tiers.name == "container":
        return "cannot run in a container"
    return "cannot run without an image"


def tier_of(tasks: Mapping[str, HarborTask]) -> str:
    """Return the tier of the tasks for protocol ids: `host`, `container` or `mixed`."""
    names = set()
    for task in tasks.values():
        names.add("host" if task.container is None else "container")
    if len(names) == 1:
        return names.pop()
    return "mixed"


def plan_lines(
    name: str,
    tasks: Mapping[str, HarborTask],
    count: int,
    reasons: Counter[str],
) -> tuple[str, ...]:
    """Return the lines of a plan: how many tasks run where, and why the others cannot run."""
    ways: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    for task in tasks.values():
        ways[_where(task)] += 1
        notes.update(task.notes)

    lines: list[str] = []
    all_tasks = plural(count, "task")
    for way, number in ways.most_common():
        verb = "runs" if number == 1 else "run"
        lines.append(f"{number} of {all_tasks} {verb} {way}")
    for reason, number in reasons.most_common(MOST_REASONS):
        refused = plural(number, "task")
        lines.append(f"{refused} cannot: {reason}")
    more = len(reasons) - MOST_REASONS
    if more > 0:
        others = plural(more, "further reason")
        lines.append(f"{others}, see the failures")
    for note, number in notes.most_common(MOST_REASONS):
        noted = plural(number, "task")
        lines.append(f"{noted} with {note}")
    return tuple(f"{name}: {line}" for line in lines)


def _where(task: HarborTask) -> str:
    """Describe where a task runs, for the plan: "in workspaces of this machine (tier host)"."""
    if task.container is None:
        return "in workspaces of this machine (tier host)"
    return f"in containers of {task.container.engine.kind} (tier container)"


def read_instruction(folder: Path) -> str:
    """Return the instruction as Harbor shows it, without the training-data marker at its beginning."""
    text = (folder / INSTRUCTION).read_text(
        encoding="utf-8",
        errors="replace",
    )
    lines = text.split("\n")
    index = 0
    while index < len(lines) and _is_canary(lines[index].strip()):
        index += 1
    while index < len(lines) and not lines[index].strip():
        index += 1
    return "\n".join(lines[index:])


def _is_canary(line: str) -> bool:
    is_comment = line.startswith("#") or (
        line.startswith("<!--") and line.endswith("-->")
    )
    return is_comment and CANARY in line.lower()


def _instruction(sample: Sample) -> str:
    """Return the prompt of a sample: the task's instruction."""
    return str(sample.input)


def _sample(id: str, task: HarborTask) -> Sample:
    metadata = task.config.metadata
    tags = {}
    for name in ("difficulty", "category"):
        if isinstance(metadata.get(name), str):
            tags[name] = metadata[name]
    # The run records the digest, so that a change of any file is detected.
    fields = {"folder_digest": task.digest}
    return Sample(
        id,
        input=read_instruction(task.folder),
        fields=fields,
        tags=tags,
    )
