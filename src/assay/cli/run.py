"""`assay run`: tasks on models, from one command."""

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.errors import AssayError
from ..core.trust import guarded
from . import habit_values
from .arguments import Parser, flatten_list, judge_entry, key_values
from .config_files import gate_of, read_config

GENERATION_FLAGS: tuple[tuple[str, type], ...] = (
    ("temperature", float), ("top_p", float), ("top_k", int), ("min_p", float), ("max_tokens", int), ("n", int),
    ("logprobs", int), ("frequency_penalty", float), ("presence_penalty", float), ("repetition_penalty", float),
    ("reasoning_effort", str),
)  # fmt: skip
COPIED = (
    "data", "split", "limit", "shard", "num_fewshot", "fewshot_data", "template", "measure", "system", "epochs",
    "reducer", "seed", "shuffle_choices", "batch_size", "concurrency", "on_error", "give_up_after", "scorer_seconds",
    "on_duplicate", "on_data_error", "output", "cache", "dialect", "media_root", "replicas", "executor",
    "gpus_per_replica", "address", "apply_chat_template", "fewshot_as_multiturn",
)  # fmt: skip
"""Options that mean the same on the command line as in `RunOptions`."""
NOTHING_COMPARED = 3
"""The exit code of a run that is complete and has no number in common with its `--baseline`."""
SWITCHES = (
    "shuffle", "fresh", "predict_only", "trust_code", "trust_pickle", "trust_remote_code", "allow_private_urls",
    "allow_urls",
)  # fmt: skip


