"""`assay vlmeval`: the command line of VLMEvalKit's `run.py`, executed by assay's runner."""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ...code.userfiles import file_digest, is_reference, split_reference
from ...core import Abilities, AssayError, Candidate, Output, Task, Text, UsageError
from ...datasets.excel import need_excel
from ...datasets.tsv_images import is_blank
from ...runner.events import Silent, Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run, score
from ..file_names import file_name
from ..kits.imported_answers import (
    ImportedAnswers,
    prediction_files,
    refuse_other_dataset,
)
from ..kits.judging import assay_name
from ..kits.set_evaluation import SetEvaluation
from ..kits.smp.file import get_pred_file_format
from ..kits.state import working_in
from ..kits.suffix_files import load_by_suffix
from ..kits.toolkit import class_of
from ..protocol import DOCUMENTED, UPSTREAM, choose
from ..shapes import Record
from .dataset_facts import SNAPSHOT
from .evaluating import NO_JUDGE
from .flags import idle, key_variable, parse
from .outputs import noted_digests, noted_revision, write_files
from .vlmeval_judging import model_args
from .vlmeval_models import is_early_class
from .vlmeval_pairs import Pair, json_object, pairs_of
from .vlmeval_planning import tasks
from .vlmeval_toolkit import TOOLKIT

GENERATION = ("max_tokens", "temperature", "top_k", "top_p", "repetition_penalty")


def evaluate(
    arguments: Sequence[str],
    watcher: Watcher | None = None,
) -> Iterator[RunResult | AssayError]:
    """Run every model on every dataset, write VLMEvalKit's files, and yield the results one after another.

    If a model cannot be run on a dataset, the error is yielded instead of a result, or
    raised if it is the only pair.
    """
    flags = parse(arguments)
    if flags.upstream:
        choose("vlmeval", UPSTREAM)
    work_dir = Path(os.environ.get("MMEVAL_ROOT") or flags.work_dir)
    pairs = pairs_of(flags, work_dir)
    stamp = time.strftime("T%Y%m%d-%H%M%S")
    for pair in pairs:
        try:
            documented = _is_documented(pair, work_dir)
            if flags.upstream:
                choose("vlmeval", DOCUMENTED if documented else UPSTREAM)
            yield _run(
                pair,
                flags,
                work_dir,
                stamp,
                watcher or Silent(),
                documented=documented,
            )
        except AssayError as error:
            if len(pairs) == 1:
                raise
            yield error


def idle_flags(arguments: Sequence[str]) -> list[str]:
    """Return the options on the command line that have no effect, for a message to the user."""
    return idle(parse(arguments))


def _run(
    pair: Pair,
    flags: argparse.Namespace,
    work_dir: Path,
    stamp: str,
    watcher: Watcher,
    *,
    documented: bool,
) -> RunResult:
    """Run one model on one dataset. `documented` selects the revision whose files are written."""
    name = file_name(pair.name, 80)
    home = work_dir / pair.label
    earlier = _earlier(home, name)
    options = _options(pair, flags)
    answers = None
    if flags.mode == "eval" or flags.reuse:
        file = _file_to_read(home, earlier, pair, name)
        if file is None and earlier is None and flags.mode == "eval":
            raise _no_predictions(pair, home, name)
        if file is not None:
            answers = Imported.read(file, pair.label, load_by_suffix)
            options = options.but(model_args={})
            refuse_other_dataset(answers, _task(options), pair.name)
    asks_nothing = flags.mode == "eval" and answers is None
    folder = _new_folder(home, name, stamp)
    if earlier is not None and answers is None and (asks_nothing or not flags.fresh):
        folder = earlier.parent
        asks_nothing |= flags.keep_failed and (earlier / "summary.json").exists()
    run_folder = folder / f"run_{name}"
    options = options.but(output=str(run_folder))
    with working_in(folder.resolve(), pair.label):
        if get_pred_file_format() == "xlsx" or _writes_matches(options):
            need_excel()
        if asks_nothing:
            if _has_data(options):
                data = None
            else:
                data = str(run_folder / SNAPSHOT)
            options = _with_judge(options.but(data=data), flags)
            result = score(
                run_folder,
                watcher=watcher,
                tasks=options.tasks,
                judges=options.judges,
                judge_args=options.judge_args,
                scorers=(),
                data=data,
                register=options.register,
                dialect="vlmeval",
                trust_pickle=options.trust_pickle,
            )
        else:
            options = _with_judge(options, flags)
            result = run(model=answers, options=options, watcher=watcher)
        write_files(
            folder,
            f"{pair.label}_{name}",
            _task(options),
            options.data,
            run_folder,
            result,
            documented=documented,
            imported=answers.identity["imported"] if answers is not None else None,
        )
    if answers is not None:
        return answers.noted_in(result, pair.name)
    if flags.mode == "eval":
        note = f"{pair.name}: predictions of the run {run_folder}"
        return replace(result, notes=(note, *result.notes))
    return result


