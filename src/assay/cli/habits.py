"""Flags and values of lm-eval, inspect_ai and evalscope: each flag works, or the error names assay's flag.

The table is applied before argparse reads the command. Flags with the same meaning are
renamed. Flags for something that assay always does are accepted with a note. All others
are refused with advice.

Values are converted if other tools spell them differently: `do_sample=False`,
`file.py@task`, `auto`, four seeds.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..core.errors import AssayError, UsageError

Takes = Literal["nothing", "a value", "true or false", "a number or nothing"]


@dataclass(frozen=True, slots=True)
class Habit:
    """The translation of one flag of another tool to assay's flags."""

    takes: Takes = "a value"
    becomes: str | Callable[[str], Sequence[str]] | None = None
    """The flag of assay that takes the same value, or a function that turns the value into assay's arguments."""
    note: str = ""
    """A note for the user, for a flag that is accepted but changes nothing."""
    answer: str = ""
    """The advice for the user, for a flag that is refused."""


@dataclass(slots=True)
class Translation:
    """A command translated to assay's flags, with notes about ignored flags and errors for refused ones."""

    arguments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[AssayError] = field(default_factory=list)


def _nothing(note: str) -> Habit:
    return Habit("nothing", note=note)


def _unused(note: str) -> Habit:
    return Habit(note=note)


def _refused(answer: str, takes: Takes = "a value") -> Habit:
    return Habit(takes, answer=answer)


def _flag(*arguments: str) -> Habit:
    return Habit("nothing", becomes=lambda _: arguments)


def _shuffled(seed: str) -> Sequence[str]:
    if seed:
        return ("--shuffle", f"--seed={seed}")
    return ("--shuffle",)


SERVICES = "assay sends results nowhere; `assay export RUN --to csv` (or parquet, lm-eval-json) writes a file to send"
KEYS = (
    "a key on the command line is seen by every process and stays in the shell's history;"
    " export OPENAI_API_KEY=… (-a api_key_env=NAME names another variable)"
)
TASK_ARGS = "a task has no arguments: --limit, --num_fewshot, --template, --split, … change it (`assay run --help`)"
SOLVER = "the task's template makes the prompt: --template NAME, Jinja text or file.py:function"

RENAMED: Mapping[str, str] = {
    "use_cache": "--cache",
    "model_base_url": "--base_url",
    "api_url": "--base_url",
    "api_base": "--base_url",
    "model_role": "--judge",
    "judge_model": "--judge",
    "judge_model_args": "--judge_args",
    "model_config": "--config",
    "run_config": "--config",
    "epochs_reducer": "--reducer",
    "dataset_dir": "--data",
    "stop_seqs": "--stop",
    "num_choices": "--n",
    "top_logprobs": "--logprobs",
    "chat_template": "-a chat_template=",
    "peft": "-a adapter=",
    "revision": "-a revision=",
    "dtype": "-a dtype=",
    "num_samples": "--limit",
    "n_shot": "--num_fewshot",
    "num_shots": "--num_fewshot",
    "fewshot": "--num_fewshot",
    "max_new_tokens": "--max_tokens",
    "max_gen_toks": "--max_tokens",
    "eval_batch_size": "--batch_size",
}
"""Flags of other tools that take the same value in assay, but have another name there."""

