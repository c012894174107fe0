"""`assay vlmeval`: the command line of VLMEvalKit's `run.py`, ending in the same runner as everything else."""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ...core import EMPTY, UnknownName, UsageError, nearest
from ...runner.events import Silent, Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run, score
from ...store import safe_name
from ...userfiles import is_reference
from .evaluating import model_label
from .facade.config import supported_VLM
from .loading import load_guest, own_classes
from .outputs import write_files
from .places import SNAPSHOT
from .planning import tasks
from .session import session

IDLE_FLAGS = ("retry", "judge_retry", "judge_timeout", "judge_api_nproc", "reuse", "reuse_aux", "keep_failed", "ignore",
              "verbose", "api_mode")  # fmt: skip
"""Flags that are taken and change nothing: assay retries, resumes and spreads the work by itself."""
_KEYS = {"key": "ASSAY_VLMEVAL_KEY", "judge_key": "ASSAY_VLMEVAL_JUDGE_KEY"}


class _Parser(argparse.ArgumentParser):
    """Faults as `UsageError`s, with the nearest option for a typo."""

    def error(self, message: str) -> NoReturn:
        close = nearest(message.rpartition(" ")[2], self._option_string_actions)
        raise UsageError(message, fix=f"did you mean {close}?" if close else f"`{self.prog} --help`")


def parser() -> argparse.ArgumentParser:
    """The flags of `run.py`, and a few of assay's own."""
    p = _Parser(prog="assay vlmeval", allow_abbrev=False, description="VLMEvalKit's run.py on assay.")
    p.add_argument("--data", nargs="+", default=[], help="dataset names in $LMUData, TSV files, file.py[:Class[@name]]")
    p.add_argument("--model", nargs="+", default=[], help="file.py:Class, names registered by --register, assay names")
    p.add_argument("--mode", choices=("all", "infer", "eval"), default="all")
    p.add_argument("--work-dir", default="./outputs")
    p.add_argument("--config", default=None, help='JSON: {"model": {name: {"class": …}}, "data": {…}}')
    p.add_argument("--register", action="append", default=[], metavar="FILE", help="a user's file to load first")
    p.add_argument("--nproc", "--api-nproc", dest="nproc", type=int, default=None)
    p.add_argument("--judge", default=None, help="a model of assay; exact_matching for none")
    p.add_argument("--judge-args", default=None, help="JSON")
    p.add_argument("--judge-base-url", default=None)
    p.add_argument("--judge-key", default=None)
    p.add_argument("--base-url", default=None)
    p.add_argument("--key", default=None)
    p.add_argument("--max-tokens", type=int, default=None)
    p.add_argument("--temperature", type=float, default=None)
    p.add_argument("--use-vllm", action="store_true")
    p.add_argument("--limit", default=None)
    p.add_argument("--fresh", action="store_true", help="forget earlier predictions")
    p.add_argument("--trust-pickle", action="store_true")
    p.add_argument("--allow-private-urls", action="store_true")
    p.add_argument("--json", action="store_true")
    for name in ("--retry", "--judge-retry", "--judge-timeout", "--judge-api-nproc"):
        p.add_argument(name, type=int, default=None)
    for name in ("--verbose", "--reuse", "--keep-failed", "--ignore", "--api-mode"):
        p.add_argument(name, action="store_true")
    p.add_argument("--reuse-aux", default=None)
    return p


@dataclass(frozen=True, slots=True)
class Pair:
    """One model on one dataset."""

    data: str
    model: str
    label: str
    """The model's name in folders and files."""
    model_args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def evaluate(arguments: Sequence[str], watcher: Watcher | None = None) -> Iterator[RunResult]:
    """Runs every model on every dataset, writes the promised files, and gives the results one after another."""
    given = parser().parse_args(list(arguments))
    pairs = _pairs(given)
    if not pairs:
        raise UsageError("nothing to run", fix="--data NAME --model NAME")
    for pair in pairs:
        yield _run(pair, given, watcher or Silent())


def idle_flags(arguments: Sequence[str]) -> list[str]:
    """The given flags that change nothing, to be named to the user."""
    given = vars(parser().parse_args(list(arguments)))
    return [f"--{name.replace('_', '-')}" for name in IDLE_FLAGS if given.get(name)]