def _no_predictions(
    pair: Pair,
    home: Path,
    name: str,
) -> UsageError:
    stem = f"{pair.label}_{name}"
    fix = "run --mode infer first"
    for file in (*home.glob("T*/*"), *home.glob("*")):
        if file.stem == stem:
            fix = f"write {file.name} as {stem}.xlsx, .tsv or .json: its format is not read"
            break
    problem = f"no predictions of {pair.label} on {pair.name}"
    return UsageError(problem, where=str(home), fix=fix)


def _file_to_read(
    home: Path,
    earlier: Path | None,
    pair: Pair,
    name: str,
) -> Path | None:
    """Return the prediction file to read the answers from, instead of calling the model. None to call it.

    Without an earlier run, return the newest file in the model's folder. After a run,
    return a file only if the user has replaced the one that assay wrote.
    """
    stem = f"{pair.label}_{name}"
    if earlier is None:
        files = prediction_files(home, stem, SUFFIXES)
        return files[-1] if files else None
    digests: set[str] = set()
    for folder in home.glob("T*/"):
        digests |= noted_digests(folder, pair.name)
    of_latest = noted_digests(earlier.parent, pair.name)
    if not of_latest:
        return None  # an older version recorded none: use the run itself
    latest = earlier.parent / f"{stem}.{get_pred_file_format()}"
    return new_prediction_file(home, stem, frozenset(digests), of_latest, latest)


def _is_documented(pair: Pair, work_dir: Path) -> bool:
    """Return True if a pair's files have the formats of VLMEvalKit's documented revision.

    This follows from the model's class or, if its file is not here, from the
    `status.json` of an earlier run.
    """
    if (
        not is_reference(pair.model)
        or Path(split_reference(pair.model)[0]).expanduser().is_file()
    ):
        return _is_early(pair.model)
    earlier = _earlier(work_dir / pair.label, file_name(pair.name, 80))
    return (
        earlier is not None
        and noted_revision(earlier.parent, pair.name) == "documented"
    )


def _is_early(model: str) -> bool:
    """Return True if a model is a user's class written for VLMEvalKit's documented revision."""
    if not is_reference(model):
        return False
    path, name = split_reference(model)
    definition = TOOLKIT.load(path).model(name)
    return definition is not None and is_early_class(class_of(definition[1]))


def _writes_matches(options: RunOptions) -> bool:
    """Return True if the run reads letters by rules, and so writes a `_prefetch` file."""
    return any(
        getattr(scorer, "name", "") == "exact_matching"
        for scorer in _task(options).scorers
    )


def _options(
    pair: Pair,
    flags: argparse.Namespace,
) -> RunOptions:
    args: Record = dict(pair.model_args)
    if pair.model.startswith("openai/"):
        args |= _given(
            base_url=flags.base_url,
            api_key_env=key_variable("--key", flags.key),
            total_timeout=flags.timeout,
            body=json_object(flags.extra_body, "--extra-body") or None,
        )
    else:
        for flag in ("base_url", "key", "timeout", "extra_body"):
            if getattr(flags, flag) is not None:
                raise UsageError(
                    f"--{flag.replace('_', '-')} is for a model behind an endpoint, and {pair.model} is not",
                    fix="--model NAME, as the endpoint calls it",
                )
    wished = _given(**{name: getattr(flags, name) for name in GENERATION})
    return RunOptions(
        tasks=(pair.data,),
        models=(pair.model,),
        model_args=args,
        generation={**pair.generation, **wished},
        limit=flags.limit,
        concurrency=flags.nproc,
        scorers=("answered",) if flags.mode == "infer" else (),
        dialect="vlmeval",
        register=tuple(flags.register),
        trust_pickle=flags.trust_pickle,
        allow_private_urls=flags.allow_private_urls,
        media_root=flags.media_root,
        on_error="continue",  # VLMEvalKit writes a failure for each row,
    )


def _given(**settings: object) -> Record:
    """Return the keyword arguments, except those that are None."""
    return {name: value for name, value in settings.items() if value is not None}