HABITS: Mapping[str, Habit] = {
    **{name: Habit(becomes=ours) for name, ours in RENAMED.items()},
    # lm-eval
    "no_log_samples": _refused(
        "every prompt and answer is always kept; remove the run folder afterwards",
        "nothing",
    ),
    "verbosity": _unused("--verbosity: not used; --debug shows tracebacks"),
    "log_level": _unused("--log_level: not used; --debug shows tracebacks"),
    "log_level_transcript": _unused("--log_level_transcript: not used"),
    "max_batch_size": _unused(
        "--max_batch_size: assay halves a batch that memory has no room for"
    ),
    "cache_requests": Habit(
        "true or false", note="--cache_requests: prompts are made while the model works"
    ),
    "check_integrity": _refused(
        "`assay conformance` compares scorers with official results", "nothing"
    ),
    "show_config": _nothing(
        "--show_config: run.json in the run folder holds every setting"
    ),
    "samples": _refused(
        "--limit N takes the first N samples; --sample_id ID,ID names them by their id"
    ),
    "metadata": _unused("--metadata: not used"),
    "confirm_run_unsafe_code": _nothing(
        "--confirm_run_unsafe_code: the task's own page says what it runs"
    ),
    "wandb_args": _refused(SERVICES),
    "wandb_config_args": _refused(SERVICES),
    "hf_hub_log_args": _refused(SERVICES),
    "trackio": _refused(SERVICES),
    "wandb_api_key": _refused(SERVICES),
    "swanlab_api_key": _refused(SERVICES),
    "api_key": _refused(KEYS),
    # inspect_ai
    "solver": _refused(SOLVER),
    "approval": _refused(
        "assay runs no tools or agents, so there is nothing to approve"
    ),
    "sandbox": _refused(
        "--judge sandbox=sandbox/TIER chooses the sandbox of code benchmarks (docs/code.md)"
    ),
    "no_score": _flag("--predict_only"),
    "sample_shuffle": Habit("a number or nothing", becomes=_shuffled),
    "fail_on_error": Habit(
        "a number or nothing", becomes=lambda share: (f"--on_error={share or 'stop'}",)
    ),
    "score_display": _nothing("--score_display: the table comes at the end"),
    "display": _unused(
        "--display: a bar on a terminal, lines elsewhere, and --json for programs"
    ),
    "log_format": _unused(
        "--log_format: a run folder holds records.jsonl; `assay export` writes csv and parquet"
    ),
    "log_buffer": _unused("--log_buffer: every answer is written when it comes"),
    "log_images": _nothing("--log_images: media are kept by their digest"),
    "no_fail_on_error": _flag("--on_error=continue"),
    "continue_on_fail": _flag("--on_error=continue"),
    "max_retries": _unused(
        "--max_retries: failures that may pass are tried again until --on_error says stop"
    ),
    "timeout": Habit(becomes="-a total_timeout="),
    "max_subprocesses": _unused("--max_subprocesses: not used"),
    "max_tasks": _unused("--max_tasks: tasks run one after another"),
    "token_limit": _refused(
        "--max_tokens N limits each answer; -a price_output=… with --dry_run forecasts the cost"
    ),
    "message_limit": _refused("a dialogue has as many turns as its row"),
    "time_limit": _refused("-a total_timeout=SECONDS limits a request"),
    "trace": _nothing("--trace: `assay show RUN` prints every prompt and answer"),
    "internet": _unused("--internet: not used"),
    # evalscope
    "eval_type": _unused(
        "--eval_type: the model's name says it: hf/…, vllm/…, openai/… with --base_url"
    ),
    "eval_backend": _refused(
        "assay runs tasks itself; `assay vlmeval` is VLMEvalKit's own command line"
    ),
    "dataset_args": _refused(TASK_ARGS),
    "dataset_hub": _refused(
        "data comes from --data PATH, $ASSAY_DATA or the Hugging Face hub"
    ),
    "model_id": _unused("--model_id: results carry the model's name"),
    "model_task": _unused("--model_task: the task defines what the model produces"),
    "no_timestamp": _nothing(
        "--no_timestamp: the folder's name is made from the options"
    ),
    "stream": Habit("true or false", note="--stream: answers are read whole"),
    "ignore_errors": _flag("--on_error=continue"),
    "rerun_review": _refused("`assay score RUN` scores a run again", "nothing"),
    "judge_strategy": _unused(
        "--judge_strategy: a scorer that needs a judge asks the one of --judge"
    ),
    "judge_worker_num": _unused(
        "--judge_worker_num: judges are asked as fast as they answer"
    ),
    "analysis_report": _refused("`assay show RUN` prints every sample", "nothing"),
    "enable_progress_tracker": _nothing(
        "--enable_progress_tracker: progress is always shown"
    ),
}
"""The translation of each flag. Keys are written without leading dashes and with `_` instead of `-`."""

