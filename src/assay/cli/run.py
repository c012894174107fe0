"""`assay run`: run tasks on models, with options from the command line and from `--config FILE`."""

import argparse
import contextlib
import gc
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import AssayError, UsageError, note_line, raise_all
from ..core.trust import Gate, guarded
from . import habits
from .arguments import Parser, flatten_list, judge_entry, key_values
from .run_flags import add_flags, changes_of, from_environment

if TYPE_CHECKING:
    from ..runner.options import RunOptions


def gate_of(flags: argparse.Namespace) -> Gate | None:
    """Return the code restrictions for a `--config` that is a `run.json`. Only code named in the command may run."""
    if not flags.config:
        return None
    from ..runner.resume.recorded import check_settings, gate_for

    manifest = _read_plain(flags.config)
    if not _is_manifest(_config_file(flags.config), manifest):
        return None
    named = {
        name: value
        for name, value in vars(flags).items()
        if name != "config" and value not in (None, False)
    }
    for name in ("model_args", "judge_args"):
        named[name] = key_values(getattr(flags, name) or [], option=f"--{name}")
    if flags.base_url:
        named["model_args"]["base_url"] = flags.base_url
    named["judges"] = dict(judge_entry(entry) for entry in flags.judges or ())
    named["tasks"] = flatten_list([*flags.tasks, *(flags.more_tasks or ())])
    gate = gate_for(manifest, flags.config, named, flags.trust_code)
    check_settings(read_config(flags.config), named, gate, asks_model=True)
    return gate


def read_config(path: str) -> "RunOptions":
    """Read options from YAML or JSON.

    With a `run.json`, its run is repeated in a new folder. A config file cannot grant
    trust.
    """
    from ..runner.options import RunOptions

    plain = _read_plain(path)
    if _is_manifest(_config_file(path), plain) and isinstance(
        plain.get("config"), Mapping
    ):
        recorded = RunOptions.from_plain(plain["config"], where=path)
        return recorded.but(
            output=None,
            fresh=False,
            trust_code=False,
            baseline=None,
        )
    return RunOptions.from_plain(plain, where=path).but(trust_code=False)


def _config_file(path: str) -> Path:
    file = Path(path).expanduser()
    if file.is_dir():
        return file / "run.json"
    return file


def _is_manifest(
    file: Path,
    plain: Mapping[str, Any],
) -> bool:
    """Return True if a file is the `run.json` of a run or has the same structure."""
    return (
        "config" in plain
        or file.name == "run.json"
        or (file.parent / "records.jsonl").exists()
    )


def _read_plain(path: str) -> Mapping[str, Any]:
    from ..runner.tasks.task_yaml import load_yaml

    file = _config_file(path)
    if not file.is_file():
        raise UsageError("no such config file", where=path, fix="check the path")
    if file.suffix == ".json":
        try:
            plain = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"not valid JSON: {error}",
                where=path,
                fix="correct that character",
            ) from error
    else:
        plain = load_yaml(file)
    if not isinstance(plain, Mapping):
        raise UsageError(
            "a config file must have keys and values",
            where=path,
            fix="write lines such as `limit: 100`",
        )
    return plain


NOTHING_COMPARED = 3
"""Exit code of a complete run if no result could be compared with `--baseline`."""


def parser() -> Parser:
    """Return the parser with all options of `assay run`."""
    p = Parser(
        prog="assay run",
        usage="assay run TASK… [--model MODEL] [options]",
        description="Run tasks on models. Rerun the same command to resume.",
        epilog="examples:\n"
        "  assay run quickstart\n"
        "  assay run data.jsonl --model my_model.py:generate --limit 20\n"
        "  assay run gsm8k --model openai/gpt-x --base_url http://localhost:8000/v1\n"
        "  assay run my_benchmark.py --model smollm2 --num_fewshot 4 -o runs/mine",
    )
    groups = add_flags(p)
    groups["what"].add_argument(
        "--base_url",
        default=None,
        help="an OpenAI-compatible endpoint",
    )
    groups["what"].add_argument(
        "--device",
        default=None,
        help="device of a local model: cpu, cuda, cuda:1, mps",
    )
    groups["what"].add_argument(
        "--include_path",
        default=None,
        metavar="DIR",
        help="another folder to search for tasks",
    )
    out = groups["output"]
    out.add_argument(
        "-C",
        "--config",
        default=None,
        metavar="FILE",
        help="YAML or JSON, or a run.json to repeat",
    )
    out.add_argument(
        "--dry_run",
        "--write_out",
        action="store_true",
        help="the first prompt, the requests, a forecast",
    )
    out.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    return p


def command(arguments: Sequence[str]) -> int:
    """Run the tasks, print the table or one JSON document, and return the exit code."""
    flags, faults, notes = read_command(arguments)
    if flags.more_tasks and set(flatten_list(flags.more_tasks)) <= {*habits.LISTINGS}:
        from .ls import command as ls

        return int(ls(["tasks"]))
    for note in notes:
        print(note_line(note), file=sys.stderr)
    with stdout_for_people(flags.json) as stdout, guarded(gate_of(flags)):
        from ..runner.run import run

        _collect_rarely()
        options = options_from(flags, faults)
        if faults:
            _raise_with_plan(options, faults)
        if flags.dry_run:
            from .dry_run import show_plan

            return show_plan(options, stdout, flags.json)
        from .display import finish, watcher

        if options.baseline:
            from ..comparison.comparing import open_baseline

            open_baseline(options.baseline)
        watching = watcher(flags.json)
        result = run(options=options, watcher=watching)
        comparison = None
        # A fixed-n comparison is not valid after an early stop; the notes contain the anytime difference.
        if options.baseline and not options.until:
            from ..comparison.comparing import compare_runs

            comparison = compare_runs(options.baseline, result)
        finish(result, stdout, flags.json, comparison, watching)
        return result.exit_code or (
            NOTHING_COMPARED
            if comparison is not None and not comparison.compared
            else 0
        )


