"""Checks of a file of predictions against the samples of a task: same ids, and not the targets themselves."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...code.userfiles import file_digest
from ...core import AnswersById, Sample, UsageError
from ...predictions.predictions_model import Predictions
from .planned_task import PlannedTask

SHOWN = 3


def check_known_answers(planned: PlannedTask) -> None:
    """Raise for predictions of other samples and for targets. Note samples and predictions without a counterpart."""
    model = planned.model
    if not isinstance(model, AnswersById):
        return
    where = f"task {planned.task.name!r}, model {planned.model_name!r}"
    if planned.task.driver is not None:
        fix = "give the model itself, or replay/RUN of a run that asked it"
        raise UsageError(
            "the task asks in its own way, by calls that have no sample ids",
            where=where,
            fix=fix,
        )
    if isinstance(model, Predictions):
        _refuse_targets(planned, model, where)
    counts = model.ids()
    ids = dict.fromkeys(item.id for item in planned.view())
    if not ids:
        return
    common_ids = [id for id in ids if id in counts]
    if not common_ids:
        prediction_id = next(iter(counts))
        sample_id = next(iter(ids))
        raise UsageError(
            "no id of the predictions is one of the task's samples:"
            f" they have {prediction_id!r}, the task has {sample_id!r}",
            where=where,
            fix="write the task's ids into the file (`assay show RUN` prints them), or -a id=COLUMN names their column",
        )
    most = max(common_ids, key=counts.__getitem__)
    if counts[most] > planned.task.epochs:
        if planned.task.epochs == 1:
            times = "once"
        else:
            times = f"{planned.task.epochs} times"
        fix = f"--epochs {counts[most]} takes them as repeats, in the order of the file; or leave one for each id"
        problem = (
            f"{counts[most]} predictions for {most!r}, and each sample is asked {times}"
        )
        raise UsageError(problem, where=where, fix=fix)
    planned.notices += tuple(_notices(planned, ids, counts))
    if isinstance(model, Predictions) and len(ids) > 1 and _are_targets(planned, model):
        planned.notices += (
            f"{planned.task.name}: all {len(ids):,} predictions equal their targets, character by character: "
            f"does column {model.prediction!r} hold the outputs of a model?",
        )


def _refuse_targets(planned: PlannedTask, model: Predictions, where: str) -> None:
    """Raise if the predictions are the reference answers themselves, because their score is always perfect."""
    if not _is_data(planned, model.path):
        return
    columns = planned.samples.head.columns
    if columns is None or planned.task.to_sample is not None:
        is_target = _are_targets(planned, model)
    else:
        is_target = columns.target == model.prediction
    if not is_target:
        return
    column = model.prediction
    raise UsageError(
        f"the predictions are the targets: column {column!r} of the same data is both",
        where=where,
        fix=f"-a prediction=COLUMN names the outputs; if {column!r} holds outputs and there are no references, "
        "--columns target= says so",
    )


def _is_data(planned: PlannedTask, path: Path) -> bool:
    """Return True if a file is one of the data's files, or a copy of one."""
    try:
        size = path.stat().st_size
        for shard in planned.samples.shards:
            other = shard.path
            if other is None or not other.is_file() or other.stat().st_size != size:
                continue
            if other.samefile(path) or file_digest(other) == file_digest(path):
                return True
    except OSError:
        return False
    return False


def _are_targets(planned: PlannedTask, model: Predictions) -> bool:
    """Return True if every sample's prediction is one of its targets. Stop at the first that is not."""
    count = 0
    for item in planned.view():
        if not isinstance(item, Sample):
            continue
        if model.text_of(item.id) not in item.targets:
            return False
        count += 1
    return count > 0


def _notices(
    planned: PlannedTask,
    sample_ids: Mapping[str, None],
    ids: Mapping[str, int],
) -> Iterator[str]:
    """Yield notes about samples and predictions without a counterpart."""
    missing = [id for id in sample_ids if id not in ids]
    if missing:
        yield _said(
            planned,
            missing,
            f"of {len(sample_ids):,} samples without a prediction",
        )
    left = [id for id in ids if id not in sample_ids]
    if left:  # the file may cover all data while a part of it is asked
        whole = {item.id for item in planned.samples}
        left = [id for id in left if id not in whole]
    if left:
        yield _said(
            planned,
            left,
            f"of {len(ids):,} ids of the predictions belong to no sample",
        )


def _said(planned: PlannedTask, ids: Sequence[str], what: str) -> str:
    """Return a note with a count and the first ids."""
    first_ids = ", ".join(map(repr, ids[:SHOWN])) + (", …" if len(ids) > SHOWN else "")
    return f"{planned.task.name}: {len(ids):,} {what}: {first_ids}"
