"""Match tasks, metrics and samples in another tool's results with those of a run.

Tools name tasks, metrics and samples differently. Samples are paired by id if their
references agree, otherwise by equal questions. Different or unknown data are refused,
unless the user forces the comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import EMPTY, Result
from ..core.message import plain_turns
from ..store import RunReader
from ..store.imported import IMPORTED

FORCE = "--force compares them all the same"
PREFIXES = ("inspect_evals/", "lm_eval/", "lmms_eval/")
NAMED_IDS = 3


def is_imported(reader: RunReader) -> bool:
    """Return True if a run was converted from the results of another tool."""
    return IMPORTED in reader.manifest_if_any


@dataclass(frozen=True, slots=True)
class Partner:
    """The result of the baseline to compare with, given by task, model and metric.

    If there is none, `refused` has the reason.
    """

    task: str = ""
    model: str = ""
    table: Result | None = None
    ids: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Maps a sample's id in the baseline to its id in the run. Contains only samples whose ids differ."""
    refused: str = ""
    """The reason why the results cannot be compared; empty if they can."""
    notes: tuple[str, ...] = ()


def find_partner(
    result: Result,
    before: RunReader,
    after: RunReader,
    *,
    is_forced: bool,
) -> Partner:
    """Find the result of `before` to compare with a result of `after`. One of the two runs is imported."""
    tasks = list(dict.fromkeys(row.task for row in before.results))
    run_tasks = {row.task for row in after.results}
    task = _same_task(result.task, tasks)
    if task is None and len(tasks) == len(run_tasks) == 1:
        task = tasks[0]
    if task is None:
        names = ", ".join(tasks[:5]) or "none"
        return Partner(
            refused=f"the baseline has no task {result.task!r}; it has {names}"
        )

    rows = [row for row in before.results if row.task == task]
    models = list(dict.fromkeys(row.model for row in rows))
    if result.model in models:
        model = result.model
    elif len(models) > 1:
        names = ", ".join(models)
        return Partner(refused=f"the baseline has several models: {names}")
    else:
        model = models[0]

    theirs = [row for row in rows if row.model == model]
    own_pair = (result.task, result.model)
    own_rows = []
    for row in after.results:
        if (row.task, row.model) == own_pair:
            own_rows.append(row)
    table = _same_metric(result, own_rows, theirs)
    if table is None:
        names = ", ".join(row.metric for row in theirs[:5])
        return Partner(
            task,
            model,
            refused=f"the baseline has no such number; it has {names}",
        )

    notes = []
    own_name = f"{result.task}.{result.metric}"
    their_name = f"{table.task}.{table.metric}"
    if own_name != their_name:
        notes.append(f"{own_name} is compared with {their_name}")
    pairs = pair_samples(before, (task, model), after, own_pair)
    if pairs.fault and not is_forced:
        return Partner(task, model, table, refused=f"{pairs.fault}; {FORCE}")
    if pairs.fault:
        notes.append(f"{result.task}: forced, although {pairs.fault}")
    if pairs.ids:
        count = len(pairs.ids)
        notes.append(f"{result.task}: {count} samples paired by question; ids differ")
    return Partner(task, model, table, pairs.ids, notes=tuple(notes))


def _same_task(
    name: str,
    tasks: Sequence[str],
) -> str | None:
    """Return the task with the same name. If there is none, ignore prefixes, upper case and hyphens."""
    if name in tasks:
        return name
    folded = _folded_task(name)
    fitting = [task for task in tasks if _folded_task(task) == folded]
    if len(fitting) == 1:
        return fitting[0]
    return None


def _folded_task(name: str) -> str:
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name.lower().replace("-", "_")