def parser() -> Parser:
    """All options of `assay run`."""
    p = Parser(
        prog="assay run",
        description="Run tasks on models. The same command again goes on where it stopped.",
        epilog="examples:\n"
        "  assay run quickstart\n"
        "  assay run data.jsonl --model my_model.py:generate --limit 20\n"
        "  assay run gsm8k mmlu_pro --model openai/gpt-x --base_url http://localhost:8000/v1 --concurrency 64\n"
        "  assay run my_benchmark.py --model smollm2 --num_fewshot 4 -o runs/mine",
    )
    what = p.add_argument_group("what")
    what.add_argument("tasks", nargs="*", help="task names, data files, YAML or Python files (space or comma)")
    what.add_argument("-t", "--tasks", "--datasets", dest="more_tasks", action="append", default=[], help="the same")
    what.add_argument(
        "-M", "--model", "--models", action="append", default=None,
        help="scheme/name, file.py:fn, or a name; repeat for several (default smollm2)",
    )
    what.add_argument("-a", "--model_args", action="append", default=None, metavar="K=V,…", help="options of the model")
    what.add_argument("--base_url", default=None, help="an OpenAI-compatible endpoint")
    what.add_argument("--device", default=None, help="what a local model computes on: cpu, cuda, cuda:1, mps")
    what.add_argument("--include_path", default=None, metavar="DIR", help="a folder in which tasks are looked for, too")
    what.add_argument("--judge", action="append", default=None, metavar="[ROLE=]MODEL", help="a model for a scorer")
    what.add_argument("--judge_args", action="append", default=None, metavar="K=V,…")
    data = p.add_argument_group("data")
    data.add_argument("--data", default=None, help="a file or folder in place of the task's own data")
    data.add_argument("--split", default=None)
    data.add_argument("-L", "--limit", "--max_samples", default=None, help="a number, a fraction, or a range a-b")
    data.add_argument("--sample_id", "--ids", action="append", default=None, help="only these samples")
    data.add_argument("--shuffle", action="store_true", help="in an order drawn from --seed")
    data.add_argument(
        "--shuffle_choices", nargs="?", type=int, const=0, default=None, metavar="SEED",
        help="the options of each question in an order drawn from SEED (default 0)",
    )
    data.add_argument("--tags", action="append", default=None, metavar="COLUMN,…", help="break results down by columns")
    data.add_argument("--shard", default=None, metavar="I/N", help="this part of N, counted from 1")
    data.add_argument(
        "--columns", action="append", default=None, metavar="PART=COLUMN",
        help="input=…, target=…, choices=…, id=…",
    )
    data.add_argument("--on_duplicate", choices=("error", "first", "suffix"), default=None)
    data.add_argument(
        "--on_data_error", choices=("continue", "stop"), default=None,
        help="stop: refuse before anything is written",
    )
    prompt = p.add_argument_group("prompt")
    prompt.add_argument("-f", "--num_fewshot", type=int, default=None)
    prompt.add_argument("--fewshot_data", default=None, help="where shots come from")
    prompt.add_argument(
        "--fewshot_as_multiturn", nargs="?", const=True, default=None, type=_truth, metavar="true|false",
        help="shots as turns of a chat, or as one text before the question",
    )
    prompt.add_argument(
        "--apply_chat_template", nargs="?", const=True, default=None, type=_truth, metavar="true|false",
        help="every prompt as a chat, or none (default: as the task has it)",
    )
    prompt.add_argument("--template", default=None, help="a name, Jinja text or file, or file.py:fn")
    prompt.add_argument("--system", "--system_instruction", "--system_message", default=None)
    prompt.add_argument("--scorer", "--scorers", action="append", default=None, help="in place of the task's own")
    prompt.add_argument(
        "--measure", default=None,
        help="choices by letter_likelihood, text_likelihood, first_token or letter (default: the best of the model's)",
    )
    generation = p.add_argument_group("generation")
    for name, kind in GENERATION_FLAGS:
        generation.add_argument(f"--{name}", type=kind, default=None)
    generation.add_argument("--stop", action="append", default=None)
    generation.add_argument("--gen_kwargs", "--generation_config", action="append", default=None, metavar="K=V,…")
    generation.add_argument("--epochs", "--repeats", type=int, default=None, help="ask each sample so often")
    generation.add_argument("--reducer", default=None, help="mean, majority, max")
    generation.add_argument(
        "--seed", type=habit_values.seed, default=None, help="what is drawn is made of it, sample and epoch"
    )
    work = p.add_argument_group("work")
    work.add_argument(
        "-b", "--batch_size", type=habit_values.batch_size, default=None, metavar="N|auto",
        help="requests handed over at once; auto: what memory has room for",
    )
    work.add_argument("--concurrency", "--max_connections", type=int, default=None)
    work.add_argument("--replicas", type=int, default=None, help="copies of the model, each in a process of its own")
    work.add_argument("--executor", choices=("local", "ray"), default=None, help="where they run (default local)")
    work.add_argument("--gpus_per_replica", type=float, default=None)
    work.add_argument("--address", default=None, help="of a Ray cluster: HOST:PORT or auto (default: one started here)")
    work.add_argument("--on_error", default=None, help="stop, continue, a fraction or a count (default 0.05)")
    work.add_argument(
        "--scorer_seconds", type=float, default=None,
        help="CPU time a scorer may take for one answer (default 30; 0: no limit)",
    )  # fmt: skip
    work.add_argument(
        "--give_up_after", type=float, default=None, metavar="SECONDS",
        help="an endpoint that gives only wrong replies from the first on ends the run (default 30)",
    )
    work.add_argument(
        "--cache", nargs="?", const="~/.cache/assay/responses", default=None,
        help="share answers between runs",
    )
    out = p.add_argument_group("output")
    out.add_argument("-o", "--output", "--output_path", "--log_dir", "--work_dir", default=None, metavar="DIR")
    out.add_argument("-C", "--config", default=None, metavar="FILE", help="YAML or JSON, or a run.json to repeat")
    out.add_argument("--baseline", default=None, metavar="RUN", help="compare with an earlier run, sample by sample")
    out.add_argument("--dry_run", "--write_out", action="store_true", help="the first prompt, the requests, a forecast")
    out.add_argument("--json", action="store_true", help="exactly one JSON document on stdout")
    out.add_argument("--predict_only", action="store_true", help="ask and keep the answers; `assay score` scores them")
    out.add_argument("--fresh", action="store_true", help="forget what this folder holds")
    guests = p.add_argument_group("guests")
    guests.add_argument("--dialect", default=None, help="testbed, vlmeval, pipeline, televal or ulmeval")
    guests.add_argument("--register", action="append", default=None, metavar="FILE", help="a guest file to load first")
    trust = p.add_argument_group("trust")
    trust.add_argument(
        "--trust_code", action="store_true", help="run the code that a run.json of somebody else names"
    )
    trust.add_argument("--trust_pickle", action="store_true")
    trust.add_argument("--trust_remote_code", action="store_true")
    trust.add_argument("--allow_private_urls", action="store_true")
    trust.add_argument("--allow_urls", action="store_true", help="fetch media that rows name by URL")
    trust.add_argument("--media_root", metavar="DIR", default=None, help="folder that holds the media which rows name")
    p.add_argument("--debug", action="store_true", help="show tracebacks")
    return p


def command(arguments: Sequence[str]) -> int:
    """Runs, prints the table or one JSON document, and returns the exit code."""
    given, faults, notes = read_command(arguments)
    if given.more_tasks and set(flatten_list(given.more_tasks)) <= {*habit_values.LISTINGS}:
        from .ls import command as ls

        return int(ls(["tasks"]))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    with _stdout_for_people(given.json) as stdout, guarded(gate_of(given)):
        from ..runner.run import run

        _collect_rarely()
        options = options_from(given, faults)
        if faults:
            _raise_with_plan(options, faults)
        if given.dry_run:
            from .dry_run import show_plan

            return show_plan(options, stdout, given.json)
        from .display import finish, watcher

        if given.baseline:
            from .baseline import open_baseline

            open_baseline(given.baseline)
        watching = watcher(given.json)
        result = run(options=options, watcher=watching)
        comparison = None
        if given.baseline:
            from .baseline import compare_with

            comparison = compare_with(given.baseline, result)
        finish(result, stdout, given.json, comparison, watching)
        return result.exit_code or (NOTHING_COMPARED if comparison is not None and not comparison.compared else 0)


