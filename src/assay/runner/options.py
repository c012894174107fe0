"""Run options, in one list that is used by Python, YAML and the command line."""

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ..code.userfiles import one_spelling
from ..core import EMPTY, AssayError, UsageError, digest_of, shorten, suggest
from ..core.secrets import redact_options
from .option_fields import PartlyRead, faults_of_judges, flags_of, option

DEFAULT_MODEL = "smollm2"
SANDBOX = "sandbox"
"""The helper role of the sandbox. Every run has it, even if it has no judges."""
SEVERAL = ("list", "names", "pairs")
"""Types of options that take more than one value."""
CLOSE_KEY = 0.7
"""Minimum similarity (0 to 1) of two keys for suggesting one as the correct spelling of the other."""
OF_MODELS = (
    "device",
    "dtype",
    "revision",
    "base_url",
    "pretrained",
    "adapter",
    "chat_template",
)
"""Model options that users often pass as run options by mistake."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run: which tasks to run, on which models, and how."""

    tasks: tuple[str, ...] = option(
        (),
        "what",
        "task names, data files, YAML or Python files (space or comma)",
        "-t",
        "--tasks",
        "--datasets",
        reads="names",
        metavar="TASK,…",
    )
    models: tuple[str, ...] = option(
        (),
        "what",
        "scheme/name, file.py:fn, or a name; repeat for several (default: the task's own, else smollm2)",
        "-M",
        "--model",
        "--models",
        reads="list",
        metavar="MODEL",
    )
    model_args: Mapping[str, Any] = option(
        None,
        "what",
        "options of the model",
        "-a",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="K=V,…",
    )
    judges: Mapping[str, str] = option(
        None,
        "what",
        "the model of a scorer's role, as judge=openai/…",
        "--judge",
        "--judges",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="[ROLE=]MODEL",
    )
    judge_args: Mapping[str, Any] = option(
        None,
        "what",
        "options of judges; ROLE.name=value for one of them",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="K=V,…",
    )
    agent: str | None = option(
        None,
        "what",
        "a program that does the task with the model: a command with {instruction}, agent.py:run, null or oracle",
        metavar="COMMAND",
    )
    agent_args: Mapping[str, Any] = option(
        None,
        "what",
        "options of the agent: show=FOLDER, env.NAME=VALUE",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="K=V,…",
    )
    task_args: Mapping[str, Any] = option(
        None,
        "what",
        "arguments of the functions that make tasks of inspect_ai",
        "-T",
        "--task_args",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="NAME=VALUE,…",
    )
    data: str | None = option(
        None,
        "data",
        "a file or folder to use instead of the task's own data",
    )
    split: str | None = option(
        None,
        "data",
        "the part of the data: test, validation, …",
    )
    limit: str | int | float | None = option(
        None,
        "data",
        "how many samples: a number, a fraction, or a range a-b",
        "-L",
        "--limit",
        "--max_samples",
    )
    ids: tuple[str, ...] = option(
        (),
        "data",
        "only these samples",
        "--sample_id",
        "--ids",
        reads="list",
        metavar="ID",
    )
    shuffle: bool = option(
        False,
        "data",
        "shuffle the samples, with --seed",
        reads="switch",
    )
    shuffle_choices: int | None = option(
        None,
        "data",
        "shuffle the options of each question, with SEED (default 0)",
        reads="integer",
        metavar="SEED",
        alone=0,
    )
    shuffle_choices_each_epoch: bool = option(
        False,
        "data",
        "with --shuffle_choices: another order of the options in each epoch",
        reads="switch",
    )
    tags: tuple[str, ...] = option(
        (),
        "data",
        "break results down by columns, beside the task's own",
        reads="names",
        metavar="COLUMN,…",
    )
    shard: str | None = option(
        None,
        "data",
        "run part I of N, counted from 1",
        metavar="I/N",
    )
    columns: Mapping[str, str] = option(
        None,
        "data",
        "input=…, target=…, choices=…, id=…",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="PART=COLUMN",
    )
    on_duplicate: Literal["error", "first", "suffix"] = option(
        "error",
        "data",
        "what to do if two samples have the same id",
        choices=("error", "first", "suffix"),
    )
    on_data_error: Literal["continue", "stop"] = option(
        "continue",
        "data",
        "stop: refuse before anything is written",
        choices=("continue", "stop"),
    )
    num_fewshot: int | None = option(
        None,
        "prompt",
        "number of examples before the question",
        "-f",
        reads="integer",
    )
    fewshot_data: str | None = option(None, "prompt", "the data to take examples from")
    fewshot_as_multiturn: bool | None = option(
        None,
        "prompt",
        "examples as turns of a chat, or as one text before the question",
        reads="truth",
        alone=True,
    )
    apply_chat_template: bool | None = option(
        None,
        "prompt",
        "send every prompt as a chat, or none (default: the task's own setting)",
        reads="truth",
        alone=True,
    )
    template: str | None = option(
        None,
        "prompt",
        "instead of the task's: a name, Jinja text or file, or file.py:fn",
    )
    system: str | None = option(
        None,
        "prompt",
        "the system text instead of the task's; empty: no system message",
        "--system",
        "--system_instruction",
        "--system_message",
    )
    scorers: tuple[str, ...] = option(
        (),
        "prompt",
        "use this scorer instead of the task's own",
        "--scorer",
        "--scorers",
        reads="list",
        metavar="SCORER",
    )
    measure: str | None = option(
        None,
        "prompt",
        "choices by letter_likelihood, text_likelihood, first_token or letter (default: the task's own; for plain"
        " rows letter_likelihood of a base model, letter of a chat model)",
    )
    generation: Mapping[str, Any] = option(
        None,
        "generation",
        "options that override those of the task: temperature=0,max_tokens=64",
        "--gen_kwargs",
        "--generation_config",
        "--generation",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="K=V,…",
    )
    epochs: int | None = option(
        None,
        "generation",
        "number of answers to each sample, each in its own request",
        "--epochs",
        "--repeats",
        reads="integer",
    )
    reducer: str | None = option(
        None,
        "generation",
        "how several answers are combined: mean, majority, max",
    )
    seed: int | None = option(
        None,
        "generation",
        "seed of random draws, with the sample and the epoch",
        reads="seed",
        metavar="N",
    )
    batch_size: int | Literal["auto"] | None = option(
        None,
        "work",
        "requests in one batch; auto: as many as fit in memory",
        "-b",
        reads="batch_size",
        metavar="N|auto",
        is_spread=True,
    )
    concurrency: int | None = option(
        None,
        "work",
        "requests in flight at once",
        "--concurrency",
        "--max_connections",
        reads="integer",
        is_spread=True,
    )
    replicas: int | None = option(
        None,
        "work",
        "number of copies of the model, each in its own process",
        reads="integer",
        is_spread=True,
    )
    executor: Literal["local", "ray"] | None = option(
        None,
        "work",
        "run the copies as processes of this machine, or on a Ray cluster",
        choices=("local", "ray"),
        is_spread=True,
    )
    gpus_per_replica: float | None = option(
        None,
        "work",
        "GPUs of each copy on a Ray cluster",
        reads="number",
        is_spread=True,
    )
    address: str | None = option(
        None,
        "work",
        "the Ray cluster: HOST:PORT or auto (default: start one here)",
        is_spread=True,
    )
    batch_api: bool = option(
        False,
        "work",
        "ask through the batch API of the endpoint: cheaper, and answered within a day",
        reads="switch",
        is_spread=True,
    )
    batch_args: Mapping[str, Any] = option(
        None,
        "work",
        "with --batch_api: requests=N and megabytes=N of one batch, poll=SECONDS, rounds=N, price=SHARE",
        factory=lambda: EMPTY,
        reads="pairs",
        metavar="K=V,…",
        is_spread=True,
    )
    on_error: str = option(
        "0.05",
        "work",
        "the error budget: stop, continue, a fraction or a count",
    )
    until: str | None = option(
        None,
        "work",
        "stop early, when the interval is narrow: ci=0.02, or the comparison with --baseline is decided: decided",
        metavar="RULE",
        is_spread=True,
    )
    budget: str | None = option(
        None,
        "work",
        "stop asking when this much is spent, earlier runs in the folder included: 5usd, 10min, 200k_tokens",
        metavar="AMOUNT",
        is_spread=True,
    )
    max_turns: int | None = option(
        None,
        "work",
        "tools: at most N answers in one sample (default: 30)",
        reads="integer",
    )
    max_calls: int | None = option(
        None,
        "work",
        "tools: at most N calls in one sample",
        reads="integer",
    )
    sample_tokens: int | None = option(
        None,
        "work",
        "tools: at most N tokens in one sample",
        reads="integer",
    )
    sample_cost: float | None = option(
        None,
        "work",
        "tools: maximum cost of one sample, as --budget counts it",
        reads="number",
    )
    sample_seconds: float | None = option(
        None,
        "work",
        "tools: maximum seconds of one sample",
        reads="number",
    )
    tool_seconds: float | None = option(
        None,
        "work",
        "tools: maximum seconds of one call (default: 180)",
        reads="number",
    )
    floors: Literal["auto", "on", "off"] = option(
        "auto",
        "work",
        "tools: also run the task with an agent that does nothing; on: even if that costs money",
        choices=("auto", "on", "off"),
        is_spread=True,
    )
    scorer_seconds: float = option(
        30.0,
        "work",
        "CPU time a scorer may take for one answer; 0 sets no limit",
        reads="number",
    )
    give_up_after: float = option(
        30.0,
        "work",
        "stop if an endpoint has returned nothing but bad replies for this long",
        reads="number",
        metavar="SECONDS",
        is_spread=True,
    )
    cache: str | None = option(
        None,
        "work",
        "share answers between runs",
        alone="~/.cache/assay/responses",
        metavar="DIR",
        is_spread=True,
    )
    output: str | None = option(
        None,
        "output",
        "the folder of the run",
        "-o",
        "--output",
        "--output_path",
        "--log_dir",
        "--work_dir",
        metavar="DIR",
        is_spread=True,
    )
    baseline: str | None = option(
        None,
        "output",
        "compare with an earlier run, sample by sample",
        metavar="RUN",
        is_spread=True,
    )
    predict_only: bool = option(
        False,
        "output",
        "only collect answers, without scoring; `assay score` scores them later",
        reads="switch",
        is_spread=True,
    )
    log_samples: bool = option(
        False,
        "output",
        "tasks of lm-eval and lmms-eval: also write samples_TASK.jsonl in their own format",
        reads="switch",
        is_spread=True,
    )
    fresh: bool = option(
        False,
        "output",
        "start again: ignore the earlier run in this folder",
        reads="switch",
        is_spread=True,
    )
    dialect: str | None = option(
        None,
        "toolkits",
        "which toolkit files were written for: testbed, vlmeval, pipeline, televal, ulmeval, lmms_eval or lm_eval",
    )
    register: tuple[str, ...] = option(
        (),
        "toolkits",
        "a Python file of the toolkit to load first",
        reads="list",
        metavar="FILE",
    )
    trust_code: bool = option(
        False,
        "trust",
        "run code that another user's run.json names; not saved",
        reads="switch",
    )
    trust_pickle: bool = option(
        False,
        "trust",
        "read pickle files, which may run code",
        reads="switch",
    )
    trust_remote_code: bool = option(
        False,
        "trust",
        "run the code that comes with a model or dataset",
        reads="switch",
    )
    allow_private_urls: bool = option(
        False,
        "trust",
        "also fetch media from private addresses",
        reads="switch",
    )
    allow_urls: bool = option(
        False,
        "trust",
        "fetch media that rows name by URL",
        reads="switch",
    )
    media_root: str | None = option(
        None,
        "trust",
        "the folder of the media that rows name (default: the folder of the data)",
        metavar="DIR",
    )

    def but(self, **changes: object) -> "RunOptions":
        """Return a copy with some options changed."""
        fields: dict[str, Any] = changes
        return replace(self, **fields)

    def with_one_spelling(self, objects: Container[str] = ()) -> "RunOptions":
        """Return a copy in which paths of models, judges and scorers are written in one normalized form.

        Answers are stored under these names. Names in `objects` stand for Python
        objects and are not changed.
        """
        return replace(
            self,
            models=tuple(
                dict.fromkeys(
                    name if name in objects else _one_spelling(name)
                    for name in self.models
                )
            ),
            judges={role: _one_spelling(name) for role, name in self.judges.items()},
            scorers=tuple(_one_spelling(name) for name in self.scorers),
        )

    def helper_of(self, role: str) -> str | None:
        """Return the model for a helper role; None if the run sets none. The sandbox always has a model."""
        return self.judges.get(role) or (role if role == SANDBOX else None)

    def judge_args_of(self, role: str) -> dict[str, Any]:
        """Return the options of the helper model in a role.

        These are the options for all helpers, and those with the role as prefix, such
        as `detector.model`.
        """
        shared: dict[str, Any] = {}
        args: dict[str, Any] = {}
        for name, value in self.judge_args.items():
            prefix, dot, rest = name.partition(".")
            if role == SANDBOX and prefix != SANDBOX:
                continue  # options of judges do not apply to the sandbox
            if name in self.judges and isinstance(value, Mapping):
                args.update(value if name == role else {})
            elif dot and (prefix in self.judges or prefix == SANDBOX):
                args.update({rest: value} if prefix == role else {})
            else:
                shared[name] = value
        return {**shared, **args}

    def to_plain(self) -> dict[str, Any]:
        """Return the options that differ from their defaults as JSON data, so that
        another process can build the same model.

        Secrets are included.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        defaults = {f.name: getattr(_DEFAULTS, f.name) for f in fields(self)}
        saved: dict[str, Any] = {}
        for name, value in plain.items():
            if value != defaults[name] or name in ("tasks", "models"):
                if isinstance(value, Mapping):
                    saved[name] = dict(value)
                elif isinstance(value, tuple):
                    saved[name] = list(value)
                else:
                    saved[name] = value
        return saved

    def kept(self) -> dict[str, Any]:
        """Return the options to store in `run.json`: those that differ from their defaults, excluding secrets.

        To repeat the run, the user must pass the secrets again.
        """
        # Only options of models are redacted by name: a column may well be called `key`.
        return {
            name: redact_options(value)
            if name in ("model_args", "judge_args") or not isinstance(value, Mapping)
            else value
            for name, value in self.to_plain().items()
            if name != "trust_code"  # each user of `run.json` must give consent again
        }

    @classmethod
    def from_plain(
        cls,
        plain: Mapping[str, Any],
        *,
        where: str,
    ) -> "RunOptions":
        """Return options from plain data. Raise `PartlyRead` with the nearest known key for each unknown one."""
        names = {f.name for f in fields(cls)}
        values: dict[str, Any] = {
            str(name).replace("-", "_"): _path_text(value)
            for name, value in plain.items()
        }
        for alias, name in [
            ("task", "tasks"),
            *((key, name) for name, flag in FLAGS.items() for key in flag.keys),
        ]:
            if alias in values and alias not in names and name not in values:
                values[name] = values.pop(alias)
        faults: list[AssayError] = []
        for name in [name for name in values if name not in names]:
            fix = suggest(name, sorted(names), "known keys:", CLOSE_KEY)
            if name in OF_MODELS:
                fix = f"an option of the model: model_args: {{{name}: …}}"
            faults.append(
                UsageError(
                    f"unknown key {name!r}",
                    where=where,
                    fix=fix,
                )
            )
            del values[name]
        if isinstance(values.get("judges"), str):
            values["judges"] = {"judge": values["judges"]}
        faults += faults_of_judges(values.get("judges"), where)
        several = {
            name: flag.reads != "pairs"
            for name, flag in FLAGS.items()
            if flag.reads in SEVERAL
        }
        for name, is_list in several.items():
            if name not in values:
                continue
            value = values[name]
            if value is None:
                del values[name]
            elif is_list and isinstance(value, (str, Sequence)):
                if isinstance(value, str):
                    values[name] = (value,)
                else:
                    values[name] = tuple(str(v) for v in value)
            elif is_list or not isinstance(value, Mapping):
                expected = "a name, or a list of them" if is_list else "keys and values"
                fault = UsageError(
                    f"key {name!r} holds {shorten(value)}",
                    where=where,
                    fix=f"write {expected}",
                )
                faults.append(fault)
                del values[name]
        options = cls(**values)
        if faults:
            raise PartlyRead(faults, options)
        return options

    def folder_digest(self) -> str:
        """Return the digest that is part of a run folder's name.

        It does not depend on how the work is distributed.
        """
        spread = {}
        for name, flag in FLAGS.items():
            if flag.is_spread:
                spread[name] = getattr(_DEFAULTS, name)
        bare = replace(self, **{**spread, "models": self.models or (DEFAULT_MODEL,)})
        return digest_of(bare.kept())[:8]


def _one_spelling(name: str) -> str:
    """Return a file reference with its path in normalized form; return other values unchanged."""
    if isinstance(name, str):
        return one_spelling(name)
    return name


FLAGS = flags_of(RunOptions)
"""The `Flag` of each run option, by the name of its field."""
_DEFAULTS = RunOptions()


def _path_text(value: object) -> object:
    """Return the text of a `Path`, and any other value unchanged."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value