def _run(pair: Pair, given: argparse.Namespace, watcher: Watcher) -> RunResult:
    options = _options(pair, given)
    name = _dataset_name(pair.data)
    home = Path(given.work_dir) / pair.label
    earlier = _earlier(home, name)
    if given.mode == "eval" and earlier is None:
        raise UsageError(f"no predictions of {pair.label} on {name}", where=str(home), fix="run --mode infer first")
    fresh = earlier is None or (given.fresh and given.mode != "eval")
    folder = home / time.strftime("T%Y%m%d-%H%M%S") if fresh or earlier is None else earlier.parent
    run_folder = folder / f"run_{safe_name(name, 80)}"
    options = options.but(output=str(run_folder))
    session.work_folder = folder.resolve()
    try:
        if given.mode == "eval":
            data = None if _has_data(pair.data, options) else str(run_folder / SNAPSHOT)
            settings = {"tasks": options.tasks, "judges": options.judges, "judge_args": options.judge_args}
            result = score(
                run_folder, watcher=watcher, scorers=(), data=data, register=options.register, dialect="vlmeval",
                trust_pickle=options.trust_pickle, **settings
            )  # fmt: skip
            options = options.but(data=data)
        else:
            result = run(options=options, watcher=watcher)
        (task,) = tasks(options.tasks[0], options.but(scorers=()))
        write_files(folder, f"{pair.label}_{safe_name(name, 80)}", task, options.data, run_folder, result)
    finally:
        session.work_folder = None
    return result


def _options(pair: Pair, given: argparse.Namespace) -> RunOptions:
    model_args: dict[str, Any] = dict(pair.model_args)
    if given.base_url:
        model_args["base_url"] = given.base_url
    if given.use_vllm:
        model_args["use_vllm"] = True
    judge_args = _json(given.judge_args, "--judge-args")
    if given.judge_base_url:
        judge_args["base_url"] = given.judge_base_url
    for flag, args in (("key", model_args), ("judge_key", judge_args)):
        secret = getattr(given, flag)
        if secret:  # a key goes through the environment: run.json never sees it
            os.environ[_KEYS[flag]] = secret
            args["api_key_env"] = _KEYS[flag]
    generation = {n: v for n in ("max_tokens", "temperature") if (v := getattr(given, n)) is not None}
    judge = given.judge if given.judge not in (None, "exact_matching") else None
    return RunOptions(
        tasks=(pair.data,),
        models=(pair.model,),
        model_args=model_args,
        generation=generation,
        judges={"judge": judge if "/" in judge or is_reference(judge) else f"openai/{judge}"} if judge else {},
        judge_args=judge_args,
        limit=given.limit,
        concurrency=given.nproc,
        scorers=("answered",) if given.mode == "infer" else (),
        dialect="vlmeval",
        register=tuple(given.register),
        trust_pickle=given.trust_pickle,
        allow_private_urls=given.allow_private_urls,
    )


def _pairs(given: argparse.Namespace) -> list[Pair]:
    for file in given.register:
        load_guest(file)
    config = _json(Path(given.config).read_text("utf-8"), given.config) if given.config else {}
    data = list(given.data)
    for name, entry in config.get("data", {}).items():
        kind = entry.get("class") if entry else None
        data.append(f"{_file_of(kind, given)}:{kind}@{entry.get('dataset', name)}" if kind else name)
    models = [Pair("", _model(name, given), model_label(name)) for name in given.model]
    for name, entry in config.get("model", {}).items():
        if not entry:
            models.append(Pair("", _model(name, given), model_label(name)))
            continue
        args = {k: v for k, v in entry.items() if k != "class"}
        models.append(Pair("", f"{_file_of(entry['class'], given)}:{entry['class']}", safe_name(name, 80), args))
    return [Pair(one, m.model, m.label, m.model_args) for m in models for one in data]


def _model(name: str, given: argparse.Namespace) -> str:
    """A model as assay names it: a name that a registered file defines becomes `file.py:name`."""
    if is_reference(name):
        return name
    for file in given.register:
        module = load_guest(file)
        if any(kind.__name__ == name for kind in own_classes(module)):
            return f"{file}:{name}"
    if name in supported_VLM and given.register:
        return f"{given.register[-1]}:{name}"
    return f"openai/{name}" if given.base_url and "/" not in name else name


def _file_of(kind: str, given: argparse.Namespace) -> str:
    known: list[str] = []
    for file in given.register:
        names = [own.__name__ for own in own_classes(load_guest(file))]
        if kind in names:
            return str(file)
        known += names
    raise UnknownName("class", kind, known, where=given.config, hint="--register FILE names the file that defines it")


def _earlier(home: Path, dataset: str) -> Path | None:
    """The newest run of a dataset under a model's folder."""
    found = sorted(home.glob(f"T*/run_{safe_name(dataset, 80)}/run.json"))
    return found[-1].parent if found else None


def _has_data(data: str, options: RunOptions) -> bool:
    """Whether the rows are on this machine."""
    try:
        made = tasks(data, options.but(scorers=()))
    except (UsageError, OSError):
        return False
    source = made[0].dataset
    return not isinstance(source, Path) or source.exists()


def _dataset_name(data: str) -> str:
    path, _, attribute = data.rpartition(":") if ".py:" in data else (data, "", "")
    if attribute:
        return attribute.partition("@")[2] or attribute
    return Path(data).name.split(".")[0] if Path(path).suffix else data


def _json(text: str | None, where: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"not valid JSON: {error}", where=where) from error
    if not isinstance(value, dict):
        raise UsageError("expected a JSON object", where=where)
    return value