def read_command(
    arguments: Sequence[str],
) -> tuple[argparse.Namespace, list[AssayError], list[str]]:
    """Read a command. Return its options, its faults, and the translated flags of other tools.

    Raise for unknown options.
    """
    from .habits import translate

    p = parser()
    ours = translate(arguments, list(p._option_string_actions))
    try:
        flags, faults = p.read(ours.arguments)
    except AssayError as error:
        if ours.faults:
            raise_all([*ours.faults, *getattr(error, "faults", (error,))])
        raise
    return flags, [*ours.faults, *faults], ours.notes


def _raise_with_plan(
    options: "RunOptions",
    faults: list[AssayError],
) -> None:
    """Plan a run with the valid options, and raise all faults: those of the command and those of the plan."""
    from ..runner.plan.planning import make_plan
    from ..runner.plan.settings import collecting, run_faults

    if options.tasks:  # without tasks, their misspelt option may be among the faults
        with collecting(faults):
            make_plan(options)
    else:
        faults += run_faults(options)
    raise_all(faults)


def _collect_rarely() -> None:
    """Make the garbage collector run less often. With millions of records it would take a tenth of a run's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@contextlib.contextmanager
def stdout_for_people(is_json: bool) -> Iterator[Any]:
    """With `--json`, redirect the output of user code to stderr, so that stdout has only the JSON document."""
    stdout = sys.stdout
    if not is_json:
        yield stdout
        return
    with contextlib.redirect_stdout(sys.stderr):
        try:
            number = stdout.fileno()
            aside = sys.stderr.fileno()
        except (OSError, ValueError, AttributeError):
            yield stdout  # the stream has no file, as in a notebook, so only Python code can write to it
            return
        # Libraries in C and child processes write to the file descriptor, so redirect that to stderr as well.
        stdout.flush()
        descriptor = os.dup(number)
        os.dup2(aside, number)
        try:
            with os.fdopen(
                os.dup(descriptor),
                "w",
                encoding="utf-8",
                errors="backslashreplace",
            ) as document:
                yield document
        finally:
            os.dup2(descriptor, number)
            os.close(descriptor)


def options_from(
    flags: argparse.Namespace,
    faults: list[AssayError] | None = None,
) -> "RunOptions":
    """Read run options from a config file and the command line, which takes precedence.

    If a list for faults is passed, add the faults to it and leave out the faulty
    options. Otherwise raise.
    """
    from ..runner.option_fields import PartlyRead
    from ..runner.options import RunOptions
    from ..runner.plan.settings import collecting

    errors: list[AssayError] = []
    base = RunOptions()
    if flags.config:
        try:
            base = read_config(flags.config)
        except PartlyRead as error:
            errors += error.faults
            base = error.made
    base = _with_environment(base, errors)
    changes = changes_of(flags, errors)
    typed = flatten_list([*flags.tasks, *(flags.more_tasks or ())])
    with collecting(errors):
        tasks = habits.task_names(typed, flags.include_path)
        if tasks:
            changes["tasks"] = tuple(tasks)
    model_args = changes.pop("model_args", {})
    if flags.base_url:
        model_args["base_url"] = flags.base_url
    if model_args.get("trust_remote_code") in (True, False) and model_args.pop(
        "trust_remote_code"
    ):
        # On the command line the model option is the user's consent; in a file of settings it is refused.
        changes["trust_remote_code"] = True
    if flags.device:
        model_args |= _device(flags.device, changes.get("models", base.models))
    for name, typed_values in (
        ("model_args", model_args),
        ("generation", changes.pop("generation", {})),
    ):
        if typed_values:
            changes[name] = {**getattr(base, name), **typed_values}
    if faults is None:
        raise_all(errors)
    else:
        faults += errors
    return base.but(**changes)


def _with_environment(
    base: "RunOptions",
    faults: list[AssayError],
) -> "RunOptions":
    """Return the settings of a config file, with missing ones from environment variables.

    Print which of these were used.
    """
    from ..runner.options import RunOptions

    unset = RunOptions()
    used = {
        name: value
        for name, value in from_environment(os.environ, faults).items()
        if getattr(base, name) == getattr(unset, name)
    }
    if used:
        names = ", ".join(variable for variable, _ in used.values())
        print(f"note: set by the environment: {names}", file=sys.stderr)
    return base.but(**{name: value for name, (_, value) in used.items()})


def _device(
    device: str,
    models: Sequence[str],
) -> dict[str, str]:
    """Return the model option `device`. Return nothing if no model accepts it.

    Print a note about each model that does not accept it.
    """
    from ..models.other_names import takes_device
    from ..runner.options import DEFAULT_MODEL

    names = models or (DEFAULT_MODEL,)
    for name in names:
        if not takes_device(name):
            print(
                f"note: --device {device}: {name} has no device to choose",
                file=sys.stderr,
            )
    if any(map(takes_device, names)):
        return {"device": device}
    return {}