def _same_metric(
    result: Result,
    own_rows: Sequence[Result],
    theirs: Sequence[Result],
) -> Result | None:
    """Return the result with the same metric name, if necessary ignoring a filter:
    `exact_match,strict` -> `exact_match`.

    If the two tools share no metric name, the first result of one is compared with the
    first of the other.
    """
    by_name = {row.metric: row for row in theirs}
    named = by_name.get(result.metric)
    if named is not None:
        return named
    stem = result.metric.partition(",")[0]
    fitting = [row for row in theirs if row.metric.partition(",")[0] == stem]
    if fitting:
        return fitting[0]
    has_common_name = any(row.metric in by_name for row in own_rows)
    is_first = bool(own_rows) and own_rows[0].metric == result.metric
    if theirs and is_first and not has_common_name:
        return theirs[0]
    return None


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairing of the samples of two runs."""

    ids: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Maps a sample's id in the baseline to its id in the later run. Empty if all ids are equal."""
    fault: str = ""
    """The reason why the data of the two runs may differ; empty if they are the same."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question and the reference answer of one sample, as far as the run or the imported results contain them."""

    question: str
    target: Any


def pair_samples(
    before: RunReader,
    baseline_cell: tuple[str, str],
    after: RunReader,
    cell: tuple[str, str],
) -> Pairs:
    """Pair the samples of two runs. If the data of the runs may differ, include the reason."""
    theirs = _questions_of(before, *baseline_cell)
    ours = _questions_of(after, *cell)
    if not theirs or not ours:
        return Pairs(fault="one of them has no samples")
    common = theirs.keys() & ours.keys()
    fault = _fault_of_ids(theirs, ours, sorted(common))
    if not fault:
        return Pairs()
    by_question = _same_questions(theirs, ours)
    if by_question and len(by_question) >= len(common):
        return Pairs(by_question)
    return Pairs(fault=fault)


def _questions_of(
    reader: RunReader,
    task: str,
    model: str,
) -> dict[str, _Asked]:
    """Return the question and the reference of each sample."""
    samples: dict[str, _Asked] = {}
    for record in reader.outputs(task, model):
        if record.round or record.epoch:
            continue
        question = ""
        turns = plain_turns(record.prompt)
        if turns:
            _, question = turns[-1]
        with_single_blanks = " ".join(question.split())
        target = _plain(record.target)
        samples[record.id] = _Asked(with_single_blanks, target)
    return samples


def _plain(target: object) -> object:
    """Normalize a reference for comparison: lower case, no surrounding whitespace.
    Return None for a missing reference.
    """
    if isinstance(target, (list, tuple)):
        entries = tuple(_plain(entry) for entry in target)
        if len(entries) == 1:
            return entries[0]
        return entries or None
    if target in (None, ""):
        return None
    return str(target).strip().casefold()


def _fault_of_ids(
    theirs: Mapping[str, _Asked],
    ours: Mapping[str, _Asked],
    common: Sequence[str],
) -> str:
    """Return why samples with equal ids may be different samples. Return an empty text if they are the same."""
    if not common:
        return "they have no sample id in common"
    with_targets = 0
    differing = []
    for id in common:
        their_target = theirs[id].target
        our_target = ours[id].target
        if their_target is None or our_target is None:
            continue
        with_targets += 1
        if their_target != our_target:
            differing.append(id)
    if differing:
        named = ", ".join(repr(id) for id in differing[:NAMED_IDS])
        count = f"{len(differing)} of {with_targets}"
        return f"they are different data: {count} samples of one id have other references ({named})"
    if with_targets or all(theirs[id].question == ours[id].question for id in common):
        return ""
    return "it is unknown whether their data is the same: references are missing"


def _same_questions(
    theirs: Mapping[str, _Asked],
    ours: Mapping[str, _Asked],
) -> dict[str, str]:
    """Pair the samples that have the same question and reference. Return no pairs if any question occurs twice."""
    by_question = {sample.question: id for id, sample in ours.items()}
    questions = {sample.question for sample in theirs.values()}
    if len(by_question) != len(ours) or len(questions) != len(theirs):
        return {}
    pairs = {}
    for id, sample in theirs.items():
        partner = by_question.get(sample.question)
        if partner is None or not sample.question:
            continue
        targets = sample.target, ours[partner].target
        if None in targets or targets[0] == targets[1]:
            pairs[id] = partner
    return pairs
