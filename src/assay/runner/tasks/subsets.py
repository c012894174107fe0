"""Subsets of a shipped benchmark as separate tasks: `mmlu_anatomy`, `bbh_navigate`, `mmlu_pro_law`.

A subset consists of the samples with that value in one of their tags. Its name and its protocol id name it, so that
its number is never mistaken for that of the whole benchmark.
"""

from collections.abc import Mapping

from ... import registry
from ...core import Sample, Task, UsageError, nearest
from ...datasets import Samples
from ...datasets.samples import folded_value

OTHER_NAMES: Mapping[str, str] = {
    "bbh_cot_fewshot": "bbh",
    "bbh_zeroshot": "bbh_direct",
}
"""Names that lm-eval uses for tasks with subsets."""
MOST_LISTED = 8


def find_subset(name: str) -> Task | None:
    """Return the task of a subset, by the longest shipped name with which it begins; None if no such task has tags."""
    folded = folded_value(name)
    for alias, task_name in OTHER_NAMES.items():
        prefix = f"{alias}_"
        if folded.startswith(prefix):
            folded = f"{task_name}_{folded.removeprefix(prefix)}"

    heads = {}
    for task_name in registry.tasks.names():
        head = folded_value(task_name)
        if folded.startswith(f"{head}_"):
            heads[head] = task_name
    for head in sorted(heads, key=len, reverse=True):
        task = registry.tasks.get(heads[head])
        if isinstance(task, Task) and task.tags and task.driver is None:
            return _subset_of(task, folded.removeprefix(f"{head}_"))
    return None


def _subset_of(task: Task, subset: str) -> Task:
    """Return the task that asks one subset."""
    head, sign, tail = task.protocol.partition("@")
    description = (
        f"{subset.replace('_', ' ')}, a part of {task.name}: {task.description}"
    )
    protocol = f"{head}_{subset}{sign}{tail}"
    return task.but(
        name=f"{task.name}_{subset}",
        subset=subset,
        protocol=protocol,
        description=description,
    )


def part_of(samples: Samples, task: Task) -> Samples:
    """Return the samples of the task's subset. Raise with the nearest value if no sample has it."""
    if not task.subset:
        return samples
    samples.subset = folded_value(task.subset)
    if any(isinstance(sample, Sample) for sample in samples):
        return samples
    samples.subset = ""
    values = set()
    for s in samples:
        if isinstance(s, Sample):
            for value in s.tags.values():
                values.add(folded_value(str(value)))
    whole = task.name.removesuffix(f"_{task.subset}")
    close = nearest(task.subset, values)
    if close:
        fix = f"did you mean {whole}_{close}?"
    else:
        listed = ", ".join(sorted(values)[:MOST_LISTED])
        fix = f"its data has {listed}"
        if len(values) > MOST_LISTED:
            fix += ", …"
    raise UsageError(f"task {whole!r} has no subset {task.subset!r}", fix=fix)
