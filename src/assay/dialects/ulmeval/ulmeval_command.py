"""Run ULMEvalKit's command: every model on every dataset. The same command resumes each of these runs.

ULMEvalKit's files are written next to the run folders:
`<work_dir>/<model>/T<day>_G<commit>/<model>_<dataset>.pkl` with the files that
`evaluate` wrote, and links to the newest of them in `<work_dir>/<model>/`.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ... import registry
from ...code.userfiles import file_digest
from ...core import AssayError, Sample, UsageError
from ...runner.events import Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run, score
from ...store import RunReader
from ...store.file_ledger import FileLedger
from ...store.ownership import refuse_foreign
from ..file_names import file_name
from ..kits.evaluation_files import files_of, forget, link_up
from ..kits.imported_answers import prediction_files, refuse_other_dataset
from ..kits.smp.misc import githash, timestr
from ..kits.state import working_in
from ..protocol import UPSTREAM, choose
from ..run_answers import answered, output_of
from .dataset_tasks import tasks_of, upstreams_class
from .ulmeval_evaluation import file_label
from .ulmeval_models import GuestApi
from .ulmeval_pairs import Pair, Settings, pairs_of
from .ulmeval_predictions import (
    Imported,
    imported,
    note_digests,
    noted_digests,
    prediction_table,
    write_pickle,
)
from .ulmeval_rows import GuestSamples, keep_table


def run_pairs(
    settings: Settings,
    watcher: Callable[[], Watcher | None],
) -> Iterator[RunResult | AssayError]:
    """Run every model on every dataset.

    Yield each result, or the error of a failed pair, which does not stop the others.
    """
    if settings.upstream:
        choose("ulmeval", UPSTREAM)
    for pair in pairs_of(settings):
        try:
            yield run_pair(pair, settings, watcher())
        except AssayError as error:
            yield error


def run_pair(
    pair: Pair,
    settings: Settings,
    watcher: Watcher | None,
) -> RunResult:
    """Run one model on one dataset in a separate run folder, and write ULMEvalKit's files next to it."""
    work_dir = Path(os.environ.get("MMEVAL_ROOT") or settings.work_dir)
    label = file_label(pair.model_name)
    stem = f"{label}_{file_name(pair.dataset_name, 80)}"
    home = work_dir / label
    folder = home / f"{stem}.run"
    if settings.mode == "eval":
        pair = _with_predictions(pair, settings, home, stem)
    if isinstance(pair.model, Imported):
        answers = pair.model
    else:
        answers = None
    options = _options(pair, settings, folder)
    refuse_foreign(folder)
    today = home.absolute() / f"T{timestr('day')}_G{githash()}"
    if not settings.reuse_aux:
        forget(today, stem)
    finished = (folder / "summary.json").exists()
    is_kept = settings.ignore and finished and not settings.fresh
    with working_in(today):
        if answers is None and (settings.mode == "eval" or is_kept):
            result = score(
                folder,
                watcher=watcher,
                judges=options.judges,
                judge_args=options.judge_args,
                trust_pickle=options.trust_pickle,
                scorers=options.scorers,
            )
        else:
            _refuse_other_dataset(pair, options)
            result = run(
                (pair.reference,),
                pair.model,
                options=options,
                watcher=watcher,
            )
    if _is_guest(pair):
        source = tasks_of(pair.reference, options)[0].dataset
        keep_table(source.data, folder)
        digests = write_promised(today, folder, stem, source)
        if answers is None:
            digests += noted_digests(folder)
        else:
            digests.append(str(answers.identity["imported"]))
        note_digests(folder, digests)
    if answers is not None:
        return answers.noted_in(result, pair.dataset_name)
    return result


def _with_predictions(
    pair: Pair,
    settings: Settings,
    home: Path,
    stem: str,
) -> Pair:
    """Prepare a pair of model and dataset for `--mode eval`, which makes no model calls.

    If there is a new prediction file, its answers replace the model in the returned
    pair.
    """
    if isinstance(pair.model, Imported):
        return pair
    folder = home / f"{stem}.run"
    files = prediction_files(home, stem, ("pkl",))
    if files:
        file = files[-1]
    else:
        file = None
    has_run = (folder / "run.json").exists()
    if file is None and not has_run:
        raise UsageError(
            f"no predictions of {pair.model_name} on {pair.dataset_name}",
            where=str(folder),
            fix="run --mode infer first",
        )
    noted = noted_digests(folder)
    is_known = has_run and (not noted or file is None or file_digest(file) in noted)
    if file is None or is_known:
        return pair
    answers = imported(file, pair.model_name, trust=settings.trust_pickle)
    return replace(pair, model=answers)


def _refuse_other_dataset(pair: Pair, options: RunOptions) -> None:
    """Raise if the rows and questions of a prediction file show that it was made from another dataset."""
    if not isinstance(pair.model, Imported) or not _is_guest(pair):
        return
    task = tasks_of(pair.reference, options)[0]
    refuse_other_dataset(pair.model, task, pair.dataset_name)


def _options(
    pair: Pair,
    settings: Settings,
    folder: Path,
) -> RunOptions:
    generations = settings.num_generations or getattr(pair.model, "most", None)
    judges = dict(settings.helpers)
    if settings.judge:
        judges["judge"] = settings.judge
    is_guest = _is_guest(pair)
    return RunOptions(
        tasks=(pair.reference,),
        models=(pair.model_name,),
        generation={"n": generations} if generations else {},
        judges=judges,
        data=pair.data,
        judge_args=dict(settings.judge_args) if is_guest else {},
        scorers=("images",) if settings.mode == "infer" else (),
        concurrency=settings.api_nproc if isinstance(pair.model, GuestApi) else None,
        output=str(folder),
        limit=settings.limit,
        fresh=settings.fresh,
        dialect="ulmeval" if is_guest else None,
        register=settings.register,
        trust_pickle=settings.trust_pickle,
        allow_private_urls=settings.allow_private_urls,
        on_error="continue",  # ULMEvalKit writes a failure for each row,
    )


def _is_guest(pair: Pair) -> bool:
    return (
        upstreams_class(pair.reference) is not None
        or registry.tasks.resolve(pair.reference) is None
    )


def write_promised(
    today: Path,
    folder: Path,
    stem: str,
    source: GuestSamples,
) -> list[str]:
    """Write a run's prediction file into today's folder, with a link in the parent folder. Return the file's digest.

    Files that `evaluate` wrote there also get links. Without answers, no file is
    written.
    """
    digests: list[str] = []
    files = files_of(today, stem)
    rows = answered_rows(source, RunReader(folder))
    if rows:
        files.append(today / f"{stem}.pkl")
        write_pickle(
            prediction_table(source.data, rows),
            FileLedger(today.parent).claim(files[-1]),
        )
        digests.append(file_digest(files[-1]))
    for file in files:
        link_up(file)
    return digests


def answered_rows(source: GuestSamples, reader: RunReader) -> list[tuple[Sample, Any]]:
    """Return the answered samples of a run with one task and one model, each with its output."""
    cells = [cell for (task, _), cell in reader.index.cells.items() if "#" not in task]
    if not cells:
        return []
    samples = source.reading_from(None)
    return [
        (sample, output_of(reader, entries[-1]))
        for sample, entries in answered(samples, cells[0].answers)
    ]
