"""The original command: every model on every dataset, each pair a run that the same command goes on with.

Beside the run folders lie the files ULMEvalKit promises: `<work_dir>/<model>/T<day>_G<commit>/<model>_<dataset>.pkl`
with what `evaluate` wrote beside it, and links to the newest of them in `<work_dir>/<model>/`.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ... import registry
from ...core import AssayError, Sample, UsageError
from ...core.record import output_from_plain
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run, score
from ...store import RunReader
from ...store.file_ledger import FileLedger
from ...store.ownership import refuse_foreign
from ..file_names import file_name
from ..kits.evaluation_files import files_of, forget, link_up
from ..kits.state import working_in
from ..protocol import UPSTREAM, choose
from .dataset_tasks import shipped_class, tasks_of
from .evaluation import file_label
from .facade.smp.misc import githash, timestr
from .kept_tables import keep_table
from .models import GuestApi
from .pairs import Pair, Settings, pairs_of
from .predictions import prediction_table, write_pickle
from .rows import GuestSamples


def run_pairs(
    settings: Settings, watcher: Callable[[], Any]
) -> Iterator[RunResult | AssayError]:
    """The result of each pair, or why there is none; one that fails does not stop the others."""
    if settings.upstream:
        choose("ulmeval", UPSTREAM)
    for pair in pairs_of(settings):
        try:
            yield run_pair(pair, settings, watcher())
        except AssayError as error:
            yield error


def run_pair(pair: Pair, settings: Settings, watcher: Any) -> RunResult:
    """Runs one pair in its own folder and writes the promised files beside it."""
    work_dir = Path(os.environ.get("MMEVAL_ROOT") or settings.work_dir)
    label = file_label(pair.model_name)
    stem = f"{label}_{file_name(pair.dataset_name, 80)}"
    home = work_dir / label
    folder = home / f"{stem}.run"
    if settings.mode == "eval" and not (folder / "run.json").exists():
        what = f"no predictions of {pair.model_name} on {pair.dataset_name}"
        raise UsageError(what, where=str(folder), fix="run --mode infer first")
    options = _options(pair, settings, folder)
    refuse_foreign(folder)
    today = home.absolute() / f"T{timestr('day')}_G{githash()}"
    if not settings.reuse_aux:
        forget(today, stem)
    finished = (folder / "summary.json").exists()
    with working_in(today):
        if settings.mode == "eval" or (
            settings.ignore and finished and not settings.fresh
        ):
            changes = {
                name: getattr(options, name)
                for name in ("judges", "judge_args", "trust_pickle")
            }
            result = score(folder, watcher=watcher, **changes, scorers=options.scorers)
        else:
            result = run(
                (pair.reference,), pair.model, options=options, watcher=watcher
            )
    source = tasks_of(pair.reference, options)[0].dataset if _is_guest(pair) else None
    if source is not None:
        keep_table(source.data, folder)
        write_promised(today, folder, stem, source)
    return result


def _options(pair: Pair, settings: Settings, folder: Path) -> RunOptions:
    generations = settings.num_generations or (
        pair.model.most if hasattr(pair.model, "most") else None
    )
    return RunOptions(
        tasks=(pair.reference,),
        models=(pair.model_name,),
        generation={"n": generations} if generations else {},
        judges={
            **settings.helpers,
            **({"judge": settings.judge} if settings.judge else {}),
        },
        data=pair.data,
        judge_args=dict(settings.judge_args) if _is_guest(pair) else {},
        scorers=("images",) if settings.mode == "infer" else (),
        concurrency=settings.api_nproc if isinstance(pair.model, GuestApi) else None,
        output=str(folder),
        limit=settings.limit,
        fresh=settings.fresh,
        dialect="ulmeval" if _is_guest(pair) else None,
        register=settings.register,
        trust_pickle=settings.trust_pickle,
        allow_private_urls=settings.allow_private_urls,
    )


def _is_guest(pair: Pair) -> bool:
    return (
        shipped_class(pair.reference) is not None
        or registry.tasks.resolve(pair.reference) is None
    )


def write_promised(today: Path, folder: Path, stem: str, source: GuestSamples) -> None:
    """The prediction file, in today's folder; links to it and to what `evaluate` wrote there one level up."""
    files = files_of(today, stem)
    rows = answered(source, RunReader(folder))
    if rows:
        files.append(today / f"{stem}.pkl")
        write_pickle(
            prediction_table(source.data, rows),
            FileLedger(today.parent).claim(files[-1]),
        )
    for file in files:
        link_up(file)


def answered(source: GuestSamples, reader: RunReader) -> list[tuple[Sample, Any]]:
    """The samples of a run's only cell that were answered, with their outputs."""
    cells = [cell for (task, _), cell in reader.index.cells.items() if "#" not in task]
    if not cells:
        return []
    rows = []
    for sample in source.reading_from(None):
        stored = (
            cells[0].answers.get((sample.id, 0)) if isinstance(sample, Sample) else None
        )
        if (
            stored
            and stored[-1] is not None
            and not stored[-1].failed
            and isinstance(sample, Sample)
        ):
            plain = reader.index.output(stored[-1]).output
            rows.append((sample, output_from_plain(plain, reader.blobs)))
    return rows