SHORT: Mapping[str, Habit] = {
    "-S": _refused(SOLVER),
    "-x": _flag("--predict_only"),
    "-E": _refused("--sample_id ID,ID names samples by their id"),
    "-G": Habit(becomes="--gen_kwargs"),
}
TRUTHS = ("true", "false")
OPTIONAL_TRUTHS = ("--apply_chat_template", "--fewshot_as_multiturn")
"""Options of assay whose value may be omitted. The next word is their value only if it is `true` or `false`."""


def translate(
    arguments: Sequence[str],
    flags: Sequence[str],
) -> Translation:
    """Translate a command to assay's flags. `flags` are assay's own options, which are not changed."""
    our_flags = {
        option.replace("-", "_") for option in flags if option.startswith("--")
    }
    done = Translation()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            done.arguments += [argument, *rest]
            break
        name, equals, value = argument.partition("=")
        if argument == "-M" and rest and "=" in rest[0].partition("/")[0]:
            done.arguments += ["-a", rest.pop(0)]  # inspect_ai's options of a model
            continue
        if (
            name.replace("-", "_").replace("__", "--", 1) in OPTIONAL_TRUTHS
            and not equals
        ):
            is_value = bool(rest) and _is_value("true or false", rest[0])
            done.arguments.append(f"{name}={rest.pop(0) if is_value else 'true'}")
            continue
        is_own = not name.startswith("-") or name.replace("-", "_") in our_flags
        if is_own:
            habit = None
        else:
            habit = SHORT.get(name) or HABITS.get(
                name.lstrip("-").replace("-", "_").lower()
            )
        if habit is None:
            done.arguments.append(argument)
            continue
        if not equals and rest:
            if _is_value(habit.takes, rest[0]):
                value = rest.pop(0)
            else:
                value = ""
        _apply(habit, name, value, done)
    return done


def _is_value(takes: Takes, following: str) -> bool:
    """Return True if the word after a flag is the flag's value."""
    if takes == "true or false":
        return following.lower() in TRUTHS
    if takes == "a number or nothing":
        return following.replace(".", "", 1).isdigit()
    return takes == "a value"


def _apply(
    habit: Habit,
    name: str,
    value: str,
    done: Translation,
) -> None:
    if habit.answer:
        fault = UsageError(f"{name} is not an option of assay", fix=habit.answer)
        done.faults.append(fault)
    elif callable(habit.becomes):
        done.arguments += habit.becomes(value)
    elif habit.becomes is not None and habit.becomes.startswith("-a "):
        done.arguments += ["-a", f"{habit.becomes[3:]}{value}"]
    elif habit.becomes is not None:
        done.arguments.append(f"{habit.becomes}={value}")
    if habit.note:
        done.notes.append(habit.note)


