"""The options of a run that affect the requests of a library's task, and the task's own generation options."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import GenerateOptions, UsageError, shorten
from ...runner.options import RunOptions
from .library import Library
from .loaded import TaskConfig
from .random_state import OTHER_SEED

REFUSED: dict[str, str] = {
    "template": "the prompts are the library's; write a YAML task that includes this one",
    "scorers": "the metrics are the library's; write a YAML task that includes this one",
    "epochs": "set `repeats` in a YAML task that includes this one",
    "reducer": "the filters of the task choose among repeated answers",
    "measure": "the output type is the task's; other tasks of its family may generate",
    "shuffle_choices": "the order of the options is the task's",
    "columns": "name the columns of --data as the task does",
    "split": "the splits are the task's; --data names other rows",
}
"""Run options that these tasks do not support. The value is the reason, which the error message shows."""


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The options of a run that change the requests of a task."""

    data: str | None = None
    fewshot_data: str | None = None
    num_fewshot: int | None = None
    seed: int = OTHER_SEED
    """Seed with which few-shot examples are drawn."""
    chat: bool = False
    multiturn: bool = False
    system: str | None = None
    generation: tuple[tuple[str, Any], ...] = ()
    """Generation options of the run. They take precedence over those of the task."""

    @classmethod
    def of(
        cls,
        run: RunOptions,
        shots: int | None,
        library: Library,
        chat: bool = False,
    ) -> "TaskSettings":
        """Return the settings of a run. Raise for options that are not supported.

        `chat` is the default for `--apply_chat_template`.
        """
        for name, fix in REFUSED.items():
            value = getattr(run, name)
            if value is not None and value not in ((), {}) and len_or_one(value):
                raise UsageError(
                    f"--{name} does not apply to {library.title} tasks", fix=fix
                )
        if run.apply_chat_template is not None:
            chat = bool(run.apply_chat_template)
        if run.fewshot_as_multiturn and not chat:
            raise UsageError(
                "--fewshot_as_multiturn needs a chat", fix="add --apply_chat_template"
            )
        # As in lm-eval: chats show their examples as turns unless the run says otherwise.
        if run.fewshot_as_multiturn is None:
            multiturn = chat
        else:
            multiturn = bool(run.fewshot_as_multiturn)
        return cls(
            data=run.data,
            fewshot_data=run.fewshot_data,
            num_fewshot=shots if run.num_fewshot is None else run.num_fewshot,
            seed=OTHER_SEED if run.seed is None else run.seed,
            chat=chat,
            multiturn=multiturn,
            system=run.system or None,
            generation=tuple(sorted(run.generation.items())),
        )


def len_or_one(value: object) -> int:
    """Return the length of a list or string, or 1 for a single value."""
    if hasattr(value, "__len__"):
        return len(value)
    return 1


def planned_shots(config: TaskConfig, settings: TaskSettings) -> int:
    """Return the number of few-shot examples for a task. A task that sets 0 overrides the run's number."""
    task_shots: int | None = config.num_fewshot
    if settings.num_fewshot is None or task_shots == 0:
        return task_shots or 0
    return settings.num_fewshot


def set_shots(
    tasks: Mapping[str, Any],
    settings: TaskSettings,
    where: str,
) -> dict[str, int]:
    """Set the number of few-shot examples of each task, and return these numbers by task.

    A task that requires 0 examples keeps that number, as in the library.
    """
    fixed = [task.get_config("num_fewshot") == 0 for task in tasks.values()]
    if settings.num_fewshot and all(fixed):
        raise UsageError(
            f"--num_fewshot {settings.num_fewshot}: the task fixes 0 examples",
            where=where,
            fix="leave it out, or set num_fewshot in a YAML task that includes this one",
        )
    shots: dict[str, int] = {}
    for name, task in tasks.items():
        shots[name] = planned_shots(task.config, settings)
        task.set_config(
            key="num_fewshot",
            value=shots[name],
        )
    return shots


DEFAULT_MAX_TOKENS = 256
"""The token limit of an answer if a task sets none, as in lm-eval."""
LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names under which a task may set the token limit. As in lm-eval, the first one that is set is used."""
PASSED_ON: Mapping[str, str] = {
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "seed": "seed",
}
"""Generation options of lm-eval, with the names of the same options in assay."""
WITHOUT_EFFECT: Mapping[str, tuple[Any, ...]] = {
    "num_beams": (1,),
    "num_return_sequences": (1,),
    "length_penalty": (1, 1.0),
    "early_stopping": (False, None),
    "use_cache": (True, False),
    "return_dict_in_generate": (True, False),
    "is_gen": (True,),
    "pad_token_id": (None,),
}
"""Generation options that assay ignores, each with the values that are accepted. Other values raise an error."""
OF_SAMPLING = ("top_p", "top_k", "min_p")


def options_of(
    kwargs: Mapping[str, Any],
    where: str,
) -> GenerateOptions:
    """Return lm-eval's generation options as options of assay. Raise for an option that is not supported."""
    rest = dict(kwargs)
    length = None
    for name in LENGTHS:
        number = _number(rest.pop(name, None), name, where)
        length = number if length is None else length
    until = rest.pop("until", None) or ()
    stops = (until,) if isinstance(until, str) else tuple(str(stop) for stop in until)
    temperature = _number(rest.pop("temperature", None), "temperature", where) or 0.0
    does_sample = rest.pop("do_sample", None)
    if does_sample is False:
        temperature = 0.0
    elif does_sample and not temperature:
        temperature = 1.0 if "temperature" not in kwargs else 0.0
    options: dict[str, Any] = {}
    for name, value in rest.items():
        if name in PASSED_ON:
            options[PASSED_ON[name]] = value
        elif value not in WITHOUT_EFFECT.get(name, ()):
            raise UsageError(
                f"generation option {name}={shorten(value)} cannot be honoured",
                where=f"{where}, key `generation_kwargs`",
                fix="remove it in a YAML task that includes this one",
            )
    if not temperature:
        for name in OF_SAMPLING:
            options.pop(name, None)
    elif "seed" not in options:
        options["seed"] = OTHER_SEED
    if length is None:
        max_tokens = DEFAULT_MAX_TOKENS
    else:
        max_tokens = int(length)
    try:
        return GenerateOptions(
            temperature=temperature,
            max_tokens=max_tokens,
            stop=tuple(stop for stop in stops if stop),
            **options,
        )
    except UsageError as error:
        key = f"{where}, key `generation_kwargs`"
        raise UsageError(
            error.what,
            where=key,
            fix=error.fix,
        ) from error


def _number(
    value: str | float | None,
    name: str,
    where: str,
) -> float | None:
    """Return a generation option as a number; None stays None. Raise for anything else."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"generation option {name}={shorten(value)} is not a number",
            where=f"{where}, key `generation_kwargs`",
            fix=f"write {name} as a number",
        ) from error