def _with_judge(
    options: RunOptions,
    flags: argparse.Namespace,
) -> RunOptions:
    """Return the options with the judge that the flags specify.

    A user's `evaluate` gets all judge arguments. If assay's scorers call the judge,
    only those for its model are used.
    """
    evaluates = any(
        isinstance(scorer, SetEvaluation) for scorer in _task(options).scorers
    )
    if flags.use_verifier and not evaluates:
        raise UsageError(
            "--use-verifier is for an `evaluate` of your own", fix="give --judge MODEL"
        )
    args = json_object(flags.judge_args, "--judge-args")
    if "key" in args:
        raise UsageError(
            "a key does not belong in --judge-args", fix="--judge-key VARIABLE"
        )
    args |= _given(
        base_url=flags.judge_base_url,
        api_key_env=key_variable("--judge-key", flags.judge_key),
    )
    name = None
    if flags.judge not in (None, NO_JUDGE):
        name = assay_name(os.environ.get("LOCAL_LLM") or flags.judge)
    if evaluates:
        args |= _given(
            retry=flags.retry if flags.judge_retry is None else flags.judge_retry,
            timeout=flags.judge_timeout,
            nproc=flags.judge_api_nproc,
            use_verifier=flags.use_verifier or None,
            use_vllm=flags.use_vllm or None,
        )
    elif name is not None:
        if flags.judge_timeout is not None and name.startswith("openai/"):
            args["total_timeout"] = flags.judge_timeout
        unknown = sorted(set(args) - set(model_args(name, args)))
        if unknown:
            raise UsageError(
                f"--judge-args: the judge {name} takes no {unknown[0]!r}",
                fix="only `evaluate` takes any",
            )
    return options.but(
        judges={} if name is None else {"judge": name},
        judge_args=args if name or evaluates else {},
    )


def _task(options: RunOptions) -> Task:
    planned = tasks(options.tasks[0], options.but(scorers=()))
    if len(planned) != 1:
        names = ", ".join(task.name for task in planned)
        raise UsageError(
            f"{options.tasks[0]} holds several datasets: {names}",
            fix="name one as file.py:Class@dataset",
        )
    return planned[0]


def _earlier(home: Path, name: str) -> Path | None:
    """Return the newest run of a dataset in a model's folder, or None."""
    manifests = sorted(home.glob(f"T*/run_{name}/run.json"))
    if manifests:
        return manifests[-1].parent
    return None


def _new_folder(
    home: Path,
    name: str,
    stamp: str,
) -> Path:
    """Return the folder for this command, named after the time.

    If the folder already has a run of this dataset, a number is added to the name.
    """
    folder, number = home / stamp, 2
    while (folder / f"run_{name}").exists():
        folder, number = home / f"{stamp}-{number}", number + 1
    return folder


def _has_data(options: RunOptions) -> bool:
    """Return True if the dataset's table exists on this machine."""
    try:
        source = _task(options).dataset
    except (UsageError, OSError):
        return False
    path = getattr(source, "path", source)
    return not isinstance(path, Path) or path.exists()


SUFFIXES = ("xlsx", "tsv", "json")
FAILED = "Failed to obtain answer via API."
"""The text that VLMEvalKit stores in place of an answer if a request failed."""


@dataclass(frozen=True)
class Imported(ImportedAnswers):
    """A model that answers from a prediction file: each question gets the text of its row in the file."""

    abilities: ClassVar[Abilities] = Abilities(
        frozenset({"text", "image", "video", "audio"})
    )

    def output_of(self, index: str) -> Output:
        """Return the text of a row as an output.

        An empty string, or VLMEvalKit's failure message, becomes a failed request.
        """
        answer = self.predictions.get(index)
        if is_blank(answer) or FAILED in str(answer):
            if index in self.predictions:
                why = "no answer"
            else:
                why = "no such row"
            return self.missing(f"the prediction file has {why} for index {index!r}")
        return Output((Candidate((Text(str(answer)),)),))


def new_prediction_file(
    home: Path,
    stem: str,
    all_digests: frozenset[str],
    of_latest: frozenset[str],
    latest: Path,
) -> Path | None:
    """Return the newest prediction file that no run in this folder has read or written, or None.

    `all_digests` has the digests of all files that runs in this folder read or wrote,
    `of_latest` those of the latest run. A file of an earlier run also counts as new if
    it was copied back into the model's folder after the latest run.
    """
    new: list[Path] = []
    for file in prediction_files(home, stem, SUFFIXES):
        digest = file_digest(file)
        is_put_back = (
            file.parent == home
            and digest not in of_latest
            and _time(file) > _time(latest)
        )
        if digest not in all_digests or is_put_back:
            new.append(file)
    if new:
        return new[-1]
    return None


def _time(file: Path) -> int:
    if file.exists():
        return file.stat().st_mtime_ns
    return 0