GENERATION_NAMES: Mapping[str, str] = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "until": "stop",
    "stop_seqs": "stop",
    "stop_sequences": "stop",
    "num_return_sequences": "n",
    "top_logprobs": "logprobs",
}
"""Names of generation options in other tools, with their names in assay."""
REFUSED_GENERATION: Mapping[str, str] = {
    "num_beams": "assay samples or takes the likeliest token; leave num_beams out",
    "stream": "answers are read whole; leave stream out",
    "extra_body": '-a \'body={"name": "value"}\' adds members to every request',
    "extra_headers": '-a \'headers={"name": "value"}\' adds headers to every request',
    "timeout": "-a total_timeout=SECONDS",
    "batch_size": "--batch_size N, or --concurrency N for an endpoint",
}
LISTINGS = ("list", "list_groups", "list_subtasks", "list_tags")
"""Values of `--tasks` for which lm-eval prints its list of tasks."""
TASK_SUFFIXES = (".yaml", ".yml", ".py")
_ESCAPE = re.compile(r"\\(?:[nrt\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
r"""Matches escapes such as `\\n` in stop strings, which are replaced. Others, such as in `\\boxed`, do not match."""


def generation_options(
    values: Mapping[str, Any],
    flag: str,
) -> dict[str, Any]:
    """Rename generation options to assay's names.

    `do_sample=False` becomes temperature 0; `do_sample=True` turns sampling on.
    """
    options: dict[str, Any] = {}
    for name, value in values.items():
        if name in REFUSED_GENERATION:
            raise UsageError(
                f"{flag} {name} is not a generation option",
                fix=REFUSED_GENERATION[name],
            )
        options[GENERATION_NAMES.get(name, name)] = value
    draws = options.pop("do_sample", None)
    if draws is not None and not isinstance(draws, bool):
        raise UsageError(
            f"{flag} do_sample={draws!r} is not true or false",
            fix="--temperature 0 takes the likeliest",
        )
    if draws is False:
        options["temperature"] = 0.0
    elif draws and not options.get("temperature"):
        options["temperature"] = 1.0  # the default of transformers for sampling
    if "stop" in options:
        stops = options["stop"]
        if stops is None:
            stops = []
        elif not isinstance(stops, list):
            stops = [stops]
        options["stop"] = tuple(unescape(str(text)) for text in stops)
    return options


def unescape(text: str) -> str:
    r"""Replace escapes in a stop string with the characters they represent: a backslash
    and `n` become a line break.
    """
    return _ESCAPE.sub(_unescape_match, text)


def _unescape_match(match: re.Match[str]) -> str:
    return match[0].encode("ascii").decode("unicode_escape")


def task_names(
    names: Sequence[str],
    folder: str | None = None,
) -> list[str]:
    """Convert task names: `file.py@task` to `file.py:task`, and a name that a file in
    `folder` defines to that file.
    """
    if folder is not None and not Path(folder).expanduser().is_dir():
        raise UsageError(
            f"--include_path {folder} is not a folder",
            fix="name the folder of your task files",
        )
    tasks: list[str] = []
    for name in names:
        defining_files = _defining_files(name, folder)
        tasks += defining_files or [_task_name(name, folder)]
    return tasks


def _defining_files(
    name: str,
    folder: str | None,
) -> list[str]:
    """Return the files of `--include_path` that define a task of this name for another toolkit."""
    if folder is None or Path(name).exists():
        return []
    from ..dialects.recognise import files_named

    bare, bar, shots = name.partition("|")
    files = files_named(bare, Path(folder).expanduser())
    return [f"{file}{bar}{shots}" for file in files]


def _task_name(
    name: str,
    folder: str | None,
) -> str:
    file, separator, task = name.rpartition("@")
    if (
        separator
        and file.endswith(".py")
        and task.isidentifier()
        and task
        != "upstream"  # `@NAME` is a protocol of the original system, not a task
        and Path(file).expanduser().is_file()
    ):
        return f"{file}:{task}"
    if folder is None or Path(name).exists():
        return name
    from ..registry import tasks

    if name in tasks:
        defining_file = None
    else:
        defining_file = _file_of(name, Path(folder).expanduser())
    if defining_file is None:
        return name
    return str(defining_file)


def _file_of(name: str, folder: Path) -> Path | None:
    files = (
        file for suffix in TASK_SUFFIXES for file in sorted(folder.rglob(f"*{suffix}"))
    )
    return next((file for file in files if file.stem == name), None)


def batch_size(text: str) -> int | str:
    """Return the batch size as a number, or `auto` to choose it by the available
    memory.

    lm-eval's `auto:N` is accepted too.
    """
    if text.lower().partition(":")[0] == "auto":
        return "auto"
    return _whole_number(text, "a whole number, or auto")


def seed(text: str) -> int:
    """Return the seed. lm-eval's list of four seeds is accepted if all of them are equal."""
    parts = {part.strip() for part in text.split(",")} - {"", "None"}
    if len(parts) > 1:
        last = text.rpartition(",")[2]
        raise argparse.ArgumentTypeError(
            f"all that is drawn comes from one seed, got {text!r}; write --seed {last}"
        )
    return _whole_number(next(iter(parts), ""), "a whole number")


def _whole_number(text: str, wanted: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}") from error