def read_command(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[AssayError], list[str]]:
    """The options of a command, its faults, and what was understood of other tools' flags; raises for unknown ones."""
    from .habits import translate

    p = parser()
    ours = translate(arguments, list(p._option_string_actions))
    try:
        given, faults = p.read(ours.arguments)
    except AssayError as error:
        if ours.faults:
            from ..runner.plan.settings import raise_all

            raise_all([*ours.faults, *getattr(error, "faults", (error,))])
        raise
    return given, [*ours.faults, *faults], ours.notes


def _raise_with_plan(options: Any, faults: list[AssayError]) -> None:
    """Raises the faults of a command together with those that only planning the rest of it shows."""
    from ..runner.plan.planning import make_plan
    from ..runner.plan.settings import gather, raise_all, run_faults

    if options.tasks:  # where there are none, what names them may be what is misspelled
        gather(faults, lambda: make_plan(options))
    else:
        faults += run_faults(options)
    raise_all(faults)


def _collect_rarely() -> None:
    """Millions of short-lived records make the cycle collector look in vain: a tenth of the time of a fast run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@contextlib.contextmanager
def _stdout_for_people(is_json: bool) -> Iterator[Any]:
    """Under `--json`, what user code prints goes to stderr; the one document goes to the real stdout."""
    stdout = sys.stdout
    if not is_json:
        yield stdout
        return
    with contextlib.redirect_stdout(sys.stderr):
        try:
            number, aside = stdout.fileno(), sys.stderr.fileno()
        except (OSError, ValueError, AttributeError):
            yield stdout  # no file behind it, as in a notebook: only Python's own printing can reach it
            return
        # Libraries in C and child processes write to the file itself: that goes to stderr too.
        stdout.flush()
        kept = os.dup(number)
        os.dup2(aside, number)
        try:
            with os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="backslashreplace") as document:
                yield document
        finally:
            os.dup2(kept, number)
            os.close(kept)


def options_from(given: argparse.Namespace, faults: list[AssayError] | None = None) -> Any:
    """Run options from a config file and the command line; the command line wins.

    With a list for them, faults are put there and what has one is left out; else they are raised.
    """
    from ..runner.options import PartlyRead, RunOptions
    from ..runner.plan.settings import gather, raise_all

    found: list[AssayError] = []
    base = RunOptions()
    if given.config:
        try:
            base = read_config(given.config)
        except PartlyRead as error:
            found += error.faults
            base = error.made

    def pairs(values: Any, option: str) -> dict[str, Any]:
        return gather(found, lambda: key_values(values, option=option)) or {}

    changes: dict[str, Any] = {}
    typed = flatten_list([*given.tasks, *given.more_tasks])
    tasks = gather(found, lambda: habit_values.task_names(typed, given.include_path))
    if tasks:
        changes["tasks"] = tuple(tasks)
    if given.model:
        changes["models"] = tuple(given.model)
    model_args = pairs(given.model_args, "--model_args")
    if given.base_url:
        model_args["base_url"] = given.base_url
    if model_args.get("trust_remote_code") in (True, False):
        # Typed on the command line it is the consent that its own flag is; in a file of settings it is refused.
        given.trust_remote_code = model_args.pop("trust_remote_code") or given.trust_remote_code
    if given.device:
        model_args |= _device(given.device, changes.get("models", base.models))
    if model_args:
        changes["model_args"] = {**base.model_args, **model_args}
    generation = {name: getattr(given, name) for name, _ in GENERATION_FLAGS if getattr(given, name) is not None}
    written = pairs(given.gen_kwargs, "--gen_kwargs")
    generation = {
        **(gather(found, lambda: habit_values.generation_options(written, "--gen_kwargs")) or {}),
        **generation,
    }
    if given.stop:
        generation["stop"] = tuple(map(habit_values.unescape, given.stop))
    if generation:
        changes["generation"] = {**base.generation, **generation}
    if given.judge:
        changes["judges"] = dict(judge_entry(entry) for entry in given.judge)
    if given.judge_args:
        changes["judge_args"] = pairs(given.judge_args, "--judge_args")
    if given.columns:
        changes["columns"] = {k: str(v) for k, v in pairs(given.columns, "--columns").items()}
    if given.sample_id:
        changes["ids"] = tuple(given.sample_id)
    if given.tags:
        changes["tags"] = tuple(flatten_list(given.tags))
    if given.register:
        changes["register"] = tuple(given.register)
    if given.scorer:
        changes["scorers"] = tuple(given.scorer)
    for name in COPIED:
        if getattr(given, name) is not None:
            changes[name] = getattr(given, name)
    for name in SWITCHES:
        if getattr(given, name):
            changes[name] = True
    if faults is None:
        raise_all(found)
    else:
        faults += found
    return base.but(**changes)


def _device(device: str, models: Sequence[str]) -> dict[str, str]:
    """`--device` for models that have a choice; the others are run where they are, which is said."""
    from ..models.other_names import takes_device
    from ..runner.options import DEFAULT_MODEL

    names = models or (DEFAULT_MODEL,)
    for name in names:
        if not takes_device(name):
            print(f"note: --device {device}: {name} has no device to choose", file=sys.stderr)
    return {"device": device} if any(map(takes_device, names)) else {}


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
    return text.lower() == "true"
